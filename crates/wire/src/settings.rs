//! The settings of an organization.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// Settings by name: all of them when read, some of them when changed.
// A plain object, because the names hold colons and the values have different types; the hub knows which names exist
// and what each may be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
#[schema(value_type = Object)]
pub struct Settings(pub Map<String, Value>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn travel_as_a_plain_object() {
        let text = r#"{"lock:default_ttl":30}"#;
        let settings: Settings = serde_json::from_str(text).unwrap();
        assert_eq!(settings.0.get("lock:default_ttl"), Some(&Value::from(30)));
        assert_eq!(serde_json::to_string(&settings).unwrap(), text);
        assert!(serde_json::from_str::<Settings>("[]").is_err());
    }
}

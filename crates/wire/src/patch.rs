//! Fields of a `PATCH`: absent leaves the value, null removes it.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// For a field that may be removed: `#[serde(default, deserialize_with = "present")] Option<Option<T>>` is `None` when
/// the field is absent and `Some(None)` when it is null.
pub(crate) fn present<'de, T, D>(deserializer: D) -> Result<Option<Option<T>>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    Option::deserialize(deserializer).map(Some)
}

/// For a field that has a value always: null is refused, where serde would take it for absent.
pub(crate) fn not_null<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    T::deserialize(deserializer).map(Some)
}

/// For a form within a form: an object and nothing else. Of a form whose fields may all be absent serde would take `[]` too.
pub(crate) fn object<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    struct Object<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for Object<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<T, A::Error> {
            T::deserialize(MapAccessDeserializer::new(members))
        }
    }

    deserializer.deserialize_map(Object(PhantomData)).map(Some)
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    #[derive(Deserialize, PartialEq, Debug)]
    struct Change {
        #[serde(default, deserialize_with = "present")]
        removable: Option<Option<u8>>,
        #[serde(default, deserialize_with = "not_null")]
        fixed: Option<u8>,
    }

    #[test]
    fn absent_null_and_given_are_three_things() {
        let change = |value| from_value::<Change>(value).ok().map(|change| (change.removable, change.fixed));
        assert_eq!(change(json!({})), Some((None, None)));
        assert_eq!(change(json!({"removable": null})), Some((Some(None), None)));
        assert_eq!(change(json!({"removable": 1, "fixed": 2})), Some((Some(Some(1)), Some(2))));
        assert_eq!(change(json!({"fixed": null})), None);
    }
}

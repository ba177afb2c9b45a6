//! Which parts of a call are ids, as the hub's own description says.

use serde_json::Value;
use testkit::TestHub;

use super::Door;
use crate::support::expect;

/// A parameter of a query.
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) is_id: bool,
    /// Whether it is free text, so that any value may be asked for.
    pub(crate) is_text: bool,
}

/// The description.
pub(crate) struct Document(Value);

impl Document {
    pub(crate) async fn of(hub: &TestHub) -> Self {
        Self(expect(hub.request("GET", "/api/openapi.json"), 200).await.json())
    }

    fn operation(&self, door: &Door) -> &Value {
        &self.0["paths"][door.path][door.method.to_lowercase()]
    }

    /// What a list can be filtered by.
    pub(crate) fn filters(&self, door: &Door) -> Vec<Parameter> {
        let parameters = self.operation(door)["parameters"].as_array().cloned().unwrap_or_default();
        let paging = |name: &Value| name == "limit" || name == "cursor";
        let filters = parameters.iter().filter(|found| found["in"] == "query" && !paging(&found["name"]));
        filters
            .map(|found| Parameter {
                name: found["name"].as_str().unwrap().to_owned(),
                is_id: is(&found["schema"], "format", "uuid"),
                is_text: is(&found["schema"], "type", "string") && found["schema"]["format"].is_null(),
            })
            .collect()
    }

    /// Whether a page of a list is asked for with `limit` and `cursor`.
    pub(crate) fn is_paged(&self, door: &Door) -> bool {
        let parameters = self.operation(door)["parameters"].as_array().cloned().unwrap_or_default();
        parameters.iter().any(|found| found["name"] == "cursor")
    }

    /// The fields of a body that take an id.
    pub(crate) fn id_fields(&self, door: &Door) -> Vec<String> {
        let schema = &self.operation(door)["requestBody"]["content"]["application/json"]["schema"];
        let schema = match schema["$ref"].as_str() {
            Some(place) => self.0.pointer(place.trim_start_matches('#')).unwrap(),
            None => schema,
        };
        let fields = schema["properties"].as_object().into_iter().flatten();
        fields.filter(|(_, field)| is(field, "format", "uuid")).map(|(name, _)| name.clone()).collect()
    }
}

fn is(schema: &Value, what: &str, wanted: &str) -> bool {
    match &schema[what] {
        Value::Array(several) => several.iter().any(|one| one == wanted),
        one => one == wanted,
    }
}

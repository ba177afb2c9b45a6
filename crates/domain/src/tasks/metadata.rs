//! What an author says about a task beside what it does: to find it and to talk about it, not to approve.

use serde_json::{Map, Value};

use crate::canonical::canonical;
use crate::json::{FieldError, pointer_push};
use crate::text::{self, BadText, NAME_CHARS_MAX};

/// The largest metadata, tags included, as canonical bytes.
pub const METADATA_BYTES_MAX: usize = 64 * 1024;
/// How many tags a task may have.
pub const TAGS_MAX: usize = 50;
const TAG_CHARS_MAX: usize = 64;
const MEMBER_CHARS_MAX: usize = 64;

/// What the hub itself says under `metadata` (TASK-24); nobody else may.
pub const RESERVED: [&str; 8] = [
    "author_id",
    "author_name",
    "created_at",
    "updated_at",
    "submitted_at",
    "approved_at",
    "applying_at",
    "completed_at",
];

/// What is said about a task.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Metadata {
    /// Labels to find it by; each once.
    pub tags: Vec<String>,
    /// `team`, `ticket_ref`, and whatever else.
    pub members: Map<String, Value>,
}

impl Metadata {
    /// With these members put in place of those of the same name; null takes one away.
    ///
    /// # Errors
    /// Names everything that is wrong, by pointers that begin with `/metadata`.
    pub fn merged(&self, patch: &Map<String, Value>) -> Result<Self, Vec<FieldError>> {
        let mut merged = self.clone();
        let mut errors = Vec::new();
        for (name, value) in patch {
            match name.as_str() {
                "tags" => match tags(value) {
                    Ok(tags) => merged.tags = tags,
                    Err(wrong) => errors.extend(wrong),
                },
                _ if value.is_null() => {
                    merged.members.remove(name);
                }
                _ => match check(name, value) {
                    Ok(()) => {
                        merged.members.insert(name.clone(), value.clone());
                    }
                    Err(bad) => errors.push(at(name, bad.to_string())),
                },
            }
        }
        let bytes = merged.bytes();
        if bytes > METADATA_BYTES_MAX {
            let detail = format!("must have at most {METADATA_BYTES_MAX} bytes as JSON, it has {bytes}");
            errors.push(FieldError::on_member("metadata", detail));
        }
        if errors.is_empty() { Ok(merged) } else { Err(errors) }
    }

    fn bytes(&self) -> usize {
        let mut whole = self.members.clone();
        whole.insert("tags".to_owned(), Value::from(self.tags.clone()));
        canonical(&Value::Object(whole)).len()
    }
}

fn at(name: &str, detail: String) -> FieldError {
    let mut pointer = "/metadata".to_owned();
    pointer_push(&mut pointer, name);
    FieldError { pointer, detail }
}

fn check(name: &str, value: &Value) -> Result<(), BadText> {
    if RESERVED.contains(&name) {
        return Err(BadText("is said by the hub alone".to_owned()));
    }
    text::name(name, MEMBER_CHARS_MAX).map_err(|bad| BadText(format!("its name {bad}")))?;
    match (name, value) {
        ("team" | "ticket_ref", Value::String(text)) => text::name(text, NAME_CHARS_MAX),
        ("team" | "ticket_ref", _) => Err(BadText("must be a string".to_owned())),
        _ => Ok(()),
    }
}

fn tags(value: &Value) -> Result<Vec<String>, Vec<FieldError>> {
    let items = match value {
        Value::Null => return Ok(Vec::new()),
        Value::Array(items) if items.len() <= TAGS_MAX => items,
        Value::Array(_) => return Err(vec![at("tags", format!("must be at most {TAGS_MAX}"))]),
        _ => return Err(vec![at("tags", "must be a list".to_owned())]),
    };
    let (mut tags, mut errors) = (Vec::with_capacity(items.len()), Vec::new());
    for (index, item) in items.iter().enumerate() {
        match tag(item) {
            Ok(tag) if tags.contains(&tag) => errors.push((index, "is named twice".to_owned())),
            Ok(tag) => tags.push(tag),
            Err(bad) => errors.push((index, bad.to_string())),
        }
    }
    let named = errors
        .into_iter()
        .map(|(index, detail)| FieldError { pointer: format!("/metadata/tags/{index}"), detail });
    let errors: Vec<FieldError> = named.collect();
    if errors.is_empty() { Ok(tags) } else { Err(errors) }
}

fn tag(item: &Value) -> Result<String, BadText> {
    let tag = item.as_str().ok_or_else(|| BadText("must be a string".to_owned()))?;
    check_tag(tag)?;
    Ok(tag.to_owned())
}

/// Checks a tag: one line of at most 64 characters.
pub fn check_tag(tag: &str) -> Result<(), BadText> {
    text::name(tag, TAG_CHARS_MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn merged(before: &Metadata, patch: Value) -> Result<Metadata, Vec<String>> {
        let Value::Object(patch) = patch else { panic!("an object") };
        before.merged(&patch).map_err(|errors| errors.into_iter().map(|error| error.pointer).collect())
    }

    #[test]
    fn what_is_named_changes_and_the_rest_stays() {
        let first = json!({"team": "payments", "tags": ["db", "é"], "own": {"a": [1]}, "ticket_ref": null});
        let first = merged(&Metadata::default(), first).unwrap();
        assert_eq!(first.tags, ["db", "é"]);
        let second = merged(&first, json!({"team": null, "ticket_ref": "OPS-7"})).unwrap();
        assert_eq!(Value::Object(second.members), json!({"own": {"a": [1]}, "ticket_ref": "OPS-7"}));
        assert_eq!(second.tags, first.tags);
        assert!(merged(&first, json!({"tags": null})).unwrap().tags.is_empty());
        assert_eq!(merged(&first, json!({})).unwrap(), first);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let long = "x".repeat(METADATA_BYTES_MAX);
        let many: Vec<String> = (0..=TAGS_MAX).map(|number| number.to_string()).collect();
        for (patch, wrong) in [
            (json!({"author_id": "me"}), vec!["/metadata/author_id"]),
            (json!({"team": 5, "ticket_ref": "a\u{1b}[2K"}), vec!["/metadata/team", "/metadata/ticket_ref"]),
            (json!({"tags": "db"}), vec!["/metadata/tags"]),
            (json!({"tags": many}), vec!["/metadata/tags"]),
            (
                json!({"tags": ["a", ["b"], "", "a", "x\n"]}),
                vec!["/metadata/tags/1", "/metadata/tags/2", "/metadata/tags/3", "/metadata/tags/4"],
            ),
            (json!({"a/b\n": 1}), vec!["/metadata/a~1b\n"]),
            (json!({"own": long}), vec!["/metadata"]),
        ] {
            assert_eq!(merged(&Metadata::default(), patch).unwrap_err(), wrong);
        }
    }

    #[test]
    fn the_limit_counts_what_was_there_before() {
        let half = "x".repeat(METADATA_BYTES_MAX / 2);
        let first = merged(&Metadata::default(), json!({"a": half})).unwrap();
        assert_eq!(merged(&first, json!({"b": half})).unwrap_err(), ["/metadata"]);
        assert!(merged(&first, json!({"b": half, "a": null})).is_ok());
    }
}

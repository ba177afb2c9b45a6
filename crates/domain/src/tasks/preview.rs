//! What a task would change, as its author says. The hub makes previews of its own only through programs the operator
//! vouched for; what an author attached is shown as the author's word and has no effect hash.

use serde_json::{Value, json};

use super::fields::Fields;
use crate::canonical::canonical;
use crate::json::FieldError;
use crate::text::BadText;

/// The largest preview, as canonical bytes.
pub const PREVIEW_BYTES_MAX: usize = 256 * 1024;
const CHANGES_MAX: usize = 1000;
const REMARKS_MAX: usize = 100;
const REMARK_CHARS_MAX: usize = 4096;

/// Who made a preview.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MadeBy {
    /// The hub, by a program the operator vouched for.
    Hub,
    /// The author.
    Author,
}

impl MadeBy {
    /// On the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hub => "hub",
            Self::Author => "author",
        }
    }
}

/// What an author attaches: `{changes[], warnings[], errors[]}`, each a list that may be left out.
///
/// # Errors
/// Names everything that is wrong.
pub fn attached(sent: &Value) -> Result<Value, Vec<FieldError>> {
    let mut errors = Vec::new();
    let preview = Fields::of(sent, String::new(), &mut errors).map(|mut fields| {
        let changes = fields.list("changes", Some(Vec::new()), CHANGES_MAX).unwrap_or_default();
        let changes = fields.items("changes", &changes, |change, pointer, errors| match change {
            Value::Object(_) => Some(change.clone()),
            _ => {
                errors.push(FieldError { pointer, detail: "must be an object".to_owned() });
                None
            }
        });
        let warnings = remarks(&mut fields, "warnings");
        let errors = remarks(&mut fields, "errors");
        fields.end();
        json!({"changes": changes, "warnings": warnings, "errors": errors, "made_by": MadeBy::Author.as_str()})
    });
    match preview {
        Some(preview) if errors.is_empty() => at_most(preview),
        _ => Err(errors),
    }
}

fn remarks(fields: &mut Fields<'_>, name: &'static str) -> Vec<String> {
    let sent = fields.list(name, Some(Vec::new()), REMARKS_MAX).unwrap_or_default();
    fields.items(name, &sent, |remark, pointer, errors| {
        remark_text(remark).map_err(|bad| errors.push(FieldError { pointer, detail: bad.to_string() })).ok()
    })
}

fn remark_text(remark: &Value) -> Result<String, BadText> {
    let text = remark.as_str().ok_or_else(|| BadText("must be a string".to_owned()))?;
    if text.chars().count() > REMARK_CHARS_MAX {
        return Err(BadText(format!("must have at most {REMARK_CHARS_MAX} characters")));
    }
    Ok(text.to_owned())
}

fn at_most(preview: Value) -> Result<Value, Vec<FieldError>> {
    let bytes = canonical(&preview).len();
    if bytes <= PREVIEW_BYTES_MAX {
        return Ok(preview);
    }
    let detail = format!("must have at most {PREVIEW_BYTES_MAX} bytes as JSON, it has {bytes}");
    Err(vec![FieldError { pointer: String::new(), detail }])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_authors_word() {
        let preview = attached(&json!({"changes": [{"kind": "create"}], "warnings": ["slow"]})).unwrap();
        let expected =
            json!({"changes": [{"kind": "create"}], "warnings": ["slow"], "errors": [], "made_by": "author"});
        assert_eq!(preview, expected);
        assert!(attached(&json!({})).is_ok());
    }

    #[test]
    fn what_is_wrong_is_named() {
        let pointers = |sent: Value| -> Vec<String> {
            attached(&sent).unwrap_err().into_iter().map(|error| error.pointer).collect()
        };
        assert_eq!(pointers(json!([])), [""]);
        assert_eq!(pointers(json!({"made_by": "hub"})), ["/made_by"]);
        assert_eq!(
            pointers(json!({"changes": {}, "warnings": [1], "errors": ["x".repeat(4097)]})),
            ["/changes", "/warnings/0", "/errors/0"]
        );
        assert_eq!(pointers(json!({"changes": [["kind", "create"]]})), ["/changes/0"]);
        assert_eq!(pointers(json!({"changes": vec![json!({}); 1001]})), ["/changes"]);
        assert_eq!(pointers(json!({"changes": [{"x": "y".repeat(PREVIEW_BYTES_MAX)}]})), [""]);
    }
}

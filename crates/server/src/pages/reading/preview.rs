//! What a task would change, as the hub or its author says.

use domain::canonical::canonical_text;
use serde_json::Value;

use crate::pages::show::{Compared, Markup, compared, line, lines};

/// A preview.
pub(in crate::pages) struct Preview {
    /// Whether the hub made it. What an author attached is the author's word.
    pub(in crate::pages) by_hub: bool,
    pub(in crate::pages) changes: Vec<Change>,
    pub(in crate::pages) warnings: Vec<Markup>,
    pub(in crate::pages) errors: Vec<Markup>,
}

/// One change.
pub(in crate::pages) struct Change {
    pub(in crate::pages) sign: &'static str,
    pub(in crate::pages) class: &'static str,
    pub(in crate::pages) what: Markup,
    pub(in crate::pages) facts: Vec<(Markup, Markup)>,
    pub(in crate::pages) difference: Option<Compared>,
}

impl Preview {
    pub(super) fn of(preview: &Value) -> Self {
        let texts = |name: &str| {
            let found = preview.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            found.iter().filter_map(Value::as_str).map(lines).collect()
        };
        let changes = preview.get("changes").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        Self {
            by_hub: preview.get("made_by").and_then(Value::as_str) == Some("hub"),
            changes: changes.iter().map(change).collect(),
            warnings: texts("warnings"),
            errors: texts("errors"),
        }
    }
}

/// Names of what a change is about, and of what it does, that tools use.
const KINDS: [&str; 4] = ["kind", "action", "op", "type"];
const SUBJECTS: [&str; 5] = ["resource", "path", "name", "target", "id"];

fn change(value: &Value) -> Change {
    let member = |names: &[&'static str]| {
        names.iter().find_map(|name| value.get(*name).and_then(Value::as_str).map(|text| (*name, text)))
    };
    let (kind, subject) = (member(&KINDS), member(&SUBJECTS));
    let (sign, class) = match kind.map(|(_, kind)| kind) {
        Some("create" | "add" | "insert") => ("+", "op-add"),
        Some("delete" | "remove" | "drop" | "destroy") => ("−", "op-del"),
        _ => ("~", "op-mod"),
    };
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    let difference = text("before").zip(text("after")).map(|(before, after)| compared(before, after));
    let told: Vec<&str> = [kind, subject].into_iter().flatten().map(|(name, _)| name).collect();
    let is_shown =
        |name: &str| !told.contains(&name) && (difference.is_none() || !matches!(name, "before" | "after"));
    let members = value.as_object().into_iter().flatten();
    let facts = members.filter(|(name, _)| is_shown(name)).map(|(name, value)| (line(name), fact(value)));
    let mut what = Markup::default();
    for (_, text) in [kind, subject].into_iter().flatten() {
        let joint = if what.is_empty() { "" } else { " " };
        what.raw(format_args!("{joint}{}", line(text)));
    }
    Change { sign, class, what, facts: facts.collect(), difference }
}

fn fact(value: &Value) -> Markup {
    match value {
        Value::String(text) => lines(text),
        other => line(&canonical_text(other)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_of_a_change_is_left_out() {
        let shown = change(&json!({"kind": "delete", "resource": "<t>", "rows": 5, "note": "a\u{202e}"}));
        assert_eq!((shown.sign, shown.class), ("−", "op-del"));
        assert_eq!(shown.what.to_string(), "delete &#60;t&#62;");
        let facts: Vec<String> = shown.facts.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(facts.len(), 2, "{facts:?}");
        assert!(facts.contains(&"rows=5".to_owned()), "{facts:?}");
        assert!(facts.iter().any(|fact| fact.contains("class=\"esc\"")), "{facts:?}");
    }

    #[test]
    fn before_and_after_are_a_difference() {
        let shown = change(&json!({"path": "a.sql", "before": "x\ny", "after": "x\nz"}));
        let difference = shown.difference.unwrap();
        assert_eq!((difference.added, difference.removed), (1, 1));
        assert!(shown.facts.is_empty());
        assert_eq!(change(&json!({"before": "x"})).facts.len(), 1);
    }
}

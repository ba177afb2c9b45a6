//! A delegation in the list, in words.

use domain::Timestamp;
use domain::delegations::{Conditions, Delegation, DelegationKind};
use uuid::Uuid;

use crate::pages::lists::Names;
use crate::pages::shell::Shell;
use crate::pages::show::{Face, Markup, clock, line, span, time};

/// One delegation.
pub(super) struct Row {
    pub(super) id: Uuid,
    pub(super) owner: Face,
    pub(super) delegate: Face,
    pub(super) kind: &'static str,
    /// Whether the delegate is asked instead of the owner.
    pub(super) takes_over: bool,
    pub(super) covers: Markup,
    pub(super) passes_on: bool,
    pub(super) state: &'static str,
    pub(super) class: &'static str,
    /// When it begins, ends, or has ended.
    pub(super) when: Markup,
    pub(super) may_change: bool,
    pub(super) may_end: bool,
    /// Whether the reader is asked first, because it is somebody else's.
    pub(super) asks_first: bool,
}

pub(super) fn row(one: &Delegation, names: &Names, shell: &Shell) -> Row {
    let reader = &shell.caller.credential;
    let (state, class, when) = standing(one, shell.now);
    Row {
        id: one.id.raw(),
        owner: names.face(one.owner_id),
        delegate: names.face(one.delegate_to),
        kind: match one.kind {
            DelegationKind::Transfer => "decides instead",
            DelegationKind::Follow => "goes before",
        },
        takes_over: one.kind == DelegationKind::Transfer,
        covers: covers(&one.conditions),
        passes_on: one.cascade,
        state,
        class,
        when,
        may_change: one.active && one.may_be_changed_by(reader.account.id),
        may_end: one.active && one.may_be_ended_by(reader.account.id, reader.standing()),
        asks_first: one.owner_id != reader.account.id,
    }
}

/// How it stands, and since or until when.
fn standing(one: &Delegation, now: Timestamp) -> (&'static str, &'static str, Markup) {
    let on = |at: Timestamp, words: &str| time(at, &format!("{words} {}", clock(at, now)));
    match (one.active, one.starts_at, one.expires_at) {
        (false, ..) => ("ended", "", on(one.updated_at, "ended")),
        (true, _, Some(end)) if end <= now => ("over", "", on(end, "ended")),
        (true, Some(start), _) if start > now => ("to come", "tag-run", on(start, "begins")),
        (true, _, Some(end)) => {
            let left = span(end.since(now));
            ("in force", "tag-ok", time(end, &format!("until {}, {left} left", clock(end, now))))
        }
        (true, _, None) => ("in force", "tag-ok", line("no end")),
    }
}

/// On what somebody else decides.
fn covers(conditions: &Conditions) -> Markup {
    let mut words = Markup::default();
    let mut add = |what: &str, texts: &[String]| {
        if texts.is_empty() {
            return;
        }
        let comma = if words.is_empty() { "" } else { ", " };
        words.raw(format_args!("{comma}{what}"));
        for (place, text) in texts.iter().enumerate() {
            let or = if place == 0 { " " } else { " or " };
            words.raw(format_args!("{or}<code>{}</code>", line(text)));
        }
    };
    add("type", conditions.task_types.as_deref().unwrap_or_default());
    add("only", conditions.resource_patterns.as_deref().unwrap_or_default());
    let risk = conditions.risk_above.map(|risk| risk.to_string());
    add("risk above", risk.as_slice());
    if words.is_empty() { line("everything") } else { words }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_told_in_words() {
        assert_eq!(covers(&Conditions::default()).to_string(), "everything");
        let some = Conditions {
            task_types: Some(vec!["deploy".into(), "<b>".into()]),
            resource_patterns: Some(vec!["dns:*".into()]),
            risk_above: Some(50),
        };
        assert_eq!(
            covers(&some).to_string(),
            "type <code>deploy</code> or <code>&#60;b&#62;</code>, only <code>dns:*</code>, risk above <code>50</code>"
        );
    }
}

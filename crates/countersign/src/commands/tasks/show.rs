//! A task as a person reads it before deciding about it.

use std::fmt::Write as _;
use std::io::{Write, stdout};

use domain::rendering::{plain, render};
use serde::Serialize;
use serde_json::Value;
use wire::{Diff, Task};

use super::review;
use crate::exit::Exit;
use crate::terminal::write_json;

/// A word as it is written on the wire.
pub(in super::super) fn word(value: &impl Serialize) -> String {
    let written = serde_json::to_value(value).ok();
    written.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Text that stays on its line, so that nobody writes a line of their own below it.
pub(in super::super) fn one_line(text: &str) -> String {
    // Backslashes are doubled already, so this stands for a line break and nothing else.
    plain(text).replace('\n', "\\n")
}

pub(super) fn task(task: &Task, json: bool) -> anyhow::Result<Exit> {
    written(task, json, &whole(task))
}

/// Lines for people, or the answer as it came.
pub(in super::super) fn written(answer: &impl Serialize, json: bool, text: &str) -> anyhow::Result<Exit> {
    if json {
        write_json(&mut stdout(), answer)?;
    } else {
        write!(stdout(), "{text}")?;
    }
    Ok(Exit::Done)
}

pub(super) fn diff(diff: &Diff, json: bool) -> anyhow::Result<Exit> {
    let mut text = String::new();
    for change in &diff.changes {
        let side =
            |value: &Option<Value>| value.as_ref().map_or("(nothing)".to_owned(), |value| render(value).text);
        let (from, to) = (side(&change.from), side(&change.to));
        text += &format!("{}\n{}{}", one_line(&change.pointer), marked("- ", &from), marked("+ ", &to));
    }
    if diff.changes.is_empty() {
        text = format!("revisions {} and {} do the same\n", diff.from, diff.to);
    }
    written(diff, json, &text)
}

fn marked(mark: &str, text: &str) -> String {
    text.lines().map(|line| format!("  {mark}{line}\n")).collect()
}

/// Nothing is cut off, and nothing in it is invisible.
pub(in super::super) fn whole(task: &Task) -> String {
    let optional = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let state = format!("{} ({})", word(&task.state), word(&task.status));
    let risk = task.risk.score.map_or_else(String::new, |score| format!(" {score}"));
    let skipped = task.skipped_dependencies.iter().flat_map(|skipped| &skipped.task_ids);
    let blocked = task.blocked_by.iter().map(|by| format!("{} ({})", by.task_id, word(&by.state)));
    let waits: Vec<String> = blocked.chain(skipped.map(|id| format!("not for {id} (skipped)"))).collect();
    let lines = [
        ("task", task.id.to_string()),
        ("state", state),
        ("risk", format!("{}{risk}", task.risk.level)),
        ("author", one_line(&task.metadata.author_name)),
        ("team", optional(task.metadata.team.as_deref().map(one_line))),
        ("ticket", optional(task.metadata.ticket_ref.as_deref().map(one_line))),
        ("tags", task.metadata.tags.iter().map(|tag| one_line(tag)).collect::<Vec<_>>().join(", ")),
        ("project", task.project_id.to_string()),
        ("slug", optional(task.slug.clone())),
        ("path", optional(task.path.as_deref().map(one_line))),
        ("assignee", optional(task.assignee.map(|id| id.to_string()))),
        ("due", optional(task.due_at.clone())),
        ("waits for", waits.join(", ")),
        ("revision", task.revision.to_string()),
        ("hash", task.content_hash.clone()),
        ("created", task.metadata.created_at.clone()),
        ("updated", task.metadata.updated_at.clone()),
    ];
    let mut text: String = lines.iter().map(|(name, value)| format!("{name:<10} {value}\n")).collect();
    section(&mut text, "config", &task.config);
    if let Some(preview) = &task.preview {
        let whose = if preview["made_by"] == "hub" { "preview" } else { "preview (the author says)" };
        section(&mut text, whose, preview);
    }
    text.push('\n');
    text.extend(task.risk.factors.iter().flatten().map(review::factor));
    if let Some(review) = &task.review {
        text += &review::text(review);
    }
    text
}

fn section(text: &mut String, name: &str, value: &Value) {
    let rendering = render(value);
    // Writing to a string cannot fail.
    let _written = write!(text, "\n{name}\n{}\n", rendering.text);
    for mark in &rendering.marks {
        let _written = writeln!(text, "! {name}{} {}", one_line(&mark.pointer), mark.warning.words());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_reviewer_is_warned_of_what_hides() {
        let mut text = String::new();
        section(
            &mut text,
            "config",
            &json!({"description": "safe\u{202e}", "parameters": {"host": "p\u{430}y"}}),
        );
        assert!(text.contains(r#""description": "safe\u202e""#), "{text}");
        assert!(text.contains("! config/description holds characters that change the direction"), "{text}");
        assert!(text.contains("! config/parameters/host mixes letters"), "{text}");
        assert!(!text.contains('\u{202e}'));
    }

    #[test]
    fn nobody_writes_a_line_of_their_own() {
        assert_eq!(one_line("sre\nrisk       LOW"), "sre\\nrisk       LOW");
        assert_eq!(one_line("a\\nb"), "a\\\\nb");
    }

    #[test]
    fn words_are_those_of_the_wire() {
        assert_eq!(word(&wire::TaskStatus::InProgress), "in-progress");
    }
}

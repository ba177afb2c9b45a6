//! One row of the log.

use domain::subject::Subject;
use domain::tasks::TaskState;
use hub::audit::list::Row as Found;
use uuid::Uuid;

use crate::pages::lists::{Address, Names, encoded};
use crate::pages::show::{Face, Markup, grouped, line, pill};

/// A row as it is shown.
pub(super) struct Row {
    pub(super) id: Uuid,
    pub(super) date: String,
    /// To the microsecond.
    pub(super) time: String,
    pub(super) who: Face,
    pub(super) action: Markup,
    pub(super) subject: Markup,
    pub(super) about: Option<String>,
    pub(super) change: Option<(Option<Markup>, Option<Markup>)>,
    pub(super) origin: Option<Markup>,
    pub(super) seal: Option<String>,
    pub(super) to: String,
}

pub(super) fn row(found: &Found, names: &Names, address: &Address) -> Row {
    let entry = &found.entry;
    let at = entry.occurred_at.to_string();
    let change = match (&entry.from_state, &entry.to_state) {
        (None, None) => None,
        // It was made as what it is.
        (Some(from), Some(to)) if from == to => Some((None, word(&entry.subject, Some(to)))),
        (from, to) => Some((word(&entry.subject, from.as_deref()), word(&entry.subject, to.as_deref()))),
    };
    Row {
        id: entry.id.raw(),
        date: at.get(..10).unwrap_or_default().to_owned(),
        time: at.get(11..).unwrap_or_default().trim_end_matches('Z').to_owned(),
        who: names.face(entry.actor),
        action: line(&entry.action),
        subject: subject(&entry.subject),
        about: about(&entry.subject),
        change,
        origin: entry.ip.as_deref().or(entry.service.as_deref()).map(line),
        seal: found.seal.map(|(_, number, _)| grouped(number)),
        to: format!("{}#row-{}", address.clone().with("row", entry.id), entry.id),
    }
}

/// An id tells people nothing after its beginning; the whole is in the open row.
fn subject(subject: &Subject) -> Markup {
    let mut markup = line(&subject.kind);
    match Uuid::parse_str(&subject.id) {
        Ok(_) => {
            let end = &subject.id[subject.id.len().saturating_sub(8)..];
            markup.raw(format_args!(" <span class=\"nowrap\">…{}</span>", line(end)));
        }
        Err(_) => markup.raw(format_args!(" {}", line(&subject.id))),
    }
    markup
}

/// Where one sees what the row is about.
fn about(subject: &Subject) -> Option<String> {
    match subject.kind.as_str() {
        "task" => Some(format!("/tasks/{}", encoded(&subject.id))),
        "agent" => Some(format!("/agents?agent={}", encoded(&subject.id))),
        "lock" => Some(format!("/locks?key={}", encoded(&subject.id))),
        "policy" => Some(format!("/policies?policy={}", encoded(&subject.id))),
        _ => None,
    }
}

/// A state; of a task with its shape.
fn word(subject: &Subject, text: Option<&str>) -> Option<Markup> {
    let text = text?;
    match (subject.kind.as_str(), text.parse::<TaskState>()) {
        ("task", Ok(state)) => Some(pill(state)),
        _ => Some(line(text)),
    }
}

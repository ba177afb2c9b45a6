//! One row of the log.

use domain::Id;
use domain::accounts::Account;
use domain::subject::Subject;
use domain::tasks::{Task, TaskState};
use hub::audit::list::Row as Found;
use hub::audit::names::Subjects;
use uuid::Uuid;

use crate::pages::lists::{Address, Names, encoded};
use crate::pages::reading::description;
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

/// What the rows are about, as people call it.
pub(super) struct Known {
    pub(super) names: Names,
    pub(super) subjects: Subjects,
}

impl Known {
    pub(super) fn account(&self, id: Id<Account>) -> Option<String> {
        self.names.known_as(id).map(str::to_owned)
    }

    pub(super) fn title(&self, id: Id<Task>) -> Option<String> {
        self.subjects.tasks.get(&id).map(|config| description(config))
    }

    /// The task of a request, and whom it asks.
    fn request(&self, id: Uuid) -> Option<(Id<Task>, Id<Account>)> {
        self.subjects.approvals.get(&Id::new(id)).copied()
    }

    /// What this is called; none: it has no name, or is not there any more.
    pub(super) fn name(&self, kind: &str, id: Uuid) -> Option<String> {
        match kind {
            "account" | "agent" => self.account(Id::new(id)),
            "task" => self.title(Id::new(id)),
            "approval" => {
                let (task, reviewer) = self.request(id)?;
                Some(format!("{} · {}", self.title(task)?, self.account(reviewer)?))
            }
            _ => self.subjects.names.get(&id).cloned(),
        }
    }
}

pub(super) fn row(found: &Found, known: &Known, address: &Address) -> Row {
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
        who: known.names.face(entry.actor),
        action: line(&entry.action),
        subject: subject(&entry.subject, known),
        about: about(&entry.subject, known),
        change,
        origin: entry.ip.as_deref().or(entry.service.as_deref()).map(line),
        seal: found.seal.map(|(_, number, _)| grouped(number)),
        to: format!("{}#row-{}", address.clone().with("row", entry.id), entry.id),
    }
}

/// What it is called. An id tells people nothing after its end; the whole is its title, and in the open row.
fn subject(subject: &Subject, known: &Known) -> Markup {
    let mut markup = line(&subject.kind.replace('_', " "));
    match Uuid::parse_str(&subject.id) {
        Ok(id) => {
            if let Some(name) = known.name(&subject.kind, id) {
                markup.raw(format_args!(" <b>{}</b>", line(&name)));
            }
            let end = &subject.id[subject.id.len().saturating_sub(8)..];
            markup.raw(format_args!(
                " <span class=\"nowrap muted mono small\" title=\"{id}\">…{}</span>",
                line(end)
            ));
        }
        Err(_) => markup.raw(format_args!(" {}", line(&subject.id))),
    }
    markup
}

/// Where one sees what the row is about.
fn about(subject: &Subject, known: &Known) -> Option<String> {
    match subject.kind.as_str() {
        "task" => Some(format!("/tasks/{}", encoded(&subject.id))),
        "approval" => {
            let (task, _) = known.request(Uuid::parse_str(&subject.id).ok()?)?;
            Some(format!("/tasks/{task}"))
        }
        "agent" => Some(format!("/agents?agent={}", encoded(&subject.id))),
        "lock" => Some(format!("/locks?key={}", encoded(&subject.id))),
        "policy" => Some(format!("/policies?policy={}", encoded(&subject.id))),
        "project" => Some(format!("/tasks?project={}", encoded(&subject.id))),
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

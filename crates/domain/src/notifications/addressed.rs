//! Whom an event is addressed to, and what it tells them.

use serde_json::{Map, Value};

use super::NotificationKind as Kind;
use crate::Id;
use crate::accounts::Account;
use crate::approvals::Approval;
use crate::events::EventDraft;
use crate::tasks::Task;

/// Whom an event is addressed to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recipient {
    /// Somebody it names.
    Account(Id<Account>),
    /// Whoever wrote the task; of an agent's task, the person who answers for the agent.
    Author,
    /// Everybody whose answer the task's review has, or waits for.
    Reviewers,
    /// The admins of the organization.
    Admins,
}

/// What an event is about.
#[derive(Clone, PartialEq, Debug)]
pub struct About {
    /// The task.
    pub task_id: Id<Task>,
    /// The request, if it is one.
    pub approval_id: Option<Id<Approval>>,
    /// What else is told.
    pub facts: Map<String, Value>,
}

/// What of an event's payload is told; whatever else it says is in the log.
const FACTS: [&str; 9] = [
    "blocked_by",
    "delegated_to",
    "due_at",
    "in_place_of",
    "level",
    "outcome",
    "priority",
    "resolution",
    "state",
];

/// Whom the event is addressed to, and what each is told. Whoever is named twice is told the first.
#[must_use]
pub fn addressed(event: &EventDraft) -> Vec<(Recipient, Kind)> {
    match event.event_type.as_str() {
        "approval:requested" => named(event, "reviewer_id").map(|to| (to, requested(event))).collect(),
        "approval:delegated" | "approval:reassigned" => {
            named(event, "reviewer_id").map(|to| (to, Kind::RequestMoved)).collect()
        }
        "approval:superseded" | "approval:expired" => {
            named(event, "reviewer_id").map(|to| (to, Kind::RequestClosed)).collect()
        }
        "approval:escalated" => on_call(event),
        "approval:nobody_told" => vec![(Recipient::Admins, Kind::NobodyTold)],
        "task:approved" => vec![(Recipient::Author, approved(event))],
        "task:rejected" => vec![(Recipient::Author, rejected(event))],
        "task:updated" if word(event, "resolution") == Some("changes_requested") => {
            vec![(Recipient::Author, Kind::ChangesRequested)]
        }
        "task:failed" if event.payload["needs_attention"] == true => {
            vec![(Recipient::Author, Kind::NeedsAttention), (Recipient::Admins, Kind::NeedsAttention)]
        }
        "task:failed" => vec![(Recipient::Author, Kind::TaskFailed)],
        "task:completed" => vec![(Recipient::Author, Kind::TaskCompleted)],
        "task:cancelled" => vec![(Recipient::Author, Kind::TaskCancelled)],
        "task:blocked" => vec![(Recipient::Author, Kind::TaskBlocked)],
        "task:commented" => {
            vec![(Recipient::Author, Kind::TaskCommented), (Recipient::Reviewers, Kind::TaskCommented)]
        }
        _ => Vec::new(),
    }
}

/// What the event is about; none: of no task, and nobody is told.
#[must_use]
pub fn about(event: &EventDraft) -> Option<About> {
    let task_id = word(event, "task_id")?.parse().ok()?;
    let approval_id = word(event, "approval_id").and_then(|id| id.parse().ok());
    let told = |name: &&&str| !event.payload[**name].is_null();
    let fact = |name: &str| (name.to_owned(), event.payload[name].clone());
    let facts = FACTS.iter().filter(told).map(|name| fact(name)).collect();
    Some(About { task_id, approval_id, facts })
}

fn requested(event: &EventDraft) -> Kind {
    let stands_in = event.payload["in_place_of"].as_array().is_some_and(|others| !others.is_empty());
    match word(event, "kind") {
        Some("override") => Kind::OverrideRequested,
        _ if stands_in => Kind::StandingIn,
        _ => Kind::ReviewRequested,
    }
}

fn approved(event: &EventDraft) -> Kind {
    if word(event, "resolution") == Some("override") { Kind::TaskOverridden } else { Kind::TaskApproved }
}

fn rejected(event: &EventDraft) -> Kind {
    if word(event, "resolution") == Some("timeout") { Kind::TaskTimedOut } else { Kind::TaskRejected }
}

/// Those who are asked next hear it from their own requests.
fn on_call(event: &EventDraft) -> Vec<(Recipient, Kind)> {
    let named = event.payload["on_call"].as_array().into_iter().flatten();
    let accounts = named.filter_map(|id| id.as_str()?.parse().ok());
    accounts.map(|id| (Recipient::Account(id), Kind::Escalated)).collect()
}

fn named(event: &EventDraft, member: &str) -> impl Iterator<Item = Recipient> + use<> {
    word(event, member).and_then(|id| id.parse().ok()).map(Recipient::Account).into_iter()
}

fn word<'a>(event: &'a EventDraft, member: &str) -> Option<&'a str> {
    event.payload[member].as_str()
}

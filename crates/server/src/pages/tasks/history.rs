//! What happened to a task, newest first: what is on record, with the seal it is under, and who answered what.

use domain::approvals::Answer;
use domain::audit::AuditEntry;
use domain::permissions::Capability;
use domain::{Id, Timestamp};
use hub::AuditFilter;
use hub::audit::list::{Row, list};
use hub::tasks::Dossier;
use serde_json::Value;

use crate::App;
use crate::pages::lists::Names;
use crate::pages::shell::Shell;
use crate::pages::show::{Face, Markup, clock, line, lines, span, time};
use crate::problem::Problem;

const ROWS_SHOWN: i64 = 60;

/// What happened.
pub(super) struct History {
    /// Whether the reader may see what is on record.
    pub(super) allowed: bool,
    pub(super) events: Vec<Event>,
}

/// One thing that happened.
pub(super) struct Event {
    pub(super) id: String,
    pub(super) icon: &'static str,
    pub(super) class: &'static str,
    pub(super) words: Markup,
    pub(super) reason: Option<Markup>,
    /// Under which seal it is, and whether the reader may have the proof.
    pub(super) seal: Option<i64>,
    pub(super) proof: Option<String>,
    pub(super) at: Markup,
}

pub(super) async fn history(app: &App, shell: &Shell, dossier: &Dossier) -> Result<History, Problem> {
    let mut all: Vec<(Timestamp, Event)> = Vec::new();
    let allowed = shell.caller.capabilities.contains(Capability::AuditRead);
    if allowed {
        let filter = AuditFilter { tasks: vec![dossier.seen.task.id.raw()], ..AuditFilter::default() };
        let rows = list(&app.hub, &shell.caller, filter, ROWS_SHOWN).await?;
        let names = Names::of(app, shell, rows.iter().map(|row| row.entry.actor)).await?;
        all.extend(rows.iter().map(|row| (row.entry.occurred_at, of_row(row, &names, shell))));
    }
    // The sort is stable: below what it brought about, the answer that brought it about.
    all.extend(answers(dossier, shell));
    all.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    Ok(History { allowed, events: all.into_iter().map(|(_, event)| event).collect() })
}

fn at(at: Timestamp, shell: &Shell) -> Markup {
    time(at, &format!("{} ago · {}", span(shell.now.since(at)), clock(at, shell.now)))
}

/// Answers to the requests of the current or last review.
fn answers(dossier: &Dossier, shell: &Shell) -> Vec<(Timestamp, Event)> {
    let answered = dossier.seats.iter().filter_map(|seat| {
        let response = seat.approval.response.as_ref()?;
        let (verb, icon, class) = match response.action {
            Answer::Approve => ("approved", "check", " event-dot-ok"),
            Answer::Reject => ("rejected", "x", " event-dot-bad"),
            Answer::RequestChanges => ("requested changes on", "edit", ""),
        };
        let mut words = named(dossier, shell, response.by);
        let revision = dossier.seen.review.as_ref().map_or(0, |seen| seen.review.revision);
        words.raw(format_args!(" {verb} revision {revision}"));
        let event = Event {
            id: format!("event-{}", seat.approval.id),
            icon,
            class,
            words,
            reason: response.reason.as_deref().map(lines),
            seal: None,
            proof: None,
            at: at(response.at, shell),
        };
        Some((response.at, event))
    });
    answered.collect()
}

fn named(dossier: &Dossier, shell: &Shell, id: Id<domain::accounts::Account>) -> Markup {
    let mut markup = Markup::default();
    let name = match dossier.names.get(&id) {
        _ if id == shell.caller.credential.account.id => line("You"),
        Some(named) => Face { name: named.name.clone(), is_agent: named.is_program, is_me: false }.named(),
        None => line("Somebody"),
    };
    markup.raw(format_args!("<b>{name}</b>"));
    markup
}

fn of_row(row: &Row, names: &Names, shell: &Shell) -> Event {
    let entry = &row.entry;
    let (icon, class) = look(&entry.action, entry.to_state.as_deref());
    let by_itself = row.is_by_itself();
    let who = match names.face(entry.actor) {
        _ if by_itself => line("The hub"),
        face if face.is_me => line("You"),
        face => face.named(),
    };
    let mut words = Markup::default();
    words.raw(format_args!("<b>{who}</b>"));
    match worded(entry, by_itself).or_else(|| in_words(&entry.action)) {
        Some(said) => words.raw(format_args!(" {said}")),
        None => words.raw(format_args!(" <code>{}</code>", line(&entry.action))),
    }
    if let (Some(from), Some(to)) = (&entry.from_state, &entry.to_state) {
        words.raw(format_args!(" <span class=\"muted small\">{} → {}</span>", line(from), line(to)));
    } else if let Some(to) = &entry.to_state {
        words.raw(format_args!(" <span class=\"muted small\">→ {}</span>", line(to)));
    }
    if let Some(ticket) = &entry.ticket_ref {
        words.raw(format_args!(" <span class=\"tag\">{}</span>", line(ticket)));
    }
    let may_prove = shell.caller.capabilities.contains(Capability::AuditVerify);
    let proof = row.seal.filter(|_| may_prove).map(|_| format!("/api/v1/audit/{}/proof", entry.id));
    Event {
        id: format!("event-{}", entry.id),
        icon,
        class,
        words,
        reason: entry.reason.as_deref().map(lines),
        seal: row.seal.map(|(_, number, _)| number),
        proof,
        at: at(entry.occurred_at, shell),
    }
}

/// What was done, where the action alone does not say it.
fn worded(entry: &AuditEntry, by_itself: bool) -> Option<&'static str> {
    let detail = |name: &str| entry.details.get(name).and_then(Value::as_str);
    let rollback = match (entry.action.as_str(), detail("purpose"), detail("rollback")) {
        ("task:failed", _, Some("succeeded")) => Some(true),
        ("task:failed", _, Some("failed")) => Some(false),
        ("task:rolled_back", Some("rollback"), _) => Some(detail("result") == Some("success")),
        _ => None,
    };
    Some(match (entry.action.as_str(), rollback) {
        (_, Some(true)) => "undid it",
        // It does nothing itself: it only gives up waiting for whoever does.
        (_, Some(false)) if by_itself => "ended the undoing, which was not done",
        (_, Some(false)) => "could not undo it",
        ("task:failed" | "task:attempt_failed", _) if by_itself => "ended the attempt",
        ("task:rolling_back", _) if detail("purpose") == Some("apply") => "failed, and began to undo it",
        ("task:review_began", _) => match entry.details.get("asked").and_then(Value::as_u64) {
            Some(0) => "began the review, and nobody was asked",
            Some(_) => "asked the reviewers",
            None => "began the review",
        },
        _ => return None,
    })
}

/// What was done, in words; what has none is shown as it is on record.
fn in_words(action: &str) -> Option<&'static str> {
    Some(match action {
        "task:created" => "wrote the task",
        "task:updated" => "changed the task",
        "task:submitted" => "handed it in",
        "task:approved" => "ended the review with yes",
        "task:rejected" => "ended the review with no",
        "task:returned" => "sent it back to be changed",
        "task:cancelled" => "cancelled it",
        "task:commented" => "commented",
        "task:preview_attached" => "attached a preview",
        "task:override_asked" => "asked to skip the review",
        "task:skip_asked" => "asked to go past what it waits for",
        "task:dependencies_skipped" => "signed that it need not wait for others",
        "task:put_first" => "put it at the head of the queue",
        "task:applying" => "began to apply it",
        "task:completed" => "applied it",
        "task:attempt_failed" => "failed in an attempt",
        "task:failed" => "failed to apply it",
        "task:rolling_back" => "began to undo it",
        "task:rollback_asked" => "asked to undo it",
        "task:approval_expired" => "let the approval run out",
        "task:resubmitted" => "resubmitted it",
        _ => return None,
    })
}

fn look(action: &str, to: Option<&str>) -> (&'static str, &'static str) {
    match (action, to) {
        (_, Some("COMPLETED" | "APPROVED")) => ("check", " event-dot-ok"),
        (_, Some("REJECTED" | "FAILED" | "CANCELLED")) => ("x", " event-dot-bad"),
        (_, Some("APPLYING")) => ("s-applying", " event-dot-run"),
        (_, Some("REVIEWING")) => ("policy", ""),
        ("task:commented", _) => ("comment", ""),
        ("task:updated", _) => ("edit", ""),
        _ => ("audit", ""),
    }
}

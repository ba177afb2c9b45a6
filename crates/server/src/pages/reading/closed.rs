//! Why there is nothing to decide: what the review waits for, how it ended, what became of the task since.

use domain::Timestamp;
use domain::approvals::ApprovalStatus;
use domain::reviews::VoteRefusal;
use domain::tasks::TaskState;
use hub::tasks::{Dossier, Mine, Undoing};

use super::People;
use super::decide::before;
use crate::pages::show::{Markup, clock, line, plural};

/// What stands above it.
pub(super) fn heading(dossier: &Dossier) -> &'static str {
    match dossier.seen.task.state {
        TaskState::Reviewing if dossier.seen.is_stuck() => "Nobody is left who may decide",
        TaskState::Reviewing => "Others decide",
        TaskState::Applying if dossier.seen.undoing().is_some() => "What failed is being undone",
        TaskState::Applying => "The agent was given what was signed",
        _ => "No decision is open",
    }
}

pub(super) fn not_asked(dossier: &Dossier, (people, now): (&People<'_>, Timestamp)) -> Markup {
    let task = &dossier.seen.task;
    if task.state != TaskState::Reviewing {
        return line(&closed(dossier, now));
    }
    if dossier.seen.is_stuck() && (dossier.is_own || people.is_me(task.author_id)) {
        return line("You had a hand in this task, so others decide on it, and too few of them are left.");
    }
    if people.is_me(task.author_id) {
        return line("You wrote this task, so others decide on it.");
    }
    if dossier.started_by.is_some_and(|owner| people.is_me(owner)) {
        let name = people.face(task.author_id).name;
        return line(&format!("You answer for {name}, which wrote this task, so others decide on it."));
    }
    if dossier.is_own {
        return line("You had a hand in this task, so others decide on it.");
    }
    line("You are not asked about this task: none of its policies names you or a role you hold.")
}

/// Why nothing is asked any more, or not yet.
fn closed(dossier: &Dossier, now: Timestamp) -> String {
    let state = dossier.seen.task.state;
    if let Some(undoing) = dossier.seen.undoing() {
        return undone(&undoing, state, now);
    }
    match dossier.seen.blocked_by().len() {
        waits if state == TaskState::Approved && waits > 0 => {
            format!(
                "The review ended with yes. It waits for {} to be completed first.",
                plural(waits, "task")
            )
        }
        _ if state == TaskState::Failed && dossier.seen.task.needs_attention => {
            "It was tried. Somebody has to look at how it ended.".to_owned()
        }
        _ => unasked(state).to_owned(),
    }
}

fn undone(undoing: &Undoing, state: TaskState, now: Timestamp) -> String {
    let at = clock(undoing.failed_at, now);
    match (undoing.is_begun, state) {
        (true, TaskState::Applying) => {
            format!("It failed at {at} and is being undone. It cannot be edited or cancelled meanwhile.")
        }
        (true, _) => format!("It failed at {at} and is being undone."),
        (false, _) => format!("It failed at {at}. Undoing it was asked for, and waits for an agent."),
    }
}

const fn unasked(state: TaskState) -> &'static str {
    match state {
        TaskState::Draft => "A draft. Nobody is asked until it is handed in.",
        TaskState::Submitted => "The hub makes its preview. Reviewers are asked after that.",
        TaskState::Reviewing => "The review is open.",
        TaskState::Approved => {
            "The review ended with yes. It waits for an agent and for what it touches to be free."
        }
        TaskState::Applying => "It is being applied. It cannot be edited or cancelled meanwhile.",
        TaskState::Completed => "It was applied.",
        TaskState::Rejected => {
            "The review ended with no. Nothing ran. The author can resubmit it as a new task."
        }
        TaskState::Cancelled => "It was given up before it began. Nothing ran.",
        TaskState::Failed => "It was tried and did not work.",
    }
}

pub(super) fn refused(
    (refusal, mine): (&VoteRefusal, &Mine),
    dossier: &Dossier,
    (people, now): (&People<'_>, Timestamp),
) -> Markup {
    match refusal {
        VoteRefusal::Resolved(_) if dossier.seen.task.state != TaskState::Reviewing => {
            let mut words = before(mine, now).unwrap_or_else(|| ended_without(dossier, (people, now)));
            words.raw(format_args!(" {}", line(&closed(dossier, now))));
            words
        }
        VoteRefusal::Closed if mine.approval.status == ApprovalStatus::Delegated => {
            line("You passed this request on. Whoever got it decides.")
        }
        other => {
            let text = other.to_string();
            let mut letters = text.chars();
            let first = letters.next().map(char::to_uppercase);
            let text: String = first.into_iter().flatten().chain(letters).collect();
            line(&format!("{text}."))
        }
    }
}

/// Who ended the review before the reader answered. Whoever had the forms open sees at once that they did not sign.
fn ended_without(dossier: &Dossier, (people, now): (&People<'_>, Timestamp)) -> Markup {
    let mut words = Markup::default();
    let review = dossier.seen.review.as_ref().map(|seen| &seen.review);
    let Some((review, at)) = review.and_then(|review| Some((review, review.resolved_at?))) else {
        return words;
    };
    let who = review.resolved_by.map_or_else(|| line("The hub"), |by| people.named(by));
    words.raw(format_args!(
        "<b>{who}</b> ended the review at {}, and nothing of yours was signed.",
        clock(at, now)
    ));
    words
}

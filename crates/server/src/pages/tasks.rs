//! The page of one task: what it is, what will run, who decides, what became of it.

pub(super) mod acts;
mod effects;
mod history;
mod menu;
pub(super) mod new;
mod rail;
#[cfg(test)]
mod snapshots;
mod work;

use askama::Template;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use domain::Id;
use domain::accounts::Account;
use domain::approvals::{Answer, Approval, ApprovalStatus};
use domain::tasks::{Task, TaskState};
use garde::Validate;
use hub::HubError;
use hub::tasks::{self, Dossier};
use serde::Deserialize;
use uuid::Uuid;

use super::form::Filled;
use super::reading::{Decide, Reading};
use super::shell::{Shell, Toast};
use super::show::{filters, line};
use super::{lead_to, page};
use crate::App;
use crate::extract::{Asked, PathId};
use crate::problem::Problem;
use history::{History, history};
use menu::{Menu, menu};
use rail::{Step, rail};
use work::{Attempt, Lock, attempts, locks};

#[derive(Template)]
#[template(path = "task.html")]
struct TaskPage<'a> {
    shell: &'a Shell,
    read: Reading,
    rail: Vec<Step>,
    attempts: Vec<Attempt>,
    locks: Vec<Lock>,
    history: History,
    menu: Menu,
    /// Why a person has to look at how it ended.
    attention: Option<&'static str>,
    problem: Option<ProblemShown>,
}

/// What was not done, and why.
struct ProblemShown {
    title: String,
    detail: String,
    status: u16,
    code: String,
    signed: Option<(String, String)>,
}

/// An answer that was not taken.
pub(super) struct Trouble {
    pub(super) what: &'static str,
    pub(super) error: HubError,
    /// Which request was answered, if one was.
    pub(super) request: Option<Id<Approval>>,
    /// The hash that was on screen.
    pub(super) signed: String,
    /// What was typed; it is not lost.
    pub(super) typed: String,
}

#[derive(Deserialize, Validate)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asking {
    #[garde(skip)]
    done: Option<Uuid>,
}

pub(crate) async fn show(
    State(app): State<App>,
    mut shell: Shell,
    id: PathId,
    Asked(asking): Asked<Asking>,
) -> Result<Response<Body>, Problem> {
    let dossier = opened(&app, &shell, id.id(), None).await?;
    if let Some(done) = asking.done {
        let answered = dossier.seats.iter().find(|seat| seat.approval.id.raw() == done);
        let me = shell.caller.credential.account.id;
        shell.toasts.extend(answered.map(|seat| told(&seat.approval, &dossier.seen, me)));
    }
    shown(&app, &shell, &dossier, None).await
}

/// The dossier, with a note that the reader has seen what they are asked to decide on.
pub(super) async fn opened(
    app: &App,
    shell: &Shell,
    id: Id<Task>,
    request: Option<Id<Approval>>,
) -> Result<Dossier, Problem> {
    let dossier = tasks::dossier(&app.hub, &shell.caller, id, request).await?;
    let unseen = dossier.mine.as_ref().filter(|mine| {
        let approval = &mine.approval;
        mine.may.is_ok() && approval.status == ApprovalStatus::Pending && approval.acknowledged_at.is_none()
    });
    let Some(mine) = unseen else { return Ok(dossier) };
    hub::approvals::acknowledge(&app.hub, &shell.caller, mine.approval.id).await?;
    // Whatever changed between the two is shown, and its hash with it.
    Ok(tasks::dossier(&app.hub, &shell.caller, id, request).await?)
}

/// The page after an answer that was not taken: what did not happen, why, and the task as it is now.
pub(super) async fn refused(
    app: &App,
    shell: Shell,
    id: Id<Task>,
    trouble: Trouble,
) -> Result<Response<Body>, Problem> {
    let dossier = tasks::dossier(&app.hub, &shell.caller, id, trouble.request).await?;
    let error = in_truth(trouble.error, &trouble.signed, &dossier);
    shown(app, &shell, &dossier, Some(Trouble { error, ..trouble })).await
}

/// A review that is over because the task was edited: the reader is told that, and what it is now.
fn in_truth(error: HubError, signed: &str, dossier: &Dossier) -> HubError {
    let (task, review) = (&dossier.seen.task, &dossier.seen.review);
    let current = task.content_hash.to_string();
    let is_edited = task.state == TaskState::Reviewing && current != signed;
    match (error, review) {
        (HubError::AlreadyResolved { .. }, Some(review)) if is_edited => HubError::StaleContent {
            content_hash: current,
            review_hash: review.review.review_hash.to_string(),
        },
        (other, _) => other,
    }
}

async fn shown(
    app: &App,
    shell: &Shell,
    dossier: &Dossier,
    trouble: Option<Trouble>,
) -> Result<Response<Body>, Problem> {
    let mut read = Reading::of(dossier, shell, "task");
    if let (Decide::Open(form), Some(trouble)) = (&mut read.decide, &trouble) {
        form.typed.clone_from(&trouble.typed);
    }
    let problem = trouble.map(|trouble| problem_shown(trouble, dossier));
    let status = problem.as_ref().and_then(|problem| StatusCode::from_u16(problem.status).ok());
    let template = TaskPage {
        shell,
        rail: rail(&dossier.seen),
        attempts: attempts(dossier, shell),
        locks: locks(app, shell, dossier, &read.resources).await?,
        history: history(app, shell, dossier).await?,
        menu: menu(app, shell, dossier).await?,
        attention: dossier.seen.left_behind().map(work::left_behind),
        read,
        problem,
    };
    Ok(page(status.unwrap_or(StatusCode::OK), &template))
}

fn problem_shown(trouble: Trouble, dossier: &Dossier) -> ProblemShown {
    let Trouble { what, error, signed, .. } = trouble;
    let is_stale = matches!(error, HubError::StaleContent { .. });
    let problem = Problem::from(error);
    let short = |hash: &str| hash.trim_start_matches("sha256:").chars().take(8).collect::<String>();
    let current = dossier.seen.task.content_hash.to_string();
    ProblemShown {
        title: format!("Your {what} was not recorded"),
        detail: format!("{} Nothing was signed and nothing ran.", super::capitalised(&problem.body.detail)),
        status: problem.body.status,
        code: problem.body.code.clone(),
        signed: is_stale.then(|| (short(&signed), short(&current))),
    }
}

/// What has just been decided, and what follows.
pub(super) fn told(approval: &Approval, task: &tasks::Seen, me: Id<Account>) -> Toast {
    let done = match (approval.status, approval.response.as_ref().map(|response| response.action)) {
        (ApprovalStatus::Delegated, _) => "Passed on",
        (_, Some(Answer::Approve)) => "Approved",
        (_, Some(Answer::Reject)) => "Rejected",
        (_, Some(Answer::RequestChanges)) => "Changes requested",
        (_, None) if approval.reviewer_id == me => "Open",
        (_, None) => "Asked",
    };
    let state = match task.task.state {
        TaskState::Draft => "It is a draft again.",
        TaskState::Submitted | TaskState::Reviewing => "The review goes on.",
        TaskState::Approved => "It waits for an agent.",
        TaskState::Applying => "It is being applied.",
        TaskState::Completed => "It was applied.",
        TaskState::Rejected => "The review is over, nothing runs.",
        TaskState::Cancelled => "It was cancelled.",
        TaskState::Failed => "It failed.",
    };
    let title = super::reading::description(&task.config);
    let words = line(&format!("{title}. {state}"));
    Toast { done, words, link: Some(format!("/tasks/{}", task.task.id)) }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CommentForm {
    body: String,
}

/// Says something about the task. A comment is not a decision.
pub(crate) async fn comment(
    State(app): State<App>,
    shell: Shell,
    id: PathId,
    Filled(form): Filled<CommentForm>,
) -> Result<Response<Body>, Problem> {
    // Browsers end lines with both.
    let body = form.body.replace("\r\n", "\n");
    tasks::comment(&app.hub, &shell.caller, id.id(), body, None).await?;
    Ok(lead_to(&format!("/tasks/{}#talk", id.0)))
}

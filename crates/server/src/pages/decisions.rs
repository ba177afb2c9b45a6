//! The decisions: each its own form, bound to what was on screen.

use axum::body::Body;
use axum::extract::State;
use axum::http::Response;
use domain::Id;
use domain::approvals::Answer;
use domain::canonical::{NotAHash, Sha256Hash};
use domain::tasks::thaw;
use hub::HubError;
use hub::approvals::{self, PassOn, Vote};
use hub::tasks;
use serde::Deserialize;
use uuid::Uuid;
use wire::approvals::REASON_BYTES_MAX;

use super::form::Filled;
use super::lead_to;
use super::reading::{must_type, typed_word};
use super::shell::Shell;
use super::tasks::{Trouble, refused};
use crate::App;
use crate::extract::PathId;
use crate::problem::Problem;

/// Where a form is, and so where it leads.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Place {
    Inbox,
    Task,
}

/// What every decision is bound to.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Signed {
    content_hash: String,
    review_hash: String,
    #[serde(default)]
    reason: String,
    /// What had to be typed; only approving asks for it.
    confirm: Option<String>,
    from: Place,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Passed {
    content_hash: String,
    review_hash: String,
    #[serde(default)]
    reason: String,
    to: Uuid,
    from: Place,
}

pub(crate) async fn approve(
    State(app): State<App>,
    shell: Shell,
    id: PathId,
    Filled(form): Filled<Signed>,
) -> Result<Response<Body>, Problem> {
    let seen = approvals::get(&app.hub, &shell.caller, id.id()).await?;
    let task = tasks::get(&app.hub, &shell.caller, seen.approval.task_id).await?;
    let wanted = must_type(&task.task, thaw(&task.config).ok().as_ref());
    if !typed_word(wanted.as_deref(), form.confirm.as_deref()) {
        return Err(Problem::field("/confirm", "type the name of what is changed, exactly as it is shown"));
    }
    decided(&app, shell, id, (Answer::Approve, form)).await
}

pub(crate) async fn reject(
    State(app): State<App>,
    shell: Shell,
    id: PathId,
    Filled(form): Filled<Signed>,
) -> Result<Response<Body>, Problem> {
    decided(&app, shell, id, (Answer::Reject, form)).await
}

pub(crate) async fn request_changes(
    State(app): State<App>,
    shell: Shell,
    id: PathId,
    Filled(form): Filled<Signed>,
) -> Result<Response<Body>, Problem> {
    decided(&app, shell, id, (Answer::RequestChanges, form)).await
}

async fn decided(
    app: &App,
    shell: Shell,
    id: PathId,
    (answer, form): (Answer, Signed),
) -> Result<Response<Body>, Problem> {
    let vote = Vote {
        approval_id: id.id(),
        answer,
        reason: reason(&form.reason, answer)?,
        content_hash: hash("content_hash", &form.content_hash)?,
        review_hash: Some(hash("review_hash", &form.review_hash)?),
    };
    let seen = approvals::get(&app.hub, &shell.caller, id.id()).await?;
    let task = seen.approval.task_id;
    let what = match answer {
        Answer::Approve => "approval",
        Answer::Reject => "rejection",
        Answer::RequestChanges => "request for changes",
    };
    match approvals::vote(&app.hub, &shell.caller, vote, None).await {
        Ok(_) => Ok(lead_to(&after(form.from, &id, &task.to_string()))),
        Err(error) if is_about_the_review(&error) => {
            let (request, signed, typed) = (Some(id.id()), form.content_hash, form.reason);
            let trouble = Trouble { what, error, request, signed, typed };
            refused(app, shell, task, trouble).await
        }
        Err(other) => Err(other.into()),
    }
}

pub(crate) async fn delegate(
    State(app): State<App>,
    shell: Shell,
    id: PathId,
    Filled(form): Filled<Passed>,
) -> Result<Response<Body>, Problem> {
    let content = hash("content_hash", &form.content_hash)?;
    let review = hash("review_hash", &form.review_hash)?;
    let seen = approvals::get(&app.hub, &shell.caller, id.id()).await?;
    let task = tasks::get(&app.hub, &shell.caller, seen.approval.task_id).await?;
    let current = task.review.as_ref().map(|seen| seen.review.review_hash);
    let (task_id, what) = (task.task.id, "delegation");
    let trouble = |error| {
        let (signed, typed) = (form.content_hash.clone(), form.reason.clone());
        Trouble { what, error, request: Some(id.id()), signed, typed }
    };
    if task.task.content_hash != content || current != Some(review) {
        let error = HubError::StaleContent {
            content_hash: task.task.content_hash.to_string(),
            review_hash: current.map(|hash| hash.to_string()).unwrap_or_default(),
        };
        return refused(&app, shell, task_id, trouble(error)).await;
    }
    let reason = Some(form.reason.clone()).filter(|reason| !reason.is_empty());
    let pass_on = PassOn { approval_id: id.id(), to: Id::new(form.to), reason };
    match approvals::delegate(&app.hub, &shell.caller, pass_on, None).await {
        Ok(_) => Ok(lead_to(&after(form.from, &id, &task_id.to_string()))),
        Err(error) if is_about_the_review(&error) => refused(&app, shell, task_id, trouble(error)).await,
        Err(other) => Err(other.into()),
    }
}

/// Whether an answer was not taken because of how the review stands: then the page of the task says so.
fn is_about_the_review(error: &HubError) -> bool {
    matches!(
        error,
        HubError::StaleContent { .. }
            | HubError::AlreadyResolved { .. }
            | HubError::NotYourReview(_)
            | HubError::SelfApproval(_)
    )
}

fn after(from: Place, id: &PathId, task: &str) -> String {
    match from {
        Place::Inbox => format!("/?done={}", id.0),
        Place::Task => format!("/tasks/{task}?done={}", id.0),
    }
}

/// Why, as far as somebody says. Who says no says why.
pub(super) fn reason(text: &str, answer: Answer) -> Result<Option<String>, Problem> {
    if text.len() > REASON_BYTES_MAX {
        return Err(Problem::field("/reason", format!("has more than {REASON_BYTES_MAX} bytes")));
    }
    match (text.trim().is_empty(), answer) {
        (false, _) => Ok(Some(text.to_owned())),
        (true, Answer::Approve) => Ok(None),
        (true, Answer::Reject | Answer::RequestChanges) => {
            Err(Problem::field("/reason", "is needed: say why"))
        }
    }
}

pub(super) fn hash(field: &str, text: &str) -> Result<Sha256Hash, Problem> {
    text.parse().map_err(|bad: NotAHash| Problem::field(format!("/{field}"), bad.to_string()))
}

//! Requests to reviewers, and their answers.

use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use domain::approvals::{Answer as Said, ApprovalStatus as DomainStatus};
use domain::canonical::Sha256Hash;
use domain::cursor::CursorKey;
use domain::{Id, Timestamp};
use hub::approvals::{self, Seen, Vote};
use hub::idempotency::Answer;
use hub::{ApprovalFilter, ApprovalOrder};
use wire::{
    Approval, ApprovalStats, ApprovalStatsQuery, ApprovalStatus, ApprovalsQuery, Approve, Page, Refuse,
};

use super::page::{List, limits};
use super::tasks::account;
use super::{answer, made};
use crate::App;
use crate::extract::{Asked, Input, NoInput, PathId, Terms, Who};
use crate::json::Json;
use crate::problem::Problem;

/// Requests, those to be answered first at the top; for agents the oldest.
#[utoipa::path(get, path = "/api/v1/approvals", operation_id = "list_approvals",
    tag = "approvals", params(ApprovalsQuery),
    responses((status = 200, description = "A page of requests", body = Page<Approval>),
              (status = 422, description = "A filter is not valid", body = wire::Problem)))]
pub(crate) async fn list(
    State(app): State<App>,
    Who(caller): Who,
    Asked(query): Asked<ApprovalsQuery>,
) -> Result<Json<Page<Approval>>, Problem> {
    let reviewer = account(&caller, "/reviewer", query.reviewer.as_deref())?;
    let status = query.status.map(domain_status);
    let list = List::new(&caller, "approvals")
        .filtered("reviewer", reviewer)
        .filtered("status", status.map(DomainStatus::as_str))
        .filtered("task_id", query.task_id);
    let order = order(&list, query.cursor.as_deref())?;
    let filter = ApprovalFilter { reviewer, status, task: query.task_id.map(Id::new), order };
    let (limit, read) = limits(query.limit);
    let found = approvals::list(&app.hub, &caller, filter, read).await?;
    Ok(Json(list.page(found, limit, place, shown)))
}

/// The order of the list, and the place behind a row of it.
pub(super) fn order(list: &List<'_>, cursor: Option<&str>) -> Result<ApprovalOrder, Problem> {
    match list.keys(cursor)?.as_deref() {
        None => Ok(ApprovalOrder::default()),
        Some([CursorKey::Int(rank), CursorKey::Int(due), CursorKey::Uuid(id)]) => {
            Ok(ApprovalOrder::Queue(Some((*rank, Timestamp::from_micros(*due), Id::new(*id)))))
        }
        Some([CursorKey::Uuid(id)]) => Ok(ApprovalOrder::Age(Some(Id::new(*id)))),
        Some(_) => Err(Problem::field("/cursor", "not of this list")),
    }
}

/// Where a row stands in the order its reader sees.
pub(super) fn place(seen: &Seen) -> Vec<CursorKey> {
    let (rank, due, id) = hub::approvals::place(&seen.approval);
    let queue = [CursorKey::Int(rank), CursorKey::Int(due.micros())];
    let before = queue.into_iter().filter(|_| seen.shows_score);
    before.chain([CursorKey::Uuid(id.raw())]).collect()
}

/// How a reviewer keeps up.
#[utoipa::path(get, path = "/api/v1/approvals/stats", operation_id = "get_approval_stats",
    tag = "approvals", params(ApprovalStatsQuery),
    responses((status = 200, description = "The statistics", body = ApprovalStats),
              (status = 404, description = "No such account here", body = wire::Problem)))]
pub(crate) async fn stats(
    State(app): State<App>,
    Who(caller): Who,
    Asked(query): Asked<ApprovalStatsQuery>,
) -> Result<Json<ApprovalStats>, Problem> {
    let reviewer = account(&caller, "/reviewer", query.reviewer.as_deref())?;
    let reviewer = reviewer.unwrap_or(caller.credential.account.id);
    let stats = approvals::stats(&app.hub, &caller, reviewer).await?;
    Ok(Json(ApprovalStats {
        reviewer_id: stats.reviewer_id.raw(),
        pending_count: stats.pending_count,
        approved_today: stats.answers.approved_today,
        rejected_today: stats.answers.rejected_today,
        avg_response_time: stats.answers.avg_response_time.map(|time| time.as_secs_f64()),
        last_action_at: stats.answers.last_action_at.map(|at| at.to_string()),
    }))
}

/// One request.
#[utoipa::path(get, path = "/api/v1/approvals/{id}", operation_id = "get_approval",
    tag = "approvals", params(("id" = uuid::Uuid, Path)),
    responses((status = 200, description = "The request", body = Approval),
              (status = 404, description = "No such request", body = wire::Problem)))]
pub(crate) async fn get(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
) -> Result<Json<Approval>, Problem> {
    Ok(Json(shown(&approvals::get(&app.hub, &caller, id.id()).await?)))
}

/// Says yes to exactly what was read.
#[utoipa::path(post, path = "/api/v1/approvals/{id}/approve", operation_id = "approve",
    tag = "approvals", request_body = Approve, params(("id" = uuid::Uuid, Path),
    ("Idempotency-Key" = Option<String>, Header, description = "Repeat the request safely for 24 h")),
    responses((status = 200, description = "Answered", body = Approval),
              (status = 403, description = "Not yours, or your own work", body = wire::Problem),
              (status = 404, description = "No such request", body = wire::Problem),
              (status = 409, description = "The task changed, or the review is over", body = wire::Problem),
              (status = 422, description = "Not valid", body = wire::Problem)))]
pub(crate) async fn approve(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    terms: Terms,
    input: Input<Approve>,
) -> Result<Response<Body>, Problem> {
    let Input { value, body_hash } = input.checked()?;
    let vote = Vote {
        approval_id: id.id(),
        answer: Said::Approve,
        reason: value.reason,
        content_hash: hash("/content_hash", &value.content_hash)?,
        review_hash: value.review_hash.as_deref().map(|text| hash("/review_hash", text)).transpose()?,
    };
    let once = terms.once(&caller, body_hash, rendered);
    Ok(made(approvals::vote(&app.hub, &caller, vote, once).await?, rendered))
}

/// Says no, and why.
#[utoipa::path(post, path = "/api/v1/approvals/{id}/reject", operation_id = "reject",
    tag = "approvals", request_body = Refuse, params(("id" = uuid::Uuid, Path),
    ("Idempotency-Key" = Option<String>, Header, description = "Repeat the request safely for 24 h")),
    responses((status = 200, description = "Answered", body = Approval),
              (status = 403, description = "Not yours, or your own work", body = wire::Problem),
              (status = 404, description = "No such request", body = wire::Problem),
              (status = 409, description = "The task changed, or the review is over", body = wire::Problem),
              (status = 422, description = "Not valid", body = wire::Problem)))]
pub(crate) async fn reject(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    terms: Terms,
    input: Input<Refuse>,
) -> Result<Response<Body>, Problem> {
    let Input { value, body_hash } = input.checked()?;
    let vote = refusal(&id, Said::Reject, value)?;
    let once = terms.once(&caller, body_hash, rendered);
    Ok(made(approvals::vote(&app.hub, &caller, vote, once).await?, rendered))
}

/// Says that the task should be changed, and how. It becomes a draft again.
#[utoipa::path(post, path = "/api/v1/approvals/{id}/request-changes", operation_id = "request_changes",
    tag = "approvals", request_body = Refuse, params(("id" = uuid::Uuid, Path),
    ("Idempotency-Key" = Option<String>, Header, description = "Repeat the request safely for 24 h")),
    responses((status = 200, description = "Answered", body = Approval),
              (status = 403, description = "Not yours, or your own work", body = wire::Problem),
              (status = 404, description = "No such request", body = wire::Problem),
              (status = 409, description = "The task changed, or the review is over", body = wire::Problem),
              (status = 422, description = "Not valid", body = wire::Problem)))]
pub(crate) async fn request_changes(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    terms: Terms,
    input: Input<Refuse>,
) -> Result<Response<Body>, Problem> {
    let Input { value, body_hash } = input.checked()?;
    let vote = refusal(&id, Said::RequestChanges, value)?;
    let once = terms.once(&caller, body_hash, rendered);
    Ok(made(approvals::vote(&app.hub, &caller, vote, once).await?, rendered))
}

fn refusal(id: &PathId, answer: Said, value: Refuse) -> Result<Vote, Problem> {
    Ok(Vote {
        approval_id: id.id(),
        answer,
        reason: Some(value.reason),
        content_hash: hash("/content_hash", &value.content_hash)?,
        review_hash: value.review_hash.as_deref().map(|text| hash("/review_hash", text)).transpose()?,
    })
}

/// Says that the request was seen.
#[utoipa::path(post, path = "/api/v1/approvals/{id}/acknowledge", operation_id = "acknowledge_approval",
    tag = "approvals", params(("id" = uuid::Uuid, Path)),
    responses((status = 200, description = "Noted", body = Approval),
              (status = 403, description = "Not yours", body = wire::Problem),
              (status = 404, description = "No such request", body = wire::Problem)))]
pub(crate) async fn acknowledge(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    _: NoInput,
) -> Result<Json<Approval>, Problem> {
    Ok(Json(shown(&approvals::acknowledge(&app.hub, &caller, id.id()).await?)))
}

pub(super) fn hash(pointer: &str, text: &str) -> Result<Sha256Hash, Problem> {
    text.parse().map_err(|bad: domain::canonical::NotAHash| Problem::field(pointer, bad.to_string()))
}

pub(super) fn rendered(seen: &Seen) -> Answer {
    answer(StatusCode::OK, None, &shown(seen))
}

fn domain_status(status: ApprovalStatus) -> DomainStatus {
    match status {
        ApprovalStatus::Pending => DomainStatus::Pending,
        ApprovalStatus::Approved => DomainStatus::Approved,
        ApprovalStatus::Rejected => DomainStatus::Rejected,
        ApprovalStatus::Delegated => DomainStatus::Delegated,
        ApprovalStatus::Expired => DomainStatus::Expired,
        ApprovalStatus::Superseded => DomainStatus::Superseded,
    }
}

fn status(status: DomainStatus) -> ApprovalStatus {
    match status {
        DomainStatus::Pending => ApprovalStatus::Pending,
        DomainStatus::Approved => ApprovalStatus::Approved,
        DomainStatus::Rejected => ApprovalStatus::Rejected,
        DomainStatus::Delegated => ApprovalStatus::Delegated,
        DomainStatus::Expired => ApprovalStatus::Expired,
        DomainStatus::Superseded => ApprovalStatus::Superseded,
    }
}

pub(super) fn shown(seen: &Seen) -> Approval {
    let approval = &seen.approval;
    let response = approval.response.as_ref();
    let text = |at: Option<Timestamp>| at.map(|at| at.to_string());
    Approval {
        id: approval.id.raw(),
        kind: approval.kind.as_str().to_owned(),
        task_id: approval.task_id.raw(),
        reviewer_id: approval.reviewer_id.raw(),
        reviewer_name: seen.reviewer_name.clone(),
        status: status(approval.status),
        priority: approval.priority.as_str().to_owned(),
        score: seen.shows_score.then_some(approval.score),
        delegated_to: approval.delegated_to.map(Id::raw),
        delegation_chain: approval.delegation_chain.iter().map(|id| id.raw()).collect(),
        created_at: approval.created_at.to_string(),
        due_at: text(approval.due_at),
        responded_at: text(response.map(|response| response.at)),
        response_action: response.map(|response| response.action.as_str().to_owned()),
        response_reason: response.and_then(|response| response.reason.clone()),
        reviewed_by: response.map(|response| response.by.raw()),
        acknowledged_at: text(approval.acknowledged_at),
        content_hash: approval.content_hash.to_string(),
        escalation_level: approval.routing.level,
        skips: approval.routing.skips.iter().map(|id| id.raw()).collect(),
    }
}

//! Executions: claimed by agents, kept alive, reported on, looked at.

use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse;
use domain::Id;
use domain::cursor::CursorKey;
use domain::executions as domain_words;
use domain::executions::{Execution as Attempt, LockTaken};
use hub::executions::{self, ClaimTask as Wanted, Claimed, More, NotBegun, Said};
use hub::idempotency::Answer;
use serde_json::json;
use wire::{
    AppendOutput, AppendedOutput, ClaimTask, ClaimedTask, Code, CompleteExecution, Execution, ExecutionGrant,
    ExecutionHeard, ExecutionLock, ExecutionOutcome, ExecutionPhase, ExecutionPurpose, ExecutionResult,
    FailExecution, GiveReason, NextTask, Output, OutputQuery, Page, PageQuery, Progress, RollbackStatus,
};

use super::page::{List, limits};
use super::tasks::{config, state};
use super::{answer, made};
use crate::App;
use crate::extract::{Asked, Input, NoInput, PathId, Terms, Who};
use crate::json::Json;
use crate::problem::Problem;

/// Begins an attempt of an approved task, or undoes its last one where a person asked for that.
#[utoipa::path(post, path = "/api/v1/tasks/{id}/claim", operation_id = "claim_task",
    tag = "executions", request_body = ClaimTask, params(("id" = uuid::Uuid, Path),
    ("Idempotency-Key" = Option<String>, Header, description = "Repeat the request safely for 24 h")),
    responses((status = 200, description = "The attempt has begun", body = ClaimedTask),
              (status = 403, description = "Not this agent's, or not your agent", body = wire::Problem),
              (status = 404, description = "No such task or agent", body = wire::Problem),
              (status = 409, description = "Not approved, blocked, or the agent takes no more", body = wire::Problem),
              (status = 422, description = "Not valid", body = wire::Problem),
              (status = 423, description = "Others hold one of its locks", body = wire::Problem)))]
pub(crate) async fn claim(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    terms: Terms,
    input: Input<ClaimTask>,
) -> Result<Response<Body>, Problem> {
    let Input { value, body_hash } = input.checked()?;
    let once = terms.once(&caller, body_hash, begun);
    let wanted = Wanted { task: id.id(), agent: Id::new(value.agent_id), wait: wait(value.wait_seconds) };
    Ok(made(executions::claim(&app.hub, &caller, wanted, once).await?, begun))
}

/// Begins an attempt of the next task that an agent may apply.
#[utoipa::path(post, path = "/api/v1/agents/{id}/next", operation_id = "next_task",
    tag = "executions", request_body = NextTask, params(("id" = uuid::Uuid, Path),
    ("Idempotency-Key" = Option<String>, Header, description = "Repeat the request safely for 24 h")),
    responses((status = 200, description = "An attempt has begun", body = ClaimedTask),
              (status = 204, description = "Nothing to do"),
              (status = 403, description = "Not your agent", body = wire::Problem),
              (status = 404, description = "No such agent", body = wire::Problem),
              (status = 409, description = "The agent takes no new work", body = wire::Problem),
              (status = 422, description = "Not valid", body = wire::Problem)))]
pub(crate) async fn next(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    terms: Terms,
    input: Input<NextTask>,
) -> Result<Response<Body>, Problem> {
    let Input { value, body_hash } = input.checked()?;
    let once = terms.once(&caller, body_hash, begun);
    let wanted = (id.id(), wait(value.wait_seconds));
    Ok(match executions::next(&app.hub, &caller, wanted, once).await? {
        Some(outcome) => made(outcome, begun),
        None => StatusCode::NO_CONTENT.into_response(),
    })
}

/// Attempts of a task, newest first.
#[utoipa::path(get, path = "/api/v1/tasks/{id}/executions", operation_id = "list_task_executions",
    tag = "executions", params(("id" = uuid::Uuid, Path), PageQuery),
    responses((status = 200, description = "A page of executions", body = Page<Execution>),
              (status = 404, description = "No such task", body = wire::Problem)))]
pub(crate) async fn list(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    Asked(query): Asked<PageQuery>,
) -> Result<Json<Page<Execution>>, Problem> {
    let list = List::new(&caller, "task-executions").filtered("task", Some(id.0));
    let after = list.place(query.cursor.as_deref())?.map(|(at, id)| (at, Id::new(id)));
    let (limit, read) = limits(query.limit);
    let found = executions::list(&app.hub, &caller, id.id(), after, read).await?;
    let place =
        |found: &Attempt| vec![CursorKey::Int(found.created_at.micros()), CursorKey::Uuid(found.id.raw())];
    Ok(Json(list.page(found, limit, place, shown)))
}

/// One execution.
#[utoipa::path(get, path = "/api/v1/executions/{id}", operation_id = "get_execution",
    tag = "executions", params(("id" = uuid::Uuid, Path)),
    responses((status = 200, description = "The execution", body = Execution),
              (status = 404, description = "No such execution", body = wire::Problem)))]
pub(crate) async fn get(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
) -> Result<Json<Execution>, Problem> {
    Ok(Json(shown(&executions::get(&app.hub, &caller, id.id()).await?)))
}

/// Says that the agent of an attempt is alive: its lease and all its locks begin anew.
#[utoipa::path(post, path = "/api/v1/executions/{id}/heartbeat", operation_id = "heartbeat_execution",
    tag = "executions", params(("id" = uuid::Uuid, Path)),
    responses((status = 200, description = "Heard", body = ExecutionHeard),
              (status = 403, description = "Another agent's", body = wire::Problem),
              (status = 404, description = "No such execution", body = wire::Problem),
              (status = 409, description = "It has ended, or lost a lock and ended by that", body = wire::Problem)))]
pub(crate) async fn heartbeat(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    _: NoInput,
) -> Result<Json<ExecutionHeard>, Problem> {
    let heard = executions::heartbeat(&app.hub, &caller, id.id()).await?;
    Ok(Json(ExecutionHeard {
        phase: phase(heard.execution.phase()),
        lease_until: heard.execution.lease_until.to_string(),
        deadline_at: heard.execution.deadline_at.to_string(),
        heartbeat_interval_seconds: heard.heartbeat_interval,
    }))
}

/// Adds to the output of an attempt.
#[utoipa::path(post, path = "/api/v1/executions/{id}/output", operation_id = "append_output",
    tag = "executions", request_body = AppendOutput, params(("id" = uuid::Uuid, Path)),
    responses((status = 200, description = "Kept", body = AppendedOutput),
              (status = 403, description = "Another agent's, or no space is left", body = wire::Problem),
              (status = 404, description = "No such execution", body = wire::Problem),
              (status = 409, description = "It has ended, or the offset is another", body = wire::Problem),
              (status = 422, description = "Not valid", body = wire::Problem)))]
pub(crate) async fn append(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    input: Input<AppendOutput>,
) -> Result<Json<AppendedOutput>, Problem> {
    let AppendOutput { text, offset, progress } = input.checked()?.value;
    let progress = progress.map(|Progress { percent, message }| domain_words::Progress { percent, message });
    let more = More { text, offset, progress };
    let output_size = executions::append(&app.hub, &caller, id.id(), more).await?;
    Ok(Json(AppendedOutput { output_size }))
}

/// A part of the output of an attempt.
#[utoipa::path(get, path = "/api/v1/executions/{id}/output", operation_id = "read_output",
    tag = "executions", params(("id" = uuid::Uuid, Path), OutputQuery),
    responses((status = 200, description = "What there is after that", body = Output),
              (status = 404, description = "No such execution", body = wire::Problem),
              (status = 422, description = "Not valid", body = wire::Problem)))]
pub(crate) async fn output(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    Asked(query): Asked<OutputQuery>,
) -> Result<Json<Output>, Problem> {
    let part = executions::read(&app.hub, &caller, id.id(), query.after.unwrap_or(0)).await?;
    Ok(Json(Output {
        text: part.text,
        next_after: part.next_after,
        output_size: part.size,
        ended: part.is_over,
    }))
}

/// Says that the work, or undoing it, is done.
#[utoipa::path(post, path = "/api/v1/executions/{id}/complete", operation_id = "complete_execution",
    tag = "executions", request_body = CompleteExecution, params(("id" = uuid::Uuid, Path),
    ("Idempotency-Key" = Option<String>, Header, description = "Repeat the request safely for 24 h")),
    responses((status = 200, description = "Noted", body = Execution),
              (status = 403, description = "Another agent's", body = wire::Problem),
              (status = 404, description = "No such execution", body = wire::Problem),
              (status = 409, description = "It has ended", body = wire::Problem),
              (status = 422, description = "Not valid", body = wire::Problem)))]
pub(crate) async fn complete(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    terms: Terms,
    input: Input<CompleteExecution>,
) -> Result<Response<Body>, Problem> {
    let Input { value, body_hash } = input.checked()?;
    let once = terms.once(&caller, body_hash, noted);
    Ok(made(executions::complete(&app.hub, &caller, id.id(), value.output, once).await?, noted))
}

/// Says that the work, or undoing it, did not succeed. `phase` of the answer says whether the agent is to undo it.
#[utoipa::path(post, path = "/api/v1/executions/{id}/fail", operation_id = "fail_execution",
    tag = "executions", request_body = FailExecution, params(("id" = uuid::Uuid, Path),
    ("Idempotency-Key" = Option<String>, Header, description = "Repeat the request safely for 24 h")),
    responses((status = 200, description = "Noted", body = Execution),
              (status = 403, description = "Another agent's", body = wire::Problem),
              (status = 404, description = "No such execution", body = wire::Problem),
              (status = 409, description = "It has ended", body = wire::Problem),
              (status = 422, description = "Not valid", body = wire::Problem)))]
pub(crate) async fn fail(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    terms: Terms,
    input: Input<FailExecution>,
) -> Result<Response<Body>, Problem> {
    let Input { value: FailExecution { error, error_details }, body_hash } = input.checked()?;
    let once = terms.once(&caller, body_hash, noted);
    let said = Said { error, details: error_details };
    Ok(made(executions::fail(&app.hub, &caller, id.id(), said, once).await?, noted))
}

/// Has the last attempt of a failed task undone by the next agent that claims it; once.
#[utoipa::path(post, path = "/api/v1/executions/{id}/rollback", operation_id = "roll_back_execution",
    tag = "executions", request_body = GiveReason, params(("id" = uuid::Uuid, Path),
    ("Idempotency-Key" = Option<String>, Header, description = "Repeat the request safely for 24 h")),
    responses((status = 202, description = "It waits for an agent", body = Execution),
              (status = 403, description = "For the author of the task and admins", body = wire::Problem),
              (status = 404, description = "No such execution", body = wire::Problem),
              (status = 409, description = "Nothing is undone here, or not again", body = wire::Problem),
              (status = 422, description = "Not valid", body = wire::Problem)))]
pub(crate) async fn roll_back(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    terms: Terms,
    input: Input<GiveReason>,
) -> Result<Response<Body>, Problem> {
    let Input { value, body_hash } = input.checked()?;
    let once = terms.once(&caller, body_hash, asked);
    Ok(made(executions::ask_rollback(&app.hub, &caller, id.id(), value.reason, once).await?, asked))
}

fn wait(seconds: Option<u32>) -> Duration {
    Duration::from_secs(seconds.unwrap_or(0).into())
}

fn begun(claimed: &Claimed) -> Answer {
    let execution = &claimed.execution;
    let lock = |(taken, expires_at): (&LockTaken, &domain::Timestamp)| lock(taken, *expires_at);
    let body = ClaimedTask {
        execution_id: execution.id.raw(),
        task_id: execution.task_id.raw(),
        purpose: purpose(execution.purpose),
        grant: ExecutionGrant { id: execution.grant_id.raw(), attempt: execution.attempt, of: claimed.of },
        content_hash: claimed.content_hash.clone(),
        config: config(&claimed.config),
        locks: execution.locks.iter().zip(&claimed.expires_at).map(lock).collect(),
        heartbeat_interval_seconds: claimed.heartbeat_interval,
        lease_until: execution.lease_until.to_string(),
        deadline_at: execution.deadline_at.to_string(),
    };
    answer(StatusCode::OK, None, &body)
}

fn noted(execution: &Attempt) -> Answer {
    answer(StatusCode::OK, None, &shown(execution))
}

fn asked(execution: &Attempt) -> Answer {
    answer(StatusCode::ACCEPTED, None, &shown(execution))
}

fn lock(taken: &LockTaken, expires_at: domain::Timestamp) -> ExecutionLock {
    ExecutionLock {
        key: taken.key.clone(),
        lock_id: taken.lock_id,
        fencing_token: u64::try_from(taken.fence).unwrap_or(0),
        expires_at: expires_at.to_string(),
    }
}

/// An execution as it travels.
pub(crate) fn shown(execution: &Attempt) -> Execution {
    let text = |at: domain::Timestamp| at.to_string();
    Execution {
        id: execution.id.raw(),
        task_id: execution.task_id.raw(),
        purpose: purpose(execution.purpose),
        phase: phase(execution.phase()),
        grant_id: execution.grant_id.raw(),
        attempt: execution.attempt,
        retry_count: execution.attempt.saturating_sub(1),
        agent_id: execution.agent_id.raw(),
        started_at: text(execution.created_at),
        last_heartbeat: text(execution.last_heartbeat),
        lease_until: text(execution.lease_until),
        deadline_at: text(execution.deadline_at),
        completed_at: execution.ended_at.map(text),
        result: execution.result.map(result),
        outcome: execution.outcome.map(outcome),
        rollback: rollback(execution.rollback),
        error: execution.error.clone(),
        error_details: execution.error_details.as_ref().and_then(|details| details.as_object().cloned()),
        output: execution.output_tail.clone(),
        output_size: u64::try_from(execution.output_size).unwrap_or(0),
        output_key: execution.output_id.map(Id::raw),
        progress: progress(execution),
        locks: execution.locks.iter().map(|taken| lock(taken, execution.lease_until)).collect(),
    }
}

fn progress(execution: &Attempt) -> Option<Progress> {
    let percent = execution.progress_percent.and_then(|percent| u8::try_from(percent).ok());
    let message = execution.progress_message.clone();
    (percent.is_some() || message.is_some()).then_some(Progress { percent, message })
}

fn purpose(purpose: domain_words::Purpose) -> ExecutionPurpose {
    match purpose {
        domain_words::Purpose::Apply => ExecutionPurpose::Apply,
        domain_words::Purpose::Rollback => ExecutionPurpose::Rollback,
    }
}

fn phase(phase: domain_words::Phase) -> ExecutionPhase {
    match phase {
        domain_words::Phase::Applying => ExecutionPhase::Applying,
        domain_words::Phase::RollingBack => ExecutionPhase::RollingBack,
        domain_words::Phase::Ended => ExecutionPhase::Ended,
    }
}

fn result(result: domain_words::ExecutionResult) -> ExecutionResult {
    match result {
        domain_words::ExecutionResult::Success => ExecutionResult::Success,
        domain_words::ExecutionResult::Failure => ExecutionResult::Failure,
        domain_words::ExecutionResult::Timeout => ExecutionResult::Timeout,
        domain_words::ExecutionResult::Cancelled => ExecutionResult::Cancelled,
    }
}

fn outcome(outcome: domain_words::Outcome) -> ExecutionOutcome {
    match outcome {
        domain_words::Outcome::Known => ExecutionOutcome::Known,
        domain_words::Outcome::Unknown => ExecutionOutcome::Unknown,
    }
}

fn rollback(rollback: domain_words::Rollback) -> RollbackStatus {
    match rollback {
        domain_words::Rollback::None => RollbackStatus::None,
        domain_words::Rollback::Asked => RollbackStatus::Asked,
        domain_words::Rollback::Running => RollbackStatus::Running,
        domain_words::Rollback::Succeeded => RollbackStatus::Succeeded,
        domain_words::Rollback::Failed => RollbackStatus::Failed,
    }
}

/// Why an attempt does not begin, as clients see it.
pub(crate) fn not_begun(why: &NotBegun, detail: String) -> Problem {
    let problem = |code| Problem::new(code, detail.clone());
    match why {
        NotBegun::NotApproved { state, .. } => problem(Code::NotApproved).with("state", state.as_str()),
        NotBegun::Blocked(by) => {
            let open = by.iter().map(|by| wire::BlockedBy {
                task_id: by.task_id.raw(),
                state: state(by.state),
                dead: by.dead,
            });
            problem(Code::Blocked).with("blocked_by", json!(open.collect::<Vec<_>>()))
        }
        NotBegun::TooSoon(not_before) => problem(Code::Blocked).with("not_before", not_before.to_string()),
        NotBegun::AtCapacity => problem(Code::AgentAtCapacity),
        NotBegun::Draining => problem(Code::AgentDraining),
        NotBegun::Claimed(resource) => problem(Code::LockHeld).with("resource", resource.as_str()),
    }
}

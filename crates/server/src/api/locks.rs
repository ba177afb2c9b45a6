//! Locks, lines and tickets.

use std::collections::BTreeSet;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use domain::Id;
use domain::cursor::CursorKey;
use domain::locks::{Edge, Mode, Owner, Waiter};
use hub::locks::{self, Acquired, Ask, AskMany, Held, LockRefusal, Wanted};
use serde_json::json;
use wire::{
    AcquireLock, AcquireLocks, Code, ForceReleaseLock, HeartbeatLock, Lock, LockEdge, LockGraph, LockHeard,
    LockMode, LockOwner, LockQueue, LockQueueQuery, LockReleased, LockTicket, LockValidity, LockWaiter,
    Locks, LocksQuery, Page, QueuedLock, ReleaseLock, TicketStatus, ValidateLock,
};

use super::page::{List, limits};
use crate::App;
use crate::extract::{Asked, Input, PathId, Who};
use crate::json::Json;
use crate::problem::Problem;

const RETRY_AFTER_SECONDS: u32 = 1;

/// Takes a lock, waits for it, or leaves a ticket in the line.
#[utoipa::path(post, path = "/api/v1/locks/acquire", operation_id = "acquire_lock",
    tag = "locks", request_body = AcquireLock,
    responses((status = 200, description = "The lock", body = Lock),
              (status = 202, description = "A ticket", body = QueuedLock),
              (status = 409, description = "You hold it already", body = wire::Problem),
              (status = 422, description = "Not valid", body = wire::Problem),
              (status = 423, description = "Held by others, or waiting would never end", body = wire::Problem),
              (status = 503, description = "Too many wait", body = wire::Problem)))]
pub(crate) async fn acquire(
    State(app): State<App>,
    Who(caller): Who,
    input: Input<AcquireLock>,
) -> Result<Response, Problem> {
    let request = input.checked()?.value;
    let ask = Ask {
        key: request.key,
        mode: asked_mode(request.mode),
        agent: request.agent_id.map(Id::new),
        owner: request.owner,
        request_id: request.request_id,
        ttl_seconds: request.ttl_seconds,
        wait_seconds: request.wait_seconds.unwrap_or(0),
        queue: request.queue.unwrap_or(false),
        purpose: request.purpose,
        priority: request.priority,
    };
    Ok(match locks::acquire(&app.hub, &caller, ask).await? {
        Acquired::Held(held) | Acquired::Again(held) => Json(shown(&held)).into_response(),
        Acquired::Queued { ticket, position } => {
            let queued = QueuedLock { ticket_id: ticket.raw(), position: small(position) };
            (StatusCode::ACCEPTED, Json(queued)).into_response()
        }
    })
}

/// Takes several locks, or none of them.
#[utoipa::path(post, path = "/api/v1/locks/acquire-many", operation_id = "acquire_locks",
    tag = "locks", request_body = AcquireLocks,
    responses((status = 200, description = "All of them", body = Locks),
              (status = 409, description = "You hold one of them already", body = wire::Problem),
              (status = 422, description = "Not valid", body = wire::Problem),
              (status = 423, description = "One is held by others, or waiting would never end", body = wire::Problem),
              (status = 503, description = "Too many wait", body = wire::Problem)))]
pub(crate) async fn acquire_many(
    State(app): State<App>,
    Who(caller): Who,
    input: Input<AcquireLocks>,
) -> Result<Json<Locks>, Problem> {
    let request = input.checked()?.value;
    let terms = Ask {
        agent: request.agent_id.map(Id::new),
        owner: request.owner,
        request_id: request.request_id,
        ttl_seconds: request.ttl_seconds,
        wait_seconds: request.wait_seconds.unwrap_or(0),
        purpose: request.purpose,
        priority: request.priority,
        ..Ask::default()
    };
    let keys = request.keys.into_iter().map(|wanted| (wanted.key, asked_mode(wanted.mode))).collect();
    let held = locks::acquire_many(&app.hub, &caller, AskMany { keys, terms }).await?;
    Ok(Json(Locks { locks: held.iter().map(shown).collect() }))
}

/// Says that the holder of a lock is alive.
#[utoipa::path(post, path = "/api/v1/locks/heartbeat", operation_id = "heartbeat_lock",
    tag = "locks", request_body = HeartbeatLock,
    responses((status = 200, description = "Heard", body = LockHeard),
              (status = 409, description = "Not held any more, or by somebody else", body = wire::Problem)))]
pub(crate) async fn heartbeat(
    State(app): State<App>,
    Who(caller): Who,
    input: Input<HeartbeatLock>,
) -> Result<Json<LockHeard>, Problem> {
    let HeartbeatLock { lock_id, agent_id, ttl_extension, .. } = input.checked()?.value;
    let (agent, id) = (agent_id.map(Id::new), Id::new(lock_id));
    let held = locks::heartbeat(&app.hub, &caller, agent, id, ttl_extension).await?;
    let expires_at = held.hold.expires_at.to_string();
    Ok(Json(LockHeard { expires_at, heartbeat_count: held.hold.heartbeats }))
}

/// Gives a lock back.
#[utoipa::path(post, path = "/api/v1/locks/release", operation_id = "release_lock",
    tag = "locks", request_body = ReleaseLock,
    responses((status = 200, description = "Given back", body = LockReleased),
              (status = 409, description = "Not held any more, or by somebody else", body = wire::Problem)))]
pub(crate) async fn release(
    State(app): State<App>,
    Who(caller): Who,
    input: Input<ReleaseLock>,
) -> Result<Json<LockReleased>, Problem> {
    let ReleaseLock { lock_id, agent_id } = input.checked()?.value;
    locks::release(&app.hub, &caller, agent_id.map(Id::new), Id::new(lock_id)).await?;
    Ok(Json(LockReleased { released: true }))
}

/// Whether a fencing token is that of a present holder.
#[utoipa::path(post, path = "/api/v1/locks/validate", operation_id = "validate_lock",
    tag = "locks", request_body = ValidateLock,
    responses((status = 200, description = "Whether it is", body = LockValidity)))]
pub(crate) async fn validate(
    State(app): State<App>,
    Who(caller): Who,
    input: Input<ValidateLock>,
) -> Result<Json<LockValidity>, Problem> {
    let ValidateLock { key, fencing_token } = input.checked()?.value;
    let current = locks::is_current(&app.hub, &caller, &key, fencing_token).await?;
    Ok(Json(LockValidity { current }))
}

/// Locks of the organization, newest first.
#[utoipa::path(get, path = "/api/v1/locks", operation_id = "list_locks",
    tag = "locks", params(LocksQuery),
    responses((status = 200, description = "A page of locks", body = Page<Lock>)))]
pub(crate) async fn list(
    State(app): State<App>,
    Who(caller): Who,
    Asked(query): Asked<LocksQuery>,
) -> Result<Json<Page<Lock>>, Problem> {
    let list = List::new(&caller, "locks")
        .filtered("agent_id", query.agent_id)
        .filtered("resource_type", query.resource_type.as_ref())
        .filtered("key", query.key.as_ref());
    let (limit, _) = limits(query.limit);
    let wanted = Wanted {
        agent: query.agent_id.map(Id::new),
        before: list.place(query.cursor.as_deref())?.map(|(at, id)| (at, Id::new(id))),
        resource_type: query.resource_type.clone(),
        key: query.key.clone(),
        limit: limit + 1,
    };
    let found = locks::list(&app.hub, &caller, wanted).await?;
    let place = |held: &Held| {
        vec![CursorKey::Int(held.hold.acquired_at.micros()), CursorKey::Uuid(held.hold.id.raw())]
    };
    Ok(Json(list.page(found, limit, place, shown)))
}

/// One key: who holds it, who waits.
#[utoipa::path(get, path = "/api/v1/locks/queue", operation_id = "lock_queue",
    tag = "locks", params(LockQueueQuery),
    responses((status = 200, description = "Holders and waiters", body = LockQueue),
              (status = 422, description = "No key", body = wire::Problem)))]
pub(crate) async fn queue(
    State(app): State<App>,
    Who(caller): Who,
    Asked(query): Asked<LockQueueQuery>,
) -> Result<Json<LockQueue>, Problem> {
    let standing = locks::queue(&app.hub, &caller, &query.key).await?;
    let waiters = standing.waiters.iter().enumerate().map(|(place, waiter)| waiting(place + 1, waiter));
    let holders = standing.holders.iter().map(shown).collect();
    Ok(Json(LockQueue { key: query.key, holders, waiters: waiters.collect() }))
}

/// Who waits for whom, and the circles among them.
#[utoipa::path(get, path = "/api/v1/locks/graph", operation_id = "lock_graph", tag = "locks",
    responses((status = 200, description = "The graph", body = LockGraph)))]
pub(crate) async fn graph(State(app): State<App>, Who(caller): Who) -> Result<Json<LockGraph>, Problem> {
    let graph = locks::graph(&app.hub, &caller).await?;
    let edges: Vec<LockEdge> = graph.edges.iter().map(edge).collect();
    let nodes: BTreeSet<LockOwner> =
        edges.iter().flat_map(|edge| [edge.waiter.clone(), edge.blocker.clone()]).collect();
    let cycles = graph.circles.iter().map(|circle| circle.iter().map(edge).collect()).collect();
    Ok(Json(LockGraph { nodes: nodes.into_iter().collect(), edges, cycles }))
}

/// How a ticket stands.
#[utoipa::path(get, path = "/api/v1/locks/tickets/{ticket_id}", operation_id = "get_lock_ticket",
    tag = "locks", params(("ticket_id" = uuid::Uuid, Path, description = "The ticket")),
    responses((status = 200, description = "The ticket", body = LockTicket),
              (status = 404, description = "No such ticket", body = wire::Problem)))]
pub(crate) async fn ticket(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
) -> Result<Json<LockTicket>, Problem> {
    Ok(Json(shown_ticket(&locks::ticket(&app.hub, &caller, id.id()).await?)))
}

/// Takes a ticket out of the line. One that is granted already stays so: release its lock.
#[utoipa::path(delete, path = "/api/v1/locks/tickets/{ticket_id}", operation_id = "leave_lock_queue",
    tag = "locks", params(("ticket_id" = uuid::Uuid, Path, description = "The ticket")),
    responses((status = 200, description = "The ticket, as it stands", body = LockTicket),
              (status = 403, description = "Somebody else's", body = wire::Problem),
              (status = 404, description = "No such ticket", body = wire::Problem)))]
pub(crate) async fn leave(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
) -> Result<Json<LockTicket>, Problem> {
    Ok(Json(shown_ticket(&locks::leave(&app.hub, &caller, id.id()).await?)))
}

/// Ends whatever holds a key, on record; those who wait move up.
#[utoipa::path(post, path = "/api/v1/locks/force-release", operation_id = "force_release_lock",
    tag = "locks", request_body = ForceReleaseLock,
    responses((status = 200, description = "What was ended", body = Locks),
              (status = 403, description = "For admins", body = wire::Problem),
              (status = 422, description = "Not valid", body = wire::Problem)))]
pub(crate) async fn force_release(
    State(app): State<App>,
    Who(caller): Who,
    input: Input<ForceReleaseLock>,
) -> Result<Json<Locks>, Problem> {
    let ForceReleaseLock { key, reason } = input.checked()?.value;
    let ended = locks::force_release(&app.hub, &caller, &key, reason).await?;
    Ok(Json(Locks { locks: ended.iter().map(shown).collect() }))
}

fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn mode(mode: Mode) -> LockMode {
    match mode {
        Mode::Exclusive => LockMode::Exclusive,
        Mode::Shared => LockMode::Shared,
    }
}

fn asked_mode(mode: LockMode) -> Mode {
    match mode {
        LockMode::Exclusive => Mode::Exclusive,
        LockMode::Shared => Mode::Shared,
    }
}

fn shown(held: &Held) -> Lock {
    let hold = &held.hold;
    Lock {
        lock_id: hold.id.raw(),
        key: held.key.to_string(),
        mode: mode(hold.mode),
        agent_id: hold.owner.agent.raw(),
        owner: hold.owner.name.to_string(),
        fencing_token: hold.fence,
        acquired_at: hold.acquired_at.to_string(),
        expires_at: hold.expires_at.to_string(),
        ttl_seconds: hold.ttl_seconds,
        heartbeat_count: hold.heartbeats,
        purpose: hold.about.as_ref().and_then(|about| about.purpose.as_deref()).map(str::to_owned),
    }
}

fn waiting(position: usize, waiter: &Waiter) -> LockWaiter {
    let about = waiter.about.as_deref();
    LockWaiter {
        position: small(position),
        agent_id: waiter.owner.agent.raw(),
        owner: waiter.owner.name.to_string(),
        mode: mode(waiter.mode),
        requested_at: waiter.asked_at.to_string(),
        priority: about.and_then(|about| about.priority),
        purpose: about.and_then(|about| about.purpose.as_deref()).map(str::to_owned),
        ticket_id: waiter.ticket().map(Id::raw),
    }
}

fn shown_ticket(ticket: &locks::Ticket) -> LockTicket {
    use locks::TicketStatus as Status;
    let (status, position, lock) = match &ticket.status {
        Status::Waiting(position) => (TicketStatus::Waiting, Some(small(*position)), None),
        Status::Granted(held) => (TicketStatus::Granted, None, Some(shown(held))),
        Status::Expired => (TicketStatus::Expired, None, None),
        Status::Cancelled => (TicketStatus::Cancelled, None, None),
    };
    LockTicket { ticket_id: ticket.id.raw(), key: ticket.key.to_string(), status, position, lock }
}

fn owner(owner: &Owner) -> LockOwner {
    LockOwner { agent_id: owner.agent.raw(), owner: owner.name.to_string() }
}

fn edge(edge: &Edge) -> LockEdge {
    LockEdge { waiter: owner(&edge.waiter), key: edge.key.to_string(), blocker: owner(&edge.blocker) }
}

/// What the engine says, as clients see it.
pub(crate) fn refused(refusal: &LockRefusal, detail: String) -> Problem {
    let problem = |code| Problem::new(code, detail.clone());
    match refusal {
        LockRefusal::Busy { holders, queue_length } => problem(Code::LockHeld)
            .with("holders", json!(holders.iter().map(shown).collect::<Vec<_>>()))
            .with("queue_length", *queue_length),
        LockRefusal::TimedOut => problem(Code::LockWaitTimeout),
        LockRefusal::AlreadyHeld(held) => {
            problem(Code::AlreadyHeld).with("lock_id", held.hold.id.raw().to_string())
        }
        LockRefusal::Deadlock(circle) => {
            problem(Code::DeadlockDetected).with("cycle", json!(circle.iter().map(edge).collect::<Vec<_>>()))
        }
        LockRefusal::QueueFull => problem(Code::QueueFull).retry_after(RETRY_AFTER_SECONDS),
        LockRefusal::TooMany => problem(Code::TooManyLocks).retry_after(RETRY_AFTER_SECONDS),
        LockRefusal::Expired => problem(Code::LockExpired),
        LockRefusal::NotHolder => problem(Code::NotHolder),
        LockRefusal::NoTicket => problem(Code::NotFound),
        LockRefusal::OutcomeUnknown => problem(Code::OutcomeUnknown).retry_after(RETRY_AFTER_SECONDS),
        LockRefusal::Unavailable(_) => {
            problem(Code::CoordinationUnavailable).retry_after(RETRY_AFTER_SECONDS)
        }
    }
}

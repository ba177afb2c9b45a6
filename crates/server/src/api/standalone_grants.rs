//! Standalone grants, under the paths of S002.

use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use domain::Timestamp;
use domain::events::Event;
use domain::standalone_grants::{GrantRefusal, GrantStatus as Status, StandaloneGrant as DomainGrant};
use hub::idempotency::{Answer, Outcome};
use hub::standalone_grants::{
    self, Consumption, Minted, NewGrant, TOLD_CONSUMED, TOLD_CREATED, TOLD_EXPIRED, WorkerHealth, WorkerStats,
};
use wire::standalone_grants::PENDING_LIMIT_DEFAULT;
use wire::{
    AcknowledgeGrant, AcknowledgedGrant, CleanedGrants, Code, ConsumeGrant, CreateGrant, CreatedGrant,
    GrantCleanup, GrantCleanupHealth, GrantCounts, GrantHealth, GrantNews, GrantSocketQuery, GrantStats,
    GrantStatsQuery, GrantStatus, PendingGrants, PendingGrantsQuery, StandaloneGrant,
};

use super::{answer, made, respond};
use crate::App;
use crate::extract::{Asked, Input, NoInput, PathId, Terms, Who};
use crate::feeds::{self, Tells, Upgrade};
use crate::json::Json;
use crate::problem::Problem;

/// Makes a grant. The answer is the only one that shows its token.
#[utoipa::path(post, path = "/api/ir/approvals", operation_id = "create_grant",
    tag = "grants", request_body = CreateGrant,
    params(("Idempotency-Key" = Option<String>, Header, description = "Repeat the request safely for 24 h")),
    responses((status = 201, description = "Made", body = CreatedGrant),
              (status = 403, description = "Not your organization, or not yours to make", body = wire::Problem),
              (status = 422, description = "Not valid", body = wire::Problem),
              (status = 503, description = "The store of grants does not answer", body = wire::Problem)))]
pub(crate) async fn create(
    State(app): State<App>,
    Who(caller): Who,
    terms: Terms,
    input: Input<CreateGrant>,
) -> Result<Response<Body>, Problem> {
    let Input { value, body_hash } = input.checked()?;
    let wanted = NewGrant {
        tenant: value.tenant_id,
        ir_hash: value.ir_hash,
        ttl_seconds: value.ttl_seconds,
        created_by: value.created_by,
    };
    let once = terms.once(&caller, body_hash, kept);
    let outcome = standalone_grants::mint(&app.hub, &caller, wanted, once).await?;
    Ok(respond(match outcome {
        Outcome::Fresh(minted) => rendered(&minted, false),
        Outcome::Replayed(answer) => answer,
    }))
}

fn kept(minted: &Minted) -> Answer {
    rendered(minted, true)
}

fn rendered(minted: &Minted, replayed: bool) -> Answer {
    let body = CreatedGrant {
        approval_id: minted.grant.id.raw(),
        token: (!replayed).then(|| minted.token.expose().to_owned()),
        expires_at: minted.grant.expires_at.to_string(),
        replayed,
    };
    answer(StatusCode::CREATED, Some(format!("/api/ir/approvals/{}", minted.grant.id)), &body)
}

/// Uses a token: once, in time, in its organization and for its hash.
#[utoipa::path(post, path = "/api/ir/approvals/consume", operation_id = "consume_grant",
    tag = "grants", request_body = ConsumeGrant,
    params(("Idempotency-Key" = Option<String>, Header, description = "Repeat the request safely for 24 h")),
    responses((status = 200, description = "Used, by this request and no other", body = StandaloneGrant),
              (status = 403, description = "Of another organization, or for another hash", body = wire::Problem),
              (status = 404, description = "No such token here", body = wire::Problem),
              (status = 409, description = "It was used before", body = wire::Problem),
              (status = 410, description = "It came too late", body = wire::Problem),
              (status = 503, description = "The store of grants does not answer", body = wire::Problem)))]
pub(crate) async fn consume(
    State(app): State<App>,
    Who(caller): Who,
    terms: Terms,
    input: Input<ConsumeGrant>,
) -> Result<Response<Body>, Problem> {
    let Input { value, body_hash } = input.checked()?;
    let presented = Consumption {
        token: value.token,
        tenant: value.tenant_id,
        ir_hash: value.ir_hash,
        consumed_by: value.consumed_by,
    };
    let once = terms.once(&caller, body_hash, used);
    Ok(made(standalone_grants::consume(&app.hub, &caller, presented, once).await?, used))
}

fn used(grant: &DomainGrant) -> Answer {
    answer(StatusCode::OK, None, &shown(grant))
}

/// Grants that can be used, newest first.
#[utoipa::path(get, path = "/api/ir/approvals/pending", operation_id = "list_pending_grants",
    tag = "grants", params(PendingGrantsQuery),
    responses((status = 200, description = "The grants", body = PendingGrants),
              (status = 403, description = "Not your organization", body = wire::Problem)))]
pub(crate) async fn pending(
    State(app): State<App>,
    Who(caller): Who,
    Asked(query): Asked<PendingGrantsQuery>,
) -> Result<Json<PendingGrants>, Problem> {
    let limit = i64::from(query.limit.unwrap_or(PENDING_LIMIT_DEFAULT));
    let listed = standalone_grants::pending(&app.hub, &caller, &query.tenant_id, limit).await?;
    let counts = counted(listed.counts);
    Ok(Json(PendingGrants {
        approvals: listed.grants.iter().map(shown).collect(),
        total: unsigned(listed.counts.total()),
        pending: counts.pending,
        consumed: counts.consumed,
        expired: counts.expired,
    }))
}

/// How many grants there are of each kind, and what the cleanup did.
#[utoipa::path(get, path = "/api/ir/approvals/stats", operation_id = "get_grant_stats",
    tag = "grants", params(GrantStatsQuery),
    responses((status = 200, description = "The numbers", body = GrantStats),
              (status = 403, description = "Not your organization", body = wire::Problem)))]
pub(crate) async fn stats(
    State(app): State<App>,
    Who(caller): Who,
    Asked(query): Asked<GrantStatsQuery>,
) -> Result<Json<GrantStats>, Problem> {
    let stats = standalone_grants::stats(&app.hub, &caller, &query.tenant_id).await?;
    let cleanup_worker = stats.worker.as_ref().map(worker_shown);
    Ok(Json(GrantStats { by_status: counted(stats.counts), cleanup_worker }))
}

/// Whether grants can be made and used right now.
#[utoipa::path(get, path = "/api/ir/approvals/health", operation_id = "get_grant_health",
    tag = "grants", responses((status = 200, description = "How it stands", body = GrantHealth)))]
pub(crate) async fn health(State(app): State<App>, Who(caller): Who) -> Result<Json<GrantHealth>, Problem> {
    let health = standalone_grants::health(&app.hub, &caller).await?;
    let worker = |worker: &WorkerHealth| GrantCleanupHealth {
        healthy: worker.healthy,
        status: worker.status.to_owned(),
        message: worker.message.to_owned(),
        stats: worker_shown(&worker.stats),
    };
    Ok(Json(GrantHealth {
        healthy: health.healthy,
        redis_available: health.redis_available,
        cleanup_worker: health.worker.as_ref().map(worker),
        message: health.message.to_owned(),
    }))
}

/// One grant, until 24 h after its end.
#[utoipa::path(get, path = "/api/ir/approvals/{approval_id}", operation_id = "get_grant",
    tag = "grants", params(("approval_id" = uuid::Uuid, Path)),
    responses((status = 200, description = "The grant", body = StandaloneGrant),
              (status = 404, description = "No such grant", body = wire::Problem)))]
pub(crate) async fn get(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
) -> Result<Json<StandaloneGrant>, Problem> {
    Ok(Json(shown(&standalone_grants::get(&app.hub, &caller, id.id()).await?)))
}

/// Notes that somebody has seen a grant; its token is not used by that.
#[utoipa::path(post, path = "/api/ir/approvals/{approval_id}/acknowledge", operation_id = "acknowledge_grant",
    tag = "grants", params(("approval_id" = uuid::Uuid, Path)), request_body = AcknowledgeGrant,
    responses((status = 200, description = "Noted", body = AcknowledgedGrant),
              (status = 404, description = "No such grant", body = wire::Problem),
              (status = 410, description = "It has expired", body = wire::Problem)))]
pub(crate) async fn acknowledge(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    input: Input<AcknowledgeGrant>,
) -> Result<Json<AcknowledgedGrant>, Problem> {
    let by = input.checked()?.value.acknowledged_by;
    let grant = standalone_grants::acknowledge(&app.hub, &caller, id.id(), by).await?;
    Ok(Json(AcknowledgedGrant {
        success: true,
        approval_id: grant.id.raw(),
        acknowledged_by: grant.acknowledged_by.unwrap_or_default(),
        message: "Approval acknowledged successfully".into(),
    }))
}

/// Clears away what has expired in your organization, without waiting for the cleanup's hour.
#[utoipa::path(post, path = "/api/ir/approvals/cleanup", operation_id = "clean_grants",
    tag = "grants",
    responses((status = 200, description = "Done", body = CleanedGrants),
              (status = 503, description = "The store of grants does not answer", body = wire::Problem)))]
pub(crate) async fn clean(
    State(app): State<App>,
    Who(caller): Who,
    _: NoInput,
) -> Result<Json<CleanedGrants>, Problem> {
    let stats = standalone_grants::clean(&app.hub, &caller).await?;
    Ok(Json(CleanedGrants { success: true, cleanup_worker: stats.as_ref().map(worker_shown) }))
}

/// What becomes of your organization's grants, as it happens. A text `ping` is answered with
/// `{"type":"heartbeat","message":"pong"}`.
#[utoipa::path(get, path = "/api/ir/approvals/ws", operation_id = "follow_grants",
    tag = "grants", params(GrantSocketQuery),
    responses((status = 101, description = "The socket; each message is one of these", body = GrantNews),
              (status = 403, description = "Not your organization", body = wire::Problem),
              (status = 426, description = "The request does not ask for a WebSocket", body = wire::Problem)))]
pub(crate) async fn follow(
    State(app): State<App>,
    Who(caller): Who,
    Asked(query): Asked<GrantSocketQuery>,
    upgrade: Upgrade,
) -> Result<Response<Body>, Problem> {
    let followers_max = feeds::followers_max(&app);
    let follower = standalone_grants::follow(&app.hub, &caller, &query.tenant_id, followers_max).await?;
    Ok(feeds::run_socket(&app, upgrade, follower, Tells::Grants))
}

/// An event of a grant in the words of S002.
pub(crate) fn news(event: &Event) -> Option<GrantNews> {
    let word = |name: &str| event.payload[name].as_str().map(str::to_owned);
    let approval_id = event.subject_id.parse().ok()?;
    Some(match event.event_type.as_str() {
        TOLD_CREATED => GrantNews::ApprovalCreated {
            approval_id,
            tenant_id: event.org_id?.raw(),
            ir_hash: word("ir_hash")?,
            expires_at: word("expires_at")?,
        },
        TOLD_CONSUMED => GrantNews::ApprovalConsumed { approval_id, consumed_by: word("consumed_by")? },
        TOLD_EXPIRED => GrantNews::ApprovalExpired { approval_id },
        _ => return None,
    })
}

/// A token that opens nothing, as a problem.
pub(crate) fn refused(refusal: &GrantRefusal, detail: String) -> Problem {
    match refusal {
        GrantRefusal::TenantMismatch => Problem::new(Code::TenantMismatch, detail),
        GrantRefusal::Unknown => Problem::new(Code::UnknownToken, detail),
        GrantRefusal::AlreadyConsumed(at) => {
            Problem::new(Code::AlreadyConsumed, detail).with("consumed_at", at.to_string())
        }
        GrantRefusal::Expired(at) => Problem::new(Code::Expired, detail).with("expired_at", at.to_string()),
        GrantRefusal::HashMismatch => Problem::new(Code::HashMismatch, detail),
    }
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

fn counted(counts: domain::standalone_grants::GrantCounts) -> GrantCounts {
    GrantCounts {
        pending: unsigned(counts.pending),
        consumed: unsigned(counts.consumed),
        expired: unsigned(counts.expired),
    }
}

fn worker_shown(stats: &WorkerStats) -> GrantCleanup {
    GrantCleanup {
        runs: stats.runs,
        total_cleaned: stats.total_cleaned,
        last_run: stats.last_run.map(|at| at.to_string()),
        last_cleaned: stats.last_cleaned,
        last_duration_ms: stats.last_duration_ms,
        running: stats.running,
        interval_seconds: stats.interval_seconds,
    }
}

fn shown(grant: &DomainGrant) -> StandaloneGrant {
    let text = |at: Option<Timestamp>| at.map(|at| at.to_string());
    StandaloneGrant {
        approval_id: grant.id.raw(),
        tenant_id: grant.org_id.raw(),
        ir_hash: grant.ir_hash.clone(),
        status: match grant.status {
            Status::Pending => GrantStatus::Pending,
            Status::Consumed => GrantStatus::Consumed,
            Status::Expired => GrantStatus::Expired,
        },
        expires_at: grant.expires_at.to_string(),
        created_at: grant.created_at.to_string(),
        consumed_at: text(grant.consumed_at),
        created_by: grant.created_by.clone(),
        consumed_by: grant.consumed_by.clone(),
        acknowledged_at: text(grant.acknowledged_at),
        acknowledged_by: grant.acknowledged_by.clone(),
    }
}

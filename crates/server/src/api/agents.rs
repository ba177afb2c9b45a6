//! Agents.

use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse;
use domain::agents::{AgentChange, check_label_key};
use domain::cursor::CursorKey;
use domain::{Id, Timestamp};
use hub::AgentFilter;
use hub::agents::{self, NewAgent, Seen};
use hub::idempotency::Answer;
use wire::{Agent, AgentState, AgentStatus, AgentsQuery, CreateAgent, Heartbeat, Page, UpdateAgent};

use super::page::{List, limits};
use super::{answer, made, versioned};
use crate::App;
use crate::extract::{Asked, Input, NoInput, PathId, Terms, Who};
use crate::json::Json;
use crate::problem::Problem;

/// Agents, newest first.
#[utoipa::path(get, path = "/api/v1/agents", operation_id = "list_agents",
    tag = "agents", params(AgentsQuery),
    responses((status = 200, description = "A page of agents", body = Page<Agent>)))]
pub(crate) async fn list(
    State(app): State<App>,
    Who(caller): Who,
    Asked(query): Asked<AgentsQuery>,
) -> Result<Json<Page<Agent>>, Problem> {
    let status = query.status.map(domain_status);
    let with_deactivated = query.include_deactivated.unwrap_or(false);
    let list = List::new(&caller, "agents")
        .filtered("owner_id", query.owner_id)
        .filtered("status", status.map(domain::agents::AgentStatus::as_str))
        .filtered("label", query.label.as_ref())
        .filtered("include_deactivated", with_deactivated.then_some(true));
    let filter = AgentFilter {
        owner: query.owner_id.map(Id::new),
        status,
        label: query.label.as_deref().map(label).transpose()?,
        with_deactivated,
        after: list.place(query.cursor.as_deref())?.map(|(at, id)| (at, Id::new(id))),
    };
    let (limit, read) = limits(query.limit);
    let found = agents::list(&app.hub, &caller, filter, read).await?;
    let place = |seen: &Seen| {
        vec![CursorKey::Int(seen.agent.created_at.micros()), CursorKey::Uuid(seen.agent.id.raw())]
    };
    Ok(Json(list.page(found, limit, place, shown)))
}

/// `key:value`; a key holds no colon.
pub(crate) fn label(text: &str) -> Result<(String, String), Problem> {
    let wrong = |detail: String| Problem::field("/label", detail);
    let (key, value) = text.split_once(':').ok_or_else(|| wrong("must read key:value".to_owned()))?;
    check_label_key(key).map_err(|bad| wrong(bad.to_string()))?;
    // No label holds one, and PostgreSQL keeps no text with it.
    if value.contains('\0') {
        return Err(wrong("must hold no control characters".to_owned()));
    }
    Ok((key.to_owned(), value.to_owned()))
}

/// Makes an agent that you answer for. Mint its key with `POST /api/v1/api-keys {account_id: <agent id>}`.
#[utoipa::path(post, path = "/api/v1/agents", operation_id = "create_agent",
    tag = "agents", request_body = CreateAgent,
    params(("Idempotency-Key" = Option<String>, Header, description = "Repeat the request safely for 24 h")),
    responses((status = 201, description = "Made", body = Agent),
              (status = 403, description = "For authors and admins", body = wire::Problem),
              (status = 409, description = "The name is taken", body = wire::Problem),
              (status = 422, description = "Not valid", body = wire::Problem)))]
pub(crate) async fn create(
    State(app): State<App>,
    Who(caller): Who,
    terms: Terms,
    input: Input<CreateAgent>,
) -> Result<Response<Body>, Problem> {
    let Input { value, body_hash } = input.checked()?;
    let wanted = NewAgent {
        name: value.name,
        description: value.description.unwrap_or_default(),
        model: value.model,
        role_name: value.role_name,
        max_tasks: value.max_tasks.unwrap_or(1),
        labels: value.labels.unwrap_or_default(),
        config: value.config.unwrap_or_default(),
    };
    let once = terms.once(&caller, body_hash, rendered);
    Ok(made(agents::create(&app.hub, &caller, wanted, once).await?, rendered))
}

/// One agent, also a retired one. `config` is shown to its owner and admins.
#[utoipa::path(get, path = "/api/v1/agents/{id}", operation_id = "get_agent",
    tag = "agents", params(("id" = uuid::Uuid, Path)),
    responses((status = 200, description = "The agent, with `ETag`, which heartbeats do not change", body = Agent),
              (status = 404, description = "No such agent", body = wire::Problem)))]
pub(crate) async fn get(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
) -> Result<impl IntoResponse, Problem> {
    Ok(tagged(&agents::get(&app.hub, &caller, id.id()).await?))
}

/// Changes an agent. Its owner may, and an admin; only an admin gives it another owner.
#[utoipa::path(patch, path = "/api/v1/agents/{id}", operation_id = "change_agent",
    tag = "agents", request_body = UpdateAgent, params(("id" = uuid::Uuid, Path),
    ("If-Match" = Option<String>, Header, description = "Only if it is still that of this `ETag`")),
    responses((status = 200, description = "The agent, changed", body = Agent),
              (status = 403, description = "Not yours to change", body = wire::Problem),
              (status = 404, description = "No such agent", body = wire::Problem),
              (status = 409, description = "The name is taken, or it is retired", body = wire::Problem),
              (status = 412, description = "It was changed since", body = wire::Problem),
              (status = 422, description = "Not valid", body = wire::Problem)))]
pub(crate) async fn change(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    terms: Terms,
    input: Input<UpdateAgent>,
) -> Result<impl IntoResponse, Problem> {
    let value = input.checked()?.value;
    let change = AgentChange {
        name: value.name,
        description: value.description,
        model: value.model,
        role_name: value.role_name,
        max_tasks: value.max_tasks,
        labels: value.labels,
        config: value.config,
        owner_id: value.owner_id.map(Id::new),
    };
    Ok(tagged(&agents::change(&app.hub, &caller, id.id(), change, terms.if_match).await?))
}

/// Retires an agent: its keys end at once, its rows stay. Repeating it changes nothing.
#[utoipa::path(delete, path = "/api/v1/agents/{id}", operation_id = "deactivate_agent",
    tag = "agents", params(("id" = uuid::Uuid, Path)),
    responses((status = 204, description = "It is retired"),
              (status = 403, description = "Not yours to retire", body = wire::Problem),
              (status = 404, description = "No such agent", body = wire::Problem)))]
pub(crate) async fn deactivate(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
) -> Result<StatusCode, Problem> {
    agents::deactivate(&app.hub, &caller, id.id()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Says that an agent is alive: itself, with any key of its own, or its owner.
#[utoipa::path(post, path = "/api/v1/agents/{id}/heartbeat", operation_id = "agent_heartbeat",
    tag = "agents", request_body = Heartbeat, params(("id" = uuid::Uuid, Path)),
    responses((status = 200, description = "What the hub thinks of it", body = AgentState),
              (status = 403, description = "Not yours to say", body = wire::Problem),
              (status = 404, description = "No such agent", body = wire::Problem),
              (status = 409, description = "It is retired", body = wire::Problem)))]
pub(crate) async fn heartbeat(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    input: Input<Heartbeat>,
) -> Result<Json<AgentState>, Problem> {
    let health = input.checked()?.value.health;
    let heard = agents::heartbeat(&app.hub, &caller, id.id(), health).await?;
    Ok(Json(AgentState {
        status: status(&heard.seen),
        max_tasks: heard.seen.agent.max_tasks,
        active_tasks: heard.seen.workload.active_tasks,
        queued_tasks: heard.seen.workload.queued_tasks,
        heartbeat_interval_seconds: heard.heartbeat_interval,
    }))
}

/// Has an agent take no new work. It may ask for that itself. Repeating it changes nothing.
#[utoipa::path(post, path = "/api/v1/agents/{id}/drain", operation_id = "drain_agent",
    tag = "agents", params(("id" = uuid::Uuid, Path)),
    responses((status = 200, description = "The agent", body = Agent),
              (status = 403, description = "Not yours to say", body = wire::Problem),
              (status = 404, description = "No such agent", body = wire::Problem),
              (status = 409, description = "It is retired", body = wire::Problem)))]
pub(crate) async fn drain(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    _: NoInput,
) -> Result<impl IntoResponse, Problem> {
    Ok(tagged(&agents::drain(&app.hub, &caller, id.id()).await?))
}

/// Has an agent take work again. Repeating it changes nothing.
#[utoipa::path(post, path = "/api/v1/agents/{id}/resume", operation_id = "resume_agent",
    tag = "agents", params(("id" = uuid::Uuid, Path)),
    responses((status = 200, description = "The agent", body = Agent),
              (status = 403, description = "Not yours to say", body = wire::Problem),
              (status = 404, description = "No such agent", body = wire::Problem),
              (status = 409, description = "It is retired", body = wire::Problem)))]
pub(crate) async fn resume(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    _: NoInput,
) -> Result<impl IntoResponse, Problem> {
    Ok(tagged(&agents::resume(&app.hub, &caller, id.id()).await?))
}

fn rendered(seen: &Seen) -> Answer {
    answer(StatusCode::CREATED, Some(format!("/api/v1/agents/{}", seen.agent.id)), &shown(seen))
}

fn tagged(seen: &Seen) -> impl IntoResponse + use<> {
    versioned(seen.etag(), shown(seen))
}

fn domain_status(status: AgentStatus) -> domain::agents::AgentStatus {
    match status {
        AgentStatus::Active => domain::agents::AgentStatus::Active,
        AgentStatus::Draining => domain::agents::AgentStatus::Draining,
        AgentStatus::Offline => domain::agents::AgentStatus::Offline,
    }
}

fn status(seen: &Seen) -> AgentStatus {
    match seen.agent.status() {
        domain::agents::AgentStatus::Active => AgentStatus::Active,
        domain::agents::AgentStatus::Draining => AgentStatus::Draining,
        domain::agents::AgentStatus::Offline => AgentStatus::Offline,
    }
}

fn shown(seen: &Seen) -> Agent {
    let text = |at: Option<Timestamp>| at.map(|at| at.to_string());
    let agent = &seen.agent;
    Agent {
        id: agent.id.raw(),
        owner_id: agent.owner_id.raw(),
        name: agent.name.clone(),
        description: agent.description.clone(),
        model: agent.model.clone(),
        role_name: agent.role_name.clone(),
        max_tasks: agent.max_tasks,
        labels: agent.labels.clone(),
        config: seen.config().cloned(),
        status: status(seen),
        active_tasks: seen.workload.active_tasks,
        queued_tasks: seen.workload.queued_tasks,
        last_heartbeat: text(agent.last_heartbeat),
        health: agent.health.clone(),
        deactivated_at: text(agent.deactivated_at),
        created_at: agent.created_at.to_string(),
        updated_at: agent.updated_at.to_string(),
    }
}

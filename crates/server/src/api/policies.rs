//! Policies.

mod backtests;

use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse;
use domain::Id;
use domain::cursor::CursorKey;
use domain::policies::{self as rules, Policy as DomainPolicy, PolicyChange};
use domain::text;
use hub::idempotency::Answer;
use hub::policies::{self, Filter};
use wire::{
    AutoApproveIf, Backtest, Hours, OnTimeout, Page, PoliciesQuery, Policy, PolicyForm, PolicyQuery,
    RejectOn, RunBacktest, Window,
};

use super::page::{List, limits};
use super::{answer, made, versioned};
use crate::App;
use crate::extract::{Asked, Input, PathId, Terms, Who};
use crate::json::Json;
use crate::problem::Problem;

/// Policies by name, also those that are no longer in force.
#[utoipa::path(get, path = "/api/v1/policies", operation_id = "list_policies",
    tag = "policies", params(PoliciesQuery),
    responses((status = 200, description = "A page of policies", body = Page<Policy>)))]
pub(crate) async fn list(
    State(app): State<App>,
    Who(caller): Who,
    Asked(query): Asked<PoliciesQuery>,
) -> Result<Json<Page<Policy>>, Problem> {
    if let Some(name) = &query.name {
        let checked = text::name(name, text::NAME_CHARS_MAX);
        checked.map_err(|bad| Problem::field("/name", bad.to_string()))?;
    }
    let list =
        List::new(&caller, "policies").filtered("name", query.name.as_ref()).filtered("active", query.active);
    let after = match list.keys(query.cursor.as_deref())?.as_deref() {
        None => None,
        Some([CursorKey::Text(name), CursorKey::Uuid(id)]) => Some((name.clone(), Id::new(*id))),
        Some(_) => return Err(Problem::field("/cursor", "not of this list")),
    };
    let (limit, read) = limits(query.limit);
    let filter = Filter { name: query.name, active: query.active, after };
    let found = policies::list(&app.hub, &caller, filter, read).await?;
    let place =
        |policy: &DomainPolicy| vec![CursorKey::Text(policy.name.clone()), CursorKey::Uuid(policy.id.raw())];
    Ok(Json(list.page(found, limit, place, shown)))
}

/// Makes a policy.
#[utoipa::path(post, path = "/api/v1/policies", operation_id = "create_policy",
    tag = "policies", request_body = PolicyForm,
    params(("Idempotency-Key" = Option<String>, Header, description = "Repeat the request safely for 24 h")),
    responses((status = 201, description = "Made", body = Policy),
              (status = 403, description = "For admins", body = wire::Problem),
              (status = 409, description = "The name is taken", body = wire::Problem),
              (status = 422, description = "Not valid", body = wire::Problem)))]
pub(crate) async fn create(
    State(app): State<App>,
    Who(caller): Who,
    terms: Terms,
    input: Input<PolicyForm>,
) -> Result<Response<Body>, Problem> {
    let Input { value, body_hash } = input.checked()?;
    let once = terms.once(&caller, body_hash, rendered);
    Ok(made(policies::create(&app.hub, &caller, wanted(value, "")?, once).await?, rendered))
}

/// One policy, as it is or as it was in a version.
#[utoipa::path(get, path = "/api/v1/policies/{id}", operation_id = "get_policy",
    tag = "policies", params(("id" = uuid::Uuid, Path), PolicyQuery),
    responses((status = 200, description = "The policy, with `ETag`", body = Policy),
              (status = 404, description = "No such policy, or no such version of it", body = wire::Problem)))]
pub(crate) async fn get(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    Asked(query): Asked<PolicyQuery>,
) -> Result<impl IntoResponse, Problem> {
    Ok(tagged(&policies::get(&app.hub, &caller, id.id(), query.version).await?))
}

/// Changes a policy, which makes its next version. Reviews that have begun keep theirs.
#[utoipa::path(patch, path = "/api/v1/policies/{id}", operation_id = "change_policy",
    tag = "policies", request_body = PolicyForm, params(("id" = uuid::Uuid, Path),
    ("If-Match" = Option<String>, Header, description = "Only if it is still that of this `ETag`")),
    responses((status = 200, description = "The policy, changed", body = Policy),
              (status = 403, description = "For admins", body = wire::Problem),
              (status = 404, description = "No such policy", body = wire::Problem),
              (status = 409, description = "The name is taken", body = wire::Problem),
              (status = 412, description = "It was changed since", body = wire::Problem),
              (status = 422, description = "Not valid", body = wire::Problem)))]
pub(crate) async fn change(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    terms: Terms,
    input: Input<PolicyForm>,
) -> Result<impl IntoResponse, Problem> {
    let change = wanted(input.checked()?.value, "")?;
    Ok(tagged(&policies::change(&app.hub, &caller, id.id(), change, terms.if_match).await?))
}

/// Takes a policy out of force; its versions stay. Repeating it changes nothing.
#[utoipa::path(delete, path = "/api/v1/policies/{id}", operation_id = "deactivate_policy",
    tag = "policies", params(("id" = uuid::Uuid, Path)),
    responses((status = 204, description = "It is no longer in force"),
              (status = 403, description = "For admins", body = wire::Problem),
              (status = 404, description = "No such policy", body = wire::Problem),
              (status = 409, description = "The default policy stays", body = wire::Problem)))]
pub(crate) async fn deactivate(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
) -> Result<StatusCode, Problem> {
    policies::deactivate(&app.hub, &caller, id.id()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Says what a draft of a policy would have changed for tasks that were handed in. Nothing changes.
///
/// Each task is held against the rules as they stand and against the rules with the draft in the policy's place; without a
/// draft, against the rules without the policy and as they stand. What a task says and how dangerous it was is that of
/// then; who could be asked, roles, delegations and settings are those of now.
#[utoipa::path(post, path = "/api/v1/policies/{id}/backtest", operation_id = "backtest_policy",
    tag = "policies", request_body = RunBacktest, params(("id" = uuid::Uuid, Path)),
    responses((status = 200, description = "What would have been different", body = Backtest),
              (status = 403, description = "For admins who see tasks, and no agents", body = wire::Problem),
              (status = 404, description = "No such policy", body = wire::Problem),
              (status = 409, description = "The name of the draft is taken", body = wire::Problem),
              (status = 422, description = "Not valid", body = wire::Problem)))]
pub(crate) async fn backtest(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    input: Input<RunBacktest>,
) -> Result<Json<Backtest>, Problem> {
    let RunBacktest { days, draft } = input.checked()?.value;
    let draft = draft.map(|form| wanted(form, "/draft")).transpose()?;
    let found = policies::backtest(&app.hub, &caller, id.id(), days, draft).await?;
    Ok(Json(backtests::shown(&found)))
}

fn rendered(policy: &DomainPolicy) -> Answer {
    answer(StatusCode::CREATED, Some(format!("/api/v1/policies/{}", policy.id)), &shown(policy))
}

fn tagged(policy: &DomainPolicy) -> impl IntoResponse + use<> {
    versioned(policies::etag(policy), shown(policy))
}

/// What is said in a form that stands at this place of the input.
fn wanted(form: PolicyForm, at: &str) -> Result<PolicyChange, Problem> {
    let accounts = |ids: Vec<uuid::Uuid>| ids.into_iter().map(Id::new).collect();
    let read = |hours: Hours| wanted_hours(hours, at);
    let hours = form.hours.map(|hours| hours.map(read).transpose()).transpose()?;
    Ok(PolicyChange {
        name: form.name,
        active: form.active,
        task_types: form.task_types,
        resource_patterns: form.resource_patterns,
        risk_threshold: form.risk_threshold,
        when: form.when,
        hours,
        min_approvers: form.min_approvers,
        required_roles: form.required_roles,
        reviewers: form.reviewers.map(accounts),
        reject_on: form.reject_on.map(|reject_on| match reject_on {
            RejectOn::Any => rules::RejectOn::Any,
            RejectOn::Unreachable => rules::RejectOn::Unreachable,
        }),
        admins_count: form.admins_count,
        following_counts: form.following_counts,
        allow_service_reviewers: form.allow_service_reviewers,
        timeout_seconds: form.timeout_seconds,
        escalate_to: form.escalate_to.map(|levels| levels.into_iter().map(accounts).collect()),
        on_timeout: form.on_timeout.map(|on_timeout| match on_timeout {
            OnTimeout::Deny => rules::OnTimeout::Deny,
            OnTimeout::Park => rules::OnTimeout::Park,
        }),
        auto_approve_if: form.auto_approve_if.map(|auto| {
            auto.map(|auto| rules::AutoApproveIf {
                risk_below: auto.risk_below,
                author_has_role: auto.author_has_role,
                resources_in_scope: auto.resources_in_scope,
            })
        }),
    })
}

fn wanted_hours(hours: Hours, at: &str) -> Result<rules::Hours, Problem> {
    let window = |(index, window): (usize, Window)| {
        let place = format!("{at}/hours/windows/{index}");
        let time = |name: &str, text: &str| {
            let wrong = |bad: text::BadText| Problem::field(format!("{place}/{name}"), bad.to_string());
            text.parse().map_err(wrong)
        };
        let day = |(index, day): (usize, &String)| {
            let wrong = |bad: text::BadText| Problem::field(format!("{place}/days/{index}"), bad.to_string());
            day.parse().map_err(wrong)
        };
        let days = window.days.iter().enumerate().map(day).collect::<Result<_, Problem>>()?;
        Ok(rules::hours::Window { days, from: time("from", &window.from)?, to: time("to", &window.to)? })
    };
    let windows = hours.windows.into_iter().enumerate().map(window).collect::<Result<_, Problem>>()?;
    Ok(rules::Hours { time_zone: hours.time_zone, windows })
}

fn shown_hours(hours: &rules::Hours) -> Hours {
    let window = |window: &rules::hours::Window| Window {
        days: window.days.iter().map(ToString::to_string).collect(),
        from: window.from.to_string(),
        to: window.to.to_string(),
    };
    Hours { time_zone: hours.time_zone.clone(), windows: hours.windows.iter().map(window).collect() }
}

fn shown(policy: &DomainPolicy) -> Policy {
    let rules::PolicyRules { quorum, .. } = &policy.rules;
    let said = policy.rules.clone();
    let accounts = |ids: &Vec<Id<_>>| ids.iter().map(|id| id.raw()).collect();
    Policy {
        id: policy.id.raw(),
        name: policy.name.clone(),
        is_default: policy.is_default,
        active: policy.active,
        version: policy.version,
        task_types: said.task_types,
        resource_patterns: said.resource_patterns,
        risk_threshold: said.risk_threshold,
        when: said.when,
        hours: said.hours.as_ref().map(shown_hours),
        min_approvers: quorum.min_approvers,
        required_roles: quorum.required_roles.clone(),
        reviewers: accounts(&quorum.reviewers),
        reject_on: match quorum.reject_on {
            rules::RejectOn::Any => RejectOn::Any,
            rules::RejectOn::Unreachable => RejectOn::Unreachable,
        },
        timeout_seconds: said.timeout_seconds,
        escalate_to: said.escalate_to.iter().map(accounts).collect(),
        on_timeout: match said.on_timeout {
            rules::OnTimeout::Deny => OnTimeout::Deny,
            rules::OnTimeout::Park => OnTimeout::Park,
        },
        admins_count: quorum.admins_count,
        following_counts: quorum.following_counts,
        allow_service_reviewers: quorum.allow_service_reviewers,
        auto_approve_if: said.auto_approve_if.map(|auto| AutoApproveIf {
            risk_below: auto.risk_below,
            author_has_role: auto.author_has_role,
            resources_in_scope: auto.resources_in_scope,
        }),
        created_at: policy.created_at.to_string(),
        updated_at: policy.updated_at.to_string(),
    }
}

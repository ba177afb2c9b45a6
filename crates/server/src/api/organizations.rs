//! Organizations and their members.

use axum::body::Body;
use axum::extract::State;
use axum::http::header::ETAG;
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse;
use domain::Id;
use domain::cursor::CursorKey;
use domain::members::{Member as DomainMember, Seat, SeatChange};
use domain::organizations::{MembershipLevel, Organization as DomainOrganization, OrganizationChange};
use hub::idempotency::{Answer, Outcome};
use hub::identity::members::{self, Place};
use hub::identity::organizations::{self, NewOrganization};
use hub::{Caller, OrganizationFilter};
use uuid::Uuid;
use wire::{
    AccountsQuery, AddMember, ChangeMember, ChangeOrganization, CreateOrganization, Member, Organization,
    OrganizationsQuery, Page, TransferOwnership,
};

use super::accounts::{level_asked, listed, shown as member_shown};
use super::me::organization as shown;
use super::page::{List, limits};
use super::{answer, respond};
use crate::App;
use crate::extract::{Asked, Input, PathId, PathIds, Terms, Who};
use crate::json::Json;
use crate::problem::Problem;

/// The organizations you belong to, newest first; for an instance admin all.
#[utoipa::path(get, path = "/api/v1/organizations", operation_id = "list_organizations",
    tag = "identity", params(OrganizationsQuery),
    responses((status = 200, description = "A page of organizations", body = Page<Organization>)))]
pub(crate) async fn list(
    State(app): State<App>,
    Who(caller): Who,
    Asked(query): Asked<OrganizationsQuery>,
) -> Result<Json<Page<Organization>>, Problem> {
    let list = List::new(&caller, "organizations")
        .filtered("slug", query.slug.as_ref())
        .filtered("gitea_org_name", query.gitea_org_name.as_ref());
    let after = list.place(query.cursor.as_deref())?.map(|(at, id)| (at, Id::new(id)));
    let (limit, read) = limits(query.limit);
    let filter =
        OrganizationFilter { of_member: None, slug: query.slug, gitea_org_name: query.gitea_org_name };
    let found = organizations::list(&app.hub, &caller, filter, after, read).await?;
    let keys = |found: &DomainOrganization| {
        vec![CursorKey::Int(found.created_at.micros()), CursorKey::Uuid(found.id.raw())]
    };
    Ok(Json(list.page(found, limit, keys, shown)))
}

/// Makes an organization that you own; for instance admins.
#[utoipa::path(post, path = "/api/v1/organizations", operation_id = "create_organization",
    tag = "identity", request_body = CreateOrganization,
    params(("Idempotency-Key" = Option<String>, Header, description = "Repeat the request safely for 24 h")),
    responses((status = 201, description = "Made", body = Organization),
              (status = 403, description = "For instance admins", body = wire::Problem),
              (status = 409, description = "Name or slug is taken", body = wire::Problem)))]
pub(crate) async fn create(
    State(app): State<App>,
    Who(caller): Who,
    terms: Terms,
    input: Input<CreateOrganization>,
) -> Result<Response<Body>, Problem> {
    let Input { value, body_hash } = input.checked()?;
    let CreateOrganization { name, slug, gitea_org_name } = value;
    let once = terms.once(&caller, body_hash, rendered);
    let wanted = NewOrganization { name, slug, gitea_org_name };
    Ok(respond(match organizations::create(&app.hub, &caller, wanted, once).await? {
        Outcome::Fresh(made) => rendered(&made),
        Outcome::Replayed(answer) => answer,
    }))
}

fn rendered(made: &DomainOrganization) -> Answer {
    answer(StatusCode::CREATED, Some(format!("/api/v1/organizations/{}", made.id)), &shown(made))
}

/// An organization you belong to.
#[utoipa::path(get, path = "/api/v1/organizations/{id}", operation_id = "get_organization",
    tag = "identity", params(("id" = Uuid, Path)),
    responses((status = 200, description = "The organization, with `ETag`", body = Organization),
              (status = 404, description = "None of yours", body = wire::Problem)))]
pub(crate) async fn get(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
) -> Result<impl IntoResponse, Problem> {
    Ok(tagged(&organizations::get(&app.hub, &caller, id.id()).await?))
}

/// Changes an organization. Names, slugs and closing are an instance admin's.
#[utoipa::path(patch, path = "/api/v1/organizations/{id}", operation_id = "change_organization",
    tag = "identity", request_body = ChangeOrganization,
    params(("id" = Uuid, Path),
           ("If-Match" = Option<String>, Header, description = "Only if it is still the one of this `ETag`")),
    responses((status = 200, description = "Changed", body = Organization),
              (status = 403, description = "Not yours to change", body = wire::Problem),
              (status = 404, description = "None of yours", body = wire::Problem),
              (status = 409, description = "Name or slug is taken", body = wire::Problem),
              (status = 412, description = "It was changed since", body = wire::Problem)))]
pub(crate) async fn change(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    terms: Terms,
    input: Input<ChangeOrganization>,
) -> Result<impl IntoResponse, Problem> {
    let value = input.checked()?.value;
    let wanted = OrganizationChange {
        name: value.name,
        slug: value.slug,
        gitea_org_name: value.gitea_org_name,
        archived: value.archived,
    };
    Ok(tagged(&organizations::change(&app.hub, &caller, id.id(), wanted, terms.if_match).await?))
}

fn tagged(organization: &DomainOrganization) -> impl IntoResponse + use<> {
    ([(ETAG, organizations::etag(organization))], Json(shown(organization)))
}

/// The members of your organization, by name.
#[utoipa::path(get, path = "/api/v1/organizations/{id}/members", operation_id = "list_members",
    tag = "identity", params(("id" = Uuid, Path), AccountsQuery),
    responses((status = 200, description = "A page of members", body = Page<Member>),
              (status = 404, description = "Not the organization you act in", body = wire::Problem)))]
pub(crate) async fn members(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    Asked(query): Asked<AccountsQuery>,
) -> Result<Json<Page<Member>>, Problem> {
    listed(&app, &caller, id.id(), query).await.map(Json)
}

/// Adds an account that exists: one that is at home here, or, for an instance admin, any.
#[utoipa::path(post, path = "/api/v1/organizations/{id}/members", operation_id = "add_member",
    tag = "identity", request_body = AddMember,
    params(("id" = Uuid, Path),
           ("Idempotency-Key" = Option<String>, Header, description = "Repeat the request safely for 24 h")),
    responses((status = 201, description = "Added", body = Member),
              (status = 403, description = "For admins", body = wire::Problem),
              (status = 409, description = "A member already", body = wire::Problem),
              (status = 422, description = "Not valid", body = wire::Problem)))]
pub(crate) async fn add_member(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    terms: Terms,
    input: Input<AddMember>,
) -> Result<Response<Body>, Problem> {
    let Input { value, body_hash } = input.checked()?;
    let level = value.membership_level.map_or(MembershipLevel::Member, level_asked);
    let seat = Seat::asked(level, &value.roles, value.manager_id.map(Id::new))?;
    let once = terms.once(&caller, body_hash, added);
    let place = place(id.0, value.account_id);
    Ok(respond(match members::add(&app.hub, &caller, place, seat, once).await? {
        Outcome::Fresh(member) => added(&member),
        Outcome::Replayed(answer) => answer,
    }))
}

fn added((member, org): &(DomainMember, Id<DomainOrganization>)) -> Answer {
    let place = format!("/api/v1/organizations/{org}/members/{}", member.account.id);
    answer(StatusCode::CREATED, Some(place), &member_shown(*org, member))
}

/// One member.
#[utoipa::path(get, path = "/api/v1/organizations/{id}/members/{account_id}", operation_id = "get_member",
    tag = "identity", params(("id" = Uuid, Path), ("account_id" = Uuid, Path)),
    responses((status = 200, description = "The member, with `ETag`", body = Member),
              (status = 404, description = "No such member here", body = wire::Problem)))]
pub(crate) async fn get_member(
    State(app): State<App>,
    Who(caller): Who,
    PathIds(org, account): PathIds,
) -> Result<impl IntoResponse, Problem> {
    let member = members::get(&app.hub, &caller, place(org, account)).await?;
    Ok(seat_tagged(&caller, &member))
}

/// Changes level, roles and manager of a member.
#[utoipa::path(patch, path = "/api/v1/organizations/{id}/members/{account_id}", operation_id = "change_member",
    tag = "identity", request_body = ChangeMember,
    params(("id" = Uuid, Path), ("account_id" = Uuid, Path),
           ("If-Match" = Option<String>, Header, description = "Only if it is still the one of this `ETag`")),
    responses((status = 200, description = "Changed", body = Member),
              (status = 403, description = "For admins", body = wire::Problem),
              (status = 404, description = "No such member here", body = wire::Problem),
              (status = 409, description = "The owner stays owner", body = wire::Problem),
              (status = 412, description = "It was changed since", body = wire::Problem)))]
pub(crate) async fn change_member(
    State(app): State<App>,
    Who(caller): Who,
    PathIds(org, account): PathIds,
    terms: Terms,
    input: Input<ChangeMember>,
) -> Result<impl IntoResponse, Problem> {
    let value = input.checked()?.value;
    let wanted = SeatChange {
        level: value.membership_level.map(level_asked),
        roles: value.roles,
        manager_id: value.manager_id.map(|manager| manager.map(Id::new)),
    };
    let place = place(org, account);
    let member = members::change(&app.hub, &caller, place, wanted, terms.if_match).await?;
    Ok(seat_tagged(&caller, &member))
}

fn place(org: Uuid, account: Uuid) -> Place {
    Place { org: Id::new(org), account: Id::new(account) }
}

fn seat_tagged(caller: &Caller, member: &DomainMember) -> impl IntoResponse + use<> {
    let tag = member.seat.as_ref().map(members::etag).unwrap_or_default();
    ([(ETAG, tag)], Json(member_shown(caller.credential.organization.id, member)))
}

/// Ends a membership: an admin another's, everybody their own. Its keys and logins here end with it.
#[utoipa::path(delete, path = "/api/v1/organizations/{id}/members/{account_id}", operation_id = "remove_member",
    tag = "identity", params(("id" = Uuid, Path), ("account_id" = Uuid, Path)),
    responses((status = 204, description = "No longer a member"),
              (status = 404, description = "No such member here", body = wire::Problem),
              (status = 409, description = "The owner stays owner", body = wire::Problem)))]
pub(crate) async fn remove_member(
    State(app): State<App>,
    Who(caller): Who,
    PathIds(org, account): PathIds,
) -> Result<StatusCode, Problem> {
    members::remove(&app.hub, &caller, place(org, account)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Gives your organization another owner; the one until now stays as admin.
#[utoipa::path(post, path = "/api/v1/organizations/{id}/transfer-ownership", operation_id = "transfer_ownership",
    tag = "identity", request_body = TransferOwnership, params(("id" = Uuid, Path)),
    responses((status = 200, description = "Handed over", body = Organization),
              (status = 403, description = "For the owner", body = wire::Problem),
              (status = 422, description = "Not to this account", body = wire::Problem)))]
pub(crate) async fn transfer_ownership(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    input: Input<TransferOwnership>,
) -> Result<impl IntoResponse, Problem> {
    let to = place(id.0, input.checked()?.value.account_id);
    Ok(tagged(&members::transfer_ownership(&app.hub, &caller, to).await?))
}

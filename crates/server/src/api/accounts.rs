//! Accounts.

use axum::body::Body;
use axum::extract::State;
use axum::http::header::ETAG;
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse;
use domain::Id;
use domain::accounts::{Account as DomainAccount, AccountChange};
use domain::cursor::CursorKey;
use domain::members::{Member as DomainMember, Seat};
use domain::organizations::{MembershipLevel, Organization};
use hub::Caller;
use hub::idempotency::{Answer, Outcome};
use hub::identity::accounts::{self, Created, Wanted};
use hub::identity::founding::NewAccount;
use hub::identity::members::{self, Looking};
use hub::{MemberPlace, WantedMembers};
use wire::{AccountsQuery, ChangeAccount, CreateAccount, Invited, Member, Page};

use super::page::{List, limits};
use super::{answer, respond};
use crate::App;
use crate::extract::{Asked, Input, PathId, Terms, Who};
use crate::json::Json;
use crate::problem::Problem;

/// The members of the organization, by name.
#[utoipa::path(get, path = "/api/v1/accounts", operation_id = "list_accounts",
    tag = "identity", params(AccountsQuery),
    responses((status = 200, description = "A page of members", body = Page<Member>)))]
pub(crate) async fn list(
    State(app): State<App>,
    Who(caller): Who,
    Asked(query): Asked<AccountsQuery>,
) -> Result<Json<Page<Member>>, Problem> {
    listed(&app, &caller, caller.credential.organization.id, query).await.map(Json)
}

/// The page that both lists of members show.
pub(super) async fn listed(
    app: &App,
    caller: &Caller,
    org: Id<Organization>,
    query: AccountsQuery,
) -> Result<Page<Member>, Problem> {
    let list = List::new(caller, "accounts")
        .filtered("query", query.query.as_ref())
        .filtered("gitea_username", query.gitea_username.as_ref());
    let after = place(list.keys(query.cursor.as_deref())?)?;
    let wanted = match (query.query, query.gitea_username) {
        (Some(_), Some(_)) => {
            return Err(Problem::field("/gitea_username", "cannot be combined with query"));
        }
        (Some(text), None) => WantedMembers::Called(text),
        (None, Some(name)) => WantedMembers::InGitea(name),
        (None, None) => WantedMembers::Everybody,
    };
    let (limit, read) = limits(query.limit);
    let looking = Looking { org, wanted, after, limit: read };
    let found = members::list(&app.hub, caller, looking).await?;
    let keys = |(_, (name, id)): &(DomainMember, MemberPlace)| {
        let name = String::from_utf8_lossy(name).into_owned();
        vec![CursorKey::Text(name), CursorKey::Uuid(id.raw())]
    };
    Ok(list.page(found, limit, keys, |(member, _)| shown(org, member)))
}

fn place(keys: Option<Vec<CursorKey>>) -> Result<Option<MemberPlace>, Problem> {
    match keys.as_deref() {
        None => Ok(None),
        Some([CursorKey::Text(name), CursorKey::Uuid(id)]) => {
            Ok(Some((name.as_bytes().to_vec(), Id::new(*id))))
        }
        Some(_) => Err(Problem::field("/cursor", "not of this list")),
    }
}

/// Makes an account that is at home in your organization, or invites the one that has the address.
#[utoipa::path(post, path = "/api/v1/accounts", operation_id = "create_account",
    tag = "identity", request_body = CreateAccount,
    params(("Idempotency-Key" = Option<String>, Header, description = "Repeat the request safely for 24 h")),
    responses((status = 201, description = "Made", body = Member),
              (status = 202, description = "Somebody has this e-mail and is asked", body = Invited),
              (status = 403, description = "For admins", body = wire::Problem),
              (status = 409, description = "A member has this e-mail", body = wire::Problem),
              (status = 422, description = "Not valid", body = wire::Problem)))]
pub(crate) async fn create(
    State(app): State<App>,
    Who(caller): Who,
    terms: Terms,
    input: Input<CreateAccount>,
) -> Result<Response<Body>, Problem> {
    let Input { value, body_hash } = input.checked()?;
    let seat = Seat::asked(MembershipLevel::Member, &value.roles, value.manager_id.map(Id::new))?;
    let account = NewAccount {
        email: value.email,
        display_name: value.display_name,
        access_level: value.access_level.map_or(domain::accounts::AccessLevel::User, super::me::access_level),
    };
    let once = terms.once(&caller, body_hash, rendered);
    let wanted = Wanted { account, seat, password: value.password };
    Ok(respond(match accounts::create(&app.hub, &caller, wanted, once).await? {
        Outcome::Fresh(created) => rendered(&created),
        Outcome::Replayed(answer) => answer,
    }))
}

fn rendered(created: &Created) -> Answer {
    match created {
        Created::Account(member) => {
            let home = member.account.home_org_id;
            let shown = home.map(|org| shown(org, member));
            answer(StatusCode::CREATED, Some(format!("/api/v1/accounts/{}", member.account.id)), &shown)
        }
        Created::Invited(invitation) => {
            let body = Invited { invitation_id: invitation.id.raw() };
            answer(StatusCode::ACCEPTED, Some(format!("/api/v1/invitations/{}", invitation.id)), &body)
        }
    }
}

/// An account: your own, a member's, one that is at home in your organization.
#[utoipa::path(get, path = "/api/v1/accounts/{id}", operation_id = "get_account",
    tag = "identity", params(("id" = uuid::Uuid, Path)),
    responses((status = 200, description = "The account, with `ETag`", body = Member),
              (status = 404, description = "No such account here", body = wire::Problem)))]
pub(crate) async fn get(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
) -> Result<impl IntoResponse, Problem> {
    let member = accounts::get(&app.hub, &caller, id.id()).await?;
    Ok(tagged(&caller, &member))
}

/// Changes an account: your own, one that is at home in your organization as its admin.
#[utoipa::path(patch, path = "/api/v1/accounts/{id}", operation_id = "change_account",
    tag = "identity", request_body = ChangeAccount,
    params(("id" = uuid::Uuid, Path),
           ("If-Match" = Option<String>, Header, description = "Only if it is still the one of this `ETag`")),
    responses((status = 200, description = "Changed", body = Member),
              (status = 403, description = "Not yours to change", body = wire::Problem),
              (status = 404, description = "No such account here", body = wire::Problem),
              (status = 412, description = "It was changed since", body = wire::Problem)))]
pub(crate) async fn change(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    terms: Terms,
    input: Input<ChangeAccount>,
) -> Result<impl IntoResponse, Problem> {
    let value = input.checked()?.value;
    let wanted = AccountChange {
        display_name: value.display_name,
        email: value.email,
        gitea_username: value.gitea_username,
        status: value.status.map(super::me::account_status),
        access_level: value.access_level.map(super::me::access_level),
    };
    let member = accounts::change(&app.hub, &caller, id.id(), wanted, terms.if_match).await?;
    Ok(tagged(&caller, &member))
}

fn tagged(caller: &Caller, member: &DomainMember) -> impl IntoResponse + use<> {
    let tag = accounts::etag(&member.account);
    ([(ETAG, tag)], Json(shown(caller.credential.organization.id, member)))
}

/// The account as the organization sees it.
pub(super) fn shown(org: Id<Organization>, member: &DomainMember) -> Member {
    let account: &DomainAccount = &member.account;
    let seat = member.seat.as_ref();
    let grants = seat.map(|seat| seat.roles.as_slice()).unwrap_or_default();
    Member {
        account: super::me::account(account),
        membership_level: seat.map(|seat| level_shown(seat.level)),
        roles: seat.map(domain::members::Seated::role_names).unwrap_or_default(),
        role_grants: grants
            .iter()
            .map(|held| wire::RoleGrant { role: held.role.clone(), granted_by: held.granted_by.raw() })
            .collect(),
        manager_id: seat.and_then(|seat| seat.manager_id).map(Id::raw),
        joined_at: seat.map(|seat| seat.joined_at.to_string()),
        at_home: account.home_org_id == Some(org),
    }
}

pub(super) fn level_shown(level: MembershipLevel) -> wire::MembershipLevel {
    match level {
        MembershipLevel::Owner => wire::MembershipLevel::Owner,
        MembershipLevel::Admin => wire::MembershipLevel::Admin,
        MembershipLevel::Member => wire::MembershipLevel::Member,
    }
}

pub(super) fn level_asked(level: wire::MembershipLevel) -> MembershipLevel {
    match level {
        wire::MembershipLevel::Owner => MembershipLevel::Owner,
        wire::MembershipLevel::Admin => MembershipLevel::Admin,
        wire::MembershipLevel::Member => MembershipLevel::Member,
    }
}

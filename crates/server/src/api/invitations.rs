//! Invitations.

use axum::extract::State;
use domain::Id;
use domain::cursor::CursorKey;
use hub::Caller;
use hub::identity::invitations::{self, Answer, Seen};
use wire::{Invitation, InvitationStatus, InvitationsQuery, Page};

use super::accounts::level_shown;
use super::page::{List, limits};
use crate::App;
use crate::extract::{Asked, NoInput, PathId, Who};
use crate::json::Json;
use crate::problem::Problem;

/// The invitations you received, newest first; with `sent` those of your organization.
#[utoipa::path(get, path = "/api/v1/invitations", operation_id = "list_invitations",
    tag = "identity", params(InvitationsQuery),
    responses((status = 200, description = "A page of invitations", body = Page<Invitation>)))]
pub(crate) async fn list(
    State(app): State<App>,
    Who(caller): Who,
    Asked(query): Asked<InvitationsQuery>,
) -> Result<Json<Page<Invitation>>, Problem> {
    let list = List::new(&caller, "invitations").filtered("sent", Some(query.sent));
    let after = list.place(query.cursor.as_deref())?.map(|(at, id)| (at, Id::new(id)));
    let (limit, read) = limits(query.limit);
    let found = invitations::list(&app.hub, &caller, query.sent, after, read).await?;
    let keys = |seen: &Seen| {
        let invitation = &seen.invitation;
        vec![CursorKey::Int(invitation.created_at.micros()), CursorKey::Uuid(invitation.id.raw())]
    };
    Ok(Json(list.page(found, limit, keys, |seen| shown(&caller, seen))))
}

/// One invitation.
#[utoipa::path(get, path = "/api/v1/invitations/{id}", operation_id = "get_invitation",
    tag = "identity", params(("id" = uuid::Uuid, Path)),
    responses((status = 200, description = "The invitation", body = Invitation),
              (status = 404, description = "Not for you", body = wire::Problem)))]
pub(crate) async fn get(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
) -> Result<Json<Invitation>, Problem> {
    Ok(Json(shown(&caller, &invitations::get(&app.hub, &caller, id.id()).await?)))
}

/// Joins the organization.
#[utoipa::path(post, path = "/api/v1/invitations/{id}/accept", operation_id = "accept_invitation",
    tag = "identity", params(("id" = uuid::Uuid, Path)),
    responses((status = 200, description = "You belong to the organization", body = Invitation),
              (status = 404, description = "Not for you", body = wire::Problem),
              (status = 409, description = "Closed or expired", body = wire::Problem)))]
pub(crate) async fn accept(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    _: NoInput,
) -> Result<Json<Invitation>, Problem> {
    answered(&app, &caller, &id, Answer::Accept).await
}

/// Turns it down.
#[utoipa::path(post, path = "/api/v1/invitations/{id}/decline", operation_id = "decline_invitation",
    tag = "identity", params(("id" = uuid::Uuid, Path)),
    responses((status = 200, description = "Turned down", body = Invitation),
              (status = 404, description = "Not for you", body = wire::Problem),
              (status = 409, description = "Closed or expired", body = wire::Problem)))]
pub(crate) async fn decline(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
    _: NoInput,
) -> Result<Json<Invitation>, Problem> {
    answered(&app, &caller, &id, Answer::Decline).await
}

/// Takes back an invitation of your organization.
#[utoipa::path(delete, path = "/api/v1/invitations/{id}", operation_id = "withdraw_invitation",
    tag = "identity", params(("id" = uuid::Uuid, Path)),
    responses((status = 200, description = "Taken back", body = Invitation),
              (status = 404, description = "Not yours", body = wire::Problem),
              (status = 409, description = "Closed or expired", body = wire::Problem)))]
pub(crate) async fn withdraw(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
) -> Result<Json<Invitation>, Problem> {
    answered(&app, &caller, &id, Answer::Withdraw).await
}

async fn answered(
    app: &App,
    caller: &Caller,
    id: &PathId,
    answer: Answer,
) -> Result<Json<Invitation>, Problem> {
    Ok(Json(shown(caller, &invitations::answer(&app.hub, caller, id.id(), answer).await?)))
}

fn shown(caller: &Caller, seen: &Seen) -> Invitation {
    use domain::invitations::InvitationStatus as Status;
    let (invitation, organization) = (&seen.invitation, &seen.organization);
    let for_caller = invitation.account_id == caller.credential.account.id;
    Invitation {
        id: invitation.id.raw(),
        organization_id: organization.id.raw(),
        organization_slug: organization.slug.clone(),
        organization_name: organization.name.clone(),
        // Whoever invites knows an e-mail; which account has it is not theirs to know until it joins.
        account_id: for_caller.then(|| invitation.account_id.raw()),
        invited_by: invitation.invited_by.raw(),
        membership_level: level_shown(invitation.membership_level),
        roles: invitation.roles.clone(),
        status: match invitation.status {
            Status::Open => InvitationStatus::Open,
            Status::Accepted => InvitationStatus::Accepted,
            Status::Declined => InvitationStatus::Declined,
            Status::Withdrawn => InvitationStatus::Withdrawn,
        },
        expires_at: invitation.expires_at.to_string(),
        created_at: invitation.created_at.to_string(),
        updated_at: invitation.updated_at.to_string(),
    }
}

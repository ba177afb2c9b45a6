//! Who the caller is.

use domain::Id;
use domain::members::Seated;
use hub::Caller;
use wire::{Account, Me, Organization};

use crate::extract::Who;
use crate::json::Json;

/// The account, organization and permissions behind the credential.
#[utoipa::path(get, path = "/api/v1/me", operation_id = "me",
    tag = "identity",
    responses((status = 200, description = "Who the caller is", body = Me),
              (status = 401, description = "No valid credential", body = wire::Problem)))]
pub(crate) async fn me(Who(caller): Who) -> Json<Me> {
    Json(shown(&caller))
}

fn shown(caller: &Caller) -> Me {
    let credential = &caller.credential;
    let roles = credential.seat.as_ref().map(Seated::role_names).unwrap_or_default();
    Me {
        account: account(&credential.account),
        organization: organization(&credential.organization),
        roles,
        permissions: caller.capabilities.iter().map(|capability| capability.as_str().into()).collect(),
        key_id: credential.key_id().map(Id::raw),
        login_session_id: credential.login().map(|login| login.id.to_string()),
    }
}

pub(super) fn account(account: &domain::accounts::Account) -> Account {
    use domain::accounts::{AccessLevel, AccountStatus};
    Account {
        id: account.id.raw(),
        email: account.email.clone(),
        display_name: account.display_name.clone(),
        gitea_username: account.gitea_username.clone(),
        access_level: match account.access_level {
            AccessLevel::Admin => wire::AccessLevel::Admin,
            AccessLevel::User => wire::AccessLevel::User,
            AccessLevel::Service => wire::AccessLevel::Service,
        },
        status: match account.status {
            AccountStatus::Active => wire::AccountStatus::Active,
            AccountStatus::Suspended => wire::AccountStatus::Suspended,
            AccountStatus::Deactivated => wire::AccountStatus::Deactivated,
        },
        created_at: account.created_at.to_string(),
        updated_at: account.updated_at.to_string(),
    }
}

pub(super) fn organization(organization: &domain::organizations::Organization) -> Organization {
    Organization {
        id: organization.id.raw(),
        slug: organization.slug.clone(),
        name: organization.name.clone(),
        owner_id: organization.owner_id.raw(),
        gitea_org_name: organization.gitea_org_name.clone(),
        archived_at: organization.archived_at.map(|at| at.to_string()),
        created_at: organization.created_at.to_string(),
        updated_at: organization.updated_at.to_string(),
    }
}

pub(super) fn access_level(level: wire::AccessLevel) -> domain::accounts::AccessLevel {
    match level {
        wire::AccessLevel::Admin => domain::accounts::AccessLevel::Admin,
        wire::AccessLevel::User => domain::accounts::AccessLevel::User,
        wire::AccessLevel::Service => domain::accounts::AccessLevel::Service,
    }
}

pub(super) fn account_status(status: wire::AccountStatus) -> domain::accounts::AccountStatus {
    match status {
        wire::AccountStatus::Active => domain::accounts::AccountStatus::Active,
        wire::AccountStatus::Suspended => domain::accounts::AccountStatus::Suspended,
        wire::AccountStatus::Deactivated => domain::accounts::AccountStatus::Deactivated,
    }
}

//! Logins: how they begin, where they act, how they end.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use domain::accounts::Account;
use domain::audit::{AuditEntry, Chain};
use domain::login_sessions::{Beginning, LoginMethod, LoginSession, starts_in};
use domain::members::Seated;
use domain::organizations::Organization;
use domain::permissions::Capability;
use domain::secrets::{Secret, SecretKind};
use domain::subject::Subject;
use domain::{Id, Timestamp};
use records::{
    Tx, device_logins, enrolments, login_links, login_sessions, members, oidc_flows, organizations,
};
use serde_json::json;

use super::authenticate::confirm;
use super::credential::{self, Credential};
use crate::act::Act;
use crate::caller::plain_entry;
use crate::ids::{Ids, secret};
use crate::{Caller, Hub, HubError, Origin, audit};

/// How long what has expired is kept, for people who ask where their login went.
const KEPT_AFTER_EXPIRY: Duration = Duration::from_secs(7 * 24 * 3600);

/// A login that has just begun.
pub struct LoggedIn {
    /// The login, with what it may do.
    pub seen: Seen,
    /// Who logged in.
    pub account: Account,
    /// Where it acts.
    pub organization: Organization,
    /// Its token, which is shown once.
    pub secret: Secret,
}

/// What every unit needs that begins a login.
pub(super) struct Beginner {
    pub(super) ids: Arc<dyn Ids>,
    pub(super) origin: Origin,
    pub(super) secret: Secret,
    pub(super) now: Timestamp,
}

impl Beginner {
    pub(super) fn new(hub: &Hub, origin: &Origin) -> Result<Self, HubError> {
        Ok(Self {
            ids: Arc::clone(&hub.ids),
            origin: origin.clone(),
            secret: secret(SecretKind::Login)?,
            now: hub.clock.now(),
        })
    }

    /// Begins the login and records it, in the chain of its organization.
    pub(super) async fn begin(
        &self,
        tx: &mut Tx,
        account: Account,
        organization: Organization,
        beginning: Beginning,
    ) -> Result<LoggedIn, HubError> {
        let login = LoginSession {
            ip: self.origin.ip.clone(),
            user_agent: self.origin.user_agent.clone(),
            ..LoginSession::begin(self.ids.id(), beginning, self.now)
        };
        login_sessions::insert(tx, &login, &self.secret.hash()).await?;
        let mut entry = self.entry("login:succeeded", &login);
        entry.details.insert("method".into(), login.method.as_str().into());
        entry.details.insert("minted_by".into(), login.minted_by.to_string().into());
        audit::record(tx, &entry).await?;
        let powers = credential::of_login(tx, &login).await?.as_ref().map(powers);
        let (roles, permissions) = powers.unwrap_or_default();
        let seen = Seen { login, roles, permissions };
        Ok(LoggedIn { seen, account, organization, secret: self.secret.clone() })
    }

    /// Begins a login of somebody who has not said where: at home, else where they have been longest.
    pub(super) async fn begin_at_home(
        &self,
        tx: &mut Tx,
        account: Account,
        method: LoginMethod,
    ) -> Result<LoggedIn, HubError> {
        let open = open_organizations(tx, account.id).await?;
        let ids: Vec<Id<Organization>> = open.iter().map(|organization| organization.id).collect();
        let org = starts_in(None, account.home_org_id, &ids).map_err(|_| nowhere())?;
        let organization = open.into_iter().find(|organization| organization.id == org);
        let organization = organization.ok_or_else(nowhere)?;
        let beginning = Beginning { org, account: account.id, minted_by: account.id, method };
        self.begin(tx, account, organization, beginning).await
    }

    fn entry(&self, action: &str, login: &LoginSession) -> AuditEntry {
        let subject = Subject::new("login_session", login.id);
        let chain = Chain::Organization(login.org_id);
        let what = (action, subject, &*self.origin.service);
        let plain = plain_entry(self.ids.id(), chain, login.account_id, what, self.now);
        self.origin.signed(AuditEntry { login_session_id: Some(login.id.to_string()), ..plain })
    }
}

/// Ends all logins of the account, or all but one, and takes back the grants that no program has come for yet; how many
/// logins there were.
pub(super) async fn end_others(
    tx: &mut Tx,
    account: Id<Account>,
    kept: Option<Id<LoginSession>>,
    now: Timestamp,
) -> Result<u64, HubError> {
    let ended = login_sessions::end_all(tx, account, kept, now).await?;
    device_logins::void(tx, account, now).await?;
    Ok(ended)
}

/// The refusal of somebody who is no member anywhere.
pub(super) fn nowhere() -> HubError {
    HubError::Forbidden(
        "this account is a member of no organization that is open; ask an admin to add it to one".into(),
    )
}

/// The account's organizations that are not archived, the oldest membership first.
pub(super) async fn open_organizations(
    tx: &mut Tx,
    account: Id<Account>,
) -> Result<Vec<Organization>, HubError> {
    let mut open = Vec::new();
    for membership in members::of_account(tx, account).await? {
        let organization = organizations::get(tx, membership.org_id).await?;
        open.extend(organization.filter(|organization| organization.archived_at.is_none()));
    }
    Ok(open)
}

/// Where the caller may act.
pub async fn places(hub: &Hub, caller: &Caller) -> Result<Vec<Organization>, HubError> {
    let account = caller.credential.account.id;
    hub.records.read(account, |tx, account| Box::pin(open_organizations(tx, *account))).await
}

/// A login with what it may do where it is now.
#[derive(Clone)]
pub struct Seen {
    /// The login.
    pub login: LoginSession,
    /// The account's roles in the login's organization.
    pub roles: Vec<String>,
    /// What the account may do there.
    pub permissions: Vec<&'static str>,
}

/// The caller's own logins that are still good, newest first.
pub async fn list(
    hub: &Hub,
    caller: &Caller,
    after: Option<login_sessions::After>,
    limit: i64,
) -> Result<Vec<Seen>, HubError> {
    caller.require(Capability::AccountsRead)?;
    let (account, now) = (caller.credential.account.id, hub.clock.now());
    let logins = login_sessions::list(&hub.records, account, now, after, limit).await?;
    hub.records.read((logins, now), |tx, (logins, now)| Box::pin(seen(tx, logins, *now))).await
}

/// One login of the caller's that is still good.
pub async fn get(hub: &Hub, caller: &Caller, id: Id<LoginSession>) -> Result<Seen, HubError> {
    caller.require(Capability::AccountsRead)?;
    let input = (caller.credential.account.id, id, hub.clock.now());
    hub.records
        .read(input, |tx, (account, id, now)| {
            Box::pin(async move {
                let login = login_sessions::get(tx, *account, *id).await?;
                let good = login.filter(|login| login.usable(*now).is_ok());
                let found = seen(tx, &good.into_iter().collect::<Vec<_>>(), *now).await?;
                found.into_iter().next().ok_or(HubError::NotFound("login"))
            })
        })
        .await
}

async fn seen(tx: &mut Tx, logins: &[LoginSession], now: Timestamp) -> Result<Vec<Seen>, HubError> {
    // All are one account's, so that the organization alone decides.
    let mut known: HashMap<Id<Organization>, (Vec<String>, Vec<&'static str>)> = HashMap::new();
    let mut found = Vec::with_capacity(logins.len());
    for login in logins {
        let (roles, permissions) = match known.get(&login.org_id) {
            Some(powers) => powers.clone(),
            None => {
                let credential = credential::of_login(tx, login).await?;
                let acting = credential.filter(|credential| credential.check(now).is_ok());
                let powers = acting.as_ref().map(powers).unwrap_or_default();
                known.insert(login.org_id, powers.clone());
                powers
            }
        };
        found.push(Seen { login: login.clone(), roles, permissions });
    }
    Ok(found)
}

fn powers(credential: &Credential) -> (Vec<String>, Vec<&'static str>) {
    let roles = credential.seat.as_ref().map(Seated::role_names).unwrap_or_default();
    (roles, credential.capabilities().iter().map(Capability::as_str).collect())
}

/// The caller's login; a key is none.
fn own(caller: &Caller) -> Result<&LoginSession, HubError> {
    caller.credential.login().ok_or_else(|| HubError::InvalidState {
        state: "api_key".into(),
        detail: "this is for logins, and you use an API key; revoke a key instead of logging out".into(),
    })
}

/// Ends the caller's own login.
pub async fn log_out(hub: &Hub, caller: &Caller) -> Result<(), HubError> {
    end(hub, caller, own(caller)?.id).await
}

/// Ends a login of the caller's at once. One that has ended already stays ended.
pub async fn end(hub: &Hub, caller: &Caller, id: Id<LoginSession>) -> Result<(), HubError> {
    caller.require(Capability::AccountsWrite)?;
    let input = Act::new(hub, caller, id);
    hub.records.write(input, |tx, change| Box::pin(end_unit(tx, change))).await
}

async fn end_unit(tx: &mut Tx, change: &Act<Id<LoginSession>>) -> Result<(), HubError> {
    let (account, id) = (change.caller.credential.account.id, change.input);
    login_sessions::open_locked(tx, account).await?;
    confirm(tx, &change.caller, Capability::AccountsWrite, change.now).await?;
    if login_sessions::end(tx, account, id, change.now).await? {
        return audit::record(tx, &change.entry("login:ended", Subject::new("login_session", id))).await;
    }
    match login_sessions::get(tx, account, id).await? {
        Some(_) => Ok(()),
        None => Err(HubError::NotFound("login")),
    }
}

/// Moves the caller's login to another organization of the caller's.
pub async fn switch(hub: &Hub, caller: &Caller, org: Id<Organization>) -> Result<Organization, HubError> {
    own(caller)?;
    let input = Act::new(hub, caller, org);
    hub.records.write(input, |tx, change| Box::pin(switch_unit(tx, change))).await
}

async fn switch_unit(tx: &mut Tx, change: &Act<Id<Organization>>) -> Result<Organization, HubError> {
    let login = own(&change.caller)?;
    login_sessions::get_locked(tx, login.account_id, login.id).await?;
    confirm(tx, &change.caller, Capability::AccountsRead, change.now).await?;
    let to = organizations::get_shared(tx, change.input).await?;
    let is_member = members::get_shared(tx, change.input, login.account_id).await?.is_some();
    let to = to.filter(|to| is_member && to.archived_at.is_none());
    let to = to.ok_or(HubError::NotFound("organization"))?;
    if to.id == login.org_id {
        return Ok(to);
    }
    login_sessions::switch(tx, login, to.id, change.now).await?;
    let left = change.entry("login:switched", Subject::new("login_session", login.id));
    let moved = json!({"from": login.org_id.to_string(), "to": to.id.to_string()});
    for chain in [Chain::Organization(login.org_id), Chain::Organization(to.id)] {
        let details = moved.as_object().cloned().unwrap_or_default();
        audit::record(tx, &AuditEntry { id: change.hub.ids.id(), chain, details, ..left.clone() }).await?;
    }
    Ok(to)
}

/// Forgets logins, links, waiting programs, and logins that never came back from a provider. How many.
pub(crate) async fn forget_old(hub: &Hub) -> Result<u64, HubError> {
    let now = hub.clock.now();
    let forgotten = hub.records.write(now, |tx, &now| {
        Box::pin(async move {
            let before = now.minus(KEPT_AFTER_EXPIRY);
            enrolments::keep(tx, before).await?;
            let logins = login_sessions::forget(tx, before).await?;
            let links = login_links::forget(tx, before).await?;
            let devices = device_logins::forget(tx, before).await?;
            // At once: nobody asks for them, and they hold what is half of a secret.
            Ok::<_, records::Error>(logins + links + devices + oidc_flows::forget(tx, now).await?)
        })
    });
    Ok(forgotten.await?)
}

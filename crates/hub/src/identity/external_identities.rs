//! Who somebody is here whom the provider has named: known, enrolled, or nobody. Connecting and disconnecting.

use domain::accounts::Account;
use domain::audit::{AuditEntry, Chain};
use domain::external_identities::{EnrolFacts, ExternalIdentity, may_connect, may_enrol};
use domain::id_tokens::Claims;
use domain::permissions::Capability;
use domain::subject::Subject;
use domain::{Id, Timestamp};
use records::{Tx, accounts, enrolments, external_identities, login_sessions};
use serde_json::{Map, Value};

use super::login_sessions::{Beginner, end_others};
use crate::act::Act;
use crate::caller::plain_entry;
use crate::ids::Ids;
use crate::{Caller, Hub, HubError, audit};

/// The caller's connections, oldest first.
pub async fn list(hub: &Hub, caller: &Caller) -> Result<Vec<ExternalIdentity>, HubError> {
    caller.require(Capability::AccountsRead)?;
    let account = caller.credential.account.id;
    let found = hub.records.read(account, |tx, id| Box::pin(external_identities::of_account(tx, *id)));
    Ok(found.await?)
}

/// What the provider says about somebody, and which provider it is.
pub(super) struct Named {
    pub(super) issuer: String,
    pub(super) claims: Claims,
}

impl Named {
    fn identity(&self, ids: &dyn Ids, account: Id<Account>, now: Timestamp) -> ExternalIdentity {
        ExternalIdentity {
            id: ids.id(),
            account_id: account,
            issuer: self.issuer.clone(),
            subject: self.claims.subject.clone(),
            created_at: now,
            updated_at: now,
        }
    }
}

/// The account of somebody the provider has named, if there is one: by the subject, and by nothing else.
pub(super) async fn known(tx: &mut Tx, named: &Named) -> Result<Option<Account>, HubError> {
    let identity = external_identities::by_subject(tx, &named.issuer, &named.claims.subject).await?;
    match identity {
        Some(identity) => Ok(accounts::get_shared(tx, identity.account_id).await?),
        None => Ok(None),
    }
}

/// The account that has the e-mail the provider has verified, if nobody has ever been that account.
pub(super) async fn enrollable(tx: &mut Tx, named: &Named) -> Result<Option<Account>, HubError> {
    let Some(email) = named.claims.email.as_deref() else { return Ok(None) };
    let Some(found) = accounts::by_email(tx, email).await? else { return Ok(None) };
    // Locked, so that nobody else enrols it meanwhile; and its address may have changed before that.
    let account = accounts::get_locked(tx, found.id).await?.filter(|account| account.email == email);
    let Some(account) = account else { return Ok(None) };
    let facts = EnrolFacts {
        email_is_verified: named.claims.email_is_verified,
        may_log_in: account.may_log_in(),
        has_credential: enrolments::any_of(tx, account.id).await?,
    };
    Ok(Some(account).filter(|_| may_enrol(facts)))
}

/// Connects an account that is enrolled by its e-mail, on record at its home.
pub(super) async fn enrol(
    tx: &mut Tx,
    beginner: &Beginner,
    named: &Named,
    account: &Account,
) -> Result<(), HubError> {
    let (ids, origin, now) = (&*beginner.ids, &beginner.origin, beginner.now);
    let identity = named.identity(ids, account.id, now);
    external_identities::insert(tx, &identity).await?;
    let chain = account.home_org_id.map_or(Chain::Instance, Chain::Organization);
    let subject = Subject::new("external_identity", identity.id);
    let what = ("identity:linked", subject, &*origin.service);
    let plain = plain_entry(ids.id(), chain, account.id, what, now);
    let entry = AuditEntry { details: details(&identity, "email"), ..plain };
    audit::record(tx, &origin.signed(entry)).await
}

fn details(identity: &ExternalIdentity, by: &str) -> Map<String, Value> {
    let texts = [
        ("account_id", identity.account_id.to_string()),
        ("issuer", identity.issuer.clone()),
        ("subject", identity.subject.clone()),
        ("by", by.to_owned()),
    ];
    texts.into_iter().map(|(name, text)| (name.to_owned(), text.into())).collect()
}

/// Connects the caller's account to whom the provider has named.
pub(super) async fn connect(hub: &Hub, caller: &Caller, named: Named) -> Result<(), HubError> {
    let input = Act::new(hub, caller, named);
    let unit = hub.records.write(input, |tx, change| Box::pin(connect_unit(tx, change)));
    unit.await.map_err(|error| {
        error.or_taken(|| "that identity was connected to an account just now; look again".to_owned())
    })
}

async fn connect_unit(tx: &mut Tx, change: &Act<Named>) -> Result<(), HubError> {
    let (account, named) = (change.actor(), &change.input);
    accounts::get_locked(tx, account).await?;
    change.confirm(tx, Capability::AccountsWrite).await?;
    let known = external_identities::by_subject(tx, &named.issuer, &named.claims.subject).await?;
    let own = external_identities::of_account(tx, account).await?;
    let is_new = may_connect(account, known.as_ref(), &own, &named.issuer);
    if !is_new.map_err(|refusal| HubError::Conflict(refusal.to_string()))? {
        return Ok(());
    }
    let identity = named.identity(&*change.hub.ids, account, change.now);
    external_identities::insert(tx, &identity).await?;
    let subject = Subject::new("external_identity", identity.id);
    change.record(tx, "identity:linked", subject, details(&identity, "login")).await
}

/// Disconnects the caller's account, and ends the caller's other logins: some may have come that way.
pub async fn disconnect(hub: &Hub, caller: &Caller, id: Id<ExternalIdentity>) -> Result<(), HubError> {
    caller.require(Capability::AccountsWrite)?;
    let input = Act::new(hub, caller, id);
    hub.records.write(input, |tx, change| Box::pin(disconnect_unit(tx, change))).await
}

async fn disconnect_unit(tx: &mut Tx, change: &Act<Id<ExternalIdentity>>) -> Result<(), HubError> {
    let account = change.actor();
    // All rows that will change, before the caller is confirmed, whose login is one of them.
    login_sessions::open_locked(tx, account).await?;
    let identity = external_identities::get_locked(tx, account, change.input).await?;
    change.confirm(tx, Capability::AccountsWrite).await?;
    let identity = identity.ok_or(HubError::NotFound("connection of your account"))?;
    external_identities::delete(tx, &identity).await?;
    let kept = change.caller.credential.login().map(|login| login.id);
    let ended = end_others(tx, account, kept, change.now).await?;
    let mut details = details(&identity, "login");
    details.insert("logins_ended".into(), ended.into());
    change.record(tx, "identity:unlinked", Subject::new("external_identity", identity.id), details).await
}

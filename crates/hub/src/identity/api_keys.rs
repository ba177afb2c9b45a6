//! Minting, rotating, revoking and listing API keys.

use domain::accounts::Account;
use domain::agents::DEFAULT_SCOPES;
use domain::api_keys::{ApiKey, KEY_NAME_CHARS_MAX};
use domain::audit::{AuditEntry, Chain};
use domain::minting::{MintFacts, MintRefusal, may_mint, within};
use domain::organizations::Organization;
use domain::permissions::{Capability, check_scope};
use domain::secrets::{Secret, SecretKind};
use domain::subject::Subject;
use domain::{Id, Timestamp, text};
use records::{Tx, accounts, agents, api_keys, enrolments, members};
use serde_json::json;

use super::authenticate::confirm;
use crate::idempotency::{Once, Outcome, write_once};
use crate::{Caller, Hub, HubError, audit, ids};

/// What a new key should be.
pub struct NewKey {
    /// Whose; the caller's own without it.
    pub owner: Option<Id<Account>>,
    /// Where it acts; the caller's organization without it.
    pub org: Option<Id<Organization>>,
    /// Its name.
    pub name: String,
    /// A subset of what the owner may do; all of it without it.
    pub scopes: Option<Vec<String>>,
    /// When it ends by itself.
    pub expires_at: Option<Timestamp>,
}

/// A key with its secret, which is shown once.
pub struct MintedKey {
    /// The key.
    pub key: ApiKey,
    /// Its secret.
    pub secret: Secret,
}

struct Mint {
    hub: Hub,
    caller: Caller,
    key: ApiKey,
    secret: Secret,
    now: Timestamp,
}

/// Mints a key.
pub async fn mint(
    hub: &Hub,
    caller: &Caller,
    wanted: NewKey,
    once: Option<Once<MintedKey>>,
) -> Result<Outcome<MintedKey>, HubError> {
    caller.require(Capability::KeysWrite)?;
    let (now, secret) = (hub.clock.now(), ids::secret(SecretKind::ApiKey)?);
    check_form(&wanted)?;
    if wanted.expires_at.is_some_and(|at| at <= now) {
        return Err(HubError::field("/expires_at", "is in the past"));
    }
    let credential = &caller.credential;
    let key = ApiKey {
        id: hub.ids.id(),
        org_id: wanted.org.unwrap_or(credential.organization.id),
        owner_id: wanted.owner.unwrap_or(credential.account.id),
        minted_by: credential.account.id,
        name: wanted.name,
        prefix: secret.prefix().to_owned(),
        scopes: wanted.scopes,
        enabled: true,
        revoked_at: None,
        expires_at: wanted.expires_at,
        rotated_to_id: None,
        last_used_at: None,
        created_at: now,
        updated_at: now,
    };
    let input = Mint { hub: hub.clone(), caller: caller.clone(), key, secret, now };
    write_once(hub, once, input, |tx, input| Box::pin(mint_unit(tx, input))).await
}

async fn mint_unit(tx: &mut Tx, input: &Mint) -> Result<MintedKey, HubError> {
    let standing = confirm(tx, &input.caller, Capability::KeysWrite, input.now).await?;
    let mut key = input.key.clone();
    let credential = &input.caller.credential;
    let owner_is_member = members::get_shared(tx, key.org_id, key.owner_id).await?.is_some();
    // Two who enrol one account wait for each other: only one of them mints its first credential.
    let owner = match key.owner_id == credential.account.id {
        true => accounts::get(tx, key.owner_id).await?,
        false => accounts::get_locked(tx, key.owner_id).await?,
    };
    let agent = agents::get_shared(tx, key.org_id, key.owner_id).await?;
    key.scopes = scopes(key.scopes, agent.is_some(), credential.means.scopes());
    let facts = MintFacts {
        minter: credential.account.id,
        minter_is_org_admin: standing.is_org_admin() && key.org_id == credential.organization.id,
        minter_scopes: credential.means.scopes(),
        owner: key.owner_id,
        owner_is_member,
        owner_is_at_home: owner.is_some_and(|owner| owner.home_org_id == Some(key.org_id)),
        owner_is_minters_agent: agent.as_ref().is_some_and(|agent| agent.owner_id == credential.account.id),
        // Only of members: whether an account of another organization exists is not the minter's to learn.
        owner_has_credential: owner_is_member && enrolments::any_of(tx, key.owner_id).await?,
    };
    may_mint(&facts, key.scopes.as_deref()).map_err(refused)?;
    if let Some(agent) = &agent {
        crate::agents::require_active(agent)?;
    }
    api_keys::insert(tx, &key, &input.secret.hash()).await?;
    audit::record(tx, &entry(&input.hub, &input.caller, "api_key:minted", &key, input.now)).await?;
    Ok(MintedKey { key, secret: input.secret.clone() })
}

/// What a key may do when nobody said: an agent's key what agents usually need, another what the key it is minted with
/// may. A key that is itself limited cannot mint one that is not.
fn scopes(wanted: Option<Vec<String>>, for_agent: bool, held: Option<&[String]>) -> Option<Vec<String>> {
    let usual = || DEFAULT_SCOPES.map(str::to_owned).to_vec();
    wanted.or_else(|| if for_agent { Some(usual()) } else { held.map(<[String]>::to_vec) })
}

fn refused(refusal: MintRefusal) -> HubError {
    match refusal {
        MintRefusal::NotAMember => HubError::field("/account_id", "is not a member of the organization"),
        MintRefusal::ScopeTooWide(scope) => {
            HubError::field("/scopes", format!("{scope} is more than the key you use may do"))
        }
        other => HubError::Forbidden(other.to_string()),
    }
}

fn check_form(wanted: &NewKey) -> Result<(), HubError> {
    text::name(&wanted.name, KEY_NAME_CHARS_MAX).map_err(|bad| HubError::field("/name", bad.to_string()))?;
    for (index, scope) in wanted.scopes.iter().flatten().enumerate() {
        check_scope(scope).map_err(|bad| HubError::field(format!("/scopes/{index}"), bad.to_string()))?;
    }
    Ok(())
}

struct Change {
    caller: Caller,
    id: Id<ApiKey>,
    hub: Hub,
    now: Timestamp,
}

impl Change {
    fn new(hub: &Hub, caller: &Caller, id: Id<ApiKey>) -> Self {
        Self { caller: caller.clone(), id, hub: hub.clone(), now: hub.clock.now() }
    }

    fn entry(&self, action: &str, key: &ApiKey) -> AuditEntry {
        entry(&self.hub, &self.caller, action, key, self.now)
    }

    /// The key, if this caller may see it.
    async fn load(&self, tx: &mut Tx) -> Result<ApiKey, HubError> {
        let org = self.caller.credential.organization.id;
        // Before the caller is confirmed: the key may be the caller's own, and two units that both share a row
        // could not both go on to change it.
        let key = api_keys::get_locked(tx, org, self.id).await?;
        let standing = confirm(tx, &self.caller, Capability::KeysWrite, self.now).await?;
        let visible = match &key {
            Some(key) => standing.is_org_admin() || acts_for(tx, &self.caller, key).await?,
            None => false,
        };
        key.filter(|_| visible).ok_or(HubError::NotFound("API key"))
    }
}

/// Whether the key is the caller's own, or that of an agent of the caller's.
async fn acts_for(tx: &mut Tx, caller: &Caller, key: &ApiKey) -> Result<bool, HubError> {
    let account = caller.credential.account.id;
    if key.owner_id == account {
        return Ok(true);
    }
    let agent = agents::get(tx, key.org_id, key.owner_id).await?;
    Ok(agent.is_some_and(|agent| agent.owner_id == account))
}

/// Replaces a key by a new one with the same rights; the old one ends in the same unit.
pub async fn rotate(
    hub: &Hub,
    caller: &Caller,
    id: Id<ApiKey>,
    once: Option<Once<MintedKey>>,
) -> Result<Outcome<MintedKey>, HubError> {
    caller.require(Capability::KeysWrite)?;
    let secret = ids::secret(SecretKind::ApiKey)?;
    let input = (Change::new(hub, caller, id), secret, hub.ids.id());
    write_once(hub, once, input, |tx, (change, secret, new_id)| {
        Box::pin(rotate_unit(tx, change, secret, *new_id))
    })
    .await
}

async fn rotate_unit(
    tx: &mut Tx,
    change: &Change,
    secret: &Secret,
    new_id: Id<ApiKey>,
) -> Result<MintedKey, HubError> {
    let old = change.load(tx).await?;
    let credential = &change.caller.credential;
    if !acts_for(tx, &change.caller, &old).await? {
        return Err(HubError::Forbidden(
            "only the owner of a key may rotate it: the new one acts as the owner".into(),
        ));
    }
    if !within(old.scopes.as_deref(), credential.means.scopes()) {
        return Err(HubError::Forbidden("this key may do more than the key you use".into()));
    }
    ended(&old, change.now)?;
    let key = ApiKey {
        id: new_id,
        prefix: secret.prefix().to_owned(),
        last_used_at: None,
        created_at: change.now,
        updated_at: change.now,
        ..old.clone()
    };
    api_keys::insert(tx, &key, &secret.hash()).await?;
    if !api_keys::revoke(tx, &old, Some(key.id), change.now).await? {
        return Err(records::Error::LostRace { what: "an API key".into() }.into());
    }
    let mut entry = change.entry("api_key:rotated", &old);
    entry.details.insert("rotated_to_id".into(), key.id.to_string().into());
    entry.details.insert("new_prefix".into(), key.prefix.clone().into());
    audit::record(tx, &entry).await?;
    Ok(MintedKey { key, secret: secret.clone() })
}

/// Ends a key. Its owner may, and an admin of the organization.
pub async fn revoke(hub: &Hub, caller: &Caller, id: Id<ApiKey>) -> Result<(), HubError> {
    caller.require(Capability::KeysWrite)?;
    let input = Change::new(hub, caller, id);
    hub.records.write(input, |tx, change| Box::pin(revoke_unit(tx, change))).await
}

async fn revoke_unit(tx: &mut Tx, change: &Change) -> Result<(), HubError> {
    let key = change.load(tx).await?;
    // Ending an ended key changes nothing: DELETE may be repeated.
    if api_keys::revoke(tx, &key, key.rotated_to_id, change.now).await? {
        audit::record(tx, &change.entry("api_key:revoked", &key)).await?;
    }
    Ok(())
}

fn ended(key: &ApiKey, now: Timestamp) -> Result<(), HubError> {
    key.usable(now).map_err(|refusal| HubError::InvalidState {
        state: "ended".into(),
        detail: format!("{refusal}; mint a new one"),
    })
}

/// One key. Its owner, an agent's owner and admins see it; for everybody else it does not exist.
pub async fn get(hub: &Hub, caller: &Caller, id: Id<ApiKey>) -> Result<ApiKey, HubError> {
    caller.require(Capability::KeysRead)?;
    let input = (caller.clone(), id);
    hub.records
        .read(input, |tx, (caller, id)| {
            Box::pin(async move {
                let org = caller.credential.organization.id;
                let key = api_keys::get(tx, org, *id).await?.ok_or(HubError::NotFound("API key"))?;
                let visible =
                    caller.credential.standing().is_org_admin() || acts_for(tx, caller, &key).await?;
                Some(key).filter(|_| visible).ok_or(HubError::NotFound("API key"))
            })
        })
        .await
}

/// Keys, newest first: the caller's own and those of the caller's agents, for an admin the organization's.
pub async fn list(
    hub: &Hub,
    caller: &Caller,
    after: Option<api_keys::After>,
    limit: i64,
) -> Result<Vec<ApiKey>, HubError> {
    caller.require(Capability::KeysRead)?;
    let credential = &caller.credential;
    let owner = if credential.standing().is_org_admin() { None } else { Some(credential.account.id) };
    Ok(api_keys::list(&hub.records, credential.organization.id, owner, after, limit).await?)
}

fn entry(hub: &Hub, caller: &Caller, action: &str, key: &ApiKey, now: Timestamp) -> AuditEntry {
    let facts = [
        ("name", json!(key.name)),
        ("prefix", json!(key.prefix)),
        ("owner_id", json!(key.owner_id.to_string())),
        ("organization_id", json!(key.org_id.to_string())),
        ("scopes", json!(key.scopes)),
        ("expires_at", json!(key.expires_at.map(|at| at.to_string()))),
    ];
    let details = facts.into_iter().map(|(name, fact)| (name.to_owned(), fact)).collect();
    // In the chain of the organization the key acts in, which need not be the caller's.
    let chain = Chain::Organization(key.org_id);
    AuditEntry { chain, details, ..caller.entry(hub, action, Subject::new("api_key", key.id), now) }
}

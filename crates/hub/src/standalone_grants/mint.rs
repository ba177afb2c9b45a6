//! Making a grant.

use std::time::Duration;

use domain::canonical::Sha256Hash;
use domain::json::FieldError;
use domain::permissions::Capability;
use domain::secrets::{Secret, SecretKind};
use domain::standalone_grants::{GrantStatus, StandaloneGrant, wrong_ir_hash, wrong_label, wrong_ttl};
use records::Tx;

use super::{
    CREATED, StoreError, TOLD_CREATED, apart, facts, label, must_be_tenant, rows, store, subject, tenant,
};
use crate::act::Act;
use crate::idempotency::{Once, Outcome, enter, kept_answer, write_in_turn};
use crate::ids::secret;
use crate::{Caller, Hub, HubError};

/// What a new grant should be.
pub struct NewGrant {
    /// Whose: the id or the slug of the caller's organization.
    pub tenant: String,
    /// What its token is good for.
    pub ir_hash: String,
    /// How long.
    pub ttl_seconds: Option<u32>,
    /// Who makes it, in the caller's words.
    pub created_by: Option<String>,
}

/// A new grant and its token, which is nowhere else.
#[derive(Clone)]
pub struct Minted {
    /// The grant.
    pub grant: StandaloneGrant,
    /// The token.
    pub token: Secret,
}

/// Makes a grant: in its store first, then on record. What is in a store alone opens nothing.
pub async fn mint(
    hub: &Hub,
    caller: &Caller,
    wanted: NewGrant,
    once: Option<Once<Minted>>,
) -> Result<Outcome<Minted>, HubError> {
    caller.require(Capability::GrantsMint)?;
    must_be_tenant(caller, &wanted.tenant)?;
    check(&wanted)?;
    let _turn = enter(hub, once.as_ref()).await?;
    if let Some(answer) = kept_answer(hub, once.as_ref()).await? {
        return Ok(Outcome::Replayed(answer));
    }
    let minted = new(hub, caller, wanted)?;
    let grant = minted.grant.clone();
    keep(hub, caller, &grant).await?;
    let act = Act::new(hub, caller, minted);
    let made = write_in_turn(hub, once, act, |tx, act| Box::pin(unit(tx, act))).await;
    match &made {
        Ok(Outcome::Fresh(_)) => {
            metrics::counter!(CREATED).increment(1);
            tracing::info!("[Approvals] ir.approval_created: approval_id={}", grant.id);
        }
        Ok(Outcome::Replayed(_)) | Err(_) => take_back(hub, caller, &grant).await,
    }
    made
}

fn check(wanted: &NewGrant) -> Result<(), HubError> {
    let wrong = [
        wrong_ir_hash(&wanted.ir_hash),
        wrong_ttl(wanted.ttl_seconds),
        wrong_label("created_by", wanted.created_by.as_deref()),
    ];
    let wrong: Vec<FieldError> = wrong.into_iter().flatten().collect();
    if wrong.is_empty() { Ok(()) } else { Err(HubError::Invalid(wrong)) }
}

fn new(hub: &Hub, caller: &Caller, wanted: NewGrant) -> Result<Minted, HubError> {
    let now = hub.clock.now();
    let token = secret(SecretKind::Grant)?;
    let given = wanted.ttl_seconds.map(|seconds| Duration::from_secs(seconds.into()));
    let grant = StandaloneGrant {
        id: hub.ids.id(),
        org_id: caller.credential.organization.id,
        store: store(hub).kind(),
        ir_hash: wanted.ir_hash,
        token_hash: Sha256Hash(token.hash()),
        status: GrantStatus::Pending,
        expires_at: now.plus(given.unwrap_or(hub.config.grants.default_ttl)),
        consumed_at: None,
        created_by: label(caller, wanted.created_by),
        consumed_by: None,
        acknowledged_at: None,
        acknowledged_by: None,
        created_at: now,
        updated_at: now,
    };
    Ok(Minted { grant, token })
}

async fn keep(hub: &Hub, caller: &Caller, grant: &StandaloneGrant) -> Result<(), HubError> {
    let Some(store) = apart(hub) else { return Ok(()) };
    match store.create(tenant(caller), grant, grant.created_at).await? {
        true => Ok(()),
        false => Err(StoreError("it did not take the new grant".into()).into()),
    }
}

/// Nobody has the token, so what stays in the store where this fails is only in the way until it ends.
async fn take_back(hub: &Hub, caller: &Caller, grant: &StandaloneGrant) {
    let Some(store) = apart(hub) else { return };
    if let Err(error) = store.delete(tenant(caller), grant.id).await {
        tracing::warn!("grant {} was not made, and stays in its store until it ends: {error}", grant.id);
    }
}

async fn unit(tx: &mut Tx, act: &Act<Minted>) -> Result<Minted, HubError> {
    act.confirm(tx, Capability::GrantsMint).await?;
    let grant = &act.input.grant;
    rows::made(tx, grant).await?;
    let mut details = facts(grant).as_object().cloned().unwrap_or_default();
    details.insert("created_by".into(), grant.created_by.clone().into());
    details.insert("store".into(), grant.store.as_str().into());
    act.record(tx, "grant:created", subject(grant), details).await?;
    act.announce(tx, TOLD_CREATED, subject(grant), facts(grant)).await?;
    Ok(act.input.clone())
}

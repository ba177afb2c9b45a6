//! Using the token of a grant.

use domain::canonical::Sha256Hash;
use domain::json::FieldError;
use domain::permissions::Capability;
use domain::secrets::{Secret, SecretKind};
use domain::standalone_grants::{GrantRefusal, StandaloneGrant, wrong_ir_hash, wrong_label};
use records::{Tx, standalone_grants};

use super::{
    CONSUMED, TOLD_CONSUMED, Use, apart, facts, label, must_be_tenant, rows, store, subject, tenant,
};
use crate::act::Act;
use crate::idempotency::{Once, Outcome, enter, kept_answer, write_in_turn};
use crate::{Caller, Hub, HubError};

/// What somebody presents.
pub struct Consumption {
    /// The token.
    pub token: String,
    /// Whose: the id or the slug of the caller's organization.
    pub tenant: String,
    /// What for.
    pub ir_hash: String,
    /// Who uses it, in the caller's words.
    pub consumed_by: Option<String>,
}

/// Uses a token. Its store must have it, and the records must say that nobody has used it: that decides.
pub async fn consume(
    hub: &Hub,
    caller: &Caller,
    presented: Consumption,
    once: Option<Once<StandaloneGrant>>,
) -> Result<Outcome<StandaloneGrant>, HubError> {
    caller.require(Capability::GrantsConsume)?;
    must_be_tenant(caller, &presented.tenant)?;
    check(&presented)?;
    let token = Secret::parse_as(SecretKind::Grant, &presented.token)
        .map_err(|_| HubError::Grant(GrantRefusal::Unknown))?;
    let _turn = enter(hub, once.as_ref()).await?;
    if let Some(answer) = kept_answer(hub, once.as_ref()).await? {
        return Ok(Outcome::Replayed(answer));
    }
    let used = Use {
        token_hash: Sha256Hash(token.hash()),
        ir_hash: presented.ir_hash,
        by: label(caller, presented.consumed_by),
        now: hub.clock.now(),
    };
    let found = store(hub).find_by_token_hash(tenant(caller), used.token_hash, used.now).await?;
    if found.is_none() {
        return Err(why_not(hub, caller, used).await);
    }
    let act = Act::new(hub, caller, used.clone());
    let done = write_in_turn(hub, once, act, |tx, act| Box::pin(unit(tx, act))).await;
    if let Ok(Outcome::Fresh(grant)) = &done {
        metrics::counter!(CONSUMED).increment(1);
        tracing::info!("[Approvals] ir.approval_consumed: approval_id={}", grant.id);
        tell_store(hub, caller, grant, &used).await;
    }
    done.map_err(|error| match error {
        // Somebody else's unit marked the token first.
        HubError::Records(records::Error::Duplicate { .. }) => {
            HubError::Grant(GrantRefusal::AlreadyConsumed(used.now))
        }
        other => other,
    })
}

fn check(presented: &Consumption) -> Result<(), HubError> {
    let wrong =
        [wrong_ir_hash(&presented.ir_hash), wrong_label("consumed_by", presented.consumed_by.as_deref())];
    let wrong: Vec<FieldError> = wrong.into_iter().flatten().collect();
    if wrong.is_empty() { Ok(()) } else { Err(HubError::Invalid(wrong)) }
}

/// Why the store does not have it: it was never there, it ended, or the store has lost it.
async fn why_not(hub: &Hub, caller: &Caller, used: Use) -> HubError {
    let input = (caller.credential.organization.id, used);
    let looked = hub.records.read(input, |tx, (org, used)| {
        Box::pin(async move {
            let known = standalone_grants::by_token(tx, *org, used.token_hash).await?;
            Ok::<_, HubError>(known.map_or(GrantRefusal::Unknown, |grant| refusal(&grant, used)))
        })
    });
    looked.await.map_or_else(|error| error, HubError::Grant)
}

fn refusal(grant: &StandaloneGrant, used: &Use) -> GrantRefusal {
    if !grant.is_remembered(used.now) {
        return GrantRefusal::Unknown;
    }
    grant.consumed(&used.ir_hash, &used.by, used.now).err().unwrap_or(GrantRefusal::Unknown)
}

async fn unit(tx: &mut Tx, act: &Act<Use>) -> Result<StandaloneGrant, HubError> {
    let used = &act.input;
    let known = standalone_grants::by_token_locked(tx, act.org(), used.token_hash).await?;
    act.confirm(tx, Capability::GrantsConsume).await?;
    let known = known.ok_or(HubError::Grant(GrantRefusal::Unknown))?;
    let grant = known.consumed(&used.ir_hash, &used.by, used.now).map_err(HubError::Grant)?;
    rows::used(tx, &grant, used.now).await?;
    let mut details = facts(&grant).as_object().cloned().unwrap_or_default();
    details.insert("consumed_by".into(), used.by.clone().into());
    act.announce(tx, TOLD_CONSUMED, subject(&grant), details.clone().into()).await?;
    act.record(tx, "grant:consumed", subject(&grant), details).await?;
    Ok(grant)
}

/// The token is used, whatever the store says to that: it is told for those who read it.
async fn tell_store(hub: &Hub, caller: &Caller, grant: &StandaloneGrant, used: &Use) {
    let Some(store) = apart(hub) else { return };
    match store.consume(tenant(caller), used).await {
        Ok(Ok(_)) => {}
        Ok(Err(refusal)) => tracing::warn!("grant {} was used, and its store says: {refusal}", grant.id),
        Err(error) => tracing::warn!("grant {} was used, and its store was not told: {error}", grant.id),
    }
}

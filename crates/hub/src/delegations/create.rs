//! Making delegations: everybody their own.

use domain::delegations::{Conditions, Delegation, DelegationChange, DelegationKind};
use domain::permissions::Capability;
use domain::tasks::Behind;
use records::{Tx, delegations, rule_sets};
use serde_json::json;

use super::{record, require_sound, schedule};
use crate::act::Act;
use crate::idempotency::{Once, Outcome, write_once};
use crate::tasks::behind;
use crate::{Caller, Hub, HubError};

/// Makes a delegation of the caller's.
pub async fn create(
    hub: &Hub,
    caller: &Caller,
    wanted: DelegationChange,
    once: Option<Once<Delegation>>,
) -> Result<Outcome<Delegation>, HubError> {
    caller.require(Capability::ApprovalsDecide)?;
    let account = &caller.credential.account;
    if caller.credential.agent.is_some() || !account.access_level.is_person() {
        return Err(HubError::Forbidden("people delegate; services and agents do not".into()));
    }
    let Some(delegate_to) = wanted.delegate_to else {
        return Err(HubError::field("/delegate_to", "say who decides"));
    };
    let now = hub.clock.now();
    let blank = Delegation {
        id: hub.ids.id(),
        org_id: caller.credential.organization.id,
        owner_id: account.id,
        delegate_to,
        kind: DelegationKind::Transfer,
        conditions: Conditions::default(),
        cascade: false,
        active: true,
        starts_at: None,
        expires_at: None,
        behind: Behind::default(),
        version: 1,
        created_at: now,
        updated_at: now,
    };
    let said = blank.changed(&wanted, &Behind::default(), now).map_err(HubError::Invalid)?;
    if said.expires_at.is_some_and(|expires_at| expires_at <= now) {
        return Err(HubError::field("/expires_at", "must lie ahead"));
    }
    let input = Act::new(hub, caller, Delegation { version: 1, updated_at: now, ..said });
    write_once(hub, once, input, |tx, act| Box::pin(unit(tx, act))).await
}

async fn unit(tx: &mut Tx, act: &Act<Delegation>) -> Result<Delegation, HubError> {
    rule_sets::get_locked(tx, act.org()).await?;
    let current = act.reread_with(tx, Capability::ApprovalsDecide).await?;
    let made = Delegation { behind: behind(tx, &current).await?, ..act.input.clone() };
    require_sound(tx, &made, true).await?;
    delegations::insert(tx, &made).await?;
    record(tx, act, "delegation:created", &made, &json!({})).await?;
    let begins_now = made.is_leave() && made.is_in_force(act.now);
    let looked_at = if begins_now { Some(act.now) } else { made.next_boundary(act.now) };
    if let Some(run_at) = looked_at {
        schedule(tx, &made, run_at, act.now).await?;
    }
    Ok(made)
}

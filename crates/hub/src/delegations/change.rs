//! Changing and ending delegations. Open requests that came by one that no longer holds go back.

use domain::Id;
use domain::delegations::{Delegation, DelegationChange};
use domain::permissions::Capability;
use records::{Tx, delegations, rule_sets};

use super::{MISSING, etag, facts, record, require_sound, schedule};
use crate::act::Act;
use crate::tasks::behind;
use crate::{Caller, Hub, HubError};

struct Change {
    id: Id<Delegation>,
    change: DelegationChange,
    if_match: Option<String>,
}

/// Changes a delegation of the caller's.
pub async fn change(
    hub: &Hub,
    caller: &Caller,
    id: Id<Delegation>,
    change: DelegationChange,
    if_match: Option<String>,
) -> Result<Delegation, HubError> {
    caller.require(Capability::ApprovalsDecide)?;
    let input = Act::new(hub, caller, Change { id, change, if_match });
    hub.records.write(input, |tx, act| Box::pin(change_unit(tx, act))).await
}

async fn change_unit(tx: &mut Tx, act: &Act<Change>) -> Result<Delegation, HubError> {
    let Change { id, change, if_match } = &act.input;
    rule_sets::get_locked(tx, act.org()).await?;
    let before = delegations::get_locked(tx, act.org(), *id).await?;
    let current = act.reread_with(tx, Capability::ApprovalsDecide).await?;
    let before = before.ok_or(MISSING)?;
    if !before.may_be_changed_by(act.actor()) {
        return Err(HubError::Forbidden(
            "this delegation is somebody else's; nobody delegates for another".into(),
        ));
    }
    crate::etag::require(if_match.as_deref(), &etag(&before))?;
    let behind = behind(tx, &current).await?;
    let after = before.changed(change, &behind, act.now).map_err(HubError::Invalid)?;
    if after == before {
        return Ok(before);
    }
    if after.active {
        require_sound(tx, &after, !before.active).await?;
    }
    save(tx, act, "delegation:changed", (&before, &after)).await?;
    Ok(after)
}

/// Ends a delegation. Repeating it changes nothing.
pub async fn end(hub: &Hub, caller: &Caller, id: Id<Delegation>) -> Result<(), HubError> {
    caller.require(Capability::ApprovalsDecide)?;
    let input = Act::new(hub, caller, id);
    hub.records.write(input, |tx, act| Box::pin(end_unit(tx, act))).await
}

async fn end_unit(tx: &mut Tx, act: &Act<Id<Delegation>>) -> Result<(), HubError> {
    rule_sets::get_locked(tx, act.org()).await?;
    let before = delegations::get_locked(tx, act.org(), act.input).await?;
    let standing = act.confirm(tx, Capability::ApprovalsDecide).await?;
    let before = before.ok_or(MISSING)?;
    if !before.may_be_ended_by(act.actor(), standing) {
        return Err(HubError::Forbidden(
            "only its owner and admins of the organization end a delegation".into(),
        ));
    }
    if !before.active {
        return Ok(());
    }
    save(tx, act, "delegation:ended", (&before, &before.ended(act.now))).await
}

async fn save<T>(
    tx: &mut Tx,
    act: &Act<T>,
    action: &str,
    (before, after): (&Delegation, &Delegation),
) -> Result<(), HubError> {
    delegations::update(tx, after).await?;
    record(tx, act, action, after, &facts(before)).await?;
    schedule(tx, after, act.now, act.now).await
}

//! Changing policies: each change is a version of its own, and those before it stay.

use domain::Id;
use domain::permissions::Capability;
use domain::policies::{Policy, PolicyChange};
use records::rule_sets::RuleSetRow;
use records::{Tx, policies, rule_sets};

use super::{MISSING, etag, facts, record, require_members, require_readable, require_room, taken};
use crate::act::Act;
use crate::{Caller, Hub, HubError, rules, settings};

struct Change {
    id: Id<Policy>,
    change: PolicyChange,
    if_match: Option<String>,
    timeout_max: u32,
}

/// Changes a policy. Reviews that have begun keep the version they began with.
pub async fn change(
    hub: &Hub,
    caller: &Caller,
    id: Id<Policy>,
    change: PolicyChange,
    if_match: Option<String>,
) -> Result<Policy, HubError> {
    caller.require(Capability::PoliciesWrite)?;
    require_readable(&change).await?;
    let timeout_max = settings::of(hub, caller.credential.organization.id).await?.approval_max_timeout;
    let taken = taken(change.name.as_deref().unwrap_or_default());
    let input = Act::new(hub, caller, Change { id, change, if_match, timeout_max });
    let changed = hub.records.write(input, |tx, act| Box::pin(change_unit(tx, act))).await;
    changed.map_err(|error: HubError| error.or_taken(|| taken))
}

async fn change_unit(tx: &mut Tx, act: &Act<Change>) -> Result<Policy, HubError> {
    let Change { id, change, if_match, timeout_max } = &act.input;
    let set = rule_sets::get_locked(tx, act.org()).await?;
    act.confirm(tx, Capability::PoliciesWrite).await?;
    let before = policies::get(tx, act.org(), *id).await?.ok_or(MISSING)?;
    crate::etag::require(if_match.as_deref(), &etag(&before))?;
    let after = before.changed(change, *timeout_max, act.now).map_err(HubError::Invalid)?;
    if after == before {
        return Ok(before);
    }
    if after.active && !before.active {
        require_room(tx, act.org()).await?;
    }
    require_members(tx, act.org(), &after.rules).await?;
    save(tx, act, &set, "policy:updated", (&before, &after)).await?;
    Ok(after)
}

/// Takes a policy out of force; its versions stay. Repeating it changes nothing.
pub async fn deactivate(hub: &Hub, caller: &Caller, id: Id<Policy>) -> Result<(), HubError> {
    caller.require(Capability::PoliciesWrite)?;
    let input = Act::new(hub, caller, id);
    hub.records.write(input, |tx, act| Box::pin(deactivate_unit(tx, act))).await
}

async fn deactivate_unit(tx: &mut Tx, act: &Act<Id<Policy>>) -> Result<(), HubError> {
    let set = rule_sets::get_locked(tx, act.org()).await?;
    act.confirm(tx, Capability::PoliciesWrite).await?;
    let before = policies::get(tx, act.org(), act.input).await?.ok_or(MISSING)?;
    if before.is_default {
        let detail = "the default policy stands in where none applies, so it cannot be removed".into();
        return Err(HubError::InvalidState { state: "default".into(), detail });
    }
    if !before.active {
        return Ok(());
    }
    let after = before.deactivated(act.now);
    save(tx, act, &set, "policy:deactivated", (&before, &after)).await
}

async fn save<T>(
    tx: &mut Tx,
    act: &Act<T>,
    set: &RuleSetRow,
    action: &str,
    (before, after): (&Policy, &Policy),
) -> Result<(), HubError> {
    policies::update(tx, after, act.actor()).await?;
    rules::renew(tx, &*act.hub.ids, act.org(), set, act.now).await?;
    record(tx, act, action, after, &facts(before)).await
}

//! Making policies.

use domain::permissions::Capability;
use domain::policies::{Policy, PolicyChange, PolicyRules};
use records::{Tx, policies, rule_sets};

use super::{conditions, nothing, record, require_members, require_room, taken, zones};
use crate::act::Act;
use crate::idempotency::{Once, Outcome, write_once};
use crate::{Caller, Hub, HubError, rules, settings};

/// Makes a policy that says what is asked for, and nothing else.
pub async fn create(
    hub: &Hub,
    caller: &Caller,
    wanted: PolicyChange,
    once: Option<Once<Policy>>,
) -> Result<Outcome<Policy>, HubError> {
    caller.require(Capability::PoliciesWrite)?;
    let now = hub.clock.now();
    let org_id = caller.credential.organization.id;
    let blank = Policy {
        id: hub.ids.id(),
        org_id,
        name: String::new(),
        is_default: false,
        active: true,
        version: 1,
        rules: PolicyRules::blank(),
        created_at: now,
        updated_at: now,
    };
    let timeout_max = settings::of(hub, org_id).await?.approval_max_timeout;
    let said = blank.changed(&wanted, timeout_max, now).map_err(HubError::Invalid)?;
    if let Some(when) = &said.rules.when {
        conditions::check(when).await?;
    }
    if let Some(hours) = &said.rules.hours {
        zones::check(hours)?;
    }
    let policy = Policy { version: 1, updated_at: now, ..said };
    let taken = taken(&policy.name);
    let input = Act::new(hub, caller, policy);
    let made = write_once(hub, once, input, |tx, act| Box::pin(unit(tx, act))).await;
    made.map_err(|error| error.or_taken(|| taken))
}

async fn unit(tx: &mut Tx, act: &Act<Policy>) -> Result<Policy, HubError> {
    let before = rule_sets::get_locked(tx, act.org()).await?;
    act.confirm(tx, Capability::PoliciesWrite).await?;
    let policy = &act.input;
    if policy.active {
        require_room(tx, act.org()).await?;
    }
    require_members(tx, act.org(), &policy.rules).await?;
    policies::insert(tx, policy, act.actor()).await?;
    rules::renew(tx, &*act.hub.ids, act.org(), &before, act.now).await?;
    record(tx, act, "policy:created", policy, &nothing()).await?;
    Ok(policy.clone())
}

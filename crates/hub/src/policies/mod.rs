//! Policies: made, found, changed, deactivated; the default one that every organization has.
//!
//! **Locks.** Whoever changes a policy has locked the organization's rule set first; such units queue there.

pub mod backtest;
mod change;
mod conditions;
mod create;
mod defaults;
mod list;
pub(crate) mod zones;

use domain::organizations::Organization;
use domain::policies::{POLICIES_MAX, Policy, PolicyChange, PolicyRules};
use domain::subject::Subject;
use domain::{Id, json::FieldError};
use records::{Tx, members, policies};
use serde_json::{Map, Value, json};

pub use backtest::backtest;
pub use change::{change, deactivate};
pub use create::create;
pub(crate) use defaults::{complete, give_default};
pub use list::{get, list};
pub use records::policies::Filter;

use crate::HubError;
use crate::act::{Act, differences};

const MISSING: HubError = HubError::NotFound("policy");

/// What a reader must send to change exactly this.
#[must_use]
pub fn etag(policy: &Policy) -> String {
    format!("\"{}\"", policy.version)
}

/// Everything said in a policy, for the record of a change.
fn facts(policy: &Policy) -> Value {
    let mut facts = policy.rules.to_value();
    facts["name"] = policy.name.clone().into();
    facts["active"] = policy.active.into();
    facts["version"] = policy.version.into();
    facts
}

/// What the audit row says: all of a policy that was made, of a changed one what is different.
async fn record<T>(
    tx: &mut Tx,
    act: &Act<T>,
    action: &str,
    policy: &Policy,
    before: &Value,
) -> Result<(), HubError> {
    let details = differences(before, &facts(policy));
    act.record(tx, action, Subject::new("policy", policy.id), details).await
}

/// Refuses a condition that cannot be read, and hours of nowhere.
async fn require_readable(change: &PolicyChange) -> Result<(), HubError> {
    if let Some(Some(when)) = &change.when {
        conditions::check(when).await?;
    }
    if let Some(Some(hours)) = &change.hours {
        hours.check_zone().map_err(|bad| HubError::field("/hours/time_zone", bad.to_string()))?;
        zones::check(hours)?;
    }
    Ok(())
}

/// A policy in force is one of not too many.
async fn require_room(tx: &mut Tx, org: Id<Organization>) -> Result<(), HubError> {
    let in_force = policies::count_in_force(tx, org).await?;
    if usize::try_from(in_force).unwrap_or(usize::MAX) < POLICIES_MAX {
        return Ok(());
    }
    Err(HubError::field("/active", format!("the organization has {POLICIES_MAX} policies in force already")))
}

/// Whoever a policy names must be there to be asked; they stay until this unit ends.
async fn require_members(tx: &mut Tx, org: Id<Organization>, rules: &PolicyRules) -> Result<(), HubError> {
    let mut named: Vec<_> = rules.named().collect();
    // In one order in every unit, so that no two wait for each other.
    named.sort_by_key(|(_, account)| account.raw());
    let mut errors = Vec::new();
    for (pointer, account) in named {
        if members::get_shared(tx, org, account).await?.is_none() {
            let detail = "is no member of the organization".to_owned();
            errors.push(FieldError { pointer, detail });
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(HubError::Invalid(errors)) }
}

fn taken(name: &str) -> String {
    format!("name: a policy with the name `{name}` exists already in this organization")
}

/// What a made policy is compared with.
fn nothing() -> Value {
    json!(Map::new())
}

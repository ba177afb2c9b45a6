//! Delegations: made, found, changed, ended; and what open requests do when one begins or ends.
//!
//! **Locks.** Whoever makes or changes a delegation has locked the organization's rule set first, so that no two close a
//! circle together, and no review begins by half a change.

mod change;
mod create;
mod list;
mod settle;

use std::collections::BTreeSet;

use domain::accounts::Account;
use domain::delegations::{Book, DELEGATIONS_MAX, Delegation, may_stand_in};
use domain::jobs::Job;
use domain::organizations::Organization;
use domain::subject::Subject;
use domain::{Id, Timestamp};
use records::{Tx, delegations, jobs};
use serde_json::{Value, json};

pub use change::{change, end};
pub use create::create;
pub use list::{get, list, stand_ins_for};
pub use records::delegations::Filter;
pub(crate) use settle::{SETTLE, settle_job};

use crate::HubError;
use crate::act::{Act, differences};
use crate::reviews::{candidate, several_candidates};

const MISSING: HubError = HubError::NotFound("delegation");

/// What a reader must send to change exactly this.
#[must_use]
pub fn etag(delegation: &Delegation) -> String {
    format!("\"{}\"", delegation.version)
}

fn facts(delegation: &Delegation) -> Value {
    json!({
        "owner_id": delegation.owner_id.to_string(),
        "delegate_to": delegation.delegate_to.to_string(),
        "kind": delegation.kind.as_str(),
        "conditions": delegation.conditions.to_value(),
        "cascade": delegation.cascade,
        "active": delegation.active,
        "starts_at": delegation.starts_at.map(|at| at.to_string()),
        "expires_at": delegation.expires_at.map(|at| at.to_string()),
        "version": delegation.version,
    })
}

/// All of one that was made, of a changed one what is different.
async fn record<T>(
    tx: &mut Tx,
    act: &Act<T>,
    action: &str,
    delegation: &Delegation,
    before: &Value,
) -> Result<(), HubError> {
    let details = differences(before, &facts(delegation));
    act.record(tx, action, Subject::new("delegation", delegation.id), details).await
}

/// Whoever is named can decide, the circle stays open, and there are not too many.
async fn require_sound(tx: &mut Tx, delegation: &Delegation, is_new: bool) -> Result<(), HubError> {
    let org = delegation.org_id;
    let named = candidate(tx, org, delegation.delegate_to).await?;
    if !named.is_some_and(|named| may_stand_in(&named)) {
        let who = "must be an active person of this organization who is a reviewer or an admin";
        return Err(HubError::field("/delegate_to", who));
    }
    if is_new {
        let active = delegations::count_active(tx, org, delegation.owner_id).await?;
        if usize::try_from(active).unwrap_or(usize::MAX) >= DELEGATIONS_MAX {
            let full = format!("you have {DELEGATIONS_MAX} active delegations already");
            return Err(HubError::field("/active", full));
        }
    }
    match book(tx, org, [delegation.delegate_to]).await?.circle(delegation) {
        None => Ok(()),
        Some(circle) => {
            let circle: Vec<String> = circle.iter().map(ToString::to_string).collect();
            let detail = format!("requests would go round in a circle: {}", circle.join(" → "));
            Err(HubError::Conflict(detail))
        }
    }
}

/// Has open requests looked at when the delegation begins, ends, or has just changed.
async fn schedule(
    tx: &mut Tx,
    delegation: &Delegation,
    run_at: Timestamp,
    now: Timestamp,
) -> Result<(), HubError> {
    let job = Job {
        kind: SETTLE.into(),
        key: delegation.id.to_string(),
        run_at,
        lease_until: None,
        owner: None,
        attempts: 0,
        payload: json!({"org_id": delegation.org_id.to_string()}),
    };
    Ok(jobs::schedule(tx, &job, now).await?)
}

/// Everybody's delegations that lead on from these people. An organization without any pays one read for knowing it.
pub(crate) async fn book(
    tx: &mut Tx,
    org: Id<Organization>,
    from: impl IntoIterator<Item = Id<Account>>,
) -> Result<Book, HubError> {
    Ok(delegations::reached(tx, org, from).await?.into_iter().collect())
}

/// Those of whom delegations speak who may decide in another's place.
pub(crate) async fn stand_ins(
    tx: &mut Tx,
    org: Id<Organization>,
    book: &Book,
) -> Result<BTreeSet<Id<Account>>, HubError> {
    let named = several_candidates(tx, org, book.delegates().collect()).await?;
    Ok(named.into_values().filter(may_stand_in).map(|candidate| candidate.account_id).collect())
}

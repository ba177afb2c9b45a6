//! Open requests of somebody who left: their delegate decides, else their manager, else the escalation list (EDGE-05).

use domain::accounts::Account;
use domain::jobs::Job;
use domain::organizations::Organization;
use domain::{Id, Timestamp};
use records::{Tx, jobs};
use serde_json::json;

use crate::reviews::{Cause, reroute_all};
use crate::{Hub, HubError};

/// The kind of job that does it.
pub(crate) const REASSIGN: &str = "approvals:reassign";

/// Has the open requests of somebody who leaves given to others, once the unit is committed.
pub(crate) async fn schedule_reassign(
    tx: &mut Tx,
    (org, account): (Id<Organization>, Id<Account>),
    manager: Option<Id<Account>>,
    now: Timestamp,
) -> Result<(), HubError> {
    let job = Job {
        kind: REASSIGN.into(),
        key: format!("{org}/{account}"),
        run_at: now,
        lease_until: None,
        owner: None,
        attempts: 0,
        payload: json!({
            "org_id": org.to_string(), "account_id": account.to_string(),
            "manager_id": manager.map(|manager| manager.to_string()),
        }),
    };
    Ok(jobs::schedule(tx, &job, now).await?)
}

/// Gives them to others. What nobody can take stays, and the review says that it cannot be reached.
pub(crate) async fn reassign_job(hub: &Hub, job: &Job) -> Result<(), HubError> {
    let id = |name: &str| job.payload[name].as_str();
    let org = id("org_id").and_then(|text| text.parse::<Id<Organization>>().ok());
    let account = id("account_id").and_then(|text| text.parse::<Id<Account>>().ok());
    let manager = id("manager_id").and_then(|text| text.parse().ok());
    let Some((org, account)) = org.zip(account) else { return Ok(()) };
    reroute_all(hub, org, account, Cause::Left { manager }).await
}

//! Finding requests.

use std::collections::BTreeMap;

use domain::Id;
use domain::accounts::Account;
use domain::approvals::Approval;
use domain::permissions::Capability;
use records::approvals::{self, Filter, Order};
use records::{Tx, accounts};

use super::{MISSING, Seen};
use crate::{Caller, Hub, HubError};

/// One request.
pub async fn get(hub: &Hub, caller: &Caller, id: Id<Approval>) -> Result<Seen, HubError> {
    caller.require(Capability::ApprovalsRead)?;
    let input = (caller.clone(), id);
    hub.records
        .read(input, |tx, (caller, id)| {
            Box::pin(async move {
                let org = caller.credential.organization.id;
                let approval = approvals::get(tx, org, *id).await?.ok_or(MISSING)?;
                seen(tx, caller, approval).await
            })
        })
        .await
}

/// Requests in the order of the queue. Agents see them by age: places in the queue are made of the score.
pub async fn list(hub: &Hub, caller: &Caller, filter: Filter, limit: i64) -> Result<Vec<Seen>, HubError> {
    caller.require(Capability::ApprovalsRead)?;
    let is_agent = caller.credential.agent.is_some();
    if is_agent && filter.task.is_none() && filter.reviewer.is_none() {
        return Err(HubError::field("/task_id", "an agent names a task, or a reviewer"));
    }
    let order = match filter.order {
        Order::Queue(None) if is_agent => Order::Age(None),
        Order::Queue(Some(_)) if is_agent => {
            return Err(HubError::field("/cursor", "not of this list"));
        }
        order => order,
    };
    let filter = Filter { order, ..filter };
    let input = (caller.clone(), filter, limit);
    hub.records.read(input, |tx, (caller, filter, limit)| Box::pin(found(tx, caller, filter, *limit))).await
}

async fn found(tx: &mut Tx, caller: &Caller, filter: &Filter, limit: i64) -> Result<Vec<Seen>, HubError> {
    let found = approvals::list(tx, caller.credential.organization.id, filter, limit).await?;
    seen_all(tx, caller, found).await
}

/// Requests as this caller sees them.
pub(crate) async fn seen_all(
    tx: &mut Tx,
    caller: &Caller,
    found: Vec<Approval>,
) -> Result<Vec<Seen>, HubError> {
    let mut names: BTreeMap<Id<Account>, String> = BTreeMap::new();
    let mut all = Vec::with_capacity(found.len());
    for approval in found {
        let reviewer_name = match names.get(&approval.reviewer_id) {
            Some(name) => name.clone(),
            None => {
                let name = name(tx, approval.reviewer_id).await?;
                names.insert(approval.reviewer_id, name.clone());
                name
            }
        };
        all.push(Seen { approval, reviewer_name, shows_score: caller.credential.agent.is_none() });
    }
    Ok(all)
}

/// A request as this caller sees it.
pub(super) async fn seen(tx: &mut Tx, caller: &Caller, approval: Approval) -> Result<Seen, HubError> {
    let reviewer_name = name(tx, approval.reviewer_id).await?;
    Ok(Seen { approval, reviewer_name, shows_score: caller.credential.agent.is_none() })
}

async fn name(tx: &mut Tx, account: Id<Account>) -> Result<String, HubError> {
    Ok(accounts::get(tx, account).await?.map(|account| account.display_name).unwrap_or_default())
}

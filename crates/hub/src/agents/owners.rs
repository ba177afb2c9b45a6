//! Who answers for an agent, read up the line.

use std::collections::{BTreeMap, BTreeSet};

use domain::Id;
use domain::accounts::{Account, AccountStatus};
use domain::agents::{Answerer, OWNERS_MAX};
use domain::organizations::Organization;
use records::{Tx, accounts, agents, members};

use crate::HubError;

/// The owner and who answers for the owner, up to one that is no agent, or to one more than may be. Nobody of them
/// changes until the unit ends.
pub(crate) async fn line(
    tx: &mut Tx,
    org: Id<Organization>,
    owner: Id<Account>,
) -> Result<Vec<Answerer>, HubError> {
    let mut line = Vec::new();
    let mut next = Some(owner);
    while let Some(id) = next.filter(|_| line.len() <= OWNERS_MAX) {
        let account = accounts::get_shared(tx, id).await?;
        let is_member = members::get_shared(tx, org, id).await?.is_some();
        let agent = agents::get_shared(tx, org, id).await?;
        let is_active = account.is_some_and(|account| account.status == AccountStatus::Active);
        let is_retired = agent.as_ref().is_some_and(|agent| agent.deactivated_at.is_some());
        line.push(Answerer { id, may_act: is_active && is_member && !is_retired });
        next = agent.map(|agent| agent.owner_id);
    }
    Ok(line)
}

/// The same lines as ids, only looked at, of those of these accounts that are agents: whoever counts votes holds those who
/// gave them. One statement for each step up, however many they are.
pub(crate) async fn lines(
    tx: &mut Tx,
    org: Id<Organization>,
    accounts: BTreeSet<Id<Account>>,
) -> Result<BTreeMap<Id<Account>, Vec<Id<Account>>>, HubError> {
    let mut owner_of: BTreeMap<Id<Account>, Id<Account>> = BTreeMap::new();
    let mut next = accounts.clone();
    for _ in 0..=OWNERS_MAX {
        if next.is_empty() {
            break;
        }
        let found = agents::owners(tx, org, next).await?;
        next = found.iter().map(|(_, owner)| *owner).filter(|owner| !owner_of.contains_key(owner)).collect();
        owner_of.extend(found);
    }
    let line = |agent: Id<Account>| {
        let mut line = vec![*owner_of.get(&agent)?];
        while let Some(owner) =
            line.last().and_then(|last| owner_of.get(last)).filter(|_| line.len() <= OWNERS_MAX)
        {
            line.push(*owner);
        }
        Some((agent, line))
    };
    Ok(accounts.into_iter().filter_map(line).collect())
}

//! Who answers for an agent, read up the line.

use domain::Id;
use domain::accounts::{Account, AccountStatus};
use domain::agents::{Agent, Answerer, OWNERS_MAX};
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

/// The same line as ids, only looked at: whoever counts votes holds those who gave them.
pub(crate) async fn ids(tx: &mut Tx, agent: &Agent) -> Result<Vec<Id<Account>>, HubError> {
    let mut line = vec![agent.owner_id];
    while let Some(last) = line.last().copied().filter(|_| line.len() <= OWNERS_MAX) {
        match agents::get(tx, agent.org_id, last).await? {
            Some(next) => line.push(next.owner_id),
            None => break,
        }
    }
    Ok(line)
}

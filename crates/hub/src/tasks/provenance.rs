//! Who stands behind what a caller does.

use domain::Id;
use domain::accounts::Account;
use domain::tasks::Behind;
use records::Tx;

use crate::HubError;
use crate::agents::owners;
use crate::identity::credential::Credential;

/// The caller, whoever answers for it if it is an agent, and the minter of what it came with.
pub(crate) async fn behind(tx: &mut Tx, current: &Credential) -> Result<Behind, HubError> {
    let line = match &current.agent {
        Some(agent) => owners::line(tx, agent.org_id, agent.owner_id).await?,
        None => Vec::new(),
    };
    let owners: Vec<Id<Account>> = line.into_iter().map(|answerer| answerer.id).collect();
    Ok(Behind::act(current.account.id, &owners, current.means.minted_by()))
}

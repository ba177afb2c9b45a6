//! Changing what is said about an agent, and who answers for it.

use domain::Id;
use domain::accounts::Account;
use domain::agents::{Agent, AgentAct, AgentChange, may_own};
use records::{Tx, accounts, agents, members};
use serde_json::json;

use super::{Seen, admitted, announce, etag, facts, owners, require_active, seen, subject, taken};
use crate::act::{Act, differences};
use crate::{Caller, Hub, HubError};

struct Change {
    id: Id<Account>,
    change: AgentChange,
    if_match: Option<String>,
}

/// Changes an agent. Its owner may, and an admin; only an admin gives it another owner.
pub async fn change(
    hub: &Hub,
    caller: &Caller,
    id: Id<Account>,
    change: AgentChange,
    if_match: Option<String>,
) -> Result<Seen, HubError> {
    let taken = taken(change.name.as_deref().unwrap_or_default());
    let input = Act::new(hub, caller, Change { id, change, if_match });
    let changed = hub.records.write(input, |tx, act| Box::pin(unit(tx, act))).await;
    changed.map_err(|error: HubError| error.or_taken(|| taken))
}

async fn unit(tx: &mut Tx, act: &Act<Change>) -> Result<Seen, HubError> {
    let Change { change, if_match, .. } = &act.input;
    let (agent, account) = locked(tx, act).await?;
    let current = act.reread(tx).await?;
    let before = admitted(&current, agent, AgentAct::Change)?;
    require_active(&before)?;
    crate::etag::require(if_match.as_deref(), &etag(&before, true))?;
    let after = before.changed(change, act.now).map_err(HubError::Invalid)?;
    if after.owner_id != before.owner_id {
        admitted(&current, Some(before.clone()), AgentAct::ChangeOwner)?;
        let line = owners::line(tx, after.org_id, after.owner_id).await?;
        may_own(after.id, &line).map_err(|refusal| HubError::field("/owner_id", refusal.to_string()))?;
    }
    if after == before {
        return seen(tx, &act.caller, before).await;
    }
    agents::update(tx, &after).await?;
    if let Some(account) = account.filter(|account| account.display_name != after.name) {
        rename(tx, act, &account, &after).await?;
    }
    let mut details = differences(&facts(&before), &facts(&after));
    if before.config != after.config {
        // What is in it is not for everybody who may read the log.
        details.insert("config".into(), json!("changed"));
    }
    act.record(tx, "agent:updated", subject(after.id), details).await?;
    announce(tx, act, "agent:updated", &after).await?;
    seen(tx, &act.caller, after).await
}

/// The agent, and its account where that gets another name.
async fn locked(tx: &mut Tx, act: &Act<Change>) -> Result<(Option<Agent>, Option<Account>), HubError> {
    let (org, id) = (act.org(), act.input.id);
    // Only an agent of this organization lets anybody lock the account of that id.
    if agents::get(tx, org, id).await?.is_none() {
        return Ok((None, None));
    }
    let mut account = None;
    if act.input.change.name.is_some() {
        account = accounts::get_locked(tx, id).await?;
        members::get_locked(tx, org, id).await?;
    }
    Ok((agents::get_locked(tx, org, id).await?, account))
}

/// An agent's account is called what the agent is called.
async fn rename(tx: &mut Tx, act: &Act<Change>, account: &Account, agent: &Agent) -> Result<(), HubError> {
    let updated_at = act.now.after(account.updated_at);
    let renamed = Account { display_name: agent.name.clone(), updated_at, ..account.clone() };
    Ok(accounts::update(tx, account, &renamed).await?)
}

//! Retiring an agent.

use domain::Id;
use domain::accounts::{Account, AccountStatus};
use domain::agents::{Agent, AgentAct};
use domain::api_keys::ApiKey;
use records::{Tx, accounts, agents, api_keys};
use serde_json::{Map, json};

use super::{admitted, announce, subject};
use crate::act::Act;
use crate::{Caller, Hub, HubError, locks};

/// Retires an agent: its account can do nothing more, its keys and locks have ended, its rows stay. Repeating it changes nothing.
pub async fn deactivate(hub: &Hub, caller: &Caller, id: Id<Account>) -> Result<(), HubError> {
    let input = Act::new(hub, caller, id);
    hub.records.write(input, |tx, act| Box::pin(unit(tx, act))).await?;
    locks::let_go(hub, caller.credential.organization.id, id).await;
    Ok(())
}

struct Locked {
    keys: Vec<ApiKey>,
    account: Option<Account>,
    agent: Option<Agent>,
}

async fn unit(tx: &mut Tx, act: &Act<Id<Account>>) -> Result<(), HubError> {
    let Locked { keys, account, agent } = locked(tx, act).await?;
    let current = act.reread(tx).await?;
    let agent = admitted(&current, agent, AgentAct::Deactivate)?;
    if agent.deactivated_at.is_some() {
        return Ok(());
    }
    let retired = agent.deactivated(act.now);
    agents::update(tx, &retired).await?;
    if let Some(account) = account {
        let updated_at = act.now.after(account.updated_at);
        let ended = Account { status: AccountStatus::Deactivated, updated_at, ..account.clone() };
        accounts::update(tx, &account, &ended).await?;
    }
    for key in &keys {
        api_keys::revoke(tx, key, key.rotated_to_id, act.now).await?;
    }
    let ended: Vec<String> = keys.iter().map(|key| key.id.to_string()).collect();
    let details = Map::from_iter([("api_keys_revoked".to_owned(), json!(ended))]);
    act.record(tx, "agent:deactivated", subject(retired.id), details).await?;
    announce(tx, act, "agent:deactivated", &retired).await
}

async fn locked(tx: &mut Tx, act: &Act<Id<Account>>) -> Result<Locked, HubError> {
    let (org, id) = (act.org(), act.input);
    // Only an agent of this organization lets anybody lock the account of that id.
    if agents::get(tx, org, id).await?.is_none() {
        return Ok(Locked { keys: Vec::new(), account: None, agent: None });
    }
    let keys = api_keys::unrevoked_locked(tx, org, id).await?;
    let account = accounts::get_locked(tx, id).await?;
    let agent = agents::get_locked(tx, org, id).await?;
    Ok(Locked { keys, account, agent })
}

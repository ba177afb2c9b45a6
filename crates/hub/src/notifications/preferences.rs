//! What the caller does not want to be told.

use domain::notifications::{NotificationKind, Preferences};
use domain::permissions::Capability;
use domain::subject::Subject;
use records::{Tx, notification_preferences as rows};
use serde_json::{Map, json};

use super::whose;
use crate::act::Act;
use crate::{Caller, Hub, HubError};

struct Change {
    muted: Vec<NotificationKind>,
    if_match: Option<String>,
}

/// What a reader must send to change exactly this.
#[must_use]
pub fn etag(preferences: &Preferences) -> String {
    format!("\"{}\"", preferences.version)
}

/// What the caller said last; nothing is muted where nothing was said.
pub async fn preferences(hub: &Hub, caller: &Caller) -> Result<Preferences, HubError> {
    caller.require(Capability::EventsRead)?;
    hub.records
        .read(whose(caller), |tx, &(org, account)| {
            Box::pin(async move {
                Ok(rows::get(tx, org, account).await?.unwrap_or_else(|| Preferences::none(org, account)))
            })
        })
        .await
}

/// Mutes these kinds, and no others. What was told before stays told.
pub async fn set_preferences(
    hub: &Hub,
    caller: &Caller,
    muted: Vec<NotificationKind>,
    if_match: Option<String>,
) -> Result<Preferences, HubError> {
    caller.require(Capability::EventsRead)?;
    let input = Act::new(hub, caller, Change { muted, if_match });
    hub.records.write(input, |tx, act| Box::pin(unit(tx, act))).await
}

async fn unit(tx: &mut Tx, act: &Act<Change>) -> Result<Preferences, HubError> {
    let (org, account) = (act.org(), act.actor());
    let before = rows::get_locked(tx, org, account).await?;
    act.confirm(tx, Capability::EventsRead).await?;
    let before = before.unwrap_or_else(|| Preferences::none(org, account));
    crate::etag::require(act.input.if_match.as_deref(), &etag(&before))?;
    let after = before.changed(&act.input.muted, act.now).map_err(HubError::Invalid)?;
    if after == before {
        return Ok(before);
    }
    rows::put(tx, &after).await?;
    let names = |said: &Preferences| json!(said.muted.iter().map(|kind| kind.as_str()).collect::<Vec<_>>());
    let mut details = Map::new();
    details.insert("muted".into(), json!({"from": names(&before), "to": names(&after)}));
    act.record(tx, "notifications:preferences_set", Subject::new("account", account), details).await?;
    Ok(after)
}

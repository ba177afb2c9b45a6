//! What an organization has set for itself.

use std::sync::Arc;

use domain::Id;
use domain::Timestamp;
use domain::audit::AuditEntry;
use domain::canonical::sha256;
use domain::organizations::Organization;
use domain::permissions::Capability;
use domain::settings::Settings;
use domain::subject::Subject;
use records::{Tx, settings as rows};
use serde_json::{Map, Value};

use crate::identity::authenticate::confirm;
use crate::{Caller, Hub, HubError, audit, etag, locks};

/// The organization's settings, cached exactly.
pub async fn of(hub: &Hub, org: Id<Organization>) -> Result<Arc<Settings>, HubError> {
    let at = hub.moment(hub.records.signals().settings_epoch());
    if let Some(settings) = hub.coordination.settings.get(&org, at) {
        return Ok(settings);
    }
    let loaded = hub.records.read(org, |tx, &org| Box::pin(load(tx, org))).await?;
    Ok(hub.coordination.settings.put(org, loaded, at))
}

/// The same inside a unit that decides by them; it has read the caller, and with it holds the organization.
pub(crate) async fn load(tx: &mut Tx, org: Id<Organization>) -> Result<Settings, HubError> {
    merged(rows::all(tx, org).await?)
}

fn merged(overrides: Vec<rows::Override>) -> Result<Settings, HubError> {
    Settings::merged(overrides.into_iter().map(|row| (row.name, row.value))).map_err(|errors| {
        let reason =
            errors.iter().map(|error| format!("{} {}", error.pointer, error.detail)).collect::<Vec<_>>();
        HubError::Records(records::Error::BadRow { column: "settings.value", reason: reason.join("; ") })
    })
}

/// What a reader of the settings must send to change exactly those.
#[must_use]
pub fn etag(settings: &Settings) -> String {
    let bytes = Value::Object(settings.to_json()).to_string();
    format!("\"{}\"", hex::encode(&sha256(bytes.as_bytes())[..16]))
}

/// The caller's organization's settings.
pub async fn get(hub: &Hub, caller: &Caller) -> Result<Arc<Settings>, HubError> {
    caller.require(Capability::SettingsRead)?;
    of(hub, caller.credential.organization.id).await
}

struct Change {
    caller: Caller,
    patch: Map<String, Value>,
    if_match: Option<String>,
    entry: AuditEntry,
    now: Timestamp,
}

/// Changes some settings; null goes back to the default. All or nothing.
pub async fn change(
    hub: &Hub,
    caller: &Caller,
    patch: Map<String, Value>,
    if_match: Option<String>,
) -> Result<Settings, HubError> {
    caller.require(Capability::SettingsWrite)?;
    let now = hub.clock.now();
    let subject = Subject::new("organization", caller.credential.organization.id);
    let entry = caller.entry(hub, "settings:changed", subject, now);
    let input = Change { caller: caller.clone(), patch, if_match, entry, now };
    let changed = hub.records.write(input, |tx, change| Box::pin(change_unit(tx, change))).await?;
    if changed.feature_deadlock_detection {
        // It may just have been switched on.
        locks::break_circles(hub, caller.credential.organization.id).await;
    }
    Ok(changed)
}

async fn change_unit(tx: &mut Tx, change: &Change) -> Result<Settings, HubError> {
    let org = change.caller.credential.organization.id;
    // The organization's row is what concurrent changes queue at: most settings have no row of their own yet.
    // First of all, because two units that both share it could not both go on to change it.
    records::organizations::get_locked(tx, org).await?;
    confirm(tx, &change.caller, Capability::SettingsWrite, change.now).await?;
    let before = merged(rows::all(tx, org).await?)?;
    etag::require(change.if_match.as_deref(), &etag(&before))?;
    let changed = before.change(&change.patch).map_err(HubError::Invalid)?;
    let mut details = Map::new();
    for one in &changed.changes {
        rows::set(tx, org, one.name, one.stored.as_ref(), change.now).await?;
        if one.from != one.to {
            details.insert(one.name.to_owned(), serde_json::json!({"from": one.from, "to": one.to}));
        }
    }
    if details.is_empty() {
        return Ok(changed.settings);
    }
    let mut entry = change.entry.clone();
    entry.details = details;
    audit::record(tx, &entry).await?;
    Ok(changed.settings)
}

//! One act of a caller: what the units of most use cases need.

use domain::accounts::Account;
use domain::audit::AuditEntry;
use domain::events::EventDraft;
use domain::organizations::Organization;
use domain::permissions::{Capability, Standing};
use domain::subject::Subject;
use domain::{Id, Timestamp};
use records::{Tx, events};
use serde_json::{Map, Value};

use crate::identity::authenticate::{confirm, reread};
use crate::identity::credential::Credential;
use crate::identity::founding::Maker;
use crate::{Caller, Hub, HubError, audit};

/// Who does something, when, and with what.
pub(crate) struct Act<T> {
    pub(crate) hub: Hub,
    pub(crate) caller: Caller,
    pub(crate) now: Timestamp,
    pub(crate) input: T,
}

impl<T> Act<T> {
    pub(crate) fn new(hub: &Hub, caller: &Caller, input: T) -> Self {
        Self { hub: hub.clone(), caller: caller.clone(), now: hub.clock.now(), input }
    }

    /// Where it happens.
    pub(crate) fn org(&self) -> Id<Organization> {
        self.caller.credential.organization.id
    }

    /// Who does it.
    pub(crate) fn actor(&self) -> Id<Account> {
        self.caller.credential.account.id
    }

    /// The caller, as whoever makes a tenant or a member.
    pub(crate) fn maker(&self) -> Maker<'_> {
        let service = &self.caller.origin.service;
        Maker { ids: &*self.hub.ids, actor: self.actor(), service, now: self.now, caller: Some(&self.caller) }
    }

    /// An audit row of it.
    pub(crate) fn entry(&self, action: &str, subject: Subject) -> AuditEntry {
        self.caller.entry(&self.hub, action, subject, self.now)
    }

    /// Reads the caller again; see [`confirm`].
    pub(crate) async fn confirm(&self, tx: &mut Tx, capability: Capability) -> Result<Standing, HubError> {
        confirm(tx, &self.caller, capability, self.now).await
    }

    /// Reads the caller again, whatever it may do; see [`reread`].
    pub(crate) async fn reread(&self, tx: &mut Tx) -> Result<Credential, HubError> {
        reread(tx, &self.caller, self.now).await
    }

    /// Puts it on record.
    pub(crate) async fn record(
        &self,
        tx: &mut Tx,
        action: &str,
        subject: Subject,
        details: Map<String, Value>,
    ) -> Result<(), HubError> {
        let mut entry = self.entry(action, subject);
        entry.details = details;
        audit::record(tx, &entry).await
    }

    /// Tells those who follow the log.
    pub(crate) async fn announce(
        &self,
        tx: &mut Tx,
        event_type: &str,
        subject: Subject,
        payload: Value,
    ) -> Result<(), HubError> {
        let event = EventDraft {
            id: self.hub.ids.id(),
            org: Some(self.org()),
            event_type: event_type.to_owned(),
            occurred_at: self.now,
            actor: Some(self.actor().raw()),
            source: self.caller.origin.service.to_string(),
            subject,
            payload,
        };
        Ok(events::append(tx, &event).await?)
    }
}

/// The members of an object that differ, each with what it was and what it is.
pub(crate) fn differences(before: &Value, after: &Value) -> Map<String, Value> {
    let (Some(before), Some(after)) = (before.as_object(), after.as_object()) else { return Map::new() };
    let changed = after.iter().filter(|(name, value)| before.get(*name) != Some(*value));
    changed
        .map(|(name, value)| (name.clone(), serde_json::json!({"from": before.get(name), "to": value})))
        .collect()
}

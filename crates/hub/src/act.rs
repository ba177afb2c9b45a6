//! One act of a caller: what the units of most use cases need.

use domain::accounts::Account;
use domain::audit::{AuditEntry, Chain};
use domain::events::EventDraft;
use domain::organizations::Organization;
use domain::permissions::{Capability, Standing};
use domain::subject::Subject;
use domain::{Id, Timestamp};
use records::Tx;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::caller::{lacks, plain_entry};
use crate::faults::reached;
use crate::identity::authenticate::{confirm, reread};
use crate::identity::bootstrap::system_account;
use crate::identity::credential::Credential;
use crate::identity::founding::Maker;
use crate::{Caller, Hub, HubError, audit, notifications};

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

    /// Reads the caller again, and refuses one who lost this capability.
    pub(crate) async fn reread_with(
        &self,
        tx: &mut Tx,
        capability: Capability,
    ) -> Result<Credential, HubError> {
        let current = self.reread(tx).await?;
        if current.capabilities().contains(capability) {
            return Ok(current);
        }
        Err(lacks(capability))
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
        announce(tx, self, event_type, subject, payload).await
    }
}

/// Something that is done to an organization's things: by a caller, or by the hub itself.
pub(crate) trait Deed {
    /// Where rules, ids and settings are.
    fn hub(&self) -> &Hub;
    /// When.
    fn now(&self) -> Timestamp;
    /// Where it happens.
    fn org(&self) -> Id<Organization>;
    /// Who does it; none: the hub by itself.
    fn actor(&self) -> Option<Uuid>;
    /// An audit row of it.
    fn entry(&self, action: &str, subject: Subject) -> AuditEntry;
    /// An event that tells of it.
    fn event(&self, event_type: &str, subject: Subject, payload: Value) -> EventDraft;
}

impl<T> Deed for Act<T> {
    fn hub(&self) -> &Hub {
        &self.hub
    }

    fn now(&self) -> Timestamp {
        self.now
    }

    fn org(&self) -> Id<Organization> {
        self.org()
    }

    fn actor(&self) -> Option<Uuid> {
        Some(self.actor().raw())
    }

    fn entry(&self, action: &str, subject: Subject) -> AuditEntry {
        self.entry(action, subject)
    }

    fn event(&self, event_type: &str, subject: Subject, payload: Value) -> EventDraft {
        EventDraft {
            id: self.hub.ids.id(),
            org: Some(self.org()),
            event_type: event_type.to_owned(),
            occurred_at: self.now,
            actor: Some(self.actor().raw()),
            source: self.caller.origin.service.to_string(),
            subject,
            payload,
        }
    }
}

/// What the hub does by its own rules, when nobody asks.
pub(crate) struct ByItself {
    hub: Hub,
    org: Id<Organization>,
    system: Id<Account>,
    now: Timestamp,
}

/// Where what the hub does by itself comes from.
pub(crate) const BY_ITSELF: &str = "system";

impl ByItself {
    /// The hub, about to do something in this organization.
    pub(crate) async fn new(
        tx: &mut Tx,
        hub: &Hub,
        org: Id<Organization>,
        now: Timestamp,
    ) -> Result<Self, HubError> {
        let system = system_account(tx).await?;
        Ok(Self { hub: hub.clone(), org, system: system.id, now })
    }
}

impl Deed for ByItself {
    fn hub(&self) -> &Hub {
        &self.hub
    }

    fn now(&self) -> Timestamp {
        self.now
    }

    fn org(&self) -> Id<Organization> {
        self.org
    }

    fn actor(&self) -> Option<Uuid> {
        None
    }

    fn entry(&self, action: &str, subject: Subject) -> AuditEntry {
        let said = (action, subject, BY_ITSELF);
        plain_entry(self.hub.ids.id(), Chain::Organization(self.org), self.system, said, self.now)
    }

    fn event(&self, event_type: &str, subject: Subject, payload: Value) -> EventDraft {
        EventDraft {
            id: self.hub.ids.id(),
            org: Some(self.org),
            event_type: event_type.to_owned(),
            occurred_at: self.now,
            actor: None,
            source: BY_ITSELF.into(),
            subject,
            payload,
        }
    }
}

/// Tells those who follow the log of a deed.
pub(crate) async fn announce(
    tx: &mut Tx,
    deed: &impl Deed,
    event_type: &str,
    subject: Subject,
    payload: Value,
) -> Result<(), HubError> {
    announce_all(tx, deed, &[deed.event(event_type, subject, payload)]).await.map(drop)
}

/// The same of several events, and everybody to whom they are addressed is told. How many people were.
pub(crate) async fn announce_all(
    tx: &mut Tx,
    deed: &impl Deed,
    events: &[EventDraft],
) -> Result<usize, HubError> {
    for event in events {
        records::events::append(tx, event).await?;
    }
    reached("tell:appended");
    notifications::tell(tx, deed, events).await
}

/// The members of an object that differ, each with what it was and what it is.
pub(crate) fn differences(before: &Value, after: &Value) -> Map<String, Value> {
    let (Some(before), Some(after)) = (before.as_object(), after.as_object()) else { return Map::new() };
    let changed = after.iter().filter(|(name, value)| before.get(*name) != Some(*value));
    changed
        .map(|(name, value)| (name.clone(), serde_json::json!({"from": before.get(name), "to": value})))
        .collect()
}

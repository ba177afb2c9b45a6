//! Who asks, from where, with what.

use std::borrow::Cow;
use std::sync::Arc;

use domain::accounts::Account;
use domain::audit::{AuditEntry, Chain};
use domain::permissions::{Capability, CapabilitySet};
use domain::subject::Subject;
use domain::{Id, Timestamp};

use crate::identity::credential::Credential;
use crate::{Hub, HubError};

/// Where a request comes from.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// The client's address.
    pub ip: Option<String>,
    /// The client's `User-Agent`.
    pub user_agent: Option<String>,
    /// Which part of the hub acts: `api`, `worker/<name>`, `bootstrap`.
    pub service: Cow<'static, str>,
}

impl Origin {
    /// The row with where it comes from.
    pub(crate) fn signed(&self, entry: AuditEntry) -> AuditEntry {
        AuditEntry { ip: self.ip.clone(), user_agent: self.user_agent.clone(), ..entry }
    }
}

/// An authenticated caller.
#[derive(Clone)]
pub struct Caller {
    /// The key or login, its account, organization and membership, as they were when the request came in.
    pub credential: Arc<Credential>,
    /// What the caller may do with this credential.
    pub capabilities: CapabilitySet,
    /// Where the request comes from.
    pub origin: Arc<Origin>,
}

impl Caller {
    /// Refuses a caller without the capability.
    pub fn require(&self, capability: Capability) -> Result<(), HubError> {
        if self.capabilities.contains(capability) {
            return Ok(());
        }
        Err(lacks(capability))
    }

    /// An audit row of something this caller does in its organization.
    #[must_use]
    pub fn entry(&self, hub: &Hub, action: &str, subject: Subject, now: Timestamp) -> AuditEntry {
        self.signed(plain_entry(
            hub.ids.id(),
            Chain::Organization(self.credential.organization.id),
            self.credential.account.id,
            (action, subject, &self.origin.service),
            now,
        ))
    }

    /// The row with what this caller came with, and from where.
    pub(crate) fn signed(&self, entry: AuditEntry) -> AuditEntry {
        self.origin.signed(AuditEntry {
            key_id: self.credential.key_id(),
            login_session_id: self.credential.login().map(|login| login.id.to_string()),
            ..entry
        })
    }
}

/// The refusal of somebody who may not do this.
pub(crate) fn lacks(capability: Capability) -> HubError {
    HubError::Forbidden(format!(
        "this needs the permission {}, which your credential or your role does not have",
        capability.as_str()
    ))
}

/// An audit row with nothing but what every row has.
pub(crate) fn plain_entry(
    id: Id<AuditEntry>,
    chain: Chain,
    actor: Id<Account>,
    (action, subject, service): (&str, Subject, &str),
    occurred_at: Timestamp,
) -> AuditEntry {
    AuditEntry {
        id,
        chain,
        actor,
        key_id: None,
        login_session_id: None,
        session_id: None,
        action: action.to_owned(),
        subject,
        from_state: None,
        to_state: None,
        occurred_at,
        ip: None,
        user_agent: None,
        service: Some(service.to_owned()),
        reason: None,
        ticket_ref: None,
        details: serde_json::Map::new(),
    }
}

//! Logins that failed, on record.

use domain::accounts::Account;
use domain::audit::{AuditEntry, Chain};
use domain::login_sessions::LoginMethod;
use domain::oidc_flows::OidcFlow;
use domain::subject::Subject;
use records::Tx;
use serde_json::{Map, Value};

use super::bootstrap::system_account;
use crate::caller::plain_entry;
use crate::{Hub, HubError, Origin, audit};

/// What failed: whose login, in whose chain, and what else is known about it.
pub(super) struct Failure {
    chain: Chain,
    subject: Subject,
    details: Map<String, Value>,
}

impl Failure {
    /// A login as this account.
    pub(super) fn of(account: &Account, method: LoginMethod) -> Self {
        let chain = account.home_org_id.map_or(Chain::Instance, Chain::Organization);
        Self { chain, subject: Subject::new("account", account.id), details: details(method) }
    }

    /// A login by a provider of which nobody knows whose it would have been.
    pub(super) fn of_nobody(flow: &OidcFlow) -> Self {
        let subject = Subject::new("oidc_flow", flow.id);
        Self { chain: Chain::Instance, subject, details: details(LoginMethod::Oidc) }
    }

    /// Why it failed.
    pub(super) fn because(mut self, reason: &str) -> Self {
        self.details.insert("reason".into(), reason.into());
        self
    }
}

fn details(method: LoginMethod) -> Map<String, Value> {
    Map::from_iter([("method".to_owned(), method.as_str().into())])
}

/// Records a failure beside the answer: it must take as long for an account as for none.
pub(super) fn note(hub: &Hub, failure: &Failure, origin: &Origin) {
    if hub.lifecycle.is_stopping() {
        return;
    }
    // The hub itself says so, and who that is, is read where the row is written.
    let nobody = domain::Id::new(uuid::Uuid::nil());
    let what = ("login:failed", failure.subject.clone(), &*origin.service);
    let plain = plain_entry(hub.ids.id(), failure.chain, nobody, what, hub.clock.now());
    let entry = origin.signed(AuditEntry { details: failure.details.clone(), ..plain });
    let records = hub.records.clone();
    hub.lifecycle.spawn(async move {
        if let Err(error) = records.write(entry, |tx, entry| Box::pin(failed(tx, entry))).await {
            tracing::warn!("a failed login could not be recorded: {error}");
        }
    });
}

/// The hub itself is who says so: nobody has proven to be the account.
async fn failed(tx: &mut Tx, entry: &AuditEntry) -> Result<(), HubError> {
    let system = system_account(tx).await?;
    audit::record(tx, &AuditEntry { actor: system.id, ..entry.clone() }).await
}

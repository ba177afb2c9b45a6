//! The first start: an organization, the system account, one admin, one key, one link to log in with.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use domain::Timestamp;
use domain::accounts::{AccessLevel, Account};
use domain::audit::Chain;
use domain::secrets::{Secret, SecretKind};
use domain::subject::Subject;
use records::{Tx, accounts};

use super::founding::{Maker, NewAccount, account_created, found};
use super::login_links;
use crate::ids::{Ids, secret};
use crate::{Hub, HubError, audit, policies};

/// The e-mail of the account that acts when nobody does. `.invalid` can never be anybody's.
pub const SYSTEM_EMAIL: &str = "system@countersign.invalid";

/// The account of the hub itself.
pub(crate) async fn system_account(tx: &mut Tx) -> Result<Account, HubError> {
    let system = accounts::by_email(tx, SYSTEM_EMAIL).await?;
    system.ok_or(HubError::NotFound("account of the hub itself"))
}
const ADMIN_EMAIL: &str = "admin@countersign.invalid";
const KEY_FILE: &str = "admin.key";
const SERVICE: &str = "bootstrap";

/// What the first start hands to the operator.
pub struct HandedOver {
    /// The file with the admin's first key.
    pub key_file: PathBuf,
    /// What a link carries that logs the admin in once.
    pub link: Secret,
}

struct FirstStart {
    key_file: PathBuf,
    secret: Secret,
    link: Secret,
    ids: Arc<dyn Ids>,
    now: Timestamp,
}

/// Makes what an empty database needs, once, and what one of an earlier release lacks; what the operator gets, if this start made it.
pub async fn bootstrap(hub: &Hub, data: &Path) -> Result<Option<HandedOver>, HubError> {
    let (key_file, link) = (data.join(KEY_FILE), secret(SecretKind::Link)?);
    let first = FirstStart {
        key_file: key_file.clone(),
        secret: secret(SecretKind::ApiKey)?,
        link: link.clone(),
        ids: Arc::clone(&hub.ids),
        now: hub.clock.now(),
    };
    let made = hub.records.write(first, |tx, first| Box::pin(unit(tx, first))).await?;
    Ok(made.then_some(HandedOver { key_file, link }))
}

async fn unit(tx: &mut Tx, first: &FirstStart) -> Result<bool, HubError> {
    let (ids, now) = (&*first.ids, first.now);
    if records::bootstrap::is_done(tx).await? {
        complete(tx, ids, now).await?;
        return Ok(false);
    }
    let account = |email: &str, name: &str, access_level| {
        NewAccount { email: email.into(), display_name: name.into(), access_level }.made(ids, now)
    };
    let system = account(SYSTEM_EMAIL, "system", AccessLevel::Service);
    let admin = account(ADMIN_EMAIL, "admin", AccessLevel::Admin);
    accounts::insert(tx, &system).await?;
    let maker = Maker { ids, actor: system.id, service: SERVICE, now, caller: None };
    audit::record(tx, &account_created(maker, Chain::Instance, &system)).await?;
    let minted = found(tx, maker, "default", &admin, &first.secret).await?;
    login_links::make(tx, maker, &admin, Some(minted.key.org_id), &first.link).await?;
    let subject = Subject::new("organization", minted.key.org_id);
    audit::record(tx, &maker.entry(Chain::Instance, "instance:bootstrapped", subject)).await?;
    // Inside the unit: a hub whose first key nobody has is useless, so both exist or neither does.
    write_private(&first.key_file, first.secret.expose()).map_err(|error| {
        records::Error::Refused(format!("cannot write {}: {error}", first.key_file.display()))
    })?;
    Ok(true)
}

/// Adds what organizations from before this release lack.
async fn complete(tx: &mut Tx, ids: &dyn Ids, now: Timestamp) -> Result<(), HubError> {
    let system = accounts::by_email(tx, SYSTEM_EMAIL).await?;
    let system = system.ok_or_else(|| records::Error::Refused("the hub's own account is missing".into()))?;
    policies::complete(tx, Maker { ids, actor: system.id, service: SERVICE, now, caller: None }).await
}

/// Writes a file that only its owner may read, durably.
fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file =
        std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    writeln!(file, "{text}")?;
    file.sync_all()
}

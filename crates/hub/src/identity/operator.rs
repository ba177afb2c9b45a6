//! What whoever runs the hub does beside it, with the records in hand: on record, as the hub's own account.

use std::path::Path;
use std::sync::Arc;

use domain::accounts::{AccessLevel, Account};
use domain::audit::Chain;
use domain::members::Seat;
use domain::organizations::MembershipLevel;
use domain::secrets::{Secret, SecretKind};
use domain::subject::Subject;
use domain::text::{self, NAME_CHARS_MAX};
use domain::{Id, Timestamp};
use records::{Db, Tx, accounts, organizations};
use uuid::Uuid;

use super::bootstrap::SYSTEM_EMAIL;
use super::founding::{Entrance, Maker, NewAccount, enter};
use super::login_links;
use crate::ids::{Ids, secret};
use crate::keys::HubKeys;
use crate::{HubError, audit};

/// As which part of the hub the operator acts.
const SERVICE: &str = "admin";
/// The organization that the first start made.
const FIRST_ORGANIZATION: &str = "default";

/// The records, and what making something needs.
#[derive(Clone)]
pub struct Operator {
    /// The truth.
    pub records: Db,
    /// New ids.
    pub ids: Arc<dyn Ids>,
    /// The time.
    pub now: Timestamp,
}

/// A link that logs in once, and whom.
pub struct LinkFor {
    /// Whom it logs in.
    pub account: Account,
    /// What the link carries.
    pub secret: Secret,
}

impl Operator {
    /// Makes a link for the account of this e-mail or id; without one for the only admin of the instance.
    pub async fn login_link(&self, account: Option<&str>) -> Result<LinkFor, HubError> {
        let wanted = account.map(|text| text.trim().to_lowercase());
        let input = (self.clone(), wanted, secret(SecretKind::Link)?);
        let unit = self.records.write(input, |tx, (operator, wanted, secret)| {
            Box::pin(link_unit(tx, operator, wanted.as_deref(), secret))
        });
        unit.await
    }

    /// Makes an admin of the instance, who is also one of the first organization, and a link to log in with.
    pub async fn create_admin(&self, email: &str, name: Option<&str>) -> Result<LinkFor, HubError> {
        let email = text::email(email).map_err(|bad| HubError::field("/email", bad.to_string()))?;
        let name = name.unwrap_or(&email).to_owned();
        text::name(&name, NAME_CHARS_MAX).map_err(|bad| HubError::field("/display_name", bad.to_string()))?;
        let account = NewAccount { email, display_name: name, access_level: AccessLevel::Admin };
        let input = (self.clone(), account, secret(SecretKind::Link)?);
        let unit = self.records.write(input, |tx, (operator, account, secret)| {
            Box::pin(admin_unit(tx, operator, account, secret))
        });
        unit.await
    }

    /// Adds a key of each kind to the hub's own, which must not be running; the ids of the new ones, on record.
    pub async fn rotate_keys(&self, keys_dir: &Path) -> Result<Vec<String>, HubError> {
        let ids = HubKeys::rotate(keys_dir, &self.records, self.now).await?;
        let input = (self.clone(), ids.clone());
        let unit = self.records.write(input, |tx, (operator, ids)| {
            Box::pin(async move {
                let maker = operator.maker(tx).await?;
                let subject = Subject::new("hub_keys", ids.join(","));
                audit::record(tx, &maker.entry(Chain::Instance, "hub_keys:rotated", subject)).await
            })
        });
        unit.await?;
        Ok(ids)
    }

    async fn maker(&self, tx: &mut Tx) -> Result<Maker<'_>, HubError> {
        let system = accounts::by_email(tx, SYSTEM_EMAIL).await?;
        let system = system.ok_or(HubError::NotFound("hub here; start it once with `countersign serve`"))?;
        Ok(Maker { ids: &*self.ids, actor: system.id, service: SERVICE, now: self.now, caller: None })
    }
}

async fn link_unit(
    tx: &mut Tx,
    operator: &Operator,
    wanted: Option<&str>,
    secret: &Secret,
) -> Result<LinkFor, HubError> {
    let maker = operator.maker(tx).await?;
    let found = match wanted {
        Some(text) => named(tx, text).await?,
        None => only_admin(tx).await?,
    };
    if !found.may_log_in() {
        return Err(HubError::InvalidState {
            state: found.status.as_str().into(),
            detail: format!("{} cannot log in: only active accounts of people can", found.email),
        });
    }
    login_links::make(tx, maker, &found, found.home_org_id, secret).await?;
    Ok(LinkFor { account: found, secret: secret.clone() })
}

async fn named(tx: &mut Tx, text: &str) -> Result<Account, HubError> {
    let found = match text.parse::<Uuid>() {
        Ok(id) => accounts::get_shared(tx, Id::new(id)).await?,
        Err(_) => accounts::by_email(tx, text).await?,
    };
    found.ok_or(HubError::NotFound("account"))
}

async fn only_admin(tx: &mut Tx) -> Result<Account, HubError> {
    let admins = accounts::instance_admins(tx).await?;
    match <[Account; 1]>::try_from(admins) {
        Ok([admin]) => Ok(admin),
        Err(admins) if admins.is_empty() => Err(HubError::NotFound("active admin; make one")),
        Err(_) => Err(HubError::InvalidState {
            state: "ambiguous".into(),
            detail: "there are several admins; say whose link it shall be, by email or id".into(),
        }),
    }
}

async fn admin_unit(
    tx: &mut Tx,
    operator: &Operator,
    account: &NewAccount,
    secret: &Secret,
) -> Result<LinkFor, HubError> {
    let maker = operator.maker(tx).await?;
    if accounts::by_email(tx, &account.email).await?.is_some() {
        return Err(HubError::InvalidState {
            state: "exists".into(),
            detail: format!("there is an account {} already; make a login link for it", account.email),
        });
    }
    let organization = organizations::by_slug(tx, FIRST_ORGANIZATION).await?;
    let organization = organization.filter(|organization| organization.archived_at.is_none());
    let organization = organization.ok_or(HubError::NotFound("open organization `default`"))?;
    let account = account.made(maker.ids, maker.now);
    let seat = Seat::of(MembershipLevel::Admin);
    let entrance = Entrance { organization: &organization, seat: &seat, granted_by: maker.actor };
    enter(tx, maker, &account, &entrance).await?;
    login_links::make(tx, maker, &account, Some(organization.id), secret).await?;
    Ok(LinkFor { account, secret: secret.clone() })
}

//! Logging in with a password. Who may not, is told the same for the same work, whatever the reason.

use domain::Id;
use domain::accounts::Account;
use domain::login_sessions::{Beginning, LoginMethod, StartRefusal, starts_in};
use domain::organizations::Organization;
use domain::passwords::Password;
use records::{Tx, accounts, passwords};
use uuid::Uuid;

use super::failed_logins::{self, Failure};
use super::login_sessions::{Beginner, LoggedIn, nowhere, open_organizations};
use crate::{Hub, HubError, Origin};

/// What somebody shows to log in.
pub struct Shown {
    /// Who they say they are.
    pub email: String,
    /// What only they know.
    pub password: String,
    /// Where they want to act; at home without it.
    pub org: Option<Id<Organization>>,
}

const WRONG: HubError = HubError::Unauthenticated("email or password is wrong");

struct Unit {
    beginner: Beginner,
    known: Known,
    org: Option<Id<Organization>>,
}

/// An account and the password it was proven with.
struct Known {
    account: Account,
    password: Password,
}

/// Logs somebody in who knows the account's password.
pub async fn log_in(hub: &Hub, shown: Shown, origin: &Origin) -> Result<LoggedIn, HubError> {
    let email = shown.email.trim().to_lowercase();
    let attempt = hub.coordination.attempts.log_in(&email, origin, hub.clock.now())?;
    let (account, password) = hub.records.read(email, |tx, email| Box::pin(load(tx, email))).await?;
    let stored = password.filter(|_| account.as_ref().is_some_and(Account::may_log_in));
    let hash = stored.as_ref().map(|stored| stored.hash.as_str());
    let is_right = hub.coordination.hashing.verify(&shown.password, hash).await?;
    let (Some(account), Some(password), true) = (account.clone(), stored, is_right) else {
        if let Some(account) = account {
            failed_logins::note(hub, &Failure::of(&account, LoginMethod::Password), origin);
        }
        return Err(WRONG);
    };
    let known = Known { account, password };
    let unit = Unit { beginner: Beginner::new(hub, origin)?, known, org: shown.org };
    let logged_in = hub.records.write(unit, |tx, unit| Box::pin(begin(tx, unit))).await?;
    attempt.succeeded();
    Ok(logged_in)
}

/// Two reads, also where the first finds nobody.
async fn load(tx: &mut Tx, email: &str) -> Result<(Option<Account>, Option<Password>), HubError> {
    let account = accounts::by_email(tx, email).await?;
    let id = account.as_ref().map_or(Id::new(Uuid::nil()), |account| account.id);
    let password = passwords::get(tx, id).await?;
    Ok((account, password))
}

async fn begin(tx: &mut Tx, unit: &Unit) -> Result<LoggedIn, HubError> {
    let account =
        accounts::get_shared(tx, unit.known.account.id).await?.filter(Account::may_log_in).ok_or(WRONG)?;
    // Changed between the proof and now: what was proven is no longer the password.
    let password = passwords::get_shared(tx, account.id).await?;
    let password = password.filter(|now| now.hash == unit.known.password.hash).ok_or(WRONG)?;
    let open = open_organizations(tx, account.id).await?;
    let ids: Vec<Id<Organization>> = open.iter().map(|organization| organization.id).collect();
    let org = starts_in(unit.org, account.home_org_id, &ids).map_err(|refusal| match refusal {
        StartRefusal::NotThere => WRONG,
        StartRefusal::NoOrganization => nowhere(),
    })?;
    let organization = open.into_iter().find(|organization| organization.id == org).ok_or(WRONG)?;
    let beginning =
        Beginning { org, account: account.id, minted_by: password.set_by, method: LoginMethod::Password };
    unit.beginner.begin(tx, account, organization, beginning).await
}

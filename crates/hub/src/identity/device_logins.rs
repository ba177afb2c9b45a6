//! A program asks for a login; a person who is logged in grants it; the program comes for it.

use domain::accounts::Account;
use domain::device_logins::{
    DEVICE_LASTS, DeviceLogin, DeviceStatus, Granted, POLL_INTERVAL, Poll, UserCode,
};
use domain::login_sessions::{Beginning, LoginMethod};
use domain::permissions::Capability;
use domain::secrets::{Secret, SecretKind};
use domain::subject::Subject;
use domain::{Id, Timestamp};
use records::{Tx, accounts, device_logins, members, organizations};

use super::authenticate::confirm;
use super::login_sessions::{Beginner, LoggedIn};
use crate::ids::{random, secret};
use crate::{Caller, Hub, HubError, Origin, audit};

/// Two programs get the same code less often than a disk fails; then the second takes another.
const CODE_TRIES: usize = 3;

/// What a program is given that asks for a login.
pub struct Asked {
    /// What the program shows when it comes for its login.
    pub secret: Secret,
    /// What the person compares or types.
    pub code: UserCode,
}

/// Takes note of a program that wants a login.
pub async fn ask(hub: &Hub, origin: &Origin) -> Result<Asked, HubError> {
    let now = hub.clock.now();
    hub.coordination.attempts.device(origin, now)?;
    let secret = secret(SecretKind::Device)?;
    let mut tries = 1;
    loop {
        let code = UserCode::from_bytes(random()?);
        let device = DeviceLogin {
            id: hub.ids.id(),
            user_code: code.as_str().to_owned(),
            status: DeviceStatus::Pending,
            account_id: None,
            org_id: None,
            minted_by: None,
            ip: origin.ip.clone(),
            user_agent: origin.user_agent.clone(),
            polled_at: None,
            expires_at: now.plus(DEVICE_LASTS),
            created_at: now,
            updated_at: now,
        };
        let input = (device, secret.hash());
        let inserted =
            hub.records.write(input, |tx, (device, hash)| Box::pin(device_logins::insert(tx, device, hash)));
        match inserted.await {
            Ok(()) => return Ok(Asked { secret, code }),
            Err(records::Error::Duplicate { .. }) if tries < CODE_TRIES => tries += 1,
            Err(error) => return Err(error.into()),
        }
    }
}

fn no_such_code() -> HubError {
    HubError::NotFound("code; it may have expired, or been answered already")
}

fn only_logins(caller: &Caller) -> Result<(), HubError> {
    match caller.credential.login() {
        Some(_) => Ok(()),
        None => Err(HubError::Forbidden("an API key cannot grant logins; log in to do that".into())),
    }
}

/// The program behind a code, for the person who is to answer it. Wrong codes are counted.
pub async fn look(hub: &Hub, caller: &Caller, code: &str) -> Result<DeviceLogin, HubError> {
    only_logins(caller)?;
    let now = hub.clock.now();
    hub.coordination.attempts.code(caller.credential.account.id, now)?;
    let code: UserCode = code.parse().map_err(|_| no_such_code())?;
    let found = hub
        .records
        .read(code, |tx, code| Box::pin(device_logins::by_code(tx, code.as_str())))
        .await?
        .filter(|device| device.is_open(now))
        .ok_or_else(no_such_code)?;
    hub.coordination.attempts.code_was_right(caller.credential.account.id, now);
    Ok(found)
}

/// What a person says to a program that wants a login.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reply {
    /// It gets a login as this person.
    Allow,
    /// It gets none.
    Deny,
}

struct Answering {
    hub: Hub,
    caller: Caller,
    device: DeviceLogin,
    reply: Reply,
    now: Timestamp,
}

/// Answers a program. Only a login can: a key must not grow into one.
pub async fn answer(hub: &Hub, caller: &Caller, code: &str, reply: Reply) -> Result<(), HubError> {
    let device = look(hub, caller, code).await?;
    let now = hub.clock.now();
    let input = Answering { hub: hub.clone(), caller: caller.clone(), device, reply, now };
    hub.records.write(input, |tx, input| Box::pin(answer_unit(tx, input))).await
}

async fn answer_unit(tx: &mut Tx, input: &Answering) -> Result<(), HubError> {
    let Answering { hub, caller, device, reply, now } = input;
    let device = device_logins::by_code_locked(tx, &device.user_code).await?;
    let device = device.filter(|device| device.is_open(*now)).ok_or_else(no_such_code)?;
    confirm(tx, caller, Capability::AccountsWrite, *now).await?;
    let credential = &caller.credential;
    let action = match reply {
        Reply::Allow => {
            let granted = Granted {
                account: credential.account.id,
                org: credential.organization.id,
                minted_by: credential.means.minted_by(),
            };
            device_logins::grant(tx, &device, granted, *now).await?;
            "device_login:granted"
        }
        Reply::Deny => {
            device_logins::deny(tx, &device, credential.account.id, *now).await?;
            "device_login:denied"
        }
    };
    let mut entry = caller.entry(hub, action, Subject::new("device_login", device.id), *now);
    entry.details.insert("program_ip".into(), device.ip.clone().into());
    entry.details.insert("program_user_agent".into(), device.user_agent.clone().into());
    audit::record(tx, &entry).await
}

/// What the program is told when it comes for its login.
enum Told {
    LoggedIn(Box<LoggedIn>),
    Not(Poll),
}

/// Gives the program its login, once, if a person has granted it.
pub async fn exchange(hub: &Hub, token: &str, origin: &Origin) -> Result<LoggedIn, HubError> {
    let unknown = || HubError::NotFound("device code");
    let secret = Secret::parse_as(SecretKind::Device, token.trim()).map_err(|_| unknown())?;
    let input = (Beginner::new(hub, origin)?, secret);
    let told = hub.records.write(input, |tx, (new, secret)| Box::pin(exchange_unit(tx, new, secret))).await?;
    let retry_after_seconds = u32::try_from(POLL_INTERVAL.as_secs()).unwrap_or(u32::MAX);
    Err(match told {
        Told::LoggedIn(logged_in) => return Ok(*logged_in),
        Told::Not(Poll::Pending) => HubError::AuthorizationPending,
        Told::Not(Poll::TooSoon) => {
            HubError::TooMany { what: "the program asks more often than agreed", retry_after_seconds }
        }
        Told::Not(Poll::Gone) => {
            HubError::Expired("this device code has expired, or was exchanged already; begin again")
        }
        Told::Not(Poll::Denied | Poll::Granted(_)) => HubError::AccessDenied("the login was denied"),
    })
}

/// What is not an error here is noted, and an error would undo the note.
async fn exchange_unit(tx: &mut Tx, new: &Beginner, secret: &Secret) -> Result<Told, HubError> {
    let device = device_logins::by_hash_locked(tx, &secret.hash()).await?;
    let device = device.ok_or(HubError::NotFound("device code"))?;
    let poll = device.poll(new.now);
    match poll {
        Poll::Granted(granted) => match acting(tx, granted).await? {
            Some((account, organization)) => {
                device_logins::mark_used(tx, &device, new.now).await?;
                let beginning = Beginning {
                    org: organization.id,
                    account: account.id,
                    minted_by: granted.minted_by,
                    method: LoginMethod::Device,
                };
                let logged_in = new.begin(tx, account, organization, beginning).await?;
                Ok(Told::LoggedIn(Box::new(logged_in)))
            }
            None => Ok(Told::Not(Poll::Denied)),
        },
        Poll::Pending => {
            device_logins::polled(tx, &device, new.now).await?;
            Ok(Told::Not(poll))
        }
        Poll::TooSoon | Poll::Denied | Poll::Gone => Ok(Told::Not(poll)),
    }
}

type Acting = (domain::accounts::Account, domain::organizations::Organization);

/// Who granted it, if they may still act there.
async fn acting(tx: &mut Tx, granted: Granted) -> Result<Option<Acting>, HubError> {
    let account: Id<_> = granted.account;
    let account = accounts::get_shared(tx, account).await?.filter(Account::may_log_in);
    let organization = organizations::get_shared(tx, granted.org).await?;
    let organization = organization.filter(|organization| organization.archived_at.is_none());
    let is_member = members::get_shared(tx, granted.org, granted.account).await?.is_some();
    Ok(account.zip(organization).filter(|_| is_member))
}

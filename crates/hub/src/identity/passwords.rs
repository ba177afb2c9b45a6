//! Passwords: hashed few at a time, set by their owner.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use argon2::{Algorithm, Argon2, Params, PasswordHasher, PasswordVerifier, Version};
use domain::accounts::Account;
use domain::audit::AuditEntry;
use domain::login_sessions::{LoginMethod, LoginSession};
use domain::passwords::{check, check_form};
use domain::permissions::Capability;
use domain::subject::Subject;
use domain::text::BadText;
use domain::{Id, Timestamp};
use records::{Tx, login_sessions, passwords};
use tokio::sync::Semaphore;

use super::authenticate::confirm;
use super::login_sessions::end_others;
use crate::{Caller, Hub, HubError, audit, ids};

/// What OWASP asks of argon2id: 19 MiB, two passes, one lane.
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
const LANES: u32 = 1;
/// Hashes at once: each takes a core and 19 MiB.
const AT_ONCE: usize = 2;
/// Hashes that wait for their turn; one more is told to come back.
const WAITING_MAX: usize = 64;
const SALT_BYTES: usize = 16;
/// What is checked where there is no password: the same work, and no text has this hash.
const NOBODYS: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// Where passwords are hashed: few at a time, with a short line.
pub struct Hashing {
    turns: Arc<Semaphore>,
    places: Arc<Semaphore>,
    hashes: Arc<AtomicU64>,
}

impl Default for Hashing {
    fn default() -> Self {
        Self {
            turns: Arc::new(Semaphore::new(AT_ONCE)),
            places: Arc::new(Semaphore::new(AT_ONCE + WAITING_MAX)),
            hashes: Arc::default(),
        }
    }
}

impl Hashing {
    /// How many hashes were worked out since the start.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.hashes.load(Ordering::Relaxed)
    }

    /// Does the work on a thread of its own when its turn comes.
    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(Argon2<'static>) -> T + Send + 'static,
    ) -> Result<T, HubError> {
        let overloaded = || HubError::Records(records::Error::Overloaded);
        let place = Arc::clone(&self.places).try_acquire_owned().map_err(|_| overloaded())?;
        let turn = Arc::clone(&self.turns).acquire_owned().await.map_err(|_| overloaded())?;
        let params = Params::new(MEMORY_KIB, PASSES, LANES, None);
        let argon2 = params.map(|params| Argon2::new(Algorithm::Argon2id, Version::V0x13, params));
        let argon2 = argon2.map_err(|_| records::Error::Misbehaved("the parameters of argon2 are wrong"))?;
        let hashes = Arc::clone(&self.hashes);
        let done = tokio::task::spawn_blocking(move || {
            // Held here and not by the request: who hangs up does not make room for one more.
            let _held = (place, turn);
            hashes.fetch_add(1, Ordering::Relaxed);
            work(argon2)
        });
        done.await.map_err(|_| records::Error::Misbehaved("hashing a password panicked").into())
    }

    /// Whether the text is the password. Costs the same where there is none.
    pub(super) async fn verify(&self, text: &str, stored: Option<&str>) -> Result<bool, HubError> {
        let (text, hash) = (text.to_owned(), stored.unwrap_or(NOBODYS).to_owned());
        let matches =
            self.work(move |argon2| argon2.verify_password(text.as_bytes(), hash.as_str()).is_ok()).await?;
        Ok(matches && stored.is_some())
    }

    async fn hash(&self, text: &str) -> Result<String, HubError> {
        let (text, salt) = (text.to_owned(), ids::random::<SALT_BYTES>()?);
        let hashed = self.work(move |argon2| argon2.hash_password_with_salt(text.as_bytes(), &salt)).await?;
        let hashed = hashed.map_err(|_| records::Error::Misbehaved("argon2 refused to hash"))?;
        Ok(hashed.to_string())
    }
}

/// The hash of a password that somebody wants an account to have; its form is checked, as the field `/password`.
pub async fn hash(hub: &Hub, text: &str) -> Result<String, HubError> {
    check_form(text).map_err(|bad| HubError::field("/password", bad.to_string()))?;
    hub.coordination.hashing.hash(text).await
}

/// Gives a new account its first password, chosen by `set_by`. An account that has one keeps it, and the unit fails.
pub async fn set_first(
    tx: &mut Tx,
    account: Id<Account>,
    hash: &str,
    set_by: Id<Account>,
    now: Timestamp,
) -> Result<(), HubError> {
    Ok(passwords::insert(tx, account, hash, set_by, now).await?)
}

/// A password that its owner wants to have.
pub struct NewPassword {
    /// The one until now, where one is needed.
    pub current: Option<String>,
    /// The one from now on.
    pub new: String,
}

/// Why the caller may set the password.
enum Proof {
    /// There is none yet.
    First,
    /// The caller knows the one with this hash.
    Knows(String),
    /// The caller came by a one-time link, which is for those who have forgotten theirs.
    Link,
}

struct Change {
    caller: Caller,
    proof: Proof,
    hash: String,
    entry: AuditEntry,
    now: Timestamp,
}

/// Sets the caller's own password and ends all other logins of the account.
pub async fn set(hub: &Hub, caller: &Caller, wanted: NewPassword) -> Result<(), HubError> {
    let credential = &caller.credential;
    if credential.means.scopes().is_some() {
        return Err(HubError::Forbidden(
            "a key with scopes cannot set a password; log in, or use one without".into(),
        ));
    }
    if !credential.account.access_level.is_person() {
        return Err(HubError::Forbidden(
            "only people have passwords; services and agents use API keys".into(),
        ));
    }
    let wrong = |bad: BadText| HubError::field("/new_password", bad.to_string());
    check(&wanted.new, &credential.account.email).map_err(wrong)?;
    let proof = proof(hub, caller, wanted.current.as_deref()).await?;
    let hash = hub.coordination.hashing.hash(&wanted.new).await?;
    let now = hub.clock.now();
    let entry = caller.entry(hub, "password:set", Subject::new("account", credential.account.id), now);
    let input = Change { caller: caller.clone(), proof, hash, entry, now };
    hub.records.write(input, |tx, change| Box::pin(set_unit(tx, change))).await
}

/// Whether the caller came by a one-time link, which is for those who have forgotten their password.
#[must_use]
pub fn needs_no_proof(caller: &Caller) -> bool {
    caller.credential.login().is_some_and(|login| login.method == LoginMethod::Link)
}

async fn proof(hub: &Hub, caller: &Caller, current: Option<&str>) -> Result<Proof, HubError> {
    let account = &caller.credential.account;
    if needs_no_proof(caller) {
        return Ok(Proof::Link);
    }
    let stored = hub.records.read(account.id, |tx, id| Box::pin(passwords::get(tx, *id))).await?;
    let Some(stored) = stored else { return Ok(Proof::First) };
    let Some(current) = current else {
        return Err(HubError::field("/current_password", "is required, because you have a password"));
    };
    let attempt = hub.coordination.attempts.prove(&account.email, hub.clock.now())?;
    if !hub.coordination.hashing.verify(current, Some(&stored.hash)).await? {
        return Err(HubError::field("/current_password", "is not your password"));
    }
    attempt.succeeded();
    Ok(Proof::Knows(stored.hash))
}

async fn set_unit(tx: &mut Tx, change: &Change) -> Result<(), HubError> {
    let credential = &change.caller.credential;
    let (account, login) = (credential.account.id, credential.login().map(|login: &LoginSession| login.id));
    // All rows that will change, before the caller is confirmed, whose login is one of them.
    login_sessions::open_locked(tx, account).await?;
    let stored = passwords::get_locked(tx, account).await?;
    confirm(tx, &change.caller, Capability::AccountsWrite, change.now).await?;
    let holds = match (&change.proof, &stored) {
        (Proof::Link, _) | (Proof::First, None) => true,
        (Proof::Knows(hash), Some(stored)) => *hash == stored.hash,
        (Proof::First, Some(_)) | (Proof::Knows(_), None) => false,
    };
    if !holds {
        return Err(HubError::InvalidState {
            state: "changed".into(),
            detail: "the password was changed meanwhile; try again with that one".into(),
        });
    }
    match stored {
        // Fails where another unit was first, instead of replacing what nobody has proven.
        None => passwords::insert(tx, account, &change.hash, account, change.now).await?,
        Some(_) => passwords::set(tx, account, &change.hash, account, change.now).await?,
    }
    let ended = end_others(tx, account, login, change.now).await?;
    let mut entry = change.entry.clone();
    entry.details.insert("logins_ended".into(), ended.into());
    audit::record(tx, &entry).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_password_is_verified_and_nobodys_costs_the_same_work() {
        let hashing = Hashing::default();
        let hash = hashing.hash("correct horse battery").await.unwrap();
        let (parameters, _) = NOBODYS.split_at(NOBODYS.find("$AAAA").unwrap());
        assert!(hash.starts_with(parameters), "{hash}");
        assert_ne!(hash, hashing.hash("correct horse battery").await.unwrap(), "salted");
        assert!(hashing.verify("correct horse battery", Some(&hash)).await.unwrap());
        assert!(!hashing.verify("correct horse batterz", Some(&hash)).await.unwrap());
        let before = hashing.count();
        assert!(!hashing.verify("correct horse battery", None).await.unwrap());
        assert_eq!(hashing.count(), before + 1);
        assert!(argon2::password_hash::phc::PasswordHash::new(NOBODYS).is_ok(), "or it would cost nothing");
    }

    #[tokio::test]
    async fn the_line_is_short() {
        let hashing = Hashing::default();
        let turns = Arc::clone(&hashing.turns).acquire_many_owned(AT_ONCE as u32).await.unwrap();
        let places = WAITING_MAX as u32 + AT_ONCE as u32;
        let places = Arc::clone(&hashing.places).acquire_many_owned(places).await.unwrap();
        let refused = hashing.verify("x", None).await.unwrap_err();
        assert!(matches!(refused, HubError::Records(records::Error::Overloaded)), "{refused}");
        drop((turns, places));
        hashing.verify("x", None).await.unwrap();
        assert_eq!(hashing.count(), 1);
    }
}

//! Login sessions: hashed, ended, never deleted before they have expired.

use domain::accounts::Account;
use domain::login_sessions::{LoginMethod, LoginSession};
use domain::organizations::Organization;
use domain::{Id, Timestamp};

use crate::value::Value;
use crate::{Db, Result, Tx, args, row, statement, text_column};

text_column!(LoginMethod);
row!(LoginSession {
    id,
    org_id,
    account_id,
    minted_by,
    method,
    ip,
    user_agent,
    last_active_at,
    expires_at,
    ended_at,
    created_at,
    updated_at
});

statement!(
    INSERT = "INSERT INTO login_sessions (id, org_id, account_id, minted_by, token_hash, method, ip, user_agent, \
              last_active_at, expires_at, created_at, updated_at) \
              VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"
);
statement!(
    BY_HASH: LoginSession = "SELECT id, org_id, account_id, minted_by, method, ip, user_agent, last_active_at, \
                             expires_at, ended_at, created_at, updated_at FROM login_sessions WHERE token_hash = $1"
);
statement!(
    GET_SHARED: LoginSession = "SELECT id, org_id, account_id, minted_by, method, ip, user_agent, last_active_at, \
                                expires_at, ended_at, created_at, updated_at FROM login_sessions \
                                WHERE account_id = $1 AND id = $2", lock "FOR SHARE"
);
statement!(
    GET_LOCKED: LoginSession = "SELECT id, org_id, account_id, minted_by, method, ip, user_agent, last_active_at, \
                                expires_at, ended_at, created_at, updated_at FROM login_sessions \
                                WHERE account_id = $1 AND id = $2", lock "FOR UPDATE"
);
statement!(
    HOLD_ALL: LoginSession = "SELECT id, org_id, account_id, minted_by, method, ip, user_agent, last_active_at, \
                              expires_at, ended_at, created_at, updated_at FROM login_sessions \
                              WHERE account_id = $1 AND ended_at IS NULL ORDER BY id", lock "FOR UPDATE"
);
statement!(
    LIST: LoginSession = "SELECT id, org_id, account_id, minted_by, method, ip, user_agent, last_active_at, \
                          expires_at, ended_at, created_at, updated_at FROM login_sessions \
                          WHERE account_id = $1 AND ended_at IS NULL AND expires_at > $2"
                         and ["(created_at, id) < (?, ?)"]
                         then "ORDER BY created_at DESC, id DESC LIMIT ?"
);
statement!(
    SWITCH = "UPDATE login_sessions SET org_id = $1, updated_at = $2 WHERE account_id = $3 AND id = $4 \
              AND ended_at IS NULL"
);
statement!(
    END = "UPDATE login_sessions SET ended_at = $1, updated_at = $1 WHERE account_id = $2 AND id = $3 \
           AND ended_at IS NULL"
);
statement!(
    END_OTHERS = "UPDATE login_sessions SET ended_at = $1, updated_at = $1 WHERE account_id = $2 AND id <> $3 \
                  AND ended_at IS NULL"
);
statement!(
    END_ALL =
        "UPDATE login_sessions SET ended_at = $1, updated_at = $1 WHERE account_id = $2 AND ended_at IS NULL"
);
statement!(
    END_IN = "UPDATE login_sessions SET ended_at = $1, updated_at = $1 WHERE org_id = $2 AND account_id = $3 \
              AND ended_at IS NULL"
);
statement!(
    TOUCH =
        "UPDATE login_sessions SET last_active_at = $1, updated_at = $1 WHERE account_id = $2 AND id = $3"
);
statement!(FORGET = "DELETE FROM login_sessions WHERE expires_at < $1");

/// A place in the list of logins, newest first.
pub type After = (Timestamp, Id<LoginSession>);

/// Adds a login under the hash of its token.
pub async fn insert(tx: &mut Tx, login: &LoginSession, hash: &[u8; 32]) -> Result<()> {
    tx.push(
        &INSERT,
        args![
            login.id,
            login.org_id,
            login.account_id,
            login.minted_by,
            hash,
            login.method.as_str(),
            login.ip.as_deref(),
            login.user_agent.as_deref(),
            login.last_active_at,
            login.expires_at,
            login.created_at,
            login.updated_at,
        ],
    )
    .await
}

/// The login a caller presents. Without an organization: the login is what tells it.
pub async fn by_hash(tx: &mut Tx, hash: &[u8; 32]) -> Result<Option<LoginSession>> {
    tx.opt(&BY_HASH, args![hash]).await
}

/// The account's login, which nobody changes until this unit ends.
pub async fn get_shared(
    tx: &mut Tx,
    account: Id<Account>,
    id: Id<LoginSession>,
) -> Result<Option<LoginSession>> {
    tx.opt(&GET_SHARED, args![account, id]).await
}

/// The account's login, for a unit that is about to change it.
pub async fn get_locked(
    tx: &mut Tx,
    account: Id<Account>,
    id: Id<LoginSession>,
) -> Result<Option<LoginSession>> {
    tx.opt(&GET_LOCKED, args![account, id]).await
}

/// Holds the logins of an account that are still good, for a unit that will end them: before anything else, as those do
/// who act with one of them.
pub async fn hold_all(tx: &mut Tx, account: Id<Account>) -> Result<()> {
    tx.all(&HOLD_ALL, args![account]).await.map(drop)
}

/// The account's logins that are still good, newest first.
pub async fn list(
    db: &Db,
    account: Id<Account>,
    now: Timestamp,
    after: Option<After>,
    limit: i64,
) -> Result<Vec<LoginSession>> {
    let mut search = LIST.with(args![account, now]);
    if let Some((created_at, id)) = after {
        LIST.and(&mut search, "(created_at, id) < (?, ?)", args![created_at, id]);
    }
    db.found(LIST.finish(search, &[Value::from(limit)])).await
}

/// Moves a login to another organization.
pub async fn switch(tx: &mut Tx, login: &LoginSession, org: Id<Organization>, now: Timestamp) -> Result<()> {
    tx.wakes.identity = true;
    tx.change_one(&SWITCH, args![org, now, login.account_id, login.id], "a login").await
}

/// Ends a login. False if it had already ended.
pub async fn end(tx: &mut Tx, account: Id<Account>, id: Id<LoginSession>, now: Timestamp) -> Result<bool> {
    tx.wakes.identity = true;
    Ok(tx.exec(&END, args![now, account, id]).await? == 1)
}

/// Ends all logins of the account, or all but one; how many there were.
pub async fn end_all(
    tx: &mut Tx,
    account: Id<Account>,
    except: Option<Id<LoginSession>>,
    now: Timestamp,
) -> Result<u64> {
    tx.wakes.identity = true;
    match except {
        Some(kept) => tx.exec(&END_OTHERS, args![now, account, kept]).await,
        None => tx.exec(&END_ALL, args![now, account]).await,
    }
}

/// Ends the account's logins that are in this organization; how many there were.
pub async fn end_in(tx: &mut Tx, org: Id<Organization>, account: Id<Account>, now: Timestamp) -> Result<u64> {
    tx.wakes.identity = true;
    tx.exec(&END_IN, args![now, org, account]).await
}

/// Notes that the login was used.
pub async fn touch(tx: &mut Tx, account: Id<Account>, id: Id<LoginSession>, now: Timestamp) -> Result<()> {
    tx.exec(&TOUCH, args![now, account, id]).await.map(drop)
}

/// Forgets logins that expired before this time; the audit log remembers them.
pub async fn forget(tx: &mut Tx, before: Timestamp) -> Result<u64> {
    tx.exec(&FORGET, args![before]).await
}

//! What people do not want to be told.

use domain::Id;
use domain::accounts::{Account, AccountStatus};
use domain::notifications::{NotificationKind, Preferences};
use domain::organizations::Organization;
use serde_json::{Value as Json, json};

use crate::row::{Cell, Col};
use crate::{Result, Tx, args, row, statement, text_column};

text_column!(NotificationKind);

impl Col for Vec<NotificationKind> {
    fn from_cell(cell: Cell<'_>) -> std::result::Result<Self, String> {
        let words: Vec<String> = Col::from_cell(cell)?;
        words.iter().map(|word| word.parse().map_err(|_| format!("unknown value {word:?}"))).collect()
    }
}

row!(Preferences { org_id, account_id, muted, version, updated_at });

/// What decides whether a member is told something.
#[derive(Clone, Debug)]
pub struct Listener {
    /// The member.
    pub account_id: Id<Account>,
    /// Whether it may act.
    pub status: AccountStatus,
    /// What it does not want to be told.
    pub muted: Option<Vec<NotificationKind>>,
}
row!(Listener { account_id, status, muted });

statement!(
    GET: Preferences = "SELECT org_id, account_id, muted, version, updated_at FROM notification_preferences \
                        WHERE org_id = $1 AND account_id = $2"
);
statement!(
    GET_LOCKED: Preferences = "SELECT org_id, account_id, muted, version, updated_at FROM notification_preferences \
                               WHERE org_id = $1 AND account_id = $2", lock "FOR UPDATE"
);
statement!(
    INSERT = "INSERT INTO notification_preferences (org_id, account_id, muted, version, created_at, updated_at) \
              VALUES ($1, $2, $3, $4, $5, $5)"
);
statement!(
    UPDATE = "UPDATE notification_preferences SET muted = $1, version = $2, updated_at = $3 WHERE org_id = $4 AND \
              account_id = $5 AND version = $2 - 1"
);
statement!(
    LISTENERS: Listener =
        lite "SELECT accounts.id AS account_id, accounts.status, notification_preferences.muted FROM json_each($1) \
              named CROSS JOIN organization_members ON organization_members.account_id = named.value \
              JOIN accounts ON accounts.id = organization_members.account_id LEFT JOIN notification_preferences ON \
              notification_preferences.org_id = organization_members.org_id AND \
              notification_preferences.account_id = accounts.id WHERE organization_members.org_id = $2",
        pg "SELECT accounts.id AS account_id, accounts.status, notification_preferences.muted FROM \
            jsonb_array_elements_text($1) named JOIN organization_members ON \
            organization_members.account_id = CAST(named.value AS UUID) \
            JOIN accounts ON accounts.id = organization_members.account_id LEFT JOIN notification_preferences ON \
            notification_preferences.org_id = organization_members.org_id AND \
            notification_preferences.account_id = accounts.id WHERE organization_members.org_id = $2"
);

/// What somebody said; none: nothing.
pub async fn get(tx: &mut Tx, org: Id<Organization>, account: Id<Account>) -> Result<Option<Preferences>> {
    tx.opt(&GET, args![org, account]).await
}

/// The same, which nobody else changes until the unit ends.
pub async fn get_locked(
    tx: &mut Tx,
    org: Id<Organization>,
    account: Id<Account>,
) -> Result<Option<Preferences>> {
    tx.opt(&GET_LOCKED, args![org, account]).await
}

/// Writes what somebody says for the first time, or the next version of it.
pub async fn put(tx: &mut Tx, preferences: &Preferences) -> Result<()> {
    let Preferences { org_id, account_id, version, updated_at, .. } = *preferences;
    let muted = json!(preferences.muted.iter().map(|kind| kind.as_str()).collect::<Vec<_>>());
    if version == 1 {
        return tx.push(&INSERT, args![org_id, account_id, &muted, version, updated_at]).await;
    }
    let values = args![&muted, version, updated_at, org_id, account_id];
    tx.change_one(&UPDATE, values, "the preferences of an account").await
}

/// Those of the accounts that are members, with what decides whether they are told something.
pub async fn listeners(
    tx: &mut Tx,
    org: Id<Organization>,
    accounts: impl IntoIterator<Item = Id<Account>>,
) -> Result<Vec<Listener>> {
    let named = Json::from(accounts.into_iter().map(|id| id.to_string()).collect::<Vec<_>>());
    tx.all(&LISTENERS, args![&named, org]).await
}

//! Invitations of accounts that are at home elsewhere.

use domain::accounts::Account;
use domain::invitations::{Invitation, InvitationStatus};
use domain::organizations::Organization;
use domain::{Id, Timestamp};

use crate::value::Value;
use crate::{Db, Result, Tx, args, row, statement, text_column};

text_column!(InvitationStatus);
row!(Invitation {
    id,
    org_id,
    account_id,
    invited_by,
    membership_level,
    roles,
    manager_id,
    status,
    expires_at,
    created_at,
    updated_at
});

statement!(
    INSERT = "INSERT INTO invitations (id, org_id, account_id, invited_by, membership_level, roles, manager_id, \
              status, expires_at, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
);
statement!(
    OPEN: Invitation = "SELECT id, org_id, account_id, invited_by, membership_level, roles, manager_id, status, \
                        expires_at, created_at, updated_at FROM invitations \
                        WHERE org_id = $1 AND account_id = $2 AND status = 'open'", lock "FOR UPDATE"
);
statement!(
    GET: Invitation = "SELECT id, org_id, account_id, invited_by, membership_level, roles, manager_id, status, \
                       expires_at, created_at, updated_at FROM invitations \
                       WHERE id = $1 AND (org_id = $2 OR account_id = $3)"
);
statement!(
    GET_LOCKED: Invitation = "SELECT id, org_id, account_id, invited_by, membership_level, roles, manager_id, \
                              status, expires_at, created_at, updated_at FROM invitations \
                              WHERE id = $1 AND (org_id = $2 OR account_id = $3)", lock "FOR UPDATE"
);
statement!(
    SENT: Invitation = "SELECT id, org_id, account_id, invited_by, membership_level, roles, manager_id, status, \
                        expires_at, created_at, updated_at FROM invitations WHERE org_id = $1"
                       and ["(created_at, id) < (?, ?)"]
                       then "ORDER BY created_at DESC, id DESC LIMIT ?"
);
// Over all organizations: who wants somebody is theirs to know.
statement!(
    RECEIVED: Invitation = "SELECT id, org_id, account_id, invited_by, membership_level, roles, manager_id, status, \
                            expires_at, created_at, updated_at FROM invitations WHERE account_id = $1"
                           and ["(created_at, id) < (?, ?)"]
                           then "ORDER BY created_at DESC, id DESC LIMIT ?"
);
statement!(
    UPDATE = "UPDATE invitations SET invited_by = $1, membership_level = $2, roles = $3, manager_id = $4, \
              status = $5, expires_at = $6, updated_at = $7 WHERE org_id = $8 AND id = $9"
);

/// A place in a list of invitations, newest first.
pub type After = (Timestamp, Id<Invitation>);

/// Who looks: an organization at what it sent, or a person at what they received.
#[derive(Clone, Copy)]
pub enum Side {
    /// The organization.
    Sent(Id<Organization>),
    /// The person.
    Received(Id<Account>),
}

/// Adds an invitation.
pub async fn insert(tx: &mut Tx, invitation: &Invitation) -> Result<()> {
    let roles = serde_json::json!(invitation.roles);
    tx.push(
        &INSERT,
        args![
            invitation.id,
            invitation.org_id,
            invitation.account_id,
            invitation.invited_by,
            invitation.membership_level.as_str(),
            &roles,
            invitation.manager_id,
            invitation.status.as_str(),
            invitation.expires_at,
            invitation.created_at,
            invitation.updated_at,
        ],
    )
    .await
}

/// The open invitation of this account to this organization.
pub async fn open(tx: &mut Tx, org: Id<Organization>, account: Id<Account>) -> Result<Option<Invitation>> {
    tx.opt(&OPEN, args![org, account]).await
}

/// The invitation, if it is of this organization or for this account.
pub async fn get(
    tx: &mut Tx,
    id: Id<Invitation>,
    org: Id<Organization>,
    account: Id<Account>,
) -> Result<Option<Invitation>> {
    tx.opt(&GET, args![id, org, account]).await
}

/// The same, for a unit that is about to change it.
pub async fn get_locked(
    tx: &mut Tx,
    id: Id<Invitation>,
    org: Id<Organization>,
    account: Id<Account>,
) -> Result<Option<Invitation>> {
    tx.opt(&GET_LOCKED, args![id, org, account]).await
}

/// Invitations, newest first.
pub async fn list(db: &Db, side: Side, after: Option<After>, limit: i64) -> Result<Vec<Invitation>> {
    let (statement, owner) = match side {
        Side::Sent(org) => (&SENT, org.raw()),
        Side::Received(account) => (&RECEIVED, account.raw()),
    };
    let mut search = statement.with(args![owner]);
    if let Some((created_at, id)) = after {
        statement.and(&mut search, "(created_at, id) < (?, ?)", args![created_at, id]);
    }
    db.found(statement.finish(search, &[Value::from(limit)])).await
}

/// Changes what is offered, until when, and what became of it.
pub async fn update(tx: &mut Tx, invitation: &Invitation) -> Result<()> {
    let roles = serde_json::json!(invitation.roles);
    let values = args![
        invitation.invited_by,
        invitation.membership_level.as_str(),
        &roles,
        invitation.manager_id,
        invitation.status.as_str(),
        invitation.expires_at,
        invitation.updated_at,
        invitation.org_id,
        invitation.id,
    ];
    tx.change_one(&UPDATE, values, "an invitation").await
}

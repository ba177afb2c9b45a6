//! Who could be asked, or is, and what they are to the organization.

use domain::Id;
use domain::accounts::{AccessLevel, Account, AccountStatus};
use domain::organizations::{MembershipLevel, Organization};
use domain::reviews::Review;
use domain::roles::RoleGrant;
use serde_json::Value as Json;

use crate::{Result, Tx, args, row, statement};

/// What somebody is to the organization.
#[derive(Clone, Debug)]
pub struct Standing {
    /// The account.
    pub account_id: Id<Account>,
    /// To the instance.
    pub access_level: AccessLevel,
    /// Whether it may act.
    pub status: AccountStatus,
    /// To the organization; none if it has left.
    pub membership_level: Option<MembershipLevel>,
}
row!(Standing { account_id, access_level, status, membership_level });

statement!(
    HOLDERS: Standing = "SELECT accounts.id AS account_id, accounts.access_level, accounts.status, \
                         organization_members.membership_level FROM role_grants \
                         JOIN organization_members ON organization_members.org_id = role_grants.org_id AND \
                         organization_members.account_id = role_grants.account_id \
                         JOIN accounts ON accounts.id = role_grants.account_id \
                         WHERE role_grants.org_id = $1 AND role_grants.role = $2 ORDER BY role_grants.account_id LIMIT $3"
);
statement!(
    GRANTS: RoleGrant = "SELECT id, account_id, role, granted_by, created_at FROM role_grants \
                         WHERE org_id = $1 AND role = $2 ORDER BY account_id LIMIT $3"
);
statement!(
    ADMINS: Standing = "SELECT accounts.id AS account_id, accounts.access_level, accounts.status, \
                        organization_members.membership_level FROM organization_members \
                        JOIN accounts ON accounts.id = organization_members.account_id \
                        WHERE organization_members.org_id = $1 AND \
                        organization_members.membership_level IN ('owner', 'admin') \
                        ORDER BY organization_members.account_id LIMIT $2"
);
statement!(
    ONE: Standing = "SELECT accounts.id AS account_id, accounts.access_level, accounts.status, \
                     organization_members.membership_level FROM organization_members \
                     JOIN accounts ON accounts.id = organization_members.account_id \
                     WHERE organization_members.org_id = $1 AND organization_members.account_id = $2"
);
statement!(
    ASKED: Standing = "SELECT accounts.id AS account_id, accounts.access_level, accounts.status, \
                       organization_members.membership_level FROM approvals \
                       JOIN accounts ON accounts.id = approvals.reviewer_id \
                       LEFT JOIN organization_members ON organization_members.org_id = approvals.org_id AND \
                       organization_members.account_id = accounts.id \
                       WHERE NULLIF(approvals.org_id, NULL) = $1 AND approvals.review_id = $2"
);
statement!(
    ASKED_ROLES: RoleGrant = "SELECT role_grants.id, role_grants.account_id, role_grants.role, \
                              role_grants.granted_by, role_grants.created_at FROM approvals JOIN role_grants ON \
                              role_grants.org_id = approvals.org_id AND \
                              role_grants.account_id = approvals.reviewer_id \
                              WHERE NULLIF(approvals.org_id, NULL) = $1 AND approvals.review_id = $2"
);
statement!(
    NAMED: Standing =
        lite "SELECT accounts.id AS account_id, accounts.access_level, accounts.status, \
              organization_members.membership_level FROM organization_members \
              JOIN accounts ON accounts.id = organization_members.account_id \
              WHERE organization_members.org_id = $1 AND \
              organization_members.account_id IN (SELECT value FROM json_each($2))",
        pg "SELECT accounts.id AS account_id, accounts.access_level, accounts.status, \
            organization_members.membership_level FROM organization_members \
            JOIN accounts ON accounts.id = organization_members.account_id \
            WHERE organization_members.org_id = $1 AND \
            organization_members.account_id IN (SELECT CAST(value AS UUID) FROM jsonb_array_elements_text($2))"
);
statement!(
    NAMED_ROLES: RoleGrant =
        lite "SELECT id, account_id, role, granted_by, created_at FROM role_grants WHERE org_id = $1 AND \
              account_id IN (SELECT value FROM json_each($2))",
        pg "SELECT id, account_id, role, granted_by, created_at FROM role_grants WHERE org_id = $1 AND \
            account_id IN (SELECT CAST(value AS UUID) FROM jsonb_array_elements_text($2))"
);

statement!(
    STANDING: Standing =
        lite "SELECT accounts.id AS account_id, accounts.access_level, accounts.status, \
              organization_members.membership_level FROM accounts \
              LEFT JOIN organization_members ON organization_members.org_id = $1 AND \
              organization_members.account_id = accounts.id WHERE accounts.id IN (SELECT value FROM json_each($2)) AND \
              EXISTS (SELECT 1 FROM approvals WHERE approvals.org_id = $1 AND approvals.reviewer_id = accounts.id)",
        pg "SELECT accounts.id AS account_id, accounts.access_level, accounts.status, \
            organization_members.membership_level FROM accounts \
            LEFT JOIN organization_members ON organization_members.org_id = $1 AND \
            organization_members.account_id = accounts.id \
            WHERE accounts.id IN (SELECT CAST(value AS UUID) FROM jsonb_array_elements_text($2)) AND \
            EXISTS (SELECT 1 FROM approvals WHERE approvals.org_id = $1 AND approvals.reviewer_id = accounts.id)"
);

/// Whoever holds the role, by id, with who gave it.
pub async fn holders(
    tx: &mut Tx,
    org: Id<Organization>,
    role: &str,
    limit: i64,
) -> Result<(Vec<Standing>, Vec<RoleGrant>)> {
    let standings = tx.all(&HOLDERS, args![org, role, limit]).await?;
    Ok((standings, tx.all(&GRANTS, args![org, role, limit]).await?))
}

/// The admins of the organization, by id.
pub async fn admins(tx: &mut Tx, org: Id<Organization>, limit: i64) -> Result<Vec<Standing>> {
    tx.all(&ADMINS, args![org, limit]).await
}

/// One member.
pub async fn one(tx: &mut Tx, org: Id<Organization>, account: Id<Account>) -> Result<Option<Standing>> {
    tx.opt(&ONE, args![org, account]).await
}

/// Those of these accounts that are members, in no order.
pub async fn named(
    tx: &mut Tx,
    org: Id<Organization>,
    accounts: impl IntoIterator<Item = Id<Account>>,
) -> Result<Vec<Standing>> {
    tx.all(&NAMED, args![org, &list(accounts)]).await
}

/// The same with their roles.
pub async fn several(
    tx: &mut Tx,
    org: Id<Organization>,
    accounts: impl IntoIterator<Item = Id<Account>>,
) -> Result<(Vec<Standing>, Vec<RoleGrant>)> {
    let accounts = list(accounts);
    let standings = tx.all(&NAMED, args![org, &accounts]).await?;
    Ok((standings, tx.all(&NAMED_ROLES, args![org, &accounts]).await?))
}

/// What each of these accounts, which were asked something here, is to the organization, whether or not it has left, with
/// their roles.
pub async fn standing(
    tx: &mut Tx,
    org: Id<Organization>,
    accounts: impl IntoIterator<Item = Id<Account>>,
) -> Result<(Vec<Standing>, Vec<RoleGrant>)> {
    let accounts = list(accounts);
    let standings = tx.all(&STANDING, args![org, &accounts]).await?;
    Ok((standings, tx.all(&NAMED_ROLES, args![org, &accounts]).await?))
}

fn list(accounts: impl IntoIterator<Item = Id<Account>>) -> Json {
    accounts.into_iter().map(|account| account.to_string()).collect()
}

/// Everybody who is asked in a review, with their roles.
pub async fn asked(
    tx: &mut Tx,
    org: Id<Organization>,
    review: Id<Review>,
) -> Result<(Vec<Standing>, Vec<RoleGrant>)> {
    let standings = tx.all(&ASKED, args![org, review]).await?;
    Ok((standings, tx.all(&ASKED_ROLES, args![org, review]).await?))
}

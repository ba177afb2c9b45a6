//! What members are found by, and finding them.

use domain::accounts::{AccessLevel, Account, AccountStatus, folded};
use domain::members::{HeldRole, Member, Seated};
use domain::organizations::{MembershipLevel, Organization};
use domain::{Id, Timestamp};

use crate::value::Value;
use crate::{Db, Error, Result, Tx, args, row, statement};

statement!(
    INSERT = "INSERT INTO member_names (org_id, name, account_id, whole, created_at, updated_at) \
              VALUES ($1, $2, $3, $4, $5, $5)"
);
statement!(DELETE = "DELETE FROM member_names WHERE org_id = $1 AND account_id = $2");

/// A member in one row, with the name the list is sorted by.
struct Found {
    id: Id<Account>,
    email: String,
    display_name: String,
    gitea_username: Option<String>,
    access_level: AccessLevel,
    status: AccountStatus,
    home_org_id: Option<Id<Organization>>,
    created_at: Timestamp,
    updated_at: Timestamp,
    membership_level: MembershipLevel,
    manager_id: Option<Id<Account>>,
    joined_at: Timestamp,
    seat_updated_at: Timestamp,
    grants: Option<String>,
    sorted_by: Vec<u8>,
}
row!(Found {
    id,
    email,
    display_name,
    gitea_username,
    access_level,
    status,
    home_org_id,
    created_at,
    updated_at,
    membership_level,
    manager_id,
    joined_at,
    seat_updated_at,
    grants,
    sorted_by
});

statement!(
    LIST: Found = "SELECT a.id, a.email, a.display_name, a.gitea_username, a.access_level, a.status, a.home_org_id, \
                   a.created_at, a.updated_at, m.membership_level, m.manager_id, m.created_at AS joined_at, \
                   m.updated_at AS seat_updated_at, \
                   (SELECT string_agg(r.role || '=' || CAST(r.granted_by AS TEXT), ',') FROM role_grants r \
                    WHERE r.org_id = n.org_id AND r.account_id = n.account_id) AS grants, n.name AS sorted_by \
                   FROM member_names n JOIN accounts a ON a.id = n.account_id \
                   JOIN organization_members m ON m.org_id = n.org_id AND m.account_id = n.account_id \
                   WHERE n.org_id = $1 AND n.whole = true"
                  and ["n.account_id = ?", "a.gitea_username = ?", "(n.name, n.account_id) > (?, ?)"]
                  then "ORDER BY n.name, n.account_id LIMIT ?"
);
// Who is found by two of their names is listed once, at the first of them. A subquery, not NOT EXISTS: PostgreSQL may
// turn that into a join over everybody who is found.
statement!(
    SEARCH: Found = "SELECT a.id, a.email, a.display_name, a.gitea_username, a.access_level, a.status, \
                     a.home_org_id, a.created_at, a.updated_at, m.membership_level, m.manager_id, \
                     m.created_at AS joined_at, m.updated_at AS seat_updated_at, \
                     (SELECT string_agg(r.role || '=' || CAST(r.granted_by AS TEXT), ',') FROM role_grants r \
                      WHERE r.org_id = n.org_id AND r.account_id = n.account_id) AS grants, n.name AS sorted_by \
                     FROM member_names n JOIN accounts a ON a.id = n.account_id \
                     JOIN organization_members m ON m.org_id = n.org_id AND m.account_id = n.account_id \
                     WHERE n.org_id = $1 AND n.name >= $2 AND n.name < $3 AND n.name = (SELECT o.name \
                     FROM member_names o WHERE o.account_id = n.account_id AND o.org_id = n.org_id \
                     AND o.name >= $2 AND o.name < $3 ORDER BY o.name LIMIT 1)"
                    and ["(n.name, n.account_id) > (?, ?)"]
                    then "ORDER BY n.name, n.account_id LIMIT ?"
);

/// A place in a list of members: the name it is sorted by, and the id.
pub type After = (Vec<u8>, Id<Account>);

/// Which members somebody looks for.
#[derive(Clone, Debug)]
pub enum Wanted {
    /// All.
    Everybody,
    /// Whose e-mail, or name from the beginning of any word, begins like this.
    Called(String),
    /// Who has this name in Gitea.
    InGitea(String),
    /// This one.
    One(Id<Account>),
}

/// Replaces what the member is found by. Whoever calls has inserted or locked the membership.
pub async fn set(tx: &mut Tx, org: Id<Organization>, account: &Account, now: Timestamp) -> Result<()> {
    tx.push(&DELETE, args![org, account.id]).await?;
    for found in account.search_names() {
        tx.push(&INSERT, args![org, &found.name, account.id, found.whole, now]).await?;
    }
    Ok(())
}

/// Members by name, each with the place after it.
pub async fn list(
    db: &Db,
    org: Id<Organization>,
    wanted: &Wanted,
    after: Option<After>,
    limit: i64,
) -> Result<Vec<(Member, After)>> {
    let (statement, mut search) = match wanted {
        Wanted::Called(text) if !folded(text).is_empty() => {
            let from = folded(text).into_bytes();
            // No UTF-8 holds this byte, so it stands behind everything that begins with the text.
            let to = [from.as_slice(), &[0xff]].concat();
            (&SEARCH, SEARCH.with(&[Value::from(org), from.into(), to.into()]))
        }
        _ => (&LIST, LIST.with(args![org])),
    };
    match wanted {
        Wanted::InGitea(name) => LIST.and(&mut search, "a.gitea_username = ?", args![name.clone()]),
        Wanted::One(account) => LIST.and(&mut search, "n.account_id = ?", args![*account]),
        Wanted::Everybody | Wanted::Called(_) => {}
    }
    if let Some((name, id)) = after {
        statement.and(&mut search, "(n.name, n.account_id) > (?, ?)", &[name.into(), Value::from(id)]);
    }
    let found = db.found(statement.finish(search, &[Value::from(limit)])).await?;
    found.into_iter().map(Found::member).collect()
}

impl Found {
    fn member(self) -> Result<(Member, After)> {
        let place = (self.sorted_by, self.id);
        let roles = self.grants.as_deref().map(held_roles).transpose()?.unwrap_or_default();
        let account = Account {
            id: self.id,
            email: self.email,
            display_name: self.display_name,
            gitea_username: self.gitea_username,
            access_level: self.access_level,
            status: self.status,
            home_org_id: self.home_org_id,
            created_at: self.created_at,
            updated_at: self.updated_at,
        };
        let seat = Seated {
            level: self.membership_level,
            manager_id: self.manager_id,
            roles,
            joined_at: self.joined_at,
            updated_at: self.seat_updated_at,
        };
        Ok((Member { account, seat: Some(seat) }, place))
    }
}

/// `role=granted_by,…`; neither can hold a comma or an equals sign.
fn held_roles(text: &str) -> Result<Vec<HeldRole>> {
    let held = text.split(',').map(|pair| {
        let (role, id) = pair.split_once('=')?;
        Some(HeldRole { role: role.to_owned(), granted_by: id.parse().ok()? })
    });
    let mut roles: Vec<HeldRole> = held
        .collect::<Option<_>>()
        .ok_or_else(|| Error::BadRow { column: "grants", reason: format!("not roles: {text}") })?;
    roles.sort();
    Ok(roles)
}

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

/// How many rows a search reads at once at most.
const SEARCHED_ROWS_MAX: usize = 1_000;

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
statement!(
    SEARCH: Found = "SELECT a.id, a.email, a.display_name, a.gitea_username, a.access_level, a.status, \
                     a.home_org_id, a.created_at, a.updated_at, m.membership_level, m.manager_id, \
                     m.created_at AS joined_at, m.updated_at AS seat_updated_at, \
                     (SELECT string_agg(r.role || '=' || CAST(r.granted_by AS TEXT), ',') FROM role_grants r \
                      WHERE r.org_id = n.org_id AND r.account_id = n.account_id) AS grants, n.name AS sorted_by \
                     FROM member_names n JOIN accounts a ON a.id = n.account_id \
                     JOIN organization_members m ON m.org_id = n.org_id AND m.account_id = n.account_id \
                     WHERE n.org_id = $1 AND n.name >= $2 AND n.name < $3"
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
    let mut search = LIST.with(args![org]);
    match wanted {
        Wanted::Called(text) if !folded(text).is_empty() => {
            return called(db, org, &folded(text), after, limit).await;
        }
        Wanted::InGitea(name) => LIST.and(&mut search, "a.gitea_username = ?", args![name.clone()]),
        Wanted::One(account) => LIST.and(&mut search, "n.account_id = ?", args![*account]),
        Wanted::Everybody | Wanted::Called(_) => {}
    }
    if let Some((name, id)) = after {
        LIST.and(&mut search, "(n.name, n.account_id) > (?, ?)", &[name.into(), Value::from(id)]);
    }
    members(db.found(LIST.finish(search, &[Value::from(limit)])).await?)
}

/// Members by the first of their names that begins with the text. The rows of their other names are passed over, and
/// more are read in their place; to look for an earlier name in SQL takes as long as all the rest of the search.
async fn called(
    db: &Db,
    org: Id<Organization>,
    text: &str,
    mut after: Option<After>,
    limit: i64,
) -> Result<Vec<(Member, After)>> {
    let wanted = usize::try_from(limit).unwrap_or(0);
    let (mut found, mut spare) = (Vec::new(), 1);
    loop {
        let missing = wanted - found.len();
        let asked = (missing * spare).min(SEARCHED_ROWS_MAX);
        let rows = called_at_all(db, org, text, after, asked).await?;
        let is_end = rows.len() < asked;
        after = rows.last().map(|(_, place)| place.clone());
        let is_first = |(member, (name, _)): &(Member, After)| member.account.is_first_found_at(name, text);
        found.extend(rows.into_iter().filter(is_first).take(missing));
        if is_end || found.len() == wanted {
            return Ok(found);
        }
        // There can be thousands in a row that are not the first: e-mails often begin like the names.
        spare = (spare * 2).min(SEARCHED_ROWS_MAX);
    }
}

/// Each name that begins with the text, with its member.
async fn called_at_all(
    db: &Db,
    org: Id<Organization>,
    text: &str,
    after: Option<After>,
    limit: usize,
) -> Result<Vec<(Member, After)>> {
    // No UTF-8 holds this byte, so it stands behind everything that begins with the text.
    let to = [text.as_bytes(), &[0xff]].concat();
    let mut search = SEARCH.with(&[Value::from(org), text.as_bytes().to_vec().into(), to.into()]);
    if let Some((name, id)) = after {
        SEARCH.and(&mut search, "(n.name, n.account_id) > (?, ?)", &[name.into(), Value::from(id)]);
    }
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    members(db.found(SEARCH.finish(search, &[Value::from(limit)])).await?)
}

fn members(found: Vec<Found>) -> Result<Vec<(Member, After)>> {
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

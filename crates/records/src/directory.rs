//! The directory of an organization: an entry for each name that a member is found by, with all that lists show.
//!
//! An entry repeats what `accounts`, `members` and `roles` hold, so that a page is one walk along an index. Their functions
//! write it, and nobody else does: what they change and the entries change in one unit.
//!
//! **Invariant:** whoever adds or removes entries, or changes what they repeat of a seat, has locked or made the
//! membership. Two units that change different things about a member then never write over each other.

use domain::accounts::{AccessLevel, Account, AccountStatus, folded};
use domain::members::{HeldRole, Member, Seated};
use domain::organizations::{Membership, MembershipLevel, Organization};
use domain::{Id, Timestamp};

use crate::statement::Built;
use crate::value::Value;
use crate::{Db, Error, Result, Tx, args, row, statement};

statement!(
    INSERT = "INSERT INTO directory_entries (org_id, name, account_id, shared, whole, email, display_name, \
              gitea_username, access_level, status, home_org_id, account_created_at, account_updated_at, \
              membership_level, manager_id, joined_at, seat_updated_at, roles, created_at, updated_at) \
              VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, \
              (SELECT string_agg(r.role || '=' || CAST(r.granted_by AS TEXT), ',') FROM role_grants r \
               WHERE r.org_id = $1 AND r.account_id = $3), $18, $18)"
);
statement!(
    SET_ACCOUNT = "UPDATE directory_entries SET email = $1, display_name = $2, gitea_username = $3, access_level = $4, \
                   status = $5, account_updated_at = $6, updated_at = $6 WHERE account_id = $7"
);
statement!(
    SET_HOME = "UPDATE directory_entries SET home_org_id = $1, account_updated_at = $2, updated_at = $2 \
                WHERE account_id = $3"
);
statement!(
    SET_SEAT = "UPDATE directory_entries SET membership_level = $1, manager_id = $2, seat_updated_at = $3, \
                updated_at = $3 WHERE org_id = $4 AND account_id = $5"
);
statement!(
    SET_ROLES = "UPDATE directory_entries SET updated_at = $1, roles = (SELECT string_agg(r.role || '=' || \
                 CAST(r.granted_by AS TEXT), ',') FROM role_grants r WHERE r.org_id = $2 AND r.account_id = $3) \
                 WHERE org_id = $2 AND account_id = $3"
);
statement!(DELETE = "DELETE FROM directory_entries WHERE account_id = $1");

/// A member in one row, with the name the list is sorted by.
struct Entry {
    account_id: Id<Account>,
    email: String,
    display_name: String,
    gitea_username: Option<String>,
    access_level: AccessLevel,
    status: AccountStatus,
    home_org_id: Option<Id<Organization>>,
    account_created_at: Timestamp,
    account_updated_at: Timestamp,
    membership_level: MembershipLevel,
    manager_id: Option<Id<Account>>,
    joined_at: Timestamp,
    seat_updated_at: Timestamp,
    roles: Option<String>,
    name: Vec<u8>,
}
row!(Entry {
    account_id,
    email,
    display_name,
    gitea_username,
    access_level,
    status,
    home_org_id,
    account_created_at,
    account_updated_at,
    membership_level,
    manager_id,
    joined_at,
    seat_updated_at,
    roles,
    name
});

statement!(
    LIST: Entry = "SELECT account_id, email, display_name, gitea_username, access_level, status, home_org_id, \
                   account_created_at, account_updated_at, membership_level, manager_id, joined_at, seat_updated_at, \
                   roles, name FROM directory_entries WHERE org_id = $1 AND whole = true"
                  and ["(name, account_id) > (?, ?)"]
                  then "ORDER BY name, account_id LIMIT ?"
);
statement!(
    OF_ACCOUNTS: Entry = "SELECT account_id, email, display_name, gitea_username, access_level, status, home_org_id, \
                   account_created_at, account_updated_at, membership_level, manager_id, joined_at, seat_updated_at, \
                   roles, name FROM directory_entries WHERE NULLIF(org_id, NULL) = $1 AND whole = true"
                  and ["account_id = ?", "account_id IN (SELECT a.id FROM accounts a WHERE a.gitea_username = ?)",
                       "(name, account_id) > (?, ?)"]
                  then "ORDER BY name, account_id LIMIT ?"
);
statement!(
    SEARCH: Entry = "SELECT account_id, email, display_name, gitea_username, access_level, status, home_org_id, \
                     account_created_at, account_updated_at, membership_level, manager_id, joined_at, \
                     seat_updated_at, roles, name FROM directory_entries \
                     WHERE org_id = $1 AND name >= $2 AND name < $3 AND shared < $4"
                    and ["(name, account_id) > (?, ?)"]
                    then "ORDER BY name, account_id LIMIT ?"
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

/// Adds a member, who has no roles yet.
pub(crate) async fn add(tx: &mut Tx, membership: &Membership, account: &Account) -> Result<()> {
    for found in account.search_names() {
        let shared = i64::try_from(found.shared).unwrap_or(i64::MAX);
        let values = args![
            membership.org_id,
            &found.name,
            account.id,
            shared,
            found.whole,
            &account.email,
            &account.display_name,
            account.gitea_username.as_deref(),
            account.access_level.as_str(),
            account.status.as_str(),
            account.home_org_id,
            account.created_at,
            account.updated_at,
            membership.membership_level.as_str(),
            membership.manager_id,
            membership.created_at,
            membership.updated_at,
            account.updated_at.max(membership.updated_at),
        ];
        tx.push(&INSERT, values).await?;
    }
    Ok(())
}

/// Shows what changed about an account, everywhere.
pub(crate) async fn set_account(tx: &mut Tx, account: &Account) -> Result<()> {
    let values = args![
        &account.email,
        &account.display_name,
        account.gitea_username.as_deref(),
        account.access_level.as_str(),
        account.status.as_str(),
        account.updated_at,
        account.id,
    ];
    tx.push(&SET_ACCOUNT, values).await
}

/// Lists a member under other names, with all that was changed about the account; these are all memberships of it, locked.
pub(crate) async fn rename(tx: &mut Tx, account: &Account, memberships: &[Membership]) -> Result<()> {
    tx.push(&DELETE, args![account.id]).await?;
    for membership in memberships {
        add(tx, membership, account).await?;
    }
    Ok(())
}

/// Shows where an account is at home, everywhere.
pub(crate) async fn set_home(tx: &mut Tx, account: &Account) -> Result<()> {
    tx.push(&SET_HOME, args![account.home_org_id, account.updated_at, account.id]).await
}

/// Shows level and manager of a member.
pub(crate) async fn set_seat(tx: &mut Tx, membership: &Membership) -> Result<()> {
    let values = args![
        membership.membership_level.as_str(),
        membership.manager_id,
        membership.updated_at,
        membership.org_id,
        membership.account_id,
    ];
    tx.push(&SET_SEAT, values).await
}

/// Shows the roles that a member holds by now.
pub(crate) async fn set_roles(
    tx: &mut Tx,
    org: Id<Organization>,
    account: Id<Account>,
    now: Timestamp,
) -> Result<()> {
    tx.push(&SET_ROLES, args![now, org, account]).await
}

/// Members by name, each with the place after it.
pub async fn list(
    db: &Db,
    org: Id<Organization>,
    wanted: &Wanted,
    after: Option<After>,
    limit: i64,
) -> Result<Vec<(Member, After)>> {
    let after = after.map(|(name, id)| [name.into(), Value::from(id)]);
    let (statement, mut search) = match wanted {
        Wanted::Called(text) if !folded(text).is_empty() => (&SEARCH, called(org, &folded(text))),
        Wanted::InGitea(_) | Wanted::One(_) => (&OF_ACCOUNTS, OF_ACCOUNTS.with(args![org])),
        _ => (&LIST, LIST.with(args![org])),
    };
    match wanted {
        Wanted::InGitea(name) => {
            let clause = "account_id IN (SELECT a.id FROM accounts a WHERE a.gitea_username = ?)";
            statement.and(&mut search, clause, args![name.clone()]);
        }
        Wanted::One(account) => statement.and(&mut search, "account_id = ?", args![*account]),
        Wanted::Everybody | Wanted::Called(_) => {}
    }
    if let Some(place) = after {
        statement.and(&mut search, "(name, account_id) > (?, ?)", &place);
    }
    let found = db.found(statement.finish(search, &[Value::from(limit)])).await?;
    found.into_iter().map(Entry::member).collect()
}

/// Members by the first of their names that begins with the text.
fn called(org: Id<Organization>, text: &str) -> Built<'static, Entry> {
    // No UTF-8 holds this byte, so it stands behind everything that begins with the text.
    let to = [text.as_bytes(), &[0xff]].concat();
    let typed = i64::try_from(text.len()).unwrap_or(i64::MAX);
    SEARCH.with(&[Value::from(org), text.as_bytes().to_vec().into(), to.into(), typed.into()])
}

impl Entry {
    fn member(self) -> Result<(Member, After)> {
        let place = (self.name, self.account_id);
        let account = Account {
            id: self.account_id,
            email: self.email,
            display_name: self.display_name,
            gitea_username: self.gitea_username,
            access_level: self.access_level,
            status: self.status,
            home_org_id: self.home_org_id,
            created_at: self.account_created_at,
            updated_at: self.account_updated_at,
        };
        let seat = Seated {
            level: self.membership_level,
            manager_id: self.manager_id,
            roles: self.roles.as_deref().map(held_roles).transpose()?.unwrap_or_default(),
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
        .ok_or_else(|| Error::BadRow { column: "roles", reason: format!("not roles: {text}") })?;
    roles.sort();
    Ok(roles)
}

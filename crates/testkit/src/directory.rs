//! Whether the directory says what the tables say that it repeats. Every test with a hub ends with this look.

use domain::accounts::{AccessLevel, Account, AccountStatus};
use domain::{Id, Timestamp};
use records::statement::{Query, Text};
use records::{Db, Error, args, row};
use uuid::Uuid;

/// What lists show of a member.
#[derive(PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Shown {
    org_id: Uuid,
    account_id: Uuid,
    email: String,
    display_name: String,
    gitea_username: Option<String>,
    access_level: String,
    status: String,
    home_org_id: Option<Uuid>,
    account_created_at: Timestamp,
    account_updated_at: Timestamp,
    membership_level: String,
    manager_id: Option<Uuid>,
    joined_at: Timestamp,
    seat_updated_at: Timestamp,
    roles: Option<String>,
}
row!(Shown {
    org_id,
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
    roles
});

/// What a member is found by.
#[derive(PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Named {
    org_id: Uuid,
    account_id: Uuid,
    name: Vec<u8>,
    shared: i64,
    whole: bool,
}
row!(Named { org_id, account_id, name, shared, whole });

static TRUE: Query<Shown> = Query::new(Text::same(
    "SELECT m.org_id, m.account_id, a.email, a.display_name, a.gitea_username, a.access_level, a.status, a.home_org_id, \
     a.created_at AS account_created_at, a.updated_at AS account_updated_at, m.membership_level, m.manager_id, \
     m.created_at AS joined_at, m.updated_at AS seat_updated_at, (SELECT string_agg(r.role || '=' || \
     CAST(r.granted_by AS TEXT), ',') FROM role_grants r WHERE r.org_id = m.org_id AND r.account_id = m.account_id) \
     AS roles FROM organization_members m JOIN accounts a ON a.id = m.account_id",
));
static LISTED: Query<Shown> = Query::new(Text::same(
    "SELECT DISTINCT org_id, account_id, email, display_name, gitea_username, access_level, status, home_org_id, \
     account_created_at, account_updated_at, membership_level, manager_id, joined_at, seat_updated_at, roles \
     FROM directory_entries",
));
static NAMES: Query<Named> =
    Query::new(Text::same("SELECT org_id, account_id, name, shared, whole FROM directory_entries"));

/// # Panics
/// If somebody is listed who is no member, or otherwise than they are.
pub async fn assert_true(records: &Db) {
    let read = records.read((), |tx, ()| {
        Box::pin(async move {
            let (members, listed) = (tx.all(&TRUE, args![]).await?, tx.all(&LISTED, args![]).await?);
            Ok::<_, Error>((members, listed, tx.all(&NAMES, args![]).await?))
        })
    });
    let (members, listed, mut found_by) = match read.await {
        Ok(all) => all,
        // The test itself has closed them.
        Err(Error::Overloaded | Error::Unavailable(_)) => return,
        Err(error) => panic!("the directory cannot be read: {error}"),
    };
    let (members, listed) = (sorted(members), sorted(listed));
    let mut names: Vec<Named> = members.iter().flat_map(names).collect();
    assert_eq!(listed, members, "the directory shows what is not so");
    names.sort();
    found_by.sort();
    assert_eq!(found_by, names, "the directory finds whom it should not");
}

/// In one order, with roles in one order: engines put them together as they come.
fn sorted(mut all: Vec<Shown>) -> Vec<Shown> {
    for one in &mut all {
        one.roles = one.roles.take().map(|roles| {
            let mut roles: Vec<&str> = roles.split(',').collect();
            roles.sort_unstable();
            roles.join(",")
        });
    }
    all.sort();
    all
}

fn names(member: &Shown) -> Vec<Named> {
    let account = Account {
        id: Id::new(member.account_id),
        email: member.email.clone(),
        display_name: member.display_name.clone(),
        gitea_username: None,
        access_level: AccessLevel::User,
        status: AccountStatus::Active,
        home_org_id: None,
        created_at: member.account_created_at,
        updated_at: member.account_updated_at,
    };
    let names = account.search_names().into_iter().map(|found| Named {
        org_id: member.org_id,
        account_id: member.account_id,
        name: found.name,
        shared: i64::try_from(found.shared).expect("a short name"),
        whole: found.whole,
    });
    names.collect()
}

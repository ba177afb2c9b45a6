//! Whoever is looked for is found once, at the first of the names that match, whatever the size of a page; and shown as
//! they are, whatever was changed about them, by whom at the same time, and by which release.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::Id;
use domain::accounts::{AccessLevel, Account, AccountStatus};
use domain::organizations::{Membership, MembershipLevel, Organization};
use domain::roles::RoleGrant;
use records::directory::{self, After, Wanted};
use records::{Db, Engine, Error, Result, Tx, accounts, members, roles};
use testkit::directory::assert_true;
use uuid::Uuid;

use crate::people::tenant;
use crate::support::{Gate, Ground, NOW, eventually, on_both_engines};

on_both_engines!(
    everybody_is_found_once_at_the_first_name,
    a_long_row_of_later_names_is_passed_over,
    no_door_leaves_the_directory_behind,
    two_changes_at_once_are_both_shown,
    who_was_there_before_is_found_after_the_migration,
);

fn account(org: Id<Organization>, number: u128, display_name: &str, email: &str) -> Account {
    Account {
        id: Id::new(Uuid::from_u128(number)),
        email: email.to_owned(),
        display_name: display_name.to_owned(),
        gitea_username: None,
        access_level: AccessLevel::User,
        status: AccountStatus::Active,
        home_org_id: Some(org),
        created_at: NOW,
        updated_at: NOW,
    }
}

fn membership(org: Id<Organization>, account: Id<Account>) -> Membership {
    Membership {
        id: Id::new(Uuid::from_u128(org.raw().as_u128() ^ account.raw().as_u128())),
        org_id: org,
        account_id: account,
        membership_level: MembershipLevel::Member,
        manager_id: None,
        created_at: NOW,
        updated_at: NOW,
    }
}

async fn join(db: &Db, org: Id<Organization>, people: Vec<Account>) {
    let joined: Result<()> = db
        .write((org, people), |tx, (org, people)| {
            Box::pin(async move {
                for account in people {
                    accounts::insert(tx, account).await?;
                    members::insert(tx, &membership(*org, account.id), account).await?;
                }
                Ok(())
            })
        })
        .await;
    joined.unwrap();
}

/// All pages of a search, of so many each.
async fn found(db: &Db, org: Id<Organization>, text: &str, limit: i64) -> Vec<After> {
    let wanted = Wanted::Called(text.to_owned());
    let mut all: Vec<After> = Vec::new();
    loop {
        let page = directory::list(db, org, &wanted, all.last().cloned(), limit).await.unwrap();
        assert!(page.len() as i64 <= limit, "{} on a page of {limit}", page.len());
        let is_last = (page.len() as i64) < limit;
        all.extend(page.into_iter().map(|(member, place)| {
            assert_eq!(member.account.id, place.1);
            place
        }));
        if is_last {
            return all;
        }
    }
}

/// What a search must find, worked out one by one.
fn expected(people: &[Account], text: &str) -> Vec<After> {
    let first = |account: &Account| {
        let names = account.search_names().into_iter().map(|found| found.name);
        names.filter(|name| name.starts_with(text.as_bytes())).min().map(|name| ((name, account.id), ()))
    };
    people.iter().filter_map(first).collect::<BTreeMap<_, _>>().into_keys().collect()
}

async fn everybody_is_found_once_at_the_first_name(ground: Ground) {
    let (org, _) = tenant(&ground, 1).await;
    let (elsewhere, _) = tenant(&ground, 2).await;
    let words = ["a", "ab", "b", "Aa", "BA", "abc", "ä"];
    // Each number spells a name: nought to six of the words, so that most people are found by several of theirs.
    let people: Vec<Account> = (0..60_usize)
        .map(|number| {
            let name: Vec<&str> = (0..=number % 7).map(|word| words[(number * (word + 3)) % 7]).collect();
            account(org, 100 + number as u128, &name.join(" "), &format!("ab{number}@x"))
        })
        .collect();
    join(&ground.db, org, people.clone()).await;
    join(&ground.db, elsewhere, vec![account(elsewhere, 99, "a ab abc", "a@elsewhere")]).await;
    for text in ["a", "ab", "b", "a b", "ab3", "abc", "ä", "z"] {
        for limit in [1, 2, 7, 50, 200] {
            assert_eq!(
                found(&ground.db, org, text, limit).await,
                expected(&people, text),
                "{text} by {limit}"
            );
        }
    }
}

async fn a_long_row_of_later_names_is_passed_over(ground: Ground) {
    let (org, _) = tenant(&ground, 1).await;
    // All names stand before all e-mails, and nobody is found by the e-mail first.
    let mut people: Vec<Account> = (0..2_500)
        .map(|number| account(org, 100 + number, &format!("user {number:04}"), &format!("user.{number}@x")))
        .collect();
    // But behind them all there is one more.
    people.push(account(org, 9_999, "userz", "z@x"));
    join(&ground.db, org, people.clone()).await;
    let last = (b"user 2499".to_vec(), people[2_499].id);
    let wanted = Wanted::Called("user".to_owned());
    let page = directory::list(&ground.db, org, &wanted, Some(last), 2).await.unwrap();
    let names: Vec<&str> = page.iter().map(|(member, _)| member.account.display_name.as_str()).collect();
    assert_eq!(names, ["userz"]);
}

/// Everything that can be done to a member, by its number.
async fn door(tx: &mut Tx, number: u64, org: Id<Organization>, id: Id<Account>) -> Result<()> {
    let account = accounts::get_locked(tx, id).await?.unwrap();
    let Some(seat) = members::get_locked(tx, org, id).await? else {
        return members::insert(tx, &membership(org, id), &account).await;
    };
    let now = account.updated_at.after(seat.updated_at);
    let changed = Account { updated_at: now, ..account.clone() };
    let text = format!("ab{}", number / 11);
    let changed = match number % 11 {
        0 => Account { display_name: format!("{text} abc Ab"), ..changed },
        1 => Account { email: format!("{text}@x"), ..changed },
        2 => Account { gitea_username: Some(text), ..changed },
        3 => Account { status: AccountStatus::Suspended, ..changed },
        4 => Account { access_level: AccessLevel::Service, ..changed },
        5 => return accounts::set_home(tx, &Account { home_org_id: Some(org), ..changed }).await,
        6 => {
            let level = MembershipLevel::Admin;
            return members::update(tx, &Membership { membership_level: level, updated_at: now, ..seat })
                .await;
        }
        7 => {
            return members::update(tx, &Membership { manager_id: Some(id), updated_at: now, ..seat }).await;
        }
        8 | 9 => return roles::insert(tx, org, &grant(number, id)).await,
        _ => match roles::of(tx, org, id).await?.first() {
            Some(first) => return roles::delete(tx, org, first, now).await,
            None => return members::delete(tx, org, id).await,
        },
    };
    accounts::update(tx, &account, &changed).await
}

fn grant(number: u64, account: Id<Account>) -> RoleGrant {
    RoleGrant {
        id: Id::new(Uuid::from_u128(u128::from(number) << 32)),
        account_id: account,
        role: format!("role-{number}"),
        granted_by: account,
        created_at: NOW,
    }
}

async fn through(db: &Db, number: u64, org: Id<Organization>, id: Id<Account>) {
    let done = db.write((), move |tx, ()| Box::pin(door(tx, number, org, id))).await;
    done.unwrap_or_else(|error| panic!("door {number}: {error}"));
}

async fn no_door_leaves_the_directory_behind(ground: Ground) {
    let (here, _) = tenant(&ground, 1).await;
    let (there, _) = tenant(&ground, 2).await;
    let people = [account(here, 100, "ab", "ab@x"), account(here, 101, "Ab abc", "abc@x")];
    join(&ground.db, here, people.to_vec()).await;
    // Each step is another door, member and organization than the one before; all of them come together often.
    for step in 0..132_u64 {
        let org = if step % 2 == 0 { here } else { there };
        through(&ground.db, step * 7, org, people[usize::try_from(step / 2 % 2).unwrap()].id).await;
        assert_true(&ground.db).await;
    }
}

/// What PostgreSQL lets happen at the same time: while one unit has changed the seat, another gives the account a new name.
async fn two_changes_at_once_are_both_shown(ground: Ground) {
    let (org, _) = tenant(&ground, 1).await;
    let ada = account(org, 100, "Ada", "ada@x");
    join(&ground.db, org, vec![ada.clone()]).await;
    let (gate, engine) = (Arc::new(Gate::default()), ground.engine);
    let held = Arc::clone(&gate);
    let promoted = ground.db.write((), move |tx, ()| {
        let gate = Arc::clone(&held);
        Box::pin(async move {
            let seat = members::get_locked(tx, org, ada_id()).await?.unwrap();
            let admin = Membership { membership_level: MembershipLevel::Admin, ..seat };
            members::update(tx, &admin).await?;
            roles::insert(tx, org, &grant(1, ada_id())).await?;
            // Whoever reads sends what was pushed before.
            members::get(tx, org, ada_id()).await?;
            gate.pass(engine).await;
            Ok::<_, Error>(())
        })
    });
    let renamed = ground.db.write(ada, |tx, ada| {
        let renamed = Account { display_name: "Countess".to_owned(), ..ada.clone() };
        Box::pin(async move { accounts::update(tx, ada, &renamed).await })
    });
    let beside = async {
        gate.reached().await;
        let opened = async {
            if engine == Engine::Postgres {
                let waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid IN (SELECT pid FROM pg_locks \
                             WHERE relation = 'accounts'::regclass)";
                eventually("one waits for the other", async || {
                    ground.count_behind_its_back(waits).await == 1
                })
                .await;
            }
            gate.open();
        };
        tokio::join!(renamed, opened).0
    };
    let (promoted, renamed) = tokio::join!(promoted, beside);
    promoted.unwrap();
    renamed.unwrap();
    assert_true(&ground.db).await;
}

fn ada_id() -> Id<Account> {
    Id::new(Uuid::from_u128(100))
}

/// The table of the release before, as it was made then.
fn member_names() -> &'static str {
    let identity = include_str!("../../migrations/0002_identity.sql");
    let from = identity.find("CREATE TABLE member_names").unwrap();
    &identity[from..from + identity[from..].find("\n\n").unwrap()]
}

async fn who_was_there_before_is_found_after_the_migration(ground: Ground) {
    let (here, _) = tenant(&ground, 1).await;
    let (there, _) = tenant(&ground, 2).await;
    let people = [
        account(here, 100, "Ada Adams Ad", "ada@x"),
        account(here, 101, "Ääh ä", "a@x"),
        account(here, 102, "x x x x x x x x x x", "x@x"),
    ];
    join(&ground.db, here, people.to_vec()).await;
    for (number, org) in [(6, here), (7, here), (8, here), (9, here), (2, here), (0, there), (19, there)] {
        through(&ground.db, number, org, people[0].id).await;
    }
    assert_true(&ground.db).await;
    let back = format!(
        "{} INSERT INTO member_names SELECT org_id, name, account_id, whole, created_at, updated_at FROM \
         directory_entries; DROP TABLE directory_entries; DELETE FROM schema_migrations WHERE number = 5;",
        ground.rendered(member_names())
    );
    ground.behind_its_back(&back).await;
    assert_eq!(ground.migrate().await, 1);
    assert_true(&ground.db).await;
    assert_eq!(found(&ground.db, here, "ad", 50).await, expected(&people, "ad"));
}

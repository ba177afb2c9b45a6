//! Whoever is looked for is found once, at the first of the names that match, whatever the size of a page.

use std::collections::BTreeMap;

use domain::Id;
use domain::accounts::{AccessLevel, Account, AccountStatus};
use domain::organizations::{Membership, MembershipLevel, Organization};
use records::member_names::{After, Wanted};
use records::{Db, Result, accounts, member_names, members};
use uuid::Uuid;

use crate::people::tenant;
use crate::support::{Ground, NOW, on_both_engines};

on_both_engines!(everybody_is_found_once_at_the_first_name, a_long_row_of_later_names_is_passed_over);

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

async fn join(db: &Db, org: Id<Organization>, people: Vec<Account>) {
    let joined: Result<()> = db
        .write((org, people), |tx, (org, people)| {
            Box::pin(async move {
                for account in people {
                    let membership = Membership {
                        id: Id::new(account.id.raw()),
                        org_id: *org,
                        account_id: account.id,
                        membership_level: MembershipLevel::Member,
                        manager_id: None,
                        created_at: NOW,
                        updated_at: NOW,
                    };
                    accounts::insert(tx, account).await?;
                    members::insert(tx, &membership).await?;
                    member_names::set(tx, *org, account, NOW).await?;
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
        let page = member_names::list(db, org, &wanted, all.last().cloned(), limit).await.unwrap();
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
    let page = member_names::list(&ground.db, org, &wanted, Some(last), 2).await.unwrap();
    let names: Vec<&str> = page.iter().map(|(member, _)| member.account.display_name.as_str()).collect();
    assert_eq!(names, ["userz"]);
}

use super::*;
use crate::sample;

#[test]
fn words_come_back() {
    for level in AccessLevel::ALL {
        assert_eq!(level.as_str().parse(), Ok(level));
    }
    for status in AccountStatus::ALL {
        assert_eq!(status.as_str().parse(), Ok(status));
    }
    assert!("Admin".parse::<AccessLevel>().is_err());
    assert!("".parse::<AccountStatus>().is_err());
}

fn found_by(display_name: &str, email: &str) -> Vec<(String, bool)> {
    let account = Account {
        email: email.to_owned(),
        display_name: display_name.to_owned(),
        ..person(1, AccessLevel::User)
    };
    let names = account.search_names().into_iter();
    names.map(|found| (String::from_utf8(found.name).unwrap(), found.whole)).collect()
}

#[test]
fn people_are_found_by_each_word_of_their_name_and_by_e_mail() {
    let names = found_by("  Ada  KING Lovelace ", "ada@example.org");
    let expected = [
        ("ada king lovelace", true),
        ("ada@example.org", false),
        ("king lovelace", false),
        ("lovelace", false),
    ];
    assert!(names.iter().map(|(name, whole)| (name.as_str(), *whole)).eq(expected), "{names:?}");
    assert_eq!(found_by("a@b", "a@b"), [("a@b".to_owned(), true)]);
    assert_eq!(found_by("z z", "z z")[1], ("z z".to_owned(), true), "the whole name is never lost");
    let long = "x ".repeat(100);
    assert_eq!(found_by(&long, "a@b").len(), SEARCHED_WORDS_MAX + 1);
    assert_eq!(found_by(&long, "a@b").iter().filter(|(_, whole)| *whole).count(), 1);
}

#[test]
fn who_is_found_by_several_names_is_listed_at_the_first() {
    let ada = Account {
        email: "lady.ada@example.org".to_owned(),
        display_name: "Ada Lovelace  LADY".to_owned(),
        ..person(1, AccessLevel::User)
    };
    let firsts = |text: &str| {
        let found = ada.search_names().into_iter().filter(|found| found.name.starts_with(text.as_bytes()));
        let first = found.filter(|found| found.shared < text.len());
        first.map(|found| String::from_utf8(found.name).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(firsts("l"), ["lady"], "before \"lady.ada@example.org\" and \"lovelace lady\"");
    assert_eq!(firsts("lady."), ["lady.ada@example.org"]);
    assert_eq!(firsts("lo"), ["lovelace lady"]);
    assert_eq!(firsts("ada"), ["ada lovelace lady"]);
    assert_eq!(firsts("x"), [""; 0]);
}

fn person(id: u128, access_level: AccessLevel) -> Account {
    Account { access_level, ..sample::account(id) }
}

const PLAIN: AccountFacts =
    AccountFacts { owns_organization: false, is_agent: false, is_last_instance_admin: false };

fn named() -> AccountChange {
    AccountChange { display_name: Some("B".to_owned()), ..AccountChange::default() }
}

fn set(status: AccountStatus) -> AccountChange {
    AccountChange { status: Some(status), ..AccountChange::default() }
}

fn level(access_level: AccessLevel) -> AccountChange {
    AccountChange { access_level: Some(access_level), ..AccountChange::default() }
}

/// Who may do what to whom, whole.
#[test]
fn the_table_of_changes() {
    use AccountRefusal::*;
    use AccountStatus::{Active, Deactivated, Suspended};
    let asker = |id: u128, administers_home, is_instance_admin| Asker {
        account: Id::new(uuid::Uuid::from_u128(id)),
        administers_home,
        is_instance_admin,
    };
    let own = asker(1, false, false);
    let (colleague, admin, instance) = (asker(2, false, false), asker(2, true, false), asker(2, false, true));
    let user = person(1, super::AccessLevel::User);
    let operator = person(1, super::AccessLevel::Admin);
    let sleeping = Account { status: Suspended, ..user.clone() };
    let agent = AccountFacts { is_agent: true, ..PLAIN };
    let owner = AccountFacts { owns_organization: true, ..PLAIN };
    let last = AccountFacts { is_last_instance_admin: true, ..PLAIN };
    let cases = [
        (own, &user, PLAIN, named(), Ok(())),
        (colleague, &user, PLAIN, named(), Err(NotYours)),
        (admin, &user, PLAIN, named(), Ok(())),
        (instance, &user, PLAIN, named(), Ok(())),
        (admin, &operator, PLAIN, named(), Err(IsInstanceAdmin)),
        (own, &operator, PLAIN, named(), Ok(())),
        (instance, &operator, PLAIN, named(), Ok(())),
        (own, &user, PLAIN, set(Suspended), Err(OwnStatus)),
        (own, &user, PLAIN, set(Deactivated), Ok(())),
        (own, &user, PLAIN, set(Active), Ok(())),
        (own, &sleeping, PLAIN, set(Active), Err(OwnStatus)),
        (admin, &user, PLAIN, set(Suspended), Ok(())),
        (admin, &sleeping, PLAIN, set(Active), Ok(())),
        (colleague, &user, PLAIN, set(Suspended), Err(NotYours)),
        (admin, &user, owner, set(Suspended), Err(IsOwner)),
        (own, &user, owner, set(Deactivated), Err(IsOwner)),
        (instance, &user, owner, set(Suspended), Ok(())),
        (own, &user, PLAIN, level(super::AccessLevel::Admin), Err(AccessLevel)),
        (admin, &user, PLAIN, level(super::AccessLevel::Admin), Err(AccessLevel)),
        (admin, &user, PLAIN, level(super::AccessLevel::User), Ok(())),
        (instance, &user, PLAIN, level(super::AccessLevel::Admin), Ok(())),
        (admin, &user, agent, named(), Err(IsAgent)),
        (admin, &user, agent, set(Suspended), Ok(())),
        (instance, &operator, last, set(Suspended), Err(LastInstanceAdmin)),
        (own, &operator, last, set(Deactivated), Err(LastInstanceAdmin)),
        (instance, &operator, last, level(super::AccessLevel::User), Err(LastInstanceAdmin)),
        (own, &operator, last, named(), Ok(())),
    ];
    for (number, (asker, account, facts, change, expected)) in cases.into_iter().enumerate() {
        assert_eq!(may_change(&asker, account, &facts, &change), expected, "case {number}: {change:?}");
    }
}

#[test]
fn who_sees_an_account() {
    use crate::organizations::MembershipLevel;
    let [here, elsewhere]: [Id<Organization>; 2] =
        [7, 8].map(|number| Id::new(uuid::Uuid::from_u128(number)));
    let by = |access_level, membership_level| Standing {
        access_level,
        membership_level: Some(membership_level),
        is_author: false,
        is_agent: false,
    };
    let member = by(AccessLevel::User, MembershipLevel::Member);
    let admin = by(AccessLevel::User, MembershipLevel::Admin);
    let instance = by(AccessLevel::Admin, MembershipLevel::Member);
    let at = |home| Account { home_org_id: home, ..person(1, AccessLevel::User) };
    for (account, is_member, seen) in [
        (at(Some(here)), true, [true, true, true]),
        (at(Some(here)), false, [false, true, true]),
        (at(Some(elsewhere)), true, [true, true, true]),
        (at(Some(elsewhere)), false, [false, false, true]),
        (at(None), false, [false, false, false]),
    ] {
        let found = [member, admin, instance].map(|by| account.is_seen_from(here, is_member, by));
        assert_eq!(found, seen, "{account:?} {is_member}");
    }
}

#[test]
fn active_people_log_in() {
    for access_level in AccessLevel::ALL {
        for status in AccountStatus::ALL {
            let account = Account { status, ..person(1, access_level) };
            let expected = status == AccountStatus::Active && access_level != AccessLevel::Service;
            assert_eq!(account.may_log_in(), expected, "{access_level:?} {status:?}");
        }
    }
}

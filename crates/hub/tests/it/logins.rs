//! Logins: how often one may try, when they end, and that nothing commits with one that has ended.

use std::time::Duration;

use domain::Id;
use domain::accounts::{AccessLevel, Account, AccountStatus};
use domain::members::Seat;
use domain::organizations::MembershipLevel;
use hub::idempotency::Outcome;
use hub::identity::accounts::{self, Created, Wanted};
use hub::identity::api_keys::{self, NewKey};
use hub::identity::authenticate::authenticate;
use hub::identity::device_logins::{self, Reply};
use hub::identity::founding::NewAccount;
use hub::identity::login_sessions::{self, LoggedIn};
use hub::identity::password_logins::{Shown, log_in};
use hub::identity::passwords::{self, NewPassword};
use hub::identity::{login_links, operator::Operator};
use hub::{Caller, HubError, Origin};
use testkit::{TestHub, on_each_engine};

const PASSWORD: &str = "correct horse battery";
const QUARTER: Duration = Duration::from_secs(15 * 60);

fn from(ip: &str) -> Origin {
    Origin { ip: Some(ip.to_owned()), user_agent: None, service: "test".into() }
}

/// A member whose password the admin chose.
async fn enrolled(hub: &TestHub, name: &str) -> Account {
    let admin = hub.caller(&hub.admin_key).await;
    let account = NewAccount {
        email: format!("{name}@default.example"),
        display_name: name.into(),
        access_level: AccessLevel::User,
    };
    let seat = Seat::of(MembershipLevel::Member);
    let wanted = Wanted { account, seat, password: Some(PASSWORD.to_owned()) };
    match accounts::create(&hub.hub, &admin, wanted, None).await.unwrap() {
        Outcome::Fresh(Created::Account(member)) => member.account,
        _ => panic!("{name} is new"),
    }
}

async fn attempt(hub: &TestHub, email: &str, password: &str, ip: &str) -> Result<LoggedIn, HubError> {
    let shown = Shown { email: email.to_owned(), password: password.to_owned(), org: None };
    log_in(&hub.hub, shown, &from(ip)).await
}

async fn good(hub: &TestHub, account: &Account) -> (LoggedIn, Caller) {
    let logged_in = attempt(hub, &account.email, PASSWORD, "198.51.100.1").await.unwrap();
    let caller = hub.caller(logged_in.secret.expose()).await;
    (logged_in, caller)
}

fn is_wrong(outcome: Result<LoggedIn, HubError>) {
    match outcome.err() {
        Some(HubError::Unauthenticated("email or password is wrong")) => {}
        other => panic!("{other:?}"),
    }
}

fn retry_after(outcome: Result<LoggedIn, HubError>) -> u32 {
    match outcome.err() {
        Some(HubError::TooMany { retry_after_seconds, .. }) => retry_after_seconds,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn ten_failures_close_an_e_mail_for_a_quarter_of_an_hour_whether_it_exists_or_not() {
    on_each_engine(async |hub| {
        let bob = enrolled(&hub, "bob").await;
        let hashes = || hub.hub.coordination.hashing.count();
        for email in [bob.email.as_str(), "nobody@default.example"] {
            for n in 0..10 {
                // Each from elsewhere, and with capitals now and then: it is one e-mail.
                let spelled = if n % 2 == 0 { email.to_uppercase() } else { email.to_owned() };
                is_wrong(attempt(&hub, &spelled, "wrong horse battery", &format!("203.0.113.{n}")).await);
            }
            let before = hashes();
            let wait = retry_after(attempt(&hub, email, PASSWORD, "203.0.113.200").await);
            assert!((1..=915).contains(&wait), "{wait}");
            assert_eq!(hashes(), before, "refused before any work");
            hub.clock.advance(Duration::from_secs(u64::from(wait)));
            let answer = attempt(&hub, email, PASSWORD, "203.0.113.200").await;
            assert_eq!(answer.is_ok(), email == bob.email);
        }
    })
    .await;
}

#[tokio::test]
async fn ten_failures_close_an_address_and_success_opens_nothing() {
    on_each_engine(async |hub| {
        let bob = enrolled(&hub, "bob").await;
        for n in 0..9 {
            is_wrong(attempt(&hub, &format!("guess{n}@default.example"), PASSWORD, "203.0.113.7").await);
        }
        // Successes neither count nor forgive.
        for _ in 0..3 {
            attempt(&hub, &bob.email, PASSWORD, "203.0.113.7").await.unwrap();
        }
        is_wrong(attempt(&hub, &bob.email, "wrong horse battery", "203.0.113.7").await);
        retry_after(attempt(&hub, &bob.email, PASSWORD, "203.0.113.7").await);
        // Others are not locked out with it, and what was refused did not count against the e-mail.
        for _ in 0..20 {
            retry_after(attempt(&hub, &bob.email, PASSWORD, "203.0.113.7").await);
        }
        attempt(&hub, &bob.email, PASSWORD, "203.0.113.8").await.unwrap();
        hub.clock.advance(QUARTER + Duration::from_secs(15));
        attempt(&hub, &bob.email, PASSWORD, "203.0.113.7").await.unwrap();
    })
    .await;
}

/// Many attempts at once are no way around the limit.
#[tokio::test]
async fn attempts_count_from_their_beginning() {
    on_each_engine(async |hub| {
        let bob = enrolled(&hub, "bob").await;
        let before = hub.hub.coordination.hashing.count();
        let ips: Vec<String> = (0..30).map(|n| format!("203.0.113.{n}")).collect();
        let mut attempts = tokio::task::JoinSet::new();
        for ip in ips {
            let (hub, email) = (hub.hub.clone(), bob.email.clone());
            attempts.spawn(async move {
                let shown = Shown { email, password: "wrong horse battery".into(), org: None };
                log_in(&hub, shown, &from(&ip)).await.err().unwrap()
            });
        }
        let refusals = attempts.join_all().await;
        let limited = refusals.iter().filter(|error| matches!(error, HubError::TooMany { .. })).count();
        assert_eq!(limited, 20, "{refusals:?}");
        assert_eq!(hub.hub.coordination.hashing.count() - before, 10);
    })
    .await;
}

#[tokio::test]
async fn a_login_lasts_a_day() {
    on_each_engine(async |hub| {
        let bob = enrolled(&hub, "bob").await;
        let (logged_in, in_flight) = good(&hub, &bob).await;
        let token = logged_in.secret.expose();
        hub.clock.advance(Duration::from_secs(24 * 3600 - 60));
        authenticate(&hub.hub, token, Origin::default()).await.unwrap();
        hub.clock.advance(Duration::from_secs(61));
        let refused = authenticate(&hub.hub, token, Origin::default()).await.err().unwrap();
        assert_eq!(refused.to_string(), "this login has expired; log in again");
        decides_no_more(&hub, &in_flight).await;
    })
    .await;
}

async fn mints_no_more(hub: &TestHub, in_flight: &Caller) {
    let wanted = NewKey { owner: None, org: None, name: "late".into(), scopes: None, expires_at: None };
    let refused = api_keys::mint(&hub.hub, in_flight, wanted, None).await.err().unwrap();
    assert!(matches!(refused, HubError::Unauthenticated(_)), "{refused}");
}

async fn decides_no_more(hub: &TestHub, in_flight: &Caller) {
    mints_no_more(hub, in_flight).await;
    let wanted = NewPassword { current: Some(PASSWORD.into()), new: "another fine password".into() };
    let refused = passwords::set(&hub.hub, in_flight, wanted).await.unwrap_err();
    assert!(matches!(refused, HubError::Unauthenticated(_)), "{refused}");
}

#[tokio::test]
async fn what_ended_a_login_ends_it_at_once_and_nothing_in_flight_commits() {
    on_each_engine(async |hub| {
        let bob = enrolled(&hub, "bob").await;
        // Logged out, ended from another login, ended by a suspension.
        for way in 0..3 {
            let (logged_in, in_flight) = good(&hub, &bob).await;
            let (_, other) = good(&hub, &bob).await;
            let id = logged_in.seen.login.id;
            match way {
                0 => login_sessions::log_out(&hub.hub, &in_flight).await.unwrap(),
                1 => login_sessions::end(&hub.hub, &other, id).await.unwrap(),
                _ => {
                    let now = hub.hub.clock.now();
                    let end = hub.hub.records.write((bob.id, now), |tx, (account, now)| {
                        Box::pin(records::login_sessions::end_all(tx, *account, None, *now))
                    });
                    assert!(end.await.unwrap() >= 2);
                }
            }
            let refused =
                authenticate(&hub.hub, logged_in.secret.expose(), Origin::default()).await.err().unwrap();
            assert!(matches!(refused, HubError::Unauthenticated(_)), "{refused}");
            decides_no_more(&hub, &in_flight).await;
        }
    })
    .await;
}

#[tokio::test]
async fn nothing_commits_where_the_login_no_longer_is() {
    on_each_engine(async |hub| {
        let bob = enrolled(&hub, "bob").await;
        let owner = hub.caller(&hub.tenant("other").await).await;
        let other = owner.credential.organization.clone();
        let (_, in_flight) = good(&hub, &bob).await;
        let refused = login_sessions::switch(&hub.hub, &in_flight, other.id).await.unwrap_err();
        assert!(matches!(refused, HubError::NotFound(_)), "{refused}");
        let nowhere = Id::new(uuid::Uuid::nil());
        let refused = login_sessions::switch(&hub.hub, &in_flight, nowhere).await.unwrap_err();
        assert!(matches!(refused, HubError::NotFound(_)), "{refused}");
        joins(&hub, &bob, other.id).await;
        login_sessions::switch(&hub.hub, &in_flight, other.id).await.unwrap();
        let wanted = NewKey { owner: None, org: None, name: "late".into(), scopes: None, expires_at: None };
        let refused = api_keys::mint(&hub.hub, &in_flight, wanted, None).await.err().unwrap();
        assert!(refused.to_string().contains("moved to another organization"), "{refused}");
    })
    .await;
}

async fn joins(hub: &TestHub, account: &Account, org: Id<domain::organizations::Organization>) {
    let now = hub.hub.clock.now();
    let membership = domain::organizations::Membership {
        id: hub.hub.ids.id(),
        org_id: org,
        account_id: account.id,
        membership_level: MembershipLevel::Member,
        manager_id: None,
        created_at: now,
        updated_at: now,
    };
    let join = hub.hub.records.write((membership, account.clone()), |tx, (membership, account)| {
        Box::pin(records::members::insert(tx, membership, account))
    });
    join.await.unwrap();
}

#[tokio::test]
async fn a_login_says_who_chose_its_password() {
    on_each_engine(async |hub| {
        let admin = hub.caller(&hub.admin_key).await.credential.account.id;
        let bob = enrolled(&hub, "bob").await;
        let (first, caller) = good(&hub, &bob).await;
        assert_eq!(first.seen.login.minted_by, admin, "the admin knows it, too");
        // A program that this login lets in is no more Bob's own than the login itself.
        let device = granted(&hub, &caller).await;
        assert_eq!((device.seen.login.minted_by, device.seen.login.account_id), (admin, bob.id));
        let own = NewPassword { current: Some(PASSWORD.into()), new: "chosen by bob himself".into() };
        passwords::set(&hub.hub, &caller, own).await.unwrap();
        let second = attempt(&hub, &bob.email, "chosen by bob himself", "198.51.100.1").await.unwrap();
        assert_eq!(second.seen.login.minted_by, bob.id);
        is_wrong(attempt(&hub, &bob.email, PASSWORD, "198.51.100.1").await);
    })
    .await;
}

async fn granted(hub: &TestHub, caller: &Caller) -> LoggedIn {
    let asked = device_logins::ask(&hub.hub, &from("203.0.113.50")).await.unwrap();
    device_logins::answer(&hub.hub, caller, &asked.code.to_string(), Reply::Allow).await.unwrap();
    device_logins::exchange(&hub.hub, asked.secret.expose(), &from("203.0.113.50")).await.unwrap()
}

#[tokio::test]
async fn a_new_password_ends_other_logins_and_takes_back_what_they_granted() {
    on_each_engine(async |hub| {
        let bob = enrolled(&hub, "bob").await;
        let (_, here) = good(&hub, &bob).await;
        let (elsewhere, other) = good(&hub, &bob).await;
        let key = NewKey { owner: None, org: None, name: "stays".into(), scopes: None, expires_at: None };
        let key = match api_keys::mint(&hub.hub, &here, key, None).await.unwrap() {
            hub::idempotency::Outcome::Fresh(minted) => minted.secret,
            hub::idempotency::Outcome::Replayed(_) => panic!("minted once"),
        };
        let asked = device_logins::ask(&hub.hub, &from("203.0.113.50")).await.unwrap();
        device_logins::answer(&hub.hub, &other, &asked.code.to_string(), Reply::Allow).await.unwrap();
        let wanted = NewPassword { current: Some(PASSWORD.into()), new: "another fine password".into() };
        passwords::set(&hub.hub, &here, wanted).await.unwrap();
        mints_no_more(&hub, &other).await;
        authenticate(&hub.hub, elsewhere.secret.expose(), Origin::default()).await.err().unwrap();
        let late = device_logins::exchange(&hub.hub, asked.secret.expose(), &from("203.0.113.50")).await;
        assert!(matches!(late.err(), Some(HubError::AccessDenied(_))));
        login_sessions::list(&hub.hub, &here, None, 10).await.unwrap();
        authenticate(&hub.hub, key.expose(), Origin::default()).await.unwrap();
    })
    .await;
}

/// Two who set the password at once: what the second has proven is no longer so.
#[tokio::test]
async fn a_proof_is_good_for_the_password_it_was_about() {
    on_each_engine(async |hub| {
        let bob = enrolled(&hub, "bob").await;
        // With one login, which neither ends.
        let (_, one) = good(&hub, &bob).await;
        let two = one.clone();
        let set = |caller: Caller, new: &'static str| {
            let hub = hub.hub.clone();
            let wanted = NewPassword { current: Some(PASSWORD.into()), new: new.into() };
            async move { passwords::set(&hub, &caller, wanted).await }
        };
        let (left, right) = tokio::join!(set(one, "the left password"), set(two, "the right password"));
        assert_eq!([&left, &right].iter().filter(|outcome| outcome.is_ok()).count(), 1, "{left:?} {right:?}");
        let stays = if left.is_ok() { "the left password" } else { "the right password" };
        attempt(&hub, &bob.email, stays, "198.51.100.9").await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn who_left_or_was_suspended_gets_no_login_that_was_granted_before() {
    on_each_engine(async |hub| {
        let bob = enrolled(&hub, "bob").await;
        let (_, caller) = good(&hub, &bob).await;
        let asked = device_logins::ask(&hub.hub, &from("203.0.113.50")).await.unwrap();
        device_logins::answer(&hub.hub, &caller, &asked.code.to_string(), Reply::Allow).await.unwrap();
        let suspended =
            Account { status: AccountStatus::Suspended, updated_at: hub.hub.clock.now(), ..bob.clone() };
        let suspend = hub.hub.records.write((bob.clone(), suspended), |tx, (before, after)| {
            Box::pin(records::accounts::update(tx, before, after))
        });
        suspend.await.unwrap();
        let late = device_logins::exchange(&hub.hub, asked.secret.expose(), &from("203.0.113.50")).await;
        assert!(matches!(late.err(), Some(HubError::AccessDenied(_))));
        is_wrong(attempt(&hub, &bob.email, PASSWORD, "203.0.113.50").await);
    })
    .await;
}

#[tokio::test]
async fn old_logins_links_and_waiting_programs_are_forgotten_after_a_week() {
    on_each_engine(async |hub| {
        let bob = enrolled(&hub, "bob").await;
        let (logged_in, _) = good(&hub, &bob).await;
        device_logins::ask(&hub.hub, &from("203.0.113.50")).await.unwrap();
        let id = logged_in.seen.login.id;
        let is_kept = async || {
            let input = (bob.id, id);
            let get = hub
                .hub
                .records
                .read(input, |tx, (account, id)| Box::pin(records::login_sessions::get(tx, *account, *id)));
            get.await.unwrap().is_some()
        };
        let due = async || while hub::jobs::runner::run_due(&hub.hub, "test").await.unwrap() > 0 {};
        // This hub's own runner would run beside the test.
        hub.hub.lifecycle.stop().await;
        hub.clock.advance(Duration::from_secs(7 * 24 * 3600));
        due().await;
        assert!(is_kept().await, "expired six days ago");
        hub.clock.advance(Duration::from_secs(25 * 3600));
        due().await;
        assert!(!is_kept().await);
        let consumed = login_links::consume(&hub.hub, &hub.admin_link, &from("203.0.113.50")).await;
        assert!(matches!(consumed.err(), Some(HubError::NotFound(_))), "the link is forgotten");
    })
    .await;
}

#[tokio::test]
async fn the_operator_lets_people_in_who_cannot_log_in() {
    on_each_engine(async |hub| {
        let bob = enrolled(&hub, "bob").await;
        let operator = Operator {
            records: hub.hub.records.clone(),
            ids: std::sync::Arc::clone(&hub.hub.ids),
            now: hub.hub.clock.now(),
        };
        let link = operator.login_link(None).await.unwrap();
        assert_eq!(link.account.display_name, "admin", "the only one there is");
        for who in [bob.email.to_uppercase(), bob.id.to_string()] {
            let link = operator.login_link(Some(&who)).await.unwrap();
            let logged_in = login_links::consume(&hub.hub, link.secret.expose(), &from("::1")).await.unwrap();
            assert_eq!((logged_in.account.id, logged_in.seen.login.minted_by), (bob.id, bob.id));
            // Who has forgotten a password sets another without it.
            let caller = hub.caller(logged_in.secret.expose()).await;
            let wanted = NewPassword { current: None, new: "remembered from now on".into() };
            passwords::set(&hub.hub, &caller, wanted).await.unwrap();
        }
        assert!(operator.login_link(Some("nobody@default.example")).await.is_err());
        let system = operator.login_link(Some("system@countersign.invalid")).await.err().unwrap();
        assert!(system.to_string().contains("cannot log in"), "{system}");
        let second = operator.create_admin("Grace@Default.Example", Some("Grace")).await.unwrap();
        assert_eq!(second.account.email, "grace@default.example");
        let grace = login_links::consume(&hub.hub, second.secret.expose(), &from("::1")).await.unwrap();
        assert_eq!(grace.organization.slug, "default");
        assert!(grace.seen.permissions.contains(&"metrics:read"), "of the instance");
        assert!(grace.seen.roles.contains(&"admin".to_owned()), "and of the organization");
        assert!(operator.create_admin("grace@default.example", None).await.is_err(), "one of each e-mail");
        let ambiguous = operator.login_link(None).await.err().unwrap();
        assert!(ambiguous.to_string().contains("several admins"), "{ambiguous}");
    })
    .await;
}

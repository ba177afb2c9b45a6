//! Two hubs over one PostgreSQL: what must hold when nobody tells the other.

use std::sync::Arc;
use std::time::Duration;

use domain::accounts::{AccessLevel, Account, AccountChange, AccountStatus};
use domain::audit::Chain;
use domain::members::{Seat, SeatChange};
use domain::organizations::MembershipLevel;
use domain::permissions::Capability;
use hub::audit::verify::verify_chain;
use hub::idempotency::{Answer, Once, Outcome};
use hub::identity::accounts::{self, Wanted};
use hub::identity::api_keys::{self, MintedKey, NewKey};
use hub::identity::authenticate::authenticate;
use hub::identity::founding::NewAccount;
use hub::identity::members::{self, Place};
use hub::locks::{self, Acquired, Ask};
use hub::{Caller, Hub, Origin};
use records::Engine;
use testkit::{Setup, TestHub, scaled};

fn key(name: &str) -> NewKey {
    NewKey { owner: None, org: None, name: name.into(), scopes: None, expires_at: None }
}

async fn two() -> (TestHub, Hub) {
    let first = TestHub::start(Setup::on(Engine::Postgres)).await;
    let second = first.twin().await;
    (first, second)
}

async fn mint(hub: &Hub, admin_key: &str, name: &str) -> MintedKey {
    let caller = authenticate(hub, admin_key, Origin::default()).await.unwrap();
    match api_keys::mint(hub, &caller, key(name), None).await.unwrap() {
        Outcome::Fresh(minted) => {
            testkit::watch::secret(minted.secret.expose());
            minted
        }
        Outcome::Replayed(_) => panic!("nothing to replay"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn both_seal_and_the_chain_holds() {
    let (first, second) = two().await;
    let admin = first.caller(&first.admin_key).await;
    let mut work = tokio::task::JoinSet::new();
    for worker in 0..8 {
        let hub = if worker % 2 == 0 { first.hub.clone() } else { second.clone() };
        let key = first.admin_key.clone();
        work.spawn(async move {
            for number in 0..scaled(200) {
                mint(&hub, &key, &format!("{worker}-{number}")).await;
                if number % 7 == 0 {
                    // Losing to the other sealer is fine; a broken chain is not.
                    drop(hub::audit::sealer::seal_all(&hub).await);
                }
            }
        });
    }
    while let Some(done) = work.join_next().await {
        done.unwrap();
    }
    while hub::audit::sealer::seal_all(&first.hub).await.is_ok_and(|made| made > 0) {}
    let keys = first.hub.config.keys.verifying_keys();
    let chain = Chain::Organization(admin.credential.organization.id);
    let report = verify_chain(&first.hub.records, chain, &keys, None).await.unwrap().unwrap();
    let minted = u64::try_from(8 * scaled(200)).unwrap();
    assert!(report.rows >= minted, "{} rows", report.rows);
    second.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_key_ends_on_the_other_within_a_second() {
    let (first, second) = two().await;
    let minted = mint(&first.hub, &first.admin_key, "short").await;
    let secret = minted.secret.expose();
    authenticate(&second, secret, Origin::default()).await.unwrap();
    let admin = first.caller(&first.admin_key).await;
    api_keys::revoke(&first.hub, &admin, minted.key.id).await.unwrap();
    assert!(authenticate(&first.hub, secret, Origin::default()).await.is_err(), "here at once");
    let caller = authenticate(&second, secret, Origin::default()).await;
    if let Ok(stale) = caller {
        let refused = api_keys::mint(&second, &stale, key("late"), None).await;
        assert!(refused.is_err(), "a deciding unit reads the key again");
    }
    first.clock.advance(Duration::from_secs(1));
    assert!(authenticate(&second, secret, Origin::default()).await.is_err(), "there within a second");
    second.stop().await;
}

/// Whoever holds the lease is alone and need not look again; whoever has lost it believes nothing old.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_lease_ends_what_was_cached_under_it() {
    let (first, second) = two().await;
    let minted = mint(&first.hub, &first.admin_key, "short").await;
    let secret = minted.secret.expose();
    let lease = hub::instance::hold(&first.hub).await.unwrap();
    assert!(first.hub.coordination.lease.set(lease.clone()).is_ok());
    authenticate(&first.hub, secret, Origin::default()).await.unwrap();
    let admin = authenticate(&second, &first.admin_key, Origin::default()).await.unwrap();
    api_keys::revoke(&second, &admin, minted.key.id).await.unwrap();
    first.clock.advance(Duration::from_secs(2));
    assert!(lease.is_valid(first.hub.clock.now()));
    assert!(
        authenticate(&first.hub, secret, Origin::default()).await.is_ok(),
        "nobody else may have changed it"
    );
    // Longer than the lease lasts, and sooner than it is renewed.
    first.clock.advance(Duration::from_secs(30));
    assert!(!lease.is_valid(first.hub.clock.now()));
    assert!(authenticate(&first.hub, secret, Origin::default()).await.is_err(), "somebody may have");
    second.stop().await;
}

/// Whoever sets the clock on the wall ends no lock and keeps nobody from taking one.
#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_jumps_does_not_end_the_lease_of_the_locks() {
    let (first, second) = two().await;
    let lease = hub::instance::hold(&first.hub).await.unwrap();
    assert!(first.hub.coordination.lease.set(lease.clone()).is_ok());
    let admin = first.caller(&first.admin_key).await;
    let ask = |key: &str| Ask { key: key.into(), ..Ask::default() };
    let Acquired::Held(held) = locks::acquire(&first.hub, &admin, ask("resource:a:x")).await.unwrap() else {
        panic!("the key was free")
    };
    first.clock.advance(Duration::from_secs(3600));
    assert!(!lease.is_valid(first.hub.clock.now()) && lease.is_held());
    locks::heartbeat(&first.hub, &admin, None, held.hold.id, None).await.unwrap();
    locks::acquire(&first.hub, &admin, ask("resource:a:y")).await.unwrap();
    assert!(locks::is_current(&first.hub, &admin, "resource:a:x", held.hold.fence).await.unwrap());
    second.stop().await;
}

fn at(owner: &Caller, account: domain::Id<Account>) -> Place {
    Place { org: owner.credential.organization.id, account }
}

/// Decides something that only admins may; whether it was done.
async fn decides(hub: &Hub, caller: &Caller, name: &str) -> bool {
    let email = format!("{name}@example.org");
    let account = NewAccount { email: email.clone(), display_name: email, access_level: AccessLevel::User };
    let wanted = Wanted { account, seat: Seat::of(MembershipLevel::Member), password: None };
    accounts::create(hub, caller, wanted, None).await.is_ok()
}

/// Takes a right away on one hub: the other may believe in it for a second, but decides nothing by it.
async fn ends_on_the_other(take: impl AsyncFn(&Hub, &Caller, domain::Id<Account>)) {
    let (first, second) = two().await;
    let owner = first.caller(&first.admin_key).await;
    for round in 0..scaled(50) {
        let key = first.member_with(&first.admin_key, &format!("busy-{round}"), &["admin"]).await;
        let before = authenticate(&second, &key, Origin::default()).await.unwrap();
        assert!(decides(&second, &before, &format!("early-{round}")).await);
        take(&first.hub, &owner, before.credential.account.id).await;
        assert!(!decides(&second, &before, &format!("late-{round}")).await, "it was under way already");
        if let Ok(stale) = authenticate(&second, &key, Origin::default()).await {
            assert!(
                !decides(&second, &stale, &format!("stale-{round}")).await,
                "a unit reads the caller again"
            );
        }
        first.clock.advance(Duration::from_secs(1));
        let after = authenticate(&second, &key, Origin::default()).await;
        let may = after.is_ok_and(|caller| caller.capabilities.contains(Capability::MembersWrite));
        assert!(!may, "there within a second");
    }
    second.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_suspension_ends_on_the_other_within_a_second() {
    ends_on_the_other(async |hub, owner, account| {
        let suspend = AccountChange { status: Some(AccountStatus::Suspended), ..AccountChange::default() };
        accounts::change(hub, owner, account, suspend, None).await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_role_ends_on_the_other_within_a_second() {
    ends_on_the_other(async |hub, owner, account| {
        let demote = SeatChange { level: Some(MembershipLevel::Member), ..SeatChange::default() };
        members::change(hub, owner, at(owner, account), demote, None).await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_membership_ends_on_the_other_within_a_second() {
    ends_on_the_other(async |hub, owner, account| {
        members::remove(hub, owner, at(owner, account)).await.unwrap()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_idempotency_key_on_both_mints_one_key() {
    let (first, second) = two().await;
    let slot = Arc::new(domain::idempotency::Slot {
        org_id: first.caller(&first.admin_key).await.credential.organization.id,
        account_id: first.caller(&first.admin_key).await.credential.account.id,
        method: "POST".into(),
        path: "/api/v1/api-keys".into(),
        key: "once".parse().unwrap(),
    });
    let mut work = tokio::task::JoinSet::new();
    for worker in 0..16 {
        let hub = if worker % 2 == 0 { first.hub.clone() } else { second.clone() };
        let (admin, slot) = (first.admin_key.clone(), Arc::clone(&slot));
        work.spawn(async move {
            let caller = authenticate(&hub, &admin, Origin::default()).await.unwrap();
            let render = |minted: &MintedKey| Answer {
                status: 201,
                location: None,
                body: minted.key.id.to_string().into_bytes(),
            };
            let once = Once { slot: (*slot).clone(), body_hash: [7; 32], render };
            match api_keys::mint(&hub, &caller, key("once"), Some(once)).await.unwrap() {
                Outcome::Fresh(minted) => (minted.key.id.to_string(), true),
                Outcome::Replayed(answer) => (String::from_utf8(answer.body).unwrap(), false),
            }
        });
    }
    let answers: Vec<(String, bool)> = work.join_all().await;
    assert_eq!(answers.iter().filter(|(_, fresh)| *fresh).count(), 1, "{answers:?}");
    assert!(answers.iter().all(|(id, _)| *id == answers[0].0), "{answers:?}");
    second.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_them_is_refused_where_only_one_may_serve() {
    let first = TestHub::start(Setup::on(Engine::Postgres)).await;
    hub::instance::hold(&first.hub).await.unwrap();
    let second = first.twin().await;
    let refused = hub::instance::hold(&second).await.err().unwrap();
    assert!(refused.to_string().contains("another server"), "{refused}");
    second.stop().await;
}

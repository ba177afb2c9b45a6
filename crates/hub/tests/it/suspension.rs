//! A suspended account: not one more request, not one more decision.

use std::time::Duration;

use domain::accounts::{Account, AccountStatus};
use domain::events::TypeFilter;
use hub::HubError;
use hub::events::read::{Wanted, read};
use hub::identity::api_keys::{self, NewKey};
use hub::identity::authenticate::authenticate;
use hub::{Caller, Hub, Origin};
use testkit::on_each_engine;
use tokio::task::JoinSet;

async fn set_status(hub: &Hub, account: &Account, status: AccountStatus) {
    let changed = Account { status, updated_at: hub.clock.now(), ..account.clone() };
    let change = hub.records.write((account.clone(), changed), |tx, (before, after)| {
        Box::pin(records::accounts::update(tx, before, after))
    });
    change.await.unwrap();
}

#[tokio::test]
async fn takes_effect_at_once_and_no_decision_in_flight_commits() {
    on_each_engine(async |hub| {
        let key = hub.member(&hub.admin_key, "bob").await;
        // Authenticated before the suspension, deciding after it.
        let in_flight = hub.caller(&key).await;
        for status in [AccountStatus::Suspended, AccountStatus::Deactivated] {
            set_status(&hub.hub, &in_flight.credential.account, status).await;
            let refused = authenticate(&hub.hub, &key, Origin::default()).await.err().unwrap();
            assert!(matches!(refused, HubError::Unauthenticated(_)), "{refused}");
            let wanted =
                NewKey { owner: None, org: None, name: "late".into(), scopes: None, expires_at: None };
            let refused = api_keys::mint(&hub.hub, &in_flight, wanted, None).await.err().unwrap();
            assert!(matches!(refused, HubError::Unauthenticated(_)), "{refused}");
        }
        set_status(&hub.hub, &in_flight.credential.account, AccountStatus::Active).await;
        authenticate(&hub.hub, &key, Origin::default()).await.unwrap();
    })
    .await;
}

/// Who waits for events is asked again before the answer: nothing of what came after the suspension is told.
#[tokio::test]
async fn a_waiting_reader_is_told_nothing_after_the_suspension() {
    on_each_engine(async |hub| {
        let key = hub.member(&hub.admin_key, "bob").await;
        let waiting = hub.caller(&key).await;
        let head = settled(&hub.hub, &waiting).await;
        let mut readers = JoinSet::new();
        let (own, caller) = (hub.hub.clone(), waiting.clone());
        readers.spawn(async move { read(&own, &caller, wanted(Some(head), 30)).await });
        set_status(&hub.hub, &waiting.credential.account, AccountStatus::Suspended).await;
        // A seal is an event: the audit row of a new key makes one.
        hub.member(&hub.admin_key, "eve").await;
        let refused = readers.join_next().await.unwrap().unwrap().err().unwrap();
        assert!(matches!(refused, HubError::Unauthenticated(_)), "{refused}");
    })
    .await;
}

/// The end of the log, with nothing left to seal that would make it grow by itself.
async fn settled(hub: &Hub, caller: &Caller) -> i64 {
    loop {
        let sealed = hub::audit::sealer::seal_all(hub).await.unwrap();
        let numbered = !records::events::any_unnumbered(&hub.records).await.unwrap();
        let head = read(hub, caller, wanted(None, 0)).await.unwrap().last_seq;
        let news = read(hub, caller, wanted(Some(head), 0)).await.unwrap();
        if sealed == 0 && numbered && news.events.is_empty() {
            return news.last_seq;
        }
        // On PostgreSQL events are numbered a moment after their unit.
        tokio::task::yield_now().await;
    }
}

fn wanted(after: Option<i64>, seconds: u64) -> Wanted {
    Wanted { after, types: TypeFilter::EVERYTHING, limit: 1000, wait: Duration::from_secs(seconds) }
}

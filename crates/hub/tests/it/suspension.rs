//! A suspended account: not one more request, not one more decision.

use domain::accounts::{Account, AccountStatus};
use hub::HubError;
use hub::identity::api_keys::{self, NewKey};
use hub::identity::authenticate::authenticate;
use hub::{Hub, Origin};
use testkit::on_each_engine;

async fn set_status(hub: &Hub, account: &Account, status: AccountStatus) {
    let changed = Account { status, updated_at: hub.clock.now(), ..account.clone() };
    let change = hub.records.write(changed, |tx, account| Box::pin(records::accounts::update(tx, account)));
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

//! `kill -9` between an attempt and its record: what was sent is sent again, as the same message.

use std::time::Duration;

use testkit::receiver::{Manner, Receiver};
use wire::{CreateWebhook, DeliveriesQuery, DeliveryState};

use crate::support::{Home, Kind, mint, until};

async fn sent_again(kind: Kind) {
    let receiver = Receiver::start("127.0.0.1").await;
    // It takes the message in and says nothing.
    receiver.set(Manner::Hangs);
    let home = Home::on(kind).env("COUNTERSIGN_ALLOW_PRIVATE", "127.0.0.1/32");
    let mut served = home.serve().await;
    let wanted = CreateWebhook {
        url: receiver.url(),
        types: Some(vec!["audit:sealed".to_owned()]),
        secret: None,
        format: None,
        active: None,
    };
    let webhook = served.admin().create_webhook(&wanted).await.unwrap().webhook;
    mint(&served.admin(), "news").await;
    until("the first attempt", async || !receiver.received().is_empty()).await;
    let first = receiver.received()[0].clone();
    served.process.kill();

    // What a start does after the lease of a job has ended, a minute from now.
    home.forget_crash().await;
    home.sql("UPDATE jobs SET lease_until = NULL, owner = NULL").await;
    receiver.set(Manner::Says(200, String::new()));
    served = home.serve().await;
    until("the same message again", async || {
        let id = first.header("webhook-id");
        receiver.received().iter().filter(|message| message.header("webhook-id") == id).count() >= 2
    })
    .await;
    let again = receiver.received();
    let again =
        again.iter().rfind(|message| message.header("webhook-id") == first.header("webhook-id")).unwrap();
    assert_eq!(again.body, first.body);
    let delivered = DeliveriesQuery { state: Some(DeliveryState::Delivered), ..DeliveriesQuery::default() };
    let first_id = first.header("webhook-id").to_owned();
    until("that it is on record", async || {
        let page = served.admin().webhook_deliveries(webhook.id, &delivered).await.unwrap();
        page.items.iter().any(|delivery| delivery.id.to_string() == first_id)
    })
    .await;
    // Nothing is left over, and nothing is sent for ever.
    let pending = DeliveriesQuery { state: Some(DeliveryState::Pending), ..DeliveriesQuery::default() };
    until("that nothing is pending", async || {
        served.admin().webhook_deliveries(webhook.id, &pending).await.unwrap().items.is_empty()
    })
    .await;
    let began = std::time::Instant::now();
    served.stop();
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
}

#[tokio::test]
async fn what_was_sent_and_not_recorded_is_sent_again_on_sqlite() {
    sent_again(Kind::Sqlite).await;
}

#[tokio::test]
async fn what_was_sent_and_not_recorded_is_sent_again_on_postgres() {
    sent_again(Kind::Postgres).await;
}

//! Slots: what only one process may hold at a time.

use std::time::Duration;

use domain::Timestamp;
use futures_util::future::join_all;
use records::instances::{self, Instance};
use records::{Db, Result};
use uuid::Uuid;

use crate::support::{Ground, NOW, on_both_engines};

on_both_engines!(
    a_slot_has_one_holder,
    only_what_was_not_renewed_is_forgotten,
    one_of_many_gets_the_slot,
    the_database_has_a_clock
);

const LEASE: Duration = Duration::from_secs(20);

async fn take(db: &Db, process: u128, slot: &str, now: Timestamp) -> bool {
    let instance = Instance {
        id: Uuid::from_u128(process),
        kind: "server".into(),
        name: format!("server {process}"),
        slot: Some(slot.into()),
        lease_until: now.plus(LEASE),
    };
    let taken: Result<bool> = db
        .write((instance, now), |tx, (instance, now)| Box::pin(instances::take_slot(tx, instance, *now)))
        .await;
    taken.unwrap()
}

async fn release(db: &Db, process: u128) {
    let released: Result<()> =
        db.write((), move |tx, ()| Box::pin(instances::release(tx, Uuid::from_u128(process)))).await;
    released.unwrap();
}

async fn holder(db: &Db, slot: &str) -> Option<(u128, Timestamp)> {
    let holder = instances::holder(db, slot).await.unwrap()?;
    assert_eq!((holder.kind.as_str(), holder.slot.as_deref()), ("server", Some(slot)));
    assert_eq!(holder.name, format!("server {}", holder.id.as_u128()));
    Some((holder.id.as_u128(), holder.lease_until))
}

async fn a_slot_has_one_holder(ground: Ground) {
    let db = &ground.db;
    assert_eq!(holder(db, "hub").await, None);
    assert!(take(db, 1, "hub", NOW).await);
    assert!(!take(db, 2, "hub", NOW).await);
    assert!(take(db, 3, "another", NOW).await);
    let later = NOW.plus(LEASE / 2);
    assert!(take(db, 1, "hub", later).await, "it renews");
    let end = later.plus(LEASE);
    assert_eq!(holder(db, "hub").await, Some((1, end)));
    assert!(!take(db, 2, "hub", end.minus(Duration::from_micros(1))).await);
    assert!(take(db, 2, "hub", end).await, "the first one was not heard of for a whole lease");
    assert!(!take(db, 1, "hub", end).await, "it comes back too late");
    release(db, 1).await;
    assert_eq!(holder(db, "hub").await, Some((2, end.plus(LEASE))), "only the holder gives it back");
    release(db, 2).await;
    assert_eq!(holder(db, "hub").await, None);
    assert!(take(db, 1, "hub", end).await);
}

async fn only_what_was_not_renewed_is_forgotten(ground: Ground) {
    let db = &ground.db;
    let forget = async |seen: Instance| -> Result<()> {
        db.write(seen, |tx, seen| Box::pin(instances::forget(tx, seen))).await
    };
    assert!(take(db, 1, "hub", NOW).await);
    let seen = instances::holder(db, "hub").await.unwrap().unwrap();
    let later = NOW.plus(Duration::from_micros(1));
    assert!(take(db, 1, "hub", later).await);
    forget(seen).await.unwrap();
    assert_eq!(holder(db, "hub").await, Some((1, later.plus(LEASE))), "it lives");
    forget(instances::holder(db, "hub").await.unwrap().unwrap()).await.unwrap();
    assert!(take(db, 2, "hub", later).await);
}

async fn one_of_many_gets_the_slot(ground: Ground) {
    for round in 0..10_u128 {
        let now = NOW.plus(LEASE * u32::try_from(round).unwrap());
        let ids: Vec<u128> = (1..=16).map(|n| round * 100 + n).collect();
        let taken = join_all(ids.iter().map(|id| take(&ground.db, *id, "hub", now))).await;
        let winners: Vec<u128> =
            ids.into_iter().zip(taken).filter_map(|(id, won)| won.then_some(id)).collect();
        assert_eq!(winners.len(), 1, "{winners:?}");
        assert_eq!(holder(&ground.db, "hub").await, Some((winners[0], now.plus(LEASE))));
    }
}

async fn the_database_has_a_clock(ground: Ground) {
    let one = instances::database_clock(&ground.db).await.unwrap();
    let other = instances::database_clock(&ground.db).await.unwrap();
    assert!(NOW < one, "{one}");
    assert!(one <= other && other.since(one) < crate::support::PATIENCE, "{one} and {other}");
}

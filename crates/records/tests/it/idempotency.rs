//! The same request twice is one request.

use std::time::Duration;

use domain::Timestamp;
use domain::idempotency::Slot;
use futures_util::future::join_all;
use records::idempotency::{Answer, Kept};
use records::{Db, Error, Result, idempotency};

use crate::people::tenant;
use crate::support::{Ground, NOW, on_both_engines, tx_add};

on_both_engines!(
    the_first_answer_is_kept,
    a_refusal_is_not_kept,
    an_old_answer_makes_room,
    a_slot_left_empty_belongs_to_the_next,
    one_of_many_does_the_work,
    every_part_of_the_slot_counts,
);

const KEPT_FOR: Duration = Duration::from_secs(60);
const HASH: [u8; 32] = [7; 32];

async fn slot(ground: &Ground) -> Slot {
    let (org_id, account_id) = tenant(ground, 1).await;
    let (method, path, key) = ("POST".to_owned(), "/api/v1/things".to_owned(), "k".parse().unwrap());
    Slot { org_id, account_id, method, path, key }
}

fn answer(status: i64) -> Answer {
    Answer { status, location: Some("/things/1".into()), body: b"{}".to_vec() }
}

async fn take(db: &Db, slot: &Slot, hash: [u8; 32], now: Timestamp) -> Option<Kept> {
    let kept: Result<Option<Kept>> = db
        .write((slot.clone(), hash, now), |tx, (slot, hash, now)| {
            Box::pin(idempotency::take(tx, slot, hash, now.minus(KEPT_FOR), *now))
        })
        .await;
    kept.unwrap()
}

/// Takes the slot and, unless somebody else had it, does the work and keeps the answer.
async fn once(db: &Db, slot: &Slot, hash: [u8; 32], status: i64, now: Timestamp) -> Result<Option<Kept>> {
    db.write((slot.clone(), hash, status, now), |tx, (slot, hash, status, now)| {
        Box::pin(async move {
            let kept = idempotency::take(tx, slot, hash, now.minus(KEPT_FOR), *now).await?;
            if kept.is_none() {
                tx_add(tx, &format!("work {status}"), 1).await?;
                idempotency::fill(tx, slot, &answer(*status), *now).await?;
            }
            Ok(kept)
        })
    })
    .await
}

async fn the_first_answer_is_kept(ground: Ground) {
    let slot = slot(&ground).await;
    assert!(once(&ground.db, &slot, HASH, 201, NOW).await.unwrap().is_none());
    let end = NOW.plus(KEPT_FOR);
    for (hash, now) in [(HASH, NOW), ([8; 32], NOW), (HASH, end)] {
        let kept = take(&ground.db, &slot, hash, now).await.unwrap();
        assert_eq!(kept.body_hash, HASH, "the first one's, for comparison");
        assert_eq!(kept.answer.status, 201);
        assert_eq!(kept.answer.location.as_deref(), Some("/things/1"));
        assert_eq!(kept.answer.body, b"{}");
    }
}

async fn a_refusal_is_not_kept(ground: Ground) {
    let slot = slot(&ground).await;
    let refused: Result<()> = ground
        .db
        .write(slot.clone(), |tx, slot| {
            Box::pin(async move {
                idempotency::take(tx, slot, &HASH, NOW.minus(KEPT_FOR), NOW).await?;
                idempotency::fill(tx, slot, &answer(201), NOW).await?;
                Err(Error::Misbehaved("refused"))
            })
        })
        .await;
    assert!(refused.is_err());
    assert!(once(&ground.db, &slot, HASH, 202, NOW).await.unwrap().is_none());
}

async fn an_old_answer_makes_room(ground: Ground) {
    let slot = slot(&ground).await;
    once(&ground.db, &slot, HASH, 201, NOW).await.unwrap();
    let later = NOW.plus(KEPT_FOR + Duration::from_micros(1));
    let other = [8; 32];
    assert!(once(&ground.db, &slot, other, 202, later).await.unwrap().is_none());
    let kept = take(&ground.db, &slot, other, later).await.unwrap();
    assert_eq!((kept.body_hash, kept.answer.status), (other, 202));
    let forget = async |cutoff: Timestamp| {
        let forgotten: Result<u64> =
            ground.db.write(cutoff, |tx, cutoff| Box::pin(idempotency::forget(tx, *cutoff))).await;
        forgotten.unwrap()
    };
    assert_eq!(forget(later).await, 0, "its time counts from the second answer");
    assert_eq!(forget(later.plus(Duration::from_micros(1))).await, 1);
    assert!(take(&ground.db, &slot, HASH, later).await.is_none());
}

/// A unit that took the slot and kept no answer has left nothing to repeat; not even its hash may stay.
async fn a_slot_left_empty_belongs_to_the_next(ground: Ground) {
    let slot = slot(&ground).await;
    assert!(take(&ground.db, &slot, HASH, NOW).await.is_none());
    let other = [8; 32];
    assert!(once(&ground.db, &slot, other, 201, NOW).await.unwrap().is_none());
    assert_eq!(take(&ground.db, &slot, other, NOW).await.unwrap().body_hash, other);
}

async fn one_of_many_does_the_work(ground: Ground) {
    let slot = slot(&ground).await;
    let answers = join_all((0..16).map(|n| once(&ground.db, &slot, HASH, 200 + n, NOW))).await;
    let answers: Vec<Option<Kept>> = answers.into_iter().map(Result::unwrap).collect();
    let workers: Vec<usize> = (0..16).filter(|&n| answers[n].is_none()).collect();
    assert_eq!(workers.len(), 1, "{workers:?} all did the work");
    let status = 200 + i64::try_from(workers[0]).unwrap();
    assert!(answers.iter().flatten().all(|kept| kept.answer.status == status));
    assert_eq!(ground.ids().await, [format!("work {status}")]);
}

async fn every_part_of_the_slot_counts(ground: Ground) {
    let slot = slot(&ground).await;
    let (org_id, account_id) = tenant(&ground, 2).await;
    once(&ground.db, &slot, HASH, 201, NOW).await.unwrap();
    let others = [
        Slot { org_id, ..slot.clone() },
        Slot { account_id, ..slot.clone() },
        Slot { method: "PUT".into(), ..slot.clone() },
        Slot { path: "/api/v1/things/".into(), ..slot.clone() },
        Slot { key: "K".parse().unwrap(), ..slot.clone() },
    ];
    for other in others {
        assert!(take(&ground.db, &other, HASH, NOW).await.is_none(), "{other:?}");
    }
}

//! PostgreSQL dies under load: units say so, work goes on by itself afterwards, nothing acknowledged is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use records::{Db, Error, Result, args};
use testkit::postgres::Postgres;
use testkit::scaled;
use tokio::task::{JoinSet, block_in_place};

use crate::support::{ADD, COUNT, Ground, assert_error, eventually, tx_add};

const WRITERS: usize = 16;
/// Who failed must not spend the processor on trying again.
const AGAIN_AFTER: Duration = Duration::from_millis(5);

/// What the test tells the writers and readers, and they it.
#[derive(Default)]
struct Load {
    is_over: AtomicBool,
    acknowledged: AtomicUsize,
    failed: AtomicUsize,
    read: AtomicUsize,
}

async fn write_pair(db: &Db, name: String) -> Result<()> {
    db.write(name, |tx, name| {
        Box::pin(async move {
            tx_add(tx, &format!("{name} one"), 1).await?;
            tx.push(&ADD, args![format!("{name} other"), 1]).await
        })
    })
    .await
}

/// Writes pairs until the test is over; the names of those that were acknowledged.
async fn write_pairs(db: Db, writer: usize, load: Arc<Load>) -> Vec<String> {
    let mut acknowledged = Vec::new();
    for number in 0.. {
        if load.is_over.load(Ordering::Acquire) {
            break;
        }
        let name = format!("{writer:02}-{number:06}");
        match write_pair(&db, name.clone()).await {
            Ok(()) => {
                acknowledged.push(name);
                load.acknowledged.fetch_add(1, Ordering::AcqRel);
            }
            Err(Error::Unavailable(_) | Error::OutcomeUnknown(_)) => {
                load.failed.fetch_add(1, Ordering::AcqRel);
                tokio::time::sleep(AGAIN_AFTER).await;
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    acknowledged
}

/// Reads until the test is over. A read changes nothing, so its outcome is never in doubt.
async fn read_on(db: Db, load: Arc<Load>) {
    while !load.is_over.load(Ordering::Acquire) {
        let seen: Result<i64> =
            db.read((), |tx, ()| Box::pin(async move { Ok(tx.one(&COUNT, args![]).await?.count) })).await;
        match seen {
            Ok(_) => {
                load.read.fetch_add(1, Ordering::AcqRel);
            }
            Err(Error::Unavailable(_)) => tokio::time::sleep(AGAIN_AFTER).await,
            Err(other) => panic!("{other:?}"),
        }
    }
}

async fn grows(what: &str, count: &AtomicUsize) {
    let target = count.load(Ordering::Acquire) + WRITERS;
    eventually(what, async || target <= count.load(Ordering::Acquire)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_acknowledged_is_lost() {
    let mut server = Postgres::start();
    let ground = Ground::open_database(&server).await;
    let load = Arc::new(Load::default());
    let mut writers = JoinSet::new();
    let mut readers = JoinSet::new();
    for writer in 0..WRITERS {
        writers.spawn(write_pairs(ground.db.clone(), writer, Arc::clone(&load)));
    }
    for _ in 0..2 {
        readers.spawn(read_on(ground.db.clone(), Arc::clone(&load)));
    }
    for _ in 0..scaled(20) {
        grows("units are acknowledged", &load.acknowledged).await;
        block_in_place(|| server.kill());
        grows("units fail", &load.failed).await;
        block_in_place(|| server.start_again());
    }
    grows("units are acknowledged again", &load.acknowledged).await;
    grows("reads are answered again", &load.read).await;
    load.is_over.store(true, Ordering::Release);
    readers.join_all().await;
    let acknowledged: Vec<String> = writers.join_all().await.into_iter().flatten().collect();
    let ids = ground.ids().await;
    for pair in ids.chunks(2) {
        assert_eq!(pair.len(), 2, "half a unit: {pair:?}");
        assert_eq!(pair[0].split(' ').next(), pair[1].split(' ').next(), "half a unit");
    }
    for name in &acknowledged {
        assert!(ids.binary_search(&format!("{name} one")).is_ok(), "{name} was acknowledged and is gone");
    }
    assert!(WRITERS < acknowledged.len());

    // Connections that were idle when the server died are noticed before they are used.
    block_in_place(|| server.kill());
    assert_error!(ground.add("while it is down", 1).await, Error::Unavailable(_));
    block_in_place(|| server.start_again());
    ground.add("right after", 1).await.unwrap();
}

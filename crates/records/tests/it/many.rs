//! Many units at once, and callers that go away.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use futures_util::{StreamExt as _, stream};
use records::statement::{Command, Text};
use records::{Db, Engine, Error, Result, args};
use testkit::scaled;
use tokio::task::JoinSet;

use crate::support::{
    ADD, COUNT, GET, Gate, Ground, PATIENCE, SET, STEP, add, assert_error, eventually, on_both_engines,
    started, tx_add,
};

on_both_engines!(
    a_refusal_leaves_its_neighbours,
    two_writers_at_once_lose_no_step,
    nobody_sees_an_unfinished_unit,
    a_cancelled_write_is_all_or_nothing,
    cancelled_reads_do_not_use_up_the_readers,
    close_keeps_what_it_answered,
);

async fn a_refusal_leaves_its_neighbours(ground: Ground) {
    let units = i64::try_from(scaled(5000)).unwrap();
    let writes = (0..units).map(|n| {
        ground.db.write(n, |tx, &n| {
            Box::pin(async move {
                tx_add(tx, &format!("{n:05}"), n).await?;
                let is_refused = n % 10 == 9;
                tx.exec(&SET, args![if is_refused { -1 } else { n }, &format!("{n:05}")]).await
            })
        })
    });
    // Enough to fill a group, and fewer than the queue and the pool's patience hold.
    let answers: Vec<Result<u64>> = stream::iter(writes).buffered(256).collect().await;
    for (n, answer) in answers.into_iter().enumerate() {
        match n % 10 {
            9 => assert_error!(answer, Error::Constraint { .. }),
            _ => assert_eq!(answer.unwrap(), 1),
        }
    }
    let kept: Vec<String> = (0..units).filter(|n| n % 10 != 9).map(|n| format!("{n:05}")).collect();
    assert_eq!(ground.ids().await, kept);
}

/// One step of a counter by compare-and-set.
async fn step(db: &Db) -> Result<()> {
    db.write((), |tx, ()| {
        Box::pin(async move {
            let n = tx.one(&GET, args!["counter"]).await?.n;
            tx.change_one(&STEP, args![n + 1, "counter", n], "the counter").await
        })
    })
    .await
}

async fn two_writers_at_once_lose_no_step(ground: Ground) {
    const TASKS: usize = 32;
    ground.add("counter", 0).await.unwrap();
    let steps = scaled(50);
    let mut tasks = JoinSet::new();
    for _ in 0..TASKS {
        let db = ground.db.clone();
        tasks.spawn(async move {
            let mut left = steps;
            let began = Instant::now();
            while 0 < left {
                assert!(began.elapsed() < PATIENCE, "{left} steps still to do");
                match step(&db).await {
                    Ok(()) => left -= 1,
                    // Five retries against 31 others can all be lost. Then nothing was done, and it says so.
                    Err(Error::LostRace { .. }) => {}
                    Err(other) => panic!("{other:?}"),
                }
            }
        });
    }
    tasks.join_all().await;
    assert_eq!(ground.n_of("counter").await, Some(i64::try_from(TASKS * steps).unwrap()));
}

async fn nobody_sees_an_unfinished_unit(ground: Ground) {
    ground.add("a", 1).await.unwrap();
    let gate = Arc::new(Gate::default());
    let write = ground.db.write(Arc::clone(&gate), |tx, gate| {
        Box::pin(async move {
            tx_add(tx, "b", 1).await?;
            tx.exec(&SET, args![2, "a"]).await?;
            gate.pass(tx.engine()).await;
            Ok::<_, Error>(())
        })
    });
    let look = async {
        gate.reached().await;
        let seen = (ground.count().await, ground.n_of("a").await);
        gate.open();
        seen
    };
    let (written, seen) = tokio::join!(write, look);
    written.unwrap();
    assert_eq!(seen, (1, Some(1)));
    assert_eq!((ground.count().await, ground.n_of("a").await), (2, Some(2)));
}

async fn a_cancelled_write_is_all_or_nothing(ground: Ground) {
    let rounds = scaled(1000);
    let mut cancelled = 0;
    for round in 0..rounds {
        let pair = ground.db.write(round, |tx, round| {
            Box::pin(async move {
                tx_add(tx, &format!("{round:05} one"), 1).await?;
                tx.push(&ADD, args![format!("{round:05} other"), 1]).await
            })
        });
        // From "not even sent" to "about to be answered", whatever the machine's speed.
        let patience = Duration::from_micros(u64::try_from(round % 40).unwrap() * 100);
        match tokio::time::timeout(patience, pair).await {
            Ok(answer) => answer.unwrap(),
            Err(_) => cancelled += 1,
        }
    }
    assert!(0 < cancelled, "no round was cancelled");
    ground.add("after", 1).await.unwrap();
    if ground.engine == Engine::Postgres {
        no_open_transaction(&ground).await;
    }
    let mut ids = ground.ids().await;
    assert_eq!(ids.pop().as_deref(), Some("after"));
    for pair in ids.chunks(2) {
        assert_eq!(pair.len(), 2, "half a unit: {pair:?}");
        assert_eq!(pair[0].split(' ').next(), pair[1].split(' ').next(), "half a unit");
    }
    assert!(rounds - cancelled <= ids.len() / 2, "an answered unit is missing");
}

async fn cancelled_reads_do_not_use_up_the_readers(ground: Ground) {
    /// As many as SQLite has.
    const READERS: usize = 4;
    let gates: [Arc<Gate>; READERS] = Default::default();
    for gate in &gates {
        let read = ground.db.read(Arc::clone(gate), |tx, gate| {
            Box::pin(async move {
                tx.one(&COUNT, args![]).await?;
                gate.pass(tx.engine()).await;
                Ok::<_, Error>(())
            })
        });
        tokio::select! {
            seen = read => panic!("the gate was closed: {seen:?}"),
            () = gate.reached() => {}
        }
    }
    // SQLite's readers are still busy on their threads, though nobody waits for them: the next must wait. On
    // PostgreSQL their connections are gone, and the next takes a fresh one.
    let mut next = Box::pin(ground.db.opt(&COUNT, args![]));
    let seen = match tokio::time::timeout(Duration::from_millis(50), &mut next).await {
        Ok(seen) => seen,
        Err(_) => {
            gates.iter().for_each(|gate| gate.open());
            next.await
        }
    };
    assert_eq!(seen.unwrap().unwrap().count, 0);
}

async fn close_keeps_what_it_answered(ground: Ground) {
    let gate = Arc::new(Gate::default());
    let held = ground.db.write(Arc::clone(&gate), |tx, gate| {
        Box::pin(async move {
            tx_add(tx, "held", 1).await?;
            gate.pass(tx.engine()).await;
            Ok::<_, Error>(())
        })
    });
    let ids: Vec<String> = (0..50).map(|n| format!("{n:02}")).collect();
    let writes = async {
        gate.reached().await;
        let begun = started(ids.iter().map(|id| add(&ground.db, id, 1))).await;
        let closing = async {
            tokio::join!(ground.db.close(), async { gate.open() });
        };
        tokio::join!(begun, closing).0
    };
    let (held, answers) = tokio::join!(held, writes);
    held.unwrap();
    let answered = answers.iter().filter(|answer| answer.is_ok()).count();
    if ground.engine == Engine::Sqlite {
        assert_eq!(answered, ids.len(), "what was queued is finished");
        assert!(!ground.file().with_extension("db-wal").exists(), "a connection is still open");
    }
    let kept = ground.count_behind_its_back("SELECT count(*) FROM things").await;
    assert_eq!(usize::try_from(kept).unwrap(), answered + 1);
    assert_error!(ground.add("late", 1).await, Error::Overloaded | Error::Unavailable(_));
    assert_error!(ground.db.all(&COUNT, args![]).await, Error::Overloaded | Error::Unavailable(_));
}

/// Waits until no transaction that has touched the things is open. Their locks tell, because the database is
/// shared with other tests.
async fn no_open_transaction(ground: &Ground) {
    let open =
        "SELECT count(*) FROM pg_locks WHERE relation = 'things'::regclass AND pid <> pg_backend_pid()";
    eventually("no transaction is open", async || ground.count_behind_its_back(open).await == 0).await;
}

/// On SQLite the unit stands when its caller goes away; here it is undone, and the connection must not come back
/// to the pool in the middle of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_unit_whose_caller_goes_away_leaves_no_open_transaction() {
    let ground = Ground::open(Engine::Postgres).await;
    // More often than the pool has connections.
    for _ in 0..20 {
        let gate = Arc::new(Gate::default());
        let write = ground.db.write(Arc::clone(&gate), |tx, gate| {
            Box::pin(async move {
                tx_add(tx, "a", 1).await?;
                tx.push(&ADD, args!["b", 1]).await?;
                gate.pass(tx.engine()).await;
                Ok::<_, Error>(())
            })
        });
        tokio::select! {
            answer = write => panic!("the gate was closed: {answer:?}"),
            () = gate.reached() => {}
        }
    }
    let idle = "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%' AND pid IN \
                (SELECT pid FROM pg_locks WHERE relation = 'things'::regclass)";
    eventually("no transaction is idle", async || ground.count_behind_its_back(idle).await == 0).await;
    no_open_transaction(&ground).await;
    assert_eq!(ground.count().await, 0);
    ground.add("a", 1).await.unwrap();
}

/// Two units that lock two rows in opposite order: PostgreSQL ends one of them, which is then run again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deadlock_is_a_lost_race() {
    static BUMP: Command = Command(Text::same("UPDATE things SET n = n + 1 WHERE id = $1"));
    let ground = Ground::open(Engine::Postgres).await;
    ground.add("a", 0).await.unwrap();
    ground.add("b", 0).await.unwrap();
    let (holding, runs) = (Arc::new(tokio::sync::Barrier::new(2)), Arc::new(AtomicU32::new(0)));
    let both = |first: &'static str, second: &'static str| {
        ground.db.write((Arc::clone(&holding), Arc::clone(&runs)), move |tx, (holding, runs)| {
            Box::pin(async move {
                let run = runs.fetch_add(1, Ordering::Relaxed);
                tx.exec(&BUMP, args![first]).await?;
                if run < 2 {
                    holding.wait().await;
                }
                tx.exec(&BUMP, args![second]).await
            })
        })
    };
    let (one, other): (Result<u64>, Result<u64>) = tokio::join!(both("a", "b"), both("b", "a"));
    assert_eq!((one.unwrap(), other.unwrap()), (1, 1));
    assert!(2 < runs.load(Ordering::Relaxed), "there was no deadlock");
    assert_eq!((ground.n_of("a").await, ground.n_of("b").await), (Some(2), Some(2)));
}

/// What the server refuses in its own words is rolled back, and that is known; "unknown" would make people look
/// for a change that cannot be there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unusual_error_at_the_commit_is_still_a_refusal() {
    static DIVIDE: Command = Command(Text::same("UPDATE things SET n = 1 / $1 WHERE id = 'a'"));
    let ground = Ground::open(Engine::Postgres).await;
    ground.add("a", 1).await.unwrap();
    let answer: Result<()> = ground
        .db
        .write((), |tx, ()| {
            Box::pin(async move {
                tx_add(tx, "b", 1).await?;
                tx.push(&DIVIDE, args![0]).await
            })
        })
        .await;
    assert_error!(answer, Error::Engine(_));
    assert_eq!(ground.ids().await, ["a"]);
}

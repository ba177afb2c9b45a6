//! One unit: all of it or nothing, and the error that says why.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use records::statement::{Command, Text};
use records::{Db, Engine, Error, Result, args};

use crate::support::{
    ADD, ADD_CHILD, ADD_TAGGED, COUNT, GET, Gate, Ground, PATIENCE, SET, STEP, WENT_ON, add, assert_error,
    on_both_engines, tx_add,
};

on_both_engines!(
    a_commit_makes_all_visible,
    an_error_rolls_all_back,
    a_unit_sees_its_own_writes,
    a_failed_statement_poisons_the_unit,
    a_refused_row_is_named_by_its_kind,
    a_pushed_error_surfaces_as_itself,
    a_statement_that_cannot_be_sent_takes_the_unit_along,
    pushed_statements_keep_their_order,
    a_panic_fails_only_its_unit,
    a_panic_fails_only_its_read,
    a_lost_race_is_run_again_five_times,
    only_a_lost_race_is_run_again,
    an_answered_write_is_seen_by_the_next_read,
    a_read_is_one_snapshot,
    a_read_cannot_write,
);

async fn a_commit_makes_all_visible(ground: Ground) {
    let answer: Result<&str> = ground
        .db
        .write((), |tx, ()| {
            Box::pin(async move {
                tx_add(tx, "executed", 1).await?;
                tx.push(&ADD, args!["pushed", 2]).await?;
                Ok("the unit's own answer")
            })
        })
        .await;
    assert_eq!(answer.unwrap(), "the unit's own answer");
    assert_eq!(ground.ids().await, ["executed", "pushed"]);
}

async fn an_error_rolls_all_back(ground: Ground) {
    let answer: Result<()> = ground
        .db
        .write((), |tx, ()| {
            Box::pin(async move {
                tx_add(tx, "executed", 1).await?;
                tx.push(&ADD, args!["pushed", 2]).await?;
                Err(Error::Misbehaved("the unit's own error"))
            })
        })
        .await;
    assert_error!(answer, Error::Misbehaved("the unit's own error"));
    assert_eq!(ground.count().await, 0);
    ground.add("executed", 1).await.unwrap();
}

async fn a_unit_sees_its_own_writes(ground: Ground) {
    let seen: Result<(i64, i64)> = ground
        .db
        .write((), |tx, ()| {
            Box::pin(async move {
                tx.push(&ADD, args!["a", 1]).await?;
                let before = tx.one(&GET, args!["a"]).await?.n;
                tx.exec(&SET, args![2, "a"]).await?;
                Ok((before, tx.one(&GET, args!["a"]).await?.n))
            })
        })
        .await;
    assert_eq!(seen.unwrap(), (1, 2));
}

async fn a_failed_statement_poisons_the_unit(ground: Ground) {
    ground.add("a", 1).await.unwrap();
    let executed: Result<()> = ground
        .db
        .write((), |tx, ()| {
            Box::pin(async move {
                tx_add(tx, "before", 1).await?;
                assert_error!(tx.exec(&ADD, args!["a", 2]).await, Error::Duplicate { .. });
                Ok(())
            })
        })
        .await;
    assert_error!(executed, Error::Misbehaved(WENT_ON));
    let pushed: Result<()> = ground
        .db
        .write((), |tx, ()| {
            Box::pin(async move {
                tx_add(tx, "before", 1).await?;
                // SQLite answers here, PostgreSQL at the next awaited statement. Neither may be the end of it.
                let pushed = tx.push(&ADD, args!["a", 2]).await;
                let next = tx.all(&COUNT, args![]).await;
                assert!(pushed.is_err() || next.is_err());
                Ok(())
            })
        })
        .await;
    assert_error!(pushed, Error::Misbehaved(WENT_ON));
    let raced: Result<()> = ground
        .db
        .write((), |tx, ()| {
            Box::pin(async move {
                tx_add(tx, "before", 1).await?;
                assert_error!(
                    tx.change_one(&SET, args![1, "nobody"], "a thing").await,
                    Error::LostRace { .. }
                );
                Ok(())
            })
        })
        .await;
    assert_error!(raced, Error::Misbehaved(WENT_ON));
    assert_eq!(ground.ids().await, ["a"]);
}

/// Runs one statement as a unit, awaited or pushed.
async fn run(db: &Db, statement: &'static Command, values: [&'static str; 2], pushed: bool) -> Result<()> {
    db.write(values, move |tx, [one, other]| {
        Box::pin(async move {
            tx_add(tx, "before", 1).await?;
            match pushed {
                true => tx.push(statement, args![*one, *other]).await,
                false => tx.exec(statement, args![*one, *other]).await.map(drop),
            }
        })
    })
    .await
}

static ADD_NULL: Command = Command(Text::same("INSERT INTO things (id, n) SELECT $1, NULL WHERE $2 <> ''"));
static ADD_NEGATIVE: Command = Command(Text::same("INSERT INTO things (id, n) SELECT $1, -1 WHERE $2 <> ''"));

async fn a_refused_row_is_named_by_its_kind(ground: Ground) {
    ground.add("a", 1).await.unwrap();
    run(&ground.db, &ADD_TAGGED, ["tagged", "x"], false).await.unwrap();
    ground.behind_its_back("DELETE FROM things WHERE id = 'before'").await;
    for pushed in [false, true] {
        let of = async |statement, values| run(&ground.db, statement, values, pushed).await;
        // Each engine has its own words for which one, but both must say it.
        assert_error!(of(&ADD_TAGGED, ["b", "x"]).await, Error::Duplicate { what } if what.contains("tag"));
        assert_error!(of(&ADD_TAGGED, ["a", "y"]).await, Error::Duplicate { .. });
        assert_error!(of(&ADD_CHILD, ["b", "nobody"]).await, Error::Constraint { .. });
        assert_error!(of(&ADD_NULL, ["b", "-"]).await, Error::Constraint { .. });
        assert_error!(of(&ADD_NEGATIVE, ["b", "-"]).await, Error::Constraint { .. });
        assert_eq!(ground.ids().await, ["a", "tagged"], "pushed: {pushed}");
    }
}

async fn a_pushed_error_surfaces_as_itself(ground: Ground) {
    ground.add("a", 1).await.unwrap();
    let answer: Result<()> = ground
        .db
        .write((), |tx, ()| {
            Box::pin(async move {
                // What follows the failed one fails too on PostgreSQL, only with a less useful error.
                for id in ["b", "a", "c", "d"] {
                    tx.push(&ADD, args![id, 1]).await?;
                }
                Ok(())
            })
        })
        .await;
    assert_error!(answer, Error::Duplicate { .. });
    let answer: Result<()> = ground
        .db
        .write((), |tx, ()| {
            Box::pin(async move {
                tx.push(&ADD, args!["b", 1]).await?;
                tx.push(&ADD, args!["c", -1]).await?;
                tx.one(&COUNT, args![]).await.map(drop)
            })
        })
        .await;
    assert_error!(answer, Error::Constraint { .. });
    assert_eq!(ground.ids().await, ["a"]);
}

/// A statement the client cannot even send must not be left out of a transaction that then commits.
async fn a_statement_that_cannot_be_sent_takes_the_unit_along(ground: Ground) {
    let answer: Result<()> = ground
        .db
        .write((), |tx, ()| {
            Box::pin(async move {
                tx.push(&ADD, args!["a", 1]).await?;
                tx.push(&ADD, args!["one value too few"]).await?;
                tx.push(&ADD, args!["b", 1]).await
            })
        })
        .await;
    assert_eq!(ground.ids().await, [""; 0]);
    assert_error!(answer, Error::Engine(_));
    ground.add("a", 1).await.unwrap();
}

async fn pushed_statements_keep_their_order(ground: Ground) {
    ground.add("at commit", 0).await.unwrap();
    ground.add("before a query", 0).await.unwrap();
    let steps = 100;
    let seen: Result<i64> = ground
        .db
        .write(steps, |tx, &steps| {
            Box::pin(async move {
                for step in 0..steps {
                    tx.push(&STEP, args![step + 1, "before a query", step]).await?;
                }
                let seen = tx.one(&GET, args!["before a query"]).await?.n;
                for step in 0..steps {
                    tx.push(&STEP, args![step + 1, "at commit", step]).await?;
                }
                Ok(seen)
            })
        })
        .await;
    assert_eq!(seen.unwrap(), steps);
    assert_eq!(ground.n_of("at commit").await, Some(steps));
}

async fn a_panic_fails_only_its_unit(ground: Ground) {
    // More often than the pool has connections: none may be lost to a panic.
    for round in 0..20 {
        let answer: Result<()> = ground
            .db
            .write((), |tx, ()| {
                Box::pin(async move {
                    tx_add(tx, "panicked", 1).await?;
                    panic!("planted: a unit panics")
                })
            })
            .await;
        assert_error!(answer, Error::Misbehaved("it panicked"));
        ground.add(&format!("after {round:02}"), 1).await.unwrap();
    }
    assert_eq!(ground.count().await, 20);
    assert_eq!(ground.n_of("panicked").await, None);
}

async fn a_panic_fails_only_its_read(ground: Ground) {
    ground.add("a", 1).await.unwrap();
    for _ in 0..20 {
        let answer: Result<()> = ground
            .db
            .read((), |tx, ()| {
                Box::pin(async move {
                    tx.all(&COUNT, args![]).await?;
                    panic!("planted: a read panics")
                })
            })
            .await;
        assert_error!(answer, Error::Misbehaved("it panicked"));
    }
    assert_eq!(ground.count().await, 1);
}

/// Fails with what `fail` says of the run's number, counted from 1; how often it ran.
async fn failing(db: &Db, fail: fn(u32) -> Option<Error>) -> (Result<()>, u32) {
    let runs = Arc::new(AtomicU32::new(0));
    let answer = db
        .write(Arc::clone(&runs), move |tx, runs| {
            Box::pin(async move {
                let run = runs.fetch_add(1, Ordering::Relaxed) + 1;
                tx_add(tx, &format!("run {run}"), 1).await?;
                fail(run).map_or(Ok(()), Err)
            })
        })
        .await;
    (answer, runs.load(Ordering::Relaxed))
}

async fn a_lost_race_is_run_again_five_times(ground: Ground) {
    let (answer, runs) = failing(&ground.db, |_| Some(Error::LostRace { what: "a thing".into() })).await;
    assert_error!(answer, Error::LostRace { .. });
    assert_eq!(runs, 6, "once, and five times again");
    let (answer, runs) =
        failing(&ground.db, |run| (run < 6).then(|| Error::LostRace { what: "a thing".into() })).await;
    answer.unwrap();
    assert_eq!(runs, 6);
    assert_eq!(ground.ids().await, ["run 6"], "the runs that lost left nothing");
}

async fn only_a_lost_race_is_run_again(ground: Ground) {
    let others: [fn(u32) -> Option<Error>; 6] = [
        |_| Some(Error::Duplicate { what: String::new() }),
        |_| Some(Error::Constraint { what: String::new() }),
        |_| Some(Error::Overloaded),
        |_| Some(Error::OutcomeUnknown(String::new())),
        |_| Some(Error::DiskFull),
        |_| Some(Error::Unavailable(String::new())),
    ];
    for other in others {
        let (answer, runs) = failing(&ground.db, other).await;
        assert!(answer.is_err());
        assert_eq!(runs, 1, "{answer:?}");
    }
    assert_eq!(ground.count().await, 0);
}

async fn an_answered_write_is_seen_by_the_next_read(ground: Ground) {
    for n in 0..100 {
        ground.add(&format!("{n:03}"), n).await.unwrap();
        assert_eq!(ground.n_of(&format!("{n:03}")).await, Some(n));
    }
}

async fn a_read_is_one_snapshot(ground: Ground) {
    ground.add("a", 1).await.unwrap();
    let gate = Arc::new(Gate::default());
    let read = ground.db.read(Arc::clone(&gate), |tx, gate| {
        Box::pin(async move {
            let before = tx.one(&COUNT, args![]).await?.count;
            gate.pass(tx.engine()).await;
            Ok::<_, Error>((before, tx.one(&COUNT, args![]).await?.count, tx.one(&GET, args!["a"]).await?.n))
        })
    });
    let write = async {
        gate.reached().await;
        ground.add("b", 1).await.unwrap();
        ground.behind_its_back("UPDATE things SET n = 7 WHERE id = 'a'").await;
        gate.open();
    };
    let (seen, ()) = tokio::join!(read, write);
    assert_eq!(seen.unwrap(), (1, 1, 1));
    assert_eq!((ground.count().await, ground.n_of("a").await), (2, Some(7)));
}

async fn a_read_cannot_write(ground: Ground) {
    let answer: Result<()> = ground.db.read((), |tx, ()| Box::pin(tx_add(tx, "a", 1))).await;
    assert!(answer.is_err());
    let answer: Result<()> =
        ground.db.read((), |tx, ()| Box::pin(async move { tx.push(&ADD, args!["a", 1]).await })).await;
    assert!(answer.is_err());
    assert_eq!(ground.count().await, 0);
}

/// Only SQLite can see it; there a unit that waits would stop every other writer.
#[tokio::test]
async fn a_unit_that_awaits_something_else_is_refused() {
    /// It must not have passed before the first poll, however busy the machine is; nobody waits for it.
    const LONG: Duration = PATIENCE;
    let ground = Ground::open(Engine::Sqlite).await;
    let yielded: Result<()> = ground
        .db
        .write((), |tx, ()| {
            Box::pin(async move {
                tx_add(tx, "yielded", 1).await?;
                tokio::task::yield_now().await;
                Ok(())
            })
        })
        .await;
    assert_error!(yielded, Error::Misbehaved("it awaited something other than its transaction"));
    let slept: Result<()> = ground
        .db
        .write((), |tx, ()| {
            Box::pin(async move {
                tx_add(tx, "slept", 1).await?;
                tokio::time::sleep(LONG).await;
                Ok(())
            })
        })
        .await;
    // The writer thread has no timer: tokio panics before it can wait.
    assert_error!(slept, Error::Misbehaved(_));
    let read: Result<()> = ground
        .db
        .read((), |tx, ()| {
            Box::pin(async move {
                tx.one(&COUNT, args![]).await?;
                tokio::task::yield_now().await;
                Ok(())
            })
        })
        .await;
    assert_error!(read, Error::Misbehaved("it awaited something other than its transaction"));
    assert_eq!(ground.count().await, 0);
    add(&ground.db, "after", 1).await.unwrap();
}

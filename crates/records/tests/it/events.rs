//! The event log: numbers appear in order, whoever writes and numbers at once.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use domain::events::EventDraft;
use domain::organizations::Organization;
use domain::subject::Subject;
use domain::{Id, Timestamp};
use records::events::{self, Reader};
use records::{Db, Engine, Error, Result, args};
use serde_json::json;
use testkit::postgres::Postgres;
use testkit::scaled;
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::people::tenant;
use crate::support::{COUNT, Ground, NOW, PATIENCE, eventually, on_both_engines};

on_both_engines!(
    no_number_appears_late,
    a_stretch_shows_its_reader_what_it_may_see,
    what_is_forgotten_moves_the_horizon,
    the_newest_number_is_never_forgotten,
);

const WRITERS: usize = 8;

fn draft(number: u128, org: Option<Id<Organization>>, occurred_at: Timestamp) -> EventDraft {
    EventDraft {
        id: Id::new(Uuid::from_u128(number)),
        org,
        event_type: "task:created".into(),
        occurred_at,
        actor: None,
        source: "test".into(),
        subject: Subject::new("task", number),
        payload: json!({"number": number.to_string()}),
    }
}

async fn append(db: &Db, drafts: Vec<EventDraft>) {
    let appended: Result<()> = db
        .write(drafts, |tx, drafts| {
            Box::pin(async move {
                for draft in drafts {
                    events::append(tx, draft).await?;
                }
                Ok(())
            })
        })
        .await;
    appended.unwrap();
}

/// Numbers what there is, as the hub's sequencer does. On SQLite there is never anything to do.
async fn number_all(db: &Db) {
    while events::any_unnumbered(db).await.unwrap() {
        let numbered: Result<u64> = db.write((), |tx, ()| Box::pin(events::number(tx, NOW))).await;
        numbered.unwrap();
    }
}

/// How far the writers are.
#[derive(Default)]
struct Progress {
    committed: AtomicUsize,
    /// Writers that never wait for another and are not done.
    hurrying: AtomicUsize,
}

impl Progress {
    /// Waits until a unit was committed that began later, if one will be. Each writer has one unit open at most, so
    /// of as many as there are writers one began later.
    async fn overtaken(&self) {
        let enough = self.committed.load(Ordering::Acquire) + WRITERS;
        let began = Instant::now();
        while self.committed.load(Ordering::Acquire) < enough && 0 < self.hurrying.load(Ordering::Acquire) {
            assert!(began.elapsed() < PATIENCE, "no later unit is committed first");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

/// Every other writer dawdles.
fn hurries(writer: usize) -> bool {
    writer % 2 == 1
}

/// Units of one to three events. On PostgreSQL some stay open after the rows are written until a later unit was
/// committed, so that units commit in another order than their events were made in.
async fn write_many(db: Db, writer: usize, org: Id<Organization>, progress: Arc<Progress>) {
    let units = scaled(200);
    for unit in 0..units {
        let dawdles = (!hurries(writer) && unit % 4 == 0).then(|| Arc::clone(&progress));
        let first = (writer * units + unit) * 3;
        let drafts: Vec<EventDraft> = (first..=first + unit % 3)
            .map(|n| draft(n as u128, Some(org), NOW.plus(Duration::from_micros(n as u64))))
            .collect();
        let written: Result<()> = db
            .write((drafts, dawdles), |tx, (drafts, dawdles)| {
                Box::pin(async move {
                    for draft in drafts {
                        events::append(tx, draft).await?;
                    }
                    tx.all(&COUNT, args![]).await?;
                    if let (Engine::Postgres, Some(progress)) = (tx.engine(), dawdles) {
                        progress.overtaken().await;
                    }
                    Ok(())
                })
            })
            .await;
        written.unwrap();
        progress.committed.fetch_add(1, Ordering::AcqRel);
    }
    progress.hurrying.fetch_sub(usize::from(hurries(writer)), Ordering::AcqRel);
}

/// Looks at all numbers again and again: what was not there before must be greater than all that was.
async fn watch_numbers(db: Db, is_over: Arc<AtomicBool>) -> usize {
    let mut seen = BTreeSet::new();
    loop {
        let last_look = is_over.load(Ordering::Acquire);
        let found: Vec<i64> =
            events::numbered(&db, 0, i64::MAX).await.unwrap().iter().map(|row| row.seq).collect();
        assert!(found.is_sorted_by(|one, other| one < other), "numbers in order, each once");
        let newest = seen.last().copied().unwrap_or(0);
        let late: Vec<&i64> = found.iter().filter(|seq| **seq < newest && !seen.contains(*seq)).collect();
        assert!(late.is_empty(), "{late:?} appeared after {newest}");
        let found = BTreeSet::from_iter(found);
        assert!(found.is_superset(&seen), "a number vanished");
        seen = found;
        if last_look {
            return seen.len();
        }
    }
}

/// Follows the log as a client does, by the last number it has seen.
async fn follow(db: Db, org: Id<Organization>, is_over: Arc<AtomicBool>) -> Vec<Id<domain::events::Event>> {
    let (mut after, mut ids) = (0, Vec::new());
    loop {
        let last_look = is_over.load(Ordering::Acquire);
        let reader = Reader { org, with_instance: false };
        let stretch = events::stretch(&db, reader, after, 7).await.unwrap();
        assert!(after <= stretch.head);
        for event in &stretch.events {
            let seq = event.seq.unwrap();
            assert!(after < seq && seq <= stretch.head, "{seq} after {after}, at most {}", stretch.head);
            after = seq;
            ids.push(event.id);
        }
        if last_look && stretch.events.is_empty() {
            return ids;
        }
    }
}

async fn no_number_appears_late(ground: Ground) {
    let (org, _) = tenant(&ground, 1).await;
    let units = scaled(200);
    let (is_written, is_over) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let mut sequencers = JoinSet::new();
    for _ in 0..3 {
        let (db, is_written) = (ground.db.clone(), Arc::clone(&is_written));
        sequencers.spawn(async move {
            while !is_written.load(Ordering::Acquire) {
                let numbered: Result<u64> = db.write((), |tx, ()| Box::pin(events::number(tx, NOW))).await;
                numbered.unwrap();
                tokio::task::yield_now().await;
            }
            number_all(&db).await;
        });
    }
    let mut watchers = JoinSet::new();
    let mut followers = JoinSet::new();
    for _ in 0..2 {
        watchers.spawn(watch_numbers(ground.db.clone(), Arc::clone(&is_over)));
        followers.spawn(follow(ground.db.clone(), org, Arc::clone(&is_over)));
    }
    let mut writers = JoinSet::new();
    let progress = Arc::new(Progress::default());
    progress.hurrying.store((0..WRITERS).filter(|writer| hurries(*writer)).count(), Ordering::Release);
    for writer in 0..WRITERS {
        writers.spawn(write_many(ground.db.clone(), writer, org, Arc::clone(&progress)));
    }
    writers.join_all().await;
    is_written.store(true, Ordering::Release);
    sequencers.join_all().await;
    is_over.store(true, Ordering::Release);
    let written: usize = WRITERS * (0..units).map(|unit| unit % 3 + 1).sum::<usize>();
    assert_eq!(watchers.join_all().await, [written; 2]);
    for ids in followers.join_all().await {
        assert_eq!(ids.len(), written);
        assert_eq!(BTreeSet::from_iter(ids).len(), written, "each event once");
    }
}

async fn a_stretch_shows_its_reader_what_it_may_see(ground: Ground) {
    let ((org, _), (other, _)) = (tenant(&ground, 1).await, tenant(&ground, 2).await);
    let drafts = vec![draft(1, Some(org), NOW), draft(2, Some(other), NOW), draft(3, None, NOW)];
    append(&ground.db, drafts.clone()).await;
    if ground.engine == Engine::Postgres {
        assert_eq!(events::head(&ground.db).await.unwrap(), 0, "nobody has numbered them yet");
        assert!(events::any_unnumbered(&ground.db).await.unwrap());
    }
    number_all(&ground.db).await;
    assert_eq!(events::head(&ground.db).await.unwrap(), 3);
    let seen = async |org, with_instance, after| {
        let stretch = events::stretch(&ground.db, Reader { org, with_instance }, after, 10).await.unwrap();
        assert_eq!((stretch.head, stretch.gone_through), (3, 0));
        stretch.events
    };
    let mine = seen(org, false, 0).await;
    assert_eq!(mine.len(), 1);
    assert_eq!((mine[0].id, mine[0].seq, mine[0].org_id), (drafts[0].id, Some(1), Some(org)));
    assert_eq!((&mine[0].payload, mine[0].occurred_at), (&drafts[0].payload, NOW));
    assert_eq!(seen(org, false, 1).await, []);
    let with_instance: Vec<Option<i64>> = seen(other, true, 0).await.iter().map(|event| event.seq).collect();
    assert_eq!(with_instance, [Some(2), Some(3)]);
}

async fn forget(db: &Db, org: Id<Organization>, cutoff: Timestamp) -> usize {
    let gone: Result<usize> =
        db.write((org, cutoff), |tx, (org, cutoff)| Box::pin(events::forget(tx, *org, *cutoff, NOW))).await;
    gone.unwrap()
}

async fn what_is_forgotten_moves_the_horizon(ground: Ground) {
    let ((org, _), (other, _)) = (tenant(&ground, 1).await, tenant(&ground, 2).await);
    let at = |seconds| NOW.plus(Duration::from_secs(seconds));
    for n in 0..6_u64 {
        let whose = if n % 2 == 0 { org } else { other };
        append(&ground.db, vec![draft(u128::from(n) + 1, Some(whose), at(n))]).await;
        number_all(&ground.db).await;
    }
    assert_eq!(forget(&ground.db, org, at(3)).await, 2);
    let stretch = async |org| {
        let reader = Reader { org, with_instance: true };
        let stretch = events::stretch(&ground.db, reader, 0, 10).await.unwrap();
        let seqs: Vec<i64> = stretch.events.iter().filter_map(|event| event.seq).collect();
        (seqs, stretch.gone_through, stretch.head)
    };
    assert_eq!(stretch(org).await, (vec![5], 3, 6));
    assert_eq!(stretch(other).await, (vec![2, 4, 6], 0, 6), "another tenant's log is its own");
    assert_eq!(forget(&ground.db, org, at(3)).await, 0);
    assert_eq!(stretch(org).await.1, 3);
}

async fn the_newest_number_is_never_forgotten(ground: Ground) {
    let (org, _) = tenant(&ground, 1).await;
    append(&ground.db, vec![draft(1, None, NOW), draft(2, Some(org), NOW), draft(3, None, NOW)]).await;
    number_all(&ground.db).await;
    let long_after = NOW.plus(Duration::from_secs(1000));
    assert_eq!(forget(&ground.db, org, long_after).await, 1);
    let gone: Result<usize> =
        ground.db.write(long_after, |tx, cutoff| Box::pin(events::forget_instance(tx, *cutoff))).await;
    assert_eq!(gone.unwrap(), 1);
    assert_eq!(events::head(&ground.db).await.unwrap(), 3);
    append(&ground.db, vec![draft(4, Some(org), NOW)]).await;
    number_all(&ground.db).await;
    assert_eq!(events::head(&ground.db).await.unwrap(), 4, "or a number would be given twice");
}

/// Two servers, one sequencer: who does not get to number does nothing, and does not wait.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_sequencer_steps_back() {
    let ground = Ground::open_database(Postgres::shared()).await;
    append(&ground.db, vec![draft(1, None, NOW)]).await;
    let gate = Arc::new(crate::support::Gate::default());
    let first = ground.db.write(Arc::clone(&gate), |tx, gate| {
        Box::pin(async move {
            let numbered = events::number(tx, NOW).await?;
            gate.pass(tx.engine()).await;
            Ok::<_, Error>(numbered)
        })
    });
    let second = async {
        gate.reached().await;
        let numbered: Result<u64> = ground.db.write((), |tx, ()| Box::pin(events::number(tx, NOW))).await;
        gate.open();
        numbered.unwrap()
    };
    let (first, second) = tokio::join!(first, second);
    assert_eq!((first.unwrap(), second), (1, 0));
    eventually("the number is there", async || events::head(&ground.db).await.unwrap() == 1).await;
}

//! Jobs: one owner at a time, whoever asks at once.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::Timestamp;
use domain::jobs::Job;
use records::{Db, Result, jobs};
use serde_json::json;
use testkit::scaled;
use tokio::task::JoinSet;

use crate::support::{Ground, NOW, on_both_engines};

on_both_engines!(
    a_job_has_one_owner_at_a_time,
    a_claim_takes_no_more_than_it_asked_for,
    a_lease_that_ended_can_be_taken_over,
    what_somebody_had_who_is_gone_is_taken_back,
    a_job_given_back_waits_for_its_hour,
    scheduling_again_ends_the_run_in_progress,
    the_next_due_time_counts_leases,
);

const LEASE: Duration = Duration::from_secs(60);

fn job(key: &str, run_at: Timestamp) -> Job {
    let (kind, payload) = ("test".to_owned(), json!({"key": key}));
    Job { kind, key: key.to_owned(), run_at, lease_until: None, owner: None, attempts: 0, payload }
}

async fn schedule(db: &Db, job: Job) {
    let done: Result<()> = db.write(job, |tx, job| Box::pin(jobs::schedule(tx, job, NOW))).await;
    done.unwrap();
}

async fn schedule_if_absent(db: &Db, job: Job) {
    let done: Result<()> = db.write(job, |tx, job| Box::pin(jobs::schedule_if_absent(tx, job, NOW))).await;
    done.unwrap();
}

async fn claim(db: &Db, owner: &str, now: Timestamp, limit: i64) -> Vec<Job> {
    let claimed: Result<Vec<Job>> = db
        .write((owner.to_owned(), now, limit), |tx, (owner, now, limit)| {
            Box::pin(jobs::claim(tx, owner, now.plus(LEASE), *now, *limit))
        })
        .await;
    claimed.unwrap()
}

async fn done(db: &Db, job: &Job) -> bool {
    let done: Result<bool> = db.write(job.clone(), |tx, job| Box::pin(jobs::done(tx, job))).await;
    done.unwrap()
}

async fn again(db: &Db, job: Job, now: Timestamp) -> bool {
    let again: Result<bool> =
        db.write((job, now), |tx, (job, now)| Box::pin(jobs::again(tx, job, Some("it rained"), *now))).await;
    again.unwrap()
}

async fn get(db: &Db, key: &'static str) -> Option<Job> {
    let job: Result<Option<Job>> = db.read((), move |tx, ()| Box::pin(jobs::get(tx, "test", key))).await;
    job.unwrap()
}

async fn a_job_has_one_owner_at_a_time(ground: Ground) {
    const OWNERS: usize = 8;
    let count = scaled(1000);
    for n in 0..count {
        schedule(&ground.db, job(&format!("{n:04}"), NOW)).await;
    }
    let mut owners = JoinSet::new();
    for owner in 0..OWNERS {
        let db = ground.db.clone();
        owners.spawn(async move {
            let mut mine = Vec::new();
            // Together they may all miss: what one looked at another has taken. Then there is less left each time.
            let mut misses = 0;
            while misses < 3 {
                let claimed = claim(&db, &format!("owner {owner}"), NOW, 3).await;
                misses = if claimed.is_empty() { misses + 1 } else { 0 };
                mine.extend(claimed);
            }
            mine
        });
    }
    let mut times_claimed: BTreeMap<String, usize> = BTreeMap::new();
    for job in owners.join_all().await.into_iter().flatten() {
        assert_eq!((job.attempts, job.lease_until), (1, Some(NOW.plus(LEASE))), "{job:?}");
        assert_eq!(job.payload, json!({"key": job.key}));
        *times_claimed.entry(job.key).or_default() += 1;
    }
    // What every owner missed is still there for the next one.
    for job in claim(&ground.db, "the last", NOW, i64::MAX).await {
        *times_claimed.entry(job.key).or_default() += 1;
    }
    assert_eq!(times_claimed.len(), count);
    assert!(times_claimed.values().all(|times| *times == 1), "{times_claimed:?}");
}

async fn a_claim_takes_no_more_than_it_asked_for(ground: Ground) {
    for n in 0..5 {
        schedule(&ground.db, job(&format!("lost {n}"), NOW)).await;
    }
    assert_eq!(claim(&ground.db, "a", NOW, 5).await.len(), 5);
    let later = NOW.plus(LEASE);
    for n in 0..5 {
        schedule(&ground.db, job(&format!("waiting {n}"), NOW)).await;
    }
    assert_eq!(claim(&ground.db, "b", later, 4).await.len(), 4);
    assert_eq!(claim(&ground.db, "c", later, 100).await.len(), 6);
}

async fn a_lease_that_ended_can_be_taken_over(ground: Ground) {
    schedule(&ground.db, job("a", NOW)).await;
    assert_eq!(claim(&ground.db, "early", NOW.minus(Duration::from_micros(1)), 9).await, []);
    let first = claim(&ground.db, "first", NOW, 9).await.remove(0);
    assert_eq!(first.owner.as_deref(), Some("first"));
    let end = NOW.plus(LEASE);
    assert_eq!(claim(&ground.db, "second", end.minus(Duration::from_micros(1)), 9).await, []);
    let second = claim(&ground.db, "second", end, 9).await.remove(0);
    assert_eq!((second.owner.as_deref(), second.attempts), (Some("second"), 2));
    assert!(!done(&ground.db, &first).await, "it is not the first one's any more");
    assert!(!again(&ground.db, first, end).await);
    assert!(done(&ground.db, &second).await);
    assert!(!done(&ground.db, &second).await);
    assert_eq!(get(&ground.db, "a").await, None);
}

async fn what_somebody_had_who_is_gone_is_taken_back(ground: Ground) {
    let take_back = async |attempts_max| {
        let taken: Result<u64> =
            ground.db.write(attempts_max, |tx, &max| Box::pin(jobs::take_back(tx, max, NOW))).await;
        taken.unwrap()
    };
    schedule(&ground.db, job("a", NOW)).await;
    schedule(&ground.db, job("later", NOW.plus(LEASE))).await;
    let gone = claim(&ground.db, "gone", NOW, 9).await.remove(0);
    assert_eq!(take_back(2).await, 1, "nobody has the other one");
    let next = claim(&ground.db, "next", NOW, 9).await.remove(0);
    assert_eq!((next.key.as_str(), next.attempts), ("a", 2), "at once");
    assert!(!done(&ground.db, &gone).await, "it is not theirs any more");
    assert_eq!(take_back(2).await, 0, "it was lost twice, and may be why");
    assert_eq!(claim(&ground.db, "third", NOW, 9).await, []);
    assert!(done(&ground.db, &next).await);
}

async fn a_job_given_back_waits_for_its_hour(ground: Ground) {
    schedule(&ground.db, job("a", NOW)).await;
    let mine = claim(&ground.db, "me", NOW, 9).await.remove(0);
    let later = NOW.plus(Duration::from_secs(5));
    assert!(again(&ground.db, Job { run_at: later, attempts: 1, ..mine }, NOW).await);
    let kept = get(&ground.db, "a").await.unwrap();
    assert_eq!((kept.run_at, kept.attempts, kept.owner, kept.lease_until), (later, 1, None, None));
    assert_eq!(claim(&ground.db, "me", NOW, 9).await, []);
    assert_eq!(claim(&ground.db, "me", later, 9).await.remove(0).attempts, 2);
}

async fn scheduling_again_ends_the_run_in_progress(ground: Ground) {
    schedule_if_absent(&ground.db, job("a", NOW)).await;
    let mine = claim(&ground.db, "me", NOW, 9).await.remove(0);
    let later = NOW.plus(Duration::from_secs(5));
    schedule_if_absent(&ground.db, job("a", later)).await;
    assert_eq!(get(&ground.db, "a").await.unwrap(), mine, "it has a time already");
    schedule(&ground.db, job("a", later)).await;
    assert!(!done(&ground.db, &mine).await, "or the new time would be lost");
    assert_eq!(get(&ground.db, "a").await.unwrap(), job("a", later));
}

async fn the_next_due_time_counts_leases(ground: Ground) {
    let next = async || jobs::next_due(&ground.db).await.unwrap();
    assert_eq!(next().await, None);
    let later = NOW.plus(LEASE * 2);
    schedule(&ground.db, job("later", later)).await;
    assert_eq!(next().await, Some(later));
    schedule(&ground.db, job("a", NOW)).await;
    assert_eq!(next().await, Some(NOW));
    claim(&ground.db, "me", NOW, 9).await;
    assert_eq!(next().await, Some(NOW.plus(LEASE)), "when the lease ends, if its owner is dead");
}

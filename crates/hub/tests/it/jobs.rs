//! Jobs: due at their time, one owner at a time, taken over when the owner is lost.

use std::time::{Duration, Instant};

use domain::jobs::Job;
use hub::jobs::runner::{self, run_due};
use records::{Engine, jobs};
use testkit::{TestHub, on_each_engine};

/// The jobs every hub has.
const STANDING: [&str; 10] = [
    "agents:mark_offline",
    "approvals:escalate",
    "events:forget",
    "executions:recover",
    "grants:review_stale",
    "idempotency:forget",
    "logins:forget",
    "standalone_grants:clean",
    "tasks:archive",
    "webhooks:forget",
];
const HOUR: Duration = Duration::from_secs(3600);
/// How long anything may take on a machine that is busy building, and how often we look whether it has happened.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

async fn job(hub: &TestHub, kind: &'static str) -> Option<Job> {
    hub.hub.records.read((), move |tx, ()| Box::pin(jobs::get(tx, kind, "hub"))).await.unwrap()
}

/// Until the hub's own runner has set the standing jobs and run them for the first time.
pub(crate) async fn settled(hub: &TestHub, kind: &'static str) -> Job {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match job(hub, kind).await {
            Some(job) if job.run_at > hub.hub.clock.now() && job.lease_until.is_none() => return job,
            found => assert!(Instant::now() < deadline, "{kind} is not settled: {found:?}"),
        }
        tokio::time::sleep(LOOK_INTERVAL).await;
    }
}

#[tokio::test]
async fn a_standing_job_runs_at_once_and_then_every_hour() {
    on_each_engine(async |hub| {
        for kind in STANDING {
            let first = settled(&hub, kind).await;
            assert!(first.run_at <= hub.hub.clock.now().plus(HOUR));
            assert_eq!(first.attempts, 0, "a success starts the count anew");
        }
        let before = settled(&hub, "events:forget").await.run_at;
        hub.clock.advance(2 * HOUR);
        let after = settled(&hub, "events:forget").await.run_at;
        assert!(after > before);
    })
    .await;
}

#[tokio::test]
async fn a_lost_owner_is_taken_over_after_its_lease_and_cannot_finish() {
    on_each_engine(async |hub| {
        for kind in STANDING {
            settled(&hub, kind).await;
        }
        // This hub's own runner must not take the job from under the test.
        hub.hub.lifecycle.stop().await;
        hub.clock.advance(2 * HOUR);
        let now = hub.hub.clock.now();
        let lease = now.plus(Duration::from_secs(60));
        let claim = |owner: &'static str, at| {
            let until = if owner == "lost" { lease } else { lease.plus(HOUR) };
            hub.hub.records.write((), move |tx, ()| Box::pin(jobs::claim(tx, owner, until, at, 16)))
        };
        let lost = claim("lost", now).await.unwrap();
        assert_eq!(lost.len(), STANDING.len());
        assert_eq!(claim("next", now).await.unwrap().len(), 0, "held");
        assert_eq!(claim("next", lease).await.unwrap().len(), STANDING.len(), "the lease has ended");
        let late = lost.into_iter().next().unwrap();
        let given_back = hub
            .hub
            .records
            .write(late, move |tx, late| Box::pin(jobs::again(tx, late, None, now)))
            .await
            .unwrap();
        assert!(!given_back, "the lost owner is too late");
        assert_eq!(run_due(&hub.hub, "third").await.unwrap(), 0);
    })
    .await;
}

/// A process that ended left its jobs with a minute each. They are taken back where nobody else can be at work on the
/// records, and nowhere else: somebody may be in the middle of them.
#[tokio::test]
async fn what_was_begun_before_a_crash_goes_on_where_nobody_else_can_be_at_work() {
    on_each_engine(async |hub| {
        for kind in STANDING {
            settled(&hub, kind).await;
        }
        let now = hub.hub.clock.now();
        let due = Job { run_at: now, ..settled(&hub, "events:forget").await };
        // In one unit, or this hub's own runner could be first.
        let begun = hub.hub.records.write(due, move |tx, due| {
            Box::pin(async move {
                jobs::remove(tx, "logins:forget", "hub").await?;
                jobs::schedule(tx, due, now).await?;
                jobs::claim(tx, "gone", now.plus(HOUR), now, 16).await
            })
        });
        assert_eq!(begun.await.unwrap().len(), 1);
        assert_eq!(run_due(&hub.hub, "next").await.unwrap(), 0, "somebody has it");
        runner::start(&hub.hub);
        // What is always done is set in the same unit.
        settled(&hub, "logins:forget").await;
        // Without the lease of PostgreSQL there may be another server.
        match hub.hub.records.engine() {
            Engine::Sqlite => assert_eq!(settled(&hub, "events:forget").await.attempts, 0, "it ran"),
            Engine::Postgres => {
                let kept = job(&hub, "events:forget").await.unwrap();
                assert_eq!(kept.owner.as_deref(), Some("gone"), "{kept:?}");
            }
        }
    })
    .await;
}

//! The contract and the model.

use coordination::locks::Renewal;
use testkit::locks::{Subject, contract, grip, lock, org, scripts, soon, wanted};
use testkit::scaled;

use crate::local::LocalSubject;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_local_engine_keeps_the_contract() {
    contract::keeps(LocalSubject::new).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_scripts_with_restarts_agree_with_the_model() {
    for seed in 1..=scaled(200) as u64 {
        // Small logs, so that compaction comes in between; the smallest have no room for whoever asks to write.
        let log_bytes = if seed % 2 == 0 { 4 << 10 } else { 16 << 10 };
        scripts::agree(LocalSubject::with_logs_of(log_bytes), seed * 7919, 120).await;
    }
}

#[tokio::test]
async fn the_clock_on_the_wall_ends_and_prolongs_nothing() {
    let subject = LocalSubject::new();
    let locks = subject.locks();
    for jump in [3600, -7200, 3600] {
        let held = lock(locks.acquire(wanted(1, "a"))).await.unwrap();
        subject.time.jump(jump);
        subject.advance(std::time::Duration::from_millis(29_900));
        assert!(soon(locks.is_current(org(0), held.key.clone(), held.hold.fence)).await.unwrap(), "{jump}");
        soon(locks.renew(grip(&held), None, Renewal::Heartbeat)).await.unwrap();
        subject.advance(std::time::Duration::from_millis(30_100));
        assert!(!soon(locks.is_current(org(0), held.key.clone(), held.hold.fence)).await.unwrap(), "{jump}");
    }
}

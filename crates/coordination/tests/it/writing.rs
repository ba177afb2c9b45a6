//! Who writes: the journal's thread, or whoever asks.

use std::sync::atomic::Ordering;
use std::time::Duration;

use coordination::locks::{Acquired, Refusal, Renewal};
use testkit::locks::{Subject, grip, lock, org, soon, wanted};

use crate::local::LocalSubject;

const THREAD: &str = "lock-journal";

/// Takes a lock and renews it a few times, each time when the last one is done. Who has written the renewals.
async fn one_after_the_other(subject: &LocalSubject) -> Vec<String> {
    let locks = subject.locks();
    let held = lock(locks.acquire(wanted(1, "a"))).await.unwrap();
    subject.disk.writers();
    for _ in 0..10 {
        soon(locks.renew(grip(&held), None, Renewal::Heartbeat)).await.unwrap();
    }
    subject.disk.writers()
}

/// How many of them the thread has written.
fn by_thread(writers: &[String]) -> usize {
    writers.iter().filter(|name| *name == THREAD).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_asks_writes_where_nobody_else_does() {
    let subject = LocalSubject::new();
    let writers = one_after_the_other(&subject).await;
    assert_eq!(writers.len(), 10);
    // Whoever asks while the thread is still about to sleep leaves it to the thread.
    assert!(by_thread(&writers) < 10, "{writers:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_is_kept_by_a_slow_disk() {
    let subject = LocalSubject::impatient();
    subject.disk.slow_down(Duration::from_millis(2));
    let writers = one_after_the_other(&subject).await;
    assert_eq!(by_thread(&writers), 10, "{writers:?}");
}

#[tokio::test]
async fn the_only_thread_waits_for_no_disk() {
    let writers = one_after_the_other(&LocalSubject::new()).await;
    assert_eq!(by_thread(&writers), 10, "{writers:?}");
}

/// Until whoever asks is the one who writes, and not the thread.
async fn until_askers_write(subject: &LocalSubject) {
    while by_thread(&one_after_the_other(subject).await) == 10 {
        soon(subject.locks().release_all(org(0), wanted(1, "a").agent)).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_comes_while_somebody_writes_is_written_after_it() {
    let subject = LocalSubject::new();
    until_askers_write(&subject).await;
    let standing = subject.disk.stop();
    let ask = |number: u128| {
        let locks = subject.locks();
        #[expect(clippy::disallowed_methods, reason = "a test waits for its own tasks")]
        tokio::spawn(async move { locks.acquire(wanted(number, &format!("b{number}"))).await })
    };
    // The first of them keeps a thread of the runtime; the others have the other one.
    let asked: Vec<_> = (2..20).map(ask).collect();
    while subject.locks().counts().held < 19 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(asked.iter().all(|asked| !asked.is_finished()), "answered before it was on the disk");
    drop(standing);
    for asked in asked {
        let got = soon(asked).await.unwrap();
        assert!(matches!(got, Ok(Acquired::Held(_))), "{got:?}");
    }
    assert!(
        by_thread(&subject.disk.writers()) > 0,
        "the thread has slept while there was something to write"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_asker_that_cannot_write_ends_the_engine() {
    let mut subject = LocalSubject::new();
    until_askers_write(&subject).await;
    let locks = subject.locks();
    subject.may_commit.store(false, Ordering::SeqCst);
    for name in ["b", "c"] {
        let refused = lock(locks.acquire(wanted(2, name))).await;
        assert!(matches!(refused, Err(Refusal::Unavailable(_))), "{refused:?}");
    }
    assert!(subject.local().failure().is_some());
    drop(locks);
    // It ends, although it was not the thread that found out.
    subject.may_commit.store(true, Ordering::SeqCst);
    subject.restart();
    assert_eq!(subject.locks().counts().held, 1, "only what was answered");
}

//! Whoever asked is gone before its answer is durable.
//!
//! Most of these have one thread, so that nobody who asks writes by itself: it could not go before it is done.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use coordination::locks::local::recover;
use coordination::locks::{Acquired, Happening, Locks, Refusal, Told, Wait, Wanted};
use testkit::locks::{Subject, grip, key, lock, org, queued, request, soon, ticket, until, wanted};
use tokio::task::JoinHandle;

use crate::local::LocalSubject;

type Asked = JoinHandle<Result<Acquired, Refusal>>;

/// Asks in the background. The engine has seen it when this returns; it cannot have been answered.
async fn asked(subject: &LocalSubject, wanted: Wanted) -> Asked {
    let locks = subject.locks();
    let place = (wanted.org, wanted.key.clone());
    let before = seen(subject, &place).await;
    #[expect(clippy::disallowed_methods, reason = "a test waits for its own tasks")]
    let asked = tokio::spawn(async move { locks.acquire(wanted).await });
    for _ in 0..10_000 {
        if seen(subject, &place).await != before {
            return asked;
        }
        tokio::task::yield_now().await;
    }
    panic!("the engine never saw it");
}

async fn seen(
    subject: &LocalSubject,
    place: &(domain::Id<domain::organizations::Organization>, domain::locks::LockKey),
) -> (usize, usize) {
    let line = subject.locks().queue(place.0, place.1.clone()).await.unwrap();
    (line.holders.len(), line.waiters.len())
}

async fn hang_up(asked: Asked) {
    asked.abort();
    drop(asked.await);
}

#[tokio::test]
async fn what_it_got_is_free_at_once() {
    let subject = LocalSubject::new();
    let disk = subject.disk.stop();
    let gone = asked(&subject, wanted(1, "a")).await;
    hang_up(gone).await;
    drop(disk);
    until("it is free", || subject.locks().counts().held == 0).await;
}

#[tokio::test]
async fn the_lock_its_ticket_got_meanwhile_is_free_at_once() {
    let subject = LocalSubject::new();
    let locks = subject.locks();
    let held = lock(locks.acquire(wanted(1, "a"))).await.unwrap();
    let disk = subject.disk.stop();
    let gone = asked(&subject, ticket(2, "a")).await;
    // The ticket moves up before anybody could hear of it.
    locks.abandon(grip(&held));
    hang_up(gone).await;
    drop(disk);
    until("it is free", || locks.counts().held == 0).await;
}

#[tokio::test]
async fn whoever_asks_again_keeps_it() {
    let subject = LocalSubject::new();
    let locks = subject.locks();
    let in_the_way = lock(locks.acquire(wanted(1, "b"))).await.unwrap();
    let disk = subject.disk.stop();
    let gone = [
        asked(&subject, request(wanted(2, "a"), "r")).await,
        asked(&subject, request(ticket(2, "b"), "r")).await,
    ];
    let (again, ticket_again) =
        (locks.acquire(request(wanted(2, "a"), "r")), locks.acquire(request(ticket(2, "b"), "r")));
    let both = async { tokio::join!(soon(again), queued(ticket_again)) };
    tokio::pin!(both);
    assert!(futures_util::poll!(&mut both).is_pending(), "nothing is durable yet");
    for gone in gone {
        hang_up(gone).await;
    }
    drop(disk);
    let (again, (ticket, _)) = both.await;
    let Ok(Acquired::Again(held)) = again else { panic!("{again:?}") };
    soon(locks.release(grip(&in_the_way))).await.unwrap();
    assert!(soon(locks.is_current(org(0), key("a"), held.hold.fence)).await.unwrap());
    let status = soon(locks.ticket(org(0), ticket)).await.unwrap().status;
    assert!(matches!(status, coordination::locks::TicketStatus::Granted(_)), "{status:?}");
}

/// Panics when it is asked whether it listens: that happens in the middle of a change.
#[derive(Default)]
struct Explosive(AtomicBool);

impl Told for Explosive {
    fn listens(&self) -> bool {
        assert!(!self.0.load(Ordering::SeqCst), "as the test wants it");
        false
    }

    fn tell(&self, _: Happening) {}
}

#[tokio::test]
async fn a_change_that_breaks_off_does_not_lose_the_key() {
    let (dir, told) = (tempfile::tempdir().unwrap(), Arc::new(Explosive::default()));
    let found = recover(dir.path()).unwrap();
    let locks = Arc::new(LocalSubject::open_to(dir.path(), found, 1, told.clone()).unwrap());
    let held = lock(locks.acquire(wanted(1, "a"))).await.unwrap();
    told.0.store(true, Ordering::SeqCst);
    let breaks_off = {
        let locks = Arc::clone(&locks);
        #[expect(clippy::disallowed_methods, reason = "a test waits for its own tasks")]
        tokio::spawn(async move { locks.acquire(ticket(2, "a")).await })
    };
    assert!(breaks_off.await.unwrap_err().is_panic());
    told.0.store(false, Ordering::SeqCst);
    let refused = lock(locks.acquire(wanted(3, "a"))).await;
    assert!(matches!(refused, Err(Refusal::Busy { .. })), "{refused:?}");
    soon(locks.release(grip(&held))).await.unwrap();
}

#[tokio::test]
async fn nobody_is_refused_for_what_may_never_have_been() {
    let subject = LocalSubject::new();
    let locks = subject.locks();
    let disk = subject.disk.stop();
    let first = asked(&subject, wanted(1, "a")).await;
    // A crash in this moment would leave the key free, so these have nothing to be refused for yet.
    let short = Wanted { wait: Wait::For(Duration::from_millis(1)), ..wanted(3, "a") };
    let (mut at_once, mut after_a_while) = (locks.acquire(wanted(2, "a")), locks.acquire(short));
    for answer in [&mut at_once, &mut after_a_while] {
        assert!(tokio::time::timeout(Duration::from_millis(30), answer).await.is_err(), "too early");
    }
    drop(disk);
    let (at_once, after_a_while) = soon(async { tokio::join!(at_once, after_a_while) }).await;
    assert!(matches!(at_once, Err(Refusal::Busy { .. })), "{at_once:?}");
    assert!(matches!(after_a_while, Err(Refusal::TimedOut)), "{after_a_while:?}");
    soon(first).await.unwrap().unwrap();
}

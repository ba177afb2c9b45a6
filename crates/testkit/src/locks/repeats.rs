//! The contract where somebody asks again, because it has not heard an answer.

use std::sync::Arc;
use std::time::Duration;

use coordination::locks::{Acquired, Refusal, Several, Wait, Wanted, acquire_many};

use super::contract::{asks, got, several, stands_in_line};
use super::{Subject, grip, key, lock, org, queued, request, soon, ticket, waiting, wanted};

pub(super) async fn who_repeats_gets_the_same(subject: &impl Subject) {
    let locks = subject.locks();
    let first = lock(locks.acquire(request(wanted(1, "a"), "r1"))).await.expect("a lock");
    let again = lock(locks.acquire(request(wanted(1, "a"), "r1"))).await.expect("the same request");
    assert_eq!(again.hold.id, first.hold.id);
    for other in [request(wanted(1, "a"), "r2"), wanted(1, "a")] {
        let refused = lock(locks.acquire(other)).await;
        let Err(Refusal::AlreadyHeld(held)) = refused else { panic!("{refused:?}") };
        assert_eq!(held.hold.id, first.hold.id);
    }
    let other_work = Wanted { owner: "other".into(), ..wanted(1, "a") };
    assert!(matches!(lock(locks.acquire(other_work)).await, Err(Refusal::Busy { .. })));
    let (one, _) = queued(locks.acquire(request(ticket(2, "a"), "t"))).await;
    let (two, place) = queued(locks.acquire(request(ticket(2, "a"), "t"))).await;
    assert_eq!((one, place), (two, 1));
    drop(soon(locks.leave(org(0), one)).await);
    // Who waits twice and gets it once waits no more.
    let waits = [asks(&locks, waiting(3, "a")), asks(&locks, waiting(3, "a"))];
    stands_in_line(&locks, "a", 2).await;
    soon(locks.release(grip(&first))).await.expect("its holder");
    let mut granted = 0;
    for asked in waits {
        match got(asked).await {
            Ok(_) => granted += 1,
            Err(refusal) => assert!(matches!(refusal, Refusal::AlreadyHeld(_)), "{refusal:?}"),
        }
    }
    assert_eq!(granted, 1);
}

/// A client that has lost its connection asks on another one; the hub may not know yet that the first is gone.
pub(super) async fn who_repeats_while_waiting_gets_the_same(subject: &impl Subject) {
    let locks = subject.locks();
    let held = lock(locks.acquire(wanted(1, "a"))).await.expect("a lock");
    let mut asked = Vec::new();
    for (place, name) in ["r", "r", "other"].into_iter().enumerate() {
        asked.push(asks(&locks, request(waiting(2, "a"), name)));
        stands_in_line(&locks, "a", place + 1).await;
    }
    soon(locks.release(grip(&held))).await.expect("its holder");
    let (other, second) = (asked.pop().expect("three"), asked.pop().expect("two"));
    let first = got(asked.remove(0)).await.expect("its turn");
    assert_eq!(got(second).await.expect("the same request").hold.id, first.hold.id);
    let refused = got(other).await;
    assert!(matches!(refused, Err(Refusal::AlreadyHeld(_))), "{refused:?}");
    assert_eq!(locks.counts().held, 1);
}

/// What the first request has stays its own, whatever becomes of its repetition.
pub(super) async fn who_repeats_several_loses_none(subject: &impl Subject) {
    let locks = subject.locks();
    let in_the_way = lock(locks.acquire(wanted(1, "b"))).await.expect("a lock");
    let asked = |wait| {
        let Several { keys, terms } = several(2, &["a", "b"], wait);
        Several { keys, terms: request(terms, "r") }
    };
    let first = {
        let (locks, several) = (Arc::clone(&locks), asked(Wait::For(Duration::from_secs(60))));
        #[expect(clippy::disallowed_methods, reason = "a test waits for its own tasks")]
        tokio::spawn(async move { acquire_many(&*locks, several).await })
    };
    stands_in_line(&locks, "b", 1).await;
    let again = soon(acquire_many(&*locks, asked(Wait::No))).await;
    assert!(matches!(again, Err(Refusal::Busy { .. })), "{again:?}");
    soon(locks.release(grip(&in_the_way))).await.expect("its holder");
    let all = soon(first).await.expect("no panic").expect("all, because none was lost").held;
    let again = soon(acquire_many(&*locks, asked(Wait::No))).await.expect("the same request");
    let ids = |all: &[super::Held]| all.iter().map(|held| held.hold.id).collect::<Vec<_>>();
    assert_eq!((ids(&again.held), again.taken), (ids(&all), Vec::new()), "it has taken none of them itself");
    assert!(soon(locks.is_current(org(0), key("a"), all[0].hold.fence)).await.expect("an answer"));
    let more =
        Several { keys: vec![(key("a"), all[0].hold.mode), (key("c"), all[0].hold.mode)], ..asked(Wait::No) };
    lock(locks.acquire(Wanted { ..wanted(1, "c") })).await.expect("a lock");
    assert!(matches!(soon(acquire_many(&*locks, more)).await, Err(Refusal::Busy { .. })));
    assert!(
        matches!(soon(locks.acquire(request(wanted(2, "a"), "r"))).await, Ok(Acquired::Again(_))),
        "kept"
    );
}

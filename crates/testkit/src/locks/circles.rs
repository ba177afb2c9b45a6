//! The contract where owners wait for each other.

use std::time::Duration;

use coordination::locks::{Refusal, Renewal, Rules, TicketStatus, Wait, Wanted, What};
use domain::locks::Mode;

use super::contract::{asks, got, stands_in_line};
use super::{Subject, agent, grip, key, lock, org, queued, soon, ticket, until, waiting, wanted};

/// Each holds its own key and waits for the next one's; with `shared` two bystanders share every key.
pub(super) async fn circles_lose_their_youngest(subject: &impl Subject, owners: u128, shared: bool) {
    let locks = subject.locks();
    let name = |number: u128| format!("k{}", number % owners);
    let mode = if shared { Mode::Shared } else { Mode::Exclusive };
    let mut held = Vec::new();
    for number in 0..owners {
        held.push(
            lock(locks.acquire(Wanted { mode, ..wanted(number, &name(number)) })).await.expect("its own"),
        );
    }
    if shared {
        for number in 0..owners {
            let bystander = Wanted { mode, ..wanted(100 + number, &name(number)) };
            held.push(lock(locks.acquire(bystander)).await.expect("shared"));
        }
    }
    let mut asked = Vec::new();
    for number in 0..owners {
        asked.push(asks(&locks, waiting(number, &name(number + 1))));
        if number + 1 < owners {
            stands_in_line(&locks, &name(number + 1), 1).await;
        }
    }
    let loser = usize::try_from(owners).expect("few") - 1;
    let refused = got(asked.remove(loser)).await;
    let Err(Refusal::Deadlock(circle)) = refused else { panic!("{refused:?}") };
    assert_eq!(circle.len(), asked.len() + 1, "the whole circle is named");
    let mut named: Vec<_> =
        circle.iter().map(|edge| (edge.waiter.agent, edge.key.clone(), edge.blocker.agent)).collect();
    named.sort_by_key(|(waiter, ..)| waiter.raw());
    let edges =
        (0..owners).map(|number| (agent(number), key(&name(number + 1)), agent((number + 1) % owners)));
    assert_eq!(named, edges.collect::<Vec<_>>(), "who waits for whose key, once each");
    assert!(matches!(
        soon(locks.renew(grip(&held[loser]), None, Renewal::Heartbeat)).await,
        Err(Refusal::Expired)
    ));
    // The others go on, one after the other.
    for number in (0..loser).rev() {
        for held in held.iter().filter(|held| held.key == key(&name(number as u128 + 1))) {
            drop(soon(locks.release(grip(held))).await);
        }
        let next = got(asked.remove(number)).await.expect("its turn");
        soon(locks.release(grip(&next))).await.expect("its holder");
    }
    assert_eq!(locks.counts().deadlocks, 1, "exactly one loses");
    let told = |what| subject.ears().heard().iter().filter(|told| told.what == what).count();
    until("the deadlock is told", || told(What::Deadlock) == 1).await;
    assert!(soon(locks.graph(org(0))).await.expect("a graph").edges.is_empty());
}

pub(super) async fn two_works_of_one_agent_are_no_circle(subject: &impl Subject) {
    let locks = subject.locks();
    let work = |owner: &str, name| Wanted { owner: owner.into(), ..waiting(1, name) };
    let a = lock(locks.acquire(work("one", "a"))).await.expect("a lock");
    let b = lock(locks.acquire(work("two", "b"))).await.expect("a lock");
    let c = lock(locks.acquire(work("three", "c"))).await.expect("a lock");
    let waits = [asks(&locks, work("one", "b")), asks(&locks, work("two", "c"))];
    stands_in_line(&locks, "b", 1).await;
    stands_in_line(&locks, "c", 1).await;
    for held in [&c, &b, &a] {
        soon(locks.release(grip(held))).await.expect("its holder");
    }
    for asked in waits {
        got(asked).await.expect("no circle");
    }
    // With the search switched off even a circle waits until its time is over.
    let rules = Rules { queue_max: 100, detects_deadlocks: false };
    let blind =
        |number, name| Wanted { rules, wait: Wait::For(Duration::from_millis(50)), ..wanted(number, name) };
    lock(locks.acquire(blind(7, "x"))).await.expect("a lock");
    lock(locks.acquire(blind(8, "y"))).await.expect("a lock");
    let waits = [asks(&locks, blind(7, "y")), asks(&locks, blind(8, "x"))];
    for asked in waits {
        assert!(matches!(got(asked).await, Err(Refusal::TimedOut)));
    }
}

/// Tickets need nobody who asks again, so a circle of theirs stays until somebody looks; a restart does not end it.
pub(super) async fn circles_of_before_are_found(subject: &mut impl Subject) {
    let rules = Rules { queue_max: 100, detects_deadlocks: false };
    for (number, name) in [(1, "a"), (2, "b"), (3, "c")] {
        lock(subject.locks().acquire(wanted(number, name))).await.expect("its own");
    }
    let mut tickets = Vec::new();
    for (number, name) in [(1, "b"), (2, "a"), (3, "a")] {
        tickets.push(queued(subject.locks().acquire(Wanted { rules, ..ticket(number, name) })).await.0);
    }
    subject.restart();
    let locks = subject.locks();
    assert_eq!(soon(locks.graph(org(0))).await.expect("a graph").circles.len(), 1);
    assert_eq!(locks.waiting_in(), [org(0)]);
    for _ in 0..2 {
        locks.break_circles(org(0));
    }
    assert_eq!(locks.counts().deadlocks, 1, "once");
    let status =
        async |place: usize| soon(locks.ticket(org(0), tickets[place])).await.expect("a ticket").status;
    assert!(matches!(status(0).await, TicketStatus::Granted(_)), "the older one goes on");
    assert!(matches!(status(1).await, TicketStatus::Cancelled), "the younger one has lost");
    assert!(matches!(status(2).await, TicketStatus::Waiting(1)), "who only waits for them is not in it");
}

//! The contract of an engine, scene by scene.

use std::sync::Arc;
use std::time::Duration;

use coordination::locks::{
    Acquired, Filter, Locks, Refusal, Renewal, Rules, Several, TicketStatus, Wait, Wanted, What, acquire_many,
};
use domain::Id;
use domain::locks::{Hold, LOCKS_PER_AGENT_MAX, LockKey, Mode};
use tokio::task::JoinHandle;

use super::{
    Held, Subject, agent, circles, grip, key, lock, org, queued, repeats, request, soon, ticket, until,
    waiting, wanted,
};

/// Everything, each scene with an engine of its own.
pub async fn keeps<S: Subject>(make: impl Fn() -> S) {
    one_holds_and_gives_back(&make()).await;
    a_line_is_first_come_first_served(&make()).await;
    time_ends_what_is_not_renewed(&make()).await;
    repeats::who_repeats_gets_the_same(&make()).await;
    repeats::who_repeats_while_waiting_gets_the_same(&make()).await;
    repeats::who_repeats_several_loses_none(&make()).await;
    who_goes_away_leaves_nothing(&make()).await;
    tickets_need_no_connection(&make()).await;
    lines_are_bounded(&make()).await;
    an_agent_has_only_so_many(&make()).await;
    tenants_do_not_meet(&make()).await;
    several_are_all_or_none(&make()).await;
    for (owners, shared) in [(2, false), (5, false), (20, false), (2, true), (5, true), (20, true)] {
        circles::circles_lose_their_youngest(&make(), owners, shared).await;
    }
    circles::two_works_of_one_agent_are_no_circle(&make()).await;
    circles::circles_of_before_are_found(&mut make()).await;
    an_agent_is_released_whole(&make()).await;
    an_admin_ends_what_is_held(&make()).await;
    locks_are_listed_newest_first(&make()).await;
    closing_answers_everybody(&make()).await;
}

/// Asks in the background.
pub(super) fn asks(locks: &Arc<dyn Locks>, wanted: Wanted) -> JoinHandle<Result<Acquired, Refusal>> {
    let locks = Arc::clone(locks);
    #[expect(clippy::disallowed_methods, reason = "a test waits for its own tasks")]
    tokio::spawn(async move { locks.acquire(wanted).await })
}

pub(super) async fn stands_in_line(locks: &Arc<dyn Locks>, name: &str, length: usize) {
    for _ in 0..10_000 {
        if soon(locks.queue(org(0), key(name))).await.expect("a line").waiters.len() == length {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("never {length} in line for {name}");
}

pub(super) async fn got(asked: JoinHandle<Result<Acquired, Refusal>>) -> Result<Held, Refusal> {
    match soon(asked).await.expect("a task that does not panic")? {
        Acquired::Held(held) | Acquired::Again(held) => Ok(*held),
        Acquired::Queued { .. } => panic!("a ticket where nobody asked for one"),
    }
}

async fn one_holds_and_gives_back(subject: &impl Subject) {
    let locks = subject.locks();
    let first = lock(locks.acquire(wanted(1, "a"))).await.expect("a free lock");
    let refused = lock(locks.acquire(wanted(2, "a"))).await;
    let Err(Refusal::Busy { holders, queue_length: 0 }) = refused else { panic!("{refused:?}") };
    assert_eq!(holders[0].hold.id, first.hold.id);
    assert!(soon(locks.is_current(org(0), key("a"), first.hold.fence)).await.expect("an answer"));
    let mut thief = grip(&first);
    thief.agent = agent(2);
    assert!(matches!(soon(locks.release(thief)).await, Err(Refusal::NotHolder)));
    assert!(matches!(soon(locks.renew(thief, None, Renewal::Heartbeat)).await, Err(Refusal::NotHolder)));
    soon(locks.release(grip(&first))).await.expect("its holder");
    assert!(matches!(soon(locks.release(grip(&first))).await, Err(Refusal::Expired)));
    assert!(!soon(locks.is_current(org(0), key("a"), first.hold.fence)).await.expect("an answer"));
    let second = lock(locks.acquire(wanted(2, "a"))).await.expect("free again");
    assert!(second.hold.fence > first.hold.fence);
}

async fn a_line_is_first_come_first_served(subject: &impl Subject) {
    let locks = subject.locks();
    let shared = |number| Wanted { mode: Mode::Shared, ..waiting(number, "a") };
    let readers = [
        lock(locks.acquire(shared(1))).await.expect("the first"),
        lock(locks.acquire(shared(2))).await.expect("with it"),
    ];
    let writer = asks(&locks, waiting(3, "a"));
    stands_in_line(&locks, "a", 1).await;
    let late: Vec<_> = [4, 5].map(|number| asks(&locks, shared(number))).into();
    stands_in_line(&locks, "a", 3).await;
    assert!(matches!(
        lock(locks.acquire(Wanted { wait: Wait::No, ..shared(6) })).await,
        Err(Refusal::Busy { .. })
    ));
    for reader in &readers {
        soon(locks.release(grip(reader))).await.expect("a reader");
    }
    let writer = got(writer).await.expect("its turn");
    stands_in_line(&locks, "a", 2).await;
    soon(locks.release(grip(&writer))).await.expect("the writer");
    for reader in late {
        assert!(got(reader).await.expect("together").hold.fence > writer.hold.fence);
    }
}

async fn time_ends_what_is_not_renewed(subject: &impl Subject) {
    let locks = subject.locks();
    let held = lock(locks.acquire(Wanted { ttl_seconds: 5, ..wanted(1, "a") })).await.expect("a lock");
    let next = asks(&locks, waiting(2, "a"));
    stands_in_line(&locks, "a", 1).await;
    subject.advance(Duration::from_millis(4_900));
    let renewed = soon(locks.renew(grip(&held), None, Renewal::Heartbeat)).await.expect("in time");
    assert_eq!((renewed.hold.heartbeats, renewed.hold.fence), (1, held.hold.fence));
    subject.advance(Duration::from_millis(4_900));
    assert!(!next.is_finished());
    subject.advance(Duration::from_millis(200));
    let next = got(next).await.expect("the lock that ended");
    assert!(next.hold.fence > held.hold.fence);
    assert!(matches!(soon(locks.renew(grip(&held), None, Renewal::Heartbeat)).await, Err(Refusal::Expired)));
    assert!(matches!(soon(locks.release(grip(&held))).await, Err(Refusal::Expired)));
    until("the end is told", || subject.ears().heard().iter().any(|told| told.what == What::Expired)).await;
    let longer = soon(locks.renew(grip(&next), Some(100), Renewal::Heartbeat)).await.expect("its holder");
    assert_eq!(longer.hold.ttl_seconds, 100);
    subject.advance(Duration::from_secs(99));
    assert!(soon(locks.is_current(org(0), key("a"), next.hold.fence)).await.expect("an answer"));
    soon(locks.renew(grip(&next), Some(1), Renewal::Heartbeat)).await.expect("shorter");
    subject.advance(Duration::from_millis(1_200));
    assert!(!soon(locks.is_current(org(0), key("a"), next.hold.fence)).await.expect("an answer"));
}

async fn who_goes_away_leaves_nothing(subject: &impl Subject) {
    let locks = subject.locks();
    let held = lock(locks.acquire(wanted(1, "a"))).await.expect("a lock");
    let gone = asks(&locks, waiting(2, "a"));
    stands_in_line(&locks, "a", 1).await;
    gone.abort();
    stands_in_line(&locks, "a", 0).await;
    let short = Wanted { wait: Wait::For(Duration::from_millis(20)), ..wanted(3, "a") };
    assert!(matches!(got(asks(&locks, short)).await, Err(Refusal::TimedOut)));
    // However the hand-over and the going away meet, nobody holds it afterwards.
    for _ in 0..20 {
        let gone = asks(&locks, waiting(2, "b"));
        let gone_too = asks(&locks, waiting(3, "b"));
        tokio::task::yield_now().await;
        gone.abort();
        gone_too.abort();
        for gone in [gone.await, gone_too.await] {
            // It was answered before it went; then it has what it got.
            if let Ok(Ok(Acquired::Held(held))) = gone {
                soon(locks.release(grip(&held))).await.expect("its holder");
            }
        }
    }
    until("the key is free", || {
        let free = futures_util::FutureExt::now_or_never(locks.queue(org(0), key("b")));
        free.is_some_and(|line| line.is_ok_and(|line| line.holders.is_empty() && line.waiters.is_empty()))
    })
    .await;
    soon(locks.release(grip(&held))).await.expect("its holder");
    assert_eq!((locks.counts().held, locks.counts().waiting), (0, 0));
}

async fn tickets_need_no_connection(subject: &impl Subject) {
    let locks = subject.locks();
    let held = lock(locks.acquire(ticket(1, "a"))).await.expect("a free key is a lock at once");
    let (first, place) = queued(locks.acquire(ticket(2, "a"))).await;
    assert_eq!(place, 1);
    let (second, place) = queued(locks.acquire(ticket(3, "a"))).await;
    assert_eq!(place, 2);
    let status = |id| {
        let locks = Arc::clone(&locks);
        async move { soon(locks.ticket(org(0), id)).await.expect("a ticket").status }
    };
    assert!(matches!(status(second).await, TicketStatus::Waiting(2)));
    soon(locks.release(grip(&held))).await.expect("its holder");
    let TicketStatus::Granted(promoted) = status(first).await else { panic!("not granted") };
    assert!(promoted.hold.fence > held.hold.fence);
    until("the promotion is told", || {
        subject.ears().heard().iter().any(|told| told.what == What::Promoted && told.ticket == Some(first))
    })
    .await;
    assert!(matches!(soon(locks.leave(org(0), second)).await.expect("it").status, TicketStatus::Cancelled));
    subject.advance(Duration::from_secs(31));
    assert!(matches!(status(first).await, TicketStatus::Expired), "nobody came for it");
    assert!(matches!(soon(locks.ticket(org(1), first)).await, Err(Refusal::NoTicket)), "another tenant's");
    let held = lock(locks.acquire(Wanted { ttl_seconds: 300, ..wanted(1, "a") })).await.expect("free");
    let (third, _) = queued(locks.acquire(ticket(2, "a"))).await;
    subject.advance(Duration::from_secs(299));
    soon(locks.renew(grip(&held), None, Renewal::Heartbeat)).await.expect("alive");
    subject.advance(Duration::from_secs(2));
    assert!(matches!(status(third).await, TicketStatus::Expired), "it stood long enough");
}

async fn lines_are_bounded(subject: &impl Subject) {
    let locks = subject.locks();
    let rules = Rules { queue_max: 2, detects_deadlocks: true };
    lock(locks.acquire(wanted(1, "a"))).await.expect("a lock");
    for number in [2, 3] {
        queued(locks.acquire(Wanted { rules, ..ticket(number, "a") })).await;
    }
    assert!(matches!(
        lock(locks.acquire(Wanted { rules, ..waiting(4, "a") })).await,
        Err(Refusal::QueueFull)
    ));
    // Who would not stand in it does not care how long it is.
    let refused = lock(locks.acquire(Wanted { rules, ..wanted(4, "a") })).await;
    assert!(matches!(refused, Err(Refusal::Busy { queue_length: 2, .. })), "{refused:?}");
}

async fn an_agent_has_only_so_many(subject: &impl Subject) {
    let locks = subject.locks();
    let names: Vec<String> = (0..LOCKS_PER_AGENT_MAX).map(|number| number.to_string()).collect();
    let (first, rest) = names.split_first().expect("many");
    let held = lock(locks.acquire(request(wanted(1, first), "r"))).await.expect("the first");
    let asked = rest.iter().map(|name| locks.acquire(wanted(1, name)));
    for answer in soon(futures_util::future::join_all(asked)).await {
        answer.expect("a free lock");
    }
    assert!(matches!(lock(locks.acquire(wanted(1, "more"))).await, Err(Refusal::TooMany)));
    let other_work = Wanted { owner: "other".into(), ..wanted(1, "more") };
    assert!(matches!(lock(locks.acquire(other_work)).await, Err(Refusal::TooMany)));
    lock(locks.acquire(wanted(2, "more"))).await.expect("another agent's");
    assert!(
        matches!(soon(locks.acquire(ticket(1, "more"))).await, Err(Refusal::TooMany)),
        "places count too"
    );
    let again = lock(locks.acquire(request(wanted(1, first), "r"))).await.expect("what it has already");
    assert_eq!(again.hold.id, held.hold.id);
    soon(locks.release(grip(&held))).await.expect("its holder");
    queued(locks.acquire(ticket(1, "more"))).await;
}

async fn tenants_do_not_meet(subject: &impl Subject) {
    let locks = subject.locks();
    let mine = lock(locks.acquire(wanted(1, "a"))).await.expect("mine");
    let theirs = lock(locks.acquire(Wanted { org: org(1), ..wanted(1, "a") })).await.expect("theirs");
    assert!(!soon(locks.is_current(org(1), key("a"), mine.hold.fence)).await.expect("an answer"));
    let mut wrong = grip(&theirs);
    wrong.org = org(0);
    assert!(matches!(soon(locks.release(wrong)).await, Err(Refusal::Expired)));
    assert_eq!(ended(&locks, &theirs, org(0)).await, []);
    assert_eq!(ended(&locks, &mine, org(0)).await, [mine.hold.id]);
    assert!(soon(locks.is_current(org(1), key("a"), theirs.hold.fence)).await.expect("an answer"));
}

pub(super) fn several(number: u128, names: &[&str], wait: Wait) -> Several {
    let keys = names.iter().map(|name| (key(name), Mode::Exclusive)).collect();
    Several { keys, terms: Wanted { wait, ..wanted(number, "unused") } }
}

async fn several_are_all_or_none(subject: &impl Subject) {
    let locks = subject.locks();
    let all = soon(acquire_many(&*locks, several(1, &["c", "a", "b", "a"], Wait::No))).await.expect("all");
    let taken = all.held;
    assert_eq!(all.taken, taken.iter().map(|held| held.hold.id).collect::<Vec<_>>());
    let keys: Vec<&LockKey> = taken.iter().map(|held| &held.key).collect();
    assert_eq!(keys, [&key("a"), &key("b"), &key("c")]);
    assert!(taken.iter().all(|held| held.hold.ttl_seconds == 30 && held.hold.heartbeats == 0));
    soon(locks.release(grip(&taken[0]))).await.expect("one of them");
    let refused = soon(acquire_many(&*locks, several(2, &["a", "b"], Wait::No))).await;
    assert!(matches!(refused, Err(Refusal::Busy { .. })), "{refused:?}");
    assert!(soon(locks.queue(org(0), key("a"))).await.expect("a line").holders.is_empty(), "none is kept");
    let patient = {
        let locks = Arc::clone(&locks);
        #[expect(clippy::disallowed_methods, reason = "a test waits for its own tasks")]
        tokio::spawn(async move {
            acquire_many(&*locks, several(2, &["a", "b"], Wait::For(Duration::from_secs(60)))).await
        })
    };
    stands_in_line(&locks, "b", 1).await;
    // While it waits for the second, the first does not end.
    subject.advance(Duration::from_secs(29));
    soon(locks.release(grip(&taken[1]))).await.expect("the other");
    let all = soon(patient).await.expect("no panic").expect("both").held;
    subject.advance(Duration::from_secs(29));
    for held in &all {
        assert!(soon(locks.is_current(org(0), held.key.clone(), held.hold.fence)).await.expect("an answer"));
    }
    subject.advance(Duration::from_secs(2));
    for held in &all {
        assert!(!soon(locks.is_current(org(0), held.key.clone(), held.hold.fence)).await.expect("an answer"));
    }
}

async fn an_agent_is_released_whole(subject: &impl Subject) {
    let locks = subject.locks();
    for (name, owner) in [("a", "one"), ("b", "one"), ("c", "two")] {
        lock(locks.acquire(Wanted { owner: owner.into(), ..wanted(1, name) })).await.expect("a lock");
    }
    lock(locks.acquire(wanted(2, "d"))).await.expect("another's");
    queued(locks.acquire(ticket(1, "d"))).await;
    let next = asks(&locks, waiting(3, "a"));
    stands_in_line(&locks, "a", 1).await;
    assert_eq!(soon(locks.release_all(org(0), agent(1))).await.expect("an answer"), 4);
    got(next).await.expect("its turn");
    assert_eq!((locks.counts().held, locks.counts().waiting), (2, 0));
}

async fn an_admin_ends_what_is_held(subject: &impl Subject) {
    let locks = subject.locks();
    let held = lock(locks.acquire(wanted(1, "a"))).await.expect("a lock");
    let next = asks(&locks, waiting(2, "a"));
    stands_in_line(&locks, "a", 1).await;
    assert_eq!(ended(&locks, &held, org(0)).await, [held.hold.id]);
    let next = got(next).await.expect("its turn");
    assert!(next.hold.fence > held.hold.fence);
    assert!(matches!(soon(locks.renew(grip(&held), None, Renewal::Heartbeat)).await, Err(Refusal::Expired)));
    // Whoever decided to end the first one has not decided about the second.
    assert_eq!(ended(&locks, &held, org(0)).await, []);
    assert!(soon(locks.is_current(org(0), key("a"), next.hold.fence)).await.expect("an answer"));
}

/// What an admin ends who has seen this lock.
async fn ended(
    locks: &Arc<dyn Locks>,
    seen: &Held,
    org: Id<domain::organizations::Organization>,
) -> Vec<Id<Hold>> {
    let ended = soon(locks.force_release(org, seen.key.clone(), vec![seen.hold.id])).await;
    ended.expect("an answer").iter().map(|held| held.hold.id).collect()
}

async fn locks_are_listed_newest_first(subject: &impl Subject) {
    let locks = subject.locks();
    for number in 0..10 {
        lock(locks.acquire(wanted(number % 2, &format!("n{number}")))).await.expect("a lock");
    }
    let all = Filter { org: org(0), agent: None, resource_type: None, key: None, before: None, limit: 4 };
    let mut seen = Vec::new();
    let mut filter = all.clone();
    loop {
        let page = soon(locks.list(filter.clone())).await.expect("a page");
        let Some(last) = page.last() else { break };
        filter.before = Some((last.hold.acquired_at, last.hold.id));
        seen.extend(page);
    }
    assert_eq!(seen.len(), 10);
    assert!(seen.is_sorted_by_key(|held| std::cmp::Reverse((held.hold.acquired_at, held.hold.id))));
    let count = async |filter: Filter| soon(locks.list(filter)).await.expect("a page").len();
    assert_eq!(count(Filter { agent: Some(agent(1)), limit: 100, ..all.clone() }).await, 5);
    assert_eq!(count(Filter { key: Some(key("n3")), ..all.clone() }).await, 1);
    assert_eq!(count(Filter { resource_type: Some("test".into()), ..all.clone() }).await, 4);
    assert_eq!(count(Filter { resource_type: Some("other".into()), ..all.clone() }).await, 0);
    assert_eq!(count(Filter { org: org(1), ..all }).await, 0);
}

async fn closing_answers_everybody(subject: &impl Subject) {
    let locks = subject.locks();
    lock(locks.acquire(wanted(1, "a"))).await.expect("a lock");
    let waits = asks(&locks, waiting(2, "a"));
    stands_in_line(&locks, "a", 1).await;
    let closing = Arc::clone(&locks);
    soon(tokio::task::spawn_blocking(move || closing.close())).await.expect("no panic");
    let refused = got(waits).await;
    assert!(matches!(refused, Err(Refusal::TimedOut)), "{refused:?}");
    assert!(matches!(lock(locks.acquire(wanted(3, "b"))).await, Err(Refusal::Unavailable(_))));
    // What nobody keeps true any more is not shown either.
    assert!(matches!(soon(locks.queue(org(0), key("a"))).await, Err(Refusal::Unavailable(_))));
    assert!(matches!(soon(locks.graph(org(0))).await, Err(Refusal::Unavailable(_))));
    let all = Filter { org: org(0), agent: None, resource_type: None, key: None, before: None, limit: 4 };
    assert!(matches!(soon(locks.list(all)).await, Err(Refusal::Unavailable(_))));
}

//! What many clients see of locks while the hub is killed again and again, and whether it can all be true.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use client::{AcquiredLock, Client, ClientError};
use testkit::scaled;
use tokio::task::JoinSet;
use wire::{AcquireLock, HeartbeatLock, LockMode, LocksQuery, ReleaseLock};

use crate::support::{Home, Kind, chance};

const OPERATIONS: usize = 200_000;
const CLIENTS: usize = 16;
const KEYS: usize = 6;
const ROUNDS: usize = 10;
const TTL: Duration = Duration::from_secs(300);

/// One lock, as the client that got it saw it.
#[derive(Clone, Debug)]
struct Seen {
    key: usize,
    shared: bool,
    fence: u64,
    lock_id: uuid::Uuid,
    asked: Instant,
    answered: Instant,
    /// When its release was asked for, and whether that was answered.
    released: Option<(Instant, bool)>,
}

impl Seen {
    /// The first moment at which others may have it.
    fn may_end(&self) -> Instant {
        self.released.map_or(self.asked + TTL, |(sent, _)| sent.min(self.asked + TTL))
    }
}

/// What is impossible about the locks of one key. One pass, in the order of their tokens.
fn impossible(mut locks: Vec<Seen>) -> Option<String> {
    locks.sort_by_key(|seen| seen.fence);
    let (mut asked, mut any_ended, mut alone_ended) = (None::<Instant>, None::<Instant>, None::<Instant>);
    let mut last = 0;
    for seen in &locks {
        if seen.fence == last {
            return Some(format!("a token was given twice: {seen:?}"));
        }
        last = seen.fence;
        if asked.is_some_and(|asked| seen.answered < asked) {
            return Some(format!("a later lock has a smaller token: {seen:?}"));
        }
        let must_have_ended = if seen.shared { alone_ended } else { any_ended };
        if must_have_ended.is_some_and(|ended| seen.answered < ended) {
            return Some(format!("held while somebody else held it: {seen:?}"));
        }
        asked = asked.max(Some(seen.asked));
        any_ended = any_ended.max(Some(seen.may_end()));
        if !seen.shared {
            alone_ended = alone_ended.max(Some(seen.may_end()));
        }
    }
    None
}

#[derive(Default)]
struct History {
    seen: Mutex<Vec<Seen>>,
    operations: std::sync::atomic::AtomicUsize,
}

/// Takes and gives back until the hub is gone. What it still holds then.
async fn work(client: Client, number: usize, history: Arc<History>, mut holds: Option<Seen>) -> Option<Seen> {
    let count = || history.operations.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    loop {
        let mut seen = match holds.take() {
            Some(seen) => seen,
            None => match take(&client, number).await {
                Ok(Some(seen)) => seen,
                Ok(None) => continue,
                Err(()) => return None,
            },
        };
        count();
        if chance(4) == 0 {
            let lock_id = seen.lock_id;
            let beat = HeartbeatLock { lock_id, agent_id: None, timestamp: None, ttl_extension: None };
            match client.heartbeat_lock(&beat).await {
                Ok(_) => drop(count()),
                Err(ClientError::Problem(problem)) => {
                    panic!("an acknowledged lock was lost: {problem:?} {seen:?}")
                }
                Err(_) => return Some(seen),
            }
        }
        let sent = Instant::now();
        let released = client.release_lock(&ReleaseLock { lock_id: seen.lock_id, agent_id: None }).await;
        match released {
            Ok(_) => seen.released = Some((sent, true)),
            Err(ClientError::Problem(problem)) if problem.status < 500 => {
                panic!("an acknowledged lock was lost: {problem:?} {seen:?}")
            }
            Err(_) => seen.released = Some((sent, false)),
        }
        count();
        let is_over = seen.released.is_some_and(|(_, answered)| !answered);
        history.seen.lock().unwrap().push(seen);
        if is_over {
            return None;
        }
    }
}

async fn take(client: &Client, number: usize) -> Result<Option<Seen>, ()> {
    let (key, shared) = (chance(KEYS), chance(4) == 0);
    let request = AcquireLock {
        key: format!("resource:history:{key}"),
        mode: if shared { LockMode::Shared } else { LockMode::Exclusive },
        // Whoever's answer was lost may hold something under its old name; it comes back under another.
        owner: Some(format!("client-{number}-{}", uuid::Uuid::from_bytes(hub::ids::random().unwrap()))),
        ttl_seconds: Some(u32::try_from(TTL.as_secs()).unwrap()),
        wait_seconds: Some(2),
        ..AcquireLock::default()
    };
    let asked = Instant::now();
    match client.acquire_lock(&request).await {
        Ok(AcquiredLock::Lock(lock)) => {
            let (fence, lock_id, answered) = (lock.fencing_token, lock.lock_id, Instant::now());
            Ok(Some(Seen { key, shared, fence, lock_id, asked, answered, released: None }))
        }
        Ok(AcquiredLock::Queued(queued)) => panic!("an unasked ticket: {queued:?}"),
        Err(ClientError::Problem(problem)) if problem.status == 423 => Ok(None),
        Err(ClientError::Problem(problem)) if problem.status < 500 => panic!("{problem:?}"),
        Err(_) => Err(()),
    }
}

async fn survives(home: &Home) {
    let home = &home;
    let history = Arc::new(History::default());
    let mut holding: Vec<Option<Seen>> = vec![None; CLIENTS];
    for round in 0..ROUNDS {
        if round > 0 {
            home.forget_crash().await;
        }
        let mut served = home.serve().await;
        let admin = served.admin();
        // What was answered as given back is not held, whatever the crash has taken.
        let given_back: HashSet<uuid::Uuid> = {
            let seen = history.seen.lock().unwrap();
            let answered = seen.iter().filter(|seen| seen.released.is_some_and(|(_, answered)| answered));
            answered.map(|seen| seen.lock_id).collect()
        };
        let query = LocksQuery { limit: Some(200), ..LocksQuery::default() };
        for lock in admin.locks(&query).await.unwrap().items {
            assert!(
                !given_back.contains(&lock.lock_id),
                "held again after its release was answered: {lock:?}"
            );
            // Nobody knows of what was granted to those whose answer was lost, so nobody would give it back.
            if !holding.iter().flatten().any(|seen| seen.lock_id == lock.lock_id) {
                admin.release_lock(&ReleaseLock { lock_id: lock.lock_id, agent_id: None }).await.unwrap();
            }
        }
        let mut clients = JoinSet::new();
        for (number, holds) in std::mem::take(&mut holding).into_iter().enumerate() {
            let (client, history) = (served.admin(), Arc::clone(&history));
            clients.spawn(work(client, number, history, holds));
        }
        let wanted = scaled(OPERATIONS) * (round + 1) / ROUNDS;
        let deadline = Instant::now() + Duration::from_secs(120);
        while history.operations.load(std::sync::atomic::Ordering::Relaxed) < wanted {
            assert!(Instant::now() < deadline, "the clients do not get on");
            assert!(!clients.is_empty());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        served.process.kill();
        holding = clients.join_all().await;
    }
    let mut by_key: BTreeMap<usize, Vec<Seen>> = BTreeMap::new();
    let seen = std::mem::take(&mut *history.seen.lock().unwrap());
    for seen in seen.into_iter().chain(holding.into_iter().flatten()) {
        by_key.entry(seen.key).or_default().push(seen);
    }
    for (key, locks) in by_key {
        assert!(locks.len() > 10, "nothing happened to {key}");
        assert_eq!(impossible(locks), None, "key {key}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn histories_under_kill_9_are_possible() {
    let home =
        Home::on(Kind::Sqlite).env("COUNTERSIGN_RATE_LIMIT", "0").env("COUNTERSIGN_LOCK_RATE_LIMIT", "0");
    survives(&home).await;
}

#[test]
fn the_checker_sees_what_cannot_be() {
    let start = Instant::now();
    let at = |ms: u64| start + Duration::from_millis(ms);
    let seen = |fence, asked, answered, released: u64| Seen {
        key: 0,
        shared: false,
        fence,
        lock_id: uuid::Uuid::nil(),
        asked: at(asked),
        answered: at(answered),
        released: Some((at(released), true)),
    };
    assert_eq!(impossible(vec![seen(2, 5, 30, 40), seen(1, 0, 10, 20)]), None);
    let wrong = [
        (vec![seen(1, 0, 10, 20), seen(1, 5, 30, 40)], "twice"),
        (vec![seen(2, 0, 10, 20), seen(1, 30, 40, 50)], "smaller token"),
        (vec![seen(1, 0, 10, 50), seen(2, 5, 30, 60)], "somebody else held it"),
    ];
    for (history, says) in wrong {
        let found = impossible(history).unwrap();
        assert!(found.contains(says), "{found}");
    }
    let shared = |fence, answered, released| Seen { shared: true, ..seen(fence, 0, answered, released) };
    assert_eq!(impossible(vec![shared(1, 10, 50), shared(2, 20, 60)]), None);
    assert!(impossible(vec![shared(1, 10, 50), seen(2, 5, 30, 60)]).is_some());
}

//! What many clients see of locks while the hub is killed again and again, and whether it can all be true.

mod checker;
mod held;
mod load;

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use client::{AcquiredLock, Client, ClientError};
use testkit::scaled;
use tokio::task::JoinSet;
use uuid::Uuid;
use wire::{
    AcquireLock, HeartbeatLock, Lock, LockMode, LockQueueQuery, LocksQuery, ReleaseLock, TicketStatus,
};

use crate::support::{Home, Kind, chance};
use checker::{Seen, TTL, impossible};

const CLIENTS: usize = 16;
const KEYS: usize = 6;
/// How often a ticket is asked for.
const LOOK_INTERVAL: Duration = Duration::from_millis(2);

/// How much is done, and how often the hub is killed meanwhile.
#[derive(Clone, Copy)]
struct Effort {
    operations: usize,
    rounds: usize,
}

#[derive(Default)]
struct History {
    seen: Mutex<Vec<Seen>>,
    operations: AtomicUsize,
    tickets: AtomicUsize,
}

/// Somebody asked for a lock and does not have it yet.
#[derive(Clone, Debug)]
struct Asked {
    key: usize,
    shared: bool,
    owner: String,
    at: Instant,
}

impl Asked {
    fn got(self, lock: &Lock, in_line: Option<Instant>) -> Seen {
        Seen {
            key: self.key,
            shared: self.shared,
            fence: lock.fencing_token,
            lock_id: lock.lock_id,
            owner: self.owner,
            asked: self.at,
            in_line,
            answered: Instant::now(),
            released: None,
        }
    }
}

/// What a client has in its hand.
enum Hand {
    Nothing,
    /// A ticket, and when it surely was there.
    Ticket(Asked, Uuid, Instant),
    Lock(Seen),
}

impl Hand {
    fn owner(&self) -> Option<&str> {
        match self {
            Self::Nothing => None,
            Self::Ticket(asked, ..) => Some(&asked.owner),
            Self::Lock(seen) => Some(&seen.owner),
        }
    }
}

fn key(number: usize) -> String {
    format!("resource:history:{number}")
}

struct Worker {
    client: Client,
    number: usize,
    history: Arc<History>,
}

impl Worker {
    /// Takes and gives back until the hub is gone. What it has then.
    async fn work(self, mut hand: Hand) -> Hand {
        loop {
            hand = match hand {
                Hand::Nothing => match self.ask().await {
                    Ok(hand) => hand,
                    Err(()) => return Hand::Nothing,
                },
                Hand::Ticket(asked, ticket, in_line) => match self.look(&asked, ticket, in_line).await {
                    Ok(Some(seen)) => Hand::Lock(seen),
                    Ok(None) => Hand::Ticket(asked, ticket, in_line),
                    Err(()) => return Hand::Ticket(asked, ticket, in_line),
                },
                Hand::Lock(seen) => match self.give_back(seen).await {
                    Ok(()) => Hand::Nothing,
                    Err(held) => return held.map_or(Hand::Nothing, Hand::Lock),
                },
            };
        }
    }

    fn count(&self) {
        self.history.operations.fetch_add(1, Ordering::Relaxed);
    }

    /// Asks for some key, with a connection or with a ticket.
    async fn ask(&self) -> Result<Hand, ()> {
        let queue = chance(3) == 0;
        let asked = Asked {
            key: chance(KEYS),
            shared: chance(4) == 0,
            // Whoever's answer was lost may hold something under its old name; it comes back under another.
            owner: format!("client-{}-{}", self.number, Uuid::from_bytes(hub::ids::random().unwrap())),
            at: Instant::now(),
        };
        let request = AcquireLock {
            key: key(asked.key),
            mode: if asked.shared { LockMode::Shared } else { LockMode::Exclusive },
            owner: Some(asked.owner.clone()),
            ttl_seconds: Some(u32::try_from(TTL.as_secs()).unwrap()),
            wait_seconds: (!queue).then_some(2),
            queue: queue.then_some(true),
            ..AcquireLock::default()
        };
        let answer = self.client.acquire_lock(&request).await;
        match answer {
            Ok(AcquiredLock::Lock(lock)) => {
                self.count();
                Ok(Hand::Lock(asked.got(&lock, None)))
            }
            Ok(AcquiredLock::Queued(queued)) if queue => {
                self.history.tickets.fetch_add(1, Ordering::Relaxed);
                Ok(Hand::Ticket(asked, queued.ticket_id, Instant::now()))
            }
            Ok(AcquiredLock::Queued(queued)) => panic!("an unasked ticket: {queued:?}"),
            Err(ClientError::Problem(problem)) if problem.status == 423 => Ok(Hand::Nothing),
            Err(ClientError::Problem(problem)) if problem.status < 500 => panic!("{problem:?}"),
            Err(_) => Err(()),
        }
    }

    /// Whether the ticket is served. Nobody takes it out of the line, so it keeps its place until it is.
    async fn look(&self, asked: &Asked, ticket: Uuid, in_line: Instant) -> Result<Option<Seen>, ()> {
        match self.client.lock_ticket(ticket).await {
            Ok(found) => match (found.status, found.lock) {
                (TicketStatus::Granted, Some(lock)) => {
                    self.count();
                    Ok(Some(asked.clone().got(&lock, Some(in_line))))
                }
                (TicketStatus::Waiting, None) => {
                    tokio::time::sleep(LOOK_INTERVAL).await;
                    Ok(None)
                }
                other => panic!("an acknowledged ticket was lost: {other:?} {asked:?}"),
            },
            Err(ClientError::Problem(problem)) if problem.status < 500 => {
                panic!("an acknowledged ticket was lost: {problem:?} {asked:?}")
            }
            Err(_) => Err(()),
        }
    }

    /// Keeps a lock for a moment and gives it back. What it has if the hub is gone.
    async fn give_back(&self, mut seen: Seen) -> Result<(), Option<Seen>> {
        let lock_id = seen.lock_id;
        if chance(4) == 0 {
            let beat = HeartbeatLock { lock_id, agent_id: None, timestamp: None, ttl_extension: None };
            match self.client.heartbeat_lock(&beat).await {
                Ok(_) => self.count(),
                Err(ClientError::Problem(problem)) if problem.status < 500 => {
                    panic!("an acknowledged lock was lost: {problem:?} {seen:?}")
                }
                Err(_) => return Err(Some(seen)),
            }
        }
        let sent = Instant::now();
        let is_answered = match self.client.release_lock(&ReleaseLock { lock_id, agent_id: None }).await {
            Ok(_) => true,
            Err(ClientError::Problem(problem)) if problem.status < 500 => {
                panic!("an acknowledged lock was lost: {problem:?} {seen:?}")
            }
            Err(_) => false,
        };
        self.count();
        seen.released = Some((sent, is_answered));
        self.history.seen.lock().unwrap().push(seen);
        if is_answered { Ok(()) } else { Err(None) }
    }
}

/// Nobody knows of what was granted to those whose answer was lost, so nobody else would give it back.
async fn clear_away(admin: &Client, history: &History, hands: &[Hand]) {
    let known: HashSet<&str> = hands.iter().filter_map(Hand::owner).collect();
    for number in 0..KEYS {
        let line = admin.lock_queue(&LockQueueQuery { key: key(number) }).await.unwrap();
        for waiter in line.waiters.iter().filter(|waiter| !known.contains(&*waiter.owner)) {
            admin
                .leave_lock_queue(waiter.ticket_id.expect("those with a connection are gone"))
                .await
                .unwrap();
        }
    }
    // What was answered as given back is not held, whatever the crash has taken.
    let given_back: HashSet<Uuid> = {
        let seen = history.seen.lock().unwrap();
        let answered = seen.iter().filter(|seen| seen.released.is_some_and(|(_, answered)| answered));
        answered.map(|seen| seen.lock_id).collect()
    };
    let kind = Some("history".to_owned());
    let query = LocksQuery { limit: Some(200), resource_type: kind, ..LocksQuery::default() };
    for lock in admin.locks(&query).await.unwrap().items {
        assert!(!given_back.contains(&lock.lock_id), "held again after its release was answered: {lock:?}");
        if !known.contains(&*lock.owner) {
            admin.release_lock(&ReleaseLock { lock_id: lock.lock_id, agent_id: None }).await.unwrap();
        }
    }
}

async fn survives(home: &Home, effort: Effort) {
    let history = Arc::new(History::default());
    let mut hands: Vec<Hand> = (0..CLIENTS).map(|_| Hand::Nothing).collect();
    for round in 0..effort.rounds {
        if round > 0 {
            home.forget_crash().await;
        }
        let mut served = home.serve().await;
        clear_away(&served.admin(), &history, &hands).await;
        let mut clients = JoinSet::new();
        for (number, hand) in std::mem::take(&mut hands).into_iter().enumerate() {
            let worker = Worker { client: served.admin(), number, history: Arc::clone(&history) };
            clients.spawn(worker.work(hand));
        }
        let wanted = scaled(effort.operations) * (round + 1) / effort.rounds;
        let deadline = Instant::now() + Duration::from_secs(120);
        while history.operations.load(Ordering::Relaxed) < wanted {
            assert!(Instant::now() < deadline, "the clients do not get on");
            assert!(!clients.is_empty());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        served.process.kill();
        hands = clients.join_all().await;
    }
    assert!(
        history.tickets.load(Ordering::Relaxed) > scaled(effort.operations) / 100,
        "hardly anybody waited"
    );
    check(std::mem::take(&mut *history.seen.lock().unwrap()), hands);
}

fn check(seen: Vec<Seen>, hands: Vec<Hand>) {
    let held = hands.into_iter().filter_map(|hand| match hand {
        Hand::Lock(seen) => Some(seen),
        Hand::Nothing | Hand::Ticket(..) => None,
    });
    let mut by_key: BTreeMap<usize, Vec<Seen>> = BTreeMap::new();
    for seen in seen.into_iter().chain(held) {
        by_key.entry(seen.key).or_default().push(seen);
    }
    for (key, locks) in by_key {
        assert!(locks.len() > 10, "nothing happened to {key}");
        assert_eq!(impossible(locks), None, "key {key}");
    }
}

fn home(kind: Kind) -> Home {
    Home::on(kind).env("COUNTERSIGN_RATE_LIMIT", "0").env("COUNTERSIGN_LOCK_RATE_LIMIT", "0")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn histories_under_kill_9_are_possible() {
    survives(&home(Kind::Sqlite), Effort { operations: 200_000, rounds: 10 }).await;
}

/// The engine is the same; what differs is where its epochs come from, and who may write.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn histories_under_kill_9_are_possible_on_postgres() {
    survives(&home(Kind::Postgres), Effort { operations: 40_000, rounds: 4 }).await;
}

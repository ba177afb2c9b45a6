//! Many locks that are held while the hub is killed: whose they are afterwards, and who gets them next.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use client::{AcquiredLock, Client, ClientError};
use testkit::scaled;
use tokio::task::JoinSet;
use uuid::Uuid;
use wire::{
    AcquireLock, HeartbeatLock, Lock, LockMode, LockQueue, LockQueueQuery, LocksQuery, ReleaseLock,
    TicketStatus, ValidateLock,
};

use super::checker::{Seen, TTL, impossible};
use super::load::{Beats, Load};
use super::{Asked, CLIENTS, Hand, History, Worker, check, clear_away, home};
use crate::support::{Crew, Home, Kind, Served, chance, until};

/// Keys, each of them held by somebody at every kill.
const PLACES: usize = 128;
const AGENTS: usize = 4;
/// Of so many keys one has a line,
const LINED: usize = 4;
/// of so many tickets.
const LINE: usize = 3;

/// One key, as far as the hub has told of it.
#[derive(Default)]
struct Place {
    holders: Vec<Kept>,
    line: VecDeque<Waiting>,
}

/// A lock that is held.
pub(super) struct Kept {
    pub(super) agent: usize,
    pub(super) seen: Seen,
    /// How often it was renewed, at least and at most: an answer may be lost.
    beats: (u32, u32),
}

/// A ticket in the line.
struct Waiting {
    agent: usize,
    asked: Asked,
    ticket: Uuid,
    in_line: Instant,
}

impl Place {
    /// Whether the head of the line should have it.
    fn is_free_for_head(&self) -> bool {
        let all_share = self.holders.iter().all(|kept| kept.seen.shared);
        self.line.front().is_some_and(|head| self.holders.is_empty() || head.asked.shared && all_share)
    }
}

pub(super) fn key(number: usize) -> String {
    format!("resource:held:{number}")
}

const fn mode(shared: bool) -> LockMode {
    if shared { LockMode::Shared } else { LockMode::Exclusive }
}

/// Whoever asks is somebody of its own.
pub(super) fn asked(number: usize, shared: bool) -> Asked {
    let owner = format!("owner-{}", Uuid::from_bytes(hub::ids::random().unwrap()));
    Asked { key: number, shared, owner, at: Instant::now() }
}

/// What is asked for.
pub(super) fn wanted(asked: &Asked) -> AcquireLock {
    AcquireLock {
        key: key(asked.key),
        mode: mode(asked.shared),
        owner: Some(asked.owner.clone()),
        ttl_seconds: Some(u32::try_from(TTL.as_secs()).unwrap()),
        ..AcquireLock::default()
    }
}

/// Everybody's connections to one run of the hub.
pub(super) struct Desk {
    admin: Client,
    pub(super) agents: Vec<Client>,
    ids: Vec<Uuid>,
}

impl Desk {
    fn of(served: &Served, crew: &Crew) -> Self {
        let agents = crew.agents.iter().map(|agent| served.client(&agent.key)).collect();
        Self { admin: served.admin(), agents, ids: crew.agents.iter().map(|agent| agent.id).collect() }
    }

    async fn queue(&self, number: usize) -> LockQueue {
        self.admin.lock_queue(&LockQueueQuery { key: key(number) }).await.unwrap()
    }

    async fn is_current(&self, seen: &Seen) -> bool {
        let request = ValidateLock { key: key(seen.key), fencing_token: seen.fence };
        self.admin.validate_lock(&request).await.unwrap().current
    }

    async fn beat(&self, agent: usize, lock_id: Uuid) -> Result<u32, ClientError> {
        let beat = HeartbeatLock { lock_id, agent_id: None, timestamp: None, ttl_extension: None };
        self.agents[agent].heartbeat_lock(&beat).await.map(|heard| heard.heartbeat_count)
    }

    /// Everything that is held of these keys.
    async fn listed(&self) -> BTreeSet<(Uuid, u64)> {
        let mut found = BTreeSet::new();
        let kind = Some("held".to_owned());
        let mut query = LocksQuery { limit: Some(50), resource_type: kind, ..LocksQuery::default() };
        loop {
            let page = self.admin.locks(&query).await.unwrap();
            found.extend(page.items.iter().map(|lock| (lock.lock_id, lock.fencing_token)));
            match page.next_cursor {
                Some(cursor) => query.cursor = Some(cursor),
                None => return found,
            }
        }
    }
}

/// What everybody together knows.
struct Held {
    places: Vec<Place>,
    ended: Vec<Seen>,
    /// The greatest token of all, and that of before the last kill.
    newest: u64,
    newest_before: u64,
}

impl Held {
    /// Has every key held, and every line full.
    async fn fill(&mut self, desk: &Desk) {
        for number in 0..PLACES {
            if self.places[number].holders.is_empty() {
                let shared = chance(4) == 0;
                for _ in 0..=usize::from(shared) {
                    let (agent, asked) = (chance(AGENTS), asked(number, shared));
                    let answer = desk.agents[agent].acquire_lock(&wanted(&asked)).await.unwrap();
                    let AcquiredLock::Lock(lock) = answer else { panic!("an unasked ticket: {answer:?}") };
                    self.takes(desk, agent, asked.got(&lock, None), &lock);
                }
            }
            while number % LINED == 0 && self.places[number].line.len() < LINE {
                self.stand_in_line(desk, number).await;
            }
        }
    }

    async fn stand_in_line(&mut self, desk: &Desk, number: usize) {
        let line = &mut self.places[number].line;
        // Whoever shares does not wait where nobody waits.
        let asked = asked(number, !line.is_empty() && chance(2) == 0);
        let (agent, request) = (chance(AGENTS), AcquireLock { queue: Some(true), ..wanted(&asked) });
        let answer = desk.agents[agent].acquire_lock(&request).await.unwrap();
        let AcquiredLock::Queued(queued) = answer else { panic!("overtakes: {answer:?}") };
        line.push_back(Waiting { agent, asked, ticket: queued.ticket_id, in_line: Instant::now() });
        assert_eq!(queued.position as usize, line.len());
    }

    /// Somebody has got a lock.
    fn takes(&mut self, desk: &Desk, agent: usize, seen: Seen, lock: &Lock) {
        assert_same(desk, agent, &seen, lock);
        // Also where a key was never held before: a start begins another epoch.
        assert!(seen.fence > self.newest_before, "a token of before the crash: {seen:?}");
        self.newest = self.newest.max(seen.fence);
        self.places[seen.key].holders.push(Kept { agent, seen, beats: (0, 0) });
    }

    fn kept(&self) -> impl Iterator<Item = &Kept> {
        self.places.iter().flat_map(|place| &place.holders)
    }

    /// Heartbeats were sent until the hub was gone.
    fn note(&mut self, beats: &Beats) {
        self.newest_before = self.newest;
        for kept in self.places.iter_mut().flat_map(|place| &mut place.holders) {
            let (answered, sent) = beats.get(&kept.seen.lock_id).copied().unwrap_or_default();
            kept.beats = (kept.beats.0 + answered, kept.beats.1 + sent);
        }
    }

    /// Everything is as it was answered, and nothing else is there.
    async fn assert_stands(&mut self, desk: &Desk) {
        let all: BTreeSet<_> = self.kept().map(|kept| (kept.seen.lock_id, kept.seen.fence)).collect();
        assert_eq!(desk.listed().await, all, "what is held after the crash");
        for seen in &self.ended {
            assert!(!desk.is_current(seen).await, "given back and held again: {seen:?}");
        }
        for (number, place) in self.places.iter_mut().enumerate() {
            let found = desk.queue(number).await;
            assert_eq!(found.holders.len(), place.holders.len(), "{found:?}");
            for kept in &mut place.holders {
                kept.assert_held(desk, &found.holders).await;
            }
            assert_in_line(desk, &place.line, &found).await;
            let newcomer = desk.agents[chance(AGENTS)].acquire_lock(&wanted(&asked(number, false))).await;
            let refused =
                matches!(&newcomer, Err(ClientError::Problem(problem)) if problem.code == "LOCK_HELD");
            assert!(refused, "key {number} was given away: {newcomer:?}");
        }
    }

    /// Some give back what they hold, and those who wait get it in their order.
    async fn let_go(&mut self, desk: &Desk) {
        for number in (0..PLACES).filter(|_| chance(3) == 0) {
            for mut kept in std::mem::take(&mut self.places[number].holders) {
                let lock_id = kept.seen.lock_id;
                let sent = Instant::now();
                desk.agents[kept.agent].release_lock(&ReleaseLock { lock_id, agent_id: None }).await.unwrap();
                kept.seen.released = Some((sent, true));
                let late = desk.beat(kept.agent, lock_id).await;
                let is_over =
                    matches!(&late, Err(ClientError::Problem(problem)) if problem.code == "LOCK_EXPIRED");
                assert!(is_over, "{late:?}");
                self.ended.push(kept.seen);
            }
            self.serve(desk, number).await;
        }
    }

    async fn serve(&mut self, desk: &Desk, number: usize) {
        while self.places[number].is_free_for_head() {
            let Waiting { agent, asked, ticket, in_line } = self.places[number].line.pop_front().unwrap();
            let found = desk.agents[agent].lock_ticket(ticket).await.unwrap();
            let (TicketStatus::Granted, Some(lock)) = (found.status, &found.lock) else {
                panic!("the head of the line was not served: {found:?}")
            };
            self.takes(desk, agent, asked.got(lock, Some(in_line)), lock);
        }
        assert_in_line(desk, &self.places[number].line, &desk.queue(number).await).await;
    }

    fn check(self) {
        let mut by_key: BTreeMap<usize, Vec<Seen>> = BTreeMap::new();
        let held = self.places.into_iter().flat_map(|place| place.holders).map(|kept| kept.seen);
        for seen in self.ended.into_iter().chain(held) {
            by_key.entry(seen.key).or_default().push(seen);
        }
        assert_eq!(by_key.len(), PLACES);
        for (key, locks) in by_key {
            assert_eq!(impossible(locks), None, "key {key}");
        }
    }
}

fn assert_same(desk: &Desk, agent: usize, seen: &Seen, lock: &Lock) {
    let told = (lock.lock_id, lock.fencing_token, lock.agent_id, &*lock.owner, &*lock.key, lock.mode);
    let (id, key) = (desk.ids[agent], key(seen.key));
    assert_eq!(told, (seen.lock_id, seen.fence, id, &*seen.owner, &*key, mode(seen.shared)));
    assert_eq!(u64::from(lock.ttl_seconds), TTL.as_secs());
}

impl Kept {
    /// It is among these, and can be worked with.
    async fn assert_held(&mut self, desk: &Desk, holders: &[Lock]) {
        let found = holders.iter().find(|lock| lock.lock_id == self.seen.lock_id);
        let lock = found.unwrap_or_else(|| panic!("{:?} is not among {holders:?}", self.seen));
        assert_same(desk, self.agent, &self.seen, lock);
        let count = lock.heartbeat_count;
        assert!((self.beats.0..=self.beats.1).contains(&count), "{:?} renewals, found {lock:?}", self.beats);
        assert!(desk.is_current(&self.seen).await, "{:?}", self.seen);
        assert_eq!(desk.beat(self.agent, lock.lock_id).await.unwrap(), count + 1);
        self.beats = (count + 1, count + 1);
    }
}

/// These stand in line and nobody else, in this order; each ticket says so itself.
async fn assert_in_line(desk: &Desk, line: &VecDeque<Waiting>, found: &LockQueue) {
    let told = found.waiters.iter().map(|told| (told.ticket_id, told.agent_id, &*told.owner, told.mode));
    let known = line.iter().map(|waiting| {
        let Waiting { agent, asked, ticket, .. } = waiting;
        (Some(*ticket), desk.ids[*agent], &*asked.owner, mode(asked.shared))
    });
    assert_eq!(told.collect::<Vec<_>>(), known.collect::<Vec<_>>(), "{}", found.key);
    for (place, waiting) in line.iter().enumerate() {
        let ticket = desk.agents[waiting.agent].lock_ticket(waiting.ticket).await.unwrap();
        let position = ticket.position.map(|position| position as usize);
        assert_eq!((ticket.status, position), (TicketStatus::Waiting, Some(place + 1)), "{ticket:?}");
    }
}

/// Others come and go meanwhile, so that the hub is killed while it writes. What each has in its hand afterwards.
async fn killed_at_work(served: &mut Served, history: &Arc<History>, hands: Vec<Hand>) -> Vec<Hand> {
    let mut clients = JoinSet::new();
    for (number, hand) in hands.into_iter().enumerate() {
        let worker = Worker { client: served.admin(), number, history: Arc::clone(history) };
        clients.spawn(worker.work(hand));
    }
    let wanted = history.operations.load(Ordering::Relaxed) + scaled(5_000);
    until("others get on", async || history.operations.load(Ordering::Relaxed) >= wanted).await;
    served.process.kill();
    clients.join_all().await
}

async fn are_kept(home: &Home, kills: usize) {
    let mut served = home.serve().await;
    let crew = Crew::hire(home, &served, AGENTS, 1).await;
    let places = (0..PLACES).map(|_| Place::default()).collect();
    let mut held = Held { places, ended: Vec::new(), newest: 0, newest_before: 0 };
    let history = Arc::new(History::default());
    let mut hands: Vec<Hand> = (0..CLIENTS).map(|_| Hand::Nothing).collect();
    for _ in 0..kills {
        let desk = Desk::of(&served, &crew);
        held.fill(&desk).await;
        let load = Load::start(&desk, &held.kept().collect::<Vec<_>>());
        for number in load.lines() {
            let length = held.places[number].line.len() + 1;
            until("it stands in line", async || desk.queue(number).await.waiters.len() == length).await;
        }
        hands = killed_at_work(&mut served, &history, hands).await;
        held.note(&load.finish().await);
        home.forget_crash().await;
        served = home.serve().await;
        clear_away(&served.admin(), &history, &hands).await;
        let desk = Desk::of(&served, &crew);
        held.assert_stands(&desk).await;
        held.let_go(&desk).await;
    }
    held.check();
    check(std::mem::take(&mut *history.seen.lock().unwrap()), hands);
    served.stop();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_held_through_kill_9_stays_whose_it_is() {
    are_kept(&home(Kind::Sqlite), 5).await;
}

/// Here a crash leaves the epochs to another engine.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_held_through_kill_9_stays_whose_it_is_on_postgres() {
    are_kept(&home(Kind::Postgres), 3).await;
}

//! Short histories of one key, with a crash in the middle, against what a lock is: one thing after the other.
//!
//! Clients write down when they ask and when they are answered. Whoever was not answered when the engine crashed may
//! have got what it asked for at any time since, or never. Stateright looks for an order of all of it that a lock
//! could have answered like this.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use coordination::locks::{Acquired, Held, Locks, Refusal, Renewal, Wait, Wanted};
use domain::Id;
use domain::locks::{Hold, Mode};
use stateright::semantics::{ConsistencyTester, LinearizabilityTester, SequentialSpec};
use testkit::locks::{Subject, grip, key, org, wanted};
use testkit::scaled;

use crate::local::LocalSubject;

const HISTORIES: usize = 2_000;
/// So many histories run at once: most of each is waiting for the disk.
const AT_ONCE: usize = 8;
/// Before the crash, and others after it: at most five clients and thirty operations.
const CLIENTS: [usize; 2] = [3, 2];
const OPERATIONS_EACH: usize = 5;
const KEY: &str = "a";

/// What a client does.
#[derive(Clone, PartialEq, Debug)]
enum Op {
    Acquire(usize, Mode),
    Release(u64),
    Renew(u64),
    Validate(u64),
    /// An admin ends the locks with these tokens.
    End(Vec<u64>),
}

#[derive(Clone, PartialEq, Debug)]
enum Ret {
    Granted(u64),
    /// Others hold it, now or until the wait was over.
    Others,
    Done,
    Gone,
    Current(bool),
    Ended(Vec<u64>),
}

/// A lock, one thing after the other.
#[derive(Clone, Default, Debug)]
struct Sequential {
    /// Who holds it, how, and the token; none if nobody was told it, and then it is above this one.
    holders: Vec<(Mode, Result<u64, u64>)>,
    newest: u64,
}

impl Sequential {
    fn is_free_for(&self, mode: Mode) -> bool {
        !self.holders.iter().any(|(held, _)| held.conflicts(mode))
    }

    fn holds(&self, fence: u64) -> bool {
        self.holders.iter().any(|(_, token)| *token == Ok(fence))
    }

    /// Where this token is. One that no holder was told may be it, and from here on it is.
    fn place(&mut self, fence: u64) -> Option<usize> {
        let told = self.holders.iter().position(|(_, token)| *token == Ok(fence));
        told.or_else(|| {
            let may_be = |(_, token): &(Mode, Result<u64, u64>)| token.is_err_and(|above| above < fence);
            let place = self.holders.iter().position(may_be)?;
            self.holders[place].1 = Ok(fence);
            self.newest = self.newest.max(fence);
            Some(place)
        })
    }

    /// Whether it was held and is not any more.
    fn end(&mut self, fence: u64) -> bool {
        self.place(fence).map(|place| self.holders.remove(place)).is_some()
    }
}

impl SequentialSpec for Sequential {
    type Op = Op;
    type Ret = Ret;

    /// What an unanswered operation does when it does something. Its answer is nobody's to see.
    fn invoke(&mut self, op: &Op) -> Ret {
        match op {
            Op::Acquire(_, mode) if self.is_free_for(*mode) => {
                self.holders.push((*mode, Err(self.newest)));
                Ret::Done
            }
            Op::Release(fence) => {
                self.holders.retain(|(_, token)| *token != Ok(*fence));
                Ret::Done
            }
            Op::End(fences) => {
                for fence in fences {
                    self.end(*fence);
                }
                Ret::Done
            }
            Op::Acquire(..) | Op::Renew(_) | Op::Validate(_) => Ret::Gone,
        }
    }

    fn is_valid_step(&mut self, op: &Op, ret: &Ret) -> bool {
        match (op, ret) {
            (Op::Acquire(_, mode), Ret::Granted(fence)) => {
                let is_right = self.is_free_for(*mode) && *fence > self.newest;
                self.holders.push((*mode, Ok(*fence)));
                self.newest = *fence;
                is_right
            }
            (Op::Acquire(..), Ret::Others) => !self.holders.is_empty(),
            (Op::Release(fence), Ret::Done) => self.holds(*fence) && self.end(*fence),
            (Op::Renew(fence), Ret::Done) => self.holds(*fence),
            (Op::Release(fence) | Op::Renew(fence), Ret::Gone) => !self.holds(*fence),
            // Others may have seen the token of somebody who was never told it.
            (Op::Validate(fence), Ret::Current(true)) => self.place(*fence).is_some(),
            (Op::Validate(fence), Ret::Current(false)) => !self.holds(*fence),
            (Op::End(looked), Ret::Ended(ended)) => looked
                .iter()
                .all(|fence| if ended.contains(fence) { self.end(*fence) } else { !self.holds(*fence) }),
            _ => false,
        }
    }
}

#[derive(Debug)]
enum Event {
    Asked(usize, Op),
    Answered(usize, Ret),
}

/// What happened so far. After a crash nobody hears anything any more.
#[derive(Default)]
struct Record {
    events: Vec<Event>,
    is_over: bool,
}

type History = Arc<Mutex<Record>>;

fn tester(events: Vec<Event>) -> LinearizabilityTester<usize, Sequential> {
    let mut tester = LinearizabilityTester::new(Sequential::default());
    for event in events {
        match event {
            Event::Asked(client, op) => drop(tester.on_invoke(client, op).unwrap()),
            Event::Answered(client, ret) => drop(tester.on_return(client, ret).unwrap()),
        }
    }
    tester
}

struct Client {
    number: usize,
    locks: Arc<dyn Locks>,
    history: History,
    held: Option<Held>,
    /// The last token it has seen, its own or another's.
    seen: u64,
    chance: u64,
}

/// The engine has crashed.
struct Crashed;

impl Client {
    fn pick(&mut self, below: u64) -> u64 {
        self.chance ^= self.chance << 13;
        self.chance ^= self.chance >> 7;
        self.chance ^= self.chance << 17;
        self.chance % below
    }

    fn write(&self, event: Event) -> Result<(), Crashed> {
        let mut history = self.history.lock().unwrap();
        if history.is_over {
            return Err(Crashed);
        }
        history.events.push(event);
        Ok(())
    }

    async fn work(mut self) {
        for _ in 0..OPERATIONS_EACH {
            if self.step().await.is_err() {
                return;
            }
        }
    }

    async fn step(&mut self) -> Result<(), Crashed> {
        match (self.held.clone(), self.pick(4)) {
            (None, 0) => self.validate().await,
            (None, _) => self.acquire().await,
            (Some(_), 0) => self.validate().await,
            (Some(held), 1) => {
                self.write(Event::Asked(self.number, Op::Renew(held.hold.fence)))?;
                let renewed = self.locks.renew(grip(&held), None, Renewal::Heartbeat).await;
                self.write(Event::Answered(self.number, of_holder(&renewed)?))
            }
            (Some(held), _) => {
                self.held = None;
                self.write(Event::Asked(self.number, Op::Release(held.hold.fence)))?;
                let released = self.locks.release(grip(&held)).await;
                self.write(Event::Answered(self.number, of_holder(&released)?))
            }
        }
    }

    async fn validate(&mut self) -> Result<(), Crashed> {
        self.write(Event::Asked(self.number, Op::Validate(self.seen)))?;
        let current = self.locks.is_current(org(0), key(KEY), self.seen).await;
        self.write(Event::Answered(self.number, Ret::Current(current.map_err(|_| Crashed)?)))
    }

    async fn acquire(&mut self) -> Result<(), Crashed> {
        let mode = if self.pick(3) == 0 { Mode::Shared } else { Mode::Exclusive };
        let wait = match self.pick(2) {
            0 => Wait::No,
            _ => Wait::For(Duration::from_millis(20)),
        };
        let asked = Wanted { mode, wait, ..wanted(self.number as u128, KEY) };
        self.write(Event::Asked(self.number, Op::Acquire(self.number, mode)))?;
        let ret = match self.locks.acquire(asked).await {
            Ok(Acquired::Held(held)) => {
                self.seen = held.hold.fence;
                self.held = Some(*held);
                Ret::Granted(self.seen)
            }
            Err(Refusal::Busy { holders, .. }) => {
                self.seen = holders[0].hold.fence;
                Ret::Others
            }
            Err(Refusal::TimedOut) => Ret::Others,
            Err(_) => return Err(Crashed),
            Ok(other) => panic!("{other:?}"),
        };
        self.write(Event::Answered(self.number, ret))
    }

    /// Ends what those before the crash have left.
    async fn end(&self) -> Result<(), Crashed> {
        let line = self.locks.queue(org(0), key(KEY)).await.map_err(|_| Crashed)?;
        let fences: Vec<u64> = line.holders.iter().map(|held| held.hold.fence).collect();
        let which: Vec<Id<Hold>> = line.holders.iter().map(|held| held.hold.id).collect();
        self.write(Event::Asked(self.number, Op::End(fences)))?;
        let ended = self.locks.force_release(org(0), key(KEY), which).await.map_err(|_| Crashed)?;
        let ended = ended.iter().map(|held| held.hold.fence).collect();
        self.write(Event::Answered(self.number, Ret::Ended(ended)))
    }
}

fn of_holder(answer: &Result<Held, Refusal>) -> Result<Ret, Crashed> {
    match answer {
        Ok(_) => Ok(Ret::Done),
        Err(Refusal::Expired) => Ok(Ret::Gone),
        Err(_) => Err(Crashed),
    }
}

/// One history that a lock could have answered like this; how many operations it has.
async fn plays(seed: u64) -> usize {
    let history = History::default();
    let mut subject = LocalSubject::with_logs_of(16 << 10);
    let mut first = 0;
    for (round, count) in CLIENTS.into_iter().enumerate() {
        let clients: Vec<Client> = (first..first + count)
            .map(|number| Client {
                number,
                locks: subject.locks(),
                history: Arc::clone(&history),
                held: None,
                seen: 0,
                chance: (seed * 1_000 + number as u64) | 1,
            })
            .collect();
        first += count;
        if round > 0 {
            drop(clients[0].end().await);
        }
        let mut working: tokio::task::JoinSet<()> = clients.into_iter().map(Client::work).collect();
        if round + 1 == CLIENTS.len() {
            while working.join_next().await.is_some() {}
            continue;
        }
        // Somewhere in the middle; what is answered from here on, nobody hears.
        tokio::time::sleep(Duration::from_micros(seed * 7_919 % 30_000)).await;
        history.lock().unwrap().is_over = true;
        subject.crash_under_load();
        working.shutdown().await;
        subject.go_on();
        history.lock().unwrap().is_over = false;
    }
    let events = std::mem::take(&mut history.lock().unwrap().events);
    let asked = events.iter().filter(|event| matches!(event, Event::Asked(..))).count();
    let shown = format!("{events:#?}");
    assert!(tester(events).is_consistent(), "no lock could have answered like this: seed {seed}: {shown}");
    asked
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn short_histories_with_a_crash_are_those_of_a_lock() {
    let (mut operations, seeds) = (0, scaled(HISTORIES) as u64);
    let mut running = tokio::task::JoinSet::new();
    let mut next = 1..=seeds;
    loop {
        while running.len() < AT_ONCE
            && let Some(seed) = next.next()
        {
            running.spawn(plays(seed));
        }
        let Some(played) = running.join_next().await else { break };
        operations += played.expect("a possible history");
    }
    assert!(operations > 10 * scaled(HISTORIES), "too little happened: {operations}");
}

#[test]
fn what_no_lock_could_answer_is_seen() {
    use Event::{Answered, Asked};
    let alone = |client| Asked(client, Op::Acquire(client, Mode::Exclusive));
    let granted = |client, fence| Answered(client, Ret::Granted(fence));
    let done = |client| Answered(client, Ret::Done);
    let is_possible = |events| tester(events).is_consistent();
    let twice = || vec![alone(1), alone(2), granted(1, 5)];
    assert!(is_possible(twice()), "one is not answered yet");
    assert!(!is_possible([twice(), vec![granted(2, 6)]].into_iter().flatten().collect()), "two hold it");
    let released =
        |fence| vec![alone(1), granted(1, 5), Asked(1, Op::Release(5)), done(1), alone(2), granted(2, fence)];
    assert!(is_possible(released(6)));
    assert!(!is_possible(released(5)), "a token is given twice");
    let lost = |current| {
        vec![alone(1), granted(1, 5), Asked(2, Op::Validate(5)), Answered(2, Ret::Current(current))]
    };
    assert!(is_possible(lost(true)));
    assert!(!is_possible(lost(false)), "an answered lock is lost");
    // Whoever was not answered may have it; after that it must be ended before others can.
    let open = |ended: Vec<u64>| {
        let end = [Asked(2, Op::End(vec![7])), Answered(2, Ret::Ended(ended))];
        let after = [alone(3), granted(3, 8)];
        [alone(1)].into_iter().chain(end).chain(after).collect::<Vec<_>>()
    };
    assert!(is_possible(open(vec![7])) && is_possible(open(Vec::new())));
}

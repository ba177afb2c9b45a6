//! Random scripts, played to an engine and to the model: they must agree after each step.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use coordination::locks::{Acquired, Happening, Refusal, Renewal, TicketStatus, Wait, Wanted, What};
use domain::Id;
use domain::locks::{Mode, Waiter};
use tokio::task::JoinHandle;

use super::contract::asks;
use super::model::{Entry, Kind, Model, Outcome};
use super::{Held, Subject, agent, grip, key, org, soon, until, wanted};

const OWNERS: u64 = 5;
const KEYS: u64 = 4;

/// Plays one script of so many steps.
pub async fn agree<S: Subject>(subject: S, seed: u64, steps: usize) {
    let mut play = Play {
        subject,
        model: Model::default(),
        chance: seed | 1,
        open: HashMap::new(),
        tickets: HashMap::new(),
        held: HashMap::new(),
        fences: BTreeMap::new(),
        circles: 0,
        circles_before: 0,
    };
    for step in 0..steps {
        let what = play.step().await;
        play.compare(&format!("seed {seed}, step {step}: {what}")).await;
    }
}

struct Play<S> {
    subject: S,
    model: Model,
    chance: u64,
    open: HashMap<u64, JoinHandle<Result<Acquired, Refusal>>>,
    tickets: HashMap<u64, Id<Waiter>>,
    held: HashMap<u64, Held>,
    /// The greatest token of each key.
    fences: BTreeMap<u8, u64>,
    circles: usize,
    /// Those of earlier runs, which the engine no longer counts.
    circles_before: u64,
}

impl<S: Subject> Play<S> {
    /// One of so many.
    fn pick(&mut self, below: u64) -> u64 {
        self.chance ^= self.chance << 13;
        self.chance ^= self.chance >> 7;
        self.chance ^= self.chance << 17;
        self.chance % below
    }

    fn some(&mut self, like: impl Fn(&Entry) -> bool) -> Option<Entry> {
        let those: Vec<Entry> = self.model.entries.iter().filter(|entry| like(entry)).cloned().collect();
        let place = self.pick(those.len().max(1) as u64);
        those.into_iter().nth(usize::try_from(place).expect("few"))
    }

    async fn step(&mut self) -> &'static str {
        match self.pick(20) {
            0..=9 => self.ask().await,
            10..=12 => self.release().await,
            13 => self.renew().await,
            14 => self.hang_up().await,
            15 => self.leave().await,
            16 | 17 => {
                let seconds = [1, 5, 12, 40][usize::try_from(self.pick(4)).expect("few")];
                self.model.advance(seconds);
                self.subject.advance(Duration::from_secs(seconds));
                "time goes by"
            }
            18 => {
                let key_number = u8::try_from(self.pick(KEYS)).expect("few");
                self.model.remove(|entry| entry.key == key_number && entry.holds());
                let locks = self.subject.locks();
                let line = soon(locks.queue(org(0), named(key_number))).await.expect("a line");
                let which = line.holders.iter().map(|held| held.hold.id).collect();
                drop(soon(locks.force_release(org(0), named(key_number), which)).await.expect("an answer"));
                "an admin ends it"
            }
            _ => {
                // What nobody was answered about, such as the end of a lock, may be lost: so something is answered.
                for number in 0..u8::try_from(KEYS).expect("few") {
                    soon(self.subject.locks().is_current(org(0), named(number), 0)).await.expect("an answer");
                }
                self.model.restart();
                self.circles_before = self.circles as u64;
                self.subject.restart();
                self.open.clear();
                "a restart"
            }
        }
    }

    async fn ask(&mut self) -> &'static str {
        let (owner, key_number) =
            (u128::from(self.pick(OWNERS)), u8::try_from(self.pick(KEYS)).expect("few"));
        let mode = if self.pick(3) == 0 { Mode::Shared } else { Mode::Exclusive };
        let kind =
            [Kind::Now, Kind::Open, Kind::Open, Kind::Ticket][usize::try_from(self.pick(4)).expect("few")];
        let ttl_seconds = [10, 30][usize::try_from(self.pick(2)).expect("few")];
        let wait = match kind {
            Kind::Now => Wait::No,
            Kind::Open => Wait::For(Duration::from_secs(3600)),
            Kind::Ticket => Wait::Ticket,
        };
        let asked = Wanted { mode, ttl_seconds, wait, key: named(key_number), ..wanted(owner, "x") };
        let outcome = self.model.ask(owner, key_number, (mode, ttl_seconds), kind);
        let locks = self.subject.locks();
        if let (Outcome::Waits(number), Kind::Open) = (outcome, kind) {
            self.open.insert(number, asks(&locks, asked));
            let length = self.model.line(key_number, false).len();
            until("it stands in line, or a circle was broken", || {
                let line = futures_util::FutureExt::now_or_never(locks.queue(org(0), named(key_number)));
                let stands = line.is_some_and(|line| line.is_ok_and(|line| line.waiters.len() >= length));
                stands || self.deadlocks().len() > self.circles
            })
            .await;
        } else {
            match (soon(locks.acquire(asked)).await, outcome) {
                (Ok(Acquired::Held(held)), Outcome::Granted(number)) => self.take(number, key_number, *held),
                (Ok(Acquired::Queued { ticket, .. }), Outcome::Waits(number)) => {
                    self.tickets.insert(number, ticket);
                }
                (Err(Refusal::Busy { .. }), Outcome::Busy) => {}
                (Err(Refusal::AlreadyHeld(_)), Outcome::Already) => {}
                (came, expected) => panic!("{came:?} where the model says {expected:?}"),
            }
        }
        if let Outcome::Waits(_) = outcome {
            self.break_circles(owner).await;
        }
        "somebody asks"
    }

    fn take(&mut self, number: u64, key_number: u8, held: Held) {
        let before = self.fences.insert(key_number, held.hold.fence);
        assert!(before.is_none_or(|before| before < held.hold.fence), "tokens of a key only grow");
        self.held.insert(number, held);
    }

    /// What is told again after a restart counts once.
    fn deadlocks(&self) -> Vec<Happening> {
        let mut seen = std::collections::BTreeSet::new();
        let heard = self.subject.ears().heard().into_iter().filter(|told| told.what == What::Deadlock);
        let fresh = heard.filter(|told| told.receipt.is_some_and(|receipt| seen.insert(receipt.number)));
        // Of different keys they may be told in another order than they happened in.
        let mut fresh: Vec<Happening> = fresh.collect();
        fresh.sort_by_key(|told| told.receipt.map(|receipt| receipt.number));
        fresh
    }

    /// Where the model has a circle the engine must name one that is there, and its youngest must lose.
    async fn break_circles(&mut self, owner: u128) {
        while self.model.is_in_a_circle(owner) {
            let locks = self.subject.locks();
            until("the circle is told", || {
                let told = self.deadlocks().len();
                told > self.circles && told as u64 == self.circles_before + locks.counts().deadlocks
            })
            .await;
            let told = self.deadlocks()[self.circles].clone();
            self.circles += 1;
            let number = |text: &str| Id::<()>::new(text.parse().expect("an id")).raw().as_u128() - 1;
            let loser = told.owner.agent.raw().as_u128() - 1;
            for [waiter, _, name, blocker, _] in &told.circle {
                let key_number = name.rsplit(':').next().and_then(|text| text.parse().ok()).expect("a key");
                assert!(self.model.waits_for(number(waiter), key_number, number(blocker)), "{told:?}");
                assert!(
                    self.model.birth(number(waiter)) <= self.model.birth(loser),
                    "not the youngest: {told:?}"
                );
            }
            assert!(told.circle.iter().any(|edge| number(&edge[0]) == loser), "not in it: {told:?}");
            self.model.remove(|entry| entry.owner == loser);
        }
        let told = self.deadlocks();
        assert_eq!(
            told.len(),
            self.circles,
            "a circle where the model has none: {told:#?} {:#?}",
            self.model.entries
        );
    }

    async fn release(&mut self) -> &'static str {
        let Some(entry) = self.some(Entry::holds) else { return "nothing" };
        self.model.remove(|other| other.number == entry.number);
        let held = &self.held[&entry.number];
        soon(self.subject.locks().release(grip(held))).await.expect("the model says it is held");
        "a release"
    }

    async fn renew(&mut self) -> &'static str {
        let Some(entry) = self.some(Entry::holds) else { return "nothing" };
        self.model.renew(entry.number);
        let held = &self.held[&entry.number];
        soon(self.subject.locks().renew(grip(held), None, Renewal::Heartbeat))
            .await
            .expect("the model says it is held");
        "a heartbeat"
    }

    async fn hang_up(&mut self) -> &'static str {
        let Some(entry) = self.some(|entry| !entry.holds() && entry.kind == Kind::Open) else {
            return "nothing";
        };
        self.model.remove(|other| other.number == entry.number);
        let asked = self.open.remove(&entry.number).expect("an open question");
        asked.abort();
        drop(asked.await);
        "a client hangs up"
    }

    async fn leave(&mut self) -> &'static str {
        let Some(entry) = self.some(|entry| !entry.holds() && entry.kind == Kind::Ticket) else {
            return "nothing";
        };
        self.model.remove(|other| other.number == entry.number);
        let left =
            soon(self.subject.locks().leave(org(0), self.tickets[&entry.number])).await.expect("a ticket");
        assert!(matches!(left.status, TicketStatus::Cancelled), "{left:?}");
        "a ticket leaves"
    }

    async fn compare(&mut self, context: &str) {
        let locks = self.subject.locks();
        for number in 0..u8::try_from(KEYS).expect("few") {
            let line = soon(locks.queue(org(0), named(number))).await.expect("a line");
            let mut holders: Vec<_> =
                line.holders.iter().map(|held| (held.hold.owner.agent, held.hold.mode)).collect();
            let mut expected = self.ids(number, true);
            // Those who share have no order among each other.
            holders.sort_by_key(|holder| holder.0);
            expected.sort_by_key(|holder| holder.0);
            assert_eq!(holders, expected, "{context}: holders of {number}");
            let waiters: Vec<_> =
                line.waiters.iter().map(|waiter| (waiter.owner.agent, waiter.mode)).collect();
            assert_eq!(waiters, self.ids(number, false), "{context}: the line of {number}");
        }
        let fresh: Vec<Entry> = self
            .model
            .entries
            .iter()
            .filter(|entry| entry.holds() && !self.held.contains_key(&entry.number))
            .cloned()
            .collect();
        for entry in fresh {
            let held = match entry.kind {
                Kind::Ticket => {
                    let ticket =
                        soon(locks.ticket(org(0), self.tickets[&entry.number])).await.expect(context);
                    let TicketStatus::Granted(held) = ticket.status else { panic!("{context}: {ticket:?}") };
                    *held
                }
                Kind::Now | Kind::Open => {
                    let asked = self.open.remove(&entry.number).expect(context);
                    let Ok(Acquired::Held(held)) = soon(asked).await.expect(context) else {
                        panic!("{context}: the model says {entry:?}")
                    };
                    *held
                }
            };
            self.take(entry.number, entry.key, held);
        }
        let there = |number: &u64| self.model.entries.iter().any(|entry| entry.number == *number);
        let gone: Vec<u64> = self.open.keys().copied().filter(|number| !there(number)).collect();
        for number in gone {
            let asked = self.open.remove(&number).expect(context);
            let refused = soon(asked).await.expect(context);
            assert!(
                matches!(refused, Err(Refusal::Deadlock(_) | Refusal::AlreadyHeld(_))),
                "{context}: {refused:?} where the model has nobody"
            );
        }
        assert!(self.open.values().all(|asked| !asked.is_finished()), "{context}: an answer too early");
    }

    fn ids(&self, key_number: u8, holds: bool) -> Vec<(Id<domain::accounts::Account>, Mode)> {
        self.model.line(key_number, holds).into_iter().map(|(owner, mode)| (agent(owner), mode)).collect()
    }
}

fn named(number: u8) -> domain::locks::LockKey {
    key(&number.to_string())
}

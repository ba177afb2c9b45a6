//! What every engine of locks must do, whatever it is made of.

mod circles;
pub mod contract;
pub mod model;
mod repeats;
pub mod scripts;

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use coordination::locks::{
    Acquired, Answer, Grip, Happening, Held, Locks, Refusal, Rules, Told, Wait, Wanted,
};
use domain::Id;
use domain::accounts::Account;
use domain::locks::{About, LockKey, Mode};
use domain::organizations::Organization;
use uuid::Uuid;

/// An engine under test, with a hand on its clock.
pub trait Subject: Send + Sync {
    /// The engine, as it is now.
    fn locks(&self) -> Arc<dyn Locks>;
    /// Moves its time forward, and has it notice.
    fn advance(&self, span: Duration);
    /// What it has told so far.
    fn ears(&self) -> &Ears;
    /// Ends the engine as `kill -9` would, and starts it again on what it has left.
    fn restart(&mut self);
}

/// Remembers what it is told.
#[derive(Default)]
pub struct Ears {
    heard: Mutex<Vec<Happening>>,
}

impl Ears {
    /// Everything so far.
    #[must_use]
    pub fn heard(&self) -> Vec<Happening> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Told for Ears {
    fn listens(&self) -> bool {
        true
    }

    fn tell(&self, happening: Happening) {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).push(happening);
    }
}

/// An organization by a number.
#[must_use]
pub fn org(number: u128) -> Id<Organization> {
    Id::new(Uuid::from_u128(number + 1000))
}

/// An agent by a number.
#[must_use]
pub fn agent(number: u128) -> Id<Account> {
    Id::new(Uuid::from_u128(number + 1))
}

/// A key of a resource.
#[must_use]
pub fn key(name: &str) -> LockKey {
    format!("resource:test:{name}").parse().expect("a key")
}

/// What agent `number` asks for, alone and without waiting; a test changes what it means to test.
#[must_use]
pub fn wanted(number: u128, name: &str) -> Wanted {
    Wanted {
        org: org(0),
        agent: agent(number),
        owner: "work".into(),
        key: key(name),
        mode: Mode::Exclusive,
        ttl_seconds: 30,
        wait: Wait::No,
        about: None,
        rules: Rules { queue_max: 100, detects_deadlocks: true },
    }
}

/// The same, waiting.
#[must_use]
pub fn waiting(number: u128, name: &str) -> Wanted {
    Wanted { wait: Wait::For(Duration::from_secs(60)), ..wanted(number, name) }
}

/// The same, with a ticket.
#[must_use]
pub fn ticket(number: u128, name: &str) -> Wanted {
    Wanted { wait: Wait::Ticket, ..wanted(number, name) }
}

/// The same, as this request.
#[must_use]
pub fn request(wanted: Wanted, request_id: &str) -> Wanted {
    let about = About { request_id: Some(request_id.into()), ..About::default() };
    Wanted { about: Some(Box::new(about)), ..wanted }
}

/// The lock, or what came instead.
pub async fn lock(answer: Answer<'_, Acquired>) -> Result<Held, Refusal> {
    match soon(answer).await? {
        Acquired::Held(held) | Acquired::Again(held) => Ok(*held),
        Acquired::Queued { position, .. } => {
            panic!("a ticket at place {position} where nobody asked for one")
        }
    }
}

/// The ticket.
pub async fn queued(answer: Answer<'_, Acquired>) -> (Id<domain::locks::Waiter>, usize) {
    match soon(answer).await.expect("a ticket") {
        Acquired::Queued { ticket, position } => (ticket, position),
        Acquired::Held(_) | Acquired::Again(_) => panic!("the lock was free"),
    }
}

/// Whose it is to say something about this lock.
#[must_use]
pub fn grip(held: &Held) -> Grip {
    let owner = &held.hold.owner;
    Grip { org: owner.org, agent: owner.agent, id: held.hold.id }
}

/// What comes within ten seconds, or the test fails.
pub async fn soon<T>(answer: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(10), answer).await.expect("an answer within ten seconds")
}

/// Waits until it is so, or the test fails.
pub async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(10);
    while !is_so() {
        assert!(tokio::time::Instant::now() < deadline, "never: {what}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

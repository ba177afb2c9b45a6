//! Breaking circles of those who wait for each other.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use domain::Id;
use domain::accounts::Account;
use domain::locks::{Edge, Owner, victim};
use domain::organizations::Organization;

use super::Inner;
use super::lane::{Place, Reply};
use super::tickets::End;
use super::turn::Turn;
use crate::locks::{Happening, Refusal, What};

/// Breaks every circle that a new wait of this owner has closed.
pub(super) fn break_through(inner: &Inner, org: Id<Organization>, agent: Id<Account>, owner: &str) {
    // Somebody must wait for whoever closes a circle. What makes it so later is a wait too, and looked at in its turn.
    let Some(owner) = inner.agents.in_others_way((org, agent), owner) else { return };
    if circle(inner, &owner).is_none() {
        return;
    }
    // One after the other, and each is looked for again: two who closed it together must not both break it.
    let _breaking = inner.breaking.lock().unwrap_or_else(PoisonError::into_inner);
    while let Some(circle) = circle(inner, &owner) {
        break_one(inner, circle);
    }
}

/// Breaks every circle of an organization, whoever has closed it and whenever.
pub(super) fn break_all(inner: &Inner, org: Id<Organization>) {
    let any = || inner.waits(org).get(&org)?.circles().into_iter().next();
    if any().is_none() {
        return;
    }
    let _breaking = inner.breaking.lock().unwrap_or_else(PoisonError::into_inner);
    while let Some(circle) = any() {
        break_one(inner, circle);
    }
}

fn break_one(inner: &Inner, circle: Vec<Edge>) {
    if let Some(loser) = victim(&circle).cloned() {
        sacrifice(inner, &loser, &circle.into());
    }
}

fn circle(inner: &Inner, owner: &Arc<Owner>) -> Option<Vec<Edge>> {
    inner.waits(owner.org).get(&owner.org)?.circle(owner)
}

/// Takes everything from the loser, and only then tells it why: whoever is told holds nothing any more.
fn sacrifice(inner: &Inner, loser: &Arc<Owner>, circle: &Arc<[Edge]>) {
    let keys = inner.waits(loser.org).get(&loser.org).map(|waits| waits.keys_of(loser)).unwrap_or_default();
    let Some(key) = keys.first().cloned() else { return };
    let mut left = Vec::new();
    // Its waits before its locks: what others give back meanwhile must not come to it.
    for key in keys {
        let mut turn = Turn::at(inner, Place { org: loser.org, key });
        left.extend(turn.unseat(|waiter| waiter.owner.birth == loser.birth, End::Cancelled));
    }
    if left.is_empty() {
        // It was served or went away in this moment, and the circle with it.
        return;
    }
    for id in inner.agents.held_by(loser) {
        let Some(place) = inner.index.find(id) else { continue };
        Turn::at(inner, place).give_back(id);
    }
    inner.deadlocks.fetch_add(1, Ordering::Relaxed);
    let mut turn = Turn::at(inner, Place { org: loser.org, key: key.clone() });
    turn.announce(Happening {
        what: What::Deadlock,
        at: turn.now(),
        key,
        owner: Arc::clone(loser),
        lock: None,
        fence: None,
        ticket: None,
        circle: circle.iter().map(told).collect(),
        receipt: None,
    });
    for listener in left.into_iter().flatten() {
        turn.answer(listener, Reply::Refused(Refusal::Deadlock(Arc::clone(circle))));
    }
}

/// Waiting agent and owner, the key, and the agent and owner in its way.
fn told(edge: &Edge) -> [String; 5] {
    let Edge { waiter, key, blocker } = edge;
    [
        waiter.agent.to_string(),
        waiter.name.to_string(),
        key.to_string(),
        blocker.agent.to_string(),
        blocker.name.to_string(),
    ]
}

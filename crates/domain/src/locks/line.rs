//! One key: who holds it and who stands in line.

use std::collections::VecDeque;

use super::{Hold, Mode, Now, Waiter};
use crate::Id;
use crate::accounts::Account;

/// Why a holder's word about a lock does not count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// It is not held any more.
    Expired,
    /// Somebody else holds it.
    NotHolder,
}

/// One key. It exists while it is held; whoever waits, waits for holders.
#[derive(Debug, Default)]
pub struct Line {
    holders: Holders,
    #[expect(
        clippy::box_collection,
        reason = "most keys have nobody waiting, and this is a third of the size"
    )]
    queue: Option<Box<VecDeque<Waiter>>>,
}

/// Nearly always one, which then needs no allocation of its own.
#[derive(Debug)]
enum Holders {
    One(Hold),
    Several(Vec<Hold>),
}

impl Default for Holders {
    fn default() -> Self {
        Self::Several(Vec::new())
    }
}

impl Line {
    /// Those who hold it.
    #[must_use]
    pub fn holders(&self) -> &[Hold] {
        match &self.holders {
            Holders::One(hold) => std::slice::from_ref(hold),
            Holders::Several(holds) => holds,
        }
    }

    fn holders_mut(&mut self) -> &mut [Hold] {
        match &mut self.holders {
            Holders::One(hold) => std::slice::from_mut(hold),
            Holders::Several(holds) => holds,
        }
    }

    /// Those who wait, in order.
    pub fn waiters(&self) -> impl DoubleEndedIterator<Item = &Waiter> {
        self.queue.iter().flat_map(|queue| queue.iter())
    }

    /// How many wait.
    #[must_use]
    pub fn queue_length(&self) -> usize {
        self.queue.as_ref().map_or(0, |queue| queue.len())
    }

    /// Whether nobody holds it and nobody waits.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.holders().is_empty() && self.queue.is_none()
    }

    /// The lock this piece of an agent's work has here.
    #[must_use]
    pub fn held_by(&self, agent: Id<Account>, name: &str) -> Option<&Hold> {
        self.holders().iter().find(|hold| hold.owner.is(agent, name))
    }

    /// Whether somebody who comes now is served at once: nobody waits, and no holder is in the way. Who shares does
    /// not overtake those who wait to be alone.
    #[must_use]
    pub fn is_free_for(&self, mode: Mode) -> bool {
        self.queue.is_none() && self.has_room_for(mode)
    }

    fn has_room_for(&self, mode: Mode) -> bool {
        !self.holders().iter().any(|hold| hold.mode.conflicts(mode))
    }

    /// Makes somebody a holder. Whatever else the same owner waits for here is pointless then: those waiters leave.
    pub fn grant(&mut self, hold: Hold) -> Vec<Waiter> {
        let birth = hold.owner.birth;
        self.holders = match std::mem::take(&mut self.holders) {
            Holders::Several(holds) if holds.is_empty() => Holders::One(hold),
            Holders::Several(mut holds) => {
                holds.push(hold);
                Holders::Several(holds)
            }
            Holders::One(first) => Holders::Several(vec![first, hold]),
        };
        self.leave_where(|waiter| waiter.owner.birth == birth)
    }

    /// Puts somebody at the end of the line. How many stand there with it.
    pub fn enqueue(&mut self, waiter: Waiter) -> usize {
        let queue = self.queue.get_or_insert_default();
        queue.push_back(waiter);
        queue.len()
    }

    /// The first in line, if nobody is in its way any more; it has left the line.
    pub fn serve_next(&mut self) -> Option<Waiter> {
        let mode = self.queue.as_ref()?.front()?.mode;
        if !self.has_room_for(mode) {
            return None;
        }
        let first = self.queue.as_mut()?.pop_front();
        self.forget_empty_queue();
        first
    }

    /// Takes those out of the line whom `leaves` names.
    pub fn leave_where(&mut self, leaves: impl Fn(&Waiter) -> bool) -> Vec<Waiter> {
        let Some(queue) = &mut self.queue else { return Vec::new() };
        if !queue.iter().any(&leaves) {
            return Vec::new();
        }
        let (left, kept): (Vec<Waiter>, VecDeque<Waiter>) = {
            let (left, kept): (Vec<Waiter>, Vec<Waiter>) = queue.drain(..).partition(|waiter| leaves(waiter));
            (left, kept.into())
        };
        **queue = kept;
        self.forget_empty_queue();
        left
    }

    fn forget_empty_queue(&mut self) {
        if self.queue.as_ref().is_some_and(|queue| queue.is_empty()) {
            self.queue = None;
        }
    }

    /// Ends a lock, whoever holds it.
    pub fn end(&mut self, id: Id<Hold>) -> Option<Hold> {
        match std::mem::take(&mut self.holders) {
            Holders::One(hold) if hold.id == id => Some(hold),
            Holders::Several(mut holds) => {
                let ended = holds.iter().position(|hold| hold.id == id).map(|place| holds.remove(place));
                self.holders = Holders::Several(holds);
                ended
            }
            other => {
                self.holders = other;
                None
            }
        }
    }

    /// Begins the time of a lock anew: its own length, or another one from now on.
    ///
    /// # Errors
    /// It has ended already, or is somebody else's.
    pub fn renew(
        &mut self,
        id: Id<Hold>,
        agent: Id<Account>,
        ttl_seconds: Option<u32>,
        now: Now,
    ) -> Result<&mut Hold, Refused> {
        self.check(id, agent, now.ms)?;
        let hold = self.holders_mut().iter_mut().find(|hold| hold.id == id).ok_or(Refused::Expired)?;
        hold.ttl_seconds = ttl_seconds.unwrap_or(hold.ttl_seconds);
        hold.begin(now);
        Ok(hold)
    }

    /// The lock, if it is this agent's and not over.
    ///
    /// # Errors
    /// It has ended already, or is somebody else's.
    pub fn check(&self, id: Id<Hold>, agent: Id<Account>, now_ms: u64) -> Result<&Hold, Refused> {
        match self.holders().iter().find(|hold| hold.id == id) {
            Some(hold) if hold.owner.agent != agent => Err(Refused::NotHolder),
            Some(hold) if !hold.is_over(now_ms) => Ok(hold),
            _ => Err(Refused::Expired),
        }
    }

    /// Gives every holder its whole time anew, as after a restart.
    pub fn begin_anew(&mut self, now: Now) {
        self.holders_mut().iter_mut().for_each(|hold| hold.begin(now));
    }

    /// Sets what a record of an earlier run says of a renewal.
    pub fn restore_renewal(&mut self, id: Id<Hold>, ttl_seconds: u32, heartbeats: u32) {
        for hold in self.holders_mut().iter_mut().filter(|hold| hold.id == id) {
            hold.ttl_seconds = ttl_seconds;
            hold.heartbeats = heartbeats;
        }
    }
}

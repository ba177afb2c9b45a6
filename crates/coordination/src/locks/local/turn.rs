//! One change of one key: its lane is locked, its line in hand, its records gather for the journal.

use std::sync::Arc;
use std::sync::MutexGuard;
use std::sync::atomic::Ordering;

use domain::locks::{About, Hold, Line, Now, Owner, Refused, Waiter};
use domain::{Id, Timestamp};

use super::Inner;
use super::journal::record::Record;
use super::lane::{Done, Lane, Listener, Place, Reply};
use super::tickets::End;
use super::views::held;
use super::waking::Waking;
use crate::locks::{Acquired, Grip, Happening, Held, Refusal, Renewal, Wait, Wanted, What};

/// A turn at one key. However it ends, the key is put back.
#[must_use]
pub(super) struct Turn<'e> {
    inner: &'e Inner,
    place: Place,
    pub(super) line: Line,
    had_queue: bool,
    is_changed: bool,
    now: Now,
    lane: MutexGuard<'e, Lane>,
    /// Behind the lane, so that it goes after it: whoever is woken finds the lane free.
    waking: Waking<'e>,
}

/// What came of asking.
pub(super) enum Asked {
    /// The answer comes when it is durable.
    OnTheWay,
    /// Somebody else must leave first.
    Waiting(u64),
    Refused(Refusal),
}

impl<'e> Turn<'e> {
    /// Begins a turn of somebody who waits for the answer and has no mutex of the engine.
    pub(super) fn of_asker(inner: &'e Inner, place: Place) -> Self {
        let mut turn = Self::at(inner, place);
        turn.waking.is_askers = true;
        turn
    }

    /// Begins a turn. What is over ends first, so that nobody sees a lock that is not there any more.
    pub(super) fn at(inner: &'e Inner, place: Place) -> Self {
        let number = inner.lane_of(&place);
        let mut lane = inner.lane(number);
        let line = lane.lines.remove(&place).unwrap_or_default();
        let now = inner.now();
        let had_queue = line.queue_length() > 0;
        let waking =
            Waking { inner, lane: u8::try_from(number).unwrap_or(0), has_news: false, is_askers: false };
        let mut turn = Self { inner, place, line, had_queue, is_changed: false, now, lane, waking };
        turn.end_what_is_over();
        turn
    }

    pub(super) fn held(&self, hold: &Hold) -> Held {
        held(&self.place, hold)
    }

    pub(super) fn answer(&mut self, listener: Listener, reply: Reply) {
        self.lane.out.done.push(Done::Answer(listener, Box::new(reply)));
    }

    fn end_what_is_over(&mut self) {
        let over = |hold: &&Hold| hold.is_over(self.now.ms);
        let ended: Vec<Id<Hold>> = self.line.holders().iter().filter(over).map(|hold| hold.id).collect();
        for id in &ended {
            if let Some(hold) = self.end(*id) {
                self.inner.expired.fetch_add(1, Ordering::Relaxed);
                self.tell(What::Expired, &hold.owner, Some(&hold), hold.ticket());
            }
        }
        if !ended.is_empty() {
            self.serve();
        }
    }

    /// Somebody asks for the key.
    pub(super) fn ask(&mut self, wanted: Wanted, listener: Listener) -> Asked {
        // Before anything is counted: who has as many as it may still gets what it has.
        let Some(listener) = self.repeat(&wanted, listener) else { return Asked::OnTheWay };
        let is_free = self.line.is_free_for(wanted.mode);
        let is_full = self.line.queue_length() >= wanted.rules.queue_max;
        if !is_free && (wanted.wait == Wait::No || is_full) {
            let refusal = if wanted.wait == Wait::No { self.busy() } else { Refusal::QueueFull };
            // Behind what it rests on: who holds the key may not be on the disk yet, and then nobody ever held it.
            self.answer(listener, Reply::Refused(refusal));
            return Asked::OnTheWay;
        }
        let number = self.inner.number();
        let name = (wanted.org, wanted.agent);
        let Some(owner) = self.inner.agents.enter(name, &wanted.owner, number) else {
            return Asked::Refused(Refusal::TooMany);
        };
        let waiter = Waiter {
            number,
            owner,
            mode: wanted.mode,
            ttl_seconds: wanted.ttl_seconds,
            asked_at: self.now.wall,
            about: wanted.about,
        };
        if is_free {
            self.grant(waiter, Some(listener), number);
            return Asked::OnTheWay;
        }
        if wanted.wait == Wait::Ticket {
            self.queue_ticket(waiter, listener);
            return Asked::OnTheWay;
        }
        self.lane.open.insert(number, listener);
        self.enqueue(waiter);
        Asked::Waiting(number)
    }

    fn busy(&self) -> Refusal {
        let holders = self.line.holders().iter().map(|hold| self.held(hold)).collect();
        Refusal::Busy { holders, queue_length: self.line.queue_length() }
    }

    /// Answers an owner that has the lock, or the ticket, already. Otherwise the listener comes back.
    fn repeat(&mut self, wanted: &Wanted, listener: Listener) -> Option<Listener> {
        let is_same = |about: &Option<Box<About>>| is_same_request(about.as_deref(), wanted.about.as_deref());
        if let Some(hold) = self.line.held_by(wanted.agent, &wanted.owner) {
            let (held, is_same) = (self.held(hold), is_same(&hold.about));
            let reply = self.already(&held, is_same);
            self.answer(listener, reply);
            return None;
        }
        let is_mine =
            |waiter: &Waiter| waiter.owner.is(wanted.agent, &wanted.owner) && is_same(&waiter.about);
        let same = self.line.waiters().enumerate().find(|(_, waiter)| is_mine(waiter));
        let ticket = same.and_then(|(place, waiter)| Some((place, waiter.ticket()?)));
        let Some((place, ticket)) = ticket.filter(|_| wanted.wait == Wait::Ticket) else {
            return Some(listener);
        };
        self.lane.told_again.insert(ticket.raw());
        self.answer(listener, Reply::Again(Acquired::Queued { ticket, position: place + 1 }));
        None
    }

    /// What to say to an owner about the lock it has: the same request gets it again.
    fn already(&mut self, held: &Held, is_same: bool) -> Reply {
        if !is_same {
            return Reply::Refused(Refusal::AlreadyHeld(Box::new(held.clone())));
        }
        self.lane.told_again.insert(held.hold.id.raw());
        Reply::Again(Acquired::Again(Box::new(held.clone())))
    }

    fn queue_ticket(&mut self, mut waiter: Waiter, listener: Listener) {
        let ticket = Id::new((self.inner.fresh)());
        waiter.about.get_or_insert_default().ticket = Some(ticket);
        self.lane.write(&Record::Queued(self.place.clone(), &waiter));
        self.inner.tickets.add(ticket, self.place.clone(), waiter.owner.agent, self.now.ms);
        let position = self.enqueue(waiter);
        self.answer(listener, Reply::Acquired(Acquired::Queued { ticket, position }));
    }

    fn enqueue(&mut self, waiter: Waiter) -> usize {
        self.is_changed = true;
        self.inner.waiting.fetch_add(1, Ordering::Relaxed);
        self.tell(What::Queued, &Arc::clone(&waiter.owner), None, waiter.ticket());
        self.line.enqueue(waiter)
    }

    /// Serves those who have come to the head of the line.
    pub(super) fn serve(&mut self) {
        while let Some(waiter) = self.line.serve_next() {
            self.is_changed = true;
            self.inner.waiting.fetch_sub(1, Ordering::Relaxed);
            let listener = self.lane.open.remove(&waiter.number).filter(|listener| !listener.is_closed());
            if waiter.ticket().is_none() && listener.is_none() {
                // Whoever waited is gone and about to say so.
                self.inner.agents.leave(&waiter.owner, None);
                continue;
            }
            let fence = self.inner.number();
            self.grant(waiter, listener, fence);
        }
    }

    fn grant(&mut self, waiter: Waiter, listener: Option<Listener>, fence: u64) {
        self.is_changed = true;
        let ticket = waiter.ticket();
        let hold = waiter.granted(Id::new((self.inner.fresh)()), fence, self.now);
        self.lane.write(&Record::Granted(self.place.clone(), &hold));
        self.inner.index.add(&hold, self.place.clone(), self.now.ms);
        self.inner.agents.holds(&hold.owner, hold.id);
        if let Some(ticket) = ticket {
            self.inner.tickets.granted(ticket, hold.id);
        }
        let held = self.held(&hold);
        if let Some(listener) = listener {
            self.answer(listener, Reply::Acquired(Acquired::Held(Box::new(held.clone()))));
        }
        let what = if ticket.is_some() { What::Promoted } else { What::Acquired };
        self.tell(what, &Arc::clone(&hold.owner), Some(&hold), ticket);
        for waiter in self.line.grant(hold) {
            let is_same = is_same_request(waiter.about.as_deref(), held.hold.about.as_deref());
            let reply = self.already(&held, is_same);
            if let Some(listener) = self.gone(&waiter, End::Cancelled) {
                self.answer(listener, reply);
            }
        }
    }

    /// A waiter has left the line without the lock: whoever listens for it wants an answer.
    fn gone(&mut self, waiter: &Waiter, end: End) -> Option<Listener> {
        self.is_changed = true;
        self.inner.waiting.fetch_sub(1, Ordering::Relaxed);
        self.inner.agents.leave(&waiter.owner, None);
        if let Some(ticket) = waiter.ticket() {
            self.lane.told_again.remove(&ticket.raw());
            self.inner.tickets.ended(ticket, end);
            self.lane.write(&Record::Left(self.place.clone(), waiter.number));
        }
        self.lane.open.remove(&waiter.number)
    }

    /// Takes waiters out of the line; for each of them whoever listens, who has no answer yet.
    pub(super) fn unseat(&mut self, whom: impl Fn(&Waiter) -> bool, end: End) -> Vec<Option<Listener>> {
        let left = self.line.leave_where(whom);
        let listeners = left.iter().map(|waiter| self.gone(waiter, end)).collect();
        self.serve();
        listeners
    }

    /// Takes waiters out of the line, with this answer. How many.
    pub(super) fn dismiss(&mut self, whom: impl Fn(&Waiter) -> bool, end: End, refusal: &Refusal) -> usize {
        let left = self.unseat(whom, end);
        let count = left.len();
        for listener in left.into_iter().flatten() {
            self.answer(listener, Reply::Refused(refusal.clone()));
        }
        count
    }

    pub(super) fn end_tickets(&mut self, whom: impl Fn(&Waiter) -> bool, end: End) {
        self.dismiss(whom, end, &Refusal::TimedOut);
    }

    /// Ends a lock. Those who wait are not served yet.
    pub(super) fn end(&mut self, id: Id<Hold>) -> Option<Hold> {
        let hold = self.line.end(id)?;
        self.is_changed = true;
        self.lane.write(&Record::Ended(self.place.clone(), id));
        self.inner.index.remove(id);
        self.inner.agents.leave(&hold.owner, Some(id));
        self.lane.told_again.remove(&id.raw());
        if let Some(ticket) = hold.ticket() {
            self.lane.told_again.remove(&ticket.raw());
            self.inner.tickets.ended(ticket, End::Expired);
        }
        Some(hold)
    }

    /// Ends a lock that its holder gives back; those who wait are served.
    pub(super) fn give_back(&mut self, id: Id<Hold>) -> Option<Hold> {
        let hold = self.end(id)?;
        self.tell(What::Released, &hold.owner, Some(&hold), None);
        self.serve();
        Some(hold)
    }

    /// Ends a lock that was granted to somebody who is gone, unless the same request has come again for it.
    pub(super) fn take_back(&mut self, id: Id<Hold>) {
        if !self.lane.told_again.contains(&id.raw()) {
            self.give_back(id);
        }
    }

    /// The same for a ticket, and for the lock it may have got meanwhile.
    pub(super) fn take_ticket_back(&mut self, ticket: Id<Waiter>) {
        if self.lane.told_again.contains(&ticket.raw()) {
            return;
        }
        self.end_tickets(|waiter| waiter.ticket() == Some(ticket), End::Cancelled);
        let promoted =
            self.line.holders().iter().find(|hold| hold.ticket() == Some(ticket)).map(|hold| hold.id);
        if let Some(id) = promoted {
            self.take_back(id);
        }
    }

    pub(super) fn release(&mut self, of: Grip, listener: Listener) -> Result<(), Refusal> {
        // The rule is asked first, and what it changes is put on record with what follows from it.
        self.line.check(of.id, of.agent, self.now.ms).map_err(refusal)?;
        if let Some(hold) = self.give_back(of.id) {
            let held = self.held(&hold);
            self.answer(listener, Reply::Held(held));
        }
        Ok(())
    }

    pub(super) fn renew(
        &mut self,
        of: Grip,
        ttl_seconds: Option<u32>,
        why: Renewal,
        listener: Listener,
    ) -> Result<(), Refusal> {
        let hold = self.line.renew(of.id, of.agent, ttl_seconds, self.now).map_err(refusal)?;
        self.is_changed = true;
        hold.heartbeats = hold.heartbeats.saturating_add(u32::from(why == Renewal::Heartbeat));
        let hold = hold.clone();
        let (ttl_seconds, heartbeats) = (hold.ttl_seconds, hold.heartbeats);
        let record = Record::Renewed { place: self.place.clone(), id: hold.id, ttl_seconds, heartbeats };
        self.lane.write(&record);
        self.inner.index.look_again(&hold, self.now.ms);
        let held = self.held(&hold);
        self.answer(listener, Reply::Held(held));
        Ok(())
    }

    /// Says that something happened, to those who want to hear of it or must.
    fn tell(&mut self, what: What, owner: &Arc<Owner>, hold: Option<&Hold>, ticket: Option<Id<Waiter>>) {
        if !what.must_be_noted() && !self.inner.told.listens() {
            return;
        }
        let happening = Happening {
            what,
            at: self.now.wall,
            key: self.place.key.clone(),
            owner: Arc::clone(owner),
            lock: hold.map(|hold| hold.id),
            fence: hold.map(|hold| hold.fence),
            ticket,
            circle: Vec::new(),
            receipt: None,
        };
        self.announce(happening);
    }

    pub(super) fn announce(&mut self, happening: Happening) {
        match happening.what.must_be_noted() {
            true => {
                let number = self.inner.number();
                self.lane.tell_surely(number, happening);
            }
            false => self.lane.out.done.push(Done::Tell(happening)),
        }
    }

    pub(super) fn now(&self) -> Timestamp {
        self.now.wall
    }
}

/// Puts the key back. Who waits for whom is right before anybody else can look.
impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if self.is_changed {
            // Before the lane is free: whoever looks at the key from then on sees what has changed.
            self.inner.changes.fetch_add(1, Ordering::AcqRel);
        }
        let line = std::mem::take(&mut self.line);
        if self.had_queue || line.queue_length() > 0 {
            let mut waits = self.inner.waits(self.place.org);
            let of_org = waits.entry(self.place.org).or_default();
            of_org.update(&self.place.key, &line);
            if of_org.is_empty() {
                waits.remove(&self.place.org);
            }
        }
        if !line.is_idle() {
            self.lane.lines.insert(self.place.clone(), line);
        }
        if self.inner.journal.failure().is_some() {
            return drop(self.lane.take_out());
        }
        self.waking.has_news = !self.lane.out.records.is_empty() || !self.lane.out.done.is_empty();
    }
}

fn is_same_request(one: Option<&About>, other: Option<&About>) -> bool {
    let id = one.and_then(|about| about.request_id.as_deref());
    id.is_some() && id == other.and_then(|about| about.request_id.as_deref())
}

fn refusal(refused: Refused) -> Refusal {
    match refused {
        Refused::Expired => Refusal::Expired,
        Refused::NotHolder => Refusal::NotHolder,
    }
}

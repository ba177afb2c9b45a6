//! Asking for a lock, waiting for it, and going away on the way.

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::lane::{Listener, Place, Reply};
use super::tickets::End;
use super::turn::{Asked, Turn};
use super::{Inner, circles};
use crate::locks::{Acquired, Refusal, Wait, Wanted};

pub(super) async fn acquire(inner: &Inner, wanted: Wanted) -> Result<Acquired, Refusal> {
    inner.check_open()?;
    let place = Place { org: wanted.org, key: wanted.key.clone() };
    let (wait, detects) = (wanted.wait, wanted.rules.detects_deadlocks);
    let (agent, owner) = (wanted.agent, wanted.owner.clone());
    let (listener, answer) = oneshot::channel();
    let number = match ask(inner, place.clone(), wanted, listener) {
        Asked::Refused(refusal) => return Err(refusal),
        Asked::OnTheWay => None,
        Asked::Waiting(number) => Some(number),
    };
    let mut asking = Asking { inner, place, number, answer: Some(answer) };
    // A ticket may close a circle as well.
    if detects && wait != Wait::No {
        circles::break_through(inner, asking.place.org, agent, &owner);
    }
    let wait = if let (Wait::For(wait), Some(_)) = (wait, number) { Some(wait) } else { None };
    match asking.answer(wait).await? {
        Reply::Acquired(acquired) | Reply::Again(acquired) => Ok(acquired),
        Reply::Refused(refusal) => Err(refusal),
        Reply::Held(_) | Reply::Nothing => Err(inner.broken()),
    }
}

fn ask(inner: &Inner, place: Place, wanted: Wanted, listener: Listener) -> Asked {
    Turn::of_asker(inner, place).ask(wanted, listener)
}

/// A question without an answer yet.
struct Asking<'e> {
    inner: &'e Inner,
    place: Place,
    /// The waiter, if it stands in line.
    number: Option<u64>,
    answer: Option<oneshot::Receiver<Box<Reply>>>,
}

impl Asking<'_> {
    /// The answer; without one in time, or when the hub stops, the waiter leaves the line.
    async fn answer(&mut self, wait: Option<Duration>) -> Result<Reply, Refusal> {
        let Some(answer) = &mut self.answer else { return Err(self.inner.broken()) };
        if let Some(wait) = wait {
            let deadline = Instant::now() + wait;
            let mut stopping = self.inner.stopping.subscribe();
            let is_stopping = tokio::select! {
                reply = &mut *answer => {
                    self.answer = None;
                    return reply.map(|reply| *reply).map_err(|_| self.inner.broken());
                }
                () = tokio::time::sleep_until(deadline) => false,
                _ = stopping.wait_for(|stopping| *stopping) => true,
            };
            if self.leave_line() && is_stopping {
                // The journal may be closed already.
                self.answer = None;
                return Err(Refusal::TimedOut);
            }
        }
        // It was served, or has left; its answer is on the way, behind what it rests on.
        let Some(answer) = &mut self.answer else { return Err(self.inner.broken()) };
        let reply = answer.await;
        self.answer = None;
        reply.map(|reply| *reply).map_err(|_| self.inner.broken())
    }

    /// Whether it still stood there.
    fn leave_line(&mut self) -> bool {
        let Some(number) = self.number.take() else { return false };
        let mut turn = Turn::at(self.inner, self.place.clone());
        let left = turn.dismiss(|waiter| waiter.number == number, End::Cancelled, &Refusal::TimedOut);
        left > 0
    }
}

/// Whoever asked is gone.
impl Drop for Asking<'_> {
    fn drop(&mut self) {
        let Some(mut answer) = self.answer.take() else { return };
        // From here on an answer comes back to whoever sends it.
        answer.close();
        if !self.leave_line()
            && let Ok(reply) = answer.try_recv()
        {
            self.inner.take_back(*reply);
        }
    }
}

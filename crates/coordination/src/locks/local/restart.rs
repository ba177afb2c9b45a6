//! Beginning with what an earlier run has left.

use std::sync::atomic::Ordering;

use domain::locks::Line;

use super::Inner;
use super::journal::State;
use super::lane::Place;
use super::turn::Turn;

impl Inner {
    /// Takes over what an earlier run has left: every lock with its whole time, every ticket in its place.
    pub(super) fn take_over(&self, state: State) {
        let now = self.now();
        for (place, mut line) in state.lines {
            line.begin_anew(now);
            self.register(&place, &line, now.ms);
            self.lane(self.lane_of(&place)).lines.insert(place.clone(), line);
            // Those who waited with a connection are gone, so others may be served.
            Turn::at(self, place).serve();
        }
        for (number, happening) in state.happenings {
            self.lane(0).tell_again(number, happening);
            self.journal.poke(0);
        }
    }

    fn register(&self, place: &Place, line: &Line, now_ms: u64) {
        for hold in line.holders() {
            let owner = &hold.owner;
            self.agents.restore(owner, Some(hold.id));
            self.index.add(hold, place.clone(), now_ms);
            if let Some(ticket) = hold.ticket() {
                self.tickets.add(ticket, place.clone(), owner.agent, now_ms);
                self.tickets.granted(ticket, hold.id);
            }
        }
        for waiter in line.waiters() {
            self.agents.restore(&waiter.owner, None);
            self.waiting.fetch_add(1, Ordering::Relaxed);
            if let Some(ticket) = waiter.ticket() {
                self.tickets.add(ticket, place.clone(), waiter.owner.agent, now_ms);
            }
        }
    }
}

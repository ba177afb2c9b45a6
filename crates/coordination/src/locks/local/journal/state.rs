//! What the journal adds up to.

use std::collections::{BTreeMap, HashMap};

use domain::locks::Line;

use super::record::{Origin, Reading, Record};
use crate::locks::Happening;
use crate::locks::local::lane::{LANES, Place};

/// Every lock and ticket there was, and what is not yet noted elsewhere.
#[derive(Debug)]
pub struct State {
    pub(crate) lines: HashMap<Place, Line>,
    pub(crate) happenings: BTreeMap<u64, Happening>,
    /// Of each lane, the last record that is in here.
    pub(super) seen: [u64; LANES],
    /// The greatest number there was: no token may repeat it.
    pub(crate) newest: u64,
}

impl Default for State {
    fn default() -> Self {
        Self { lines: HashMap::new(), happenings: BTreeMap::new(), seen: [0; LANES], newest: 0 }
    }
}

impl State {
    /// How many locks are held.
    #[must_use]
    pub fn held(&self) -> usize {
        self.lines.values().map(|line| line.holders().len()).sum()
    }

    /// The epoch of the newest token there was.
    #[must_use]
    pub fn newest_epoch(&self) -> i64 {
        i64::try_from(self.newest >> 32).unwrap_or(i64::MAX)
    }

    /// Takes in a record, unless it is in already.
    pub(super) fn apply(&mut self, origin: Origin, record: Reading) {
        let seen = &mut self.seen[usize::from(origin.lane) % LANES];
        if origin.number <= *seen {
            return;
        }
        *seen = origin.number;
        self.take(record);
    }

    pub(super) fn take(&mut self, record: Reading) {
        match record {
            Record::Granted(place, hold) => {
                self.newest = self.newest.max(hold.fence).max(hold.owner.birth);
                // A ticket of its owner leaves the line with that.
                self.lines.entry(place).or_default().grant(hold);
            }
            Record::Renewed { place, id, ttl_seconds, heartbeats } => {
                if let Some(line) = self.lines.get_mut(&place) {
                    line.restore_renewal(id, ttl_seconds, heartbeats);
                }
            }
            Record::Ended(place, id) => self.in_line(&place, |line| {
                line.end(id);
            }),
            Record::Queued(place, waiter) => {
                self.newest = self.newest.max(waiter.number);
                self.lines.entry(place).or_default().enqueue(waiter);
            }
            Record::Left(place, number) => self.in_line(&place, |line| {
                line.leave_where(|waiter| waiter.number == number);
            }),
            Record::Happened(number, happening) => {
                self.newest = self.newest.max(number);
                self.happenings.insert(number, happening);
            }
            Record::Noted(number) => {
                self.happenings.remove(&number);
            }
            Record::Reached(number) => self.newest = self.newest.max(number),
        }
    }

    fn in_line(&mut self, place: &Place, change: impl FnOnce(&mut Line)) {
        if let Some(line) = self.lines.get_mut(place) {
            change(line);
            if line.is_idle() {
                self.lines.remove(place);
            }
        }
    }
}

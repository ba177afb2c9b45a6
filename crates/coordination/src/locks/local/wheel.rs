//! Timers at constant cost, however many there are.

/// How finely time is cut.
const TICK_MS: u64 = 32;
const SLOTS: usize = 1024;
/// Nothing is put further ahead than this: what is gone by then does not stay until its end, and what is not is put
/// in again.
const AHEAD_MS: u64 = 8_000;
const _: () = assert!(AHEAD_MS / TICK_MS + 1 < SLOTS as u64);

/// A wheel of things to look at. It says when to look; whether anything is due is the owner's to know.
#[derive(Debug)]
pub(super) struct Wheel<T> {
    slots: Vec<Vec<T>>,
    /// The first tick that was not yet looked at.
    tick: u64,
}

impl<T> Wheel<T> {
    pub(super) fn new(now_ms: u64) -> Self {
        Self { slots: (0..SLOTS).map(|_| Vec::new()).collect(), tick: now_ms / TICK_MS }
    }

    /// Has this looked at when it is due, or some time before.
    pub(super) fn put(&mut self, thing: T, due_ms: u64, now_ms: u64) {
        let due = due_ms.min(now_ms.saturating_add(AHEAD_MS));
        // The tick after the one it falls into: it is over then.
        let tick = (due / TICK_MS + 1).max(self.tick);
        self.slots[slot(tick)].push(thing);
    }

    /// What is to be looked at by now.
    pub(super) fn due(&mut self, now_ms: u64) -> Vec<T> {
        let now = now_ms / TICK_MS;
        let mut due = Vec::new();
        // After a long sleep one round sees everything.
        for tick in self.tick.max(now.saturating_sub(SLOTS as u64 - 1))..=now {
            due.append(&mut self.slots[slot(tick)]);
        }
        self.tick = now + 1;
        due
    }
}

fn slot(tick: u64) -> usize {
    usize::try_from(tick % SLOTS as u64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_forgotten_and_nothing_comes_late() {
        let mut wheel = Wheel::new(0);
        let mut pending: Vec<(u64, u64)> = (0..2_000).map(|n| (n, (n * 7_919) % 60_000)).collect();
        for (n, due) in &pending {
            wheel.put(*n, *due, 0);
        }
        for now in (0..70_000).step_by(50) {
            for n in wheel.due(now) {
                let due = pending.iter().find(|(other, _)| *other == n).unwrap().1;
                if due <= now {
                    assert!(now - due < 50 + 2 * TICK_MS, "{n} was due at {due}, seen at {now}");
                    pending.retain(|(other, _)| *other != n);
                } else {
                    wheel.put(n, due, now);
                }
            }
        }
        assert!(pending.is_empty());
    }

    #[test]
    fn a_long_sleep_misses_nothing() {
        let mut wheel = Wheel::new(0);
        for due in 0..300 {
            wheel.put(due, due * 100, 0);
        }
        assert_eq!(wheel.due(10_000_000).len(), 300);
        wheel.put(1, 5, 10_000_000);
        assert_eq!(wheel.due(10_000_100), [1], "what was due already is seen at once");
    }
}

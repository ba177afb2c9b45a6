//! Getting what a turn has left in its lane written.

use super::Inner;
use super::journal::write_as_asker;

/// Says to the journal, when it goes, that there is something to write.
pub(super) struct Waking<'e> {
    pub(super) inner: &'e Inner,
    pub(super) lane: u8,
    pub(super) has_news: bool,
    /// Whether somebody stands behind this who waits for the answer, and may as well write.
    pub(super) is_askers: bool,
}

impl Drop for Waking<'_> {
    fn drop(&mut self) {
        match self.is_askers {
            _ if !self.has_news => {}
            // What breaks off has enough to do.
            true if !std::thread::panicking() => write_as_asker(self.inner, self.lane),
            _ => self.inner.journal.poke(self.lane),
        }
    }
}

//! What happens, told to whoever listens in this process at that moment.

use tokio::sync::broadcast;

/// How many a slow listener may be behind before it misses some.
const BACKLOG_MAX: usize = 1024;

/// A bus. Nobody waits for its listeners.
pub struct Bus<T> {
    sender: broadcast::Sender<T>,
}

impl<T: Clone> Default for Bus<T> {
    fn default() -> Self {
        Self { sender: broadcast::Sender::new(BACKLOG_MAX) }
    }
}

impl<T: Clone> Bus<T> {
    /// Listens from here on. Who is too slow is told how many it missed.
    pub fn listen(&self) -> broadcast::Receiver<T> {
        self.sender.subscribe()
    }

    /// Whether anybody does.
    #[must_use]
    pub fn has_listeners(&self) -> bool {
        self.sender.receiver_count() > 0
    }

    /// Tells those who listen.
    pub fn tell(&self, news: T) {
        // Nobody listens: nobody misses it.
        drop(self.sender.send(news));
    }
}

//! The connection a request came on, for those few that outlive their answer.

use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

/// Keeps the connection's place among all of them, and can end it.
#[derive(Clone)]
pub(crate) struct Connection {
    cut: CancellationToken,
    _place: Arc<OwnedSemaphorePermit>,
}

impl Connection {
    pub(crate) fn new(place: OwnedSemaphorePermit) -> Self {
        Self { cut: CancellationToken::new(), _place: Arc::new(place) }
    }

    /// Ends it, whatever is still to be written: whoever does not read would not let it end otherwise.
    pub(crate) fn cut(&self) {
        self.cut.cancel();
    }

    /// Ready once it is to end.
    pub(crate) async fn is_cut(&self) {
        self.cut.cancelled().await;
    }
}

//! Background tasks and their end.

use std::future::Future;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Knows every task the hub has started, so that stopping can wait for them.
#[derive(Clone, Default)]
pub struct Lifecycle {
    token: CancellationToken,
    tasks: TaskTracker,
    connections: TaskTracker,
    sockets: TaskTracker,
}

impl Lifecycle {
    /// Runs a task that ends by itself soon after [`Lifecycle::stopping`].
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(task);
    }

    /// Runs a connection. It ends with its client or when the listener drains, not with the background work.
    pub fn spawn_connection(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.connections.spawn(task);
    }

    /// Counts what has left its connection behind and lives on, until it ends.
    pub fn socket<F: Future>(&self, task: F) -> impl Future<Output = F::Output> + use<F> {
        self.sockets.track_future(task)
    }

    /// Ready once no socket is left. No more may come.
    pub async fn without_sockets(&self) {
        self.sockets.close();
        self.sockets.wait().await;
    }

    /// Ready once the hub is stopping: whoever waits answers at once with what a timeout would answer.
    pub async fn stopping(&self) {
        self.token.cancelled().await;
    }

    /// Whether the hub is stopping.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.token.is_cancelled()
    }

    /// Tells everybody, without waiting for them.
    pub fn announce_stop(&self) {
        self.token.cancel();
    }

    /// Tells everybody and waits until all tasks have ended.
    pub async fn stop(&self) {
        self.token.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

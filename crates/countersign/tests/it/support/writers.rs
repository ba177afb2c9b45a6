//! Many clients that write at once and remember what was acknowledged.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use client::{Client, ClientError};
use testkit::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;
use wire::{CreateApiKey, CreatedApiKey};

use super::PATIENCE;

/// Who was refused must not spend the processor on asking again.
const AGAIN_AFTER: Duration = Duration::from_millis(20);

/// A key whose minting was acknowledged.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) id: Uuid,
    pub(crate) secret: String,
}

impl Key {
    /// The key in an answer that shows one.
    pub(crate) fn shown_in(answer: CreatedApiKey) -> Self {
        let secret = answer.key.expect("a fresh key");
        watch::secret(&secret);
        Self { id: answer.api_key.id, secret }
    }
}

/// What a writer does when it is not acknowledged.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterError {
    /// The hub is gone; so is the writer.
    Leave,
    /// It comes again after a moment.
    Again,
}

/// What the writers remember.
#[derive(Default)]
pub(crate) struct Written {
    pub(crate) keys: Vec<Key>,
    pub(crate) errors: Vec<ClientError>,
}

impl Written {
    /// The codes of all problems, sorted and once each. Panics on what is no problem of the hub's.
    pub(crate) fn problem_codes(&self) -> Vec<String> {
        let code = |error: &ClientError| match error {
            ClientError::Problem(problem) => format!("{} {}", problem.status, problem.code),
            other => panic!("not an answer of the hub: {other:?}"),
        };
        let mut codes: Vec<String> = self.errors.iter().map(code).collect();
        codes.sort();
        codes.dedup();
        codes
    }
}

/// Writers at work.
pub(crate) struct Writers {
    tasks: JoinSet<()>,
    written: Arc<Mutex<Written>>,
    /// (acknowledged, refused) so far.
    counts: tokio::sync::watch::Receiver<(usize, usize)>,
    leave: CancellationToken,
}

impl Writers {
    /// Sets so many to work, each minting one key after the other.
    pub(crate) fn start(client: &Client, count: usize, after_error: AfterError) -> Self {
        let written = Arc::new(Mutex::new(Written::default()));
        let (told, counts) = tokio::sync::watch::channel((0, 0));
        let (told, leave) = (Arc::new(told), CancellationToken::new());
        let mut tasks = JoinSet::new();
        for number in 0..count {
            let (client, written, told) = (client.clone(), Arc::clone(&written), Arc::clone(&told));
            let leave = leave.clone();
            tasks.spawn(async move {
                let wanted = CreateApiKey { name: format!("writer {number}"), ..CreateApiKey::default() };
                while !leave.is_cancelled() {
                    match client.create_api_key(&wanted).await {
                        Ok(minted) => {
                            written.lock().unwrap().keys.push(Key::shown_in(minted));
                            told.send_modify(|(acknowledged, _)| *acknowledged += 1);
                        }
                        Err(error) => {
                            written.lock().unwrap().errors.push(error);
                            told.send_modify(|(_, refused)| *refused += 1);
                            if after_error == AfterError::Leave {
                                return;
                            }
                            tokio::time::sleep(AGAIN_AFTER).await;
                        }
                    }
                }
            });
        }
        Self { tasks, written, counts, leave }
    }

    /// Waits until so many were acknowledged since the start.
    pub(crate) async fn acknowledged(&mut self, count: usize) {
        self.counted("acknowledgements", |(acknowledged, _)| acknowledged >= count).await;
    }

    /// Waits until so many were refused since the start.
    pub(crate) async fn refused(&mut self, count: usize) {
        self.counted("refusals", |(_, refused)| refused >= count).await;
    }

    /// (acknowledged, refused) so far.
    pub(crate) fn counts(&self) -> (usize, usize) {
        *self.counts.borrow()
    }

    /// What was acknowledged up to here.
    pub(crate) fn keys_so_far(&self) -> Vec<Key> {
        self.written.lock().unwrap().keys.clone()
    }

    async fn counted(&mut self, what: &str, enough: impl Fn((usize, usize)) -> bool) {
        let waited = tokio::time::timeout(PATIENCE, self.counts.wait_for(|counts| enough(*counts))).await;
        let reached = waited.is_ok_and(|reached| reached.is_ok());
        assert!(
            reached,
            "not enough {what}: {:?}; {:?}",
            self.counts(),
            self.written.lock().unwrap().errors.last()
        );
    }

    /// Sends them home and asks what they remember.
    pub(crate) async fn finish(mut self) -> Written {
        self.leave.cancel();
        while let Some(ended) = self.tasks.join_next().await {
            ended.expect("a writer does not panic");
        }
        std::mem::take(&mut *self.written.lock().unwrap())
    }
}

//! One transaction on a pooled connection.

use deadpool_postgres::Object;
use tokio_postgres::Statement;

use super::pipeline::{Sent, in_order};
use super::{failed, reason};
use crate::row::{FromRow, Row};
use crate::value::Value;
use crate::{Error, Result};

const BEGIN_WRITE: &str = "BEGIN";
const BEGIN_READ: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// A transaction that begins with its first statement.
///
/// Dropped before its end (the caller went away, the unit panicked) it closes the connection: a pooled
/// connection must never come back in the middle of somebody's transaction.
pub(crate) struct PgTx {
    client: Option<Object>,
    begin: &'static str,
    begun: bool,
    queue: Vec<(Statement, Vec<Value<'static>>)>,
}

impl PgTx {
    pub(crate) fn begin_write(client: Object) -> Self {
        Self { client: Some(client), begin: BEGIN_WRITE, begun: false, queue: Vec::new() }
    }

    pub(crate) fn begin_read(client: Object) -> Self {
        Self { client: Some(client), begin: BEGIN_READ, begun: false, queue: Vec::new() }
    }

    pub(crate) async fn exec(&mut self, text: &str, values: &[Value<'_>]) -> Result<u64> {
        let (client, sent) = self.send_queue()?;
        let last = async {
            let statement = client.prepare_cached(text).await?;
            client.execute_raw(&statement, values).await
        };
        in_order(sent, last).await.map_err(failed)
    }

    pub(crate) async fn push(&mut self, text: &str, values: &[Value<'_>]) -> Result<()> {
        let client = self.client.as_ref().ok_or(GONE)?;
        let statement = client.prepare_cached(text).await.map_err(failed)?;
        self.queue.push((statement, values.iter().cloned().map(Value::into_owned).collect()));
        Ok(())
    }

    pub(crate) async fn rows<T: FromRow>(&mut self, text: &str, values: &[Value<'_>]) -> Result<Vec<T>> {
        let (client, sent) = self.send_queue()?;
        let last = async {
            let statement = client.prepare_cached(text).await?;
            let values: Vec<_> = values.iter().map(|value| value as _).collect();
            client.query(&statement, &values).await
        };
        let rows = in_order(sent, last).await.map_err(failed)?;
        rows.iter().map(|row| T::from_row(&Row::Pg(row))).collect()
    }

    /// Commits. A connection lost from here on leaves the outcome unknown.
    pub(crate) async fn commit(mut self) -> Result<()> {
        if !self.begun && self.queue.is_empty() {
            return Ok(());
        }
        let (client, sent) = self.send_queue()?;
        let outcome = in_order(sent, client.batch_execute("COMMIT")).await;
        match outcome.map_err(|error| (reason(&error), failed(error))) {
            Ok(()) => {
                self.begun = false;
                Ok(())
            }
            Err((why, Error::Unavailable(_) | Error::Engine(_))) => Err(Error::OutcomeUnknown(why)),
            Err((_, known)) => {
                self.rollback().await;
                Err(known)
            }
        }
    }

    /// Ends the transaction without a trace; where that fails, dropping `self` closes the connection.
    pub(crate) async fn rollback(mut self) {
        self.queue.clear();
        if !self.begun {
            return;
        }
        if let Some(client) = &self.client
            && client.batch_execute("ROLLBACK").await.is_ok()
        {
            self.begun = false;
        }
    }

    /// What was pushed, as futures that are sent when polled, BEGIN in front if it is the first.
    fn send_queue(&mut self) -> Result<(&Object, Vec<Sent<'_>>)> {
        let queue = std::mem::take(&mut self.queue);
        let client = self.client.as_ref().ok_or(GONE)?;
        let mut sent: Vec<Sent<'_>> = Vec::with_capacity(queue.len() + 1);
        if !self.begun {
            // Set before it is sent: a cancelled BEGIN may have reached the server.
            self.begun = true;
            sent.push(Box::pin(client.batch_execute(self.begin)));
        }
        for (statement, values) in queue {
            sent.push(Box::pin(async move { client.execute_raw(&statement, values).await.map(drop) }));
        }
        Ok((client, sent))
    }
}

const GONE: Error = Error::Misbehaved("its connection is gone");

impl Drop for PgTx {
    fn drop(&mut self) {
        if self.begun
            && let Some(client) = self.client.take()
        {
            drop(Object::take(client));
        }
    }
}

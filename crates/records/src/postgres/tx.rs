//! One transaction on a pooled connection.

use std::sync::atomic::{AtomicBool, Ordering};

use deadpool_postgres::Object;
use tokio_postgres::Statement;
use tokio_postgres::error::Severity;

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
    begin: Option<&'static str>,
    begun: bool,
    queue: Vec<(Statement, Vec<Value<'static>>)>,
}

impl PgTx {
    pub(crate) fn begin_write(client: Object) -> Self {
        Self { client: Some(client), begin: Some(BEGIN_WRITE), begun: false, queue: Vec::new() }
    }

    pub(crate) fn begin_read(client: Object) -> Self {
        Self { client: Some(client), begin: Some(BEGIN_READ), begun: false, queue: Vec::new() }
    }

    /// For one statement, which is a snapshot by itself: saves the round trips of BEGIN and COMMIT.
    pub(crate) fn without_transaction(client: Object) -> Self {
        Self { client: Some(client), begin: None, begun: false, queue: Vec::new() }
    }

    /// Whether it only looks.
    pub(crate) fn is_read(&self) -> bool {
        self.begin != Some(BEGIN_WRITE)
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

    /// Commits. A connection lost once COMMIT was sent leaves the outcome unknown.
    pub(crate) async fn commit(mut self) -> Result<()> {
        if !self.begun && self.queue.is_empty() {
            return Ok(());
        }
        let is_read = self.is_read();
        let (client, sent) = self.send_queue()?;
        let asked = AtomicBool::new(false);
        let commit = async {
            asked.store(true, Ordering::Relaxed);
            client.batch_execute("COMMIT").await
        };
        let Err(error) = in_order(sent, commit).await else {
            self.begun = false;
            return Ok(());
        };
        // An ERROR of the server, be it a pushed statement's or the commit's own, rolls back; a FATAL one ends
        // the connection and may have come after the commit.
        let is_refused = error.as_db_error().is_some_and(|db| db.parsed_severity() == Some(Severity::Error));
        if asked.load(Ordering::Relaxed) && !is_refused && !is_read {
            return Err(Error::OutcomeUnknown(reason(&error)));
        }
        self.rollback().await;
        Err(failed(error))
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
        if let Some(begin) = self.begin.filter(|_| !self.begun) {
            // Set before it is sent: a cancelled BEGIN may have reached the server.
            self.begun = true;
            sent.push(Box::pin(client.batch_execute(begin)));
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

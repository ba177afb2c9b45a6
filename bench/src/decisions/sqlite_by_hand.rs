//! The unit on bare rusqlite: one thread that owns the connection and writes what was sent to it, in groups
//! or one by one. Nothing is general here, because nothing has to be.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use anyhow::{Context as _, Result, anyhow};
use rusqlite::{Connection, params};
use tokio::sync::oneshot;

use super::through_records::{ACTION, Texts};
use super::{Decision, Store, link};

/// As many as the product's writer takes.
const QUEUE_UNITS_MAX: usize = 4096;
const GROUP_UNITS_MAX: usize = 256;
const STATEMENTS_MAX: usize = 64;

/// Whether units share a commit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Commits {
    OfGroups,
    OfUnits,
}

#[derive(Clone)]
pub(crate) struct SqliteByHand {
    queue: SyncSender<Request>,
}

struct Request {
    decision: Decision,
    reply: oneshot::Sender<Result<bool>>,
}

impl SqliteByHand {
    /// Opens the file as the product does. The thread ends when nobody can send to it any more.
    pub(crate) fn open(path: &Path, commits: Commits) -> Result<Self> {
        let connection = Connection::open(path)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
        connection.execute_batch(
            "PRAGMA busy_timeout = 5000; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF;
             PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16384; PRAGMA journal_mode = WAL;
             PRAGMA synchronous = FULL;",
        )?;
        let (queue, requests) = sync_channel(QUEUE_UNITS_MAX);
        let writer = Writer { connection, texts: Texts::with_head(HEAD) };
        std::thread::Builder::new().name("by-hand".into()).spawn(move || match commits {
            Commits::OfGroups => writer.write_groups(&requests),
            Commits::OfUnits => writer.write_units(&requests),
        })?;
        Ok(Self { queue })
    }
}

pub(super) const HEAD: &str = "SELECT seq, hash FROM audit_head WHERE chain_id = $1";

impl Store for SqliteByHand {
    async fn decide(&self, decision: Decision) -> Result<bool> {
        let (reply, answer) = oneshot::channel();
        self.queue.try_send(Request { decision, reply }).map_err(|_| anyhow!("the writer is overloaded"))?;
        answer.await.context("the writer is gone")?
    }
}

struct Writer {
    connection: Connection,
    texts: Texts,
}

impl Writer {
    /// Takes what is queued, never waiting for company, and answers all of it after one commit.
    fn write_groups(&self, requests: &Receiver<Request>) {
        let mut ran = Vec::with_capacity(GROUP_UNITS_MAX);
        while let Ok(first) = requests.recv() {
            let begun = self.control("BEGIN IMMEDIATE");
            let mut next = Some(first);
            while let Some(Request { decision, reply }) = next {
                ran.push((self.in_savepoint(&decision), reply));
                next = if ran.len() < GROUP_UNITS_MAX { requests.try_recv().ok() } else { None };
            }
            let committed = begun.and_then(|()| self.control("COMMIT"));
            for (result, reply) in ran.drain(..) {
                // Nobody waits any more when the run is over.
                drop(reply.send(match &committed {
                    Ok(()) => result,
                    Err(error) => Err(anyhow!("the group was not committed: {error}")),
                }));
            }
        }
    }

    fn write_units(&self, requests: &Receiver<Request>) {
        while let Ok(Request { decision, reply }) = requests.recv() {
            drop(reply.send(self.in_transaction(&decision)));
        }
    }

    fn in_savepoint(&self, decision: &Decision) -> Result<bool> {
        self.control("SAVEPOINT unit")?;
        let result = self.decide(decision);
        if result.is_err() {
            self.control("ROLLBACK TO unit")?;
        }
        self.control("RELEASE unit")?;
        result
    }

    fn in_transaction(&self, decision: &Decision) -> Result<bool> {
        self.control("BEGIN IMMEDIATE")?;
        let result = self.decide(decision);
        self.control(if result.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
        result
    }

    fn decide(&self, decision: &Decision) -> Result<bool> {
        let Decision { task_id, chain, now, data, .. } = decision;
        let (db, texts) = (&self.connection, &self.texts);
        let cas = params![decision.state, now, task_id, decision.version];
        if db.prepare_cached(texts.cas)?.execute(cas)? == 0 {
            return Ok(false);
        }
        db.prepare_cached(texts.approve)?.execute(params![
            decision.approval_id,
            task_id,
            decision.actor,
            decision.verdict,
            None::<&str>,
            now
        ])?;
        let (seq, previous): (i64, Vec<u8>) =
            db.prepare_cached(texts.head)?.query_row([chain], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let seq = seq + 1;
        let hash = link(&previous, seq, decision);
        let audit = params![chain, seq, previous, hash, ACTION, task_id, data, now];
        db.prepare_cached(texts.audit)?.execute(audit)?;
        db.prepare_cached(texts.set_head)?.execute(params![seq, hash, chain])?;
        db.prepare_cached(texts.event)?.execute(params![decision.event_id, ACTION, data, now])?;
        Ok(true)
    }

    fn control(&self, text: &str) -> rusqlite::Result<()> {
        self.connection.prepare_cached(text)?.execute([]).map(drop)
    }
}

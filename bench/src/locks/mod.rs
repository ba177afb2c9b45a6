//! Locks against services that also have them, all started here and all durable: what is answered is on the disk.
//!
//! [`countersign`], [`redis`], [`postgres`], [`etcd`] and [`zookeeper`] are who is compared, one file each; [`daemons`]
//! starts those that nobody else needs. [`own_keys`], [`one_key`] and [`many_held`] are what is done with them. [`kept`] is
//! a measurement of its own, of the product alone: what it takes to hold a million and to be killed.
//!
//! To add a peer: a file with a [`Peer`] and its [`Locker`], and its side in the measurement it belongs to.

mod countersign;
mod daemons;
mod etcd;
pub(crate) mod kept;
mod many_held;
mod one_key;
mod own_keys;
mod postgres;
mod redis;
mod zookeeper;

use std::time::Duration;

use anyhow::Result;

use self::countersign::Countersign;
use self::etcd::Etcd;
use self::postgres::LockTable;
use self::redis::Redis;
use self::zookeeper::ZooKeeper;
use crate::closed_loop::{self, Run, Worker};
use crate::figures::Row;
use crate::{Bench, progress};

/// Clients with keys of their own.
const CLIENTS: usize = 64;

/// A service that has locks.
trait Peer {
    type Locker: Locker;

    /// A client of its own connection; this is its number.
    fn open(&self, number: usize) -> impl Future<Output = Result<Self::Locker>>;

    /// The process whose time and memory are counted, if one does the work.
    fn pid(&self) -> Option<u32>;
}

/// Somebody who takes a lock and gives it back.
trait Locker: Send + 'static {
    /// Takes it, waiting as one waits with this service. What is answered is durable.
    fn acquire(&mut self, key: &str) -> impl Future<Output = Result<()>> + Send;

    /// Gives back what was taken last.
    fn release(&mut self) -> impl Future<Output = Result<()>> + Send;
}

/// Takes one key and gives it back.
struct Pair<L> {
    locker: L,
    key: String,
}

impl<L: Locker> Worker for Pair<L> {
    async fn once(&mut self) -> Result<()> {
        self.locker.acquire(&self.key).await?;
        self.locker.release().await
    }
}

/// Everybody takes and gives back a key of their own for this long.
fn pairs<P: Peer>(bench: &Bench, peer: &P, turn: Duration) -> Result<Run> {
    bench.runtime.block_on(async {
        let mut all = Vec::new();
        for number in 0..CLIENTS {
            all.push(Pair { locker: peer.open(number).await?, key: key("own", number) });
        }
        timed(all, turn, peer.pid()).await
    })
}

/// Lets the workers run for this long.
async fn timed<W: Worker>(workers: Vec<W>, turn: Duration, watched: Option<u32>) -> Result<Run> {
    let run = closed_loop::run(workers, turn, watched.unwrap_or_else(std::process::id)).await?;
    // Our own time says nothing about a server.
    Ok(if watched.is_some() { run } else { Run { cpu_micros: f64::NAN, ..run } })
}

/// A key of 40 bytes; ours is the strictest grammar, so it is one everywhere.
fn key(kind: &str, number: usize) -> String {
    format!("resource:{kind:-<6}:{number:024}")
}

/// Those that take part. A peer that is not installed has no figures, and the table says so.
struct Peers {
    redis: Redis,
    postgres: LockTable,
    etcd: Option<Etcd>,
    zookeeper: Option<ZooKeeper>,
}

impl Peers {
    fn start(bench: &Bench) -> Result<Self> {
        Ok(Self {
            redis: Redis::start(bench)?,
            postgres: LockTable::start(),
            etcd: Etcd::start(bench)?,
            zookeeper: ZooKeeper::start(bench)?,
        })
    }
}

pub(crate) fn measure(bench: &Bench) -> Result<Vec<Row>> {
    let hub = Countersign::start(bench, CLIENTS)?;
    let peers = Peers::start(bench)?;
    progress("  own keys");
    let mut table = own_keys::measure(bench, &hub, &peers)?;
    progress("  one key");
    table.extend(one_key::measure(bench, &hub, &peers)?);
    drop((hub, peers));
    progress("  many held");
    table.extend(many_held::measure(bench)?);
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_forty_bytes_and_one_of_ours() {
        for key in [key("own", 0), key("held", 999_999)] {
            assert_eq!(key.len(), 40, "{key}");
            assert!(key.parse::<domain::locks::LockKey>().is_ok(), "{key}");
        }
    }
}

//! What the machine gives, taken first and last: how often it makes a page durable, how often two
//! sides can answer each other over loopback. A run between two that differ has measured the neighbours.

use std::fmt;
use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use crate::closed_loop::{self, Worker};
use crate::figures::{Figure, grouped};
use crate::{Bench, ROUNDS, progress};

const PAGE_BYTES: usize = 4096;
const FILE_PAGES: u64 = 4096;
/// What is sent there and back.
const MESSAGE_BYTES: usize = 100;
const CONNECTIONS: usize = 64;
/// Of one round of each.
const ROUND: Duration = Duration::from_secs(1);

/// Slower, and the disk is not what a server runs on (or is busy with somebody else).
const SYNCS_PER_SECOND_MIN: f64 = 3_000.0;
/// Further apart, and the machine was not the same throughout.
const DRIFT_MAX: f64 = 0.25;

/// The machine at one time.
pub(crate) struct Calibration {
    syncs: Figure,
    echoes: Figure,
}

impl Calibration {
    pub(crate) fn take(bench: &Bench) -> Result<Self> {
        progress("calibration");
        let mut syncs = Vec::new();
        let mut echoes = Vec::new();
        for _ in 0..ROUNDS {
            syncs.push(syncs_per_second(bench.scratch(), ROUND)?);
            echoes.push(echoes_per_second(&bench.runtime)?);
        }
        Ok(Self { syncs: Figure::of(syncs), echoes: Figure::of(echoes) })
    }
}

impl fmt::Display for Calibration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (syncs, echoes) = (grouped(self.syncs.median(), 0), grouped(self.echoes.median(), 0));
        write!(f, "{syncs} fdatasync/s, {echoes} echo/s")
    }
}

/// Whether the figures between the two may be believed.
pub(crate) fn judged(before: &Calibration, after: &Calibration) -> String {
    let mut faults = Vec::new();
    for (when, calibration) in [("before", before), ("after", after)] {
        let syncs = calibration.syncs.median();
        if syncs < SYNCS_PER_SECOND_MIN {
            faults.push(format!(
                "{} fdatasync/s {when} is less than {SYNCS_PER_SECOND_MIN}",
                grouped(syncs, 0)
            ));
        }
    }
    for (what, before, after) in
        [("fdatasync", &before.syncs, &after.syncs), ("echo", &before.echoes, &after.echoes)]
    {
        let drift = drift(before.median(), after.median());
        if drift > DRIFT_MAX {
            faults.push(format!("{what}/s differs by {:.0} % before and after", drift * 100.0));
        }
    }
    if faults.is_empty() {
        "the run is valid".to_owned()
    } else {
        format!("the run is **INVALID**: {}", faults.join("; "))
    }
}

/// How much the larger exceeds the smaller.
fn drift(one: f64, other: f64) -> f64 {
    one.max(other) / one.min(other) - 1.0
}

/// Pages written one after the other into a file whose blocks exist, each made durable before the next.
pub(crate) fn syncs_per_second(directory: &Path, duration: Duration) -> Result<f64> {
    let path = directory.join("calibration");
    let mut file = File::options().read(true).write(true).create(true).truncate(true).open(&path)?;
    let page = [7; PAGE_BYTES];
    // Written, not only allocated: the first write to an allocated block changes the file system's books too.
    for _ in 0..FILE_PAGES {
        file.write_all(&page)?;
    }
    file.sync_all()?;
    let began = Instant::now();
    let mut done = 0_u64;
    while began.elapsed() < duration {
        file.write_all_at(&page, done % FILE_PAGES * PAGE_BYTES as u64)?;
        file.sync_data()?;
        done += 1;
    }
    let took = began.elapsed();
    std::fs::remove_file(&path)?;
    Ok(done as f64 / took.as_secs_f64())
}

/// Requests and answers over loopback, nothing else.
///
/// On several connections, so that neither core ever sleeps: what it takes to wake one changes from minute to
/// minute on a virtual machine, and says nothing about a server under load.
fn echoes_per_second(runtime: &Runtime) -> Result<f64> {
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let mut servers = JoinSet::new();
        let mut askers = Vec::new();
        for _ in 0..CONNECTIONS {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            askers.push(Asker(stream));
            servers.spawn(answer(listener.accept().await?.0));
        }
        let run = closed_loop::run(askers, ROUND, std::process::id()).await?;
        while let Some(server) = servers.join_next().await {
            server??;
        }
        Ok(run.per_second)
    })
}

/// Sends back what comes until the other side closes, which it does when it has counted enough.
async fn answer(mut stream: TcpStream) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut message = [0; MESSAGE_BYTES];
    while stream.read_exact(&mut message).await.is_ok() {
        stream.write_all(&message).await?;
    }
    Ok(())
}

struct Asker(TcpStream);

impl Worker for Asker {
    async fn once(&mut self) -> Result<()> {
        let mut message = [7; MESSAGE_BYTES];
        self.0.write_all(&message).await?;
        self.0.read_exact(&mut message).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calibration(syncs: f64, echoes: f64) -> Calibration {
        Calibration { syncs: Figure::of([syncs]), echoes: Figure::of([echoes]) }
    }

    #[test]
    fn a_steady_machine_makes_a_valid_run() {
        let text = judged(&calibration(4_000.0, 20_000.0), &calibration(4_900.0, 24_900.0));
        assert_eq!(text, "the run is valid");
    }

    #[test]
    fn a_slow_disk_makes_an_invalid_run() {
        let text = judged(&calibration(2_999.0, 1.0), &calibration(3_001.0, 1.0));
        assert_eq!(text, "the run is **INVALID**: 2,999 fdatasync/s before is less than 3000");
    }

    #[test]
    fn a_machine_that_changes_makes_an_invalid_run() {
        let text = judged(&calibration(4_000.0, 10_000.0), &calibration(4_000.0, 12_600.0));
        assert_eq!(text, "the run is **INVALID**: echo/s differs by 26 % before and after");
        assert!(
            judged(&calibration(6_000.0, 1.0), &calibration(4_000.0, 1.0)).contains("fdatasync/s differs")
        );
    }

    #[test]
    fn the_machine_can_be_measured() {
        let directory = tempfile::tempdir().unwrap();
        assert!(syncs_per_second(directory.path(), ROUND).unwrap() > 0.0);
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        assert!(echoes_per_second(&runtime).unwrap() > 0.0);
    }
}

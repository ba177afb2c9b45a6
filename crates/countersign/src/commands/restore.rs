//! `countersign restore`: an empty data directory filled from a backup.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{Write, copy, stdout};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use hub::clock::{Clock, SystemClock};
use records::{Db, fence_epochs};

use super::backup::{DATABASE, KEYS, LOCKS};
use crate::cli::block_on;
use crate::config::{ServerFlags, load};
use crate::data_dir::database_in;
use crate::exit::Exit;

pub(crate) const EXAMPLES: &str = "\
Examples:
  countersign restore /backups/hub-2026-11-15.tar --data /var/lib/countersign-new

The directory must be empty or missing. Fencing tokens continue far above those of the backup, so that whatever was
granted after it was taken is stale.";

/// Grants made after the backup was taken must never be repeated.
const EPOCHS_SKIPPED: i64 = 1000;

#[derive(Args)]
pub(crate) struct Restore {
    /// The file `countersign backup` wrote
    file: PathBuf,
    #[command(flatten)]
    server: ServerFlags,
}

pub(crate) fn run(command: &Restore) -> anyhow::Result<Exit> {
    let config = load(&command.server)?.config;
    let data = &config.data;
    if std::fs::read_dir(data).is_ok_and(|mut entries| entries.next().is_some()) {
        bail!("{} is not empty; restore into a new directory with --data", data.display());
    }
    let file =
        File::open(&command.file).with_context(|| format!("cannot read {}", command.file.display()))?;
    let unpacked = unpack(file, data).and_then(|()| skip_epochs(data));
    if let Err(error) = unpacked {
        // What is half restored must not be started.
        drop(std::fs::remove_dir_all(data));
        return Err(error.context(format!("cannot restore {}", command.file.display())));
    }
    writeln!(stdout(), "restored into {}; start it with: countersign serve --data {0}", data.display())?;
    Ok(Exit::Done)
}

fn unpack(file: File, data: &Path) -> anyhow::Result<()> {
    let mut missing: Vec<&str> = KEYS.into_iter().chain([DATABASE, LOCKS]).collect();
    let mut archive = tar::Archive::new(file);
    for entry in archive.entries().context("not a backup of countersign")? {
        let mut entry = entry.context("not a backup of countersign")?;
        let name = entry.path()?.to_string_lossy().into_owned();
        // Only names we write: an archive must not place files of its choosing.
        let Some(index) = missing.iter().position(|known| *known == name) else {
            bail!("{name} does not belong into a backup of countersign");
        };
        let path = data.join(missing.swap_remove(index));
        DirBuilder::new().recursive(true).mode(0o700).create(path.parent().unwrap_or(data))?;
        let mut out = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        copy(&mut entry, &mut out)?;
        out.sync_all()?;
    }
    // Without them all locks are free, and no token of before is good for anything.
    missing.retain(|name| *name != LOCKS);
    match missing.as_slice() {
        [] => Ok(()),
        missing => bail!("the backup lacks {}", missing.join(", ")),
    }
}

fn skip_epochs(data: &Path) -> anyhow::Result<()> {
    let path = database_in(data);
    let now = SystemClock::default().now();
    records::migrate::run_sqlite(&path, now)?;
    block_on(async {
        let db = Db::open_sqlite(&path)?;
        db.write(now, |tx, &now| Box::pin(fence_epochs::raise(tx, "local", EPOCHS_SKIPPED, now))).await?;
        db.close().await;
        Ok(())
    })
}

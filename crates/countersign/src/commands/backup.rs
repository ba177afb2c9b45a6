//! `countersign backup`: the database, the keys and the locks in one file.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{Write, stdout};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use coordination::locks::local::{State, recover, write_copy};

use crate::config::{Config, ServerFlags, load};
use crate::data_dir::{database_in, locks_in};
use crate::exit::Exit;

pub(crate) const EXAMPLES: &str = "\
Examples:
  countersign backup /backups/hub-2026-11-15.tar --data /var/lib/countersign

The file holds the keys: keep it as secret as the data directory. With PostgreSQL, back up the database with pg_dump
and the keys directory beside it.";

/// Names inside the archive, the only ones `restore` takes.
pub(crate) const DATABASE: &str = "countersign.db";
pub(crate) const KEYS: [&str; 2] = ["keys/secrets.key", "keys/seal.key"];
pub(crate) const LOCKS: &str = "locks/0000000001.snapshot";

/// How often a journal that is being written is looked at before it counts as damaged.
const LOOKS_MAX: u32 = 20;
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Args)]
pub(crate) struct Backup {
    /// The file to write; it must not exist
    file: PathBuf,
    #[command(flatten)]
    server: ServerFlags,
}

pub(crate) fn run(command: &Backup) -> anyhow::Result<Exit> {
    let config = load(&command.server)?.config;
    if config.records.database_url.is_some() {
        bail!(
            "the records are in PostgreSQL: back them up with pg_dump, and keep {} with it",
            config.keys_dir.display()
        );
    }
    let database = database_in(&config.data);
    if !database.exists() {
        bail!("there is no database in {}; say where with --data", config.data.display());
    }
    let written = write(&config, &database, &command.file);
    if written.is_err() && !is_existing(&written) {
        // Half a backup must not be taken for one.
        drop(std::fs::remove_file(&command.file));
    }
    let bytes = written?;
    writeln!(stdout(), "{} ({bytes} bytes)", command.file.display())?;
    Ok(Exit::Done)
}

fn is_existing(written: &anyhow::Result<u64>) -> bool {
    let kind = written.as_ref().err().and_then(|error| error.downcast_ref::<std::io::Error>());
    kind.is_some_and(|error| error.kind() == std::io::ErrorKind::AlreadyExists)
}

fn write(config: &Config, database: &Path, file: &Path) -> anyhow::Result<u64> {
    let out = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file)
        .with_context(|| format!("cannot write {}", file.display()))?;
    let scratch = Scratch::beside(file)?;
    let copy = scratch.0.join(DATABASE);
    records::migrate::copy_sqlite(database, &copy)?;
    let mut archive = tar::Builder::new(out);
    archive.append_path_with_name(&copy, DATABASE)?;
    for name in KEYS {
        let key = config.keys_dir.join(Path::new(name).file_name().unwrap_or_default());
        archive
            .append_path_with_name(&key, name)
            .with_context(|| format!("cannot read {}", key.display()))?;
    }
    let locks = write_copy(&scratch.0, &lock_state(&locks_in(&config.data))?)?;
    archive.append_path_with_name(&locks, LOCKS)?;
    let out = archive.into_inner()?;
    out.sync_all()?;
    Ok(out.metadata()?.len())
}

/// What the lock journal adds up to. The hub may be writing it, or putting another file in its place, so a look that
/// finds it in between is repeated.
fn lock_state(dir: &Path) -> anyhow::Result<State> {
    for _ in 1..LOOKS_MAX {
        if let Ok(found) = recover(dir) {
            return Ok(found.state);
        }
        std::thread::sleep(LOOK_INTERVAL);
    }
    Ok(recover(dir)?.state)
}

/// A directory for the copy, beside the backup because there is room; gone when dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn beside(file: &Path) -> anyhow::Result<Self> {
        let mut name = file.file_name().unwrap_or_default().to_owned();
        name.push(".parts");
        let path = file.with_file_name(name);
        // What the copy holds is nobody else's to read, not even for a moment.
        DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_a_backup_needs_on_the_way_is_nobody_elses_to_read() {
        let dir = tempfile::tempdir().unwrap();
        let scratch = Scratch::beside(&dir.path().join("backup.tar")).unwrap();
        let mode = std::fs::metadata(&scratch.0).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{mode:o}");
    }
}

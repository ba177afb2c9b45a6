//! The data directory: private, and one process's at a time.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

const LOCK_FILE: &str = "lock";
const DATABASE_FILE: &str = "countersign.db";

/// The right to use a data directory. It ends with the process, however that ends.
pub(crate) struct DataDir {
    path: PathBuf,
    _lock: File,
}

impl DataDir {
    /// Makes the directory if it is missing and takes it for this process.
    pub(crate) fn take(path: &Path) -> anyhow::Result<Self> {
        // What this process writes is nobody else's to read, also in a directory that was there before.
        rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .with_context(|| format!("cannot make the data directory {}", path.display()))?;
        let lock_path = path.join(LOCK_FILE);
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&lock_path)
            .with_context(|| format!("cannot open {}", lock_path.display()))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path: path.into(), _lock: lock }),
            Err(TryLockError::WouldBlock) => bail!(
                "another countersign uses the data directory {}. Stop it first, or give this one its own with --data.",
                path.display()
            ),
            Err(TryLockError::Error(error)) => {
                Err(error).with_context(|| format!("cannot lock {}", lock_path.display()))
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn database(&self) -> PathBuf {
        database_in(&self.path)
    }
}

/// Where the journal of the locks is in a data directory.
pub(crate) fn locks_in(data: &Path) -> PathBuf {
    data.join("locks")
}

/// Where the SQLite database of a data directory is.
pub(crate) fn database_in(data: &Path) -> PathBuf {
    data.join(DATABASE_FILE)
}

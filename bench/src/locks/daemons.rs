//! Servers that only these measurements need, as they come from the distribution.

use std::fs::File;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::Bench;

const START_MAX: Duration = Duration::from_secs(60);
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// A running server on a directory of its own; both are gone when this is dropped.
pub(super) struct Daemon {
    child: Child,
    directory: tempfile::TempDir,
}

impl Daemon {
    /// Starts what `command` makes of a directory. If we are killed, so is it.
    pub(super) fn start(bench: &Bench, command: impl FnOnce(&Path) -> Result<Vec<String>>) -> Result<Self> {
        let directory = tempfile::tempdir_in(bench.scratch())?;
        let log = File::create(directory.path().join("log"))?;
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "--"])
            .args(command(directory.path())?)
            .current_dir(directory.path())
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .context("a server cannot be started")?;
        Ok(Self { child, directory })
    }

    /// Waits until somebody answers.
    pub(super) fn wait_until(&mut self, is_ready: impl Fn() -> bool) -> Result<()> {
        let deadline = Instant::now() + START_MAX;
        while !is_ready() {
            if self.child.try_wait()?.is_some() || deadline < Instant::now() {
                let said = std::fs::read_to_string(self.directory.path().join("log")).unwrap_or_default();
                bail!("a server did not start; it said:\n{said}");
            }
            std::thread::sleep(LOOK_INTERVAL);
        }
        Ok(())
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // There is nothing in it that anybody will miss.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A loopback port that nobody has at this moment.
pub(super) fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// Whether there is such a program.
pub(super) fn has_program(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(name).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_on_the_path() {
        assert!(has_program("sh") && !has_program("no-such-program"));
    }

    #[test]
    fn a_free_port_can_be_had() {
        let port = free_port().unwrap();
        assert!(TcpListener::bind(("127.0.0.1", port)).is_ok());
    }
}

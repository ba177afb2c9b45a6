//! The servers under measurement, as processes of their own.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

use crate::Bench;
use crate::echo::LISTENING;
use crate::homes::Home;
use crate::http::Target;

/// A running server; it is stopped when this is dropped.
pub(crate) struct Program {
    child: Child,
    pub(crate) target: Target,
    /// When it was started.
    pub(crate) began: Instant,
    /// Held, because a server whose output nobody reads may be told so.
    _output: BufReader<ChildStdout>,
    /// Of a hub that nothing else needs to see.
    home: Option<Home>,
}

impl Program {
    /// The product on an empty directory, without rate limits, otherwise as it comes.
    pub(crate) fn countersign(bench: &Bench) -> Result<Self> {
        let home = Home::sqlite(bench)?;
        let mut hub = Self::start(home.command()?, bench)?;
        hub.home = Some(home);
        Ok(hub)
    }

    /// The product with records that may have been there before; whoever has the home keeps it as long.
    pub(crate) fn at(home: &Home, bench: &Bench) -> Result<Self> {
        Self::with(home, bench, &[])
    }

    /// The same with further settings.
    pub(crate) fn with(home: &Home, bench: &Bench, settings: &[(&str, &str)]) -> Result<Self> {
        let mut command = home.command()?;
        command.envs(settings.iter().copied());
        // Strangers may only ask so much from one address; a proxy can speak for many.
        command.env("COUNTERSIGN_TRUSTED_PROXIES", "127.0.0.1/32");
        Self::start(command, bench)
    }

    /// The bare echo.
    pub(crate) fn echo(bench: &Bench) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("--echo-server").env_clear();
        Self::start(command, bench)
    }

    /// Nothing but a store of grants.
    pub(crate) fn bare_grants(bench: &Bench, redis_url: &str) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["--bare-grants", redis_url]).env_clear();
        Self::start(command, bench)
    }

    fn start(mut command: Command, bench: &Bench) -> Result<Self> {
        let log = bench.scratch().join("log");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(File::create(&log)?);
        let began = Instant::now();
        let mut child = command.spawn().context("a server cannot be started")?;
        let mut output = BufReader::new(child.stdout.take().context("a server without output")?);
        let mut line = String::new();
        output.read_line(&mut line)?;
        let Some(address) = address_in(&line) else {
            drop(child.kill());
            drop(child.wait());
            let said = std::fs::read_to_string(&log).unwrap_or_default();
            bail!("a server did not start; it printed {line:?} and logged:\n{said}");
        };
        let target = Target { address, pid: child.id() };
        Ok(Self { child, target, began, _output: output, home: None })
    }

    /// Ends it without a word, as a power cut would.
    pub(crate) fn kill(mut self) -> Result<()> {
        Ok(self.child.kill()?)
    }

    /// The key of the first admin.
    pub(crate) fn admin_key(&self) -> Result<String> {
        self.home.as_ref().context("only the product has keys, and its home keeps them")?.admin_key()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let asked = pid.is_some_and(|pid| kill_process(pid, Signal::TERM).is_ok());
        if !asked {
            drop(self.child.kill());
        }
        drop(self.child.wait());
    }
}

fn address_in(line: &str) -> Option<SocketAddr> {
    line.split_once(LISTENING)?.1.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_says_where_a_server_is() {
        let line =
            "countersign 1.0: records SQLite, coordination local, listening on http://127.0.0.1:8000\n";
        assert_eq!(address_in(line), Some(([127, 0, 0, 1], 8000).into()));
        assert_eq!(address_in("listening on http://nowhere"), None);
        assert_eq!(address_in(""), None);
    }
}

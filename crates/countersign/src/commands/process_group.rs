//! A program with a process group of its own: it is told things, and ended, with all that it has started.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::task::JoinHandle;

/// How long a program may take to end after it was told to.
pub(super) const GRACE: Duration = Duration::from_secs(5);

/// A running program.
pub(super) struct ProcessGroup {
    group: Pid,
    /// How it ends.
    pub(super) ended: JoinHandle<io::Result<ExitStatus>>,
}

/// The ends of its pipes, where there are any.
pub(super) struct Pipes {
    pub(super) stdin: Option<ChildStdin>,
    pub(super) stdout: Option<ChildStdout>,
    pub(super) stderr: Option<ChildStderr>,
}

impl ProcessGroup {
    pub(super) fn start(command: &mut Command) -> io::Result<(Self, Pipes)> {
        let mut child = command.process_group(0).spawn()?;
        let pipes =
            Pipes { stdin: child.stdin.take(), stdout: child.stdout.take(), stderr: child.stderr.take() };
        let group = Pid::from_child(&child);
        Ok((Self { group, ended: tokio::task::spawn_blocking(move || child.wait()) }, pipes))
    }

    /// Tells the whole group. One that has ended already needs no signal.
    pub(super) fn tell(&self, signal: Signal) {
        kill_process_group(self.group, signal).ok();
    }

    /// Ends the whole group: those that do not go by themselves too.
    pub(super) async fn end(&mut self) -> anyhow::Result<ExitStatus> {
        self.tell(Signal::TERM);
        let ended = tokio::time::timeout(GRACE, &mut self.ended).await;
        self.tell(Signal::KILL);
        match ended {
            Ok(status) => Ok(status??),
            Err(_) => Ok((&mut self.ended).await??),
        }
    }
}

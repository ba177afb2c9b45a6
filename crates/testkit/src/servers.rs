//! What a private PostgreSQL and a private Redis have in common: finding the program, running it as
//! somebody who is not root, and a life that ends with the test process.
//!
//! A test process can end in ways that run no destructor: `kill -9`, an abort, a `static`. So each server
//! is the child of a small shell that listens to us on a pipe. When our end of the pipe closes, for
//! whatever reason, the shell stops the server by its pid and removes the directory.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

/// How long a server may take to start, or its last process to leave, on a machine that is busy building.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often we look whether it has.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);
/// A port can be taken between our look and the server's bind; more often than this it is not bad luck.
const START_ATTEMPTS_MAX: u32 = 8;
/// Below the ports the kernel gives to outgoing connections: a server that is down for a moment would
/// otherwise find its port in use by some client when it comes back.
const PORTS: std::ops::Range<u16> = 20_000..32_000;

/// The supervising shell. Arguments: directory, signal that stops the server, then the server's command.
///
/// `kill` freezes the parent first, so that it cannot have more children than those just counted.
/// SIGPIPE is ignored because the answer may find us gone, and the directory must be removed even then.
const SUPERVISOR: &str = r#"
    directory=$1 signal=$2
    shift 2
    exec 2>>"$directory/log"
    trap '' PIPE
    server=
    while read -r order; do
        case $order in
        start)
            "$@" </dev/null >>"$directory/log" &
            server=$!
            echo "$server"
            ;;
        kill)
            kill -STOP "$server"
            children=$(cat "/proc/$server/task/$server/children")
            kill -KILL "$server" $children
            wait "$server"
            server=
            echo "$children"
            ;;
        esac
    done
    if [ -n "$server" ]; then
        kill -s "$signal" "$server"
        wait "$server"
    fi
    cd /
    rm -rf "$directory"
"#;

/// The account a server runs as. PostgreSQL refuses to run as root, and no test server needs to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Runner {
    uid: u32,
    gid: u32,
}

impl Runner {
    /// Somebody to become when we are root; `None` when we are nobody special already.
    pub(crate) fn find() -> Option<Self> {
        let we_are_root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
        if !we_are_root {
            return None;
        }
        let accounts = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let runner = Self::among(&accounts, "postgres").or_else(|| Self::among(&accounts, "nobody"));
        Some(runner.unwrap_or_else(|| {
            panic!("PostgreSQL refuses to run as root, and /etc/passwd has neither `postgres` nor `nobody`")
        }))
    }

    /// Makes the file the account's own, as servers demand of their private keys.
    pub(crate) fn own(self, path: &Path) {
        std::os::unix::fs::chown(path, Some(self.uid), Some(self.gid))
            .unwrap_or_else(|error| panic!("cannot give {} away: {error}", path.display()));
    }

    fn among(accounts: &str, name: &str) -> Option<Self> {
        let fields = accounts.lines().map(|line| line.split(':').collect::<Vec<_>>());
        let account = fields.into_iter().find(|fields| fields.first() == Some(&name))?;
        Some(Self { uid: account.get(2)?.parse().ok()?, gid: account.get(3)?.parse().ok()? })
    }
}

/// A directory of the server's own, removed by the supervisor.
pub(crate) struct Home {
    directory: PathBuf,
    runner: Option<Runner>,
}

impl Home {
    pub(crate) fn make(prefix: &str) -> Self {
        let directory = tempfile::Builder::new()
            .prefix(prefix)
            .tempdir()
            .unwrap_or_else(|error| panic!("no temporary directory for a test server: {error}"))
            .keep();
        let runner = Runner::find();
        if let Some(runner) = runner {
            runner.own(&directory);
        }
        Self { directory, runner }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.directory
    }

    /// A command that runs here, as the server's account, and sees none of the caller's PG* or LC_*
    /// variables, which would make results depend on who runs the tests.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.directory).env_clear().env("LC_ALL", "C").env("TZ", "UTC");
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        if let Some(Runner { uid, gid }) = self.runner {
            command.uid(uid).gid(gid);
        }
        command
    }
}

/// A supervised server: the pipe to its supervisor, and the pid while it runs.
pub(crate) struct Server {
    home: Home,
    supervisor: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    pid: Option<u32>,
}

impl Server {
    /// Starts the supervisor, not yet the server: whatever fails from here on, the directory is removed.
    pub(crate) fn supervise(home: Home, signal: &str, command: &[String]) -> Self {
        let mut supervisor = home
            .command(Path::new("sh"))
            .args(["-c", SUPERVISOR, "supervisor"])
            .arg(home.path())
            .arg(signal)
            .args(command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Control-C in a terminal is for the tests; the supervisor must live on to clean up.
            .process_group(0)
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start a shell to supervise a test server: {error}"));
        let orders = supervisor.stdin.take();
        let answers = supervisor.stdout.take().unwrap_or_else(|| panic!("the supervisor has no output"));
        Self { home, supervisor, orders, answers: BufReader::new(answers), pid: None }
    }

    pub(crate) fn home(&self) -> &Home {
        &self.home
    }

    /// Starts the server and waits until `ready` says so of its pid.
    pub(crate) fn start(&mut self, ready: impl Fn(u32) -> bool) -> Result<(), StartError> {
        assert!(self.pid.is_none(), "the server is running already");
        let pid = self.order("start").trim().parse().unwrap_or_else(|error| panic!("not a pid: {error}"));
        self.pid = Some(pid);
        let deadline = Instant::now() + PATIENCE;
        loop {
            if ready(pid) {
                return Ok(());
            }
            if !is_alive(pid) || deadline < Instant::now() {
                return Err(StartError { log: self.log() });
            }
            std::thread::sleep(LOOK_INTERVAL);
        }
    }

    /// Kills the server and its children with SIGKILL; returns when none of them is left.
    pub(crate) fn kill(&mut self) {
        let parent = self.pid.take().unwrap_or_else(|| panic!("the server is not running"));
        let children = self.order("kill");
        let mut left: Vec<u32> = children.split_whitespace().filter_map(|pid| pid.parse().ok()).collect();
        left.push(parent);
        let deadline = Instant::now() + PATIENCE;
        loop {
            left.retain(|&pid| is_alive(pid));
            if left.is_empty() {
                return;
            }
            assert!(Instant::now() < deadline, "processes {left:?} survived SIGKILL");
            std::thread::sleep(LOOK_INTERVAL);
        }
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.home.path().join("log")).unwrap_or_default()
    }

    fn order(&mut self, order: &str) -> String {
        let mut answer = String::new();
        let told =
            self.orders.as_mut().map(|orders| writeln!(orders, "{order}").and_then(|()| orders.flush()));
        let heard = self.answers.read_line(&mut answer);
        match (told, heard) {
            (Some(Ok(())), Ok(1..)) => answer,
            (told, heard) => panic!("the supervisor is gone: {told:?}, {heard:?}\n{}", self.log()),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Closing the pipe is the order to stop. The wait makes "dropped" mean "gone".
        drop(self.orders.take());
        let ended = self.supervisor.wait();
        debug_assert!(ended.is_ok() || std::thread::panicking(), "the supervisor was not ours: {ended:?}");
    }
}

/// The server did not come up; its log says why.
#[derive(Debug)]
pub(crate) struct StartError {
    log: String,
}

/// Starts a server on a free port, and on another one if somebody else was quicker.
pub(crate) fn start_on_free_port<S>(what: &str, mut start: impl FnMut(u16) -> Result<S, StartError>) -> S {
    let mut attempts = 0;
    loop {
        attempts += 1;
        match start(free_port()) {
            Ok(server) => return server,
            Err(error) if attempts < START_ATTEMPTS_MAX && error.log.contains("Address already in use") => {}
            Err(error) => panic!("{what} did not start; its log:\n{}", error.log),
        }
    }
}

/// A loopback port nobody listens on, and that this process was not given before.
fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let width = PORTS.end - PORTS.start;
    // Test processes that run side by side begin their search far apart.
    let begin = u16::try_from(std::process::id().wrapping_mul(7919) % u32::from(width)).unwrap_or_default();
    for _ in 0..width {
        let offset = begin.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % width;
        let port = PORTS.start + offset;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
    panic!("no free port between {} and {}", PORTS.start, PORTS.end)
}

/// Whether the process exists and is more than an entry waiting to be collected by its parent.
fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // "pid (name) state …": the name may itself hold spaces and parentheses.
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    !matches!(state, None | Some('Z' | 'X'))
}

/// The directory that holds all of `programs`: on PATH, or among `elsewhere`.
pub(crate) fn find_directory(
    programs: &[&str],
    elsewhere: impl IntoIterator<Item = PathBuf>,
) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut directories = std::env::split_paths(&path).collect::<Vec<_>>();
    directories.extend(elsewhere);
    directories.into_iter().find(|directory| programs.iter().all(|program| directory.join(program).is_file()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_found_by_its_whole_name() {
        let accounts =
            "root:x:0:0::/root:/bin/sh\npostgresql:x:7:8::/:/bin/sh\npostgres:x:101:104::/:/bin/sh\n";
        let runner = Runner::among(accounts, "postgres").unwrap();
        assert_eq!((runner.uid, runner.gid), (101, 104));
        assert!(Runner::among(accounts, "nobody").is_none());
    }

    #[test]
    fn a_port_is_given_once_and_is_free() {
        let ports = [free_port(), free_port(), free_port()];
        assert!(ports[0] != ports[1] && ports[1] != ports[2] && ports[0] != ports[2], "{ports:?}");
        for port in ports {
            assert!(PORTS.contains(&port));
        }
    }

    #[test]
    fn a_process_that_waits_to_be_collected_is_not_alive() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let pid = child.id();
        assert!(is_alive(pid));
        child.kill().unwrap();
        let deadline = Instant::now() + PATIENCE;
        while is_alive(pid) {
            assert!(Instant::now() < deadline);
            std::thread::sleep(LOOK_INTERVAL);
        }
        child.wait().unwrap();
        assert!(!is_alive(pid));
    }

    #[test]
    fn a_server_that_dies_at_start_shows_its_log() {
        let command = ["sh", "-c", "echo the disk is on fire"].map(String::from);
        let mut server = Server::supervise(Home::make("countersign-test-"), "TERM", &command);
        let directory = server.home().path().to_owned();
        let error = server.start(|_| false).unwrap_err();
        assert!(error.log.contains("on fire"), "{error:?}");
        drop(server);
        assert!(!directory.exists());
    }
}

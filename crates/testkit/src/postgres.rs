//! A private PostgreSQL server: a free loopback port, a temporary data directory, durable like a real one.
//!
//! ```no_run
//! use testkit::postgres::Postgres;
//!
//! let database = Postgres::shared().fresh_database(); // most tests
//! let mut own = Postgres::start(); // a test that breaks its server
//! own.kill();
//! own.start_again();
//! ```

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::servers::{Home, Runner, Server, StartError, find_directory, start_on_free_port};

const PROGRAMS: [&str; 3] = ["initdb", "postgres", "psql"];

/// Immediate shutdown. A fast one would first write a checkpoint into files that are removed next.
const STOP_SIGNAL: &str = "QUIT";

/// What every server is started with; `start_with` adds to it. Dynamic shared memory is a file of the data
/// directory, so that a killed server leaves nothing in /dev/shm.
const OPTIONS: [&str; 7] = [
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "fsync=on",
    "max_connections=200",
    "shared_buffers=64MB",
    "dynamic_shared_memory_type=mmap",
    "logging_collector=off",
];

/// A PostgreSQL server of this process. It is gone, with its data, when this is dropped or the process ends.
pub struct Postgres {
    server: Server,
    programs: PathBuf,
    port: u16,
}

impl Postgres {
    /// The server that the tests of this process share.
    #[must_use]
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Postgres> = OnceLock::new();
        SHARED.get_or_init(Self::start)
    }

    /// A server of the test's own, to kill and to start again.
    ///
    /// # Panics
    /// If PostgreSQL is not installed or does not start: a missing backend is a failure, never a skip.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// A server with further settings, such as `fsync=off`.
    ///
    /// # Panics
    /// As [`Postgres::start`].
    #[must_use]
    pub fn start_with(options: &[&str]) -> Self {
        let programs = find_programs().unwrap_or_else(|| {
            panic!(
                "PostgreSQL's server programs ({}) were not found; `cargo xtask test` installs them",
                PROGRAMS.join(", ")
            )
        });
        start_on_free_port("PostgreSQL", |port| Self::start_on(port, &programs, options))
    }

    /// Makes a file the server's own, such as the private key its options name.
    pub fn give(path: &Path) {
        if let Some(runner) = Runner::find() {
            runner.own(path);
        }
    }

    fn start_on(port: u16, programs: &Path, options: &[&str]) -> Result<Self, StartError> {
        let home = Home::make("countersign-postgres-");
        let data = home.path().join("data").display().to_string();
        let mut command =
            vec![programs.join("postgres").display().to_string(), "-D".to_owned(), data.clone()];
        for option in OPTIONS.iter().chain(options) {
            command.extend(["-c".to_owned(), (*option).to_owned()]);
        }
        command.extend(["-p".to_owned(), port.to_string()]);
        let server = Server::supervise(home, STOP_SIGNAL, &command);
        let mut postgres = Self { server, programs: programs.to_owned(), port };
        // A directory that was never synced is lost with the machine, and so is the test.
        run(postgres
            .command("initdb")
            .args(["--pgdata", &data, "--username=postgres", "--auth=trust", "--locale=C"])
            .args(["--encoding=UTF8", "--no-sync", "--no-instructions"]));
        postgres.wait_for_start()?;
        Ok(postgres)
    }

    /// Where the server is, as `DATABASE_URL` wants it: the database `postgres`, the superuser, no password.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_of("postgres")
    }

    /// The loopback port; it stays the same over [`Postgres::start_again`].
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Where it keeps its files.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.server.home().path()
    }

    /// Makes an empty database that no other test knows of and returns its URL.
    ///
    /// # Panics
    /// If the server does not make it.
    #[must_use]
    pub fn fresh_database(&self) -> String {
        // Nobody can be connected to template0, so making databases side by side never waits for a visitor.
        self.copy_of("template0")
    }

    /// Makes a copy of a database that [`Postgres::seal`] was called on, and returns its URL.
    ///
    /// # Panics
    /// If the server does not make it.
    #[must_use]
    pub fn copy_of(&self, template: &str) -> String {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let name = format!("test_{}", MADE.fetch_add(1, Ordering::Relaxed));
        self.query(&format!("CREATE DATABASE {name} TEMPLATE {template}"));
        self.url_of(&name)
    }

    /// Lets nobody connect to the database at the URL any more, so that it can be copied; its name.
    ///
    /// # Panics
    /// If the server refuses.
    #[must_use]
    pub fn seal(&self, url: &str) -> String {
        let name = url.rsplit_once('/').map_or(url, |(_, name)| name);
        self.query(&format!("ALTER DATABASE {name} ALLOW_CONNECTIONS false"));
        self.query(&format!(
            "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = '{name}'"
        ));
        name.to_owned()
    }

    /// Runs SQL in the database `postgres` as its superuser and returns the rows: one a line, columns
    /// separated by `|`. It blocks; it is for what a test does behind the hub's back.
    ///
    /// # Panics
    /// If the server cannot be reached or refuses.
    pub fn query(&self, sql: &str) -> String {
        let url = self.url();
        let mut psql = self.command("psql");
        run(psql.args(["-X", "-q", "-A", "-t", "-w", "-v", "ON_ERROR_STOP=1", "-d", &url, "-c", sql]))
            .trim_end()
            .to_owned()
    }

    /// Kills every process of the server with SIGKILL and returns when they are gone, as if the machine
    /// had lost power except that the operating system's cache survives.
    ///
    /// # Panics
    /// If the server is not running.
    pub fn kill(&mut self) {
        self.server.kill();
        self.release_shared_memory();
    }

    /// Starts a killed server again, on the same port and data, and waits until it has recovered.
    ///
    /// # Panics
    /// If it does not come up, or was never killed.
    pub fn start_again(&mut self) {
        if let Err(error) = self.wait_for_start() {
            panic!("PostgreSQL did not start again: {error:?}");
        }
    }

    /// The kernel keeps a killed server's System V segment, 56 bytes by which a successor on the same data
    /// would notice survivors. We have seen that there are none; left alone, segments add up to the limit.
    fn release_shared_memory(&self) {
        let status = fs::read_to_string(self.status_file()).unwrap_or_default();
        if let Some(segment) = status.lines().nth(6).and_then(|line| line.split_whitespace().nth(1)) {
            // Where there is no `ipcrm` the 56 bytes stay, and the test is none the worse.
            drop(self.server.home().command(Path::new("ipcrm")).args(["-m", segment]).output());
        }
    }

    fn status_file(&self) -> PathBuf {
        self.server.home().path().join("data/postmaster.pid")
    }

    fn wait_for_start(&mut self) -> Result<(), StartError> {
        let status = self.status_file();
        self.server.start(|pid| fs::read_to_string(&status).is_ok_and(|text| says_ready(&text, pid)))
    }

    fn url_of(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    fn command(&self, program: &str) -> Command {
        self.server.home().command(&self.programs.join(program))
    }
}

/// Whether `postmaster.pid` says that this very process accepts connections. The file of a killed server
/// stays behind, and somebody else's server could answer on the port: both have another pid.
fn says_ready(status: &str, pid: u32) -> bool {
    let mut lines = status.lines();
    let is_this_process = lines.next().and_then(|line| line.trim().parse().ok()) == Some(pid);
    is_this_process && lines.nth(6).is_some_and(|line| line.trim() == "ready")
}

/// Debian keeps the server's programs off PATH, one directory for each version; the newest wins.
fn find_programs() -> Option<PathBuf> {
    let asked = Command::new("pg_config").arg("--bindir").output();
    let told = asked.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let mut elsewhere: Vec<PathBuf> =
        told.ok().filter(|path| !path.is_empty()).map(PathBuf::from).into_iter().collect();
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut versions: Vec<(u32, PathBuf)> = versions
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .collect();
    versions.sort_by(|one, other| other.cmp(one));
    elsewhere.extend(versions.into_iter().map(|(_, directory)| directory));
    find_directory(&PROGRAMS, elsewhere)
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    let (said, complained) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?} failed, {}:\n{said}{complained}", output.status);
    said.into_owned()
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;
    use std::process::Stdio;

    use super::*;

    fn in_database(postgres: &Postgres, url: &str, sql: &str) -> String {
        run(postgres.command("psql").args(["-X", "-q", "-A", "-t", "-d", url, "-c", sql])).trim().to_owned()
    }

    #[test]
    fn a_server_starts_durable_and_leaves_nothing_behind() {
        let postgres = Postgres::start();
        let settings = "SELECT current_setting('fsync'), current_setting('server_encoding'), current_user";
        assert_eq!(postgres.query(settings), "on|UTF8|postgres");
        let (port, directory) = (postgres.port(), postgres.server.home().path().to_owned());
        assert!(directory.exists());
        drop(postgres);
        assert!(TcpStream::connect(("127.0.0.1", port)).is_err(), "somebody still listens on {port}");
        assert!(!directory.exists(), "{} is still there", directory.display());
    }

    #[test]
    fn a_killed_server_refuses_and_comes_back_with_its_data() {
        let mut postgres = Postgres::start();
        let url = postgres.url();
        postgres.query("CREATE TABLE kept (n INT); INSERT INTO kept VALUES (7)");
        postgres.kill();
        assert!(TcpStream::connect(("127.0.0.1", postgres.port())).is_err());
        postgres.start_again();
        assert_eq!(postgres.query("SELECT n FROM kept"), "7");
        assert_eq!(postgres.url(), url);
        postgres.kill();
        let directory = postgres.server.home().path().to_owned();
        drop(postgres);
        assert!(!directory.exists(), "a server that was down is cleaned up too");
    }

    #[test]
    fn killing_takes_the_busy_backends_along() {
        let mut postgres = Postgres::start();
        let mut busy = postgres
            .command("psql")
            .args(["-d", &postgres.url(), "-c", "SELECT pg_sleep(600)"])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while postgres.query("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") != "1" {
            std::thread::yield_now();
        }
        postgres.kill();
        assert!(!busy.wait().unwrap().success());
        // PostgreSQL itself refuses to start on data that a backend of its predecessor still uses.
        postgres.start_again();
    }

    #[test]
    fn fresh_databases_do_not_see_each_other() {
        let postgres = Postgres::shared();
        let (one, other) = (postgres.fresh_database(), postgres.fresh_database());
        assert_ne!(one, other);
        in_database(postgres, &one, "CREATE TABLE mine (n INT)");
        let tables = "SELECT count(*) FROM pg_tables WHERE tablename = 'mine'";
        assert_eq!(in_database(postgres, &one, tables), "1");
        assert_eq!(in_database(postgres, &other, tables), "0");
    }

    #[test]
    fn settings_can_be_changed() {
        assert_eq!(Postgres::start_with(&["fsync=off"]).query("SHOW fsync"), "off");
    }

    #[test]
    fn only_the_status_of_this_process_counts() {
        let ready = "42\n/data\n1700000000\n5432\n\n127.0.0.1\n  123  4\nready   \n";
        assert!(says_ready(ready, 42));
        assert!(!says_ready(ready, 43));
        assert!(!says_ready(&ready.replace("ready", "starting"), 42));
        assert!(!says_ready("42\n/data\n", 42));
    }
}

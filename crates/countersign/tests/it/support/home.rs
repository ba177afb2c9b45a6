//! Where a hub lives: its data directory, its database, its environment. It outlives the processes that serve it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::postgres::Postgres;
use testkit::watch::{self, Data};

use super::PATIENCE;
use super::process::{Process, Ran, Served};
use super::sql::{Rows, on_postgres, on_sqlite};

/// Which engine keeps the records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Sqlite,
    Postgres,
}

/// The place of one hub.
pub(crate) struct Home {
    scratch: Data,
    pub(crate) data: PathBuf,
    pub(crate) database_url: Option<String>,
    env: Vec<(String, String)>,
    /// What the program is started through, such as `nsenter …`.
    through: Vec<String>,
}

impl Home {
    /// An empty place, with a database of its own.
    pub(crate) fn on(kind: Kind) -> Self {
        match kind {
            Kind::Sqlite => Self::with(None),
            Kind::Postgres => Self::with(Some(Postgres::shared().fresh_database())),
        }
    }

    /// An empty place with the records in this PostgreSQL, or in SQLite.
    pub(crate) fn with(database_url: Option<String>) -> Self {
        let scratch = Data::make();
        let data = scratch.path().join("data");
        // The tests are about other things than being asked too often. Whatever the program can log is searched for
        // secrets when the suite is through.
        let env = [("COUNTERSIGN_RATE_LIMIT", "0"), ("COUNTERSIGN_LOG", "trace")];
        let env = env.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        Self { scratch, data, database_url, env, through: Vec::new() }
    }

    /// The same place, with another variable in the environment.
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.retain(|(known, _)| known != name);
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same place, reached through another program, and with the data where that program sees them.
    pub(crate) fn through(mut self, program: Vec<String>, data: &Path) -> Self {
        self.through = program;
        self.data = data.to_owned();
        self
    }

    /// A path beside the data directory.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    pub(crate) fn database_file(&self) -> PathBuf {
        self.data.join("countersign.db")
    }

    pub(crate) fn key_file(&self, name: &str) -> PathBuf {
        self.data.join("keys").join(name)
    }

    /// The program with arguments, in this place and nowhere else: of the caller's environment only PATH is left.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let words = self.through.iter().map(String::as_str).chain([env!("CARGO_BIN_EXE_countersign")]);
        let words: Vec<&str> = words.chain(args.iter().copied()).collect();
        for url in self.env.iter().map(|(_, value)| value).chain(&self.database_url) {
            watch::password_in(url);
        }
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).current_dir(self.scratch.path()).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command.envs(self.database_url.iter().map(|url| ("DATABASE_URL", url)));
        command
    }

    /// Runs a command to its end.
    #[track_caller]
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        Process::start(self.command(args)).ended(PATIENCE)
    }

    /// Runs a command on this place's data to its end.
    #[track_caller]
    pub(crate) fn run_on_data(&self, args: &[&str]) -> Ran {
        let data = self.data.display().to_string();
        self.run(&[args, &["--data", &data]].concat())
    }

    /// Starts `serve`, without waiting for anything.
    pub(crate) fn start(&self, listen: &str) -> Process {
        Process::start(self.serve_command(listen))
    }

    fn serve_command(&self, listen: &str) -> Command {
        let data = self.data.display().to_string();
        let mut args = vec!["serve", "--data", &data, "--listen", listen];
        if self.database_url.is_some() {
            args.push("--migrate");
        }
        self.command(&args)
    }

    /// Starts `serve` so that it is killed when it comes to this point.
    pub(crate) async fn serve_until(&self, point: &str) -> Served {
        Served::watch(self.start_until(point), || self.admin_key()).await
    }

    /// The same, of one that may be killed before it is ready.
    pub(crate) fn start_until(&self, point: &str) -> Process {
        let mut command = self.serve_command("127.0.0.1:0");
        command.env(hub::faults::KILL_AT, point);
        Process::start(command)
    }

    /// Starts `serve` on a free port and waits until it is ready.
    pub(crate) async fn serve(&self) -> Served {
        self.serve_at("127.0.0.1:0").await
    }

    /// Starts `serve` on an address and waits until it is ready.
    pub(crate) async fn serve_at(&self, listen: &str) -> Served {
        Served::watch(self.start(listen), || self.admin_key()).await
    }

    /// `serve` that must not come up: how it ended.
    #[track_caller]
    pub(crate) fn refused(&self) -> Ran {
        let mut process = self.start("127.0.0.1:0");
        let deadline = Instant::now() + PATIENCE;
        while !process.has_ended() && process.out().is_empty() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(2));
        }
        assert_eq!(process.out(), "", "it started");
        process.ended(PATIENCE)
    }

    /// The key of the first admin.
    pub(crate) fn admin_key(&self) -> String {
        let path = self.data.join("admin.key");
        std::fs::read_to_string(path).expect("the admin's key").trim().to_owned()
    }

    /// Runs a command as the admin of a running hub.
    #[track_caller]
    pub(crate) fn as_admin(&self, served: &Served, args: &[&str]) -> Ran {
        Process::start(self.command_as(&served.url, served.admin_key(), args)).ended(PATIENCE)
    }

    /// A command that acts with a key on a hub.
    pub(crate) fn command_as(&self, url: &str, key: &str, args: &[&str]) -> Command {
        let mut command = self.command(args);
        command.env("COUNTERSIGN_URL", url).env("COUNTERSIGN_API_KEY", key);
        command
    }

    /// Asks the database behind the hub's back.
    pub(crate) async fn sql(&self, text: &str) -> Rows {
        match &self.database_url {
            Some(url) => on_postgres(url, text).await,
            None => on_sqlite(&self.database_file(), text),
        }
    }

    /// Ends the lease of a crashed server at once; what a start does otherwise, and how long it takes, is a test's own.
    pub(crate) async fn forget_crash(&self) {
        if self.database_url.is_some() && self.sql("SELECT to_regclass('instances')").await != [[""]] {
            self.sql("DELETE FROM instances").await;
        }
    }

    /// Proves every chain with the hub stopped; one report each.
    #[track_caller]
    pub(crate) fn verified(&self, more: &[&str]) -> Vec<Value> {
        let out = self.run_on_data(&[&["audit", "verify", "--json"], more].concat()).done();
        let reports: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(reports.iter().all(|report| report["ok"] == true), "{reports:?}");
        assert!(reports.len() >= 2, "the instance's chain and the organization's: {reports:?}");
        reports
    }

    /// Every key has the audit row of its minting, and no row tells of a key that is not there.
    pub(crate) async fn assert_no_partial_unit(&self) {
        let keys = "SELECT CAST(id AS TEXT) FROM api_keys";
        let minted = "SELECT subject_id FROM audit_logs WHERE action = 'api_key:minted'";
        for (one, other) in [(keys, minted), (minted, keys)] {
            let alone = self.sql(&format!("{one} EXCEPT {other}")).await;
            assert!(alone.is_empty(), "{} rows of ({one}) are not in ({other})", alone.len());
        }
        let counts = format!("SELECT (SELECT count(*) FROM ({keys}) a), (SELECT count(*) FROM ({minted}) b)");
        let counts = self.sql(&counts).await;
        assert_eq!(counts[0][0], counts[0][1]);
    }
}

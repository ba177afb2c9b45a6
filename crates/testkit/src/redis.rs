//! A private Redis server: a free loopback port, nothing written to disk.
//!
//! ```no_run
//! let redis = testkit::redis::Redis::start();
//! assert!(redis.url().starts_with("redis://127.0.0.1:"));
//! ```

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use crate::servers::{Home, Server, StartError, find_directory, start_on_free_port};

const PROGRAM: &str = "redis-server";

/// Redis has nothing to save here, so the polite signal is also the quick one.
const STOP_SIGNAL: &str = "TERM";

/// A loopback server that does not answer within this is not ready; we ask again.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

/// A Redis server of this process. It is gone when this is dropped or the process ends.
pub struct Redis {
    server: Server,
    port: u16,
}

impl Redis {
    /// A server that keeps everything in memory.
    ///
    /// # Panics
    /// If Redis is not installed or does not start: a missing backend is a failure, never a skip.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// A server with further arguments, such as `["--maxmemory", "1mb"]`. A later one wins over ours.
    ///
    /// # Panics
    /// As [`Redis::start`].
    #[must_use]
    pub fn start_with(options: &[&str]) -> Self {
        let programs = find_directory(&[PROGRAM], [])
            .unwrap_or_else(|| panic!("`{PROGRAM}` was not found; `cargo xtask test` installs it"));
        start_on_free_port("Redis", |port| Self::start_on(port, &programs.join(PROGRAM), options))
    }

    fn start_on(port: u16, program: &Path, options: &[&str]) -> Result<Self, StartError> {
        let home = Home::make("countersign-redis-");
        let (program, number) = (program.display().to_string(), port.to_string());
        let directory = home.path().display().to_string();
        let ours = [&program, "--port", &number, "--bind", "127.0.0.1", "--dir", &directory];
        let memory_only = ["--save", "", "--appendonly", "no", "--daemonize", "no"];
        let command: Vec<String> =
            ours.iter().chain(&memory_only).chain(options).map(|word| (*word).to_owned()).collect();
        let mut redis = Self { server: Server::supervise(home, STOP_SIGNAL, &command), port };
        redis.wait_for_start()?;
        Ok(redis)
    }

    /// Where the server is, as `REDIS_URL` wants it.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// The loopback port; it stays the same over [`Redis::start_again`].
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// What the server says to one inline command, as it comes over the wire. It is for what a test does behind the hub's back.
    ///
    /// # Panics
    /// If the server does not answer.
    pub fn ask(&self, command: &str) -> String {
        ask(self.port, command).unwrap_or_else(|| panic!("Redis does not answer {command}"))
    }

    /// Where it keeps its files.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.server.home().path()
    }

    /// Kills the server with SIGKILL; what it held is gone, unless it was told to keep a log.
    ///
    /// # Panics
    /// If the server is not running.
    pub fn kill(&mut self) {
        self.server.kill();
    }

    /// Starts a killed server again on the same port, empty.
    ///
    /// # Panics
    /// If it does not come up, or was never killed.
    pub fn start_again(&mut self) {
        if let Err(error) = self.wait_for_start() {
            panic!("Redis did not start again: {error:?}");
        }
    }

    fn wait_for_start(&mut self) -> Result<(), StartError> {
        let port = self.port;
        // Somebody else's Redis may answer on a port that ours failed to get; it has another pid.
        self.server.start(|pid| {
            ask(port, "INFO server").is_some_and(|info| info.contains(&format!("process_id:{pid}\r\n")))
        })
    }
}

/// One inline command and what comes back until the server hangs up, which `QUIT` makes it do.
fn ask(port: u16, command: &str) -> Option<String> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut stream = TcpStream::connect_timeout(&address, ANSWER_TIMEOUT).ok()?;
    stream.set_read_timeout(Some(ANSWER_TIMEOUT)).ok()?;
    stream.write_all(format!("{command}\r\nQUIT\r\n").as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};
    use std::path::PathBuf;
    use std::process::{Command, Stdio};
    use std::time::Instant;

    use super::*;

    /// Tells a copy of this test process that it is the one to be killed.
    const VICTIM: &str = "COUNTERSIGN_TESTKIT_VICTIM";

    #[test]
    fn a_process_killed_with_kill_9_takes_its_server_along() {
        if std::env::var_os(VICTIM).is_some() {
            let redis = Redis::start();
            println!("\nserver {} {}", redis.port(), redis.server.home().path().display());
            loop {
                std::thread::park();
            }
        }
        let this = "redis::tests::a_process_killed_with_kill_9_takes_its_server_along";
        let mut victim = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", this, "--nocapture"])
            .env(VICTIM, "1")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(victim.stdout.take().unwrap()).lines().map(Result::unwrap);
        let said = lines.find(|line| line.starts_with("server ")).unwrap();
        let (port, directory) = said["server ".len()..].split_once(' ').unwrap();
        let (port, directory) = (port.parse::<u16>().unwrap(), PathBuf::from(directory));
        assert!(directory.exists() && ask(port, "PING").is_some());
        victim.kill().unwrap();
        victim.wait().unwrap();
        let deadline = Instant::now() + Duration::from_secs(30);
        while directory.exists() || TcpStream::connect(("127.0.0.1", port)).is_ok() {
            assert!(Instant::now() < deadline, "the server on {port} outlived its process");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn a_server_starts_in_memory_and_leaves_nothing_behind() {
        let redis = Redis::start();
        let port = redis.port();
        assert_eq!(redis.url(), format!("redis://127.0.0.1:{port}"));
        assert_eq!(ask(port, "SET k v").unwrap(), "+OK\r\n+OK\r\n");
        assert_eq!(ask(port, "CONFIG GET save").unwrap(), "*2\r\n$4\r\nsave\r\n$0\r\n\r\n+OK\r\n");
        let directory = redis.server.home().path().to_owned();
        assert!(directory.exists());
        drop(redis);
        assert!(TcpStream::connect(("127.0.0.1", port)).is_err(), "somebody still listens on {port}");
        assert!(!directory.exists(), "{} is still there", directory.display());
    }

    #[test]
    fn a_killed_server_refuses_and_comes_back_empty() {
        let mut redis = Redis::start();
        ask(redis.port(), "SET k v").unwrap();
        redis.kill();
        assert!(TcpStream::connect(("127.0.0.1", redis.port())).is_err());
        redis.start_again();
        assert_eq!(ask(redis.port(), "GET k").unwrap(), "$-1\r\n+OK\r\n");
    }

    #[test]
    fn two_servers_live_side_by_side_with_options_of_their_own() {
        let (one, other) = (Redis::start(), Redis::start_with(&["--maxmemory", "3mb"]));
        assert_ne!(one.port(), other.port());
        assert!(ask(other.port(), "CONFIG GET maxmemory").unwrap().contains("3145728"));
        assert!(!ask(one.port(), "CONFIG GET maxmemory").unwrap().contains("3145728"));
    }
}

//! The product, over HTTP: each client is an agent with a key of its own.

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use super::{Locker, Peer};
use crate::Bench;
use crate::homes::Home;
use crate::http::{Connection, Request, Target};
use crate::programs::Program;
use crate::review::team::{Bearer, bearer, call, text};

/// The longest there is: what is held stays so until the end of the measurement.
const TTL_SECONDS: u32 = 300;
const WAIT_SECONDS: u32 = 60;
const LOCK_ID: &[u8] = b"\"lock_id\":\"";
const ID_BYTES: usize = 36;
const HELD: &str = "countersign_locks_held ";

/// A hub and its agents.
pub(super) struct Countersign {
    program: Program,
    home: Home,
    agents: Vec<Bearer>,
}

impl Countersign {
    pub(super) fn start(bench: &Bench, agents: usize) -> Result<Self> {
        let home = Home::sqlite(bench)?;
        let program = Program::at(&home, bench)?;
        let agents = bench.runtime.block_on(enrolled(&program, &home.admin_key()?, agents))?;
        Ok(Self { program, home, agents })
    }

    /// The same hub, for those who wait until the key is theirs.
    pub(super) fn waiting(&self) -> Waiting<'_> {
        Waiting(self)
    }

    pub(super) fn bearer(&self, agent: usize) -> &str {
        &self.agents[agent]
    }

    pub(super) fn target(&self) -> Target {
        self.program.target
    }

    pub(super) fn program(&self) -> &Program {
        &self.program
    }

    /// Kills it as a power cut would, and starts it on what is left.
    pub(super) fn killed_and_started(self, bench: &Bench) -> Result<Self> {
        let Self { program, home, agents } = self;
        program.kill()?;
        let program = Program::at(&home, bench)?;
        Ok(Self { program, home, agents })
    }

    /// Whether somebody holds the key.
    pub(super) async fn is_held(&self, key: &str) -> Result<bool> {
        let mut connection = Connection::open(self.target().address).await?;
        let ask = Request::get(&format!("/api/v1/locks/queue?key={key}"), self.bearer(0));
        let queue = call(&mut connection, &ask).await?;
        Ok(queue["holders"].as_array().is_some_and(|holders| !holders.is_empty()))
    }

    /// How many locks are held, as it says itself.
    pub(super) async fn held(&self) -> Result<usize> {
        let ask = Request::get("/metrics", &bearer(&self.home.admin_key()?));
        let mut connection = Connection::open(self.target().address).await?;
        held_in(std::str::from_utf8(connection.ask(&ask).await?)?)
    }

    /// The agents of this client: every one is some client's, and only its.
    async fn client(&self, number: usize, wait_seconds: u32) -> Result<Client> {
        let agents: Vec<Bearer> =
            self.agents.iter().skip(number % self.agents.len()).step_by(super::CLIENTS).cloned().collect();
        ensure!(!agents.is_empty(), "a client without an agent");
        let connection = Connection::open(self.target().address).await?;
        Ok(Client { connection, agents, turn: 0, wait_seconds, lock_id: [0; ID_BYTES] })
    }
}

fn held_in(metrics: &str) -> Result<usize> {
    let held = metrics.lines().find_map(|line| line.strip_prefix(HELD)).context("no count of locks")?;
    Ok(held.trim().parse()?)
}

/// Lets agents in, with a key for each.
async fn enrolled(program: &Program, admin_key: &str, count: usize) -> Result<Vec<Bearer>> {
    let mut connection = Connection::open(program.target.address).await?;
    let (admin, mut agents) = (bearer(admin_key), Vec::new());
    for number in 0..count {
        let agent = json!({"name": format!("agent{number}")}).to_string();
        let agent = call(&mut connection, &Request::post_as("/api/v1/agents", &admin, &agent)).await?;
        let key = json!({"name": "its", "account_id": text(&agent, "id")?}).to_string();
        let key = call(&mut connection, &Request::post_as("/api/v1/api-keys", &admin, &key)).await?;
        agents.push(bearer(&text(&key, "key")?));
    }
    Ok(agents)
}

/// One connection, and the agents that take turns on it.
pub(super) struct Client {
    connection: Connection,
    agents: Vec<Bearer>,
    /// Whose turn it is.
    turn: usize,
    wait_seconds: u32,
    lock_id: [u8; ID_BYTES],
}

impl Locker for Client {
    async fn acquire(&mut self, key: &str) -> Result<()> {
        self.turn = (self.turn + 1) % self.agents.len();
        let wait = self.wait_seconds;
        let body = format!(r#"{{"key":"{key}","ttl_seconds":{TTL_SECONDS},"wait_seconds":{wait}}}"#);
        let ask = Request::post_as("/api/v1/locks/acquire", &self.agents[self.turn], &body);
        let lock = self.connection.ask(&ask).await?;
        // Parsing all of it would cost the machine more than some servers spend on an answer.
        let at = lock.windows(LOCK_ID.len()).position(|window| window == LOCK_ID);
        let id = at.and_then(|at| lock.get(at + LOCK_ID.len()..)?.first_chunk());
        self.lock_id = *id.context("a lock without an id")?;
        Ok(())
    }

    async fn release(&mut self) -> Result<()> {
        let body = format!(r#"{{"lock_id":"{}"}}"#, std::str::from_utf8(&self.lock_id)?);
        let ask = Request::post_as("/api/v1/locks/release", &self.agents[self.turn], &body);
        self.connection.ask(&ask).await.map(drop)
    }
}

impl Peer for Countersign {
    type Locker = Client;

    async fn open(&self, number: usize) -> Result<Client> {
        self.client(number, 0).await
    }

    fn pid(&self) -> Option<u32> {
        Some(self.program.target.pid)
    }
}

/// Those who ask wait for what is held.
pub(super) struct Waiting<'a>(&'a Countersign);

impl Peer for Waiting<'_> {
    type Locker = Client;

    async fn open(&self, number: usize) -> Result<Client> {
        self.0.client(number, WAIT_SECONDS).await
    }

    fn pid(&self) -> Option<u32> {
        self.0.pid()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_found_among_metrics() {
        let metrics = "# TYPE countersign_locks_held gauge\ncountersign_locks_held 1000000\n\nother 2\n";
        assert_eq!(held_in(metrics).unwrap(), 1_000_000);
        assert!(held_in("# TYPE countersign_locks_held gauge\n").is_err());
    }
}

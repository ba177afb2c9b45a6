//! etcd: its own Lock, in a lease that each client keeps, over the JSON gateway of the same process.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};

use anyhow::{Context as _, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::json;

use super::daemons::{Daemon, free_port, has_program};
use super::{Locker, Peer};
use crate::http::{Connection, Request};
use crate::review::team::{call, text};
use crate::{Bench, progress};

const PROGRAM: &str = "etcd";
/// Longer than any turn, so that nobody has to renew it in the middle of one.
const LEASE_SECONDS: u32 = 600;

/// A cluster of one.
pub(super) struct Etcd {
    daemon: Daemon,
    address: SocketAddr,
}

impl Etcd {
    /// None if it is not installed.
    pub(super) fn start(bench: &Bench) -> Result<Option<Self>> {
        if !has_program(PROGRAM) {
            progress("  there is no etcd here (Debian: etcd-server)");
            return Ok(None);
        }
        let (port, peer_port) = (free_port()?, free_port()?);
        let mut daemon = Daemon::start(bench, |directory| {
            let (client, peer) =
                (format!("http://127.0.0.1:{port}"), format!("http://127.0.0.1:{peer_port}"));
            let data = directory.join("data").display().to_string();
            let options = [
                ("name", "bench".to_owned()),
                ("data-dir", data),
                ("listen-client-urls", client.clone()),
                ("advertise-client-urls", client),
                ("listen-peer-urls", peer.clone()),
                ("initial-advertise-peer-urls", peer.clone()),
                ("initial-cluster", format!("bench={peer}")),
                ("logger", "zap".to_owned()),
                ("log-level", "error".to_owned()),
            ];
            let options = options.into_iter().flat_map(|(name, value)| [format!("--{name}"), value]);
            Ok(std::iter::once(PROGRAM.to_owned()).chain(options).collect())
        })?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        daemon.wait_until(|| TcpStream::connect(address).is_ok())?;
        Ok(Some(Self { daemon, address }))
    }
}

impl Peer for Etcd {
    type Locker = Session;

    async fn open(&self, _: usize) -> Result<Session> {
        let mut connection = Connection::open(self.address).await?;
        let grant = Request::post("/v3/lease/grant", &json!({ "TTL": LEASE_SECONDS }).to_string());
        let lease = text(&call(&mut connection, &grant).await?, "ID")?;
        Ok(Session { connection, lease, held: String::new() })
    }

    fn pid(&self) -> Option<u32> {
        Some(self.daemon.pid())
    }
}

pub(super) struct Session {
    connection: Connection,
    lease: String,
    /// What is held, as etcd calls it.
    held: String,
}

impl Locker for Session {
    async fn acquire(&mut self, key: &str) -> Result<()> {
        let body = format!(r#"{{"name":"{}","lease":"{}"}}"#, BASE64.encode(key), self.lease);
        let answer = self.connection.ask(&Request::post("/v3/lock/lock", &body)).await?;
        let answer = std::str::from_utf8(answer)?;
        let (_, rest) = answer.split_once(r#""key":""#).context("a lock without a key")?;
        self.held = rest.split('"').next().unwrap_or_default().to_owned();
        Ok(())
    }

    async fn release(&mut self) -> Result<()> {
        let body = format!(r#"{{"key":"{}"}}"#, self.held);
        self.connection.ask(&Request::post("/v3/lock/unlock", &body)).await.map(drop)
    }
}

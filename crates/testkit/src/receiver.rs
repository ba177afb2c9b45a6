//! A receiver of webhooks that does as it is told: takes, fails, hangs, redirects, trickles.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// How it answers.
#[derive(Clone, Debug)]
pub enum Manner {
    /// With this status and body.
    Says(u16, String),
    /// With a redirect there.
    Sends(String),
    /// Not at all.
    Hangs,
    /// One letter of the status line at a time, for ever.
    Trickles,
    /// With 200 at once, and then a body that never ends.
    TricklesBody,
}

/// What it was sent.
#[derive(Clone, Debug)]
pub struct Received {
    /// With lower-case names.
    pub headers: Vec<(String, String)>,
    /// To the byte.
    pub body: Vec<u8>,
}

impl Received {
    /// What it came with.
    #[must_use]
    pub fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known == name);
        &found.unwrap_or_else(|| panic!("no {name} in {:?}", self.headers)).1
    }

    /// The body.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }
}

#[derive(Default)]
struct Told {
    manner: Option<Manner>,
    received: Vec<Received>,
    connections: usize,
}

/// A receiver on a port of its own. It is gone when this is dropped.
pub struct Receiver {
    /// Where it listens.
    pub port: u16,
    told: Arc<Mutex<Told>>,
    _serving: JoinSet<()>,
}

impl Receiver {
    /// Starts one that takes everything.
    pub async fn start(address: &str) -> Self {
        let listener = TcpListener::bind((address, 0)).await.expect("a free port");
        Self::on(listener)
    }

    fn on(listener: TcpListener) -> Self {
        let port = listener.local_addr().expect("its address").port();
        let told = Arc::new(Mutex::new(Told::default()));
        let (mut serving, heard) = (JoinSet::new(), Arc::clone(&told));
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                lock(&heard).connections += 1;
                let heard = Arc::clone(&heard);
                connections.spawn(async move {
                    // Whoever hangs up has heard enough.
                    answer(stream, &heard).await.ok();
                });
            }
        });
        Self { port, told, _serving: serving }
    }

    /// Its address.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/in", self.port)
    }

    /// Has it answer like this from now on.
    pub fn set(&self, manner: Manner) {
        lock(&self.told).manner = Some(manner);
    }

    /// What it was sent so far.
    #[must_use]
    pub fn received(&self) -> Vec<Received> {
        lock(&self.told).received.clone()
    }

    /// How often it was called.
    #[must_use]
    pub fn connections(&self) -> usize {
        lock(&self.told).connections
    }
}

fn lock(told: &Mutex<Told>) -> std::sync::MutexGuard<'_, Told> {
    told.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn answer(mut stream: TcpStream, told: &Mutex<Told>) -> std::io::Result<()> {
    let received = request(&mut stream).await?;
    let manner = {
        let mut told = lock(told);
        told.received.push(received);
        told.manner.clone().unwrap_or(Manner::Says(200, "thanks".into()))
    };
    let endless = async |stream: &mut TcpStream, letter: &[u8]| loop {
        if stream.write_all(letter).await.is_err() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    match manner {
        Manner::Says(status, body) => {
            let head =
                format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
            stream.write_all(head.as_bytes()).await?;
            stream.write_all(body.as_bytes()).await?;
        }
        Manner::Sends(to) => {
            let head =
                format!("HTTP/1.1 307 X\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            stream.write_all(head.as_bytes()).await?;
        }
        Manner::Hangs => {
            // Until the other side has had enough.
            stream.read_u8().await?;
        }
        Manner::Trickles => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nx-slow: ").await?;
            endless(&mut stream, b"x").await;
        }
        Manner::TricklesBody => {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n").await?;
            endless(&mut stream, b"x").await;
        }
    }
    stream.shutdown().await
}

async fn request(stream: &mut TcpStream) -> std::io::Result<Received> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        bytes.push(stream.read_u8().await?);
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).into_owned();
    let headers: Vec<(String, String)> = head
        .lines()
        .skip(1)
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length = headers
        .iter()
        .find(|(name, _)| name == "content-length")
        .map_or(0, |(_, value)| value.parse().expect("a length"));
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok(Received { headers, body })
}

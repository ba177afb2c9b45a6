//! A raw HTTP/1.1 client on a kept connection: the load generator shares the machine with the server, so it
//! must cost next to nothing.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::closed_loop::{self, Run, Worker};

const END_OF_HEAD: &[u8] = b"\r\n\r\n";
const LENGTH: &[u8] = b"\r\ncontent-length: ";
const LENGTH_IN_CAPITALS: &[u8] = b"\r\nContent-Length: ";
/// More than any head or body here, so that one read takes an answer.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// A request as it goes over the wire.
#[derive(Clone)]
pub(crate) struct Request(Arc<[u8]>);

impl Request {
    /// A GET; `headers` end their lines themselves.
    pub(crate) fn get(path: &str, headers: &str) -> Self {
        Self(format!("GET {path} HTTP/1.1\r\nhost: bench\r\n{headers}\r\n").into_bytes().into())
    }

    /// A GET that no answer was kept for: answers are kept by what their readers say that they can read, and each of these
    /// says something that nobody has said.
    pub(crate) fn get_anew(path: &str, headers: &str) -> Self {
        static ASKED: AtomicU64 = AtomicU64::new(0);
        let number = ASKED.fetch_add(1, Ordering::Relaxed);
        Self::get(path, &format!("{headers}accept-encoding: x-{number}\r\n"))
    }

    pub(crate) fn post(path: &str, body: &str) -> Self {
        Self::post_as(path, "", body)
    }

    /// A POST with more headers, which end their lines themselves.
    pub(crate) fn post_as(path: &str, headers: &str, body: &str) -> Self {
        let length = body.len();
        Self(
            format!(
                "POST {path} HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\n{headers}\
                 content-length: {length}\r\n\r\n{body}"
            )
            .into_bytes()
            .into(),
        )
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// A connection that asks one thing at a time.
pub(crate) struct Connection {
    stream: TcpStream,
    answer: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, answer: Vec::with_capacity(ANSWER_BYTES_MAX) })
    }

    /// Sends the request and returns the answer's body; anything but a success is an error.
    pub(crate) async fn ask(&mut self, request: &Request) -> Result<&[u8]> {
        self.stream.write_all(&request.0).await?;
        self.answer.clear();
        loop {
            ensure!(self.stream.read_buf(&mut self.answer).await? > 0, "the server hung up");
            if let Some((body, length)) = parse_head(&self.answer)?
                && self.answer.len() >= body + length
            {
                return Ok(&self.answer[body..body + length]);
            }
        }
    }
}

/// Where the body begins and how long it is, once the head is complete.
fn parse_head(answer: &[u8]) -> Result<Option<(usize, usize)>> {
    let Some(end) = find(answer, END_OF_HEAD) else {
        return Ok(None);
    };
    let head = &answer[..end + 2];
    if !head.starts_with(b"HTTP/1.1 2") {
        bail!("the server answered {}", String::from_utf8_lossy(answer));
    }
    if head.starts_with(b"HTTP/1.1 204") {
        return Ok(Some((end + END_OF_HEAD.len(), 0)));
    }
    // hyper writes names in small letters, etcd with capitals; both write a length for every whole body.
    let at = find(head, LENGTH).or_else(|| find(head, LENGTH_IN_CAPITALS));
    let digits = at.map(|at| &head[at + LENGTH.len()..]).context("an answer without length")?;
    let digits = &digits[..find(digits, b"\r\n").context("a header without an end")?];
    Ok(Some((end + END_OF_HEAD.len(), std::str::from_utf8(digits)?.parse()?)))
}

fn find(within: &[u8], wanted: &[u8]) -> Option<usize> {
    within.windows(wanted.len()).position(|window| window == wanted)
}

struct Asker<F> {
    connection: Connection,
    next: F,
}

impl<F: FnMut() -> Request + Send + 'static> Worker for Asker<F> {
    async fn once(&mut self) -> Result<()> {
        self.connection.ask(&(self.next)()).await.map(drop)
    }
}

/// The server under load: where it is, and the process whose time is counted.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    pub(crate) address: SocketAddr,
    pub(crate) pid: u32,
}

/// Asks for this long, on one connection for each of those who know what to ask next.
pub(crate) async fn load<F: FnMut() -> Request + Send + 'static>(
    target: Target,
    who: impl IntoIterator<Item = F>,
    duration: Duration,
) -> Result<Run> {
    let mut askers = Vec::new();
    for next in who {
        askers.push(Asker { connection: Connection::open(target.address).await?, next });
    }
    closed_loop::run(askers, duration, target.pid).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_when_it_is_whole() {
        let head = b"HTTP/1.1 200 OK\r\na: b\r\ncontent-length: 5\r\n\r\n";
        assert_eq!(parse_head(&head[..head.len() - 1]).unwrap(), None);
        assert_eq!(parse_head(head).unwrap(), Some((head.len(), 5)));
        let nothing = b"HTTP/1.1 204 No Content\r\na: b\r\n\r\n";
        assert_eq!(parse_head(nothing).unwrap(), Some((nothing.len(), 0)));
    }

    #[test]
    fn what_is_not_an_answer_is_an_error() {
        assert!(parse_head(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n").is_err());
        assert!(parse_head(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").is_err());
        assert!(parse_head(b"HTTP/1.1 200 OK\r\ncontent-length: five\r\n\r\n").is_err());
    }
}

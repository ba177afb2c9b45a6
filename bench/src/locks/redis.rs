//! Redis that syncs every write: `SET NX PX`, and a script that deletes only what is one's own.

use std::io::Write as _;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{Locker, Peer};
use crate::Bench;

/// Every write is on the disk before it is answered. It is not made to compact its log in the middle of a run.
const OPTIONS: [&str; 6] =
    ["--appendonly", "yes", "--appendfsync", "always", "--auto-aof-rewrite-percentage", "0"];
const DELETE_OWN: &str =
    "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end";
const TTL_MS: &str = "300000";
/// Redis has no line to stand in: whoever finds the key taken asks again, after this or at once. The first lets the
/// key lie, the second keeps the server busy with refusals; both are measured.
const PAUSE: Duration = Duration::from_millis(1);

/// A server of our own.
pub(super) struct Redis {
    server: testkit::redis::Redis,
    pid: u32,
    script: String,
}

impl Redis {
    pub(super) fn start(bench: &Bench) -> Result<Self> {
        let server = testkit::redis::Redis::start_with(&OPTIONS);
        let (pid, script) = bench.runtime.block_on(async {
            let mut client = Client::open(server.port()).await?;
            let info = client.ask(&["INFO", "server"]).await?.text()?;
            let pid = info.lines().find_map(|line| line.strip_prefix("process_id:")).context("no pid")?;
            let script = client.ask(&["SCRIPT", "LOAD", DELETE_OWN]).await?.text()?;
            anyhow::Ok((pid.trim().parse()?, script))
        })?;
        Ok(Self { server, pid, script })
    }

    pub(super) fn eager(&self) -> Eager<'_> {
        Eager(self)
    }

    async fn holder(&self, number: usize, pause: Option<Duration>) -> Result<Holder> {
        let client = Client::open(self.server.port()).await?;
        // As long as ids are, which is what real ones use.
        let token = format!("client-{number:029}");
        Ok(Holder { client, pause, token, script: self.script.clone(), key: String::new() })
    }
}

impl Peer for Redis {
    type Locker = Holder;

    async fn open(&self, number: usize) -> Result<Holder> {
        self.holder(number, Some(PAUSE)).await
    }

    fn pid(&self) -> Option<u32> {
        Some(self.pid)
    }
}

/// The same server, for those who ask again at once.
pub(super) struct Eager<'a>(&'a Redis);

impl Peer for Eager<'_> {
    type Locker = Holder;

    async fn open(&self, number: usize) -> Result<Holder> {
        self.0.holder(number, None).await
    }

    fn pid(&self) -> Option<u32> {
        self.0.pid()
    }
}

pub(super) struct Holder {
    client: Client,
    /// Before asking again.
    pause: Option<Duration>,
    token: String,
    script: String,
    key: String,
}

impl Locker for Holder {
    async fn acquire(&mut self, key: &str) -> Result<()> {
        while self.client.ask(&["SET", key, &self.token, "NX", "PX", TTL_MS]).await? == Answer::Nothing {
            match self.pause {
                Some(pause) => tokio::time::sleep(pause).await,
                None => tokio::task::yield_now().await,
            }
        }
        key.clone_into(&mut self.key);
        Ok(())
    }

    async fn release(&mut self) -> Result<()> {
        let answer = self.client.ask(&["EVALSHA", &self.script, "1", &self.key, &self.token]).await?;
        ensure!(answer == Answer::Number(1), "Redis deleted nothing: {answer:?}");
        Ok(())
    }
}

/// What Redis says.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Answer {
    Nothing,
    Number(i64),
    Text(String),
}

impl Answer {
    fn text(self) -> Result<String> {
        match self {
            Self::Text(text) => Ok(text),
            other => bail!("Redis answered {other:?}"),
        }
    }
}

/// A connection that asks one thing at a time, in Redis' own protocol.
struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Client {
    async fn open(port: u16) -> Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::with_capacity(16 * 1024) })
    }

    async fn ask(&mut self, words: &[&str]) -> Result<Answer> {
        self.buffer.clear();
        write!(self.buffer, "*{}\r\n", words.len())?;
        for word in words {
            write!(self.buffer, "${}\r\n{word}\r\n", word.len())?;
        }
        self.stream.write_all(&self.buffer).await?;
        self.buffer.clear();
        loop {
            ensure!(self.stream.read_buf(&mut self.buffer).await? > 0, "Redis hung up");
            if let Some(answer) = parsed(&self.buffer)? {
                return Ok(answer);
            }
        }
    }
}

/// The answer, once it is whole.
fn parsed(bytes: &[u8]) -> Result<Option<Answer>> {
    let Some(end) = bytes.windows(2).position(|window| window == b"\r\n") else { return Ok(None) };
    let line = std::str::from_utf8(&bytes[1..end])?;
    Ok(Some(match bytes[0] {
        b'+' => Answer::Text(line.to_owned()),
        b':' => Answer::Number(line.parse()?),
        b'$' if line == "-1" => Answer::Nothing,
        b'$' => {
            let from = end + 2;
            let Some(text) = bytes.get(from..from + line.parse::<usize>()?) else { return Ok(None) };
            Answer::Text(String::from_utf8(text.to_vec())?)
        }
        _ => bail!("Redis answered {}", String::from_utf8_lossy(bytes)),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_when_it_is_whole() {
        let text = |text: &str| Some(Answer::Text(text.to_owned()));
        assert_eq!(parsed(b"+OK\r").unwrap(), None);
        assert_eq!(parsed(b"+OK\r\n").unwrap(), text("OK"));
        assert_eq!(parsed(b":1\r\n").unwrap(), Some(Answer::Number(1)));
        assert_eq!(parsed(b"$-1\r\n").unwrap(), Some(Answer::Nothing));
        assert_eq!(parsed(b"$3\r\nab").unwrap(), None);
        assert_eq!(parsed(b"$3\r\nabc\r\n").unwrap(), text("abc"));
        assert!(parsed(b"-ERR no\r\n").is_err());
    }
}

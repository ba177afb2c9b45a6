//! ZooKeeper: the recipe of its documentation. Everybody makes a numbered node that goes with its session, and
//! watches the one before; whose node is the first has the lock.

use std::net::{Ipv4Addr, SocketAddr, TcpStream as Blocking};
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::daemons::{Daemon, free_port, has_program};
use super::{Locker, Peer};
use crate::{Bench, progress};

const JAR: &str = "/usr/share/java/zookeeper.jar";
const MAIN: &str = "org.apache.zookeeper.server.quorum.QuorumPeerMain";
/// Longer than any turn, so that nobody has to be heard of in the middle of one.
const SESSION_MS: i32 = 600_000;

/// What is asked of the server; the numbers are its own.
const CREATE: i32 = 1;
const DELETE: i32 = 2;
const EXISTS: i32 = 3;
const GET_CHILDREN: i32 = 8;
const PERSISTENT: i32 = 0;
const EPHEMERAL_SEQUENTIAL: i32 = 3;
const ALL_RIGHTS: i32 = 31;
const ANY_VERSION: i32 = -1;
/// The number under which watches are told.
const EVENT: i32 = -1;
const NO_NODE: i32 = -101;
const NODE_EXISTS: i32 = -110;

/// One server, whose log syncs every change, as it comes.
pub(super) struct ZooKeeper {
    daemon: Daemon,
    address: SocketAddr,
}

impl ZooKeeper {
    /// None if it is not installed.
    pub(super) fn start(bench: &Bench) -> Result<Option<Self>> {
        if !has_program("java") || !Path::new(JAR).is_file() {
            progress("  there is no ZooKeeper here (Debian: zookeeper)");
            return Ok(None);
        }
        let port = free_port()?;
        let mut daemon = Daemon::start(bench, |directory| {
            let (settings, data) = (directory.join("zoo.cfg"), directory.join("data"));
            let text = format!(
                "tickTime=2000\ndataDir={}\nclientPort={port}\nclientPortAddress=127.0.0.1\nmaxClientCnxns=0\n\
                 maxSessionTimeout={SESSION_MS}\nadmin.enableServer=false\n",
                data.display()
            );
            std::fs::write(&settings, text)?;
            let words = ["java", "-Xmx1g", "-cp", JAR, MAIN, &settings.display().to_string()];
            Ok(words.map(str::to_owned).to_vec())
        })?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        daemon.wait_until(|| Blocking::connect(address).is_ok())?;
        Ok(Some(Self { daemon, address }))
    }
}

impl Peer for ZooKeeper {
    type Locker = Session;

    async fn open(&self, _: usize) -> Result<Session> {
        let stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        let mut session =
            Session { stream, asked: 0, told: 0, directory: String::new(), node: String::new() };
        // Version, the last change seen, how long the session may be silent, which session, its password.
        let hello = Words::default().int(0).long(0).int(SESSION_MS).long(0).text("");
        session.send(hello).await?;
        session.receive().await?;
        Ok(session)
    }

    fn pid(&self) -> Option<u32> {
        Some(self.daemon.pid())
    }
}

/// A connection that asks one thing at a time.
pub(super) struct Session {
    stream: TcpStream,
    asked: i32,
    /// Watches that have fired since somebody last waited for one.
    told: usize,
    directory: String,
    node: String,
}

impl Session {
    async fn send(&mut self, words: Words) -> Result<()> {
        Ok(self.stream.write_all(&words.framed()?).await?)
    }

    async fn receive(&mut self) -> Result<Vec<u8>> {
        let length = usize::try_from(self.stream.read_i32().await.context("ZooKeeper hung up")?)?;
        let mut bytes = vec![0; length];
        self.stream.read_exact(&mut bytes).await?;
        Ok(bytes)
    }

    /// The error the server answers with, 0 if none, and the rest of what it says.
    async fn ask(&mut self, what: i32, request: Words) -> Result<(i32, Vec<u8>)> {
        self.asked += 1;
        let asked = self.asked;
        self.send(Words::default().int(asked).int(what).and(&request)).await?;
        loop {
            let answer = self.receive().await?;
            let mut reader = Reader(&answer);
            match reader.int()? {
                EVENT => self.told += 1,
                number if number == asked => {
                    let (_, error) = (reader.long()?, reader.int()?);
                    return Ok((error, reader.0.to_vec()));
                }
                other => bail!("ZooKeeper answered {other} when asked {asked}"),
            }
        }
    }

    /// Makes a node; its name, which is longer than the path where it is numbered.
    async fn create(&mut self, path: &str, kind: i32) -> Result<Option<String>> {
        let anybody = Words::default().int(1).int(ALL_RIGHTS).text("world").text("anyone");
        let (error, answer) =
            self.ask(CREATE, Words::default().text(path).text("").and(&anybody).int(kind)).await?;
        match error {
            0 => Ok(Some(Reader(&answer).text()?.to_owned())),
            NODE_EXISTS => Ok(None),
            error => bail!("ZooKeeper made no node: {error}"),
        }
    }

    /// The node right before ours, if there is one.
    async fn before(&mut self) -> Result<Option<String>> {
        let (error, answer) =
            self.ask(GET_CHILDREN, Words::default().text(&self.directory).flag(false)).await?;
        ensure!(error == 0, "ZooKeeper shows no nodes: {error}");
        let mut reader = Reader(&answer);
        let own = self.node.rsplit('/').next().unwrap_or_default();
        let mut nearest: Option<&str> = None;
        for _ in 0..reader.int()? {
            let name = reader.text()?;
            if name < own && nearest.is_none_or(|nearest| nearest < name) {
                nearest = Some(name);
            }
        }
        Ok(nearest.map(|name| format!("{}/{name}", self.directory)))
    }

    /// Waits until the node is gone.
    async fn outlive(&mut self, node: &str) -> Result<()> {
        self.told = 0;
        match self.ask(EXISTS, Words::default().text(node).flag(true)).await?.0 {
            NO_NODE => return Ok(()),
            error => ensure!(error == 0, "ZooKeeper watches no node: {error}"),
        }
        while self.told == 0 {
            let answer = self.receive().await?;
            ensure!(Reader(&answer).int()? == EVENT, "an answer to no question");
            self.told += 1;
        }
        Ok(())
    }
}

impl Locker for Session {
    async fn acquire(&mut self, key: &str) -> Result<()> {
        if self.directory.is_empty() {
            self.directory = format!("/{key}");
            let directory = self.directory.clone();
            self.create(&directory, PERSISTENT).await?;
        }
        let path = format!("{}/lock-", self.directory);
        self.node =
            self.create(&path, EPHEMERAL_SEQUENTIAL).await?.context("a numbered node exists twice")?;
        while let Some(before) = self.before().await? {
            self.outlive(&before).await?;
        }
        Ok(())
    }

    async fn release(&mut self) -> Result<()> {
        let (error, _) = self.ask(DELETE, Words::default().text(&self.node).int(ANY_VERSION)).await?;
        ensure!(error == 0, "ZooKeeper deleted nothing: {error}");
        Ok(())
    }
}

/// A message on its way.
#[derive(Default)]
struct Words(Vec<u8>);

impl Words {
    fn int(mut self, value: i32) -> Self {
        self.0.extend_from_slice(&value.to_be_bytes());
        self
    }

    fn long(mut self, value: i64) -> Self {
        self.0.extend_from_slice(&value.to_be_bytes());
        self
    }

    fn flag(mut self, value: bool) -> Self {
        self.0.push(value.into());
        self
    }

    fn text(self, text: &str) -> Self {
        let mut words = self.int(i32::try_from(text.len()).unwrap_or(i32::MAX));
        words.0.extend_from_slice(text.as_bytes());
        words
    }

    fn and(mut self, more: &Self) -> Self {
        self.0.extend_from_slice(&more.0);
        self
    }

    fn framed(self) -> Result<Vec<u8>> {
        let length = i32::try_from(self.0.len())?;
        Ok(Self::default().int(length).and(&self).0)
    }
}

/// A message that arrived.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count).context("a message of ZooKeeper breaks off")?;
        self.0 = rest;
        Ok(taken)
    }

    fn int(&mut self) -> Result<i32> {
        Ok(i32::from_be_bytes(self.take(4)?.try_into()?))
    }

    fn long(&mut self) -> Result<i64> {
        Ok(i64::from_be_bytes(self.take(8)?.try_into()?))
    }

    fn text(&mut self) -> Result<&'a str> {
        let length = usize::try_from(self.int()?)?;
        Ok(std::str::from_utf8(self.take(length)?)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_can_be_read() {
        let bytes = Words::default().int(-7).long(1 << 40).text("/a").framed().unwrap();
        let mut reader = Reader(&bytes);
        assert_eq!(reader.int().unwrap(), 4 + 8 + 4 + 2);
        assert_eq!((reader.int().unwrap(), reader.long().unwrap()), (-7, 1 << 40));
        assert_eq!(reader.text().unwrap(), "/a");
        assert!(reader.int().is_err());
    }
}

//! Those who follow the events on a socket: how soon each of them hears of a change, and what it takes to have them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::figures::{Bar, Figure, Row, grouped};
use crate::http::{Connection, Request, Target};
use crate::machine::resident_mb;
use crate::review::cycle::touching;
use crate::review::team::{Bearer, Team, call, text};
use crate::{Bench, ROUNDS, progress};

const FOLLOWERS: usize = 1_000;
const HEARD_WITHIN_MS_MAX: f64 = 100.0;
/// Changes of one round, one after the other.
const CHANGES: usize = 20;
const IDLE: usize = 10_000;
const IDLE_MB_MAX: f64 = 400.0;
/// Opened at once; more would only wait for each other.
const OPENED_AT_ONCE: usize = 100;
/// Whoever has not heard of a change by then never will.
const LOST_AFTER: Duration = Duration::from_secs(20);
/// Until a hub has done what comes with opening many sockets.
const SETTLED_AFTER: Duration = Duration::from_secs(5);

pub(super) fn measure(bench: &Bench, hub: Target, team: &Team) -> Result<Vec<Row>> {
    let mut table = bench.runtime.block_on(told(hub, team))?;
    table.extend(bench.runtime.block_on(idle(hub, team))?);
    Ok(table)
}

/// How long it takes from the request that changes something until each follower has read of it.
async fn told(hub: Target, team: &Team) -> Result<Vec<Row>> {
    progress(&format!("  {} sockets that are told", grouped(FOLLOWERS as f64, 0)));
    let (heard, mut hearing) = unbounded_channel();
    let mut readers = JoinSet::new();
    for socket in opened(hub, team, FOLLOWERS).await? {
        readers.spawn(read(socket, heard.clone()));
    }
    let mut author = Connection::open(hub.address).await?;
    let (mut p50, mut p99) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let mut took = Vec::new();
        for _ in 0..CHANGES {
            took.extend(change(&mut author, &team.authors[0], &mut hearing).await?);
        }
        took.sort_unstable();
        let millis = |percent: usize| took[(took.len() - 1) * percent / 100].as_secs_f64() * 1e3;
        p50.push(millis(50));
        p99.push(millis(99));
    }
    readers.shutdown().await;
    let followers = grouped(FOLLOWERS as f64, 0);
    Ok(vec![
        Row::new(format!("a change, until {followers} sockets have read of it: p99, ms"), Figure::of(p99), 1)
            .with_bar(Bar::AtMost(HEARD_WITHIN_MS_MAX)),
        Row::new(format!("a change, until {followers} sockets have read of it: p50, ms"), Figure::of(p50), 1),
    ])
}

/// Writes a task; how long each follower took to hear of it.
async fn change(
    author: &mut Connection,
    who: &Bearer,
    hearing: &mut UnboundedReceiver<(Instant, Arc<str>)>,
) -> Result<Vec<Duration>> {
    let create = Request::post_as("/api/v1/tasks", who, &touching("db", "exclusive").to_string());
    let began = Instant::now();
    let id = text(&call(author, &create).await?, "id")?;
    let mut took = Vec::with_capacity(FOLLOWERS);
    while took.len() < FOLLOWERS {
        let next = timeout(LOST_AFTER, hearing.recv()).await.context("somebody was not told")?;
        let (at, what) = next.context("everybody hung up")?;
        if what.contains(&id) {
            took.push(at.duration_since(began));
        }
    }
    Ok(took)
}

/// Reads what a socket is told, and says when.
async fn read(mut socket: TcpStream, heard: UnboundedSender<(Instant, Arc<str>)>) -> Result<()> {
    loop {
        let frame = frame(&mut socket).await?;
        let told = String::from_utf8_lossy(&frame);
        if told.contains("task:created") {
            heard.send((Instant::now(), told.into()))?;
        }
    }
}

/// What one frame of a server says. A server masks nothing.
async fn frame(socket: &mut TcpStream) -> Result<Vec<u8>> {
    let mut head = [0_u8; 2];
    socket.read_exact(&mut head).await?;
    let length = match head[1] {
        126 => u64::from(socket.read_u16().await?),
        127 => socket.read_u64().await?,
        short => u64::from(short),
    };
    let mut body = vec![0_u8; usize::try_from(length)?];
    socket.read_exact(&mut body).await?;
    Ok(body)
}

/// What so many sockets take that hear nothing.
async fn idle(hub: Target, team: &Team) -> Result<Vec<Row>> {
    let many = grouped(IDLE as f64, 0);
    progress(&format!("  {many} sockets that hear nothing"));
    let before = resident_mb(hub.pid)?;
    let sockets = opened(hub, team, IDLE).await?;
    tokio::time::sleep(SETTLED_AFTER).await;
    let after = resident_mb(hub.pid)?;
    drop(sockets);
    Ok(vec![
        Row::new(format!("the hub with {many} idle sockets, resident: MB"), Figure::of([after]), 0)
            .with_bar(Bar::AtMost(IDLE_MB_MAX)),
        Row::new(
            format!("kB that each of {many} sockets takes"),
            Figure::of([(after - before) * 1e3 / IDLE as f64]),
            1,
        ),
    ])
}

/// Opens so many, for all people in turn: one account may only have so many.
async fn opened(hub: Target, team: &Team, count: usize) -> Result<Vec<TcpStream>> {
    let mut people = team.authors.iter().chain(&team.reviewers).cycle();
    let mut sockets = Vec::with_capacity(count);
    while sockets.len() < count {
        let mut opening = JoinSet::new();
        for who in people.by_ref().take(OPENED_AT_ONCE.min(count - sockets.len())) {
            opening.spawn(open(hub, who.clone()));
        }
        while let Some(socket) = opening.join_next().await {
            sockets.push(socket??);
        }
    }
    Ok(sockets)
}

async fn open(hub: Target, who: Bearer) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(hub.address).await?;
    stream.set_nodelay(true)?;
    let asked = Request::get(
        "/api/v1/ws",
        &format!(
            "{who}connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
             sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
        ),
    );
    stream.write_all(asked.bytes()).await?;
    // Byte by byte: what comes behind the head belongs to the socket.
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    ensure!(head.starts_with(b"HTTP/1.1 101"), "not a socket: {}", String::from_utf8_lossy(&head));
    Ok(stream)
}

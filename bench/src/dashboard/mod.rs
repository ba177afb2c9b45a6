//! The pages and the live feeds: what a page costs where very much waits, how much of it goes over the wire, how soon a
//! change is everywhere, and what those who only listen take.
//!
//! [`pages`] are the pages, [`weight`] is how many bytes the first of them takes, [`sockets`] are those who follow.

mod pages;
mod sockets;
mod weight;

use anyhow::{Context as _, Result};
use records::Engine;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::Bench;
use crate::figures::Row;
use crate::homes::Homes;
use crate::http::{Request, Target};
use crate::programs::Program;
use crate::review::fill::Kind;
use crate::review::staffed;
use crate::review::team::Bearer;

/// Tasks of which each waits for both reviewers.
const OPEN: u64 = 100_000;
/// How many connections the hub takes: those who listen may not take all of them.
const CONNECTIONS_MAX: &str = "21000";
const PASSWORD: &str = "a password of the bench";
const SET_COOKIE: &str = "\r\nset-cookie: ";

pub(crate) fn measure(bench: &Bench) -> Result<Vec<Row>> {
    let homes = Homes::on(Engine::Sqlite, bench);
    let open = OPEN.min(bench.tasks);
    let (home, team) = staffed(bench, &homes, open, Kind::Open)?;
    let hub = Program::with(&home, bench, &[("COUNTERSIGN_MAX_CONNECTIONS", CONNECTIONS_MAX)])?;
    let reviewer = &team.reviewers[0];
    let login = bench.runtime.block_on(logged_in(hub.target, reviewer))?;
    let mut table = pages::measure(bench, hub.target, (reviewer, &login), open)?;
    table.extend(bench.runtime.block_on(weight::measure(hub.target, &login))?);
    table.extend(sockets::measure(bench, hub.target, &team)?);
    Ok(table)
}

/// A header line with the cookie of a browser's login, of whoever has this key.
async fn logged_in(hub: Target, key: &Bearer) -> Result<Bearer> {
    let new = json!({"new_password": PASSWORD}).to_string();
    fetched(hub, &Request::post_as("/api/v1/auth/password", &closing(key), &new)).await?;
    let who = json!({"email": "rob@example.org", "password": PASSWORD}).to_string();
    let answer = fetched(hub, &Request::post_as("/api/v1/auth/login", &closing(""), &who)).await?;
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let cookie = answer.split_once(SET_COOKIE).and_then(|(_, rest)| rest.split_once(';'));
    let (cookie, _) = cookie.with_context(|| format!("no cookie in {answer}"))?;
    Ok(format!("cookie: {cookie}\r\n"))
}

/// These headers, and that the connection ends with the answer.
fn closing(headers: &str) -> String {
    format!("{headers}connection: close\r\n")
}

/// All bytes of an answer, head and body, on a connection of its own.
async fn fetched(hub: Target, request: &Request) -> Result<Vec<u8>> {
    let mut stream = TcpStream::connect(hub.address).await?;
    stream.write_all(request.bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    anyhow::ensure!(answer.starts_with(b"HTTP/1.1 2"), "{}", String::from_utf8_lossy(&answer));
    Ok(answer)
}

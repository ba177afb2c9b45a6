//! The inbox and a task's page where very much waits, against `GET /me`.

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::figures::{Bar, Row, grouped, ratio};
use crate::http::{Connection, Request, Target, load};
use crate::review::CONNECTIONS;
use crate::review::team::{Bearer, call};
use crate::turns::{Measured, Side, taken};
use crate::{Bench, progress};

const OF_ME_MAX: f64 = 6.0;

pub(super) fn measure(
    bench: &Bench,
    hub: Target,
    (key, login): (&Bearer, &Bearer),
    open: u64,
) -> Result<Vec<Row>> {
    progress("  pages");
    let task = bench.runtime.block_on(first_in_queue(hub, key))?;
    let side = |name: String, path: &str, ask: fn(&str, &str) -> Request| {
        let path = path.to_owned();
        Side::new(name, move |turn| {
            let (path, login) = (path.clone(), login.clone());
            let who = std::iter::repeat_n(move || ask(&path, &login), CONNECTIONS);
            bench.runtime.block_on(load(hub, who, turn))
        })
    };
    let many = grouped(open as f64, 0);
    let page = format!("/tasks/{task}");
    let sides = [
        side("`/me` by a login".to_owned(), "/api/v1/me", Request::get),
        side(format!("inbox, {many} waiting, asked for again"), "/", Request::get),
        side(format!("page of a task, {many} waiting, asked for again"), &page, Request::get),
        side(format!("inbox, {many} waiting, made anew"), "/", Request::get_anew),
        side(format!("page of a task, {many} waiting, made anew"), &page, Request::get_anew),
    ];
    let measured: [Measured; 5] = taken(bench, sides)?;
    let [me, pages @ ..] = &measured;
    let names = ["inbox asked for again", "a task's page asked for again", "inbox", "a task's page"];
    let of_me = |side: &Measured| ratio(&side.values(|run| run.p99_micros), &me.values(|run| run.p99_micros));
    let mut table: Vec<Row> = names
        .iter()
        .zip(pages)
        .map(|(name, side)| {
            Row::new(format!("SQLite, {name} ÷ `/me`: p99"), of_me(side), 2).with_bar(Bar::AtMost(OF_ME_MAX))
        })
        .collect();
    table.extend(measured.iter().flat_map(Measured::rows));
    Ok(table)
}

/// The task that the reviewer is asked about first.
async fn first_in_queue(hub: Target, key: &Bearer) -> Result<String> {
    let mut connection = Connection::open(hub.address).await?;
    let ask = Request::get("/api/v1/approvals?reviewer=me&limit=1", key);
    let queue: Value = call(&mut connection, &ask).await?;
    let task = queue["items"][0]["task_id"].as_str();
    Ok(task.with_context(|| format!("nothing waits: {queue}"))?.to_owned())
}

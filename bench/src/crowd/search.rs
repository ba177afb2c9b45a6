//! Finding somebody among very many, against `/me` on the same hub.

use anyhow::Result;
use records::Engine;

use super::people::typed;
use super::{CONNECTIONS, Peopled};
use crate::Bench;
use crate::chance::Chance;
use crate::closed_loop::Run;
use crate::figures::{Bar, Row, grouped, ratio};
use crate::http::{Request, load};
use crate::turns::{Side, taken};

const OF_ME_MAX: f64 = 6.0;
/// With so few the answer is late only by the work it takes, not by those who were before it.
const FEW_CONNECTIONS: usize = 4;

pub(crate) fn measure(bench: &Bench, engine: Engine, many: &Peopled, key: &str) -> Result<Vec<Row>> {
    let mut table = Vec::new();
    for (connections, bar) in [(CONNECTIONS, Bar::AtMost(OF_ME_MAX)), (FEW_CONNECTIONS, Bar::None)] {
        table.extend(with(connections, bar, &Searched { bench, engine, many, key })?);
    }
    Ok(table)
}

struct Searched<'a> {
    bench: &'a Bench,
    engine: Engine,
    many: &'a Peopled,
    key: &'a str,
}

fn with(connections: usize, bar: Bar, at: &Searched<'_>) -> Result<Vec<Row>> {
    let Searched { bench, engine, many, key } = *at;
    let accounts = grouped(many.people as f64, 0);
    let headers = format!("authorization: Bearer {key}\r\n");
    let named = |what: &str| format!("{engine}, {what}, {accounts} accounts, {connections} connections");
    let me = Request::get("/api/v1/me", &headers);
    let me = Side::new(named("`/me`"), |turn| {
        let who = (0..connections).map(|_| {
            let me = me.clone();
            move || me.clone()
        });
        bench.runtime.block_on(load(many.hub.target, who, turn))
    });
    let search = Side::new(named("`/accounts?query=`"), |turn| {
        let who = (0..connections).map(|_| {
            let (mut chance, headers, people) = (Chance::fresh(), headers.clone(), many.people);
            move || Request::get(&format!("/api/v1/accounts?query={}", typed(&mut chance, people)), &headers)
        });
        bench.runtime.block_on(load(many.hub.target, who, turn))
    });
    let [me, search] = taken(bench, [me, search])?;
    let of_me = |value: fn(&Run) -> f64| ratio(&search.values(value), &me.values(value));
    let mut table = vec![
        Row::new(named("search ÷ `/me`: p99"), of_me(|run| run.p99_micros), 2).with_bar(bar),
        Row::new(named("search ÷ `/me`: p50"), of_me(|run| run.p50_micros), 2),
    ];
    table.extend(me.rows());
    table.extend(search.rows());
    Ok(table)
}

//! 64 clients, each with a key of its own: take it, give it back, again.

use std::iter::repeat_n;

use anyhow::Result;

use super::countersign::Countersign;
use super::{CLIENTS, Peers, pairs};
use crate::Bench;
use crate::figures::{Bar, Figure, Row, ratio};
use crate::http::{Request, load};
use crate::turns::{Measured, Side, all_taken};

const OF_REDIS_MIN: f64 = 0.8;
const OF_POSTGRES_MIN: f64 = 1.5;
const OF_ETCD_MIN: f64 = 5.0;
const OF_ME_MIN: f64 = 0.6;
/// A pair is two requests.
const REQUESTS: f64 = 2.0;

pub(super) fn measure(bench: &Bench, hub: &Countersign, peers: &Peers) -> Result<Vec<Row>> {
    let me = Request::get("/api/v1/me", hub.bearer(0));
    let mut sides = vec![
        Side::new("own keys, countersign", |turn| pairs(bench, hub, turn)),
        Side::new("own keys, Redis always", |turn| pairs(bench, &peers.redis, turn)),
        Side::new("`GET /me`", move |turn| {
            let me = me.clone();
            bench.runtime.block_on(load(hub.target(), repeat_n(move || me.clone(), CLIENTS), turn))
        }),
        Side::new("own keys, PostgreSQL table", |turn| {
            peers.postgres.clear();
            pairs(bench, &peers.postgres, turn)
        }),
    ];
    if let Some(etcd) = &peers.etcd {
        sides.push(Side::new("own keys, etcd Lock", |turn| pairs(bench, etcd, turn)));
    }
    let measured = all_taken(bench, &sides)?;
    let of = |other: Option<&Measured>, share: f64| match (measured.first(), other) {
        (Some(ours), Some(other)) => {
            let other: Vec<f64> = other.values(rate).iter().map(|rate| rate * share).collect();
            ratio(&ours.values(rate), &other)
        }
        _ => Figure::of([]),
    };
    let mut table = vec![
        Row::new("64 on own keys ÷ Redis always (goal: 1.2)", of(measured.get(1), 1.0), 2)
            .with_bar(Bar::AtLeast(OF_REDIS_MIN)),
        Row::new("64 on own keys ÷ etcd Lock", of(measured.get(4), 1.0), 2)
            .with_bar(Bar::AtLeast(OF_ETCD_MIN)),
        Row::new("64 on own keys ÷ PostgreSQL lock table", of(measured.get(3), 1.0), 2)
            .with_bar(Bar::AtLeast(OF_POSTGRES_MIN)),
        Row::new("64 on own keys ÷ half of `GET /me`", of(measured.get(2), 1.0 / REQUESTS), 2)
            .with_bar(Bar::AtLeast(OF_ME_MIN)),
    ];
    for (place, side) in measured.iter().enumerate() {
        table.extend(side.rows_of(if place == 2 { "request" } else { "pair" }));
    }
    Ok(table)
}

fn rate(run: &crate::closed_loop::Run) -> f64 {
    run.per_second
}

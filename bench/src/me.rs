//! An authenticated request on kept connections, against a bare echo of as many bytes.

use anyhow::Result;

use crate::closed_loop::Run;
use crate::figures::{Bar, Figure, Row, ratio};
use crate::http::{Connection, Request, load};
use crate::programs::Program;
use crate::{Bench, ROUNDS, progress};

const CONNECTIONS: usize = 64;
const OF_ECHO_MIN: f64 = 0.6;
/// Each round is cut into so many turns of either side. Neighbours on the host come and go within seconds, and
/// nothing here has to be made anew between turns.
const TURNS: u32 = 3;

pub(crate) fn measure(bench: &Bench) -> Result<Vec<Row>> {
    let (hub, echo) = (Program::countersign(bench)?, Program::echo(bench)?);
    let ask = Request::get("/api/v1/me", &format!("authorization: Bearer {}\r\n", hub.admin_key()?));
    let body = bench.runtime.block_on(async {
        let mut connection = Connection::open(hub.target.address).await?;
        connection.ask(&ask).await.map(<[u8]>::to_vec)
    })?;
    // What the hub answers is what the echo is given: the same JSON, so the same size.
    let post = Request::post("/echo", std::str::from_utf8(&body)?);
    let (mut ours, mut echoes) = (Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        let (mut mine, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..TURNS {
            let turn = bench.duration / TURNS;
            mine.push(bench.runtime.block_on(load(hub.target, &ask, CONNECTIONS, turn))?);
            theirs.push(bench.runtime.block_on(load(echo.target, &post, CONNECTIONS, turn))?);
        }
        let (one, two) = (Run::mean(&mine), Run::mean(&theirs));
        progress(&format!("  {round}: /me {:.0}, echo {:.0} requests/s", one.per_second, two.per_second));
        ours.push(one);
        echoes.push(two);
    }
    let rates = |runs: &[Run]| runs.iter().map(|run| run.per_second).collect::<Vec<_>>();
    let of_echo = ratio(&rates(&ours), &rates(&echoes));
    let mut table = vec![
        Row::new(format!("GET /api/v1/me ÷ bare axum JSON echo ({} bytes of body)", body.len()), of_echo, 2)
            .with_bar(Bar::AtLeast(OF_ECHO_MIN)),
    ];
    table.extend(rows("GET /api/v1/me", &ours));
    table.extend(rows("echo", &echoes));
    Ok(table)
}

fn rows(server: &str, runs: &[Run]) -> Vec<Row> {
    let figure = |value: fn(&Run) -> f64| Figure::of(runs.iter().map(value));
    vec![
        Row::new(format!("{server}: requests/s"), figure(|run| run.per_second), 0),
        Row::new(format!("{server}: p50, ms"), figure(|run| run.p50_micros / 1e3), 2),
        Row::new(format!("{server}: p99, ms"), figure(|run| run.p99_micros / 1e3), 2),
        Row::new(format!("{server}: CPU µs per request of the server"), figure(|run| run.cpu_micros), 1),
    ]
}

//! An authenticated request on kept connections, against a bare echo of as many bytes.

use std::iter::repeat_n;

use anyhow::Result;

use crate::Bench;
use crate::figures::{Bar, Row, ratio};
use crate::http::{Connection, Request, Target, load};
use crate::programs::Program;
use crate::turns::{Side, taken};

const CONNECTIONS: usize = 64;
const OF_ECHO_MIN: f64 = 0.6;

pub(crate) fn measure(bench: &Bench) -> Result<Vec<Row>> {
    let (hub, echo) = (Program::countersign(bench)?, Program::echo(bench)?);
    let ask = Request::get("/api/v1/me", &format!("authorization: Bearer {}\r\n", hub.admin_key()?));
    let body = bench.runtime.block_on(async {
        let mut connection = Connection::open(hub.target.address).await?;
        connection.ask(&ask).await.map(<[u8]>::to_vec)
    })?;
    // What the hub answers is what the echo is given: the same JSON, so the same size.
    let post = Request::post("/echo", std::str::from_utf8(&body)?);
    let side = |name: &str, target: Target, request: Request| {
        Side::new(name, move |turn| {
            let request = request.clone();
            bench.runtime.block_on(load(target, repeat_n(move || request.clone(), CONNECTIONS), turn))
        })
    };
    let [ours, echoes] =
        taken(bench, [side("GET /api/v1/me", hub.target, ask), side("echo", echo.target, post)])?;
    let of_echo = ratio(&ours.values(|run| run.per_second), &echoes.values(|run| run.per_second));
    let mut table = vec![
        Row::new(format!("GET /api/v1/me ÷ bare axum JSON echo ({} bytes of body)", body.len()), of_echo, 2)
            .with_bar(Bar::AtLeast(OF_ECHO_MIN)),
    ];
    table.extend(ours.rows());
    table.extend(echoes.rows());
    Ok(table)
}

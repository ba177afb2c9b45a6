//! Sockets over restarts of the hub: every event once, in order.

use serde_json::Value;
use testkit::socket::{Said, Socket};
use wire::EventsQuery;

use crate::support::{Home, Kind, Served, mint, until};

/// Reads until the socket has told of everything the hub knows, or has ended.
async fn told_until_end(socket: &mut Socket, told: &mut Vec<i64>) {
    loop {
        match socket.next().await {
            Said::Json(said) if said["type"] == "heartbeat" => {}
            Said::Json(said) => told.push(said["seq"].as_i64().unwrap()),
            Said::Closed(..) | Said::Broken => return,
        }
    }
}

async fn open(served: &Served, since: i64) -> Socket {
    let bearer = format!("Bearer {}", served.admin_key());
    let path = format!("/api/v1/ws?types=audit:sealed&since={since}");
    let opened = Socket::open(&served.url, &path, &[("authorization", &bearer)]).await;
    opened.unwrap_or_else(|refused| panic!("{refused:?}"))
}

async fn survives(kind: Kind) {
    let home = Home::on(kind);
    let mut served = home.serve().await;
    let mut told = Vec::new();
    for ends_well in [true, false, true] {
        let mut socket = open(&served, told.last().copied().unwrap_or(0)).await;
        let reading = async { told_until_end(&mut socket, &mut told).await };
        let ending = async {
            for _ in 0..3 {
                mint(&served.admin(), "news").await;
            }
            match ends_well {
                true => served.process.signal(rustix::process::Signal::TERM),
                false => served.process.signal(rustix::process::Signal::KILL),
            }
        };
        tokio::join!(reading, ending);
        served.process.ended(crate::support::PATIENCE);
        home.forget_crash().await;
        served = home.serve().await;
    }
    mint(&served.admin(), "the last").await;
    let everything =
        EventsQuery { types: Some("audit:sealed".into()), limit: Some(1000), ..EventsQuery::default() };
    until("that everything is sealed", async || {
        home.sql("SELECT count(*) FROM audit_logs WHERE seal_id IS NULL").await[0][0] == "0"
            && home.sql("SELECT count(*) FROM events WHERE seq IS NULL").await[0][0] == "0"
    })
    .await;
    let expected = served.admin().events(&everything).await.unwrap();
    let expected: Vec<i64> = expected.items.iter().map(|event| event.seq.unwrap()).collect();
    let mut socket = open(&served, told.last().copied().unwrap_or(0)).await;
    while told.len() < expected.len() {
        let event: Value = socket.event().await;
        told.push(event["seq"].as_i64().unwrap());
    }
    assert_eq!(told[..expected.len()], expected, "each once and in order");
    served.stop();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_missed_and_nothing_told_twice_on_sqlite() {
    survives(Kind::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_missed_and_nothing_told_twice_on_postgres() {
    survives(Kind::Postgres).await;
}

//! Where it begins, how many there may be, and how slow.

use std::time::{Duration, Instant};

use hub::audit::sealer::seal_all;
use serde_json::{Value, json};
use server::FeedTimes;
use testkit::socket::{Said, Socket};
use testkit::{TestHub, on_each_engine};

use super::{TYPES, begun, happen, open, polled};
use crate::support::{eventually, expect, on_each_engine_with, send, send_any};

async fn refusal(hub: &TestHub, query: &str) -> (u16, Value) {
    let bearer = format!("Bearer {}", hub.admin_key);
    let path = format!("/api/v1/ws{query}");
    let refused = Socket::open(&hub.url(), &path, &[("authorization", &bearer)]).await.err();
    let refused = refused.unwrap_or_else(|| panic!("{query} was opened"));
    (refused.status, refused.problem)
}

#[tokio::test]
async fn a_bad_beginning_is_refused_before_anything_is_opened() {
    on_each_engine(async |hub| {
        for (query, pointer) in [
            ("?since=-1", "/since"),
            ("?since=9007199254740991", "/since"),
            ("?types=nonsense", "/types"),
            ("?types=", "/types"),
        ] {
            let (status, problem) = refusal(&hub, query).await;
            assert_eq!(
                (status, &problem["errors"][0]["pointer"]),
                (422, &json!(pointer)),
                "{query} {problem}"
            );
        }
        for query in ["?since=x", "?since=1.5", "?since=", "?since=1&since=2", "?after=1"] {
            let (status, problem) = refusal(&hub, query).await;
            assert!([400, 422].contains(&status), "{query} {problem}");
        }
        for wrong in ["-1", "x", "1.5", "9007199254740991"] {
            let request = hub.admin("GET", "/api/v1/events/stream").header("last-event-id", wrong);
            send(request).await.problem(422, "VALIDATION_FAILED");
        }
    })
    .await;
}

#[tokio::test]
async fn a_beginning_that_is_gone_says_what_is_left() {
    on_each_engine(async |hub| {
        expect(hub.admin("PATCH", "/api/v1/settings").json(&json!({"events:retention": 60})), 200).await;
        seal_all(&hub.hub).await.unwrap();
        hub.clock.advance(Duration::from_secs(2 * 3600));
        happen(&hub, &hub.admin_key, 1).await;
        eventually("the end of the old events", async || {
            let answer = send_any(hub.admin("GET", "/api/v1/events?after=0")).await;
            (answer.status == 410).then_some(())
        })
        .await;
        let (status, problem) = refusal(&hub, "?since=0").await;
        assert_eq!((status, &problem["code"]), (410, &json!("EVENTS_GONE")));
        let oldest = problem["oldest_seq"].as_i64().unwrap();
        begun(&mut open(&hub, &hub.admin_key, &format!("?since={}", oldest - 1)).await).await;
        let request = hub.admin("GET", "/api/v1/events/stream").header("last-event-id", "0");
        send(request).await.problem(410, "EVENTS_GONE");
    })
    .await;
}

#[tokio::test]
async fn an_account_opens_so_many_and_the_hub_has_room_for_so_many() {
    on_each_engine_with(
        |setup| setup.connections_max = 420,
        async |hub| {
            let mut sockets = Vec::new();
            for _ in 0..200 {
                sockets.push(open(&hub, &hub.admin_key, "?types=task:*").await);
            }
            let (status, problem) = refusal(&hub, "").await;
            assert_eq!((status, &problem["code"]), (429, &json!("RATE_LIMITED")), "{problem}");
            // Half of all connections, so that others get through.
            let ann = hub.member(&hub.admin_key, "ann").await;
            for _ in 0..10 {
                sockets.push(open(&hub, &ann, "?types=task:*").await);
            }
            let stream = hub.request("GET", "/api/v1/events/stream").bearer_auth(&ann);
            send_any(stream).await.problem(503, "OVERLOADED");
            for socket in sockets.drain(..) {
                socket.close().await;
            }
            eventually("room for another", async || {
                let bearer = format!("Bearer {}", hub.admin_key);
                Socket::open(&hub.url(), "/api/v1/ws", &[("authorization", &bearer)]).await.ok()
            })
            .await;
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_reader_is_cut_off_and_resumes() {
    let impatient = FeedTimes { taken_within: Duration::from_millis(300), ..FeedTimes::default() };
    on_each_engine_with(
        |setup| setup.feeds = impatient,
        async |hub| {
            let mut slow = open(&hub, &hub.admin_key, "?types=agent:created&since=0").await;
            let mut quick = open(&hub, &hub.admin_key, &format!("?types={TYPES}")).await;
            let start = begun(&mut quick).await;
            begun(&mut slow).await;
            // More than all buffers on the way hold, while nobody reads.
            hub.append_events(&hub.admin_key, TYPES, 60_000).await;
            eventually("that the slow one is cut off", async || {
                let metrics = send(hub.request("GET", "/metrics")).await.text();
                metrics
                    .contains("countersign_feeds_cut_off_total{kind=\"websocket\",why=\"TOO_SLOW\"}")
                    .then_some(())
            })
            .await;
            happen(&hub, &hub.admin_key, 1).await;
            // What was on its way arrives, then the socket is over; the rest begins where that ended.
            let mut told = Vec::new();
            let end = loop {
                match slow.next().await {
                    Said::Json(said) if said["type"] == "heartbeat" => {}
                    Said::Json(said) => told.push(said["seq"].as_i64().unwrap()),
                    end => break end,
                }
            };
            assert!(matches!(&end, Said::Broken | Said::Closed(4408, _)), "{end:?}");
            let last = told.last().copied().unwrap_or(0);
            let mut again = open(&hub, &hub.admin_key, &format!("?types={TYPES}&since={last}")).await;
            let newest = polled(&hub, &hub.admin_key, start + 60_000, 1).await;
            while told.last() != newest.last() {
                told.push(again.event().await["seq"].as_i64().unwrap());
            }
            assert!(told.is_sorted_by(|one, next| one < next), "nothing twice, and in order");
            assert!(told.len() > 60_000, "nothing missed: {}", told.len());
            quick.close().await;
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_peer_is_noticed() {
    let quick = FeedTimes { alive_every: Duration::from_millis(150), ..FeedTimes::default() };
    on_each_engine_with(
        |setup| setup.feeds = quick,
        async |hub| {
            // It never reads, so it never answers a ping.
            let silent = open(&hub, &hub.admin_key, "?types=task:*").await;
            eventually("that the silent one is noticed", async || {
                let metrics = send(hub.request("GET", "/metrics")).await.text();
                metrics
                    .contains("countersign_feeds_cut_off_total{kind=\"websocket\",why=\"SILENT\"}")
                    .then_some(())
            })
            .await;
            drop(silent);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stopping_says_goodbye() {
    on_each_engine(async |hub| {
        let mut sockets = Vec::new();
        for _ in 0..20 {
            let mut socket = open(&hub, &hub.admin_key, "?types=task:*").await;
            begun(&mut socket).await;
            sockets.push(socket);
        }
        let began = Instant::now();
        hub.hub.lifecycle.announce_stop();
        for socket in &mut sockets {
            assert_eq!(socket.next().await, Said::Closed(1001, "STOPPING".into()));
        }
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    })
    .await;
}

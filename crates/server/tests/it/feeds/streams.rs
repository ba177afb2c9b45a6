//! The same as server-sent events.

use std::time::Duration;

use serde_json::Value;
use server::FeedTimes;
use testkit::reqwest::Response;
use testkit::{TestHub, on_each_engine};

use super::{TYPES, happen, polled};
use crate::support::{eventually, expect, mint, on_each_engine_with, send};

/// A stream, read piece by piece.
struct Stream {
    response: Response,
    unread: String,
}

/// One block of a stream: its id, its event's name, its data.
type Block = (Option<i64>, Option<String>, Option<Value>);

impl Stream {
    async fn open(hub: &TestHub, key: &str, last_event_id: Option<i64>) -> Self {
        let path = format!("/api/v1/events/stream?types={TYPES}");
        // Who can read compressed answers says so; a stream is none.
        let request = hub.request("GET", &path).bearer_auth(key).header("accept-encoding", "gzip");
        let request = match last_event_id {
            Some(id) => request.header("last-event-id", id.to_string()),
            None => request,
        };
        let response = request.send().await.unwrap();
        assert_eq!(response.status().as_u16(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert_eq!(response.headers()["cache-control"], "no-store");
        assert!(response.headers().get("content-encoding").is_none());
        Self { response, unread: String::new() }
    }

    /// The next block; none when the stream has ended.
    async fn block(&mut self) -> Option<Block> {
        loop {
            if let Some((block, rest)) = self.unread.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.unread = rest;
                return Some(read(&block));
            }
            let chunk = tokio::time::timeout(Duration::from_secs(20), self.response.chunk()).await.unwrap();
            match chunk {
                Ok(Some(chunk)) => self.unread.push_str(std::str::from_utf8(&chunk).unwrap()),
                Ok(None) | Err(_) => return None,
            }
        }
    }

    /// The next event.
    async fn event(&mut self) -> (i64, Value) {
        loop {
            let (id, name, data) = self.block().await.unwrap();
            if let Some(data) = data {
                assert_eq!(name, None, "every event is a message");
                return (id.unwrap(), data);
            }
        }
    }
}

fn read(block: &str) -> Block {
    let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
    let id = field("id: ").map(|id| id.parse().unwrap());
    (id, field("event: "), field("data: ").map(|data| serde_json::from_str(&data).unwrap()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_goes_on_where_it_broke_off() {
    on_each_engine(async |hub| {
        let mut stream = Stream::open(&hub, &hub.admin_key, None).await;
        let (start, ..) = stream.block().await.unwrap();
        happen(&hub, &hub.admin_key, 3).await;
        let mut told = Vec::new();
        for _ in 0..2 {
            let (id, event) = stream.event().await;
            assert_eq!(event["seq"].as_i64().unwrap(), id);
            told.push(id);
        }
        drop(stream);
        happen(&hub, &hub.admin_key, 2).await;
        let mut stream = Stream::open(&hub, &hub.admin_key, told.last().copied()).await;
        for _ in 0..3 {
            told.push(stream.event().await.0);
        }
        assert_eq!(told, polled(&hub, &hub.admin_key, start.unwrap(), told.len()).await);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_ends_with_its_credential() {
    on_each_engine(async |hub| {
        let key = mint(&hub, &hub.admin_key, serde_json::json!({"name": "short"})).await;
        let mut stream = Stream::open(&hub, &key.key, None).await;
        stream.block().await.unwrap();
        expect(hub.admin("DELETE", &format!("/api/v1/api-keys/{}", key.id)), 204).await;
        let (_, name, data) = stream.block().await.unwrap();
        assert_eq!((name.as_deref(), data.unwrap()["code"].as_str()), (Some("end"), Some("UNAUTHENTICATED")));
        assert_eq!(stream.block().await, None);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signs_of_life_move_the_place_and_make_no_event() {
    let quick = FeedTimes { alive_every: Duration::from_millis(100), ..FeedTimes::default() };
    on_each_engine_with(
        |setup| setup.feeds = quick,
        async |hub| {
            let mut stream = Stream::open(&hub, &hub.admin_key, None).await;
            let (start, ..) = stream.block().await.unwrap();
            mint(&hub, &hub.admin_key, serde_json::json!({"name": "of another type"})).await;
            loop {
                let (id, name, data) = stream.block().await.unwrap();
                assert_eq!((name, data), (None, None));
                if id > start {
                    break;
                }
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_nobody_reads_is_cut_off() {
    let impatient = FeedTimes { taken_within: Duration::from_millis(300), ..FeedTimes::default() };
    on_each_engine_with(
        |setup| setup.feeds = impatient,
        async |hub| {
            let stream = Stream::open(&hub, &hub.admin_key, Some(0)).await;
            hub.append_events(&hub.admin_key, TYPES, 60_000).await;
            eventually("that it is cut off", async || {
                let metrics = send(hub.request("GET", "/metrics")).await.text();
                let cut = metrics.contains("countersign_feeds_cut_off_total{kind=\"sse\",why=\"TOO_SLOW\"}");
                (cut && metrics.contains("countersign_feeds_open{kind=\"sse\"} 0")).then_some(())
            })
            .await;
            drop(stream);
        },
    )
    .await;
}

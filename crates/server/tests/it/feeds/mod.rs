//! Events as they come: over sockets and streams, from the one log.

mod limits;
mod live;
mod rights;
mod streams;

use std::time::Duration;

use serde_json::{Value, json};
use server::FeedTimes;
use testkit::socket::{Said, Socket};
use testkit::tungstenite::Message;
use testkit::{TestHub, on_each_engine, scaled};

use crate::support::{expect, get, make, on_each_engine_with};

/// What the tests make happen, and listen for.
pub(super) const TYPES: &str = "agent:created";
pub(super) const SILENCE: Duration = Duration::from_millis(300);

/// Opens a socket with a key.
pub(super) async fn open(hub: &TestHub, key: &str, query: &str) -> Socket {
    let bearer = format!("Bearer {key}");
    let socket = Socket::open(&hub.url(), &format!("/api/v1/ws{query}"), &[("authorization", &bearer)]).await;
    socket.unwrap_or_else(|refused| panic!("{refused:?}"))
}

/// The first thing a socket says: where it begins.
pub(super) async fn begun(socket: &mut Socket) -> i64 {
    let Said::Json(first) = socket.next().await else { panic!("no beginning") };
    assert_eq!((&first["type"], &first["message"]), (&json!("heartbeat"), &json!("open")), "{first}");
    first["last_seq"].as_i64().unwrap()
}

/// Makes events of [`TYPES`], one after the other.
pub(super) async fn happen(hub: &TestHub, key: &str, count: usize) {
    for _ in 0..count {
        let name = format!("agent {}", hub.hub.ids.fresh());
        make(hub, key, "/api/v1/agents", json!({"name": name})).await;
    }
}

/// The numbers of all such events, as polling finds them: at least so many, which on PostgreSQL get their numbers a
/// moment after they were answered.
pub(super) async fn polled(hub: &TestHub, key: &str, after: i64, count: usize) -> Vec<i64> {
    let mut found = Vec::new();
    loop {
        let from = found.last().copied().unwrap_or(after);
        let wait = if found.len() < count { 10 } else { 0 };
        let path = format!("/api/v1/events?types={TYPES}&after={from}&limit=1000&wait_seconds={wait}");
        let page = get(hub, key, &path).await;
        let items = page["items"].as_array().unwrap();
        if items.is_empty() {
            assert!(found.len() >= count, "{count} happened, and polling finds {found:?}");
            return found;
        }
        found.extend(items.iter().map(|event| event["seq"].as_i64().unwrap()));
    }
}

pub(super) async fn numbers(socket: &mut Socket, count: usize) -> Vec<i64> {
    let mut numbers = Vec::new();
    for _ in 0..count {
        numbers.push(socket.event().await["seq"].as_i64().unwrap());
    }
    numbers
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_socket_is_told_what_polling_finds_and_goes_on_where_it_broke_off() {
    on_each_engine(async |hub| {
        let mut socket = open(&hub, &hub.admin_key, &format!("?types={TYPES}")).await;
        let start = begun(&mut socket).await;
        happen(&hub, &hub.admin_key, 3).await;
        let event = socket.event().await;
        let first = get(&hub, &hub.admin_key, &format!("/api/v1/events?types={TYPES}&after={start}")).await;
        assert_eq!(event, first["items"][0], "the same object, word for word");
        let mut told = vec![event["seq"].as_i64().unwrap()];
        told.extend(numbers(&mut socket, 2).await);
        socket.close().await;

        // Nobody listens, and then somebody does who begins where the first one ended.
        happen(&hub, &hub.admin_key, 4).await;
        let since = format!("?types={TYPES}&since={}", told.last().unwrap());
        let mut socket = open(&hub, &hub.admin_key, &since).await;
        assert_eq!(begun(&mut socket).await, *told.last().unwrap());
        happen(&hub, &hub.admin_key, 2).await;
        told.extend(numbers(&mut socket, 6).await);
        assert!(socket.is_silent(SILENCE).await, "nothing twice");
        assert_eq!(told, polled(&hub, &hub.admin_key, start, 9).await);
        // From the very beginning, which memory does not reach.
        let all = polled(&hub, &hub.admin_key, 0, 9).await;
        let mut socket = open(&hub, &hub.admin_key, &format!("?types={TYPES}&since=0")).await;
        assert_eq!(numbers(&mut socket, all.len()).await, all);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_falls_behind_what_is_in_memory_misses_nothing() {
    on_each_engine(async |hub| {
        let mut idle = open(&hub, &hub.admin_key, &format!("?types={TYPES}")).await;
        let start = begun(&mut idle).await;
        // Nobody reads it; another one comes and goes with each event, which makes the tail begin anew.
        for _ in 0..3 {
            happen(&hub, &hub.admin_key, 2).await;
            let mut other = open(&hub, &hub.admin_key, &format!("?types={TYPES}&since={start}")).await;
            assert!(other.event().await["seq"].as_i64().unwrap() > start);
            other.close().await;
        }
        let expected = polled(&hub, &hub.admin_key, start, 6).await;
        assert_eq!(numbers(&mut idle, 6).await, expected);
    })
    .await;
}

#[tokio::test]
async fn what_is_live_only_is_told_without_a_number() {
    on_each_engine(async |hub| {
        let mut everything = open(&hub, &hub.admin_key, "?types=lock:*").await;
        let mut tasks = open(&hub, &hub.admin_key, "?types=task:*").await;
        let theirs = hub.tenant("other").await;
        let mut others = open(&hub, &theirs, "?types=lock:*").await;
        for socket in [&mut everything, &mut tasks, &mut others] {
            begun(socket).await;
        }
        let body = json!({"key": "resource:database:prod"});
        expect(hub.admin("POST", "/api/v1/locks/acquire").json(&body), 200).await;
        let event = everything.event().await;
        assert_eq!((&event["type"], &event["seq"]), (&json!("lock:acquired"), &Value::Null));
        assert!(tasks.is_silent(SILENCE).await && others.is_silent(SILENCE).await);
    })
    .await;
}

#[tokio::test]
async fn a_socket_answers_ping_and_understands_nothing_else() {
    on_each_engine(async |hub| {
        let mut socket = open(&hub, &hub.admin_key, "").await;
        begun(&mut socket).await;
        socket.say(Message::text("ping")).await;
        loop {
            let Said::Json(said) = socket.next().await else { panic!("no answer") };
            if said["type"] == "heartbeat" && said["message"] == "pong" {
                assert_eq!(said, json!({"type": "heartbeat", "message": "pong"}));
                break;
            }
        }
        for wrong in [Message::text("PING"), Message::text("{}"), Message::binary(vec![1_u8])] {
            let mut socket = open(&hub, &hub.admin_key, "?types=task:*").await;
            begun(&mut socket).await;
            socket.say(wrong).await;
            assert_eq!(socket.next().await, Said::Closed(1003, "VALIDATION_FAILED".into()));
        }
        // Too large to be read at all, and too many.
        let mut socket = open(&hub, &hub.admin_key, "?types=task:*").await;
        begun(&mut socket).await;
        socket.say(Message::text("p".repeat(4096))).await;
        assert!(matches!(socket.next().await, Said::Closed(..) | Said::Broken));
        let mut socket = open(&hub, &hub.admin_key, "?types=task:*").await;
        begun(&mut socket).await;
        for _ in 0..101 {
            socket.say(Message::text("ping")).await;
        }
        loop {
            match socket.next().await {
                Said::Json(_) => {}
                other => break assert_eq!(other, Said::Closed(4429, "RATE_LIMITED".into())),
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signs_of_life_say_how_far_the_log_was_searched() {
    let quick = FeedTimes { alive_every: Duration::from_millis(200), ..FeedTimes::default() };
    on_each_engine_with(
        |setup| setup.feeds = quick,
        async |hub| {
            let mut socket = open(&hub, &hub.admin_key, "?types=task:*").await;
            let start = begun(&mut socket).await;
            // Of another type: the socket is not told, and yet it need not search that again.
            happen(&hub, &hub.admin_key, 1).await;
            let happened = polled(&hub, &hub.admin_key, start, 1).await;
            loop {
                let Said::Json(alive) = socket.next().await else { panic!("no sign of life") };
                assert_eq!(alive["message"], "alive", "{alive}");
                if alive["last_seq"].as_i64().unwrap() >= happened[0] {
                    break;
                }
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_sockets_are_told_the_same() {
    on_each_engine(async |hub| {
        let mut keys = Vec::new();
        for name in ["ann", "bob", "cid", "dan", "eve", "fay"] {
            keys.push(hub.member(&hub.admin_key, name).await);
        }
        let mut sockets = Vec::new();
        for number in 0..scaled(1000) {
            let mut socket = open(&hub, &keys[number % keys.len()], &format!("?types={TYPES}")).await;
            begun(&mut socket).await;
            sockets.push(socket);
        }
        happen(&hub, &hub.admin_key, 5).await;
        let expected = polled(&hub, &hub.admin_key, 0, 5).await;
        for socket in &mut sockets {
            assert_eq!(numbers(socket, 5).await, expected);
        }
    })
    .await;
}

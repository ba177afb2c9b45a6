//! The event log: read in order, waited for without holding anything, forgotten in time.

use std::time::{Duration, Instant};

use axum::body::{Body, to_bytes};
use axum::http::Request;
use hub::audit::sealer::seal_all;
use serde_json::{Value, json};
use testkit::{TestHub, on_each_engine};
use tokio::task::JoinSet;
use tower::ServiceExt;

use crate::backdoor::Backdoor;
use crate::support::{eventually, expect, get, mint, refused, send_any};

/// Does something on record and seals it, which is an event.
async fn happen(hub: &TestHub, key: &str) {
    mint(hub, key, json!({"name": "something happened"})).await;
    seal_all(&hub.hub).await.unwrap();
}

fn items(page: &Value) -> &[Value] {
    page["items"].as_array().unwrap()
}

/// Everything up to now, when nothing more is on its way, and the number to continue from.
async fn seen(hub: &TestHub, key: &str) -> (Vec<Value>, i64) {
    let backdoor = Backdoor::open(hub).await;
    eventually("silence", async || {
        let unsealed = backdoor.count("audit_logs WHERE seal_id IS NULL").await;
        // On PostgreSQL a number comes a moment after its event.
        let unnumbered = backdoor.count("events WHERE seq IS NULL").await;
        (unsealed == 0 && unnumbered == 0).then_some(())
    })
    .await;
    let page = get(hub, key, "/api/v1/events?limit=1000").await;
    assert!(!items(&page).is_empty());
    (items(&page).to_vec(), page["last_seq"].as_i64().unwrap())
}

#[tokio::test]
async fn the_log_is_read_in_order_and_in_pieces() {
    on_each_engine(async |hub| {
        for _ in 0..4 {
            happen(&hub, &hub.admin_key).await;
        }
        let (whole, last_seq) = seen(&hub, &hub.admin_key).await;
        let numbers: Vec<i64> = whole.iter().map(|event| event["seq"].as_i64().unwrap()).collect();
        assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
        assert!(last_seq >= *numbers.last().unwrap());
        let event = whole.last().unwrap();
        assert_eq!(event["type"], "audit:sealed");
        assert_eq!(event["source"], "sealer");
        assert_eq!(event["subject"]["type"], "audit_seal");
        assert_eq!(event["payload"]["hash"].as_str().unwrap().len(), 64);
        let mut pieces = Vec::new();
        let mut after = 0;
        while pieces.len() < whole.len() {
            let page = get(&hub, &hub.admin_key, &format!("/api/v1/events?after={after}&limit=2")).await;
            assert!(!items(&page).is_empty() && items(&page).len() <= 2);
            pieces.extend(items(&page).to_vec());
            after = page["last_seq"].as_i64().unwrap();
        }
        assert_eq!(pieces, whole);
        let wanted = get(&hub, &hub.admin_key, "/api/v1/events?types=task:*,audit:sealed&limit=1000").await;
        assert_eq!(items(&wanted), whole);
        // Nothing of the type, but the log was searched to its end.
        let unwanted = get(&hub, &hub.admin_key, "/api/v1/events?types=task:created").await;
        assert_eq!((items(&unwanted).len(), &unwanted["last_seq"]), (0, &json!(last_seq)));
        let beyond = get(&hub, &hub.admin_key, &format!("/api/v1/events?after={}", i64::MAX)).await;
        assert_eq!(items(&beyond).len(), 0);
    })
    .await;
}

#[tokio::test]
async fn tenants_do_not_see_each_others_events() {
    on_each_engine(async |hub| {
        let theirs = hub.tenant("other").await;
        for key in [&hub.admin_key, &theirs, &hub.admin_key] {
            happen(&hub, key).await;
        }
        let (ours, our_end) = seen(&hub, &hub.admin_key).await;
        let (others, their_end) = seen(&hub, &theirs).await;
        let organization = get(&hub, &theirs, "/api/v1/me").await["organization"]["id"].clone();
        let chains = |events: &[Value]| -> Vec<Value> {
            events.iter().map(|event| event["payload"]["chain"].clone()).collect()
        };
        assert!(chains(&others).iter().all(|chain| *chain == organization), "{others:?}");
        assert!(chains(&ours).iter().all(|chain| *chain != organization), "{ours:?}");
        // The instance's own events are for instance admins.
        assert!(chains(&ours).contains(&json!("instance")) && !chains(&others).contains(&json!("instance")));
        // Both have searched the same log.
        let page = get(&hub, &theirs, &format!("/api/v1/events?after={their_end}")).await;
        assert_eq!(items(&page).len(), 0);
        assert!(page["last_seq"].as_i64().unwrap() >= our_end, "{page}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiting_reader_is_woken_at_once() {
    on_each_engine(async |hub| {
        let (_, mut after) = seen(&hub, &hub.admin_key).await;
        for _ in 0..3 {
            let path = format!("/api/v1/events?after={after}&wait_seconds=40");
            let woken = async {
                let page = get(&hub, &hub.admin_key, &path).await;
                (page, hub.hub.clock.now())
            };
            let ((page, at), ()) = tokio::join!(woken, happen(&hub, &hub.admin_key));
            let event = items(&page).first().expect("an event");
            let occurred: domain::Timestamp = event["occurred_at"].as_str().unwrap().parse().unwrap();
            assert!(at.since(occurred) < Duration::from_secs(1), "{:?}", at.since(occurred));
            after = page["last_seq"].as_i64().unwrap();
        }
        // Another tenant's event wakes nobody here: the wait ends empty, and not early.
        let theirs = hub.tenant("other").await;
        after = seen(&hub, &hub.admin_key).await.1;
        let begun = Instant::now();
        let path = format!("/api/v1/events?after={after}&wait_seconds=2");
        let (page, ()) = tokio::join!(get(&hub, &hub.admin_key, &path), happen(&hub, &theirs));
        assert_eq!(items(&page).len(), 0, "{page}");
        assert!(begun.elapsed() >= Duration::from_millis(1900), "{:?}", begun.elapsed());
    })
    .await;
}

/// Waits without a socket of its own, so that hundreds fit into the test's process. Who looks whether there is room
/// (`too_many_wait`) takes a place for a moment, so whoever finds none asks again.
fn wait_inside(hub: &TestHub, key: &str, after: i64, waiting: &mut JoinSet<Value>) {
    let options = server::Options { docs: false, ..server::Options::local(([127, 0, 0, 1], 0).into()) };
    let router = server::router(hub.hub.clone(), options);
    let key = format!("Bearer {key}");
    waiting.spawn(async move {
        loop {
            let request = Request::get(format!("/api/v1/events?after={after}&wait_seconds=50"))
                .header("authorization", &key)
                .body(Body::empty())
                .unwrap();
            let response = router.clone().oneshot(request).await.unwrap();
            let status = response.status();
            let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
            if status == 200 {
                return serde_json::from_slice(&body).unwrap();
            }
            assert_eq!(status, 429);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
}

const WAITING_PER_ACCOUNT: usize = 200;

/// Ready when nobody else of the account may wait.
async fn too_many_wait(hub: &TestHub, key: &str, after: i64) {
    let path = format!("/api/v1/events?after={after}&wait_seconds=1");
    eventually("the end of the queue", async || {
        let answer = send_any(hub.request("GET", &path).bearer_auth(key)).await;
        (answer.status == 429).then(|| answer.problem(429, "RATE_LIMITED"))
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_hundred_who_wait_hold_nothing() {
    on_each_engine(async |hub| {
        let [ann, bob] = [hub.member(&hub.admin_key, "ann").await, hub.member(&hub.admin_key, "bob").await];
        seal_all(&hub.hub).await.unwrap();
        let after = seen(&hub, &hub.admin_key).await.1;
        let mut waiting = JoinSet::new();
        for (key, count) in [(&ann, WAITING_PER_ACCOUNT), (&bob, WAITING_PER_ACCOUNT), (&hub.admin_key, 100)]
        {
            (0..count).for_each(|_| wait_inside(&hub, key, after, &mut waiting));
        }
        // One account may not take all the room there is; its refusal also tells us that its readers are there.
        for key in [&ann, &bob] {
            too_many_wait(&hub, key, after).await;
        }
        assert_eq!(waiting.len(), 500);
        assert!(waiting.try_join_next().is_none(), "somebody did not wait");
        let begun = Instant::now();
        for _ in 0..20 {
            // Each needs the database, and reads that do not wait are not counted.
            expect(hub.admin("GET", "/api/v1/api-keys"), 200).await;
            expect(hub.request("GET", "/api/v1/events").bearer_auth(&ann), 200).await;
        }
        expect(hub.admin("PATCH", "/api/v1/settings").json(&json!({"lock:max_ttl": 301})), 200).await;
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
        happen(&hub, &hub.admin_key).await;
        let woken = tokio::time::timeout(Duration::from_secs(20), waiting.join_all()).await.unwrap();
        assert!(woken.iter().all(|page| !items(page).is_empty()), "somebody woke for nothing");
    })
    .await;
}

/// Whoever hangs up makes room for others.
#[tokio::test]
async fn who_hangs_up_no_longer_waits() {
    on_each_engine(async |hub| {
        let after = seen(&hub, &hub.admin_key).await.1;
        let mut waiting = JoinSet::new();
        (0..WAITING_PER_ACCOUNT).for_each(|_| wait_inside(&hub, &hub.admin_key, after, &mut waiting));
        too_many_wait(&hub, &hub.admin_key, after).await;
        waiting.shutdown().await;
        expect(hub.admin("GET", &format!("/api/v1/events?after={after}&wait_seconds=1")), 200).await;
    })
    .await;
}

#[tokio::test]
async fn what_is_too_old_is_gone() {
    on_each_engine(async |hub| {
        let theirs = hub.tenant("other").await;
        let retention = json!({"events:retention": 60});
        expect(hub.admin("PATCH", "/api/v1/settings").json(&retention), 200).await;
        for key in [&hub.admin_key, &theirs, &hub.admin_key] {
            happen(&hub, key).await;
        }
        let before = seen(&hub, &hub.admin_key).await.0;
        let others = seen(&hub, &theirs).await.0;
        hub.clock.advance(Duration::from_secs(2 * 3600));
        happen(&hub, &hub.admin_key).await;
        // The job comes by once an hour; the hub's own runner does it.
        let gone = eventually("the end of the old events", async || {
            let answer = send_any(hub.admin("GET", "/api/v1/events?after=0")).await;
            (answer.status == 410).then(|| answer.problem(410, "EVENTS_GONE"))
        })
        .await;
        let oldest = gone["oldest_seq"].as_i64().unwrap();
        // The job may have come before or after the last event; either way the log begins behind one that is gone.
        let number = |event: &Value| event["seq"].as_i64().unwrap();
        let own = |event: &&Value| event["payload"]["chain"] != "instance";
        assert!(before.iter().filter(own).any(|event| number(event) == oldest - 1), "{oldest} {before:?}");
        // From there on everything is there, and who does not say where begins with what is left.
        let expected: Vec<&Value> =
            before.iter().filter(own).filter(|event| number(event) >= oldest).collect();
        let rest = get(&hub, &hub.admin_key, &format!("/api/v1/events?after={}", oldest - 1)).await;
        assert!(expected.iter().all(|event| items(&rest).contains(event)), "{rest}");
        assert!(!items(&rest).is_empty());
        let all = get(&hub, &hub.admin_key, "/api/v1/events").await;
        assert!(items(&all).iter().filter(own).all(|event| number(event) >= oldest), "{all}");
        let path = format!("/api/v1/events?after={}&wait_seconds=5", oldest - 2);
        refused(hub.admin("GET", &path), 410, "EVENTS_GONE").await;
        // The other tenant keeps its events for a month.
        assert_eq!(items(&get(&hub, &theirs, "/api/v1/events?after=0").await), others);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stopping_answers_everybody_who_waits() {
    on_each_engine(async |hub| {
        let after = seen(&hub, &hub.admin_key).await.1;
        let mut waiting = JoinSet::new();
        (1..WAITING_PER_ACCOUNT).for_each(|_| wait_inside(&hub, &hub.admin_key, after, &mut waiting));
        let path = format!("/api/v1/events?after={after}&wait_seconds=50");
        // The last place is taken over HTTP; when there is none left, everybody is there.
        let last = eventually("the last place", async || {
            let answer = send_any(hub.admin("GET", &path)).await;
            (answer.status == 200).then(|| answer.json())
        });
        let stop = async {
            too_many_wait(&hub, &hub.admin_key, after).await;
            hub.hub.lifecycle.announce_stop();
            Instant::now()
        };
        let (page, stopped) = tokio::join!(last, stop);
        let mut pages = waiting.join_all().await;
        assert!(stopped.elapsed() < Duration::from_secs(3), "{:?}", stopped.elapsed());
        pages.push(page);
        for page in pages {
            // What the end of the wait would have answered.
            assert_eq!((items(&page).len(), page["last_seq"].as_i64()), (0, Some(after)));
        }
    })
    .await;
}

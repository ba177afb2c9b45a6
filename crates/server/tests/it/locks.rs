//! Locks, as a client meets them.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::reqwest::RequestBuilder;
use testkit::{TestHub, on_each_engine};

use crate::agents::agent;
use crate::support::{Answer, eventually, expect, get, mint, pointers, refused, send, send_any};
use crate::world::set_status;

pub(crate) fn post(hub: &TestHub, key: &str, what: &str, body: &Value) -> RequestBuilder {
    hub.request("POST", &format!("/api/v1/locks/{what}")).bearer_auth(key).json(body)
}

pub(crate) async fn acquired(hub: &TestHub, key: &str, body: Value) -> Value {
    expect(post(hub, key, "acquire", &body), 200).await.json()
}

/// Asks in the background.
pub(crate) fn asks(hub: &TestHub, key: &str, body: &Value) -> tokio::task::JoinHandle<Answer> {
    on_its_way(post(hub, key, "acquire", body))
}

fn on_its_way(request: RequestBuilder) -> tokio::task::JoinHandle<Answer> {
    #[expect(clippy::disallowed_methods, reason = "a test waits for its own tasks")]
    tokio::spawn(send_any(request))
}

pub(crate) async fn stand_in_line(hub: &TestHub, key: &str, count: usize) {
    let path = format!("/api/v1/locks/queue?key={key}");
    eventually("a line", async || {
        let line = get(hub, &hub.admin_key, &path).await;
        (line["waiters"].as_array().unwrap().len() == count).then_some(())
    })
    .await;
}

pub(crate) async fn logged(hub: &TestHub, event_type: &str) -> Vec<Value> {
    let path = format!("/api/v1/events?types={event_type}");
    get(hub, &hub.admin_key, &path).await["items"].as_array().unwrap().clone()
}

pub(crate) const KEY: &str = "resource:database:prod";

#[tokio::test]
async fn a_lock_is_taken_kept_and_given_back() {
    on_each_engine(async |hub| {
        let (ann, bob) = (hub.member(&hub.admin_key, "ann").await, hub.member(&hub.admin_key, "bob").await);
        let lock = acquired(&hub, &ann, json!({"key": KEY, "mode": "exclusive", "purpose": "index"})).await;
        assert_eq!(
            (&lock["ttl_seconds"], &lock["purpose"], &lock["owner"]),
            (&json!(30), &json!("index"), &lock["agent_id"])
        );
        assert!(lock["fencing_token"].as_u64().unwrap() > 1 << 32);
        let held = refused(post(&hub, &bob, "acquire", &json!({"key": KEY})), 423, "LOCK_HELD").await;
        assert_eq!((&held["holders"][0]["lock_id"], &held["queue_length"]), (&lock["lock_id"], &json!(0)));
        let again = refused(post(&hub, &ann, "acquire", &json!({"key": KEY})), 409, "ALREADY_HELD").await;
        assert_eq!(again["lock_id"], lock["lock_id"]);
        let mine = json!({"lock_id": lock["lock_id"]});
        refused(post(&hub, &bob, "heartbeat", &mine), 409, "NOT_HOLDER").await;
        let beat = json!({"lock_id": lock["lock_id"], "timestamp": 1.5, "ttl_extension": 60});
        let heard = expect(post(&hub, &ann, "heartbeat", &beat), 200).await.json();
        assert_eq!(heard["heartbeat_count"], json!(1));
        assert!(heard["expires_at"].as_str() > lock["expires_at"].as_str());
        let token = json!({"key": KEY, "fencing_token": lock["fencing_token"]});
        let current = |answer: Answer| answer.json()["current"].as_bool().unwrap();
        assert!(current(expect(post(&hub, &bob, "validate", &token), 200).await));
        refused(post(&hub, &bob, "release", &mine), 409, "NOT_HOLDER").await;
        let released = expect(post(&hub, &ann, "release", &mine), 200).await.json();
        assert_eq!(released, json!({"released": true}));
        refused(post(&hub, &ann, "release", &mine), 409, "LOCK_EXPIRED").await;
        assert!(!current(expect(post(&hub, &bob, "validate", &token), 200).await));
        let next = acquired(&hub, &bob, json!({"key": KEY})).await;
        assert!(next["fencing_token"].as_u64() > lock["fencing_token"].as_u64());
        let list = get(&hub, &ann, "/api/v1/locks?resource_type=database").await;
        assert_eq!(list["items"][0]["lock_id"], next["lock_id"]);
        assert_eq!(get(&hub, &ann, "/api/v1/locks?key=resource:other:x").await["items"], json!([]));
    })
    .await;
}

#[tokio::test]
async fn what_is_not_right_is_refused_with_its_place() {
    on_each_engine(async |hub| {
        let owner = &hub.admin_key;
        for (body, pointer) in [
            (json!({"key": "nonsense"}), "/key"),
            (json!({"key": ""}), "/key"),
            (json!({"key": KEY, "ttl_seconds": 0}), "/ttl_seconds"),
            (json!({"key": KEY, "ttl_seconds": 301}), "/ttl_seconds"),
            (json!({"key": KEY, "ttl_seconds": 1.5}), "/ttl_seconds"),
            (json!({"key": KEY, "wait_seconds": 61}), "/wait_seconds"),
            (json!({"key": KEY, "wait_seconds": 1, "queue": true}), "/wait_seconds"),
            (json!({"key": KEY, "mode": "both"}), "/mode"),
            (json!({"key": KEY, "owner": ""}), "/owner"),
            (json!({"key": KEY, "request_id": "x".repeat(129)}), "/request_id"),
            (json!({"key": KEY, "purpose": "\u{1b}"}), "/purpose"),
            (json!({"key": KEY, "nonsense": 1}), "/nonsense"),
        ] {
            let problem = refused(post(&hub, owner, "acquire", &body), 422, "VALIDATION_FAILED").await;
            assert!(pointers(&problem)[0] == pointer || pointer == "/nonsense", "{body}: {problem}");
        }
        let many = json!({"keys": [{"key": KEY}, {"key": "x"}]});
        let problem = refused(post(&hub, owner, "acquire-many", &many), 422, "VALIDATION_FAILED").await;
        assert_eq!(pointers(&problem), ["/keys/1/key"]);
        refused(post(&hub, owner, "acquire-many", &json!({"keys": []})), 422, "VALIDATION_FAILED").await;
        refused(post(&hub, owner, "acquire", &json!({"key": "task:1"})), 403, "FORBIDDEN").await;
        let reason = json!({"key": KEY, "reason": ""});
        refused(post(&hub, owner, "force-release", &reason), 422, "VALIDATION_FAILED").await;
        assert_eq!(get(&hub, owner, "/api/v1/locks").await["items"], json!([]), "nothing was taken");
    })
    .await;
}

#[tokio::test]
async fn an_agents_locks_are_its_own_and_its_owners_to_take() {
    on_each_engine(async |hub| {
        let owner = hub.member_with(&hub.admin_key, "ann", &["author"]).await;
        let agent = agent(&hub, &owner, "worker").await;
        let key = mint(&hub, &owner, json!({"name": "its own", "account_id": agent["id"]})).await.key;
        let body = |name: &str| json!({"key": format!("resource:a:{name}"), "agent_id": agent["id"], "ttl_seconds": 300});
        acquired(&hub, &key, body("x")).await;
        acquired(&hub, &owner, body("y")).await;
        refused(post(&hub, &hub.admin_key, "acquire", &body("z")), 403, "FORBIDDEN").await;
        let stranger = hub.tenant("other").await;
        refused(post(&hub, &stranger, "acquire", &body("z")), 404, "NOT_FOUND").await;
        let path = format!("/api/v1/locks?agent_id={}", agent["id"].as_str().unwrap());
        assert_eq!(get(&hub, &owner, &path).await["items"].as_array().unwrap().len(), 2);
        let waits = asks(&hub, &hub.admin_key, &json!({"key": "resource:a:x", "wait_seconds": 60}));
        stand_in_line(&hub, "resource:a:x", 1).await;
        // A retired agent holds nothing, and those who waited for it go on.
        let retire = hub.request("DELETE", &format!("/api/v1/agents/{}", agent["id"].as_str().unwrap()));
        expect(retire.bearer_auth(&owner), 204).await;
        assert_eq!(waits.await.unwrap().status, 200);
        assert_eq!(get(&hub, &owner, &path).await["items"], json!([]));
        refused(post(&hub, &owner, "acquire", &body("y")), 403, "FORBIDDEN").await;
    })
    .await;
}

#[tokio::test]
async fn a_suspended_account_loses_its_locks_and_its_place() {
    on_each_engine(async |hub| {
        let sue = hub.member(&hub.admin_key, "sue").await;
        acquired(&hub, &sue, json!({"key": "resource:a:x", "ttl_seconds": 300})).await;
        acquired(&hub, &hub.admin_key, json!({"key": "resource:a:y", "ttl_seconds": 300})).await;
        let waits = asks(&hub, &sue, &json!({"key": "resource:a:y", "wait_seconds": 60}));
        stand_in_line(&hub, "resource:a:y", 1).await;
        let me = get(&hub, &sue, "/api/v1/me").await;
        set_status(&hub, &hub.admin_key, me["account"]["id"].as_str().unwrap(), "suspended").await;
        assert!(waits.await.unwrap().status.is_client_error());
        acquired(&hub, &hub.admin_key, json!({"key": "resource:a:x"})).await;
        stand_in_line(&hub, "resource:a:y", 0).await;
    })
    .await;
}

#[tokio::test]
async fn a_key_that_is_revoked_takes_only_what_it_waited_for() {
    on_each_engine(async |hub| {
        let sue = hub.member(&hub.admin_key, "sue").await;
        let other = mint(&hub, &sue, json!({"name": "other"})).await;
        let kept = acquired(&hub, &sue, json!({"key": "resource:a:x", "ttl_seconds": 300})).await;
        let held = acquired(&hub, &hub.admin_key, json!({"key": "resource:a:y"})).await;
        let waits = asks(&hub, &other.key, &json!({"key": "resource:a:y", "wait_seconds": 60}));
        stand_in_line(&hub, "resource:a:y", 1).await;
        let revoke = hub.request("DELETE", &format!("/api/v1/api-keys/{}", other.id));
        expect(revoke.bearer_auth(&sue), 204).await;
        expect(post(&hub, &hub.admin_key, "release", &json!({"lock_id": held["lock_id"]})), 200).await;
        assert!(waits.await.unwrap().status.is_client_error());
        expect(post(&hub, &sue, "heartbeat", &json!({"lock_id": kept["lock_id"]})), 200).await;
        let free = get(&hub, &sue, "/api/v1/locks/queue?key=resource:a:y").await;
        assert_eq!((&free["holders"], &free["waiters"]), (&json!([]), &json!([])));
    })
    .await;
}

#[tokio::test]
async fn a_key_that_is_revoked_gives_back_nothing_that_another_request_has_taken() {
    on_each_engine(async |hub| {
        let sue = hub.member(&hub.admin_key, "sue").await;
        let other = mint(&hub, &sue, json!({"name": "other"})).await;
        let many = |names: &[&str]| {
            let keys: Vec<Value> =
                names.iter().map(|name| json!({"key": format!("resource:a:{name}")})).collect();
            json!({"keys": keys, "request_id": "r", "ttl_seconds": 300, "wait_seconds": 60})
        };
        let first = expect(post(&hub, &sue, "acquire-many", &many(&["x"])), 200).await.json();
        let held = acquired(&hub, &hub.admin_key, json!({"key": "resource:a:y"})).await;
        let waits = on_its_way(post(&hub, &other.key, "acquire-many", &many(&["x", "y"])));
        stand_in_line(&hub, "resource:a:y", 1).await;
        let revoke = hub.request("DELETE", &format!("/api/v1/api-keys/{}", other.id));
        expect(revoke.bearer_auth(&sue), 204).await;
        expect(post(&hub, &hub.admin_key, "release", &json!({"lock_id": held["lock_id"]})), 200).await;
        assert!(waits.await.unwrap().status.is_client_error());
        let free = get(&hub, &sue, "/api/v1/locks/queue?key=resource:a:y").await;
        assert_eq!((&free["holders"], &free["waiters"]), (&json!([]), &json!([])));
        expect(post(&hub, &sue, "heartbeat", &json!({"lock_id": first["locks"][0]["lock_id"]})), 200).await;
    })
    .await;
}

#[tokio::test]
async fn waiting_tickets_and_hanging_up() {
    on_each_engine(async |hub| {
        let (ann, bob) = (hub.member(&hub.admin_key, "ann").await, hub.member(&hub.admin_key, "bob").await);
        let lock = acquired(&hub, &ann, json!({"key": KEY})).await;
        let short = json!({"key": KEY, "wait_seconds": 1});
        refused(post(&hub, &bob, "acquire", &short), 423, "LOCK_WAIT_TIMEOUT").await;
        let gone = asks(&hub, &bob, &json!({"key": KEY, "wait_seconds": 60}));
        stand_in_line(&hub, KEY, 1).await;
        gone.abort();
        stand_in_line(&hub, KEY, 0).await;
        let ticket =
            expect(post(&hub, &bob, "acquire", &json!({"key": KEY, "queue": true})), 202).await.json();
        assert_eq!(ticket["position"], json!(1));
        let place = format!("/api/v1/locks/tickets/{}", ticket["ticket_id"].as_str().unwrap());
        let waiting = get(&hub, &ann, &place).await;
        assert_eq!(
            (&waiting["status"], &waiting["position"], &waiting["lock"]),
            (&json!("waiting"), &json!(1), &Value::Null)
        );
        refused(hub.request("DELETE", &place).bearer_auth(&ann), 403, "FORBIDDEN").await;
        expect(post(&hub, &ann, "release", &json!({"lock_id": lock["lock_id"]})), 200).await;
        let granted = get(&hub, &bob, &place).await;
        assert_eq!(granted["status"], json!("granted"));
        let told = eventually("the promotion", async || logged(&hub, "lock:promoted").await.pop()).await;
        assert_eq!(told["payload"]["ticket_id"], ticket["ticket_id"]);
        assert_eq!(told["payload"]["fencing_token"], granted["lock"]["fencing_token"]);
        let second =
            expect(post(&hub, &ann, "acquire", &json!({"key": KEY, "queue": true})), 202).await.json();
        let place = format!("/api/v1/locks/tickets/{}", second["ticket_id"].as_str().unwrap());
        let left = expect(hub.request("DELETE", &place).bearer_auth(&ann), 200).await.json();
        assert_eq!(left["status"], json!("cancelled"));
    })
    .await;
}

#[tokio::test]
async fn a_deadlock_is_told_to_the_youngest_and_put_on_record() {
    on_each_engine(async |hub| {
        let (ann, bob) = (hub.member(&hub.admin_key, "ann").await, hub.member(&hub.admin_key, "bob").await);
        acquired(&hub, &ann, json!({"key": "resource:a:x"})).await;
        let lost = acquired(&hub, &bob, json!({"key": "resource:a:y"})).await;
        let waits = asks(&hub, &ann, &json!({"key": "resource:a:y", "wait_seconds": 60}));
        stand_in_line(&hub, "resource:a:y", 1).await;
        let graph = get(&hub, &ann, "/api/v1/locks/graph").await;
        assert_eq!((graph["nodes"].as_array().unwrap().len(), &graph["cycles"]), (2, &json!([])));
        assert_eq!(graph["edges"][0]["key"], json!("resource:a:y"));
        let closing = json!({"key": "resource:a:x", "wait_seconds": 60});
        let problem = refused(post(&hub, &bob, "acquire", &closing), 423, "DEADLOCK_DETECTED").await;
        assert_eq!(problem["cycle"].as_array().unwrap().len(), 2);
        assert_eq!(problem["cycle"][0]["blocker"], problem["cycle"][1]["waiter"]);
        assert_eq!(waits.await.unwrap().status, 200, "the older one goes on");
        refused(post(&hub, &bob, "heartbeat", &json!({"lock_id": lost["lock_id"]})), 409, "LOCK_EXPIRED")
            .await;
        let told = eventually("the deadlock", async || logged(&hub, "lock:deadlock").await.pop()).await;
        assert_eq!((&told["payload"]["agent_id"], &told["actor"]), (&lost["agent_id"], &Value::Null));
        let rows = get(&hub, &hub.admin_key, "/api/v1/audit?action=lock:deadlock").await;
        assert_eq!(rows["items"].as_array().unwrap().len(), 1);
        // Switched off, nobody loses: both wait until their time is over.
        let off = json!({"feature:deadlock_detection": "disabled"});
        expect(hub.admin("PATCH", "/api/v1/settings").json(&off), 200).await;
        acquired(&hub, &bob, json!({"key": "resource:a:z"})).await;
        let waits = asks(&hub, &ann, &json!({"key": "resource:a:z", "wait_seconds": 2}));
        stand_in_line(&hub, "resource:a:z", 1).await;
        let closing = json!({"key": "resource:a:x", "wait_seconds": 1});
        refused(post(&hub, &bob, "acquire", &closing), 423, "LOCK_WAIT_TIMEOUT").await;
        waits.await.unwrap().problem(423, "LOCK_WAIT_TIMEOUT");
        // Switched on again, what was closed meanwhile is broken.
        let waits = asks(&hub, &ann, &json!({"key": "resource:a:z", "wait_seconds": 60}));
        stand_in_line(&hub, "resource:a:z", 1).await;
        expect(post(&hub, &bob, "acquire", &json!({"key": "resource:a:x", "queue": true})), 202).await;
        let graph = get(&hub, &ann, "/api/v1/locks/graph").await;
        assert_eq!(graph["cycles"].as_array().unwrap().len(), 1);
        let on = json!({"feature:deadlock_detection": "enabled"});
        expect(hub.admin("PATCH", "/api/v1/settings").json(&on), 200).await;
        // At once, not when somebody looks again.
        let answer = tokio::time::timeout(Duration::from_secs(10), waits).await.unwrap();
        assert_eq!(answer.unwrap().status, 200);
    })
    .await;
}

#[tokio::test]
async fn an_admin_ends_a_lock_on_record() {
    on_each_engine(async |hub| {
        let ann = hub.member(&hub.admin_key, "ann").await;
        let lock = acquired(&hub, &ann, json!({"key": KEY})).await;
        let body = json!({"key": KEY, "reason": "stuck"});
        refused(post(&hub, &ann, "force-release", &body), 403, "FORBIDDEN").await;
        let ended = expect(post(&hub, &hub.admin_key, "force-release", &body), 200).await.json();
        assert_eq!(ended["locks"][0]["lock_id"], lock["lock_id"]);
        refused(post(&hub, &ann, "heartbeat", &json!({"lock_id": lock["lock_id"]})), 409, "LOCK_EXPIRED")
            .await;
        let rows = get(&hub, &hub.admin_key, "/api/v1/audit?action=lock:force_released").await;
        assert_eq!(
            (&rows["items"][0]["reason"], &rows["items"][0]["subject"]["id"]),
            (&json!("stuck"), &json!(KEY))
        );
        let told = eventually("the event", async || logged(&hub, "lock:force_released").await.pop()).await;
        assert_eq!(told["payload"]["holders"][0]["lock_id"], lock["lock_id"]);
    })
    .await;
}

#[tokio::test]
async fn several_at_once_or_none() {
    on_each_engine(async |hub| {
        let ann = hub.member(&hub.admin_key, "ann").await;
        let keys = |names: &[&str]| -> Value {
            names.iter().map(|name| json!({"key": format!("resource:a:{name}")})).collect()
        };
        let all =
            expect(post(&hub, &ann, "acquire-many", &json!({"keys": keys(&["y", "x"])})), 200).await.json();
        assert_eq!(all["locks"][0]["key"], json!("resource:a:x"));
        let held = json!({"keys": keys(&["w", "x"])});
        refused(post(&hub, &hub.admin_key, "acquire-many", &held), 423, "LOCK_HELD").await;
        acquired(&hub, &ann, json!({"key": "resource:a:w"})).await;
    })
    .await;
}

#[tokio::test]
async fn stopping_answers_those_who_wait() {
    on_each_engine(async |hub| {
        let ann = hub.member(&hub.admin_key, "ann").await;
        acquired(&hub, &ann, json!({"key": KEY})).await;
        let waits = asks(&hub, &hub.admin_key, &json!({"key": KEY, "wait_seconds": 60}));
        stand_in_line(&hub, KEY, 1).await;
        hub.hub.lifecycle.announce_stop();
        let answer = tokio::time::timeout(Duration::from_secs(5), waits).await.unwrap().unwrap();
        answer.problem(423, "LOCK_WAIT_TIMEOUT");
    })
    .await;
}

#[tokio::test]
async fn what_is_live_only_is_heard_by_who_listens() {
    on_each_engine(async |hub| {
        let mut live = hub.hub.coordination.live.listen();
        let lock = acquired(&hub, &hub.admin_key, json!({"key": KEY})).await;
        expect(post(&hub, &hub.admin_key, "release", &json!({"lock_id": lock["lock_id"]})), 200).await;
        for expected in ["lock:acquired", "lock:released"] {
            let event = tokio::time::timeout(Duration::from_secs(5), live.recv()).await.unwrap().unwrap();
            assert_eq!((event.event_type.as_str(), event.seq), (expected, None));
            assert_eq!(event.payload["lock_id"], lock["lock_id"]);
        }
        assert_eq!(logged(&hub, "lock:*").await, Vec::<Value>::new());
        let metrics = send(hub.request("GET", "/metrics")).await.text();
        assert!(metrics.contains("countersign_locks_held 0"), "{metrics}");
    })
    .await;
}

//! Whether an agent is there: heartbeats, silence, draining, the end.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::reqwest::RequestBuilder;
use testkit::{TestHub, on_each_engine};

use crate::agents::{agent, eventually_told, one, patch, told};
use crate::backdoor::Backdoor;
use crate::support::{author, eventually, expect, get, id, mint, pointers, refused};

fn post(hub: &TestHub, key: &str, agent: &Value, tail: &str, body: &Value) -> RequestBuilder {
    hub.request("POST", &format!("{}/{tail}", one(agent))).bearer_auth(key).json(body)
}

async fn beat(hub: &TestHub, key: &str, agent: &Value) -> Value {
    expect(post(hub, key, agent, "heartbeat", &json!({})), 200).await.json()
}

async fn status(hub: &TestHub, key: &str, agent: &Value) -> String {
    get(hub, key, &one(agent)).await["status"].as_str().unwrap().to_owned()
}

async fn key_of(hub: &TestHub, owner: &str, agent: &Value) -> String {
    mint(hub, owner, json!({"name": "its own", "account_id": agent["id"]})).await.key
}

#[tokio::test]
async fn a_heartbeat_is_cheap_and_tells_the_agent_its_state() {
    on_each_engine(async |hub| {
        let agent = agent(&hub, &hub.admin_key, "a").await;
        let key = key_of(&hub, &hub.admin_key, &agent).await;
        let state = beat(&hub, &key, &agent).await;
        let expected = json!({"status": "active", "max_tasks": 1, "active_tasks": 0, "queued_tasks": 0,
                              "heartbeat_interval_seconds": 10});
        assert_eq!(state, expected);
        let online = vec!["agent:created".to_owned(), "agent:online".to_owned()];
        assert_eq!(eventually_told(&hub, &agent, 2).await.1, online);
        let first = get(&hub, &hub.admin_key, &one(&agent)).await;
        let backdoor = Backdoor::open(&hub).await;
        let rows = backdoor.count("audit_logs").await;
        let events = backdoor.count("events WHERE type LIKE 'agent:%'").await;
        let epoch = hub.hub.records.signals().identity_epoch();
        hub.clock.advance(Duration::from_secs(5));
        for _ in 0..5 {
            beat(&hub, &key, &agent).await;
        }
        let later = get(&hub, &hub.admin_key, &one(&agent)).await;
        assert!(later["last_heartbeat"].as_str() > first["last_heartbeat"].as_str());
        assert_eq!(backdoor.count("audit_logs").await, rows, "no audit row");
        assert_eq!(backdoor.count("events WHERE type LIKE 'agent:%'").await, events, "no event");
        assert_eq!(hub.hub.records.signals().identity_epoch(), epoch, "no cache is emptied");
    })
    .await;
}

#[tokio::test]
async fn an_agent_says_so_itself_with_any_key_or_its_owner_does() {
    on_each_engine(async |hub| {
        let (ann, bob) = (author(&hub, "ann").await, author(&hub, "bob").await);
        let (agent, other) = (agent(&hub, &ann.key, "a").await, agent(&hub, &ann.key, "b").await);
        let narrow = json!({"name": "narrow", "account_id": agent["id"], "scopes": ["events:read"]});
        let narrow = mint(&hub, &ann.key, narrow).await.key;
        beat(&hub, &narrow, &agent).await;
        beat(&hub, &ann.key, &agent).await;
        for stranger in [&bob.key, &hub.admin_key, &key_of(&hub, &ann.key, &other).await] {
            refused(post(&hub, stranger, &agent, "heartbeat", &json!({})), 403, "FORBIDDEN").await;
        }
    })
    .await;
}

#[tokio::test]
async fn what_an_agent_says_of_itself_is_kept_and_bounded() {
    on_each_engine(async |hub| {
        let agent = agent(&hub, &hub.admin_key, "a").await;
        let key = key_of(&hub, &hub.admin_key, &agent).await;
        let say = |body: Value| post(&hub, &key, &agent, "heartbeat", &body);
        let health = json!({"load": 0.25, "disk": {"free": 7}});
        expect(say(json!({"health": health})), 200).await;
        expect(say(json!({})), 200).await;
        assert_eq!(get(&hub, &hub.admin_key, &one(&agent)).await["health"], health);
        let cases = [
            (json!({"health": []}), "/health"),
            (json!({"health": null}), "/health"),
            (json!({"health": {"k": "x".repeat(16 * 1024)}}), "/health"),
            (json!({"status": "fine"}), "/status"),
        ];
        for (body, pointer) in cases {
            assert_eq!(pointers(&refused(say(body), 422, "VALIDATION_FAILED").await), [pointer]);
        }
        expect(say(json!({"health": {"k": "x".repeat(16 * 1024 - 8)}})), 200).await;
    })
    .await;
}

#[tokio::test]
async fn silence_is_noticed_and_its_end_too() {
    on_each_engine(async |hub| {
        let (quiet, lively) =
            (agent(&hub, &hub.admin_key, "q").await, agent(&hub, &hub.admin_key, "l").await);
        let retired = agent(&hub, &hub.admin_key, "r").await;
        for agent in [&quiet, &lively, &retired] {
            beat(&hub, &hub.admin_key, agent).await;
        }
        expect(hub.admin("DELETE", &one(&retired)), 204).await;
        hub.clock.advance(Duration::from_secs(20));
        beat(&hub, &hub.admin_key, &lively).await;
        hub.clock.advance(Duration::from_secs(11));
        eventually("the silence to be noticed", async || {
            (status(&hub, &hub.admin_key, &quiet).await == "offline").then_some(())
        })
        .await;
        assert_eq!(status(&hub, &hub.admin_key, &lively).await, "active", "heard 11 s ago");
        let (_, types) = eventually_told(&hub, &quiet, 3).await;
        assert_eq!(types, ["agent:created", "agent:online", "agent:offline"]);
        let events = get(&hub, &hub.admin_key, "/api/v1/events?types=agent:offline").await;
        assert_eq!(events["items"].as_array().unwrap().len(), 1, "{events}");
        assert_eq!(
            (&events["items"][0]["actor"], &events["items"][0]["source"]),
            (&Value::Null, &json!("system"))
        );
        assert_eq!(beat(&hub, &hub.admin_key, &quiet).await["status"], "active");
        assert_eq!(eventually_told(&hub, &quiet, 4).await.1[3], "agent:online");
        assert!(
            told(&hub, &quiet).await.0.iter().all(|action| action == "agent:created"),
            "nobody decided it"
        );
    })
    .await;
}

#[tokio::test]
async fn how_long_is_silence_is_the_organizations_to_say() {
    on_each_engine(async |hub| {
        let theirs = hub.tenant("other").await;
        let slow = json!({"lock:heartbeat_interval": 60, "lock:default_ttl": 120});
        expect(hub.request("PATCH", "/api/v1/settings").bearer_auth(&theirs).json(&slow), 200).await;
        let (ours, slow) = (agent(&hub, &hub.admin_key, "a").await, agent(&hub, &theirs, "a").await);
        beat(&hub, &hub.admin_key, &ours).await;
        assert_eq!(beat(&hub, &theirs, &slow).await["heartbeat_interval_seconds"], 60);
        let gone = async |key: &str, agent: &Value| {
            eventually("the silence to be noticed", async || {
                (status(&hub, key, agent).await == "offline").then_some(())
            })
            .await;
        };
        hub.clock.advance(Duration::from_secs(100));
        gone(&hub.admin_key, &ours).await;
        assert_eq!(status(&hub, &theirs, &slow).await, "active");
        hub.clock.advance(Duration::from_secs(81));
        gone(&theirs, &slow).await;
    })
    .await;
}

#[tokio::test]
async fn an_agent_may_have_enough_but_others_decide_when_it_goes_on() {
    on_each_engine(async |hub| {
        let ann = author(&hub, "ann").await;
        let agent = agent(&hub, &ann.key, "a").await;
        let key = key_of(&hub, &ann.key, &agent).await;
        beat(&hub, &key, &agent).await;
        let say = |who: &str, tail: &str| post(&hub, who, &agent, tail, &json!({}));
        for who in [&key, &ann.key, &hub.admin_key] {
            let drained = expect(say(who, "drain"), 200).await;
            assert_eq!(drained.json()["status"], "draining");
            let tag = expect(hub.request("GET", &one(&agent)).bearer_auth(&ann.key), 200).await;
            if who != &key {
                assert_eq!(drained.header("etag"), tag.header("etag"));
            }
        }
        assert_eq!(beat(&hub, &key, &agent).await["status"], "draining", "a heartbeat does not resume it");
        refused(say(&key, "resume"), 403, "FORBIDDEN").await;
        for who in [&ann.key, &hub.admin_key] {
            assert_eq!(expect(say(who, "resume"), 200).await.json()["status"], "active");
        }
        let (actions, events) = eventually_told(&hub, &agent, 4).await;
        assert_eq!(actions, ["agent:created", "agent:draining", "agent:resumed"], "once each");
        assert_eq!(events, ["agent:created", "agent:online", "agent:draining", "agent:resumed"]);
    })
    .await;
}

#[tokio::test]
async fn a_retired_agent_is_over_but_not_forgotten() {
    on_each_engine(async |hub| {
        let ann = author(&hub, "ann").await;
        let agent = agent(&hub, &ann.key, "a").await;
        let keys = [key_of(&hub, &ann.key, &agent).await, key_of(&hub, &ann.key, &agent).await];
        beat(&hub, &keys[0], &agent).await;
        for who in [&ann.key, &ann.key, &hub.admin_key] {
            expect(hub.request("DELETE", &one(&agent)).bearer_auth(who), 204).await;
        }
        for key in &keys {
            refused(hub.request("GET", "/api/v1/me").bearer_auth(key), 401, "UNAUTHENTICATED").await;
        }
        let read = get(&hub, &ann.key, &one(&agent)).await;
        assert!(read["deactivated_at"].is_string());
        assert_eq!(read["status"], "offline");
        let backdoor = Backdoor::open(&hub).await;
        let of = format!("owner_id = '{}'", id(&agent));
        assert_eq!(backdoor.count(&format!("api_keys WHERE {of} AND revoked_at IS NULL")).await, 0);
        assert_eq!(backdoor.count(&format!("api_keys WHERE {of} AND enabled = false")).await, 2);
        let account = format!("accounts WHERE id = '{}' AND status = 'deactivated'", id(&agent));
        assert_eq!(backdoor.count(&account).await, 1);
        for tail in ["heartbeat", "drain", "resume"] {
            let problem = refused(post(&hub, &ann.key, &agent, tail, &json!({})), 409, "INVALID_STATE").await;
            assert_eq!(problem["state"], "deactivated");
        }
        refused(patch(&hub, &ann.key, &agent, &json!({"name": "b"})), 409, "INVALID_STATE").await;
        let (actions, events) = eventually_told(&hub, &agent, 3).await;
        assert_eq!(actions, ["agent:created", "agent:deactivated"]);
        assert_eq!(events, ["agent:created", "agent:online", "agent:deactivated"]);
    })
    .await;
}

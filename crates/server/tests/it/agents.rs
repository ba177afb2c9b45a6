//! Agents: made with an account, one name once, versions, and who may change what.

use futures_util::future::join_all;
use serde_json::{Value, json};
use testkit::reqwest::RequestBuilder;
use testkit::{TestHub, on_each_engine};

use crate::backdoor::Backdoor;
use crate::support::{all_items, author, expect, get, id, make, mint, pointers, refused, send};

pub(crate) const PATH: &str = "/api/v1/agents";

pub(crate) fn one(agent: &Value) -> String {
    format!("{PATH}/{}", id(agent))
}

pub(crate) async fn agent(hub: &TestHub, key: &str, name: &str) -> Value {
    make(hub, key, PATH, json!({"name": name})).await
}

pub(crate) fn patch(hub: &TestHub, key: &str, agent: &Value, body: &Value) -> RequestBuilder {
    hub.request("PATCH", &one(agent)).bearer_auth(key).json(body)
}

/// Audit actions and event types about an agent, oldest first.
pub(crate) async fn told(hub: &TestHub, agent: &Value) -> (Vec<String>, Vec<String>) {
    let rows = all_items(hub, &hub.admin_key, "/api/v1/audit").await;
    let about = |thing: &&Value| thing["subject"] == json!({"type": "agent", "id": agent["id"]});
    let actions = rows.iter().rev().filter(about).map(|row| row["action"].as_str().unwrap().to_owned());
    let events = get(hub, &hub.admin_key, "/api/v1/events?types=agent:*&limit=1000").await;
    let events = events["items"].as_array().unwrap().clone();
    let types = events.iter().filter(about).map(|event| event["type"].as_str().unwrap().to_owned());
    (actions.collect(), types.collect())
}

#[tokio::test]
async fn an_agent_is_made_with_an_account_of_its_own() {
    on_each_engine(async |hub| {
        let ann = author(&hub, "ann").await;
        let body = json!({
            "name": "deployer", "description": "deploys\nthings", "model": "m-1", "role_name": "operator",
            "max_tasks": 10, "labels": {"region": "eu", "0": "zero"}, "config": {"deep": [1, {"a": null}]},
        });
        let made = expect(hub.request("POST", PATH).bearer_auth(&ann.key).json(&body), 201).await;
        let agent = made.json();
        assert_eq!(made.header("location"), Some(one(&agent).as_str()));
        for (field, value) in body.as_object().unwrap() {
            assert_eq!(agent[field], *value, "{field}");
        }
        assert_eq!(agent["owner_id"], json!(ann.id));
        assert_eq!(agent["status"], "offline", "it has not been heard");
        assert_eq!((&agent["active_tasks"], &agent["queued_tasks"]), (&json!(0), &json!(0)));
        for field in ["last_heartbeat", "health", "deactivated_at"] {
            assert_eq!(agent[field], Value::Null, "{field}");
        }
        assert_eq!(get(&hub, &ann.key, &one(&agent)).await, agent);
        let plain = self::agent(&hub, &ann.key, "plain").await;
        assert_eq!((&plain["max_tasks"], &plain["description"]), (&json!(1), &json!("")));
        assert_eq!((&plain["labels"], &plain["config"]), (&json!({}), &json!({})));
        // The account behind it.
        let key = mint(&hub, &ann.key, json!({"name": "k", "account_id": agent["id"]})).await;
        let me = get(&hub, &key.key, "/api/v1/me").await;
        assert_eq!(me["account"]["id"], agent["id"]);
        assert_eq!(me["account"]["email"], format!("agent-{}@countersign.invalid", id(&agent)));
        assert_eq!(me["account"]["display_name"], "deployer");
        assert_eq!(me["account"]["access_level"], "service");
        let backdoor = Backdoor::open(&hub).await;
        let home = format!("accounts WHERE id = '{}' AND home_org_id IS NOT NULL", id(&agent));
        assert_eq!(backdoor.count(&home).await, 1);
        let (actions, events) = eventually_told(&hub, &agent, 1).await;
        assert_eq!((actions, events), (vec!["agent:created".to_owned()], vec!["agent:created".to_owned()]));
    })
    .await;
}

/// On PostgreSQL an event has its number a moment later.
pub(crate) async fn eventually_told(
    hub: &TestHub,
    agent: &Value,
    events: usize,
) -> (Vec<String>, Vec<String>) {
    crate::support::eventually("the events", async || {
        let told = told(hub, agent).await;
        (told.1.len() >= events).then_some(told)
    })
    .await
}

#[tokio::test]
async fn events_hold_ids_and_states_only() {
    on_each_engine(async |hub| {
        let body = json!({"name": "n-secret", "description": "d-secret", "config": {"c": "c-secret"},
                          "labels": {"l": "l-secret"}});
        let agent = make(&hub, &hub.admin_key, PATH, body).await;
        expect(patch(&hub, &hub.admin_key, &agent, &json!({"config": {"c": "c2-secret"}})), 200).await;
        eventually_told(&hub, &agent, 2).await;
        let events = get(&hub, &hub.admin_key, "/api/v1/events?types=agent:*").await.to_string();
        assert!(!events.contains("secret"), "{events}");
        let audit = serde_json::to_string(&all_items(&hub, &hub.admin_key, "/api/v1/audit").await).unwrap();
        assert!(!audit.contains("c-secret") && !audit.contains("c2-secret"), "{audit}");
    })
    .await;
}

#[tokio::test]
async fn a_name_is_taken_once_among_the_active() {
    on_each_engine(async |hub| {
        for round in 0..3 {
            let body = json!({"name": format!("racer {round}")});
            let answers = join_all((0..6).map(|_| send(hub.admin("POST", PATH).json(&body)))).await;
            let made = answers.iter().filter(|answer| answer.status.as_u16() == 201).count();
            assert_eq!(made, 1);
            for answer in answers.iter().filter(|answer| answer.status.as_u16() != 201) {
                let detail = answer.problem(409, "CONFLICT")["detail"].as_str().unwrap().to_owned();
                assert!(detail.contains("name") && detail.contains("`racer"), "{detail}");
            }
        }
        let (first, other) =
            (agent(&hub, &hub.admin_key, "first").await, agent(&hub, &hub.admin_key, "other").await);
        refused(patch(&hub, &hub.admin_key, &other, &json!({"name": "first"})), 409, "CONFLICT").await;
        let accounts = Backdoor::open(&hub).await.count("accounts").await;
        refused(hub.admin("POST", PATH).json(&json!({"name": "first"})), 409, "CONFLICT").await;
        assert_eq!(Backdoor::open(&hub).await.count("accounts").await, accounts, "nothing is left of it");
        agent(&hub, &hub.tenant("other").await, "first").await;
        expect(hub.admin("DELETE", &one(&first)), 204).await;
        agent(&hub, &hub.admin_key, "first").await;
    })
    .await;
}

#[tokio::test]
async fn wrong_fields_are_pointed_at() {
    on_each_engine(async |hub| {
        let agent = agent(&hub, &hub.admin_key, "a").await;
        let many: serde_json::Map<String, Value> =
            (0..51).map(|number| (format!("k{number}"), json!("v"))).collect();
        let named = |name: &str, value: Value| (json!({"name": "b", name: value}), format!("/{name}"));
        let cases = [
            (json!({"name": ""}), "/name".to_owned()),
            (json!({"name": "x".repeat(201)}), "/name".to_owned()),
            (json!({"name": "a\u{7}"}), "/name".to_owned()),
            named("description", json!("x".repeat(4097))),
            named("model", json!("")),
            named("role_name", json!("x".repeat(201))),
            named("max_tasks", json!(0)),
            named("max_tasks", json!(1001)),
            named("max_tasks", json!("1")),
            named("max_tasks", json!(1.5)),
            named("labels", Value::Object(many)),
            named("labels", json!([])),
            (json!({"name": "b", "labels": {"A": "x"}}), "/labels/A".to_owned()),
            (json!({"name": "b", "labels": {"a/b": "x".repeat(257)}}), "/labels/a~1b".to_owned()),
            (json!({"name": "b", "labels": {"a.b": 7}}), "/labels/a.b".to_owned()),
            named("config", json!([1])),
            named("config", json!({"k": "x".repeat(65_536)})),
            named("owner", json!("x")),
        ];
        for (body, pointer) in &cases {
            for request in [hub.admin("POST", PATH).json(body), patch(&hub, &hub.admin_key, &agent, body)] {
                let problem = refused(request, 422, "VALIDATION_FAILED").await;
                assert_eq!(pointers(&problem), [pointer.as_str()], "{problem}");
            }
        }
        let body = json!({"owner_id": hub.hub.ids.fresh(), "name": "c"});
        let problem = refused(hub.admin("POST", PATH).json(&body), 422, "VALIDATION_FAILED").await;
        assert_eq!(pointers(&problem), ["/owner_id"], "only the caller becomes the owner");
        for field in ["name", "description", "max_tasks", "labels", "config", "owner_id"] {
            let request = patch(&hub, &hub.admin_key, &agent, &json!({field: null}));
            refused(request, 422, "VALIDATION_FAILED").await;
        }
        assert_eq!(get(&hub, &hub.admin_key, &one(&agent)).await, agent);
    })
    .await;
}

#[tokio::test]
async fn a_change_is_a_version_and_a_heartbeat_is_none() {
    on_each_engine(async |hub| {
        let agent = agent(&hub, &hub.admin_key, "a").await;
        let tag =
            async || expect(hub.admin("GET", &one(&agent)), 200).await.header("etag").unwrap().to_owned();
        let first = tag().await;
        let beat = format!("{}/heartbeat", one(&agent));
        expect(hub.admin("POST", &beat).json(&json!({"health": {"load": 1}})), 200).await;
        assert_eq!(tag().await, first, "a heartbeat is no new version");
        let change = |body: Value, tag: &str| {
            patch(&hub, &hub.admin_key, &agent, &body).header("if-match", tag.to_owned())
        };
        let changed = expect(change(json!({"model": "m", "labels": {"a": "b"}}), &first), 200).await;
        assert_eq!(changed.json()["model"], "m");
        let second = tag().await;
        assert_eq!(changed.header("etag"), Some(second.as_str()));
        assert_ne!(second, first);
        refused(change(json!({"model": "n"}), &first), 412, "PRECONDITION_FAILED").await;
        let configured = expect(change(json!({"config": {"x": 1.5}, "model": null}), &second), 200).await;
        assert_eq!(configured.json()["model"], Value::Null);
        assert_eq!(configured.header("etag"), Some(tag().await.as_str()));
        assert_ne!(tag().await, second);
        let before = told(&hub, &agent).await.0.len();
        expect(patch(&hub, &hub.admin_key, &agent, &json!({"config": {"x": 1.5}})), 200).await;
        assert_eq!(told(&hub, &agent).await.0.len(), before, "nothing changed, so nothing is on record");
        for round in 0..3 {
            let tag = tag().await;
            let changes =
                (0..6).map(|number| send(change(json!({"description": format!("{round} {number}")}), &tag)));
            let statuses: Vec<u16> =
                join_all(changes).await.iter().map(|answer| answer.status.as_u16()).collect();
            assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
            assert_eq!(statuses.iter().filter(|status| **status == 412).count(), 5, "{statuses:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn config_is_for_its_owner_and_admins() {
    on_each_engine(async |hub| {
        let (ann, bob) = (author(&hub, "ann").await, author(&hub, "bob").await);
        let config = json!({"token_file": "/run/secret"});
        let agent = make(&hub, &ann.key, PATH, json!({"name": "a", "config": config})).await;
        let itself = mint(
            &hub,
            &ann.key,
            json!({"name": "k", "account_id": agent["id"],
                                                 "scopes": ["agents:read"]}),
        )
        .await;
        let mut tags = Vec::new();
        for (who, expected) in [
            (&ann.key, &config),
            (&hub.admin_key, &config),
            (&bob.key, &Value::Null),
            (&itself.key, &Value::Null),
        ] {
            let read = expect(hub.request("GET", &one(&agent)).bearer_auth(who), 200).await;
            assert_eq!(read.json()["config"], *expected);
            assert_eq!(get(&hub, who, PATH).await["items"][0]["config"], *expected);
            tags.push(read.header("etag").unwrap().to_owned());
        }
        assert_eq!((&tags[0], &tags[2]), (&tags[1], &tags[3]));
        assert_ne!(tags[0], tags[2], "a hash over what one may not see would answer guesses");
    })
    .await;
}

#[tokio::test]
async fn renaming_renames_the_account_and_what_it_is_found_by() {
    on_each_engine(async |hub| {
        let agent = agent(&hub, &hub.admin_key, "Old Name").await;
        let key = mint(&hub, &hub.admin_key, json!({"name": "k", "account_id": agent["id"]})).await;
        expect(patch(&hub, &hub.admin_key, &agent, &json!({"name": "Fresh Name"})), 200).await;
        let me = get(&hub, &key.key, "/api/v1/me").await;
        assert_eq!(me["account"]["display_name"], "Fresh Name", "at once, whatever is cached");
        let backdoor = Backdoor::open(&hub).await;
        let found = |name: &str| {
            format!(
                "directory_entries WHERE account_id = '{}' AND name = {}",
                id(&agent),
                backdoor.bytes(name.as_bytes())
            )
        };
        assert_eq!(backdoor.count(&found("fresh name")).await, 1);
        assert_eq!(backdoor.count(&found("old name")).await, 0);
    })
    .await;
}

#[tokio::test]
async fn the_same_request_makes_one_agent() {
    on_each_engine(async |hub| {
        let body = json!({"name": "once", "config": {"a": 1}});
        let ask = || hub.admin("POST", PATH).header("idempotency-key", "k").json(&body);
        let first = expect(ask(), 201).await;
        assert_eq!(expect(ask(), 201).await.json(), first.json());
        let other = hub.admin("POST", PATH).header("idempotency-key", "k").json(&json!({"name": "twice"}));
        refused(other, 422, "IDEMPOTENCY_MISMATCH").await;
        assert_eq!(Backdoor::open(&hub).await.count("agents").await, 1);
    })
    .await;
}

#[tokio::test]
async fn lists_are_filtered_and_paged() {
    on_each_engine(async |hub| {
        let ann = author(&hub, "ann").await;
        let mut expected = Vec::new();
        for number in 0..5 {
            let labels =
                json!({"region": if number % 2 == 0 { "eu" } else { "us" }, "a.b/c-d_0": "x:y", "0": "n"});
            let body = json!({"name": format!("agent {number}"), "labels": labels});
            expected.insert(0, make(&hub, &ann.key, PATH, body).await);
        }
        let other = agent(&hub, &hub.admin_key, "other").await;
        expect(hub.admin("POST", &format!("{}/heartbeat", one(&other))).json(&json!({})), 200).await;
        let names = async |query: &str| -> Vec<String> {
            let items = all_items(&hub, &ann.key, &format!("{PATH}?{query}")).await;
            items.iter().map(|agent| agent["name"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(names(&format!("owner_id={}", ann.id)).await.len(), 5);
        assert_eq!(names("label=region:eu").await, ["agent 4", "agent 2", "agent 0"]);
        assert_eq!(names("label=region:").await.len(), 0);
        assert_eq!(names("label=a.b%2Fc-d_0:x:y").await.len(), 5);
        assert_eq!(names("label=0:n").await.len(), 5);
        assert_eq!(names("label=0:zero").await.len(), 0);
        assert_eq!(names("status=active").await, ["other"]);
        assert_eq!(names("status=offline&label=region:us").await, ["agent 3", "agent 1"]);
        expect(hub.admin("POST", &format!("{}/drain", one(&other))), 200).await;
        assert_eq!(names("status=draining").await, ["other"]);
        assert_eq!(names("status=active").await.len(), 0);
        expect(hub.admin("DELETE", &one(&other)), 204).await;
        assert_eq!(names("status=draining").await.len(), 0);
        assert_eq!(names("").await.len(), 5);
        assert_eq!(names("include_deactivated=true").await[0], "other");
        assert_eq!(names("include_deactivated=true&status=offline").await.len(), 6);
        let page = get(&hub, &ann.key, &format!("{PATH}?limit=3&status=offline")).await;
        let cursor = page["next_cursor"].as_str().unwrap();
        let rest = get(&hub, &ann.key, &format!("{PATH}?limit=3&status=offline&cursor={cursor}")).await;
        let both = [&page, &rest].map(|page| page["items"].as_array().unwrap().clone()).concat();
        assert_eq!(both, expected);
        for (query, pointer) in [
            (format!("cursor={cursor}"), "/cursor"),
            (format!("status=offline&include_deactivated=true&cursor={cursor}"), "/cursor"),
            ("status=asleep".to_owned(), "/status"),
            ("label=region".to_owned(), "/label"),
            ("label=Region:eu".to_owned(), "/label"),
            ("label=region:%00".to_owned(), "/label"),
            ("owner_id=me".to_owned(), "/owner_id"),
            ("include_deactivated=yes".to_owned(), "/include_deactivated"),
            ("name=a".to_owned(), "/name"),
        ] {
            let request = hub.admin("GET", &format!("{PATH}?{query}"));
            assert_eq!(pointers(&refused(request, 422, "VALIDATION_FAILED").await), [pointer], "{query}");
        }
    })
    .await;
}

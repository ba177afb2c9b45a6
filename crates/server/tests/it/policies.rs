//! Policies: versions that stay, a default that stays, and nothing stored that could not be kept.

use serde_json::{Value, json};
use testkit::reqwest::RequestBuilder;
use testkit::{TestHub, on_each_engine};

use crate::backdoor::Backdoor;
use crate::reviews::person;
use crate::support::{all_items, expect, get, id, items_by, make, pointers, refused, send};

const PATH: &str = "/api/v1/policies";

fn one(policy: &Value) -> String {
    format!("{PATH}/{}", id(policy))
}

fn patch(hub: &TestHub, policy: &Value, body: &Value) -> RequestBuilder {
    hub.admin("PATCH", &one(policy)).json(body)
}

async fn policy(hub: &TestHub, name: &str) -> Value {
    make(hub, &hub.admin_key, PATH, json!({"name": name, "required_roles": ["reviewer"]})).await
}

async fn default_of(hub: &TestHub, key: &str) -> Value {
    let policies = all_items(hub, key, PATH).await;
    policies.into_iter().find(|policy| policy["is_default"] == true).unwrap()
}

async fn actions(hub: &TestHub, subject: &str) -> Vec<(String, Value)> {
    let rows = all_items(hub, &hub.admin_key, "/api/v1/audit").await;
    let ours = rows.into_iter().filter(|row| row["subject"]["id"] == json!(subject)).rev();
    ours.map(|row| (row["action"].as_str().unwrap().to_owned(), row["details"].clone())).collect()
}

async fn me(hub: &TestHub) -> Value {
    get(hub, &hub.admin_key, "/api/v1/me").await["account"]["id"].clone()
}

/// All that can be said, as it is said.
fn everything(reviewer: &Value) -> Value {
    json!({
        "name": "databases", "active": true, "task_types": ["infrastructure"],
        "resource_patterns": ["database:prod-*"], "risk_threshold": 40, "when": "config.priority > 10",
        "min_approvers": 2, "required_roles": ["dba", "admin"], "reviewers": [reviewer], "reject_on": "unreachable",
        "timeout_seconds": 3600, "escalate_to": [[reviewer], [reviewer]], "on_timeout": "park",
        "admins_count": false, "following_counts": true, "allow_service_reviewers": true,
        "auto_approve_if": {"risk_below": 20, "author_has_role": ["author"], "resources_in_scope": ["stage-*"]},
    })
}

#[tokio::test]
async fn what_is_said_is_kept_and_each_change_is_a_version() {
    on_each_engine(async |hub| {
        let said = everything(&me(&hub).await);
        let made = expect(hub.admin("POST", PATH).json(&said), 201).await;
        let first = made.json();
        assert_eq!(made.header("location"), Some(one(&first).as_str()));
        for (name, value) in said.as_object().unwrap() {
            assert_eq!(&first[name], value, "{name}");
        }
        assert_eq!((&first["version"], &first["is_default"]), (&json!(1), &json!(false)));
        let read = expect(hub.admin("GET", &one(&first)), 200).await;
        assert_eq!((read.json(), read.header("etag")), (first.clone(), Some("\"1\"")));
        let change = json!({"name": "stores", "min_approvers": 3, "when": null, "timeout_seconds": null});
        let second = expect(patch(&hub, &first, &change), 200).await;
        assert_eq!(second.header("etag"), Some("\"2\""));
        let second = second.json();
        assert_eq!((&second["version"], &second["min_approvers"]), (&json!(2), &json!(3)));
        assert_eq!((&second["when"], &second["timeout_seconds"]), (&Value::Null, &Value::Null));
        assert_eq!(second["reviewers"], first["reviewers"], "what is not said stays");
        assert_eq!(expect(patch(&hub, &first, &change), 200).await.json(), second, "nothing changes");
        let version = |number: u8| format!("{}?version={number}", one(&first));
        assert_eq!(get(&hub, &hub.admin_key, &version(1)).await, first);
        assert_eq!(get(&hub, &hub.admin_key, &version(2)).await, second);
        refused(hub.admin("GET", &version(3)), 404, "NOT_FOUND").await;
        refused(hub.admin("GET", &version(0)), 422, "VALIDATION_FAILED").await;
        let stale = patch(&hub, &first, &json!({"min_approvers": 1})).header("if-match", "\"1\"");
        refused(stale, 412, "PRECONDITION_FAILED").await;
        let record = actions(&hub, &id(&first)).await;
        assert_eq!(record[0].0, "policy:created");
        assert_eq!(record[0].1["resource_patterns"]["to"], said["resource_patterns"]);
        assert_eq!(record[1].0, "policy:updated");
        assert_eq!(record[1].1["name"], json!({"from": "databases", "to": "stores"}));
        assert_eq!(record[1].1["when"], json!({"from": "config.priority > 10", "to": null}));
        assert_eq!(record[1].1["reviewers"], Value::Null, "only what is different");
        assert_eq!(record.len(), 2, "what changes nothing leaves no row");
    })
    .await;
}

#[tokio::test]
async fn a_plain_policy_asks_one_and_denies_in_the_end() {
    on_each_engine(async |hub| {
        let policy = policy(&hub, "plain").await;
        let defaults = json!({
            "task_types": [], "resource_patterns": [], "risk_threshold": 0, "when": null, "min_approvers": 1,
            "reviewers": [], "reject_on": "any", "timeout_seconds": null, "escalate_to": [], "on_timeout": "deny",
            "admins_count": true, "following_counts": false, "allow_service_reviewers": false,
            "auto_approve_if": null, "active": true,
        });
        for (name, value) in defaults.as_object().unwrap() {
            assert_eq!(&policy[name], value, "{name}");
        }
    })
    .await;
}

#[tokio::test]
async fn policies_are_listed_by_name() {
    on_each_engine(async |hub| {
        for name in ["beta", "Alpha", "échelon", "alpha 2", "Zeta"] {
            policy(&hub, name).await;
        }
        let gone = policy(&hub, "gone").await;
        expect(hub.admin("DELETE", &one(&gone)), 204).await;
        let names = |items: Vec<Value>| -> Vec<String> {
            items.iter().map(|policy| policy["name"].as_str().unwrap().to_owned()).collect()
        };
        let expected = ["Alpha", "Zeta", "alpha 2", "beta", "default", "gone", "échelon"];
        for limit in [1, 2, 3, 200] {
            assert_eq!(names(items_by(&hub, &hub.admin_key, PATH, limit).await), expected, "{limit}");
        }
        let active = all_items(&hub, &hub.admin_key, &format!("{PATH}?active=false")).await;
        assert_eq!(names(active), ["gone"]);
        let named = all_items(&hub, &hub.admin_key, &format!("{PATH}?name=alpha%202")).await;
        assert_eq!(names(named), ["alpha 2"]);
        for bad in ["name=", "name=a%00b", "name=%0a", "active=maybe", "cursor=x", "sort=name"] {
            let pointer = format!("/{}", bad.split('=').next().unwrap());
            let problem = refused(hub.admin("GET", &format!("{PATH}?{bad}")), 422, "VALIDATION_FAILED").await;
            assert_eq!(pointers(&problem), [pointer], "{bad}");
        }
    })
    .await;
}

#[tokio::test]
async fn deactivated_policies_stay_and_come_back() {
    on_each_engine(async |hub| {
        let first = policy(&hub, "p").await;
        expect(hub.admin("DELETE", &one(&first)), 204).await;
        let gone = get(&hub, &hub.admin_key, &one(&first)).await;
        assert_eq!((&gone["active"], &gone["version"]), (&json!(false), &json!(2)));
        expect(hub.admin("DELETE", &one(&first)), 204).await;
        assert_eq!(get(&hub, &hub.admin_key, &one(&first)).await, gone, "repeating it changes nothing");
        refused(
            hub.admin("POST", PATH).json(&json!({"name": "p", "required_roles": ["dba"]})),
            409,
            "CONFLICT",
        )
        .await;
        let back = expect(patch(&hub, &first, &json!({"active": true})), 200).await.json();
        assert_eq!((&back["active"], &back["version"]), (&json!(true), &json!(3)));
        let names: Vec<String> = actions(&hub, &id(&first)).await.into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["policy:created", "policy:deactivated", "policy:updated"]);
    })
    .await;
}

#[tokio::test]
async fn every_organization_has_a_default_that_asks_somebody() {
    on_each_engine(async |hub| {
        let founded = hub.tenant("founded").await;
        let body = json!({"name": "Made", "slug": "made"});
        make(&hub, &hub.admin_key, "/api/v1/organizations", body).await;
        for key in [&hub.admin_key, &founded] {
            let default = default_of(&hub, key).await;
            assert_eq!(default["required_roles"], json!(["reviewer", "admin"]));
            assert_eq!((&default["min_approvers"], &default["auto_approve_if"]), (&json!(1), &Value::Null));
        }
        let backdoor = Backdoor::open(&hub).await;
        let organizations = backdoor.count("organizations").await;
        assert_eq!(backdoor.count("rule_sets").await, organizations);
        assert_eq!(backdoor.count("policies WHERE is_default = true AND active = true").await, organizations);
        let default = default_of(&hub, &hub.admin_key).await;
        let problem = refused(hub.admin("DELETE", &one(&default)), 409, "INVALID_STATE").await;
        assert_eq!(problem["state"], "default");
        let auto = json!({"risk_below": 9, "author_has_role": ["author"], "resources_in_scope": ["*"]});
        for (field, value) in [
            ("active", json!(false)),
            ("min_approvers", json!(0)),
            ("auto_approve_if", auto),
            ("when", json!("false")),
            ("task_types", json!(["other"])),
            ("resource_patterns", json!(["nothing"])),
            ("risk_threshold", json!(100)),
        ] {
            let problem =
                refused(patch(&hub, &default, &json!({field: value})), 422, "VALIDATION_FAILED").await;
            assert_eq!(pointers(&problem), [format!("/{field}")]);
        }
        assert_eq!(default_of(&hub, &hub.admin_key).await, default);
        expect(patch(&hub, &default, &json!({"min_approvers": 2, "name": "four eyes"})), 200).await;
    })
    .await;
}

/// What another release or another hand left behind is completed at the next start.
#[tokio::test]
async fn organizations_from_before_get_their_default_at_the_next_start() {
    on_each_engine(async |hub| {
        let other = hub.tenant("older").await;
        let backdoor = Backdoor::open(&hub).await;
        for table in ["policy_versions", "policies", "rule_sets"] {
            backdoor.run(&format!("DELETE FROM {table}")).await;
        }
        let again = hub::identity::bootstrap::bootstrap(&hub.hub, hub.data.path()).await.unwrap();
        assert!(again.is_none(), "nothing is founded twice");
        for key in [&hub.admin_key, &other] {
            let default = default_of(&hub, key).await;
            assert_eq!(default["required_roles"], json!(["reviewer", "admin"]));
        }
        let made =
            backdoor.count("audit_logs WHERE action = 'policy:created' AND service = 'bootstrap'").await;
        // One at the first start, and one for each organization now.
        assert_eq!(made, 3);
        let before = backdoor.count("policies").await;
        hub::identity::bootstrap::bootstrap(&hub.hub, hub.data.path()).await.unwrap();
        assert_eq!(backdoor.count("policies").await, before, "and not again");
    })
    .await;
}

#[tokio::test]
async fn whoever_is_named_is_a_member() {
    on_each_engine(async |hub| {
        let theirs = hub.tenant("theirs").await;
        let stranger = get(&hub, &theirs, "/api/v1/me").await["account"]["id"].clone();
        let (me, nobody) = (me(&hub).await, json!("0197a000-0000-7000-8000-000000000000"));
        let body = json!({
            "name": "p", "reviewers": [me, stranger, nobody], "escalate_to": [[me], [me, stranger]],
        });
        let problem = refused(hub.admin("POST", PATH).json(&body), 422, "VALIDATION_FAILED").await;
        let mut found = pointers(&problem);
        found.sort();
        assert_eq!(found, ["/escalate_to/1/1", "/reviewers/1", "/reviewers/2"]);
        let policy = policy(&hub, "p").await;
        let problem =
            refused(patch(&hub, &policy, &json!({"reviewers": [stranger]})), 422, "VALIDATION_FAILED").await;
        assert_eq!(pointers(&problem), ["/reviewers/0"]);
        expect(patch(&hub, &policy, &json!({"reviewers": [me]})), 200).await;
    })
    .await;
}

/// Every text that can be written, filled with what hurts: a clear answer, and nothing stored that was not understood.
#[tokio::test]
async fn hostile_texts_are_refused_by_their_place() {
    on_each_engine(async |hub| {
        let policy = policy(&hub, "p").await;
        let long = "x".repeat(64 * 1024);
        let auto = |role: &str, scope: &str| {
            json!({"auto_approve_if":
                {"risk_below": 9, "author_has_role": [role], "resources_in_scope": [scope]}})
        };
        for text in [long.as_str(), "a\u{202e}b", "a\u{1b}[2Kb", "", " ", "\u{200b}\u{ffff}"] {
            let cases = [
                (json!({"resource_patterns": [text]}), "/resource_patterns/0"),
                (json!({"required_roles": [text]}), "/required_roles/0"),
                (json!({"when": text}), "/when"),
                (auto(text, "*"), "/auto_approve_if/author_has_role/0"),
                (auto("author", text), "/auto_approve_if/resources_in_scope/0"),
            ];
            for (body, pointer) in cases {
                let problem = refused(patch(&hub, &policy, &body), 422, "VALIDATION_FAILED").await;
                assert_eq!(pointers(&problem), [pointer], "{text:.20}");
            }
        }
        for (field, pointer) in [("name", "/name"), ("task_types", "/task_types/0")] {
            for text in [long.as_str(), "a\u{1b}[2Kb", "", " "] {
                let value = if field == "name" { json!(text) } else { json!([text]) };
                let problem =
                    refused(patch(&hub, &policy, &json!({field: value})), 422, "VALIDATION_FAILED").await;
                assert_eq!(pointers(&problem), [pointer], "{text:.20}");
            }
        }
        for (body, pointer) in [
            (hours("Europe/Nowhere", "mon", "09:00", "17:00"), "/hours/time_zone"),
            (hours("../../etc/passwd", "mon", "09:00", "17:00"), "/hours/time_zone"),
            (hours("UTC", "Montag", "09:00", "17:00"), "/hours/windows/0/days/0"),
            (hours("UTC", "mon", "9", "17:00"), "/hours/windows/0/from"),
            (hours("UTC", "mon", "09:00", "24:01"), "/hours/windows/0/to"),
            (hours("UTC", "mon", "09:00", "09:00"), "/hours/windows/0/to"),
            (json!({"when": "resources.exists(r, r.id.matches('a*'))"}), "/when"),
            (json!({"when": "(".repeat(1024)}), "/when"),
            (json!({"timeout_seconds": 604_801}), "/timeout_seconds"),
            (json!({"reviewers": ["me"]}), "/reviewers/0"),
            (json!({"reject_on": "never"}), "/reject_on"),
        ] {
            let problem = refused(patch(&hub, &policy, &body), 422, "VALIDATION_FAILED").await;
            assert_eq!(pointers(&problem), [pointer], "{body}");
        }
        assert_eq!(get(&hub, &hub.admin_key, &one(&policy)).await, policy);
    })
    .await;
}

#[tokio::test]
async fn a_hundred_policies_are_in_force_and_no_more() {
    on_each_engine(async |hub| {
        let mut last = Value::Null;
        for number in 0..100 {
            last = policy(&hub, &format!("p{number}")).await;
        }
        let body = json!({"name": "one more", "required_roles": ["dba"]});
        let problem = refused(hub.admin("POST", PATH).json(&body), 422, "VALIDATION_FAILED").await;
        assert_eq!(pointers(&problem), ["/active"]);
        let idle = json!({"name": "idle", "required_roles": ["dba"], "active": false});
        let idle = make(&hub, &hub.admin_key, PATH, idle).await;
        refused(patch(&hub, &idle, &json!({"active": true})), 422, "VALIDATION_FAILED").await;
        expect(hub.admin("DELETE", &one(&last)), 204).await;
        expect(patch(&hub, &idle, &json!({"active": true})), 200).await;
        expect(patch(&hub, &idle, &json!({"min_approvers": 2})), 200).await;
    })
    .await;
}

/// Two admins at once: one after the other, no version lost, and the rules move with each.
#[tokio::test]
async fn changes_at_once_are_all_versions() {
    on_each_engine(async |hub| {
        let policy = policy(&hub, "p").await;
        let backdoor = Backdoor::open(&hub).await;
        let version = async || backdoor.column("SELECT CAST(version AS TEXT) FROM rule_sets").await;
        let before: i64 = version().await[0].parse().unwrap();
        let change = |number: u32| send(patch(&hub, &policy, &json!({"min_approvers": number})));
        let answers = futures_util::future::join_all((2..22).map(change)).await;
        assert!(answers.iter().all(|answer| answer.status.is_success()));
        let mut versions: Vec<i64> =
            answers.iter().map(|answer| answer.json()["version"].as_i64().unwrap()).collect();
        versions.sort_unstable();
        assert_eq!(versions, (2..22).collect::<Vec<i64>>());
        let after: i64 = version().await[0].parse().unwrap();
        assert_eq!(after, before + 20);
        let kept = backdoor.count("policy_versions WHERE version > 1").await;
        assert_eq!(kept, 20);
    })
    .await;
}

fn hours(zone: &str, day: &str, from: &str, to: &str) -> Value {
    json!({"hours": {"time_zone": zone, "windows": [{"days": [day], "from": from, "to": to}]}})
}

/// Whatever day it is, one of the two applies; outside of both hours the default policy does.
#[tokio::test]
async fn rules_differ_by_the_time_of_the_day() {
    on_each_engine(async |hub| {
        let days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
        let said = |name: &str, windows: Value| {
            json!({"name": name, "required_roles": ["dba"],
                   "hours": {"time_zone": "Europe/Berlin", "windows": windows}})
        };
        let whole = |days: &[&str]| json!([{"days": days, "from": "00:00", "to": "24:00"}]);
        let always = said("always", whole(&days));
        let made = expect(hub.admin("POST", PATH).json(&always), 201).await.json();
        assert_eq!(made["hours"], always["hours"]);
        expect(hub.admin("POST", PATH).json(&said("long ago", whole(&["2020-02-29"]))), 201).await;
        let author = person(&hub, "ann", &["author"]).await;
        let body = json!({"config": {"type": "t", "description": "d"}});
        let applies = async || {
            let simulated = hub.request("POST", "/api/v1/tasks/simulate").bearer_auth(&author).json(&body);
            let simulated = expect(simulated, 200).await.json();
            let policies = simulated["review"]["policies"].as_array().unwrap().clone();
            policies.iter().map(|policy| policy["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(applies().await, ["always"]);
        let never = json!({"hours": {"time_zone": "Europe/Berlin", "windows": whole(&["2020-02-29"])}});
        expect(patch(&hub, &made, &never), 200).await;
        assert_eq!(applies().await, ["default"]);
        expect(patch(&hub, &made, &json!({"hours": null})), 200).await;
        assert_eq!(applies().await, ["always"]);
    })
    .await;
}

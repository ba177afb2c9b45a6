//! Backtests of policies: what a draft would have changed, told rightly, and nothing changed by asking.

use serde_json::{Value, json};
use testkit::reqwest::RequestBuilder;
use testkit::{TestHub, on_each_engine};

use crate::backdoor::Backdoor;
use crate::reviews::{agent, person};
use crate::support::{all_items, expect, get, id, make, mint, pointers, refused};

const PATH: &str = "/api/v1/policies";

fn asked(hub: &TestHub, policy: &Value, body: &Value) -> RequestBuilder {
    hub.admin("POST", &format!("{PATH}/{}/backtest", id(policy))).json(body)
}

async fn backtest(hub: &TestHub, policy: &Value, draft: Value) -> Value {
    let body = json!({"days": 30, "draft": draft});
    expect(asked(hub, policy, &body), 200).await.json()
}

async fn policy(hub: &TestHub, name: &str, more: Value) -> Value {
    let mut body = json!({"name": name, "required_roles": ["reviewer"]});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    make(hub, &hub.admin_key, PATH, body).await
}

/// Hands in a task that touches this.
async fn task(hub: &TestHub, author: &str, resource: &str) -> Value {
    let body = json!({"config": {"type": "infrastructure", "description": format!("change {resource}"),
                      "resources": [{"type": "database", "id": resource, "mode": "exclusive"}]}, "submit": true});
    make(hub, author, "/api/v1/tasks", body).await
}

async fn default_of(hub: &TestHub) -> Value {
    let policies = all_items(hub, &hub.admin_key, PATH).await;
    policies.into_iter().find(|policy| policy["is_default"] == true).unwrap()
}

fn names(side: &Value, list: &str) -> Vec<String> {
    side[list].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
}

/// The one difference, from `before` to `after`.
fn only(found: &Value) -> (&Value, &Value) {
    assert_eq!(found["differing"], 1, "{found}");
    let one = &found["differences"][0];
    (&one["before"], &one["after"])
}

#[tokio::test]
async fn each_kind_of_difference_is_told() {
    on_each_engine(async |hub| {
        let all = policy(&hub, "prod", json!({"resource_patterns": ["prod-*"]})).await;
        let author = person(&hub, "ann", &["author", "reviewer"]).await;
        person(&hub, "bob", &["reviewer"]).await;
        person(&hub, "eve", &["dba"]).await;
        let (prod, _stage) = (task(&hub, &author, "prod-1").await, task(&hub, &author, "stage-1").await);

        let found = backtest(&hub, &all, json!({"required_roles": ["dba"]})).await;
        assert_eq!((&found["looked_at"], &found["cut_off"]), (&json!(2), &json!(false)));
        assert_eq!(found["compared"], "draft");
        let (before, after) = only(&found);
        assert_eq!(names(before, "asked"), ["bob@default.example"], "never the author");
        assert_eq!(names(after, "asked"), ["eve@default.example"]);
        assert_eq!((&before["outcome"], &after["outcome"]), (&json!("reviewed"), &json!("reviewed")));
        let one = &found["differences"][0];
        assert_eq!((&one["id"], &one["title"]), (&prod["id"], &json!("change prod-1")));
        assert_eq!(one["risk"], json!({"score": prod["risk"]["score"], "level": prod["risk"]["level"]}));
        let versions = (&before["policies"][0]["version"], &after["policies"][0]["version"]);
        assert_eq!(versions, (&json!(1), &json!(2)));
        let people = |name: &str| {
            let people = found["people"].as_array().unwrap();
            people.iter().find(|person| person["name"] == name).unwrap().clone()
        };
        assert_eq!(people("bob@default.example")["after"], 1, "the default policy still asks them");
        assert_eq!(people("eve@default.example")["after"], 1);

        let found = backtest(&hub, &all, json!({"min_approvers": 2})).await;
        let (_, after) = only(&found);
        assert_eq!((&after["outcome"], &after["required"]), (&json!("unreachable"), &json!(2)));
        assert!(after["missing"][0].as_str().unwrap().starts_with("prod: 2 more people"), "{after}");
        assert_eq!((&found["before"]["unreachable"], &found["after"]["unreachable"]), (&json!(0), &json!(1)));

        let found = backtest(&hub, &all, json!({"required_roles": ["nobody"]})).await;
        let (_, after) = only(&found);
        assert_eq!((&after["outcome"], &after["asked"]), (&json!("blocked"), &json!([])));
        assert_eq!(found["after"]["blocked"], 1);
        assert_eq!(found["after"]["asked"]["0"], 1);

        let found = backtest(&hub, &all, json!({"active": false})).await;
        let (before, after) = only(&found);
        assert_eq!(
            (names(before, "policies"), names(after, "policies")),
            (vec!["prod".into()], vec!["default".into()])
        );
        assert_eq!(
            (&found["before"]["fell_to_default"], &found["after"]["fell_to_default"]),
            (&json!(1), &json!(2))
        );

        let found = backtest(&hub, &all, json!({"name": "renamed", "timeout_seconds": 600})).await;
        assert_eq!((&found["differing"], &found["differences"]), (&json!(0), &json!([])));
        assert_eq!(found["before"], found["after"]);
    })
    .await;
}

#[tokio::test]
async fn what_would_pass_by_itself_is_told() {
    on_each_engine(async |hub| {
        let on =
            hub.admin("PATCH", "/api/v1/settings").json(&json!({"feature:auto_approve_low_risk": "enabled"}));
        expect(on, 200).await;
        let all = policy(&hub, "all", json!({})).await;
        let author = person(&hub, "ann", &["author"]).await;
        person(&hub, "bob", &["reviewer"]).await;
        task(&hub, &author, "stage-1").await;
        let draft = json!({"auto_approve_if": {"risk_below": 100, "author_has_role": ["author"],
                           "resources_in_scope": ["stage-*"]}});
        let found = backtest(&hub, &all, draft.clone()).await;
        let (before, after) = only(&found);
        assert_eq!((&before["outcome"], &after["outcome"]), (&json!("reviewed"), &json!("auto_approved")));
        assert_eq!((&after["required"], &after["asked_count"]), (&json!(0), &json!(0)));
        assert_eq!(
            (&found["before"]["auto_approved"], &found["after"]["auto_approved"]),
            (&json!(0), &json!(1))
        );
        // What it says is what happens: saved, the same draft lets the next such task pass.
        let save = hub.admin("PATCH", &format!("{PATH}/{}", id(&all))).json(&draft);
        expect(save, 200).await;
        assert_eq!(task(&hub, &author, "stage-2").await["state"], "APPROVED");
    })
    .await;
}

#[tokio::test]
async fn without_a_draft_it_says_what_the_policy_does() {
    on_each_engine(async |hub| {
        let prod = policy(&hub, "prod", json!({"resource_patterns": ["prod-*"], "min_approvers": 2})).await;
        let idle = policy(&hub, "idle", json!({"active": false})).await;
        let author = person(&hub, "ann", &["author"]).await;
        for name in ["bob", "eve"] {
            person(&hub, name, &["reviewer"]).await;
        }
        for resource in ["prod-1", "prod-2", "stage-1"] {
            task(&hub, &author, resource).await;
        }
        let alone = expect(asked(&hub, &prod, &json!({"days": 1})), 200).await.json();
        assert_eq!((&alone["compared"], &alone["differing"]), (&json!("absence"), &json!(2)));
        assert_eq!(
            (&alone["before"]["fell_to_default"], &alone["after"]["fell_to_default"]),
            (&json!(3), &json!(1))
        );
        assert_eq!(alone["after"]["required"], json!({"1": 1, "2": 2}));
        let title = |place: usize| alone["differences"][place]["title"].clone();
        assert_eq!(
            (title(0), title(1)),
            (json!("change prod-2"), json!("change prod-1")),
            "the newest first"
        );
        let none = expect(asked(&hub, &idle, &json!({"days": 1})), 200).await.json();
        assert_eq!(none["differing"], 0, "a policy that is not in force does nothing");
        let awake = backtest(&hub, &idle, json!({"active": true})).await;
        assert_eq!(awake["differing"], 3);
        let problem =
            refused(asked(&hub, &default_of(&hub).await, &json!({"days": 1})), 422, "VALIDATION_FAILED")
                .await;
        assert_eq!(pointers(&problem), ["/draft"]);
        let stricter = backtest(&hub, &default_of(&hub).await, json!({"min_approvers": 2})).await;
        assert_eq!(stricter["differing"], 1, "the one that nothing else applies to");
    })
    .await;
}

/// What is said of a task agrees with what a simulation says of it, and with what became of it.
#[tokio::test]
async fn the_rules_as_they_stand_are_those_that_decide() {
    on_each_engine(async |hub| {
        let two =
            policy(&hub, "two", json!({"min_approvers": 2, "required_roles": ["dba", "reviewer"]})).await;
        policy(&hub, "prod", json!({"resource_patterns": ["prod-*"], "min_approvers": 1})).await;
        let author = person(&hub, "ann", &["author"]).await;
        let bob = person(&hub, "bob", &["reviewer"]).await;
        person(&hub, "eve", &["dba"]).await;
        let stand_in = person(&hub, "kim", &["reviewer"]).await;
        let kim = get(&hub, &stand_in, "/api/v1/me").await["account"]["id"].clone();
        let gone = json!({"delegate_to": kim});
        make(&hub, &bob, "/api/v1/delegations", gone).await;
        let made = task(&hub, &author, "prod-1").await;
        let found = backtest(&hub, &two, json!({"active": false})).await;
        let (before, _) = only(&found);
        let requests =
            all_items(&hub, &hub.admin_key, &format!("/api/v1/approvals?task_id={}", id(&made))).await;
        let mut pending: Vec<String> = requests
            .iter()
            .filter(|request| request["status"] == "PENDING")
            .map(|request| request["reviewer_id"].as_str().unwrap().to_owned())
            .collect();
        let told = before["asked"].as_array().unwrap();
        let mut told: Vec<String> =
            told.iter().map(|person| person["account_id"].as_str().unwrap().to_owned()).collect();
        pending.sort();
        told.sort();
        assert_eq!(told, pending, "{before} {requests:?}");
        assert_eq!(before["required"], made["review"]["required_count"]);
        assert_eq!(before["outcome"] == "reviewed", made["review"]["reachable"] == true);
        let versions = |policies: &Value| -> Vec<(Value, Value)> {
            let policies = policies.as_array().unwrap().iter();
            policies.map(|policy| (policy["policy_id"].clone(), policy["version"].clone())).collect()
        };
        assert_eq!(versions(&before["policies"]), versions(&made["review"]["policies"]));
    })
    .await;
}

#[tokio::test]
async fn asking_changes_nothing() {
    on_each_engine(async |hub| {
        let all = policy(&hub, "all", json!({})).await;
        let author = person(&hub, "ann", &["author"]).await;
        person(&hub, "bob", &["reviewer"]).await;
        let made = task(&hub, &author, "prod-1").await;
        let backdoor = Backdoor::open(&hub).await;
        let trail = async || {
            let audit = all_items(&hub, &hub.admin_key, "/api/v1/audit").await.len();
            let told = backdoor.count("events WHERE type <> 'audit:sealed'").await;
            let versions = backdoor.count("policy_versions").await;
            let rules = backdoor.cell("SELECT MAX(version) FROM rule_sets").await;
            let asked = all_items(&hub, &hub.admin_key, "/api/v1/approvals").await;
            let task = get(&hub, &author, &format!("/api/v1/tasks/{}", id(&made))).await;
            let policies = all_items(&hub, &hub.admin_key, PATH).await;
            (audit, told, versions, rules, asked, task, policies)
        };
        let before = trail().await;
        let found = backtest(&hub, &all, json!({"min_approvers": 5, "when": "risk.score > 0"})).await;
        assert_eq!(found["after"]["unreachable"], 1);
        expect(asked(&hub, &all, &json!({"days": 90})), 200).await;
        refused(asked(&hub, &all, &json!({"days": 30, "draft": {"when": "("}})), 422, "VALIDATION_FAILED")
            .await;
        assert_eq!(trail().await, before);
        // A draft that was tried is not what decides.
        assert_eq!(task(&hub, &author, "prod-2").await["review"]["required_count"], 1);
    })
    .await;
}

#[tokio::test]
async fn a_bad_draft_is_refused_as_a_bad_policy_is() {
    on_each_engine(async |hub| {
        let all = policy(&hub, "all", json!({})).await;
        policy(&hub, "other", json!({})).await;
        let none = "0197a000-0000-7000-8000-000000000000";
        for (draft, place) in [
            (json!({"when": "risk >"}), "when"),
            (json!({"when": "(".repeat(1024)}), "when"),
            (json!({"when": "x".repeat(2000)}), "when"),
            (json!({"min_approvers": 0}), "min_approvers"),
            (json!({"min_approvers": -1}), "min_approvers"),
            (json!({"min_approvers": null}), "min_approvers"),
            (json!({"required_roles": []}), "reviewers"),
            (json!({"required_roles": ["a b\u{0}"]}), "required_roles/0"),
            (json!({"reviewers": [none]}), "reviewers/0"),
            (json!({"reviewers": ["me"]}), "reviewers/0"),
            (json!({"resource_patterns": ["a b"]}), "resource_patterns/0"),
            (json!({"risk_threshold": 101}), "risk_threshold"),
            (json!({"timeout_seconds": 1}), "timeout_seconds"),
            (json!({"name": ""}), "name"),
            (json!({"name": "a\nb"}), "name"),
            (json!({"hours": {"time_zone": "Europe/Nowhere", "windows": [{"days": ["mon"], "from": "09:00",
                    "to": "10:00"}]}}), "hours/time_zone"),
            (json!({"hours": {"time_zone": "UTC", "windows": [{"days": ["mon"], "from": "9", "to": "10:00"}]}}),
             "hours/windows/0/from"),
            (json!({"auto_approve_if": {"risk_below": 0, "author_has_role": ["a"], "resources_in_scope": ["a"]}}),
             "auto_approve_if/risk_below"),
            (json!({"quorum": 1}), "quorum"),
        ] {
            let problem = refused(asked(&hub, &all, &json!({"days": 1, "draft": draft})), 422, "VALIDATION_FAILED").await;
            let change = hub.admin("PATCH", &format!("{PATH}/{}", id(&all))).json(&draft);
            let change = refused(change, 422, "VALIDATION_FAILED").await;
            assert_eq!(pointers(&problem)[0], format!("/draft/{place}"), "{problem}");
            let same: Vec<String> = pointers(&change).iter().map(|at| format!("/draft{at}")).collect();
            assert_eq!(pointers(&problem), same, "{draft}");
        }
        let taken = json!({"days": 1, "draft": {"name": "other"}});
        refused(asked(&hub, &all, &taken), 409, "CONFLICT").await;
        let narrowed = json!({"days": 1, "draft": {"task_types": ["a"], "active": false}});
        let problem = refused(asked(&hub, &default_of(&hub).await, &narrowed), 422, "VALIDATION_FAILED").await;
        assert_eq!(pointers(&problem), ["/draft/active", "/draft/task_types"]);
        for (body, place) in [
            (json!({}), ""),
            (json!({"days": 0}), "/days"),
            (json!({"days": 91}), "/days"),
            (json!({"days": "30"}), "/days"),
            (json!({"days": 1, "draft": null}), "/draft"),
            (json!({"days": 1, "draft": []}), "/draft"),
            (json!({"days": 1, "since": 1}), "/since"),
        ] {
            let problem = refused(asked(&hub, &all, &body), 422, "VALIDATION_FAILED").await;
            assert_eq!(pointers(&problem), [place], "{body}");
        }
    })
    .await;
}

#[tokio::test]
async fn it_is_for_admins_who_see_tasks() {
    on_each_engine(async |hub| {
        let all = policy(&hub, "all", json!({})).await;
        let path = format!("{PATH}/{}/backtest", id(&all));
        let body = json!({"days": 1, "draft": {"min_approvers": 2}});
        for roles in [&[][..], &["author"], &["reviewer"]] {
            let name = format!("m{}", roles.first().unwrap_or(&"one"));
            let key = person(&hub, &name, roles).await;
            refused(hub.request("POST", &path).bearer_auth(&key).json(&body), 403, "FORBIDDEN").await;
        }
        let narrow = json!({"name": "n", "scopes": ["policies:write", "policies:read"]});
        let narrow = mint(&hub, &hub.admin_key, narrow).await.key;
        refused(hub.request("POST", &path).bearer_auth(&narrow).json(&body), 403, "FORBIDDEN").await;
        let author = person(&hub, "ann", &["author"]).await;
        let (_, key) = agent(&hub, &author).await;
        refused(hub.request("POST", &path).bearer_auth(&key).json(&body), 403, "FORBIDDEN").await;
        let stranger = hub.tenant("other").await;
        refused(hub.request("POST", &path).bearer_auth(&stranger).json(&body), 404, "NOT_FOUND").await;
    })
    .await;
}

/// Another tenant's tasks are none of these, and neither is what was handed in before, or never.
#[tokio::test]
async fn only_tasks_of_the_organization_that_were_handed_in_in_time_count() {
    on_each_engine(async |hub| {
        let all = policy(&hub, "all", json!({})).await;
        let author = person(&hub, "ann", &["author"]).await;
        person(&hub, "bob", &["reviewer"]).await;
        let stranger = hub.tenant("other").await;
        task(&hub, &stranger, "prod-9").await;
        let old = task(&hub, &author, "prod-1").await;
        task(&hub, &author, "prod-2").await;
        let draft = json!({"config": {"type": "t", "description": "never handed in"}});
        make(&hub, &author, "/api/v1/tasks", draft).await;
        let looked_at = async |days: u32| {
            let body = json!({"days": days, "draft": {"min_approvers": 2}});
            expect(asked(&hub, &all, &body), 200).await.json()["looked_at"].clone()
        };
        assert_eq!(looked_at(30).await, 2);
        let backdoor = Backdoor::open(&hub).await;
        let long_ago = match hub.hub.records.engine().to_string().as_str() {
            "SQLite" => "submitted_at - 40 * 86400000000",
            _ => "submitted_at - INTERVAL '40 days'",
        };
        backdoor
            .change(&format!("UPDATE tasks SET submitted_at = {long_ago} WHERE id = '{}'", id(&old)))
            .await;
        assert_eq!((looked_at(30).await, looked_at(41).await), (json!(1), json!(2)));
    })
    .await;
}

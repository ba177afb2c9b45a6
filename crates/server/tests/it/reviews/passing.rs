//! Who is not asked: agents about their score, authors about their work, nobody about what passes by itself.

use serde_json::json;
use testkit::{TestHub, on_each_engine};

use super::{agent, answer, asked, config, person, policy, submitted, task};
use crate::support::{all_items, expect, get, id};

#[tokio::test]
async fn an_agent_does_not_learn_its_score() {
    on_each_engine(async |hub| {
        let author = person(&hub, "ann", &["author"]).await;
        let bob = person(&hub, "bob", &["reviewer"]).await;
        let bob = id(&get(&hub, &bob, "/api/v1/me").await["account"]);
        let at_risk = json!({"name": "risky", "required_roles": ["reviewer"], "risk_threshold": 1});
        expect(hub.admin("POST", "/api/v1/policies").json(&at_risk), 201).await;
        let (worker, key) = agent(&hub, &author).await;
        let made = submitted(&hub, &key).await;
        assert!(made["risk"].get("score").is_none() && made["risk"]["level"].is_string(), "{made}");
        assert_eq!(made["review"]["policies"][0]["because"], json!([]));
        assert!(made["review"]["review_hash"].is_null(), "it is made of the score too");
        // Nor from the order of requests, nor from what stands for a place in it.
        submitted(&hub, &key).await;
        let urgent = json!({"config": {"type": "t", "description": "d", "priority": 100}, "submit": true});
        expect(hub.request("POST", "/api/v1/tasks").bearer_auth(&key).json(&urgent), 201).await;
        let scoped = json!({"name": "reads", "account_id": worker, "scopes": ["approvals:read"]});
        let reads = hub.request("POST", "/api/v1/api-keys").bearer_auth(&author).json(&scoped);
        let reads = expect(reads, 201).await.json()["key"].as_str().unwrap().to_owned();
        testkit::watch::secret(&reads);
        let seen = all_items(&hub, &reads, &format!("/api/v1/approvals?reviewer={bob}")).await;
        let ids: Vec<String> = seen.iter().map(id).collect();
        assert!(ids.len() >= 3 && ids.is_sorted(), "the oldest first: {seen:?}");
        let first = get(&hub, &reads, &format!("/api/v1/approvals?limit=1&reviewer={bob}")).await;
        let next = format!(
            "/api/v1/approvals?limit=1&reviewer={bob}&cursor={}",
            first["next_cursor"].as_str().unwrap()
        );
        assert_eq!(id(&get(&hub, &reads, &next).await["items"][0]), ids[1]);
        let page = get(&hub, &hub.admin_key, &format!("/api/v1/approvals?limit=1&reviewer={bob}")).await;
        let queue = format!(
            "/api/v1/approvals?limit=1&reviewer={bob}&cursor={}",
            page["next_cursor"].as_str().unwrap()
        );
        expect(hub.request("GET", &queue).bearer_auth(&reads), 422).await;
        let people_see = task(&hub, &author, &made).await;
        let score = people_see["risk"]["score"].to_string();
        let because = people_see["review"]["policies"][0]["because"].to_string();
        assert!(because.contains(&score), "{because} names {score}");
    })
    .await;
}

/// A policy that lets small risks of authors pass.
async fn lets_pass(hub: &TestHub) {
    let body = json!({"name": "small", "required_roles": ["reviewer"], "auto_approve_if": {
        "risk_below": 100, "author_has_role": ["author"], "resources_in_scope": ["database:*"]}});
    expect(hub.admin("POST", "/api/v1/policies").json(&body), 201).await;
}

#[tokio::test]
async fn what_every_policy_lets_pass_is_approved_and_says_why() {
    on_each_engine(async |hub| {
        let author = person(&hub, "ann", &["author"]).await;
        person(&hub, "bob", &["reviewer"]).await;
        lets_pass(&hub).await;
        submitted(&hub, &author).await;
        let on = json!({"feature:auto_approve_low_risk": "enabled"});
        expect(hub.admin("PATCH", "/api/v1/settings").json(&on), 200).await;
        let body = json!({"config": config("Small"), "submit": true});
        let create = hub.request("POST", "/api/v1/tasks").bearer_auth(&author).json(&body);
        let made = expect(create, 201).await.json();
        assert_eq!((&made["state"], &made["review"]["resolution"]), (&json!("APPROVED"), &json!("auto")));
        let rows = all_items(&hub, &hub.admin_key, &format!("/api/v1/tasks/{}/audit", id(&made))).await;
        let of = |action: &str| rows.iter().find(|row| row["action"] == action).unwrap()["details"].clone();
        assert_eq!(of("task:review_began")["policies"][0]["version"], 1, "{rows:?}");
        assert_eq!(of("task:approved")["content_hash"], made["content_hash"]);
        let off = json!({"feature:auto_approve_low_risk": "disabled"});
        expect(hub.admin("PATCH", "/api/v1/settings").json(&off), 200).await;
        submitted(&hub, &author).await;
    })
    .await;
}

#[tokio::test]
async fn whoever_had_a_hand_in_it_is_never_asked() {
    on_each_engine(async |hub| {
        let ann = person(&hub, "ann", &["author", "reviewer"]).await;
        let boss = person(&hub, "boss", &["admin"]).await;
        let bob = person(&hub, "bob", &["reviewer"]).await;
        let made = submitted(&hub, &ann).await;
        let request = asked(&hub, &bob, &made).await;
        expect(answer(&hub, &bob, &request, "reject"), 200).await;
        // The admin makes it anew: its bytes are still Ann's.
        let path = format!("/api/v1/tasks/{}/resubmit", id(&made));
        let again = hub.request("POST", &path).bearer_auth(&boss).json(&json!({}));
        let again = expect(again, 201).await.json();
        let submit = format!("/api/v1/tasks/{}/submit", id(&again));
        expect(hub.request("POST", &submit).bearer_auth(&boss), 202).await;
        let about = format!("/api/v1/approvals?reviewer=me&task_id={}", id(&again));
        assert!(all_items(&hub, &ann, &about).await.is_empty(), "Ann wrote it");
        assert!(all_items(&hub, &boss, &about).await.is_empty(), "and the admin handed it in");
        asked(&hub, &bob, &again).await;
        // Who points a draft at somebody had a hand in it too.
        let body = json!({"config": config("Draft")});
        let create = hub.request("POST", "/api/v1/tasks").bearer_auth(&ann).json(&body);
        let draft = expect(create, 201).await.json();
        let me = get(&hub, &boss, "/api/v1/me").await;
        let patch = hub.request("PATCH", &format!("/api/v1/tasks/{}", id(&draft))).bearer_auth(&boss);
        expect(patch.json(&json!({"assignee": me["account"]["id"]})), 200).await;
        let submit = format!("/api/v1/tasks/{}/submit", id(&draft));
        expect(hub.request("POST", &submit).bearer_auth(&ann), 202).await;
        let about = format!("/api/v1/approvals?reviewer=me&task_id={}", id(&draft));
        assert!(all_items(&hub, &boss, &about).await.is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_task_that_waits_for_another_than_before_is_reviewed_anew() {
    on_each_engine(async |hub| {
        policy(&hub, 2, "any").await;
        let ann = person(&hub, "ann", &["author"]).await;
        let [bob, eve] = [person(&hub, "bob", &["reviewer"]).await, person(&hub, "eve", &["reviewer"]).await];
        let first = submitted(&hub, &ann).await;
        let body = json!({"config": config("After it"), "depends_on": [first["id"]], "submit": true});
        let create = hub.request("POST", "/api/v1/tasks").bearer_auth(&ann).json(&body);
        let waiting = expect(create, 201).await.json();
        assert_eq!(waiting["status"], "blocked");
        let request = asked(&hub, &bob, &waiting).await;
        expect(answer(&hub, &bob, &request, "approve"), 200).await;
        let no = asked(&hub, &eve, &first).await;
        expect(answer(&hub, &eve, &no, "reject"), 200).await;
        let path = format!("/api/v1/tasks/{}/resubmit", id(&first));
        let again = hub.request("POST", &path).bearer_auth(&ann).json(&json!({}));
        let again = expect(again, 201).await.json();
        let moved = task(&hub, &ann, &waiting).await;
        assert_eq!(moved["depends_on"], json!([again["id"]]));
        let facts = (&moved["state"], &moved["revision"], &moved["review"]["approved_count"]);
        assert_eq!(facts, (&json!("REVIEWING"), &json!(2), &json!(0)), "the yes was about another plan");
    })
    .await;
}

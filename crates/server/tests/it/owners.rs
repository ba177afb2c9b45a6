//! Who may change an agent, and who may answer for it.

use serde_json::{Value, json};
use testkit::on_each_engine;

use crate::agents::{PATH, agent, one, patch};
use crate::support::{author, expect, get, mint, person, pointers, refused, send, without_place};
use crate::world::set_status;

#[tokio::test]
async fn only_owner_and_admin_change_an_agent() {
    on_each_engine(async |hub| {
        let (ann, bob) = (author(&hub, "ann").await, author(&hub, "bob").await);
        let plain = hub.member(&hub.admin_key, "plain").await;
        let body = json!({"name": "mine"});
        refused(hub.request("POST", PATH).bearer_auth(&plain).json(&body), 403, "FORBIDDEN").await;
        let agent = agent(&hub, &ann.key, "anns").await;
        let acts =
            [("PATCH", ""), ("DELETE", ""), ("POST", "/drain"), ("POST", "/resume"), ("POST", "/heartbeat")];
        for who in [&bob.key, &plain] {
            for (method, tail) in acts {
                let path = format!("{}{tail}", one(&agent));
                let request = hub.request(method, &path).bearer_auth(who).json(&json!({}));
                refused(request, 403, "FORBIDDEN").await;
            }
        }
        let theirs = hub.tenant("other").await;
        let nothing = json!({"id": "0197a000-0000-7000-8000-000000000000"});
        for (method, tail) in acts.into_iter().chain([("GET", "")]) {
            let ask = async |agent: &Value| {
                let path = format!("{}{tail}", one(agent));
                let request = hub.request(method, &path).bearer_auth(&theirs).json(&json!({}));
                without_place(&refused(request, 404, "NOT_FOUND").await)
            };
            assert_eq!(ask(&agent).await, ask(&nothing).await, "{method} {tail}");
        }
        // The owner may, but not give it away; the admin may both.
        expect(patch(&hub, &ann.key, &agent, &json!({"max_tasks": 2})), 200).await;
        refused(patch(&hub, &ann.key, &agent, &json!({"owner_id": bob.id})), 403, "FORBIDDEN").await;
        expect(patch(&hub, &ann.key, &agent, &json!({"owner_id": ann.id})), 200).await;
        let admin = person(&hub, &hub.admin_key, "adm", &["admin"]).await;
        let changed = expect(patch(&hub, &admin.key, &agent, &json!({"owner_id": bob.id})), 200).await;
        assert_eq!(changed.json()["owner_id"], json!(bob.id));
        refused(patch(&hub, &ann.key, &agent, &json!({"max_tasks": 3})), 403, "FORBIDDEN").await;
        expect(patch(&hub, &bob.key, &agent, &json!({"max_tasks": 3})), 200).await;
        // A key that may only read does not write, whoever has it.
        let narrow = mint(&hub, &bob.key, json!({"name": "n", "scopes": ["agents:read"]})).await;
        for (method, tail) in acts {
            let path = format!("{}{tail}", one(&agent));
            let request = hub.request(method, &path).bearer_auth(&narrow.key).json(&json!({}));
            refused(request, 403, "FORBIDDEN").await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_new_owner_must_be_able_to_answer() {
    on_each_engine(async |hub| {
        let agent = agent(&hub, &hub.admin_key, "a").await;
        let own = |owner: &Value| patch(&hub, &hub.admin_key, &agent, &json!({"owner_id": owner}));
        let stranger = get(&hub, &hub.tenant("other").await, "/api/v1/me").await["account"]["id"].clone();
        let nobody = json!("0197a000-0000-7000-8000-000000000000");
        let asked = async |owner: &Value| {
            let problem = refused(own(owner), 422, "VALIDATION_FAILED").await;
            assert_eq!(pointers(&problem), ["/owner_id"]);
            without_place(&problem)
        };
        assert_eq!(asked(&stranger).await, asked(&nobody).await, "who is elsewhere is nobody here");
        let gone = author(&hub, "gone").await;
        set_status(&hub, &hub.admin_key, &gone.id, "suspended").await;
        assert_eq!(asked(&json!(gone.id)).await, asked(&nobody).await);
        let itself = asked(&agent["id"]).await;
        assert!(itself["errors"][0]["detail"].as_str().unwrap().contains("itself"), "{itself}");
        // An agent may own an agent, but not the other way round at once.
        let below = crate::agents::agent(&hub, &hub.admin_key, "below").await;
        expect(patch(&hub, &hub.admin_key, &below, &json!({"owner_id": agent["id"]})), 200).await;
        let cycle = asked(&below["id"]).await;
        assert!(cycle["errors"][0]["detail"].as_str().unwrap().contains("answered for by"), "{cycle}");
        // Eight owners and no more.
        let mut line = vec![agent.clone()];
        for number in 1..=8 {
            let next = crate::agents::agent(&hub, &hub.admin_key, &format!("line {number}")).await;
            let owner = json!({"owner_id": line.last().unwrap()["id"]});
            let request = patch(&hub, &hub.admin_key, &next, &owner);
            if number < 8 {
                expect(request, 200).await;
                line.push(next);
            } else {
                let problem = refused(request, 422, "VALIDATION_FAILED").await;
                assert!(
                    problem["errors"][0]["detail"].as_str().unwrap().contains("more than 8"),
                    "{problem}"
                );
            }
        }
    })
    .await;
}

/// Two agents given to each other at once: one of the two changes is refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_cycle_comes_about_in_a_race() {
    on_each_engine(async |hub| {
        let me = get(&hub, &hub.admin_key, "/api/v1/me").await["account"]["id"].clone();
        let (a, b) = (agent(&hub, &hub.admin_key, "a").await, agent(&hub, &hub.admin_key, "b").await);
        for _ in 0..3 {
            let give = |agent: &Value, to: &Value| {
                send(patch(&hub, &hub.admin_key, agent, &json!({"owner_id": to})))
            };
            let (one, other) = tokio::join!(give(&a, &b["id"]), give(&b, &a["id"]));
            let mut statuses = [one.status.as_u16(), other.status.as_u16()];
            statuses.sort_unstable();
            assert_eq!(statuses, [200, 422], "{} {}", one.text(), other.text());
            for agent in [&a, &b] {
                expect(patch(&hub, &hub.admin_key, agent, &json!({"owner_id": me})), 200).await;
            }
        }
    })
    .await;
}

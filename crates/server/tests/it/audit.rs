//! The audit trail as clients read it.

use serde_json::{Value, json};
use testkit::{TestHub, on_each_engine};

use crate::support::{all_items, eventually, expect, get, mint, minted, refused};

const AGENT: &str = "knocker/1.0 (test)";

/// Mints, rotates, revokes and changes a setting, each from a known program. The key they were done with.
async fn do_things(hub: &TestHub) -> String {
    let tool = mint(hub, &hub.admin_key, json!({"name": "tool"})).await;
    let request = |method: &str, path: &str| {
        hub.request(method, path).bearer_auth(&tool.key).header("user-agent", AGENT)
    };
    let body = json!({"name": "deploy", "scopes": ["events:read"]});
    let first = minted(&expect(request("POST", "/api/v1/api-keys").json(&body), 201).await);
    let path = format!("/api/v1/api-keys/{}/rotate", first.id);
    let second = minted(&expect(request("POST", &path), 201).await);
    let path = format!("/api/v1/api-keys/{}", second.id);
    expect(request("DELETE", &path), 204).await;
    expect(request("DELETE", &path), 204).await;
    expect(request("PATCH", "/api/v1/settings").json(&json!({"lock:max_ttl": 301})), 200).await;
    tool.id
}

#[tokio::test]
async fn everything_is_on_record() {
    on_each_engine(async |hub| {
        let tool = do_things(&hub).await;
        let me = get(&hub, &hub.admin_key, "/api/v1/me").await;
        let rows = all_items(&hub, &hub.admin_key, &format!("/api/v1/audit?key_id={tool}")).await;
        let actions: Vec<&str> = rows.iter().map(|row| row["action"].as_str().unwrap()).collect();
        // Newest first; a repeated DELETE changed nothing and is no act.
        assert_eq!(actions, ["settings:changed", "api_key:revoked", "api_key:rotated", "api_key:minted"]);
        for row in &rows {
            assert_eq!(row["actor"], me["account"]["id"]);
            assert_eq!(row["key_id"], json!(tool));
            assert_eq!(row["ip"], "127.0.0.1");
            assert_eq!(row["user_agent"], AGENT);
            assert_eq!(row["service"], "api");
            assert!(row["login_session_id"].is_null() && row["session_id"].is_null());
            let by_id = get(&hub, &hub.admin_key, &format!("/api/v1/audit/{}", text(&row["id"]))).await;
            assert_eq!(without_seal(&by_id), without_seal(row));
        }
        let [settings, revoked, rotated, minted] = &rows[..] else { panic!("{rows:?}") };
        assert_eq!(settings["subject"]["type"], "organization");
        assert_eq!(minted["subject"], rotated["subject"]);
        assert_eq!(rotated["details"]["rotated_to_id"], revoked["subject"]["id"]);
        assert_eq!(minted["details"]["name"], "deploy");
        assert_eq!(minted["details"]["scopes"], json!(["events:read"]));
        // A prefix to recognise the key by, never the key.
        assert_eq!(text(&minted["details"]["prefix"]).len(), 12);
    })
    .await;
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn without_seal(row: &Value) -> Value {
    let mut row = row.clone();
    row["seal"].take();
    row
}

#[tokio::test]
async fn addresses_are_for_admins() {
    on_each_engine(async |hub| {
        let tool = do_things(&hub).await;
        let member = hub.member(&hub.admin_key, "curious").await;
        let path = format!("/api/v1/audit?key_id={tool}");
        let theirs = all_items(&hub, &member, &path).await;
        let ours = all_items(&hub, &hub.admin_key, &path).await;
        assert_eq!(theirs.len(), ours.len());
        for (theirs, ours) in theirs.iter().zip(&ours) {
            assert!(theirs["ip"].is_null() && theirs["user_agent"].is_null(), "{theirs}");
            assert!(ours["ip"].is_string() && ours["user_agent"].is_string(), "{ours}");
            let by_id = get(&hub, &member, &format!("/api/v1/audit/{}", text(&theirs["id"]))).await;
            assert!(by_id["ip"].is_null() && by_id["user_agent"].is_null(), "{by_id}");
            // The proof would show them.
            let path = format!("/api/v1/audit/{}/proof", text(&theirs["id"]));
            refused(hub.request("GET", &path).bearer_auth(&member), 403, "FORBIDDEN").await;
        }
    })
    .await;
}

#[tokio::test]
async fn rows_can_be_searched() {
    on_each_engine(async |hub| {
        let tool = do_things(&hub).await;
        let ann = hub.member(&hub.admin_key, "ann").await;
        let anns = get(&hub, &ann, "/api/v1/me").await["account"]["id"].as_str().unwrap().to_owned();
        mint(&hub, &ann, json!({"name": "ann's"})).await;
        let all = all_items(&hub, &hub.admin_key, "/api/v1/audit").await;
        let search =
            async |query: String| all_items(&hub, &hub.admin_key, &format!("/api/v1/audit?{query}")).await;
        let expect_rows = |found: &[Value], wanted: &dyn Fn(&Value) -> bool| {
            let wanted: Vec<Value> = all.iter().filter(|row| wanted(row)).map(without_seal).collect();
            assert!(!wanted.is_empty());
            assert_eq!(found.iter().map(without_seal).collect::<Vec<_>>(), wanted);
        };
        expect_rows(&search(format!("actor={anns}")).await, &|row| row["actor"] == json!(anns));
        expect_rows(&search(format!("key_id={tool}")).await, &|row| row["key_id"] == json!(tool));
        expect_rows(&search("action=member:added".into()).await, &|row| row["action"] == "member:added");
        let middle = text(&all[all.len() / 2]["occurred_at"]);
        expect_rows(&search(format!("from={middle}")).await, &|row| text(&row["occurred_at"]) >= middle);
        expect_rows(&search(format!("to={middle}")).await, &|row| text(&row["occurred_at"]) < middle);
        let both = format!("action=api_key:minted&key_id={tool}&from={middle}");
        let found = search(both).await;
        assert!(found.iter().all(|row| row["action"] == "api_key:minted" && row["key_id"] == json!(tool)));
        for nothing in ["task_id", "session_id", "actor", "key_id"] {
            assert_eq!(search(format!("{nothing}=0197a000-0000-7000-8000-000000000000")).await.len(), 0);
        }
        assert_eq!(search("action=nothing:done".into()).await.len(), 0);
    })
    .await;
}

#[tokio::test]
async fn rows_are_sealed_within_a_second() {
    on_each_engine(async |hub| {
        let key = mint(&hub, &hub.admin_key, json!({"name": "to be sealed"})).await;
        let row = eventually("the seal", async || {
            let rows = all_items(&hub, &hub.admin_key, "/api/v1/audit?action=api_key:minted").await;
            rows.into_iter().find(|row| row["subject"]["id"] == json!(key.id) && !row["seal"].is_null())
        })
        .await;
        let seals = all_items(&hub, &hub.admin_key, "/api/v1/audit/seals").await;
        let seal = seals.iter().find(|seal| seal["id"] == row["seal"]["id"]).unwrap();
        assert_eq!((&seal["number"], &seal["hash"]), (&row["seal"]["number"], &row["seal"]["hash"]));
        let time = |value: &Value| text(value).parse::<domain::Timestamp>().unwrap();
        let lag = time(&seal["sealed_at"]).since(time(&row["occurred_at"]));
        assert!(lag.as_secs_f32() < 1.0, "{lag:?}");
        // Newest first, without a gap, each tied to the one before.
        for (newer, older) in seals.iter().zip(&seals[1..]) {
            assert_eq!(newer["number"].as_u64().unwrap(), older["number"].as_u64().unwrap() + 1);
            assert_eq!(newer["previous"], older["hash"]);
        }
        let pages = get(&hub, &hub.admin_key, "/api/v1/audit/seals?limit=1").await;
        assert_eq!(pages["items"][0], seals[0]);
    })
    .await;
}

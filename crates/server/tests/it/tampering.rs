//! Whoever changes the trail behind the hub's back is found out, and what was changed is named.

use domain::audit::AuditEntry;
use hub::audit::sealer::seal_all;
use serde_json::{Value, json};
use testkit::{TestHub, on_each_engine};

use crate::backdoor::Backdoor;
use crate::support::{all_items, expect, get, mint, send};

const CHECK: &str = "/api/v1/audit/verification";

async fn check(hub: &TestHub) -> Value {
    let found = expect(hub.admin("POST", CHECK), 200).await.json();
    assert_eq!(get(hub, &hub.admin_key, CHECK).await, found, "the last check is kept");
    found
}

async fn assert_whole(hub: &TestHub, rows: u64) {
    let found = check(hub).await;
    assert_eq!((&found["ok"], &found["finding"], &found["rows"]), (&json!(true), &json!(null), &json!(rows)));
    let head = &get(hub, &hub.admin_key, "/api/v1/audit/seals?limit=1").await["items"][0]["hash"];
    assert_eq!((&found["head"], &found["unsealed"]), (head, &json!(0)));
}

/// The finding, which must name all of these.
async fn assert_found(hub: &TestHub, names: &[&str]) {
    let found = check(hub).await;
    assert_eq!(found["ok"], json!(false), "{names:?} went unnoticed");
    let finding = found["finding"].as_str().unwrap();
    assert!(names.iter().all(|name| finding.contains(name)), "{finding:?} does not name {names:?}");
}

/// A chain of several seals over several rows each. The ids of its rows, newest first.
async fn chain(hub: &TestHub) -> Vec<String> {
    for round in 0..3 {
        for number in 0..2 {
            let body = json!({"name": format!("key {round}/{number}")});
            let request = hub.admin("POST", "/api/v1/api-keys").header("user-agent", "tool/1").json(&body);
            expect(request, 201).await;
        }
        seal_all(&hub.hub).await.unwrap();
    }
    let rows = all_items(hub, &hub.admin_key, "/api/v1/audit").await;
    rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_changed_byte_of_a_body_names_its_row() {
    on_each_engine(async |hub| {
        let rows = chain(&hub).await;
        let backdoor = Backdoor::open(&hub).await;
        let count = rows.len() as u64;
        assert_whole(&hub, count).await;
        for (number, row) in rows.iter().enumerate() {
            let place = format!("FROM audit_logs WHERE id = '{row}'");
            let body = backdoor.read_bytes("body", &place).await;
            let mut changed = body.clone();
            let at = (number * 37) % changed.len();
            changed[at] ^= 1;
            let put = |bytes: &[u8]| {
                format!("UPDATE audit_logs SET body = {} WHERE id = '{row}'", backdoor.bytes(bytes))
            };
            backdoor.change(&put(&changed)).await;
            assert_found(&hub, &[row]).await;
            backdoor.change(&put(&body)).await;
        }
        assert_whole(&hub, count).await;
    })
    .await;
}

/// A forger who knows the form, and a detail that stands in the body alone: only the seal knows better.
#[tokio::test]
async fn a_well_made_forgery_is_found() {
    on_each_engine(async |hub| {
        let rows = chain(&hub).await;
        let backdoor = Backdoor::open(&hub).await;
        let row = &rows[4];
        let body = backdoor.read_bytes("body", &format!("FROM audit_logs WHERE id = '{row}'")).await;
        let mut entry = AuditEntry::from_body(&body).unwrap();
        entry.details.insert("name".into(), json!("nothing to see here"));
        let forged = backdoor.bytes(&entry.body());
        backdoor.change(&format!("UPDATE audit_logs SET body = {forged} WHERE id = '{row}'")).await;
        let shown = get(&hub, &hub.admin_key, &format!("/api/v1/audit/{row}")).await;
        assert_eq!(shown["details"]["name"], "nothing to see here");
        assert_found(&hub, &[row, "was changed after seal"]).await;
    })
    .await;
}

#[tokio::test]
async fn a_changed_column_names_its_row_and_itself() {
    on_each_engine(async |hub| {
        let rows = chain(&hub).await;
        let backdoor = Backdoor::open(&hub).await;
        let stranger = get(&hub, &hub.tenant("other").await, "/api/v1/me").await;
        let [account, key, org] =
            [&stranger["account"]["id"], &stranger["key_id"], &stranger["organization"]["id"]]
                .map(|id| format!("'{}'", id.as_str().unwrap()));
        let words = [
            "action",
            "subject_type",
            "subject_id",
            "from_state",
            "to_state",
            "ip",
            "user_agent",
            "service",
            "reason",
            "ticket_ref",
            "login_session_id",
        ];
        let ids = [("owner_id", account), ("key_id", key), ("org_id", org)];
        let times = [("created_at", "(SELECT MIN(created_at) FROM accounts)".to_owned())];
        let changes =
            words.map(|column| (column, "'changed'".to_owned())).into_iter().chain(ids).chain(times);
        let row = &rows[4];
        let copy = format!("CREATE TABLE kept AS SELECT * FROM audit_logs WHERE id = '{row}'");
        backdoor.run(&copy).await;
        for (column, value) in changes {
            backdoor.change(&format!("UPDATE audit_logs SET {column} = {value} WHERE id = '{row}'")).await;
            assert_found(&hub, &[row, column]).await;
            let back =
                format!("UPDATE audit_logs SET {column} = (SELECT {column} FROM kept) WHERE id = '{row}'");
            backdoor.change(&back).await;
        }
        assert_whole(&hub, rows.len() as u64).await;
    })
    .await;
}

#[tokio::test]
async fn a_changed_seal_names_its_number() {
    on_each_engine(async |hub| {
        let rows = chain(&hub).await;
        let backdoor = Backdoor::open(&hub).await;
        let seals = all_items(&hub, &hub.admin_key, "/api/v1/audit/seals").await;
        let seal = &seals[1];
        let (id, number) = (seal["id"].as_str().unwrap(), format!("seal {}", seal["number"]));
        for column in ["previous", "root", "hash", "signature", "leaves"] {
            let bytes = backdoor.read_bytes(column, &format!("FROM audit_seals WHERE id = '{id}'")).await;
            let mut changed = bytes.clone();
            *changed.last_mut().unwrap() ^= 0x10;
            let put = |bytes: &[u8]| {
                format!("UPDATE audit_seals SET {column} = {} WHERE id = '{id}'", backdoor.bytes(bytes))
            };
            backdoor.change(&put(&changed)).await;
            assert_found(&hub, &[&number]).await;
            backdoor.change(&put(&bytes)).await;
        }
        for (column, changed, back) in [
            ("count", "count + 1", "count - 1"),
            ("number", "number + 1000", "number - 1000"),
            ("signer", "signer || 'x'", "substr(signer, 1, 16)"),
        ] {
            backdoor.change(&format!("UPDATE audit_seals SET {column} = {changed} WHERE id = '{id}'")).await;
            assert_found(&hub, &[&number]).await;
            backdoor.change(&format!("UPDATE audit_seals SET {column} = {back} WHERE id = '{id}'")).await;
        }
        assert_whole(&hub, rows.len() as u64).await;
    })
    .await;
}

#[tokio::test]
async fn rows_and_seals_that_are_gone_moved_or_added_are_missed() {
    let cases: [(&str, &[&str]); 5] = [
        ("DELETE FROM audit_logs WHERE id = '{row}'", &["row number", "missing"]),
        ("UPDATE audit_logs SET seal_id = '{other_seal}' WHERE id = '{row}'", &["seal"]),
        ("DELETE FROM audit_seals WHERE id = '{seal}'", &["seal"]),
        ("DELETE FROM audit_seals WHERE id = '{newest_seal}'", &["row"]),
        (
            "INSERT INTO audit_logs (id, chain, org_id, owner_id, action, subject_type, subject_id, body, seal_id, \
             created_at, updated_at) SELECT '{fresh}', chain, org_id, owner_id, action, subject_type, subject_id, \
             body, seal_id, created_at, updated_at FROM audit_logs WHERE id = '{row}'",
            &["was added to seal"],
        ),
    ];
    for (sql, names) in cases {
        on_each_engine(async |hub| {
            let rows = chain(&hub).await;
            let seals = all_items(&hub, &hub.admin_key, "/api/v1/audit/seals").await;
            let seal_of =
                get(&hub, &hub.admin_key, &format!("/api/v1/audit/{}", rows[4])).await["seal"]["id"].clone();
            let seal_of = seal_of.as_str().unwrap();
            let ids: Vec<&str> = seals.iter().map(|seal| seal["id"].as_str().unwrap()).collect();
            let other = ids.iter().find(|id| **id != seal_of).unwrap();
            let sql = sql
                .replace("{row}", &rows[4])
                .replace("{seal}", seal_of)
                .replace("{other_seal}", other)
                .replace("{newest_seal}", ids[0])
                .replace("{fresh}", "0197a000-0000-7000-8000-000000000002");
            assert_whole(&hub, rows.len() as u64).await;
            Backdoor::open(&hub).await.change(&sql).await;
            assert_found(&hub, names).await;
        })
        .await;
    }
}

/// A deleted key takes its column with it, and nothing else: what was sealed still names it.
#[tokio::test]
async fn deleting_a_key_breaks_nothing() {
    on_each_engine(async |hub| {
        let tool = mint(&hub, &hub.admin_key, json!({"name": "tool"})).await;
        mint(&hub, &tool.key, json!({"name": "made with it"})).await;
        seal_all(&hub.hub).await.unwrap();
        let path = format!("/api/v1/audit?key_id={}", tool.id);
        let done = all_items(&hub, &hub.admin_key, &path).await;
        assert_eq!(done.len(), 1);
        let row = done[0]["id"].as_str().unwrap();
        let backdoor = Backdoor::open(&hub).await;
        backdoor.change(&format!("DELETE FROM api_keys WHERE id = '{}'", tool.id)).await;
        let column = backdoor.cell(&format!("SELECT key_id FROM audit_logs WHERE id = '{row}'")).await;
        assert_eq!(column, "NULL");
        let count = all_items(&hub, &hub.admin_key, "/api/v1/audit").await.len();
        assert_whole(&hub, count as u64).await;
        let shown = get(&hub, &hub.admin_key, &format!("/api/v1/audit/{row}")).await;
        assert_eq!(shown["key_id"], json!(tool.id));
        expect(hub.admin("GET", &format!("/api/v1/audit/{row}/proof")), 200).await;
    })
    .await;
}

#[tokio::test]
async fn nobody_has_checked_yet() {
    on_each_engine(async |hub| {
        send(hub.admin("GET", CHECK)).await.problem(404, "NOT_FOUND");
        check(&hub).await;
        let theirs = hub.tenant("other").await;
        send(hub.request("GET", CHECK).bearer_auth(&theirs)).await.problem(404, "NOT_FOUND");
    })
    .await;
}

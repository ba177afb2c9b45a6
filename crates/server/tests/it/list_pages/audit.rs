//! The audit log.

use domain::audit::AuditEntry;
use hub::audit::sealer::seal_all;
use serde_json::json;
use testkit::on_each_engine;

use super::{Reader, holds, lacks, post};
use crate::backdoor::Backdoor;
use crate::support::{all_items, eventually, get, id};

const NOBODYS: &str = "0197a000-0000-7000-8000-000000000000";

#[tokio::test]
async fn rows_open_to_their_reason_and_their_proof() {
    on_each_engine(async |hub| {
        let body = json!({"key": "resource:database:prod", "reason": "it <b>hangs</b>"});
        post(&hub, &hub.admin_key, "/api/v1/locks/force-release", &body).await;
        let row = eventually("a sealed row", async || {
            drop(seal_all(&hub.hub).await);
            let rows = all_items(&hub, &hub.admin_key, "/api/v1/audit?action=lock:force_released").await;
            rows.into_iter().find(|row| !row["seal"].is_null())
        })
        .await;
        let (admin, member) = (
            Reader::of(&hub, &hub.admin_key).await,
            Reader::of(&hub, &hub.member(&hub.admin_key, "mia").await).await,
        );
        let page = admin.page("/audit").await;
        holds(&page, &["lock:force_released", "data-live=\"audit\"", "Not checked yet"]);
        let at = row["occurred_at"].as_str().unwrap();
        holds(&page, &[&at[11..at.len() - 1]]);
        let open = format!("/audit?row={}", id(&row));
        let shown = admin.page(&open).await;
        let proof = get(&hub, &hub.admin_key, &format!("/api/v1/audit/{}/proof", id(&row))).await;
        holds(&shown, &["it &#60;b&#62;hangs&#60;/b&#62;", proof["root"].as_str().unwrap()]);
        holds(&shown, &[proof["leaf"].as_str().unwrap(), "127.0.0.1", "Download proof"]);
        // Addresses and proofs are for admins.
        let shown = member.page(&open).await;
        holds(&shown, &["it &#60;b&#62;hangs", "so it is for admins"]);
        lacks(&shown, &["127.0.0.1", proof["root"].as_str().unwrap(), "Check now", "Export NDJSON"]);
        assert_eq!(member.fill("/audit/verify", &[]).await.status.as_u16(), 403);
        let key = get(&hub, &hub.admin_key, "/api/v1/me").await["key_id"].as_str().unwrap().to_owned();
        for (query, is_there) in [
            ("action=lock:force_released", true),
            ("action=nothing:happened", false),
            ("actor=me", true),
            ("from=2020-01-01", true),
            ("to=2020-01-01", false),
            (&format!("key={key}"), true),
            (&format!("key={NOBODYS}"), false),
            (&format!("task={NOBODYS}"), false),
            (&format!("session={NOBODYS}"), false),
        ] {
            let page = admin.page(&format!("/audit?{query}")).await;
            assert_eq!(page.contains(&format!("id=\"row-{}\"", id(&row))), is_there, "{query}");
        }
    })
    .await;
}

#[tokio::test]
async fn whether_the_chain_is_whole_comes_first() {
    on_each_engine(async |hub| {
        let admin = Reader::of(&hub, &hub.admin_key).await;
        assert_eq!(admin.taken("/audit/verify", &[]).await, "/audit");
        let page = admin.page("/audit").await;
        holds(&page, &["<h2 id=\"h-v\">Verified</h2>", "rows under"]);
        drop(seal_all(&hub.hub).await);
        let backdoor = Backdoor::open(&hub).await;
        let row = id(&all_items(&hub, &hub.admin_key, "/api/v1/audit").await[0]);
        backdoor.change(&format!("UPDATE audit_logs SET reason = 'another one' WHERE id = '{row}'")).await;
        admin.taken("/audit/verify", &[]).await;
        let page = admin.page("/audit").await;
        holds(&page, &["Not what was sealed", "the chain is broken", "Rows after this place are not proven"]);
        lacks(&page, &[">Verified<"]);
        let wrong = format!("href=\"/audit?row={row}#row-{row}\">See the row.</a>");
        holds(&page, &[&format!("<b>Column reason of row {row} is not what its body says.</b>"), &wrong]);
        let needs = ["<a class=\"strong\" href=\"/audit\">The audit log</a> is not what was sealed. Found"];
        holds(&admin.page("/overview").await, &needs);
        // A forger who knows the form: the body can be read, and only the seal knows better.
        let body = backdoor.read_bytes("body", &format!("FROM audit_logs WHERE id = '{row}'")).await;
        let mut entry = AuditEntry::from_body(&body).unwrap();
        entry.reason = Some("another one".to_owned());
        let forged = backdoor.bytes(&entry.body());
        backdoor.change(&format!("UPDATE audit_logs SET body = {forged} WHERE id = '{row}'")).await;
        let page = admin.page(&format!("/audit?row={row}")).await;
        holds(&page, &["This row is not what was sealed."]);
    })
    .await;
}

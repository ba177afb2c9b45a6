//! The audit log.

use domain::audit::AuditEntry;
use hub::audit::sealer::seal_all;
use serde_json::json;
use testkit::on_each_engine;

use super::{Reader, holds, lacks, post};
use crate::backdoor::Backdoor;
use crate::reviews::person;
use crate::support::{all_items, eventually, get, id, send};

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
        // The hub seals by itself too, so a check may be behind a moment later.
        let all_checked = eventually("a check of all seals", async || {
            drop(seal_all(&hub.hub).await);
            admin.taken("/audit/verify", &[]).await;
            let page = admin.page("/audit").await;
            (!page.contains("not checked")).then_some(page)
        });
        let all_checked = all_checked.await;
        lacks(&all_checked, &["<i class=\"plain\"></i>"]);
        holds(&all_checked, &["aria-hidden=\"true\"><i></i>"]);
        // What was sealed after the check, the check says nothing about.
        for name in ["one", "two"] {
            hub.member(&hub.admin_key, name).await;
            drop(seal_all(&hub.hub).await);
        }
        let stale = admin.page("/audit").await;
        let seals_in = |page: &str, bar: &str| page.matches(bar).count();
        let since = seals_in(&stale, "<i class=\"plain\"></i>");
        assert!(since >= 1, "{stale}");
        let words = if since == 1 { "seal since is" } else { "seals since are" };
        holds(&stale, &[&format!("; {since} {words} not checked"), "<i></i><i class=\"plain\"></i>"]);
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

/// People read names; the id is there too, and what is gone keeps nothing else.
#[tokio::test]
async fn rows_name_what_they_are_about() {
    on_each_engine(async |hub| {
        let ann = person(&hub, "ann", &["author"]).await;
        let config = json!({"type": "infrastructure", "description": "Drop <b>orders</b>"});
        let task = json!({"config": config, "slug": "drop-orders", "path": "shop/orders"});
        let task = id(&post(&hub, &ann, "/api/v1/tasks", &task).await);
        let other = json!({"config": {"type": "infrastructure", "description": "Gone soon"}});
        let gone = id(&post(&hub, &ann, "/api/v1/tasks", &other).await);
        let delete = hub.request("DELETE", &format!("/api/v1/tasks/{gone}")).bearer_auth(&ann);
        assert!(send(delete).await.status.is_success());
        let agent = id(&post(&hub, &ann, "/api/v1/agents", &json!({"name": "steward"})).await);
        let policy = json!({"name": "Two eyes", "required_roles": ["reviewer"]});
        let policy = id(&post(&hub, &hub.admin_key, "/api/v1/policies", &policy).await);
        post(&hub, &ann, &format!("/api/v1/tasks/{task}/submit"), &json!({})).await;
        let admin = Reader::of(&hub, &hub.admin_key).await;
        let page = admin.page("/audit").await;
        let short = |id: &str| format!("title=\"{id}\">…{}</span>", &id[id.len() - 8..]);
        holds(&page, &["task <b>Drop &#60;b&#62;orders&#60;/b&#62;</b>", &short(&task), &short(&gone)]);
        holds(&page, &["agent <b>steward</b>", &short(&agent), "policy <b>Two eyes</b>", &short(&policy)]);
        lacks(&page, &["Gone soon", &format!(">{task}<"), &format!(">{agent}<")]);
        let rows = all_items(&hub, &hub.admin_key, &format!("/api/v1/audit?task_id={task}")).await;
        let open = admin.page(&format!("/audit?row={}", id(&rows[0]))).await;
        holds(&open, &["<dt>Actor</dt><dd>ann@", &format!("wrap-any\">{task}</span>")]);
    })
    .await;
}

/// Rows are found by what people call those who did something and what it was done to, in the organization only.
#[tokio::test]
async fn rows_are_found_by_names() {
    on_each_engine(async |hub| {
        let ann = person(&hub, "ann", &["author"]).await;
        let bob = person(&hub, "bob", &["author"]).await;
        let made = async |key: &str, title: &str, slug: &str| {
            let config = json!({"type": "infrastructure", "description": title});
            let body = json!({"config": config, "slug": slug, "path": format!("shop/{slug}")});
            let task = id(&post(&hub, key, "/api/v1/tasks", &body).await);
            let rows = all_items(&hub, key, &format!("/api/v1/tasks/{task}/audit")).await;
            id(rows.first().unwrap())
        };
        let orders = made(&ann, "Drop ORDERS", "drop-orders").await;
        let index = made(&bob, "Index of orders", "index-it").await;
        let theirs = hub.tenant("other").await;
        let foreign = made(&theirs, "Their orders", "foreign").await;
        let (admin, email) = (Reader::of(&hub, &hub.admin_key).await, "ann@default.example");
        for (query, finds) in [
            ("task=drop-orders", [true, false]),
            ("task=shop/index-it", [false, true]),
            ("task=orders", [true, true]),
            ("task=drop%20orders", [true, false]),
            ("task=foreign", [false, false]),
            ("task=their", [false, false]),
            ("actor=ann", [true, false]),
            ("actor=BOB", [false, true]),
            (&format!("actor={email}"), [true, false]),
            ("actor=nobody-is", [false, false]),
            ("actor=ann&task=index-it", [false, false]),
        ] {
            let page = admin.page(&format!("/audit?action=task:created&{query}")).await;
            let there = [&orders, &index].map(|row| page.contains(&format!("id=\"row-{row}\"")));
            assert_eq!(there, finds, "{query} {page}");
            assert!(!page.contains(&foreign), "{query} {page}");
        }
        let page = admin.page("/audit?task=drop-orders").await;
        holds(&page, &["task <b>Drop ORDERS</b>", "Take away the filter task Drop ORDERS"]);
        holds(&admin.page("/audit?actor=nobody-is").await, &["Nobody here has a name or an email"]);
        holds(&admin.page("/audit?task=%3Cx").await, &["No task has this slug or path", "&#60;x"]);
        for number in 0..9 {
            made(&ann, "Many alike", &format!("alike-{number}")).await;
        }
        let page = admin.page("/audit?action=task:created&task=alike").await;
        holds(&page, &["More than 8 tasks fit"]);
        assert_eq!(page.matches("<tr id=\"row-").count(), 8, "{page}");
    })
    .await;
}

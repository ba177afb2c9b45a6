//! The plan and the overview.

use serde_json::{Value, json};
use testkit::{TestHub, on_each_engine};

use super::{Reader, holds, lacks, place, post};
use crate::backdoor::Backdoor;
use crate::reviews::{answer, asked, person, submitted};
use crate::support::{all_items, expect, id};

async fn waiting(hub: &TestHub, key: &str, name: &str, on: &[&str]) -> String {
    let body: Value =
        json!({"config": {"type": "infrastructure", "description": name, "resources": []}, "depends_on": on});
    id(&post(hub, key, "/api/v1/tasks", &body).await)
}

#[tokio::test]
async fn what_waits_is_drawn_and_what_holds_it_up_is_said() {
    on_each_engine(async |hub| {
        let ann = person(&hub, "ann", &["author"]).await;
        let reader = Reader::of(&hub, &ann).await;
        holds(&reader.page("/plan").await, &["Nothing waits for anything"]);
        let first = waiting(&hub, &ann, "Add the column", &[]).await;
        let second = waiting(&hub, &ann, "Backfill it", &[&first]).await;
        let third = waiting(&hub, &ann, "Drop the old one", &[&second]).await;
        waiting(&hub, &ann, "Alone", &[]).await;
        let page = reader.page("/plan").await;
        holds(
            &page,
            &["3 tasks and 2 dependencies. The longest wait has 3 tasks and begins with Add the column."],
        );
        assert_eq!(page.matches("edge-crit").count(), 2, "{page}");
        lacks(&page, &["Alone"]);
        // As one reads it: what comes first stands first.
        let at = |task: &str| place(&page, &format!("id=\"node-{task}\""));
        assert!(at(&first) < at(&second) && at(&second) < at(&third));
        let held = &page[place(&page, "id=\"holds\"")..place(&page, "id=\"next\"")];
        holds(held, &["Add the column", "nobody has handed it in", "2 tasks behind it"]);
        lacks(held, &["Backfill it"]);
        // What will never happen is said loudly.
        let backdoor = Backdoor::open(&hub).await;
        backdoor.change(&format!("UPDATE tasks SET state = 'FAILED' WHERE id = '{first}'")).await;
        let page = reader.page("/plan").await;
        holds(&page, &["edge-bad", "node-bad", "failed: whatever waits for it waits for ever"]);
        let list = reader.page("/plan?view=list").await;
        holds(&list, &["<table", "Drop the old one"]);
        lacks(&list, &["<svg class=\"graph\""]);
    })
    .await;
}

#[tokio::test]
async fn the_overview_counts_and_says_what_it_shows() {
    on_each_engine(async |hub| {
        let ann = person(&hub, "ann", &["author"]).await;
        let rob = person(&hub, "rob", &["reviewer"]).await;
        let reader = Reader::of(&hub, &rob).await;
        let empty = reader.page("/overview").await;
        holds(
            &empty,
            &["Nobody answered anything in 14 days.", "Nothing is in review.", "Nobody waits for a lock."],
        );
        let (first, second) = (submitted(&hub, &ann).await, submitted(&hub, &ann).await);
        expect(answer(&hub, &rob, &asked(&hub, &rob, &first).await, "approve"), 200).await;
        let page = reader.page("/overview").await;
        let number = |name: &str| {
            let after = &page[place(&page, &format!("<span>{name}</span><b>")) + name.len() + 16..];
            after.split('<').next().unwrap().to_owned()
        };
        assert_eq!(
            ["Waiting for a decision", "Answered today", "Approved, to start", "Applying now"].map(number),
            ["1", "1", "1", "0"]
        );
        holds(
            &page,
            &["1 waits for you", "with 1: 1 approved, 0 sent back, 0 rejected.", ">rob@default.example<"],
        );
        holds(&page, &["href=\"/tasks?state=REVIEWING\"", "href=\"/locks\"", "Every review can end"]);
        // Nobody is left who may sign: that is not shown as waiting.
        let backdoor = Backdoor::open(&hub).await;
        for request in all_items(&hub, &rob, &format!("/api/v1/approvals?task_id={}", id(&second))).await {
            let end = format!("UPDATE approvals SET status = 'EXPIRED' WHERE id = '{}'", id(&request));
            backdoor.change(&end).await;
        }
        let page = reader.page("/overview").await;
        holds(&page, &["cannot be approved as things are"]);
        holds(&reader.page("/tasks").await, &["Nobody is left who may sign"]);
        // However many came after it, and however much failed since: it is found among all.
        let failed = submitted(&hub, &ann).await;
        let fail = "UPDATE tasks SET state = 'FAILED', status = 'failed', needs_attention = TRUE, ended_at = created_at";
        backdoor.change(&format!("{fail} WHERE id = '{}'", id(&failed))).await;
        for _ in 0..31 {
            let one = submitted(&hub, &ann).await;
            let fail = fail.replace("TRUE", "FALSE");
            backdoor.change(&format!("{fail} WHERE id = '{}'", id(&one))).await;
            submitted(&hub, &ann).await;
        }
        let page = reader.page("/overview").await;
        holds(&page, &["cannot be approved as things are", "nobody knows how far it came"]);
        holds(&page, &["of 32 tasks in review are HIGH or CRITICAL."]);
        lacks(&page, &["the first 12"]);
    })
    .await;
}

/// Whoever is waited for is shown, also if they never answered anything.
#[tokio::test]
async fn the_overview_shows_who_holds_what_nobody_answered() {
    on_each_engine(async |hub| {
        let ann = person(&hub, "ann", &["author"]).await;
        let rob = person(&hub, "rob", &["reviewer"]).await;
        person(&hub, "eve", &["reviewer"]).await;
        let first = submitted(&hub, &ann).await;
        submitted(&hub, &ann).await;
        expect(answer(&hub, &rob, &asked(&hub, &rob, &first).await, "approve"), 200).await;
        let page = Reader::of(&hub, &ann).await.page("/overview").await;
        let row = |name: &str| {
            let after =
                page.split(&format!(">{name}@default.example<")).nth(1).unwrap_or_else(|| panic!("{page}"));
            after.split("</tr>").next().unwrap().to_owned()
        };
        holds(
            &row("rob"),
            &["data-l=\"waiting\">1<", "data-l=\"oldest\"><time ", "data-l=\"answered in 14 d\">1<"],
        );
        holds(
            &row("eve"),
            &["data-l=\"waiting\">1<", "data-l=\"oldest\"><time ", "data-l=\"answered in 14 d\">0<"],
        );
    })
    .await;
}

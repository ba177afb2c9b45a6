//! The list of tasks.

use serde_json::{Value, json};
use testkit::{TestHub, on_each_engine};

use super::{Reader, holds, lacks, place, post};
use crate::backdoor::Backdoor;
use crate::reviews::person;
use crate::support::{get, id};

async fn made(hub: &TestHub, key: &str, description: &str, more: Value) -> String {
    let mut body = json!({"config": {"type": "infrastructure", "description": description,
        "resources": [{"type": "database", "id": "prod-orders", "mode": "exclusive"}]}});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    id(&post(hub, key, "/api/v1/tasks", &body).await)
}

fn row(task: &str) -> String {
    format!("id=\"row-{task}\"")
}

#[tokio::test]
async fn every_filter_is_a_parameter_and_shows_exactly_what_it_says() {
    on_each_engine(async |hub| {
        let ann = person(&hub, "ann", &["author"]).await;
        person(&hub, "rob", &["reviewer"]).await;
        let tagged = json!({"metadata": {"tags": ["db"], "ticket_ref": "OPS-7"}, "path": "orders/region"});
        let draft = made(&hub, &ann, "Add an index to orders", tagged).await;
        let review = made(&hub, &ann, "Drop column legacy_status", json!({"submit": true})).await;
        let done = made(&hub, &ann, "Backfill region", json!({})).await;
        let backdoor = Backdoor::open(&hub).await;
        let finish = "UPDATE tasks SET state = 'COMPLETED', status = 'completed', ended_at = updated_at";
        backdoor.change(&format!("{finish} WHERE id = '{done}'")).await;
        let reader = Reader::of(&hub, &hub.admin_key).await;
        let all = [draft.as_str(), review.as_str(), done.as_str()];
        let project = id(&crate::support::all_items(&hub, &ann, "/api/v1/projects").await[0]);
        for (query, expected) in [
            ("", vec![0, 1]),
            ("?open=true", vec![0, 1]),
            ("?open=false", vec![0, 1, 2]),
            ("?state=DRAFT", vec![0]),
            ("?state=REVIEWING", vec![1]),
            ("?state=COMPLETED", vec![2]),
            ("?status=pending", vec![0]),
            ("?tag=db", vec![0]),
            ("?tag=", vec![0, 1]),
            ("?path=orders/", vec![0]),
            ("?resource=database:prod-orders", vec![0, 1, 2]),
            ("?resource=database:other", vec![]),
            ("?author=me", vec![]),
            ("?assignee=me", vec![]),
            ("?risk=LOW", vec![0, 1]),
            ("?risk=CRITICAL", vec![]),
            (&format!("?project={project}"), vec![0, 1, 2]),
            (&format!("?project={project}&state=DRAFT&tag=db"), vec![0]),
        ] {
            let page = reader.page(&format!("/tasks{query}")).await;
            let shown: Vec<usize> = (0..3).filter(|place| page.contains(&row(all[*place]))).collect();
            assert_eq!(shown, expected, "{query}");
            assert_eq!(page.contains("class=\"blank\""), expected.is_empty(), "{query}");
        }
        let page = reader.page("/tasks").await;
        holds(
            &page,
            &[
                "Drop column legacy_status",
                "OPS-7",
                "database:prod-orders",
                ">ann@default.example<",
                "MEDIUM</span> <span class=\"muted small\">foreseen</span>",
            ],
        );
        // A draft has the same risk on its own page, and one that was handed in has a number on both.
        let own = reader.page(&format!("/tasks/{}", draft)).await;
        holds(&own, &["MEDIUM</span> <span class=\"muted small\">foreseen</span>", ">Risk, foreseen</h2>"]);
        let score = format!(
            "MEDIUM {}</span>",
            get(&hub, &ann, &format!("/api/v1/tasks/{}", review)).await["risk"]["score"]
        );
        let own = reader.page(&format!("/tasks/{}", review)).await;
        holds(&own, &[&score, ">Risk</h2>"]);
        holds(&page, &[&score]);
        lacks(&own, &["foreseen"]);
        holds(&page, &["0 of 1", "class=\"strip\"", "data-live=\"tasks\""]);
        assert!(place(&page, &row(&review)) < place(&page, &row(&draft)), "newest first");
        // A chip leads to the list without it.
        let page = reader.page("/tasks?state=DRAFT&tag=db").await;
        holds(&page, &["href=\"/tasks?tag=db\"", "href=\"/tasks?state=DRAFT\""]);
    })
    .await;
}

#[tokio::test]
async fn what_is_typed_leads_to_a_task_or_a_filter() {
    on_each_engine(async |hub| {
        let reader = Reader::of(&hub, &hub.admin_key).await;
        let gone = "0197a000-0000-7000-8000-000000000000";
        for (typed, to) in [
            (gone, format!("/tasks/{gone}")),
            ("database:prod", "/tasks?resource=database%3Aprod".to_owned()),
            ("%23db", "/tasks?tag=db".to_owned()),
            ("db%26x", "/tasks?tag=db%26x".to_owned()),
        ] {
            let answer = reader.look(&format!("/tasks?q={typed}")).await;
            assert_eq!((answer.status.as_u16(), answer.header("location")), (303, Some(to.as_str())));
        }
    })
    .await;
}

#[tokio::test]
async fn a_long_list_comes_in_pages_without_gaps() {
    on_each_engine(async |hub| {
        let ann = person(&hub, "ann", &["author"]).await;
        let mut wanted = Vec::new();
        for number in 0..65 {
            wanted.push(made(&hub, &ann, &format!("number {number}"), json!({})).await);
        }
        wanted.reverse();
        let reader = Reader::of(&hub, &hub.admin_key).await;
        let (mut seen, mut path) = (Vec::new(), "/tasks?state=DRAFT".to_owned());
        loop {
            let page = reader.page(&path).await;
            let rows = page.split("<tr id=\"row-").skip(1);
            seen.extend(rows.map(|row| row[..36].to_owned()));
            let Some(before) = page.find("\" rel=\"next\"") else { break };
            let begin = page[..before].rfind("href=\"").unwrap() + 6;
            path = page[begin..before].replace("&#38;", "&");
        }
        assert_eq!(seen, wanted);
    })
    .await;
}

/// What is counted and listed is of the organization one acts in, and of no other.
#[tokio::test]
async fn no_page_shows_what_belongs_to_others() {
    on_each_engine(async |hub| {
        let theirs = hub.tenant("other").await;
        let foreign = made(&hub, &theirs, "Foreign affairs", json!({"metadata": {"tags": ["db"]}})).await;
        let behind = made(&hub, &theirs, "Behind foreign affairs", json!({"depends_on": [foreign]})).await;
        let body = json!({"key": "resource:database:foreign", "purpose": "Foreign affairs"});
        post(&hub, &theirs, "/api/v1/locks/acquire", &body).await;
        post(&hub, &theirs, "/api/v1/agents", &json!({"name": "foreign-agent"})).await;
        let reader = Reader::of(&hub, &hub.admin_key).await;
        for path in [
            "/tasks?open=false",
            "/tasks?tag=db",
            "/locks",
            "/locks?key=resource:database:foreign",
            "/locks/release?key=resource:database:foreign",
            "/agents",
            "/audit",
            "/overview",
            "/plan",
            "/plan?view=list",
        ] {
            let page = reader.page(path).await;
            lacks(&page, &["oreign affairs", "foreign-agent", &foreign, &behind]);
        }
        let page = reader.page("/tasks").await;
        assert!(!page.contains("id=\"row-"), "{page}");
        let their_page = Reader::of(&hub, &theirs).await.page("/tasks").await;
        holds(&their_page, &["Foreign affairs"]);
    })
    .await;
}

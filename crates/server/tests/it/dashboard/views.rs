//! The views of the inbox: what waits for me, what of mine waits for others, what I have answered; and what narrows them.

use serde_json::json;
use testkit::{Engine, Setup, TestHub, on_each_engine};

use super::{desk, leads, small, with};
use crate::backdoor::Backdoor;
use crate::support::{expect, id, send};

#[tokio::test]
async fn what_waits_for_others_and_what_was_answered_have_their_views() {
    on_each_engine(async |hub| {
        let desk = desk(&hub).await;
        let empty = desk.page("/").await;
        assert!(empty.contains("href=\"/\" aria-current=\"page\">Waiting for me</a>"), "{empty}");
        assert!(desk.page("/?view=done").await.contains("You have not answered anything yet"));
        assert!(desk.page("/?view=mine").await.contains("Nothing of yours waits for others"));
        let task = desk.submitted(small("Answer me")).await;
        let own = member_task(&desk, "Mine alone").await;
        let page = desk.page("/").await;
        assert!(page.contains("Waiting for me <span class=\"count count-hot\">1</span>"), "{page}");
        assert!(page.contains("Mine, waiting <span class=\"count\">1</span>"), "{page}");
        let mine = desk.page("/?view=mine").await;
        assert!(mine.contains(&format!("id=\"row-{own}\"")) && mine.contains("Mine alone"), "{mine}");
        assert!(!mine.contains("Answer me"), "what waits for Bob is not his own: {mine}");
        let open = desk.page(&format!("/?view=mine&task={own}")).await;
        assert!(open.contains("and too few of them are left."), "{open}");
        let (action, fields) = desk.form(&format!("/tasks/{}", id(&task)), "reject").await;
        leads(&desk.post(&action, &with(fields, "reason", "not <b>now</b>")).await);
        let done = desk.page("/?view=done").await;
        assert!(done.contains("You rejected") && done.contains("not &#60;b&#62;now&#60;/b&#62;"), "{done}");
        assert!(!done.contains("Mine alone"), "{done}");
        let wrong = send(desk.bob.on(hub.request("GET", "/?view=theirs"))).await;
        assert_eq!(wrong.status.as_u16(), 422, "{}", wrong.text());
    })
    .await;
}

/// A task of Bob's own, handed in.
async fn member_task(desk: &super::Desk<'_>, description: &str) -> String {
    let org = expect(desk.bob.on(desk.hub.request("GET", "/api/v1/me")), 200).await.json();
    let path = format!(
        "/api/v1/organizations/{}/members/{}",
        org["organization"]["id"].as_str().unwrap(),
        org["account"]["id"].as_str().unwrap()
    );
    let roles = json!({"roles": ["reviewer", "author"]});
    expect(desk.hub.admin("PATCH", &path).json(&roles), 200).await;
    let body = json!({"config": small(description), "submit": true});
    id(&expect(desk.bob.on(desk.hub.request("POST", "/api/v1/tasks")).json(&body), 201).await.json())
}

#[tokio::test]
async fn what_waits_is_narrowed_by_words_risk_and_project() {
    on_each_engine(async |hub| {
        let desk = desk(&hub).await;
        let catalogue = json!([{"pattern": "database:prod-*", "criticality": 100}]);
        expect(hub.admin("PUT", "/api/v1/resource-catalogue").json(&catalogue), 200).await;
        desk.submitted(small("Rotate the <certificate>")).await;
        let config = json!({"type": "t", "description": "Drop the table", "declared_risk": "high",
            "resources": [{"type": "database", "id": "prod-1", "mode": "exclusive"}]});
        let risky = desk.submitted(config).await;
        let project = risky["project_id"].as_str().unwrap();
        let nobodys = "0197a000-0000-7000-8000-000000000000";
        for (query, rotates, drops) in [
            ("".to_owned(), true, true),
            ("?q=&risk=&project=".to_owned(), true, true),
            ("?q=CERTIFICATE+rotate".to_owned(), true, false),
            ("?q=database%3Aprod-1".to_owned(), false, true),
            ("?q=ann".to_owned(), true, true),
            ("?risk=HIGH".to_owned(), false, true),
            (format!("?project={project}"), true, true),
            (format!("?project={nobodys}"), false, false),
            ("?q=nothing+like+it".to_owned(), false, false),
        ] {
            let page = desk.page(&format!("/{query}")).await;
            let found = (page.contains("Rotate the &#60;certificate"), page.contains("Drop the table"));
            assert_eq!(found, (rotates, drops), "{query}: {page}");
            assert!(rotates || drops || page.contains("Nothing that waits for you is like this"), "{page}");
        }
        let page = desk.page("/?q=%22%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E").await;
        assert!(!crate::support::without_module(&page).contains("<script"), "{page}");
        for wrong in ["/?risk=VAST", "/?project=x", "/?other=1"] {
            let answer = send(desk.bob.on(hub.request("GET", wrong))).await;
            assert_eq!(answer.status.as_u16(), 422, "{wrong}: {}", answer.text());
        }
    })
    .await;
}

#[tokio::test]
async fn tasks_that_wait_for_each_other_are_named_by_their_titles() {
    on_each_engine(async |hub| {
        let desk = desk(&hub).await;
        let first = desk.submitted(small("Lay the <ground>")).await;
        let body = json!({"config": small("Build on it"), "submit": true, "depends_on": [id(&first)]});
        let made = hub.request("POST", "/api/v1/tasks").bearer_auth(&desk.author).json(&body);
        let second = expect(made, 201).await.json();
        let page = desk.page(&format!("/tasks/{}", id(&second))).await;
        let waits = page.split_once("<dt>Waits for</dt>").unwrap().1.split("</dd>").next().unwrap();
        assert!(waits.contains("Lay the &#60;ground&#62;</a>"), "{waits}");
        assert!(page.contains("when the task it waits for is done"), "{page}");
        let request = id(&desk.asked(&first).await);
        let pane = desk.page(&format!("/?open={request}")).await;
        assert!(pane.contains("1 task waits for it."), "{pane}");
    })
    .await;
}

#[tokio::test]
async fn what_somebody_was_told_is_there_until_it_is_read_and_after() {
    on_each_engine(async |hub| {
        let desk = desk(&hub).await;
        assert!(desk.page("/?view=told").await.contains("You were not told anything yet"));
        let task = desk.submitted(small("Tell <b>Bob</b>")).await;
        let page = desk.page("/").await;
        assert!(page.contains("Told <span class=\"count\">1</span>"), "{page}");
        let told = desk.page("/?view=told").await;
        assert!(told.contains("You were asked to decide") && told.contains("Tell &#60;b&#62;Bob"), "{told}");
        assert!(told.contains(&format!("href=\"/?view=told&#38;task={}\"", id(&task))), "{told}");
        let (action, fields) = desk.form("/?view=told", "notifications").await;
        let field = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
        let strangers = field("notification_ids", "0197a000-0000-7000-8000-000000000000");
        assert_eq!(leads(&desk.post(&action, &strangers).await), "/?view=told");
        assert!(
            desk.page("/?view=told").await.contains("Mark these as read"),
            "nobody else's is read for it"
        );
        assert_eq!(leads(&desk.post(&action, &fields).await), "/?view=told");
        let told = desk.page("/?view=told").await;
        assert!(told.contains("You were asked to decide") && !told.contains("Mark these as read"), "{told}");
        for wrong in [field("notification_ids", "x"), field("other", "1")] {
            assert_eq!(desk.post(&action, &wrong).await.status.as_u16(), 422, "{wrong:?}");
        }
    })
    .await;
}

/// As if so many more had been asked for; what they are about is one task.
async fn ask_more(hub: &TestHub, request: &str, count: usize) {
    let backdoor = Backdoor::open(hub).await;
    let columns = backdoor.column("SELECT name FROM pragma_table_info('approvals')").await;
    let copied = columns.iter().map(|column| match column.as_str() {
        "id" | "review_id" => format!("printf('%08x', n.i) || substr({column}, 9)"),
        other => other.to_owned(),
    });
    let copied: Vec<String> = copied.collect();
    let copy = format!(
        "PRAGMA foreign_keys = OFF; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count}) \
         INSERT INTO approvals ({}) SELECT {} FROM n, approvals WHERE id = '{request}'",
        columns.join(", "),
        copied.join(", "),
    );
    backdoor.run(&copy).await;
}

/// A page counts as far as a number tells somebody something. Whoever asks over HTTP is told all of it.
#[tokio::test]
async fn a_page_counts_what_waits_up_to_a_bound_and_the_interface_to_the_last() {
    let hub = TestHub::start(Setup::on(Engine::Sqlite)).await;
    let desk = desk(&hub).await;
    let task = desk.submitted(small("One of many")).await;
    ask_more(&hub, &id(&desk.asked(&task).await), 998).await;
    let page = desk.page("/").await;
    assert!(page.contains("Waiting for me <span class=\"count count-hot\">999</span>"), "{page}");
    desk.submitted(small("Another")).await;
    let page = desk.page("/").await;
    assert!(page.contains("Waiting for me <span class=\"count count-hot\">999+</span>"), "{page}");
    let stats = expect(desk.bob.on(hub.request("GET", "/api/v1/approvals/stats")), 200).await.json();
    assert_eq!(stats["pending_count"], json!(1000));
}

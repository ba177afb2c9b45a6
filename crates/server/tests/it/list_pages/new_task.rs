//! Proposing a task on its page: as a draft, at once, or only in thought.

use serde_json::{Value, json};
use testkit::{TestHub, on_each_engine};

use super::{Reader, holds, lacks};
use crate::reviews::person;
use crate::support::{all_items, get, without_module};

const FORM: [(&str, &str); 16] = [
    ("project_id", ""),
    ("description", "Drop column\r\nlegacy_status"),
    ("task_type", "migration"),
    ("resources", "database:prod-orders\r\nservice:checkout shared"),
    ("declared_risk", "high"),
    ("rollback_strategy", "automatic"),
    ("priority", "90"),
    ("timeout_seconds", "900"),
    ("more", "{\"parameters\": {\"rows\": 7}, \"idempotent\": true, \"max_retries\": 2}"),
    ("slug", "drop-legacy"),
    ("path", "orders/cleanup"),
    ("depends_on", ""),
    ("due_at", "2031-03-18T15:30"),
    ("tags", "orders, db"),
    ("ticket_ref", "OPS-7"),
    ("then", "draft"),
];

fn with<'a>(changes: &[(&'static str, &'a str)]) -> Vec<(&'static str, &'a str)> {
    FORM.into_iter()
        .map(|(name, value)| {
            let changed = changes.iter().find(|(changed, _)| *changed == name);
            (name, changed.map_or(value, |(_, value)| *value))
        })
        .collect()
}

async fn tasks(hub: &TestHub) -> Vec<Value> {
    all_items(hub, &hub.admin_key, "/api/v1/tasks").await
}

#[tokio::test]
async fn a_task_is_written_as_it_was_typed_and_submitted_if_that_is_wanted() {
    on_each_engine(async |hub| {
        let author = Reader::of(&hub, &person(&hub, "ann", &["author"]).await).await;
        person(&hub, "bob", &["reviewer"]).await;
        let page = author.page("/tasks/new").await;
        holds(&page, &["name=\"more\"", "selected>default", "Save as a draft", "Save and submit for review"]);
        holds(&author.page("/tasks").await, &["href=\"/tasks/new\""]);
        let to = author.taken("/tasks/new", &with(&[])).await;
        let made = get(&hub, &hub.admin_key, &format!("/api/v1{to}")).await;
        assert_eq!(made["state"], "DRAFT");
        let config = &made["config"];
        assert_eq!(config["description"], "Drop column\nlegacy_status");
        assert_eq!(
            config["resources"],
            json!([{"type": "database", "id": "prod-orders", "mode": "exclusive"},
                   {"type": "service", "id": "checkout", "mode": "shared"}])
        );
        assert_eq!((&config["priority"], &config["timeout_seconds"]), (&json!(90), &json!(900)));
        assert_eq!(
            (&config["declared_risk"], &config["rollback_strategy"]),
            (&json!("high"), &json!("automatic"))
        );
        assert_eq!((&config["parameters"], &config["max_retries"]), (&json!({"rows": 7}), &json!(2)));
        assert_eq!((&made["slug"], &made["path"]), (&json!("drop-legacy"), &json!("orders/cleanup")));
        assert!(made["due_at"].as_str().unwrap().starts_with("2031-03-18T15:30:00"), "{made}");
        assert_eq!(
            (&made["metadata"]["tags"], &made["metadata"]["ticket_ref"]),
            (&json!(["orders", "db"]), &json!("OPS-7"))
        );
        // Behind the first, by its short name and by its id.
        let first = made["id"].as_str().unwrap();
        for (slug, name) in [("second", "drop-legacy"), ("third", first)] {
            let project = made["project_id"].as_str().unwrap();
            let form =
                with(&[("project_id", project), ("slug", slug), ("depends_on", name), ("then", "submit")]);
            let to = author.taken("/tasks/new", &form).await;
            let made = get(&hub, &hub.admin_key, &format!("/api/v1{to}")).await;
            assert_eq!((&made["state"], &made["depends_on"]), (&json!("REVIEWING"), &json!([first])));
        }
        let rows = all_items(&hub, &hub.admin_key, "/api/v1/audit?action=task:created").await;
        assert_eq!(rows.len(), 3, "{rows:?}");
    })
    .await;
}

#[tokio::test]
async fn asking_what_would_happen_saves_nothing_and_keeps_what_was_typed() {
    on_each_engine(async |hub| {
        let author = Reader::of(&hub, &person(&hub, "ann", &["author"]).await).await;
        person(&hub, "bob", &["reviewer"]).await;
        let answer = author.fill("/tasks/new", &with(&[("then", "simulate")])).await;
        assert_eq!(answer.status.as_u16(), 200, "{}", answer.text());
        let page = answer.text();
        let would = page.split_once("id=\"would\"").unwrap().1.split("</section>").next().unwrap();
        holds(would, &["default v1", "bob", "Reviewing", "Nothing was saved and nobody was asked."]);
        lacks(would, &["ann"]);
        holds(&page, &["value=\"drop-legacy\"", "service:checkout shared", "value=\"2031-03-18T15:30\""]);
        assert!(tasks(&hub).await.is_empty(), "nothing was written");
        let member = Reader::of(&hub, &person(&hub, "mel", &[]).await).await;
        assert_eq!(member.look("/tasks/new").await.status.as_u16(), 403);
        lacks(&member.page("/tasks").await, &["href=\"/tasks/new\""]);
        for then in ["draft", "submit", "simulate"] {
            let refused = member.fill("/tasks/new", &with(&[("then", then)])).await;
            assert_eq!(refused.status.as_u16(), 403, "{then}");
        }
        assert!(tasks(&hub).await.is_empty());
    })
    .await;
}

const HOSTILE: &str = "</textarea><script>alert(1)</script>\"><img src=x>\u{202e}";

#[tokio::test]
async fn what_is_wrong_is_said_at_its_field_and_nothing_is_written() {
    on_each_engine(async |hub| {
        let author = Reader::of(&hub, &person(&hub, "ann", &["author"]).await).await;
        author.taken("/tasks/new", &with(&[("slug", "taken")])).await;
        let long_tag = "t".repeat(300);
        let huge = format!("{{\"parameters\": {{\"x\": \"{}\"}}}}", "y".repeat(70_000));
        for then in ["draft", "submit", "simulate"] {
            for (name, value) in [
                ("description", ""),
                ("description", " \r\n "),
                ("task_type", "Not A Type!"),
                ("resources", "no-colon"),
                ("resources", "database:x sometimes"),
                ("resources", "database:x\ndatabase:x"),
                ("declared_risk", "vast"),
                ("rollback_strategy", "perhaps"),
                ("priority", "101"),
                ("priority", "-1"),
                ("timeout_seconds", "soon"),
                ("more", "{"),
                ("more", "[]"),
                ("more", "{\"priority\": 1}"),
                ("more", "{\"unheard\": 1}"),
                ("more", "{\"a\": 1, \"a\": 2}"),
                ("more", "{\"action\": {\"kind\": \"command\"}}"),
                ("more", HOSTILE),
                ("more", huge.as_str()),
                ("slug", "Not A Slug"),
                ("path", "/../"),
                ("depends_on", "no-such-task"),
                ("depends_on", "0197a000-0000-7000-8000-000000000000"),
                ("due_at", "tomorrow"),
                ("tags", long_tag.as_str()),
                ("project_id", "nonsense"),
                ("project_id", "0197a000-0000-7000-8000-000000000000"),
            ] {
                let answer = author.fill("/tasks/new", &with(&[(name, value), ("then", then)])).await;
                let page = without_module(&answer.text());
                let what = format!("{then} {name}={}", value.chars().take(40).collect::<String>());
                assert_eq!(answer.status.as_u16(), 422, "{what}: {page}");
                holds(&page, &[&format!("id=\"{name}-bad\""), "Nothing was saved."]);
                lacks(&page, &["<script", "<img src=x"]);
                assert!(
                    name == "slug" || page.contains("value=\"drop-legacy\""),
                    "{what}: what was typed is kept"
                );
            }
        }
        let again = author.fill("/tasks/new", &with(&[("slug", "taken")])).await;
        assert_eq!(again.status.as_u16(), 422);
        holds(&again.text(), &["id=\"slug-bad\"", "exists already"]);
        for form in
            [with(&[("then", "apply")]), vec![("then", "draft")], [with(&[]), vec![("other", "x")]].concat()]
        {
            assert_eq!(author.fill("/tasks/new", &form).await.status.as_u16(), 422, "{form:?}");
        }
        assert_eq!(tasks(&hub).await.len(), 1);
    })
    .await;
}

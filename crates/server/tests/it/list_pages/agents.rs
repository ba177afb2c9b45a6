//! Agents.

use serde_json::json;
use testkit::on_each_engine;

use super::{Reader, holds, lacks, place, post};
use crate::reviews::person;
use crate::support::{expect, get, id};

/// What the form of a page says the agent is.
fn version_in(page: &str) -> String {
    let begin = "name=\"version\" value=\"";
    let version = page[place(page, begin) + begin.len()..].split('"').next().unwrap();
    version.replace("&#34;", "\"")
}

#[tokio::test]
async fn agents_are_shown_changed_drained_and_resumed() {
    on_each_engine(async |hub| {
        let ann = person(&hub, "ann", &["author"]).await;
        let body = json!({"name": "schema-steward", "description": "Runs migrations", "max_tasks": 2,
                          "labels": {"env": "prod"}, "config": {"secret_place": "vault"}});
        let agent = id(&post(&hub, &ann, "/api/v1/agents", &body).await);
        let reader = Reader::of(&hub, &ann).await;
        let page = reader.page("/agents").await;
        holds(&page, &["schema-steward", "Runs migrations", "Never heard", "0 of 2", "env=prod"]);
        holds(&page, &[&format!("id=\"row-{agent}\"")]);
        let list = reader.page("/agents?view=list").await;
        holds(&list, &["<table", "schema-steward"]);
        for (query, is_there) in [
            ("status=offline", true),
            ("status=active", false),
            ("owner=me", true),
            ("label=env:prod", true),
            ("label=env:dev", false),
            ("label=env=prod", true),
            ("label=env%3Dprod", true),
            ("label=+env+=+prod+", true),
            ("label=env%3Ddev", false),
        ] {
            let page = reader.page(&format!("/agents?{query}")).await;
            assert_eq!(page.contains("schema-steward"), is_there, "{query}");
        }
        let chosen = reader.page(&format!("/agents?agent={agent}")).await;
        holds(&chosen, &["secret_place", "name=\"max_tasks\"", "Drain: finish"]);
        let version = version_in(&chosen);
        let path = format!("/agents/{agent}");
        let form = |max: &'static str, labels: &'static str| {
            [
                ("version", version.clone()),
                ("description", "Runs migrations".into()),
                ("model", String::new()),
                ("role_name", "dba".into()),
                ("max_tasks", max.into()),
                ("labels", labels.into()),
            ]
        };
        let send = async |form: [(&str, String); 6]| {
            let fields: Vec<(&str, &str)> =
                form.iter().map(|(name, value)| (*name, value.as_str())).collect();
            reader.fill(&path, &fields).await
        };
        for (max, labels, words) in
            [("0", "", "Max tasks"), ("two", "", "whole number"), ("2", "env", "key=value")]
        {
            let answer = send(form(max, labels)).await;
            assert_eq!(answer.status.as_u16(), 422, "{max} {labels} {}", answer.text());
            holds(&answer.text(), &[words]);
        }
        let saved = send(form("5", "env=prod\nteam=db")).await;
        assert_eq!(saved.status.as_u16(), 303, "{}", saved.text());
        let now = get(&hub, &ann, &format!("/api/v1{path}")).await;
        assert_eq!(
            (&now["max_tasks"], &now["role_name"], &now["labels"]),
            (&json!(5), &json!("dba"), &json!({"env": "prod", "team": "db"}))
        );
        // What somebody looked at before is no ground to change it on.
        let stale = send(form("9", "")).await;
        assert_eq!(stale.status.as_u16(), 422);
        holds(&stale.text(), &["Nothing was saved"]);
        assert_eq!(get(&hub, &ann, &format!("/api/v1{path}")).await["max_tasks"], 5);
        let to = reader.taken(&format!("{path}/drain"), &[]).await;
        holds(&reader.page(&to).await, &["It takes no new work", "Resume: take work again"]);
        let to = reader.taken(&format!("{path}/resume"), &[]).await;
        holds(&reader.page(&to).await, &["It takes work again", "Drain: finish"]);
    })
    .await;
}

/// What is typed is what is kept, and an empty field takes the word away.
#[tokio::test]
async fn every_word_about_an_agent_is_saved() {
    on_each_engine(async |hub| {
        let ann = person(&hub, "ann", &["author"]).await;
        let body = json!({"name": "steward", "description": "Old words", "config": {"place": "vault"}});
        let made = post(&hub, &ann, "/api/v1/agents", &body).await;
        let reader = Reader::of(&hub, &ann).await;
        let path = format!("/agents/{}", id(&made));
        for (description, model, role) in [("New words", "large-2", "dba"), ("", "", "")] {
            let shown = reader.page(&format!("/agents?agent={}", id(&made))).await;
            let version = version_in(&shown);
            let form = [
                ("version", version.as_str()),
                ("description", description),
                ("model", model),
                ("role_name", role),
                ("max_tasks", "1"),
                ("labels", ""),
            ];
            reader.taken(&path, &form).await;
            let now = get(&hub, &ann, &format!("/api/v1{path}")).await;
            let word = |text: &str| if text.is_empty() { json!(null) } else { json!(text) };
            assert_eq!(now["description"], description);
            assert_eq!((&now["model"], &now["role_name"]), (&word(model), &word(role)));
            assert_eq!((&now["name"], &now["config"]), (&made["name"], &made["config"]), "the rest stays");
        }
    })
    .await;
}

#[tokio::test]
async fn others_agents_are_looked_at_and_not_touched() {
    on_each_engine(async |hub| {
        let ann = person(&hub, "ann", &["author"]).await;
        let body = json!({"name": "steward", "config": {"secret_place": "vault"}});
        let agent = id(&post(&hub, &ann, "/api/v1/agents", &body).await);
        let bob = person(&hub, "bob", &["author"]).await;
        let reader = Reader::of(&hub, &bob).await;
        let page = reader.page(&format!("/agents?agent={agent}")).await;
        holds(&page, &["steward", "answers for it and can change it"]);
        lacks(&page, &["secret_place", "name=\"max_tasks\"", "Drain: finish"]);
        assert_eq!(reader.fill(&format!("/agents/{agent}/drain"), &[]).await.status.as_u16(), 403);
        let form = [
            ("version", "\"x\""),
            ("description", ""),
            ("model", ""),
            ("role_name", ""),
            ("max_tasks", "3"),
            ("labels", ""),
        ];
        assert_eq!(reader.fill(&format!("/agents/{agent}"), &form).await.status.as_u16(), 403);
        let now = get(&hub, &ann, &format!("/api/v1/agents/{agent}")).await;
        assert_eq!((&now["max_tasks"], &now["status"]), (&json!(1), &json!("offline")));
    })
    .await;
}

/// An agent that was there and fell silent is on top; one that never came is not trouble.
#[tokio::test]
async fn who_fell_silent_is_on_top() {
    on_each_engine(async |hub| {
        let ann = person(&hub, "ann", &["author"]).await;
        let agent = id(&post(&hub, &ann, "/api/v1/agents", &json!({"name": "scribe"})).await);
        post(&hub, &ann, "/api/v1/agents", &json!({"name": "newcomer"})).await;
        let beat = hub.request("POST", &format!("/api/v1/agents/{agent}/heartbeat")).bearer_auth(&ann);
        expect(beat.json(&json!({})), 200).await;
        let reader = Reader::of(&hub, &ann).await;
        lacks(&reader.page("/agents").await, &["has sent no heartbeat"]);
        let backdoor = crate::backdoor::Backdoor::open(&hub).await;
        backdoor
            .change(&format!("UPDATE agents SET offline_since = last_heartbeat WHERE id = '{agent}'"))
            .await;
        for path in ["/agents", "/overview"] {
            let page = reader.page(path).await;
            holds(&page, &["scribe"]);
            assert!(!page.contains("<b>newcomer</b>"), "{page}");
        }
        holds(&reader.page("/agents").await, &["<b>scribe</b> has sent no heartbeat for"]);
        holds(&reader.page("/overview").await, &["is offline. Last heard"]);
    })
    .await;
}

/// Each step is saved when it is left; the key is shown once, and it is the agent's.
#[tokio::test]
async fn an_agent_is_made_in_five_steps() {
    on_each_engine(async |hub| {
        let ann = person(&hub, "ann", &["author"]).await;
        let reader = Reader::of(&hub, &ann).await;
        holds(&reader.page("/agents/new").await, &["You answer for it", "name=\"name\""]);
        let wrong = reader.fill("/agents/new", &[("step", "1"), ("name", "")]).await;
        assert_eq!(wrong.status.as_u16(), 422, "{}", wrong.text());
        let first =
            [("step", "1"), ("name", "sorter"), ("description", "Sorts parcels"), ("model", "small-1")];
        let second = reader.taken("/agents/new", &first).await;
        let path = second.split('?').next().unwrap().to_owned();
        let agent = path.split('/').nth(2).unwrap().to_owned();
        let now = async || get(&hub, &ann, &format!("/api/v1/agents/{agent}")).await;
        let made = now().await;
        assert_eq!((&made["name"], &made["description"]), (&json!("sorter"), &json!("Sorts parcels")));
        assert_eq!(made["model"], "small-1");
        holds(&reader.page(&second).await, &["aria-current=\"step\"", "name=\"labels\""]);
        let third = reader.taken(&path, &[("step", "2"), ("role_name", "dba"), ("labels", "env=prod")]).await;
        assert_eq!((third.ends_with("step=3"), &now().await["labels"]), (true, &json!({"env": "prod"})));
        assert_eq!(now().await["role_name"], "dba");
        let wrong = reader.fill(&path, &[("step", "3"), ("max_tasks", "0")]).await;
        assert_eq!(wrong.status.as_u16(), 422, "{}", wrong.text());
        let fourth = reader.taken(&path, &[("step", "3"), ("max_tasks", "3")]).await;
        assert_eq!(now().await["max_tasks"], 3);
        holds(&reader.page(&fourth).await, &["Who signs for it", "<dt>default</dt>"]);
        let fifth = reader.taken(&path, &[("step", "4")]).await;
        lacks(&reader.page(&fifth).await, &["csk_"]);
        let shown = reader.fill(&format!("/agents/{agent}/key"), &[]).await;
        assert_eq!(
            (shown.status.as_u16(), shown.header("cache-control")),
            (200, Some("no-store")),
            "{}",
            shown.text()
        );
        let text = shown.text();
        let key = text[place(&text, "csk_")..].split('<').next().unwrap().to_owned();
        testkit::watch::secret(&key);
        let its = get(&hub, &key, "/api/v1/me").await;
        assert_eq!(its["account"]["id"], json!(agent));
        let known = get(&hub, &ann, &format!("/api/v1/api-keys/{}", its["key_id"].as_str().unwrap())).await;
        assert_eq!(known["scopes"], json!(domain::agents::DEFAULT_SCOPES), "no more than the page says");
        lacks(&reader.page(&fifth).await, &["csk_"]);
        // Somebody else does not set it up.
        let other = Reader::of(&hub, &person(&hub, "bob", &["author"]).await).await;
        assert_eq!(other.look(&path).await.status.as_u16(), 403);
        assert_eq!(other.fill(&path, &[("step", "3"), ("max_tasks", "9")]).await.status.as_u16(), 403);
        assert_eq!(other.fill(&format!("/agents/{agent}/key"), &[]).await.status.as_u16(), 403);
    })
    .await;
}

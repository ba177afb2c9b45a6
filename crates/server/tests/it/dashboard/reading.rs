//! Reading: a row only opens, nothing is chosen, and every state has its page.

use serde_json::{Value, json};
use testkit::on_each_engine;

use super::{desk, form, small};
use crate::executions::{config, stage};
use crate::support::{Login, expect, id, without_module};

#[tokio::test]
async fn a_row_only_opens_and_no_decision_is_chosen() {
    on_each_engine(async |hub| {
        let desk = desk(&hub).await;
        let task = desk.submitted(small("Read me")).await;
        let request = id(&desk.asked(&task).await);
        let list = desk.page("/").await;
        assert!(list.contains(&format!("id=\"row-{request}\"")), "{list}");
        assert!(list.contains(&format!("href=\"/?open={request}\"")), "{list}");
        assert!(form(&list, "approve").is_none() && !list.contains("name=\"decision\""), "{list}");
        for path in [format!("/?open={request}"), format!("/tasks/{}", id(&task))] {
            let page = desk.page(&path).await;
            assert_eq!(page.matches("type=\"radio\" name=\"decision\"").count(), 4, "{page}");
            assert!(!page.contains(" checked"), "nothing is preset: {page}");
            let decide = page.split_once("id=\"decide\"").unwrap().1;
            let (radios, forms) = decide.split_once("</fieldset>").unwrap();
            assert!(!radios.contains("<form"), "the choices are outside of every form");
            assert!(!page.split("id=\"decide\"").next().unwrap().ends_with("<form"), "{page}");
            for decision in forms.split("<form class=\"when").skip(1) {
                let first = decision.split_once("<button").unwrap().1;
                assert!(first.starts_with(" disabled hidden"), "Enter finds no button: {decision}");
                for name in ["content_hash", "review_hash"] {
                    assert!(decision.contains(&format!("name=\"{name}\" value=\"sha256:")), "{decision}");
                }
            }
            assert!(page.contains("Yours is the last signature."), "{page}");
            assert!(!page.contains("style=\"") && !without_module(&page).contains("<script"), "{page}");
        }
    })
    .await;
}

#[tokio::test]
async fn nothing_is_noted_as_seen_for_whoever_is_not_asked() {
    on_each_engine(async |hub| {
        let desk = desk(&hub).await;
        let task = desk.submitted(small("Read me")).await;
        let eve = super::member(&hub, "eve", &[]).await;
        expect(eve.on(hub.request("GET", &format!("/tasks/{}", id(&task)))), 200).await;
        desk.page("/").await;
        assert!(desk.asked(&task).await["acknowledged_at"].is_null(), "the list is not the task");
        desk.page(&format!("/tasks/{}", id(&task))).await;
        assert!(!desk.asked(&task).await["acknowledged_at"].is_null());
    })
    .await;
}

async fn look(hub: &testkit::TestHub, login: &Login, task: &Value) -> String {
    expect(login.on(hub.request("GET", &format!("/tasks/{}", id(task)))), 200).await.text()
}

#[tokio::test]
async fn every_state_has_its_page() {
    on_each_engine(async |hub| {
        let stage = stage(&hub).await;
        let mia = super::member(&hub, "mia", &["reviewer"]).await;
        let post =
            |path: String, body: Value| hub.request("POST", &path).bearer_auth(&stage.author).json(&body);
        let made = |body: Value| async move { expect(post("/api/v1/tasks".into(), body), 201).await.json() };
        let draft = made(json!({"config": small("Draft")})).await;
        assert!(look(&hub, &mia, &draft).await.contains("Nobody is asked until it is handed in."));
        let gone = made(json!({"config": small("Gone")})).await;
        expect(post(format!("/api/v1/tasks/{}/cancel", id(&gone)), json!({"reason": "no"})), 200).await;
        assert!(look(&hub, &mia, &gone).await.contains("Nothing ran."));
        let task = stage.approved(&hub, config("db-1")).await;
        let page = look(&hub, &mia, &task).await;
        assert!(page.contains("It waits for an agent") && page.contains("Locks it needs"), "{page}");
        let claim = json!({"agent_id": stage.agent});
        let path = format!("/api/v1/tasks/{}/claim", id(&task));
        let claimed = hub.request("POST", &path).bearer_auth(&stage.agent_key).json(&claim);
        let execution = expect(claimed, 200).await.json()["execution_id"].as_str().unwrap().to_owned();
        let report = |verb: &str, body: Value| {
            let path = format!("/api/v1/executions/{execution}/{verb}");
            hub.request("POST", &path).bearer_auth(&stage.agent_key).json(&body)
        };
        expect(report("output", json!({"text": "line <1>\nline 2\u{1b}[2J\n"})), 200).await;
        let page = look(&hub, &mia, &task).await;
        assert!(page.contains("The agent was given what was signed"), "{page}");
        assert!(page.contains("line &#60;1&#62;") && page.contains("\\u001b"), "{page}");
        assert!(page.contains("resource:database:db-1"), "{page}");
        expect(report("fail", json!({"error": "broke <here>"})), 200).await;
        let page = look(&hub, &mia, &task).await;
        assert!(page.contains("no longer asked") && !page.contains(">waiting<"), "{page}");
        assert!(!page.contains("due in "), "nothing is expected any more: {page}");
        assert!(
            page.contains("broke &#60;here&#62;") && page.contains("It was tried and did not work."),
            "{page}"
        );
        let other = stage.approved(&hub, config("db-2")).await;
        let path = format!("/api/v1/tasks/{}/claim", id(&other));
        let claimed = hub.request("POST", &path).bearer_auth(&stage.agent_key).json(&claim);
        let done = expect(claimed, 200).await.json()["execution_id"].as_str().unwrap().to_owned();
        let path = format!("/api/v1/executions/{done}/complete");
        expect(hub.request("POST", &path).bearer_auth(&stage.agent_key).json(&json!({})), 200).await;
        assert!(look(&hub, &mia, &other).await.contains("It was applied."));
    })
    .await;
}

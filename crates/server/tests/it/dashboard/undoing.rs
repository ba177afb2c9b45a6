//! What failed on its way back: said as what it is while it is undone, and what is left where it was not.

use serde_json::{Value, json};
use testkit::{TestHub, on_each_engine};

use super::acts::{Office, office};
use super::{form, leads, small};
use crate::reviews::{answer, asked};
use crate::support::{expect, get, id};

/// A task that an agent works on, and its attempt.
async fn begun(hub: &TestHub, office: &Office<'_>, strategy: &str) -> (Value, String) {
    let mut config = small("Shrink the <volume>");
    config["rollback_strategy"] = json!(strategy);
    config["resources"] = json!([{"type": "volume", "id": strategy, "mode": "exclusive"}]);
    let body = json!({"config": config, "submit": true});
    let task = expect(office.ann.on(hub.request("POST", "/api/v1/tasks")).json(&body), 201).await.json();
    let request = asked(hub, &office.bob.token, &task).await;
    expect(answer(hub, &office.bob.token, &request, "approve"), 200).await;
    (task.clone(), claimed(hub, &task, "first").await["execution_id"].as_str().unwrap().to_owned())
}

async fn claimed(hub: &TestHub, task: &Value, name: &str) -> Value {
    let agent =
        id(&expect(hub.admin("POST", "/api/v1/agents").json(&json!({"name": name})), 201).await.json());
    let path = format!("/api/v1/tasks/{}/claim", id(task));
    expect(hub.admin("POST", &path).json(&json!({"agent_id": agent})), 200).await.json()
}

async fn says(hub: &TestHub, execution: &str, verb: &str, body: Value) -> Value {
    let path = format!("/api/v1/executions/{execution}/{verb}");
    expect(hub.admin("POST", &path).json(&body), 200).await.json()
}

fn part<'p>(page: &'p str, from: &str, to: &str) -> &'p str {
    let rest = page.split_once(from).unwrap_or_else(|| panic!("no {from} in {page}")).1;
    rest.split(to).next().unwrap()
}

#[tokio::test]
async fn what_failed_and_is_undone_does_not_read_as_being_applied() {
    on_each_engine(async |hub| {
        let office = office(&hub).await;
        let ada = office.who("ada").clone();
        let (task, execution) = begun(&hub, &office, "automatic").await;
        let path = format!("/tasks/{}", id(&task));
        let release = format!("/locks/release?key=task:{}", id(&task));
        let page = office.page(&ada, &path).await;
        assert!(page.contains("It is being applied.") && !page.contains("Rolling back"), "{page}");
        assert!(office.page(&ada, &release).await.contains("The attempt is ended first"));
        says(&hub, &execution, "fail", json!({"error": "no room"})).await;
        let page = office.page(&ada, &path).await;
        assert!(part(&page, "id=\"task-head\"", "</header>").contains("Rolling back</span>"), "{page}");
        assert!(part(&page, "aria-current=\"step\"", "</li>").ends_with("Rolling back"), "{page}");
        let sign = part(&page, "id=\"sign\"", "</section>");
        assert!(sign.contains("It failed at ") && sign.contains(" and is being undone."), "{sign}");
        assert!(!page.contains("It is being applied"), "{page}");
        assert!(
            part(&page, "id=\"history\"", "</section>").contains("failed, and began to undo it"),
            "{page}"
        );
        assert!(office.page(&ada, "/tasks").await.contains("Rolling back</span>"));
        let release = office.page(&ada, &release).await;
        assert!(release.contains("The undoing is cut off first"), "{release}");
        says(&hub, &execution, "complete", json!({})).await;
        let page = office.page(&ada, &path).await;
        let history = part(&page, "id=\"history\"", "</section>");
        assert!(history.contains(" undid it") && !history.contains("failed to apply it"), "{history}");
        assert!(!page.contains("id=\"attention\"") && page.contains("failed, undone"), "{page}");
    })
    .await;
}

#[tokio::test]
async fn why_it_was_not_undone_stands_beside_why_it_failed() {
    on_each_engine(async |hub| {
        let office = office(&hub).await;
        let ada = office.who("ada").clone();
        let (task, execution) = begun(&hub, &office, "automatic").await;
        says(&hub, &execution, "fail", json!({"error": "no room", "error_details": {"disk": 1}})).await;
        says(&hub, &execution, "fail", json!({"error": "UNDO_REFUSED: <it> cannot be shrunk"})).await;
        let seen = get(&hub, &hub.admin_key, &format!("/api/v1/executions/{execution}")).await;
        assert_eq!(seen["error"], "no room");
        let both = json!({"disk": 1, "rollback_error": "UNDO_REFUSED: <it> cannot be shrunk"});
        assert_eq!(seen["error_details"], both);
        assert_eq!(
            office.row(&task, "task:failed").await["details"]["rollback_error"],
            both["rollback_error"]
        );
        let page = office.page(&ada, &format!("/tasks/{}", id(&task))).await;
        let attempt = part(&page, "id=\"attempt-", "</section>");
        assert!(attempt.contains("no room"), "{attempt}");
        assert!(attempt.contains("UNDO_REFUSED: &#60;it&#62; cannot be shrunk"), "{attempt}");
        let banner = part(&page, "id=\"attention\"", "<div class=\"cols");
        assert!(banner.contains("was not undone") && !banner.contains("Nobody knows"), "{banner}");
        assert!(part(&page, "id=\"history\"", "</section>").contains("could not undo it"), "{page}");
        let overview = office.page(&ada, "/overview").await;
        assert!(overview.contains("failed, and what it began was not undone"), "{overview}");
    })
    .await;
}

#[tokio::test]
async fn a_person_has_it_undone_on_its_page() {
    on_each_engine(async |hub| {
        let office = office(&hub).await;
        let (task, execution) = begun(&hub, &office, "manual").await;
        says(&hub, &execution, "fail", json!({"error": "no room"})).await;
        let path = format!("/tasks/{}", id(&task));
        let link = format!("{path}/rollback\"");
        for (who, may) in [("ann", true), ("ada", true), ("bob", false), ("mel", false)] {
            let page = office.page(office.who(who), &path).await;
            assert_eq!(page.contains(&link), may, "{who}: {page}");
            assert!(page.contains("what it began was left as it is"), "{who}: {page}");
        }
        let why = [("reason", "half of it is there")];
        assert_eq!(office.post(&office.bob, &task, "rollback", &why).await.status.as_u16(), 403);
        let silent = office.post(&office.ann, &task, "rollback", &[("reason", " ")]).await;
        assert_eq!(silent.status.as_u16(), 422, "{}", silent.text());
        let page = office.page(&office.ann, &format!("{path}/rollback")).await;
        assert!(form(&page, "rollback").is_some() && page.contains("It is tried once."), "{page}");
        assert_eq!(leads(&office.post(&office.ann, &task, "rollback", &why).await), path);
        assert_eq!(office.row(&task, "task:rollback_asked").await["reason"], "half of it is there");
        let page = office.page(&office.ann, &path).await;
        assert!(page.contains("Undoing it was asked for, and waits for an agent."), "{page}");
        assert!(!page.contains(&link), "it is tried once: {page}");
        assert_eq!(office.post(&office.ann, &task, "rollback", &why).await.status.as_u16(), 409);
        let begun = claimed(&hub, &task, "second").await;
        assert_eq!(begun["purpose"], "rollback");
        says(&hub, begun["execution_id"].as_str().unwrap(), "fail", json!({"error": "stuck"})).await;
        let page = office.page(&office.ann, &path).await;
        assert!(page.contains("What it began was not undone"), "{page}");
    })
    .await;
}

//! What is done with a whole task on its pages: offered to whom the rules let do it, and to nobody else.

use serde_json::{Value, json};
use testkit::{TestHub, on_each_engine};

use super::{form, leads, member, small};
use crate::backdoor::Backdoor;
use crate::reviews::{answer as answered, asked, person};
use crate::support::{Answer, Login, all_items, expect, get, id, send};
use crate::world::{id_in, rows};

const ACTS: [&str; 7] =
    ["submit", "cancel", "resubmit", "withdraw-approval", "override", "force-apply", "rollback"];

/// Who writes tasks, who is asked, who only looks on, and an admin.
pub(super) struct Office<'h> {
    hub: &'h TestHub,
    pub(super) ann: Login,
    pub(super) bob: Login,
    people: Vec<(&'static str, Login)>,
}

/// Somebody with a login that no admin had a hand in.
async fn independent(hub: &TestHub, name: &str, roles: &[&str]) -> Login {
    let me = get(hub, &person(hub, name, roles).await, "/api/v1/me").await;
    let (org, account) = (id_in(&me["organization"], "id"), id_in(&me["account"], "id"));
    let token = rows::login(&Backdoor::open(hub).await, &org, &account).await;
    Login { id: String::new(), token, body: Value::Null }
}

pub(super) async fn office(hub: &TestHub) -> Office<'_> {
    let ann = independent(hub, "ann", &["author"]).await;
    let bob = member(hub, "bob", &["reviewer"]).await;
    let mel = member(hub, "mel", &[]).await;
    let ada = independent(hub, "ada", &["admin"]).await;
    let people = vec![("ann", ann.clone()), ("bob", bob.clone()), ("mel", mel), ("ada", ada)];
    Office { hub, ann, bob, people }
}

impl Office<'_> {
    pub(super) fn who(&self, name: &str) -> &Login {
        &self.people.iter().find(|(known, _)| *known == name).unwrap().1
    }

    pub(super) async fn draft(&self, description: &str) -> Value {
        // What fails has failed: nobody is asked to undo it first.
        let mut config = small(description);
        config["rollback_strategy"] = json!("none");
        let body = json!({"config": config});
        expect(self.ann.on(self.hub.request("POST", "/api/v1/tasks")).json(&body), 201).await.json()
    }

    pub(super) async fn reviewed(&self, description: &str) -> Value {
        let task = self.draft(description).await;
        let path = format!("/api/v1/tasks/{}/submit", id(&task));
        expect(self.ann.on(self.hub.request("POST", &path)), 202).await.json()
    }

    async fn approved(&self, description: &str) -> Value {
        let task = self.reviewed(description).await;
        let request = asked(self.hub, &self.bob.token, &task).await;
        expect(answered(self.hub, &self.bob.token, &request, "approve"), 200).await;
        task
    }

    /// A task whose attempt came to this: `complete`, `fail`; or to nothing yet.
    async fn begun(&self, end: &str) -> Value {
        let task = self.approved(&format!("To {end}")).await;
        let made = self.hub.admin("POST", "/api/v1/agents").json(&json!({"name": format!("to-{end}")}));
        let agent = id(&expect(made, 201).await.json());
        let path = format!("/api/v1/tasks/{}/claim", id(&task));
        let claimed =
            expect(self.hub.admin("POST", &path).json(&json!({"agent_id": agent})), 200).await.json();
        if !end.is_empty() {
            let path = format!("/api/v1/executions/{}/{end}", claimed["execution_id"].as_str().unwrap());
            let body = if end == "fail" { json!({"error": "no room"}) } else { json!({}) };
            expect(self.hub.admin("POST", &path).json(&body), 200).await;
        }
        task
    }

    async fn ended(&self, verb: &str) -> Value {
        let task = self.reviewed(&format!("To {verb}")).await;
        if verb == "cancel" {
            let path = format!("/api/v1/tasks/{}/cancel", id(&task));
            expect(self.ann.on(self.hub.request("POST", &path)).json(&json!({"reason": "x"})), 200).await;
        } else {
            let request = asked(self.hub, &self.bob.token, &task).await;
            expect(answered(self.hub, &self.bob.token, &request, verb), 200).await;
        }
        task
    }

    pub(super) async fn post(&self, who: &Login, task: &Value, act: &str, fields: &[(&str, &str)]) -> Answer {
        let path = format!("/tasks/{}/{act}", id(task));
        send(who.on(self.hub.request("POST", &path)).form(fields)).await
    }

    pub(super) async fn page(&self, who: &Login, path: &str) -> String {
        expect(who.on(self.hub.request("GET", path)), 200).await.text()
    }

    pub(super) async fn task(&self, task: &Value) -> Value {
        get(self.hub, &self.hub.admin_key, &format!("/api/v1/tasks/{}", id(task))).await
    }

    /// The newest row of the task with this action.
    pub(super) async fn row(&self, task: &Value, action: &str) -> Value {
        let rows =
            all_items(self.hub, &self.hub.admin_key, &format!("/api/v1/tasks/{}/audit", id(task))).await;
        let found = rows.iter().find(|row| row["action"] == action);
        found.unwrap_or_else(|| panic!("no {action} in {rows:?}")).clone()
    }
}

/// What a form of each act is right with.
pub(super) fn fields(act: &str) -> &'static [(&'static str, &'static str)] {
    match act {
        "submit" | "resubmit" => &[],
        "override" | "force-apply" => &[("reason", "it burns"), ("incident_ticket", "INC-7")],
        _ => &[("reason", "not needed")],
    }
}

/// What a page of a task offers.
fn offered(page: &str, task: &Value) -> Vec<&'static str> {
    let address = |act: &str| format!("/tasks/{}/{act}\"", id(task));
    let is_there = |act: &&str| page.contains(&address(act));
    ACTS.into_iter().filter(is_there).collect()
}

/// Who is offered what, in which state, written a second time by hand.
fn expected(state: &str, who: &str) -> &'static [&'static str] {
    match (state, who) {
        ("DRAFT", "ann" | "ada") => &["submit", "cancel"],
        ("REVIEWING" | "APPROVED", "ann") => &["cancel"],
        ("REVIEWING", "ada") => &["cancel", "override", "force-apply"],
        ("APPROVED", "bob") => &["withdraw-approval"],
        ("APPROVED", "ada") => &["cancel", "withdraw-approval", "force-apply"],
        ("REJECTED" | "CANCELLED" | "FAILED", "ann" | "ada") => &["resubmit"],
        _ => &[],
    }
}

#[tokio::test]
async fn what_is_offered_is_what_the_rules_allow_and_the_rest_is_refused() {
    on_each_engine(async |hub| {
        let office = office(&hub).await;
        let tasks = [
            ("DRAFT", office.draft("A draft").await),
            ("REVIEWING", office.reviewed("A review").await),
            ("APPROVED", office.approved("An approval").await),
            ("APPLYING", office.begun("").await),
            ("COMPLETED", office.begun("complete").await),
            ("FAILED", office.begun("fail").await),
            ("REJECTED", office.ended("reject").await),
            ("CANCELLED", office.ended("cancel").await),
        ];
        for (state, task) in &tasks {
            assert_eq!(office.task(task).await["state"], *state);
            for (name, who) in &office.people {
                let page = office.page(who, &format!("/tasks/{}", id(task))).await;
                let found = offered(&page, task);
                assert_eq!(found, expected(state, name), "{name}, {state}");
                for act in ACTS.into_iter().filter(|act| !found.contains(act)) {
                    let before = office.task(task).await["version"].clone();
                    let answer = office.post(who, task, act, fields(act)).await;
                    let status = answer.status.as_u16();
                    assert!(
                        [403, 404, 409].contains(&status),
                        "{name} {act} {state}: {status} {}",
                        answer.text()
                    );
                    assert!(answer.text().contains("<!doctype html>"), "{}", answer.text());
                    assert_eq!(office.task(task).await["version"], before, "{name} {act} {state}");
                }
                for act in found.iter().filter(|act| **act != "submit") {
                    let page = office.page(who, &format!("/tasks/{}/{act}", id(task))).await;
                    assert!(form(&page, act).is_some(), "{name} {act} {state}: {page}");
                }
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_draft_says_whom_it_asks_before_it_is_submitted() {
    on_each_engine(async |hub| {
        let office = office(&hub).await;
        let task = office.draft("Ask <b>Bob</b>").await;
        let path = format!("/tasks/{}", id(&task));
        let page = office.page(&office.ann, &path).await;
        let block = page.split_once("id=\"sign\"").unwrap().1.split("</section>").next().unwrap();
        assert!(block.contains(" must sign:") && block.contains("bob") && !block.contains("ann,"), "{block}");
        assert!(block.contains("default v1"), "which policy asks: {block}");
        assert_eq!(office.task(&task).await["state"], "DRAFT", "looking asks nobody");
        assert_eq!(leads(&office.post(&office.ann, &task, "submit", &[]).await), path);
        assert_eq!(office.task(&task).await["state"], "REVIEWING");
        office.row(&task, "task:submitted").await;
        let late = office.page(&office.ann, &format!("{path}/resubmit")).await;
        assert!(late.contains("This cannot be done now") && form(&late, "resubmit").is_none(), "{late}");
        let again = office.post(&office.ann, &task, "submit", &[]).await;
        assert_eq!(again.status.as_u16(), 409);
        let text = again.text();
        assert!(
            text.contains("Your submission was not recorded") && text.contains("cannot be submitted"),
            "{text}"
        );
        let wrong = office.post(&office.ann, &task, "submit", &[("reason", "x")]).await;
        assert_eq!(wrong.status.as_u16(), 422, "{}", wrong.text());
    })
    .await;
}

const HOSTILE: &str = "</textarea><script>alert(1)</script>\"><img src=x>";

#[tokio::test]
async fn what_is_wrong_is_said_where_it_was_typed_and_kept() {
    on_each_engine(async |hub| {
        let office = office(&hub).await;
        let (task, ada) = (office.reviewed("Wait").await, office.who("ada"));
        let long = "x".repeat(20_000);
        for (act, typed, said, kept) in [
            ("cancel", vec![("reason", " \r\n ")], "id=\"a-why-bad\"", ""),
            ("cancel", vec![("reason", long.as_str())], "id=\"a-why-bad\"", long.as_str()),
            ("override", vec![("reason", HOSTILE), ("incident_ticket", " ")], "id=\"a-ticket-bad\"", ""),
            (
                "override",
                vec![("reason", ""), ("incident_ticket", "INC-7\"><b>")],
                "id=\"a-why-bad\"",
                "INC-7&#34;&#62;&#60;b&#62;",
            ),
            (
                "force-apply",
                vec![("reason", "x"), ("incident_ticket", long.as_str())],
                "id=\"a-ticket-bad\"",
                "",
            ),
        ] {
            let answer = office.post(ada, &task, act, &typed).await;
            let text = crate::support::without_module(&answer.text());
            assert_eq!(answer.status.as_u16(), 422, "{act}: {text}");
            assert!(text.contains(said) && text.contains(kept), "{act} {said}: {text}");
            assert!(!text.contains("<script") && !text.contains("<img src=x"), "{text}");
        }
        // Fields of other forms, missing ones, and others.
        for (act, typed) in [
            ("cancel", vec![("reason", "x"), ("incident_ticket", "INC-7")]),
            ("cancel", vec![]),
            ("override", vec![("reason", "x")]),
            ("cancel", vec![("reason", "x"), ("take_over_dependents", "on")]),
            ("cancel", vec![("reason", "x"), ("other", "x")]),
        ] {
            let answer = office.post(ada, &task, act, &typed).await;
            assert_eq!(answer.status.as_u16(), 422, "{act} {typed:?}: {}", answer.text());
        }
        assert_eq!(office.task(&task).await["version"], task["version"], "nothing changed");
    })
    .await;
}

#[tokio::test]
async fn each_act_does_what_its_page_says() {
    on_each_engine(async |hub| {
        let office = office(&hub).await;
        let ada = office.who("ada").clone();
        let first = office.approved("Put me first").await;
        let page = office.page(&ada, &format!("/tasks/{}/force-apply", id(&first))).await;
        assert!(page.contains("nobody else is asked"), "{page}");
        assert!(page.contains("<h1>Force-apply</h1>"), "one name on every page: {page}");
        leads(&office.post(&ada, &first, "force-apply", fields("force-apply")).await);
        assert_eq!(office.row(&first, "task:put_first").await["ticket_ref"], "INC-7");
        let silent = office.post(&office.bob, &first, "withdraw-approval", &[("reason", " \r\n ")]).await;
        assert_eq!(silent.status.as_u16(), 422, "{}", silent.text());
        assert_eq!(office.task(&first).await["state"], "APPROVED", "who takes it back says why");
        leads(&office.post(&office.bob, &first, "withdraw-approval", &[("reason", "no longer")]).await);
        assert_eq!(office.task(&first).await["state"], "REJECTED");
        assert_eq!(office.row(&first, "approval:withdrawn").await["reason"], "no longer");
        let waits = json!({"config": small("Behind it"), "depends_on": [id(&first)]});
        let waits =
            expect(office.ann.on(hub.request("POST", "/api/v1/tasks")).json(&waits), 201).await.json();
        let page = office.page(&office.ann, &format!("/tasks/{}/resubmit", id(&first))).await;
        assert!(
            page.contains("1 task waits for it") && page.contains("name=\"take_over_dependents\" checked"),
            "{page}"
        );
        let to =
            leads(&office.post(&office.ann, &first, "resubmit", &[("take_over_dependents", "on")]).await);
        let new = to.strip_prefix("/tasks/").unwrap();
        assert_ne!(new, id(&first));
        assert_eq!(office.task(&waits).await["depends_on"], json!([new]));
        let second = leads(&office.post(&office.ann, &first, "resubmit", &[]).await);
        assert_eq!(office.task(&waits).await["depends_on"], json!([new]), "unticked means that they stay");
        assert_ne!(second, to);
        let draft = json!({"id": new});
        let page = office.page(&office.ann, &format!("{to}/cancel")).await;
        assert!(page.contains("1 task waits for it, and will stay blocked"), "{page}");
        leads(&office.post(&office.ann, &draft, "cancel", &[("reason", "enough")]).await);
        assert_eq!(office.task(&draft).await["state"], "CANCELLED");
        assert_eq!(office.row(&draft, "task:cancelled").await["reason"], "enough");
    })
    .await;
}

//! The pages on which people decide, as a browser without scripts meets them.

use serde_json::{Value, json};
use testkit::TestHub;

use crate::reviews::person;
use crate::support::{Answer, Login, PASSWORD, expect, get, id, log_in, send};

mod acts;
mod batches;
mod decisions;
mod frame;
mod hostile;
mod kept;
mod overrides;
mod preferences;
mod reading;
mod standing;
mod undoing;
mod views;

/// A member with these roles, logged in.
async fn member(hub: &TestHub, name: &str, roles: &[&str]) -> Login {
    let email = format!("{name}@default.example");
    let body = json!({"email": email, "display_name": name, "password": PASSWORD, "roles": roles});
    expect(hub.admin("POST", "/api/v1/accounts").json(&body), 201).await;
    log_in(hub, &email).await
}

/// Somebody who proposes, and somebody who is asked.
struct Desk<'h> {
    hub: &'h TestHub,
    author: String,
    bob: Login,
}

async fn desk(hub: &TestHub) -> Desk<'_> {
    Desk { hub, author: person(hub, "ann", &["author"]).await, bob: member(hub, "bob", &["reviewer"]).await }
}

/// A config of little risk.
fn small(description: &str) -> Value {
    json!({"type": "infrastructure", "description": description, "declared_risk": "trivial",
           "rollback_strategy": "automatic"})
}

impl Desk<'_> {
    /// A task that was handed in.
    async fn submitted(&self, config: Value) -> Value {
        let body = json!({"config": config, "submit": true});
        let made = self.hub.request("POST", "/api/v1/tasks").bearer_auth(&self.author).json(&body);
        let made = expect(made, 201).await.json();
        assert_eq!(made["state"], "REVIEWING", "{made}");
        made
    }

    async fn page(&self, path: &str) -> String {
        expect(self.bob.on(self.hub.request("GET", path)), 200).await.text()
    }

    async fn post(&self, path: &str, form: &[(String, String)]) -> Answer {
        send(self.bob.on(self.hub.request("POST", path)).form(form)).await
    }

    /// What Bob is asked about a task.
    async fn asked(&self, task: &Value) -> Value {
        let path = format!("/api/v1/approvals?reviewer=me&task_id={}", id(task));
        let found = expect(self.bob.on(self.hub.request("GET", &path)), 200).await.json();
        found["items"][0].clone()
    }

    async fn state(&self, task: &Value) -> String {
        let task = get(self.hub, &self.author, &format!("/api/v1/tasks/{}", id(task))).await;
        task["state"].as_str().unwrap().to_owned()
    }

    /// The address and the hidden fields of a decision, as Bob's page has them.
    async fn form(&self, page: &str, verb: &str) -> (String, Vec<(String, String)>) {
        let text = self.page(page).await;
        form(&text, verb).unwrap_or_else(|| panic!("no form to {verb} in {text}"))
    }
}

/// The address and the hidden fields of a form, by the end of its address.
fn form(page: &str, verb: &str) -> Option<(String, Vec<(String, String)>)> {
    let forms = page.split("<form ").skip(1);
    forms.filter_map(|form| form.split("</form>").next()).find_map(|form| {
        let action = attribute(form, "action")?;
        action.ends_with(&format!("/{verb}")).then(|| (action, hidden(form)))
    })
}

fn hidden(form: &str) -> Vec<(String, String)> {
    let inputs = form.split("<input type=\"hidden\" ").skip(1).filter_map(|input| input.split('>').next());
    inputs.map(|input| (attribute(input, "name").unwrap(), attribute(input, "value").unwrap())).collect()
}

fn attribute(text: &str, name: &str) -> Option<String> {
    let rest = text.split_once(&format!("{name}=\""))?.1;
    Some(rest.split('"').next()?.to_owned())
}

/// The fields with one more.
fn with(mut fields: Vec<(String, String)>, name: &str, value: &str) -> Vec<(String, String)> {
    fields.retain(|(known, _)| known != name);
    fields.push((name.to_owned(), value.to_owned()));
    fields
}

/// The fields without one.
fn without(mut fields: Vec<(String, String)>, name: &str) -> Vec<(String, String)> {
    fields.retain(|(known, _)| known != name);
    fields
}

fn leads(answer: &Answer) -> String {
    assert_eq!(answer.status.as_u16(), 303, "{}", answer.text());
    answer.header("location").unwrap().to_owned()
}

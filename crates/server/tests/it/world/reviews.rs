//! Tasks as they come through a review, and the requests it consists of.

use serde_json::{Value, json};

use super::rows;
use super::things::{Things, fresh, id_in};
use crate::backdoor::Backdoor;
use crate::support::get;

impl Things<'_> {
    /// A thing that a review makes or needs.
    pub(super) async fn of_review(&mut self, name: &str) -> String {
        match name {
            "$reviewed" => self.reviewed().await,
            "$standin" => {
                let email = format!("{}@example.org", fresh());
                let body = json!({"email": email, "display_name": "Sam", "roles": ["reviewer"]});
                id_in(&self.post(&self.maker, "/api/v1/accounts", body, 201).await, "id")
            }
            "$delegation" => {
                let standin = self.get("$standin").await;
                // Of nothing that there is, so that requests stay with the maker.
                let body = json!({"delegate_to": standin, "conditions": {"task_types": ["none"]}});
                id_in(&self.post(&self.maker, "/api/v1/delegations", body, 201).await, "id")
            }
            "$approval" => {
                let task = self.get("$reviewed").await;
                id_in(&self.request_to_maker(&task).await, "id")
            }
            "$content" => {
                let task = self.get("$reviewed").await;
                id_in(&self.request_to_maker(&task).await, "content_hash")
            }
            "$shown" => {
                let task = self.get("$reviewed").await;
                let task = get(self.hub, &self.maker, &format!("/api/v1/tasks/{task}")).await;
                id_in(&task["review"], "review_hash")
            }
            "$granted" => self.granted().await,
            _ => self.cancelled().await,
        }
    }

    /// A task that the maker gave up.
    async fn cancelled(&self) -> String {
        let body = json!({"config": {"type": "t", "description": "Given up"}});
        let task = id_in(&self.post(&self.maker, "/api/v1/tasks", body, 201).await, "id");
        let path = format!("/api/v1/tasks/{task}/cancel");
        id_in(&self.post(&self.maker, &path, json!({"reason": "not needed"}), 200).await, "id")
    }

    /// A task that somebody else proposed, and that the maker is asked about.
    async fn reviewed(&mut self) -> String {
        let author = self.author().await;
        let body = json!({"config": {"type": "t", "description": "At the reviewer's door"}});
        let task = id_in(&self.post(&author, "/api/v1/tasks", body, 201).await, "id");
        let path = format!("/api/v1/tasks/{task}/submit");
        id_in(&self.post(&author, &path, json!({}), 202).await, "id")
    }

    /// A thing that applying a task makes or needs.
    pub(super) async fn of_executions(&mut self, name: &str) -> String {
        let body = json!({"name": fresh(), "max_tasks": 5});
        let agent = id_in(&self.post(&self.maker, "/api/v1/agents", body, 201).await, "id");
        let task = self.granted().await;
        if name == "$worker" {
            return agent;
        }
        let path = format!("/api/v1/tasks/{task}/claim");
        let claimed = self.post(&self.maker, &path, json!({"agent_id": agent}), 200).await;
        let execution = id_in(&claimed, "execution_id");
        if name == "$failed" {
            let path = format!("/api/v1/executions/{execution}/fail");
            self.post(&self.maker, &path, json!({"error": "half of it is done"}), 200).await;
        }
        execution
    }

    /// A task that the maker approved.
    async fn granted(&mut self) -> String {
        let task = self.reviewed().await;
        let request = self.request_to_maker(&task).await;
        let path = format!("/api/v1/approvals/{}/approve", id_in(&request, "id"));
        self.post(&self.maker, &path, json!({"content_hash": request["content_hash"]}), 200).await;
        task
    }

    /// What the maker is asked about a task.
    async fn request_to_maker(&self, task: &str) -> Value {
        let path = format!("/api/v1/approvals?reviewer=me&task_id={task}");
        get(self.hub, &self.maker, &path).await["items"][0].clone()
    }

    async fn author(&mut self) -> String {
        if let Some(token) = &self.author {
            return token.clone();
        }
        let email = format!("{}@example.org", fresh());
        let body = json!({"email": email, "display_name": "Ada", "roles": ["author"]});
        let account = id_in(&self.post(&self.maker, "/api/v1/accounts", body, 201).await, "id");
        let org = self.get("$org").await;
        let token = rows::login(&Backdoor::open(self.hub).await, &org, &account).await;
        self.author = Some(token.clone());
        token
    }
}

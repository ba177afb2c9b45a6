//! The things that paths and bodies name as `$…`, made when they are first needed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use hub::audit::sealer::seal_all;
use serde_json::{Value, json};
use testkit::TestHub;

use super::doors::Door;
use super::rows;
use crate::backdoor::Backdoor;
use crate::support::{PASSWORD, all_items, eventually, expect, get, mint};

/// Every name. The longer of two that begin alike must come first.
const NAMES: &[&str] = &[
    "$fresh",
    "$maker",
    "$org",
    "$member",
    "$outsider",
    "$key",
    "$sent",
    "$received",
    "$row",
    "$email",
    "$login",
    "$project",
    "$workspace",
    "$agent",
    "$task",
    "$comment",
    "$archived",
    "$archive",
    "$policy",
    "$standin",
    "$delegation",
    "$reviewed",
    "$approval",
    "$content",
    "$shown",
    "$granted",
    "$cancelled",
    "$worker",
    "$execution",
    "$failed",
    "$lock",
    "$ticket",
    "$standalone",
    "$token",
    "$webhook",
    "$delivery",
    "$notification",
];
/// What no call ends.
const LASTING: &[&str] = &["$maker", "$org", "$row", "$email"];

/// The things of one organization.
pub(crate) struct Things<'h> {
    pub(super) hub: &'h TestHub,
    /// Whose they are: the owner.
    pub(crate) maker: String,
    /// An admin who is no instance admin, because those do not invite.
    inviter: String,
    made: HashMap<&'static str, String>,
    /// The login of somebody who proposes what the maker reviews. Nobody stands behind it but they themselves.
    pub(super) author: Option<String>,
}

/// A text that nobody has used.
pub(crate) fn fresh() -> String {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    format!("fresh-{}", NUMBER.fetch_add(1, Ordering::Relaxed))
}

pub(crate) fn id_in(body: &Value, name: &str) -> String {
    body[name].as_str().unwrap_or_else(|| panic!("no {name} in {body}")).to_owned()
}

impl<'h> Things<'h> {
    pub(crate) fn of(hub: &'h TestHub, maker: &str, inviter: &str) -> Self {
        Self { hub, maker: maker.to_owned(), inviter: inviter.to_owned(), made: HashMap::new(), author: None }
    }

    /// Those of organization `default`, with an inviter of their own.
    pub(crate) async fn of_default(hub: &'h TestHub) -> Self {
        let inviter = hub.member_with(&hub.admin_key, &fresh(), &["admin"]).await;
        Self::of(hub, &hub.admin_key, &inviter)
    }

    /// The thing of this name; whatever is no name stands for itself.
    pub(crate) async fn get(&mut self, name: &str) -> String {
        let Some(name) = NAMES.iter().find(|known| **known == name) else { return name.to_owned() };
        if *name == "$fresh" {
            return fresh();
        }
        if let Some(made) = self.made.get(name) {
            return made.clone();
        }
        let made = self.make(name).await;
        self.made.insert(name, made.clone());
        made
    }

    /// Makes whatever is not there yet, so that looking makes nothing.
    pub(crate) async fn make_all(&mut self) {
        for name in NAMES {
            self.get(name).await;
        }
    }

    /// Forgets what a call may have ended, so that the next one gets fresh ones.
    pub(crate) fn used_up(&mut self) {
        self.made.retain(|name, _| LASTING.contains(name));
    }

    /// The text with every name replaced; the same name is the same thing throughout.
    pub(crate) async fn fill(&mut self, text: &str) -> String {
        let mut filled = text.to_owned();
        for name in NAMES {
            if filled.contains(name) {
                filled = filled.replace(name, &self.get(name).await);
            }
        }
        filled
    }

    /// The path and the body of a call that is right.
    pub(crate) async fn call(&mut self, door: &Door) -> (String, String) {
        let mut ids = Vec::new();
        for name in door.names {
            ids.push(self.get(name).await);
        }
        (with_ids(door, &ids), self.fill(door.body).await)
    }

    pub(super) async fn post(&self, key: &str, path: &str, body: Value, status: u16) -> Value {
        expect(self.hub.request("POST", path).bearer_auth(key).json(&body), status).await.json()
    }

    async fn me(&self) -> Value {
        get(self.hub, &self.maker, "/api/v1/me").await
    }

    async fn make(&mut self, name: &str) -> String {
        match name {
            "$maker" => id_in(&self.me().await["account"], "id"),
            "$org" => id_in(&self.me().await["organization"], "id"),
            "$member" => {
                let body = json!({"email": format!("{}@example.org", fresh()), "display_name": "Fay"});
                id_in(&self.post(&self.maker, "/api/v1/accounts", body, 201).await, "id")
            }
            "$outsider" => self.outsider().await,
            "$key" => mint(self.hub, &self.maker, json!({"name": "at the door"})).await.id,
            "$sent" => {
                let guest = fresh();
                self.hub.tenant(&guest).await;
                self.invited(&self.inviter, &format!("owner@{guest}.example")).await
            }
            "$received" => {
                let host = self.hub.tenant(&fresh()).await;
                let email = self.invitable().await;
                self.invited(&host, &email).await
            }
            "$row" => self.sealed_row().await,
            "$email" => {
                let email = format!("{}@example.org", fresh());
                let body = json!({"email": email, "display_name": "Lou", "password": PASSWORD});
                self.post(&self.maker, "/api/v1/accounts", body, 201).await;
                email
            }
            "$login" => {
                let me = self.me().await;
                let (org, account) = (id_in(&me["organization"], "id"), id_in(&me["account"], "id"));
                let token = rows::login(&Backdoor::open(self.hub).await, &org, &account).await;
                let login = get(self.hub, &token, "/api/v1/me").await;
                id_in(&login, "login_session_id")
            }
            "$project" => {
                let body = json!({"name": "At the door", "slug": fresh()});
                id_in(&self.post(&self.maker, "/api/v1/projects", body, 201).await, "id")
            }
            "$workspace" => {
                let project = Box::pin(self.get("$project")).await;
                let path = format!("/api/v1/projects/{project}/workspaces");
                id_in(&self.post(&self.maker, &path, json!({"name": "w", "path": "/"}), 201).await, "id")
            }
            "$agent" => {
                id_in(&self.post(&self.maker, "/api/v1/agents", json!({"name": fresh()}), 201).await, "id")
            }
            "$task" => {
                let body = json!({"config": {"type": "t", "description": "At the door"}});
                id_in(&self.post(&self.maker, "/api/v1/tasks", body, 201).await, "id")
            }
            "$comment" => Box::pin(self.comment()).await,
            "$policy" => {
                // Of no task here, so that the default policy has the maker asked.
                let of = ["elsewhere"];
                let body = json!({"name": fresh(), "task_types": of, "required_roles": ["reviewer"]});
                id_in(&self.post(&self.maker, "/api/v1/policies", body, 201).await, "id")
            }
            "$standin" | "$delegation" | "$reviewed" | "$approval" | "$content" | "$shown" | "$granted"
            | "$cancelled" => Box::pin(self.of_review(name)).await,
            "$worker" | "$execution" | "$failed" => Box::pin(self.of_executions(name)).await,
            "$lock" | "$ticket" => self.of_locks(name).await,
            "$standalone" | "$token" => Box::pin(self.of_grants(name)).await,
            "$webhook" | "$delivery" => Box::pin(self.of_webhooks(name)).await,
            "$notification" => Box::pin(self.notification()).await,
            "$archive" | "$archived" => Box::pin(self.of_archives(name)).await,
            unknown => panic!("{unknown} is in NAMES, and nobody makes it"),
        }
    }

    async fn comment(&mut self) -> String {
        let task = self.get("$task").await;
        let path = format!("/api/v1/tasks/{task}/comments");
        id_in(&self.post(&self.maker, &path, json!({"body": "why?"}), 201).await, "id")
    }

    /// A standalone grant, or the token of one.
    async fn of_grants(&mut self, name: &str) -> String {
        let org = self.get("$org").await;
        let body = json!({"tenant_id": org, "ir_hash": "sha256:door"});
        let made = self.post(&self.maker, "/api/ir/approvals", body, 201).await;
        id_in(&made, if name == "$token" { "token" } else { "approval_id" })
    }

    /// A webhook that is switched off, so that nothing happens by itself; or something that was to be sent to it.
    async fn of_webhooks(&mut self, name: &str) -> String {
        if name == "$webhook" {
            let body = json!({"url": "http://127.0.0.1:9/hook", "types": ["webhook:test"], "active": false});
            return id_in(&self.post(&self.maker, "/api/v1/webhooks", body, 201).await, "id");
        }
        let path = format!("/api/v1/webhooks/{}", self.get("$webhook").await);
        let set = |active: bool| {
            let request = self.hub.request("PATCH", &path).bearer_auth(&self.maker);
            expect(request.json(&json!({"active": active})), 200)
        };
        set(true).await;
        let delivery = self.post(&self.maker, &format!("{path}/test"), json!({}), 202).await;
        set(false).await;
        id_in(&delivery, "id")
    }

    /// Something the maker was told: that they are asked.
    async fn notification(&mut self) -> String {
        let task = self.get("$reviewed").await;
        let told = all_items(self.hub, &self.maker, "/api/v1/notifications").await;
        let about = told.iter().find(|told| told["task_id"] == json!(task));
        id_in(about.unwrap_or_else(|| panic!("nothing was told of {task}: {told:?}")), "id")
    }

    /// An archive, or a task in one.
    async fn of_archives(&mut self, name: &str) -> String {
        let org = self.get("$org").await;
        let (archive, task) = rows::archive(&Backdoor::open(self.hub).await, &org).await;
        if name == "$archive" { archive } else { task }
    }

    /// A lock, or a place in line behind one.
    async fn of_locks(&self, name: &str) -> String {
        let mut body = json!({"key": format!("resource:door:{}", fresh()), "ttl_seconds": 300});
        let lock = self.post(&self.maker, "/api/v1/locks/acquire", body.clone(), 200).await;
        if name == "$lock" {
            return id_in(&lock, "lock_id");
        }
        (body["owner"], body["queue"]) = (json!("behind it"), json!(true));
        id_in(&self.post(&self.maker, "/api/v1/locks/acquire", body, 202).await, "ticket_id")
    }

    /// An account that is at home here and has left.
    async fn outsider(&mut self) -> String {
        let email = format!("{}@example.org", fresh());
        let body = json!({"email": email, "display_name": "Gil"});
        let account = id_in(&self.post(&self.maker, "/api/v1/accounts", body, 201).await, "id");
        let org = Box::pin(self.get("$org")).await;
        let path = format!("/api/v1/organizations/{org}/members/{account}");
        expect(self.hub.request("DELETE", &path).bearer_auth(&self.maker), 204).await;
        account
    }

    /// The maker's address. The first admin has one that nobody may write to until it is changed.
    async fn invitable(&self) -> String {
        let me = self.me().await;
        let email = id_in(&me["account"], "email");
        if !email.ends_with(".invalid") {
            return email;
        }
        let path = format!("/api/v1/accounts/{}", id_in(&me["account"], "id"));
        let body = json!({"email": format!("{}@example.org", fresh())});
        let changed =
            expect(self.hub.request("PATCH", &path).bearer_auth(&self.maker).json(&body), 200).await;
        id_in(&changed.json(), "email")
    }

    async fn invited(&self, by: &str, email: &str) -> String {
        let body = json!({"email": email, "display_name": "Guest"});
        id_in(&self.post(by, "/api/v1/accounts", body, 202).await, "invitation_id")
    }

    async fn sealed_row(&self) -> String {
        let key = mint(self.hub, &self.maker, json!({"name": "sealed"})).await;
        let is_it = |row: &Value| row["subject"]["id"] == json!(key.id) && !row["seal"].is_null();
        eventually("the seal over the mint", async || {
            // Losing to the hub's own sealer is fine.
            drop(seal_all(&self.hub.hub).await);
            let rows = all_items(self.hub, &self.maker, "/api/v1/audit?action=api_key:minted").await;
            rows.iter().find(|row| is_it(row)).map(|row| id_in(row, "id"))
        })
        .await
    }
}

/// The path with these in the places of its parameters, in their order.
pub(crate) fn with_ids(door: &Door, ids: &[String]) -> String {
    let mut ids = ids.iter();
    let segments = door.path.split('/').map(|segment| match segment.starts_with('{') {
        true => ids.next().unwrap_or_else(|| panic!("{door} names too few things")).as_str(),
        false => segment,
    });
    segments.collect::<Vec<_>>().join("/")
}

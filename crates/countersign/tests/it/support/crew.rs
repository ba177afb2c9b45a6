//! People and agents who apply tasks, and what must hold of attempts at any moment.

use client::Client;
use serde_json::{Value, json};
use uuid::Uuid;
use wire::{CreateAgent, CreateApiKey, CreateTask, Settings};

use super::{Home, Served};

/// An author whose tasks pass by themselves, and the author's agents.
pub(crate) struct Crew {
    pub(crate) author: String,
    pub(crate) agents: Vec<Hired>,
}

/// An agent and its key.
#[derive(Clone)]
pub(crate) struct Hired {
    pub(crate) id: Uuid,
    pub(crate) key: String,
}

impl Crew {
    pub(crate) async fn hire(home: &Home, served: &Served, agents: usize, max_tasks: u32) -> Self {
        let admin = served.admin();
        let on = json!({"feature:auto_approve_low_risk": "enabled"});
        admin.patch_settings(&serde_json::from_value(on).unwrap()).await.unwrap();
        let pass = json!({"name": "pass", "required_roles": ["reviewer", "admin"], "auto_approve_if": {
            "risk_below": 100, "author_has_role": ["author"], "resources_in_scope": ["db:*"]}});
        admin.create_policy(&serde_json::from_value(pass).unwrap()).await.unwrap();
        let email = "ann@example.org";
        home.as_admin(served, &["account", "create", email, "--name", "Ann", "--role", "author"]).done();
        let author =
            home.as_admin(served, &["key", "mint", "first", "--account", email]).done().trim().to_owned();
        let client = served.client(&author);
        let mut hired = Vec::new();
        for number in 0..agents {
            hired.push(Hired::by(&client, number, max_tasks).await);
        }
        Self { author, agents: hired }
    }
}

impl Hired {
    async fn by(owner: &Client, number: usize, max_tasks: u32) -> Self {
        let agent = json!({"name": format!("worker {number}"), "max_tasks": max_tasks});
        let agent: CreateAgent = serde_json::from_value(agent).unwrap();
        let id = owner.create_agent(&agent).await.unwrap().id;
        let key = CreateApiKey { account_id: Some(id), name: "its".into(), ..CreateApiKey::default() };
        let key = owner.create_api_key(&key).await.unwrap().key.unwrap();
        testkit::watch::secret(&key);
        Self { id, key }
    }
}

/// Sets how long locks and leases last, and how often agents are heard.
pub(crate) async fn let_last(served: &Served, ttl: u32, heartbeat: u32) {
    let settings = json!({"lock:heartbeat_interval": heartbeat, "lock:default_ttl": ttl});
    served.admin().patch_settings(&Settings(settings.as_object().cloned().unwrap())).await.unwrap();
}

/// A task that touches these databases alone, and passes by itself.
pub(crate) fn touching(databases: &[String], more: Value) -> CreateTask {
    let resources: Vec<Value> = databases.iter().map(|id| json!({"type": "db", "id": id})).collect();
    let mut config =
        json!({"type": "t", "description": "d", "rollback_strategy": "none", "resources": resources});
    config.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
    CreateTask { config, submit: Some(true), ..CreateTask::default() }
}

/// What would be half an attempt, or one too many, where every task touches something alone.
const HALVES: &[(&str, &str)] = &[
    (
        "SELECT CAST(id AS TEXT) FROM tasks WHERE state = 'APPLYING' EXCEPT SELECT CAST(task_id AS TEXT) FROM \
         executions WHERE ended_at IS NULL AND purpose = 'apply'",
        "APPLYING without an attempt",
    ),
    (
        "SELECT CAST(task_id AS TEXT) FROM executions WHERE ended_at IS NULL AND purpose = 'apply' EXCEPT \
         SELECT CAST(id AS TEXT) FROM tasks WHERE state = 'APPLYING'",
        "an attempt of a task that is not APPLYING",
    ),
    (
        "SELECT CAST(task_id AS TEXT) FROM executions WHERE ended_at IS NULL GROUP BY task_id HAVING count(*) > 1",
        "two attempts of a task at once",
    ),
    (
        "SELECT CAST(id AS TEXT) FROM grants WHERE attempts_started <> (SELECT count(*) FROM executions WHERE \
         executions.grant_id = grants.id AND purpose = 'apply') OR attempts_started > attempts",
        "an attempt that was not taken from its Grant",
    ),
    (
        "SELECT CAST(exclusive_by AS TEXT) FROM resource_claims WHERE exclusive_by IS NOT NULL EXCEPT \
         SELECT CAST(id AS TEXT) FROM executions WHERE ended_at IS NULL",
        "a claim of an attempt that has ended",
    ),
    (
        "SELECT CAST(id AS TEXT) FROM executions WHERE ended_at IS NULL EXCEPT \
         SELECT CAST(exclusive_by AS TEXT) FROM resource_claims WHERE exclusive_by IS NOT NULL",
        "an attempt without its claim",
    ),
    (
        "SELECT CAST(task_id AS TEXT) FROM executions EXCEPT SELECT subject_id FROM audit_logs WHERE \
         action = 'task:applying'",
        "an attempt that is not on record",
    ),
    (
        "SELECT CAST(task_id AS TEXT) FROM executions WHERE ended_at IS NOT NULL EXCEPT SELECT subject_id FROM \
         audit_logs WHERE action IN ('task:completed', 'task:failed', 'task:attempt_failed', 'task:rolled_back')",
        "an end that is not on record",
    ),
];

/// No attempt is half there, and none is one too many.
pub(crate) async fn assert_attempts_are_whole(home: &Home) {
    for (rows, meaning) in HALVES {
        let found = home.sql(rows).await;
        assert!(found.is_empty(), "{meaning}: {found:?}");
    }
}

//! Which task waits for which. Edges change under `FOR UPDATE` of the project row, so what is read there stays true.

use std::collections::BTreeMap;

use domain::organizations::Organization;
use domain::tasks::dependencies::{Edge, Prerequisite};
use domain::tasks::{Task, TaskState};
use domain::{Id, Timestamp};
use serde_json::json;
use uuid::Uuid;

use crate::{Result, Tx, args, row, statement};

row!(Edge { depends_on, dependent });
row!(Prerequisite { task_id, project_id, state, other_dependents });

/// A prerequisite of one of several tasks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Waiting {
    /// What waits.
    pub dependent: Id<Task>,
    /// For what.
    pub task_id: Id<Task>,
    /// Where that one stands.
    pub state: TaskState,
}
row!(Waiting { dependent, task_id, state });

struct Dependent {
    dependent: Id<Task>,
}
row!(Dependent { dependent });

struct Blocked {
    task_id: Id<Task>,
    count: i64,
}
row!(Blocked { task_id, count });

statement!(
    INSERT = "INSERT INTO task_dependencies (id, org_id, depends_on_task_id, dependent_task_id, created_at, updated_at) \
              VALUES ($1, $2, $3, $4, $5, $5)"
);
statement!(
    DELETE = "DELETE FROM task_dependencies WHERE org_id = $1 AND depends_on_task_id = $2 AND dependent_task_id = $3"
);
// Ids grow, so this is the order in which the author named them.
statement!(
    PREREQUISITES: Waiting =
        lite "SELECT d.dependent_task_id AS dependent, d.depends_on_task_id AS task_id, t.state \
              FROM task_dependencies d JOIN tasks t ON t.id = d.depends_on_task_id WHERE d.org_id = $1 \
              AND d.dependent_task_id IN (SELECT value FROM json_each($2)) ORDER BY d.id",
        pg "SELECT d.dependent_task_id AS dependent, d.depends_on_task_id AS task_id, t.state \
            FROM task_dependencies d JOIN tasks t ON t.id = d.depends_on_task_id WHERE d.org_id = $1 \
            AND d.dependent_task_id IN (SELECT CAST(value AS UUID) FROM jsonb_array_elements_text($2)) ORDER BY d.id"
);
statement!(
    DEPENDENTS: Dependent = "SELECT dependent_task_id AS dependent FROM task_dependencies \
                             WHERE org_id = $1 AND depends_on_task_id = $2 ORDER BY dependent_task_id"
);
statement!(
    BLOCKED: Blocked =
        lite "SELECT depends_on_task_id AS task_id, count(*) AS count FROM task_dependencies WHERE org_id = $1 \
              AND depends_on_task_id IN (SELECT value FROM json_each($2)) GROUP BY depends_on_task_id",
        pg "SELECT depends_on_task_id AS task_id, count(*) AS count FROM task_dependencies WHERE org_id = $1 \
            AND depends_on_task_id IN (SELECT CAST(value AS UUID) FROM jsonb_array_elements_text($2)) \
            GROUP BY depends_on_task_id"
);
statement!(
    CANDIDATE: Prerequisite =
        "SELECT t.id AS task_id, t.project_id, t.state, (SELECT count(*) FROM task_dependencies d \
         WHERE d.org_id = $1 AND d.depends_on_task_id = t.id AND d.dependent_task_id <> $2) AS other_dependents \
         FROM tasks t WHERE t.org_id = $1 AND t.id = $3", lock "FOR SHARE"
);
statement!(
    BELOW: Edge = "WITH RECURSIVE below(depends_on, dependent) AS (SELECT depends_on_task_id, dependent_task_id \
                   FROM task_dependencies WHERE org_id = $1 AND depends_on_task_id = $2 UNION \
                   SELECT d.depends_on_task_id, d.dependent_task_id FROM below b JOIN task_dependencies d \
                   ON d.depends_on_task_id = b.dependent) SELECT depends_on, dependent FROM below"
);

/// Adds an edge.
pub async fn insert(
    tx: &mut Tx,
    org: Id<Organization>,
    (id, edge): (Uuid, Edge),
    now: Timestamp,
) -> Result<()> {
    tx.push(&INSERT, args![id, org, edge.depends_on, edge.dependent, now]).await
}

/// Takes an edge away.
pub async fn delete(tx: &mut Tx, org: Id<Organization>, edge: Edge) -> Result<()> {
    tx.push(&DELETE, args![org, edge.depends_on, edge.dependent]).await
}

/// What each of these tasks waits for or waited for, in the order in which it was said.
pub async fn prerequisites(tx: &mut Tx, org: Id<Organization>, tasks: &[Id<Task>]) -> Result<Vec<Waiting>> {
    let ids: Vec<String> = tasks.iter().map(ToString::to_string).collect();
    tx.all(&PREREQUISITES, args![org, &json!(ids)]).await
}

/// Which tasks wait for this one, by id.
pub async fn dependents(tx: &mut Tx, org: Id<Organization>, task: Id<Task>) -> Result<Vec<Id<Task>>> {
    let found = tx.all(&DEPENDENTS, args![org, task]).await?;
    Ok(found.into_iter().map(|row| row.dependent).collect())
}

/// How many tasks wait for each of these; those that nothing waits for are left out.
pub async fn blocked(
    tx: &mut Tx,
    org: Id<Organization>,
    tasks: impl IntoIterator<Item = Id<Task>>,
) -> Result<BTreeMap<Id<Task>, i64>> {
    let ids: Vec<String> = tasks.into_iter().map(|id| id.to_string()).collect();
    let found = tx.all(&BLOCKED, args![org, &json!(ids)]).await?;
    Ok(found.into_iter().map(|row| (row.task_id, row.count)).collect())
}

/// A task that `asking` would wait for; nobody changes it until the unit ends.
pub async fn candidate(
    tx: &mut Tx,
    org: Id<Organization>,
    asking: Id<Task>,
    id: Id<Task>,
) -> Result<Option<Prerequisite>> {
    tx.opt(&CANDIDATE, args![org, asking, id]).await
}

/// Every edge below a task: to its dependents, from them to theirs, and so on.
pub async fn below(tx: &mut Tx, org: Id<Organization>, task: Id<Task>) -> Result<Vec<Edge>> {
    tx.all(&BELOW, args![org, task]).await
}

//! What waits for an agent: approved, blocked by nothing, at its hour; the lowest rank first, then the oldest approval.

use domain::accounts::Account;
use domain::organizations::Organization;
use domain::tasks::Task;
use domain::{Id, Timestamp};
use serde_json::json;

use crate::value::Value;
use crate::{Result, Tx, args, row, statement};

// What another agent has to apply is left out here so that it need not be looked at one by one; the rule decides again.
statement!(
    QUEUE: Task = "SELECT t.id, t.org_id, t.project_id, t.author_id, t.slug, t.path, t.state, t.status, \
                   t.revision, t.content_hash, t.version, t.task_type, t.priority, t.assignee, t.due_at, \
                   t.tags, t.metadata, t.risk, t.preview, t.effect_hash, t.review_id, t.queue_rank, \
                   t.not_before, t.needs_attention, t.resubmitted_from, t.submitted_at, t.approved_at, \
                   t.applying_at, t.completed_at, t.ended_at, t.created_at, t.updated_at FROM tasks t \
                   WHERE t.org_id = $1 AND t.state = 'APPROVED' AND t.status <> 'blocked' AND \
                   (t.assignee = $2 OR (t.assignee IS NULL AND (t.author_id = $2 OR NOT EXISTS (SELECT 1 \
                   FROM agents a WHERE a.org_id = $1 AND a.id = t.author_id))))"
    and ["(t.queue_rank, t.approved_at, t.id) > (?, ?, ?)"]
    then "ORDER BY t.queue_rank, t.approved_at, t.id LIMIT ?"
);

struct Queued {
    agent_id: Id<Account>,
    count: i64,
}
row!(Queued { agent_id, count });
statement!(
    ASSIGNED: Queued =
        lite "SELECT assignee AS agent_id, count(*) AS count FROM tasks WHERE NULLIF(org_id, NULL) = $1 AND \
              state = 'APPROVED' AND assignee IN (SELECT value FROM json_each($2)) GROUP BY assignee",
        pg "SELECT assignee AS agent_id, count(*) AS count FROM tasks WHERE org_id = $1 AND state = 'APPROVED' \
            AND assignee IN (SELECT CAST(value AS UUID) FROM jsonb_array_elements_text($2)) GROUP BY assignee"
);
statement!(
    AUTHORED: Queued =
        lite "SELECT author_id AS agent_id, count(*) AS count FROM tasks WHERE NULLIF(org_id, NULL) = $1 AND \
              state = 'APPROVED' AND assignee IS NULL AND author_id IN (SELECT value FROM json_each($2)) \
              GROUP BY author_id",
        pg "SELECT author_id AS agent_id, count(*) AS count FROM tasks WHERE org_id = $1 AND state = 'APPROVED' \
            AND assignee IS NULL AND author_id IN (SELECT CAST(value AS UUID) FROM jsonb_array_elements_text($2)) \
            GROUP BY author_id"
);

/// A place in the queue: rank, approval, id.
pub type Place = (i64, Timestamp, Id<Task>);

/// Tasks behind this place that wait for this agent, or for any; whether it has the labels that they ask for is
/// another question.
pub async fn queue(
    tx: &mut Tx,
    (org, agent): (Id<Organization>, Id<Account>),
    after: Option<Place>,
    limit: i64,
) -> Result<Vec<Task>> {
    let mut search = QUEUE.with(args![org, agent]);
    if let Some((rank, approved_at, id)) = after {
        QUEUE.and(
            &mut search,
            "(t.queue_rank, t.approved_at, t.id) > (?, ?, ?)",
            args![rank, approved_at, id],
        );
    }
    tx.found(&QUEUE.finish(search, &[Value::from(limit)])).await
}

/// How many tasks wait for each of these agents and for nobody else.
pub async fn queued(
    tx: &mut Tx,
    org: Id<Organization>,
    agents: &[Id<Account>],
) -> Result<Vec<(Id<Account>, i64)>> {
    let ids = json!(agents.iter().map(ToString::to_string).collect::<Vec<_>>());
    let mut counts = tx.all(&ASSIGNED, args![org, &ids]).await?;
    counts.extend(tx.all(&AUTHORED, args![org, &ids]).await?);
    Ok(counts.into_iter().map(|queued| (queued.agent_id, queued.count)).collect())
}

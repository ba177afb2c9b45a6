//! Finding tasks. Each filter alone is a walk along an index, newest first; of several one leads and the others sort out.

use domain::accounts::Account;
use domain::organizations::Organization;
use domain::projects::Project;
use domain::tasks::place::BEHIND_ALL;
use domain::tasks::{Task, TaskState, TaskStatus};
use domain::{Id, Timestamp};

use crate::statement::{Built, Search};
use crate::value::Value;
use crate::{Result, Tx, args, statement};

statement!(
    LIST: Task = "SELECT t.id, t.org_id, t.project_id, t.author_id, t.slug, t.path, t.state, t.status, \
                  t.revision, t.content_hash, t.version, t.task_type, t.priority, t.assignee, t.due_at, \
                  t.tags, t.metadata, t.risk, t.preview, t.effect_hash, t.review_id, t.queue_rank, t.not_before, t.needs_attention, \
                  t.resubmitted_from, t.submitted_at, t.approved_at, t.applying_at, t.completed_at, \
                  t.ended_at, t.created_at, t.updated_at FROM tasks t WHERE t.org_id = $1"
    and [
        "t.state = ?",
        "t.status = ?",
        OPEN,
        "t.risk_score >= ?",
        "t.author_id = ?",
        "t.project_id = ?",
        "t.assignee = ?",
        "(t.path >= ? AND t.path < ?)",
        "(t.created_at, t.id) < (?, ?)",
    ]
    then "ORDER BY t.created_at DESC, t.id DESC LIMIT ?"
);
statement!(
    LIST_TAGGED: Task = "SELECT t.id, t.org_id, t.project_id, t.author_id, t.slug, t.path, t.state, t.status, \
                         t.revision, t.content_hash, t.version, t.task_type, t.priority, t.assignee, \
                         t.due_at, t.tags, t.metadata, t.risk, t.preview, t.effect_hash, t.review_id, \
                         t.queue_rank, t.not_before, t.needs_attention, t.resubmitted_from, t.submitted_at, t.approved_at, t.applying_at, \
                         t.completed_at, t.ended_at, t.created_at, t.updated_at FROM task_tags g JOIN tasks t \
                         ON t.id = g.task_id WHERE g.org_id = $1 AND g.tag = $2"
    and [
        "t.state = ?",
        "t.status = ?",
        OPEN,
        "t.risk_score >= ?",
        "t.author_id = ?",
        "t.project_id = ?",
        "t.assignee = ?",
        "(t.path >= ? AND t.path < ?)",
        "(g.created_at, g.task_id) < (?, ?)",
    ]
    then "ORDER BY g.created_at DESC, g.task_id DESC LIMIT ?"
);
statement!(
    LIST_TOUCHING: Task = "SELECT t.id, t.org_id, t.project_id, t.author_id, t.slug, t.path, t.state, \
                           t.status, t.revision, t.content_hash, t.version, t.task_type, t.priority, \
                           t.assignee, t.due_at, t.tags, t.metadata, t.risk, t.preview, t.effect_hash, \
                           t.review_id, t.queue_rank, t.not_before, t.needs_attention, t.resubmitted_from, t.submitted_at, t.approved_at, \
                           t.applying_at, t.completed_at, t.ended_at, t.created_at, t.updated_at FROM \
                           task_resources r JOIN tasks t ON t.id = r.task_id WHERE r.org_id = $1 AND \
                           r.resource = $2"
    and [
        "t.state = ?",
        "t.status = ?",
        OPEN,
        "t.risk_score >= ?",
        "t.author_id = ?",
        "t.project_id = ?",
        "t.assignee = ?",
        "(t.path >= ? AND t.path < ?)",
        HAS_TAG,
        "(r.created_at, r.task_id) < (?, ?)",
    ]
    then "ORDER BY r.created_at DESC, r.task_id DESC LIMIT ?"
);

/// A place in a list of tasks, newest first.
pub type After = (Timestamp, Id<Task>);

/// Which tasks.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only those in this state.
    pub state: Option<TaskState>,
    /// Only those of this status.
    pub status: Option<TaskStatus>,
    /// Only those that are not at their end.
    pub open: bool,
    /// Only those whose score is at least this.
    pub risk_from: Option<u32>,
    /// Only those this account proposed.
    pub author: Option<Id<Account>>,
    /// Only those that touch this, by name (`type:id`).
    pub resource: Option<String>,
    /// Only those with this tag.
    pub tag: Option<String>,
    /// Only those of this project.
    pub project: Option<Id<Project>>,
    /// Only those this account shall apply.
    pub assignee: Option<Id<Account>>,
    /// Only those whose path begins like this.
    pub path_prefix: Option<String>,
    /// Only those behind this place in the list.
    pub after: Option<After>,
}

/// As the index over them says it.
const OPEN: &str = "t.status IN ('pending', 'in-progress', 'blocked')";
const HAS_TAG: &str = "EXISTS (SELECT 1 FROM task_tags g WHERE g.org_id = r.org_id AND g.tag = ? AND g.created_at = \
                       r.created_at AND g.task_id = r.task_id)";

/// Tasks of the organization, newest first.
pub async fn list(tx: &mut Tx, org: Id<Organization>, filter: &Filter, limit: i64) -> Result<Vec<Task>> {
    let (statement, mut search, place) = match (&filter.resource, &filter.tag) {
        (Some(resource), _) => {
            let search = LIST_TOUCHING.with(args![org, resource]);
            (&LIST_TOUCHING, search, "(r.created_at, r.task_id) < (?, ?)")
        }
        (None, Some(tag)) => {
            (&LIST_TAGGED, LIST_TAGGED.with(args![org, tag]), "(g.created_at, g.task_id) < (?, ?)")
        }
        (None, None) => (&LIST, LIST.with(args![org]), "(t.created_at, t.id) < (?, ?)"),
    };
    if let (Some(_), Some(tag)) = (&filter.resource, &filter.tag) {
        statement.and(&mut search, HAS_TAG, args![tag]);
    }
    narrow(statement, &mut search, filter);
    if let Some((created_at, id)) = filter.after {
        statement.and(&mut search, place, args![created_at, id]);
    }
    tx.found(&statement.finish(search, &[Value::from(limit)])).await
}

fn narrow<'a>(statement: &Search<Task>, search: &mut Built<'a, Task>, filter: &'a Filter) {
    if let Some(state) = filter.state {
        statement.and(search, "t.state = ?", args![state.as_str()]);
    }
    if let Some(status) = filter.status {
        statement.and(search, "t.status = ?", args![status.as_str()]);
    }
    if filter.open {
        statement.and(search, OPEN, &[]);
    }
    if let Some(score) = filter.risk_from {
        statement.and(search, "t.risk_score >= ?", args![i64::from(score)]);
    }
    if let Some(author) = filter.author {
        statement.and(search, "t.author_id = ?", args![author]);
    }
    if let Some(project) = filter.project {
        statement.and(search, "t.project_id = ?", args![project]);
    }
    if let Some(assignee) = filter.assignee {
        statement.and(search, "t.assignee = ?", args![assignee]);
    }
    if let Some(prefix) = &filter.path_prefix {
        let behind = format!("{prefix}{BEHIND_ALL}");
        statement.and(search, "(t.path >= ? AND t.path < ?)", args![prefix, behind]);
    }
}

//! Approvals: requests to reviewers, with their answers.

mod answered;
mod of_reviews;
mod passed_on;
mod stats;

use domain::accounts::Account;
use domain::approvals::{Answer, Approval, ApprovalKind, ApprovalStatus, Priority, Response};
use domain::canonical::Sha256Hash;
use domain::delegations::Routing;
use domain::organizations::Organization;
use domain::reviews::Review;
use domain::tasks::Task;
use domain::{Id, Timestamp};
use serde_json::Value as Json;

use crate::row::{Cell, Col};
use crate::value::Value;
use crate::{Result, Tx, args, row, statement, text_column};

pub use answered::answered;
pub use of_reviews::of_reviews;
pub use passed_on::{passed_on, requeue, route};
pub use stats::{Answered, Day, Held, answered_by_day, answered_since, count_pending, count_waiting, held};

text_column!(ApprovalKind, ApprovalStatus, Answer, Priority);

/// Where nothing is due, requests wait behind all that is.
const END_OF_TIME: Timestamp = Timestamp::from_micros(253_402_300_799_999_999);

struct ApprovalRow {
    id: Id<Approval>,
    org_id: Id<Organization>,
    task_id: Id<Task>,
    review_id: Id<Review>,
    kind: ApprovalKind,
    reviewer_id: Id<Account>,
    status: ApprovalStatus,
    priority: Priority,
    score: i64,
    serves: Places,
    content_hash: Sha256Hash,
    joined: bool,
    delegated_to: Option<Id<Account>>,
    delegation_chain: Vec<Id<Account>>,
    routing: Routing,
    due_at: Option<Timestamp>,
    acknowledged_at: Option<Timestamp>,
    responded_at: Option<Timestamp>,
    response_action: Option<Answer>,
    response_reason: Option<String>,
    reviewed_by: Option<Id<Account>>,
    behind: Vec<Id<Account>>,
    created_at: Timestamp,
    updated_at: Timestamp,
}
row!(ApprovalRow {
    id,
    org_id,
    task_id,
    review_id,
    kind,
    reviewer_id,
    status,
    priority,
    score,
    serves,
    content_hash,
    joined,
    delegated_to,
    delegation_chain,
    routing,
    due_at,
    acknowledged_at,
    responded_at,
    response_action,
    response_reason,
    reviewed_by,
    behind,
    created_at,
    updated_at
});

/// A JSON list of places in a list.
struct Places(Vec<usize>);

impl Col for Places {
    fn from_cell(cell: Cell<'_>) -> std::result::Result<Self, String> {
        let text = cell.text()?;
        // Most are asked for one policy, and queues read many.
        let inside = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        if let Some(Ok(one)) = inside.map(str::parse) {
            return Ok(Self(vec![one]));
        }
        serde_json::from_str(text).map(Self).map_err(|error| error.to_string())
    }
}

impl Col for Routing {
    fn from_cell(cell: Cell<'_>) -> std::result::Result<Self, String> {
        // Most were not passed on, and queues read many.
        if cell.text()? == "{}" {
            return Ok(Self::default());
        }
        Self::from_value(&Col::from_cell(cell)?).map_err(|error| error.to_string())
    }
}

impl From<ApprovalRow> for Approval {
    fn from(row: ApprovalRow) -> Self {
        let response = match (row.response_action, row.reviewed_by, row.responded_at) {
            (Some(action), Some(by), Some(at)) => Some(Response {
                action,
                reason: row.response_reason,
                by,
                behind: row.behind.into_iter().collect(),
                at,
            }),
            _ => None,
        };
        Self {
            id: row.id,
            org_id: row.org_id,
            task_id: row.task_id,
            review_id: row.review_id,
            kind: row.kind,
            reviewer_id: row.reviewer_id,
            status: row.status,
            priority: row.priority,
            score: row.score,
            serves: row.serves.0,
            content_hash: row.content_hash,
            joined: row.joined,
            delegated_to: row.delegated_to,
            delegation_chain: row.delegation_chain,
            routing: row.routing,
            due_at: row.due_at,
            acknowledged_at: row.acknowledged_at,
            response,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}

statement!(
    INSERT = "INSERT INTO approvals (id, org_id, task_id, review_id, kind, reviewer_id, status, priority, score, \
              queue_rank, queue_due, serves, content_hash, joined, about_skipping, due_at, created_at, \
              updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $17)"
);
statement!(
    GET: ApprovalRow = "SELECT id, org_id, task_id, review_id, kind, reviewer_id, status, priority, score, serves, \
                        content_hash, joined, delegated_to, delegation_chain, routing, due_at, acknowledged_at, \
                        responded_at, response_action, response_reason, reviewed_by, behind, created_at, \
                        updated_at FROM approvals WHERE org_id = $1 AND id = $2"
);
statement!(
    THESE: ApprovalRow = lite "SELECT id, org_id, task_id, review_id, kind, reviewer_id, status, priority, score, \
                        serves, content_hash, joined, delegated_to, delegation_chain, routing, due_at, acknowledged_at, \
                        responded_at, response_action, response_reason, reviewed_by, behind, created_at, \
                        updated_at FROM approvals WHERE NULLIF(org_id, NULL) = $1 AND id IN (SELECT value FROM \
                        json_each($2))",
                        pg "SELECT id, org_id, task_id, review_id, kind, reviewer_id, status, priority, score, \
                        serves, content_hash, joined, delegated_to, delegation_chain, routing, due_at, acknowledged_at, \
                        responded_at, response_action, response_reason, reviewed_by, behind, created_at, \
                        updated_at FROM approvals WHERE org_id = $1 AND id IN (SELECT CAST(value AS UUID) FROM \
                        jsonb_array_elements_text($2))"
);
statement!(
    OF_REVIEW: ApprovalRow = "SELECT id, org_id, task_id, review_id, kind, reviewer_id, status, priority, score, \
                        serves, content_hash, joined, delegated_to, delegation_chain, routing, due_at, acknowledged_at, \
                        responded_at, response_action, response_reason, reviewed_by, behind, created_at, \
                        updated_at FROM approvals WHERE NULLIF(org_id, NULL) = $1 AND review_id = $2 ORDER BY id"
);
statement!(
    LIST: ApprovalRow = "SELECT id, org_id, task_id, review_id, kind, reviewer_id, status, priority, score, \
                        serves, content_hash, joined, delegated_to, delegation_chain, routing, due_at, acknowledged_at, \
                        responded_at, response_action, response_reason, reviewed_by, behind, created_at, \
                        updated_at FROM approvals WHERE org_id = $1"
                        and ["reviewer_id = ?", "status = ?", "(queue_rank, queue_due, id) > (?, ?, ?)"]
                        then "ORDER BY queue_rank, queue_due, id LIMIT ?"
);
statement!(
    LIST_BY_AGE: ApprovalRow = "SELECT id, org_id, task_id, review_id, kind, reviewer_id, status, priority, score, \
                        serves, content_hash, joined, delegated_to, delegation_chain, routing, due_at, acknowledged_at, \
                        responded_at, response_action, response_reason, reviewed_by, behind, created_at, \
                        updated_at FROM approvals WHERE org_id = $1"
                        and ["reviewer_id = ?", "status = ?", "id > ?"]
                        then "ORDER BY id LIMIT ?"
);
statement!(
    OF_TASK: ApprovalRow = "SELECT id, org_id, task_id, review_id, kind, reviewer_id, status, priority, score, \
                        serves, content_hash, joined, delegated_to, delegation_chain, routing, due_at, acknowledged_at, \
                        responded_at, response_action, response_reason, reviewed_by, behind, created_at, \
                        updated_at FROM approvals WHERE NULLIF(org_id, NULL) = $1 AND task_id = $2"
);
statement!(
    UPDATE = "UPDATE approvals SET status = $1, acknowledged_at = $2, responded_at = $3, response_action = $4, \
              response_reason = $5, reviewed_by = $6, behind = $7, updated_at = $8 WHERE org_id = $9 AND id = $10"
);
statement!(
    SUPERSEDE = "UPDATE approvals SET status = 'SUPERSEDED', updated_at = $1 \
                 WHERE NULLIF(org_id, NULL) = $2 AND review_id = $3 AND status = 'PENDING'"
);
statement!(
    SUPERSEDE_ALL = "UPDATE approvals SET status = 'SUPERSEDED', updated_at = $1 \
                     WHERE NULLIF(org_id, NULL) = $2 AND review_id = $3 AND \
                     status IN ('PENDING', 'APPROVED', 'REJECTED')"
);

/// A place in the queue.
pub type After = (i64, Timestamp, Id<Approval>);

/// In which order, and behind which place in it.
#[derive(Clone, Copy, Debug)]
pub enum Order {
    /// What should be answered first.
    Queue(Option<After>),
    /// The oldest first. The queue tells the score, which not everybody may know.
    Age(Option<Id<Approval>>),
}

impl Default for Order {
    fn default() -> Self {
        Self::Queue(None)
    }
}

/// Which requests.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only those to this account.
    pub reviewer: Option<Id<Account>>,
    /// Only those in this status.
    pub status: Option<ApprovalStatus>,
    /// Only those about this task.
    pub task: Option<Id<Task>>,
    /// In which order.
    pub order: Order,
}

/// Where the request stands in the queue.
#[must_use]
pub fn place(approval: &Approval) -> After {
    (-approval.score, approval.due_at.unwrap_or(END_OF_TIME), approval.id)
}

/// Writes a request that is not answered.
pub async fn insert(tx: &mut Tx, approval: &Approval) -> Result<()> {
    let (queue_rank, queue_due, _) = place(approval);
    let serves = Json::from(approval.serves.clone());
    let values = args![
        approval.id,
        approval.org_id,
        approval.task_id,
        approval.review_id,
        approval.kind.as_str(),
        approval.reviewer_id,
        approval.status.as_str(),
        approval.priority.as_str(),
        approval.score,
        queue_rank,
        queue_due,
        &serves,
        approval.content_hash,
        approval.joined,
        approval.is_about_skipping(),
        approval.due_at,
        approval.created_at,
    ];
    tx.push(&INSERT, values).await
}

/// The request.
pub async fn get(tx: &mut Tx, org: Id<Organization>, id: Id<Approval>) -> Result<Option<Approval>> {
    Ok(tx.opt(&GET, args![org, id]).await?.map(Into::into))
}

/// Those of these requests that there are.
pub async fn these(tx: &mut Tx, org: Id<Organization>, ids: &[Id<Approval>]) -> Result<Vec<Approval>> {
    let ids = Json::from(ids.iter().map(ToString::to_string).collect::<Vec<_>>());
    Ok(tx.all(&THESE, args![org, &ids]).await?.into_iter().map(Into::into).collect())
}

/// All requests of a review.
pub async fn of_review(tx: &mut Tx, org: Id<Organization>, review: Id<Review>) -> Result<Vec<Approval>> {
    Ok(tx.all(&OF_REVIEW, args![org, review]).await?.into_iter().map(Into::into).collect())
}

/// Requests, in the order that is asked for.
pub async fn list(tx: &mut Tx, org: Id<Organization>, filter: &Filter, limit: i64) -> Result<Vec<Approval>> {
    let found = match (filter.task, filter.status, filter.order) {
        (Some(task), ..) => tx.all(&OF_TASK, args![org, task]).await?,
        (None, None, Order::Queue(_)) => {
            // Each status stands in its order in the index; where any will do, the first of each are the first of all.
            let mut first = Vec::new();
            for status in ApprovalStatus::ALL {
                first.extend(
                    search(tx, org, &Filter { status: Some(status), ..filter.clone() }, limit).await?,
                );
            }
            first
        }
        _ => search(tx, org, filter, limit).await?,
    };
    let mut found: Vec<Approval> =
        found.into_iter().map(Into::into).filter(|one| filter.means(one)).collect();
    match filter.order {
        Order::Queue(_) => found.sort_by_key(place),
        Order::Age(_) => found.sort_by_key(|approval| approval.id),
    }
    found.truncate(usize::try_from(limit).unwrap_or_default());
    Ok(found)
}

impl Filter {
    fn means(&self, approval: &Approval) -> bool {
        let is_behind = match self.order {
            Order::Queue(after) => after.is_none_or(|after| place(approval) > after),
            Order::Age(after) => after.is_none_or(|after| approval.id > after),
        };
        let is_to = self.reviewer.is_none_or(|reviewer| approval.reviewer_id == reviewer);
        is_behind && is_to && self.status.is_none_or(|status| approval.status == status)
    }
}

async fn search(tx: &mut Tx, org: Id<Organization>, filter: &Filter, limit: i64) -> Result<Vec<ApprovalRow>> {
    let text = match filter.order {
        Order::Queue(_) => &LIST,
        Order::Age(_) => &LIST_BY_AGE,
    };
    let mut search = text.with(args![org]);
    if let Some(reviewer) = filter.reviewer {
        text.and(&mut search, "reviewer_id = ?", args![reviewer]);
    }
    if let Some(status) = filter.status {
        text.and(&mut search, "status = ?", args![status.as_str()]);
    }
    match filter.order {
        Order::Queue(Some((rank, due, id))) => {
            text.and(&mut search, "(queue_rank, queue_due, id) > (?, ?, ?)", args![rank, due, id]);
        }
        Order::Age(Some(id)) => text.and(&mut search, "id > ?", args![id]),
        Order::Queue(None) | Order::Age(None) => (),
    }
    tx.found(&text.finish(search, &[Value::from(limit)])).await
}

/// Notes an answer, or that it was seen. Whoever does that has locked the task.
pub async fn update(tx: &mut Tx, approval: &Approval) -> Result<()> {
    let response = approval.response.as_ref();
    let behind = response.map(|response| response.behind.iter().map(|id| id.to_string()).collect::<Vec<_>>());
    let behind = Json::from(behind.unwrap_or_default());
    let values = args![
        approval.status.as_str(),
        approval.acknowledged_at,
        response.map(|response| response.at),
        response.map(|response| response.action.as_str()),
        response.and_then(|response| response.reason.as_deref()),
        response.map(|response| response.by),
        &behind,
        approval.updated_at,
        approval.org_id,
        approval.id,
    ];
    tx.change_one(&UPDATE, values, "a request for review").await
}

/// Closes the requests of a review that nobody answered.
pub async fn supersede_open(
    tx: &mut Tx,
    org: Id<Organization>,
    review: Id<Review>,
    now: Timestamp,
) -> Result<()> {
    tx.push(&SUPERSEDE, args![now, org, review]).await
}

/// Voids all requests of a review, answered or not.
pub async fn supersede_all(
    tx: &mut Tx,
    org: Id<Organization>,
    review: Id<Review>,
    now: Timestamp,
) -> Result<()> {
    tx.push(&SUPERSEDE_ALL, args![now, org, review]).await
}

//! Approvals: found, answered, acknowledged, joined.

mod acknowledge;
mod answered;
mod batch;
mod delegate;
mod inbox;
mod join;
mod list;
mod reassign;
mod stats;
mod vote;

use domain::approvals::Approval;
use domain::events::EventDraft;
use domain::subject::Subject;
use records::Tx;
use serde_json::json;

pub use acknowledge::acknowledge;
pub use answered::{Answered, answered};
pub use batch::{BATCH_MAX, Batch, batch};
pub use delegate::{PassOn, delegate};
pub use inbox::{Inbox, Sought, Waiting, inbox};
pub use join::join;
pub(crate) use list::seen_all;
pub use list::{get, list};
pub(crate) use reassign::{REASSIGN, reassign_job, schedule_reassign};
pub use records::approvals::place;
pub use stats::{Answers, Stats, answers, by_day, held, stats};
pub(crate) use vote::refused;
pub use vote::{Vote, vote};

use crate::HubError;
use crate::act::{self, Deed};

const MISSING: HubError = HubError::NotFound("approval");

/// A request as it is shown.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The request.
    pub approval: Approval,
    /// What people call the reviewer.
    pub reviewer_name: String,
    /// Whether the caller is shown its score; agents are not, or they would learn the risk from it.
    pub shows_score: bool,
}

pub(crate) fn subject(approval: &Approval) -> Subject {
    Subject::new("approval", approval.id)
}

/// Tells of a request: ids, states and hashes.
pub(crate) async fn announce(
    tx: &mut Tx,
    act: &impl Deed,
    event_type: &str,
    approval: &Approval,
) -> Result<(), HubError> {
    act::announce_all(tx, act, &[told(act, event_type, approval)]).await.map(drop)
}

/// Tells of several requests.
pub(crate) async fn announce_all(
    tx: &mut Tx,
    act: &impl Deed,
    event_type: &str,
    approvals: &[Approval],
) -> Result<(), HubError> {
    let events: Vec<EventDraft> = approvals.iter().map(|approval| told(act, event_type, approval)).collect();
    act::announce_all(tx, act, &events).await.map(drop)
}

fn told(act: &impl Deed, event_type: &str, approval: &Approval) -> EventDraft {
    let in_place_of: Vec<String> = approval.delegation_chain.iter().map(ToString::to_string).collect();
    let payload = json!({
        "approval_id": approval.id.to_string(), "task_id": approval.task_id.to_string(),
        "reviewer_id": approval.reviewer_id.to_string(), "status": approval.status.as_str(),
        "priority": approval.priority.as_str(), "content_hash": approval.content_hash.to_string(),
        "due_at": approval.due_at.map(|at| at.to_string()), "kind": approval.kind.as_str(),
        "in_place_of": in_place_of, "delegated_to": approval.delegated_to.map(|to| to.to_string()),
    });
    act.event(event_type, subject(approval), payload)
}

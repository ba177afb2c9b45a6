//! Beginning a review, and ending it at once where every policy lets the task pass.

use std::time::Duration;

use domain::Id;
use domain::approvals::{Approval, ApprovalStatus};
use domain::notifications::tells_anybody;
use domain::reviews::{Ending, Resolution, Terms, end};
use domain::settings::Settings;
use domain::tasks::{Actor, Move, Task, TaskConfig, TaskState};
use records::{Tx, approvals, grants, reviews, tasks};
use serde_json::{Map, Value};

use super::plan::{Matter, Plan, plan};
use super::reroute::note;
use crate::act::Deed;
use crate::tasks::{
    announce, announce_move, announce_resolved, current_config, current_revision, record, refused,
};
use crate::{HubError, settings};

/// Begins a review. Gives the task as it is then: REVIEWING, or APPROVED where nobody needs to be asked.
/// `stored` is the task in the records, `task` what it is when the review begins, `by` how it comes into review.
pub(crate) async fn begin(
    tx: &mut Tx,
    act: &impl Deed,
    stored: &Task,
    task: Task,
    by: (Move, Actor),
) -> Result<Task, HubError> {
    let revision = current_revision(tx, stored).await?;
    let config = current_config(&revision)?;
    let matter = Matter { task, revision: &revision, config: &config, by };
    let settings = settings::load(tx, act.org()).await?;
    let plan = plan(tx, act, &matter, &settings).await?;
    if plan.passes() {
        return pass(tx, act, (stored, &matter), (plan, &settings)).await;
    }
    tasks::save(tx, stored, &plan.task).await?;
    reviews::insert(tx, &plan.review).await?;
    transition(tx, act, "task:review_began", (matter.task.state, &plan.task), plan.details()).await?;
    for request in &plan.requests {
        ask(tx, act, request).await?;
    }
    if !tells_anybody(&plan.requests, act.actor()) {
        announce(tx, act, "approval:nobody_told", &plan.task).await?;
    }
    Ok(plan.task)
}

/// Writes a request, and tells of it.
pub(crate) async fn ask(tx: &mut Tx, act: &impl Deed, approval: &Approval) -> Result<(), HubError> {
    approvals::insert(tx, approval).await?;
    if !approval.delegation_chain.is_empty() || !approval.routing.is_plain() {
        approvals::route(tx, approval).await?;
    }
    if approval.status == ApprovalStatus::Delegated {
        note(tx, act, "approval:delegated", (approval, approval)).await?;
        return crate::approvals::announce(tx, act, "approval:delegated", approval).await;
    }
    crate::approvals::announce(tx, act, "approval:requested", approval).await
}

/// Every policy lets it pass: the review begins and ends in one, and says so.
async fn pass(
    tx: &mut Tx,
    act: &impl Deed,
    (stored, matter): (&Task, &Matter<'_>),
    (plan, settings): (Plan, &Settings),
) -> Result<Task, HubError> {
    let why = plan.details();
    let Plan { task, review, .. } = plan;
    let ending = Ending { resolution: Resolution::Auto, by: None, actor: Actor::HUB, at: act.now() };
    let terms = terms(act.hub().ids.id(), matter.config, settings);
    let ended = end(&task, &review, ending, terms).map_err(refused)?;
    tasks::save(tx, stored, &ended.task).await?;
    reviews::insert(tx, &ended.review).await?;
    transition(tx, act, "task:review_began", (matter.task.state, &task), why).await?;
    if let Some(grant) = &ended.grant {
        grants::insert(tx, grant).await?;
    }
    let mut details = Map::new();
    details.insert("resolution".into(), Resolution::Auto.as_str().into());
    details.insert("content_hash".into(), task.content_hash.to_string().into());
    transition(tx, act, "task:approved", (task.state, &ended.task), details).await?;
    let resolution = Some(Resolution::Auto.as_str());
    announce_resolved(tx, act, "task:approved", (&ended.task, resolution)).await?;
    Ok(ended.task)
}

/// What a Grant for this config is made of.
pub(super) fn terms(id: Id<domain::grants::Grant>, config: &TaskConfig, settings: &Settings) -> Terms {
    let validity = Duration::from_secs(settings.approval_validity.into());
    Terms { id, attempts: config.attempts(), validity }
}

/// One step of the task's life, on record and told.
pub(crate) async fn transition(
    tx: &mut Tx,
    act: &impl Deed,
    action: &str,
    (from, task): (TaskState, &Task),
    details: Map<String, Value>,
) -> Result<(), HubError> {
    record(tx, act, action, (Some(from), task), details).await?;
    announce_move(tx, act, (from, task)).await
}

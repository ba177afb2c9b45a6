//! Ending a review: what follows is written in the unit of whoever ended it.

use domain::Id;
use domain::accounts::Account;
use domain::approvals::{Approval, ApprovalStatus};
use domain::reviews::{Case, Ended, Ending, Resolution, Review, end};
use domain::subject::Subject;
use domain::tasks::{Task, TaskState};
use records::{Tx, approvals, grants, reviews, task_dependencies, tasks};
use serde_json::{Map, json};

use super::begin::{terms, transition};
use super::case::reviewed;
use crate::act::{self, Deed};
use crate::tasks::{announce_resolved, current_config, refused};
use crate::{HubError, settings};

/// Ends an open review by an answer. Gives the task as it is then.
pub(crate) async fn finish(
    tx: &mut Tx,
    act: &impl Deed,
    case: &Case,
    ending: Ending,
) -> Result<Task, HubError> {
    let config = current_config(&reviewed(tx, &case.task, &case.review).await?)?;
    let terms = terms(act.hub().ids.id(), &config, &settings::load(tx, act.org()).await?);
    let ended = end(&case.task, &case.review, ending, terms).map_err(refused)?;
    write(tx, act, (&case.task, &ended)).await?;
    close_open(tx, act, case).await?;
    Ok(ended.task)
}

async fn write(tx: &mut Tx, act: &impl Deed, (before, ended): (&Task, &Ended)) -> Result<(), HubError> {
    tasks::save(tx, before, &ended.task).await?;
    reviews::resolve(tx, &ended.review).await?;
    if let Some(grant) = &ended.grant {
        grants::insert(tx, grant).await?;
    }
    let resolution = ended.review.resolution.map(Resolution::as_str);
    let mut details = Map::new();
    details.insert("resolution".into(), json!(resolution));
    details.insert("content_hash".into(), ended.review.content_hash.to_string().into());
    let action = match ended.task.state {
        TaskState::Approved => "task:approved",
        TaskState::Rejected => "task:rejected",
        _ => "task:returned",
    };
    transition(tx, act, action, (before.state, &ended.task), details).await?;
    match ended.task.state {
        TaskState::Approved | TaskState::Rejected => {
            announce_resolved(tx, act, action, (&ended.task, resolution)).await?;
        }
        _ => announce_resolved(tx, act, "task:updated", (&ended.task, resolution)).await?,
    }
    if ended.task.state.is_dead() { tell_dependents(tx, act, &ended.task).await } else { Ok(()) }
}

/// Whoever was asked and has not answered is told that nobody waits for them any more.
pub(crate) async fn close_open(tx: &mut Tx, act: &impl Deed, case: &Case) -> Result<(), HubError> {
    let requests: Vec<Approval> = case.seats.iter().map(|seat| seat.approval.clone()).collect();
    // The answer that ended the review is not among them: it was written before.
    close(tx, act, (case.review.id, &requests)).await
}

/// Closes what is asked about the Grant of a review: the task goes on, or is given up.
pub(crate) async fn close_skips(tx: &mut Tx, act: &impl Deed, review: Id<Review>) -> Result<(), HubError> {
    let requests = approvals::of_review(tx, act.org(), review).await?;
    close(tx, act, (review, &requests)).await
}

pub(crate) async fn close(
    tx: &mut Tx,
    act: &impl Deed,
    (review, requests): (Id<Review>, &[Approval]),
) -> Result<(), HubError> {
    let open = requests.iter().filter(|request| request.status == ApprovalStatus::Pending);
    let closed: Vec<Approval> = open.map(|request| request.superseded(act.now())).collect();
    if closed.is_empty() {
        return Ok(());
    }
    approvals::supersede_open(tx, act.org(), review, act.now()).await?;
    crate::approvals::announce_all(tx, act, "approval:superseded", &closed).await
}

/// Voids an open review whose task was edited or cancelled: what people answered was about something else.
pub(crate) async fn void(
    tx: &mut Tx,
    act: &impl Deed,
    review: &Review,
    by: Id<Account>,
) -> Result<(), HubError> {
    let requests = approvals::of_review(tx, act.org(), review.id).await?;
    reviews::resolve(tx, &review.closed(Resolution::Superseded, Some(by), act.now())).await?;
    approvals::supersede_all(tx, act.org(), review.id, act.now()).await?;
    let open = requests.iter().filter(|approval| approval.status.is_changeable());
    let closed: Vec<Approval> = open.map(|approval| approval.superseded(act.now())).collect();
    crate::approvals::announce_all(tx, act, "approval:superseded", &closed).await
}

/// Tasks that wait for one that will never be done are told (DECISIONS.md 28).
pub(crate) async fn tell_dependents(tx: &mut Tx, act: &impl Deed, dead: &Task) -> Result<(), HubError> {
    for dependent in task_dependencies::dependents(tx, act.org(), dead.id).await? {
        let payload = json!({
            "task_id": dependent.to_string(),
            "blocked_by": {"task_id": dead.id.to_string(), "state": dead.state.as_str(), "dead": true},
        });
        act::announce(tx, act, "task:blocked", Subject::new("task", dependent), payload).await?;
    }
    Ok(())
}

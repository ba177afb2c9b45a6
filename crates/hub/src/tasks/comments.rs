//! What people and agents say about a task, in any state.

use domain::Id;
use domain::permissions::{Capability, CapabilitySet};
use domain::tasks::comments::{Comment, check_body};
use domain::tasks::{Move, Task};
use records::{Tx, task_comments, tasks};
use serde_json::{Map, json};

use super::{announce, found, known, record, require};
use crate::act::Act;
use crate::caller::lacks;
use crate::idempotency::{Once, Outcome, write_once};
use crate::{Caller, Hub, HubError};

/// A place in a list of comments.
pub type CommentPlace = task_comments::After;

struct Said {
    id: Id<Comment>,
    task: Id<Task>,
    body: String,
}

/// Says something about a task.
pub async fn comment(
    hub: &Hub,
    caller: &Caller,
    task: Id<Task>,
    body: String,
    once: Option<Once<Comment>>,
) -> Result<Outcome<Comment>, HubError> {
    require_voice(caller.capabilities)?;
    check_body(&body).map_err(|bad| HubError::field("/body", bad.to_string()))?;
    let input = Act::new(hub, caller, Said { id: hub.ids.id(), task, body });
    write_once(hub, once, input, |tx, act| Box::pin(unit(tx, act))).await
}

async fn unit(tx: &mut Tx, act: &Act<Said>) -> Result<Comment, HubError> {
    let said = &act.input;
    let task = tasks::get_shared(tx, act.org(), said.task).await?;
    let task = found(tx, (act.org(), said.task), task).await?;
    let current = act.reread(tx).await?;
    require_voice(current.capabilities())?;
    require(&current, &task, Move::Comment)?;
    let comment = Comment {
        id: said.id,
        org_id: act.org(),
        task_id: task.id,
        author_id: act.actor(),
        author_name: current.account.display_name.clone(),
        body: said.body.clone(),
        created_at: act.now,
    };
    task_comments::insert(tx, &comment).await?;
    let details = Map::from_iter([("comment_id".to_owned(), json!(comment.id.to_string()))]);
    record(tx, act, "task:commented", (Some(task.state), &task), details).await?;
    announce(tx, act, "task:commented", &task).await?;
    Ok(comment)
}

/// Those who write tasks talk about them, and those who may be asked for their opinion.
fn require_voice(capabilities: CapabilitySet) -> Result<(), HubError> {
    let speaks = [Capability::TasksWrite, Capability::ApprovalsDecide];
    if speaks.into_iter().any(|capability| capabilities.contains(capability)) {
        return Ok(());
    }
    Err(lacks(Capability::TasksWrite))
}

/// One comment.
pub async fn get_comment(
    hub: &Hub,
    caller: &Caller,
    task: Id<Task>,
    id: Id<Comment>,
) -> Result<Comment, HubError> {
    caller.require(Capability::TasksRead)?;
    let input = (caller.credential.organization.id, task, id);
    hub.records
        .read(input, |tx, &(org, task, id)| {
            Box::pin(async move {
                let found = task_comments::get(tx, org, task, id).await?;
                found.ok_or(HubError::NotFound("comment"))
            })
        })
        .await
}

/// Comments on a task, newest first.
pub async fn list_comments(
    hub: &Hub,
    caller: &Caller,
    task: Id<Task>,
    after: Option<CommentPlace>,
    limit: i64,
) -> Result<Vec<Comment>, HubError> {
    caller.require(Capability::TasksRead)?;
    let input = (caller.credential.organization.id, task, after, limit);
    hub.records
        .read(input, |tx, &(org, task, after, limit)| {
            Box::pin(async move {
                known(tx, org, task).await?;
                Ok(task_comments::list(tx, org, task, after, limit).await?)
            })
        })
        .await
}

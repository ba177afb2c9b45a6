//! Waiting until a task's review has ended.

use std::time::Duration;

use domain::Id;
use domain::permissions::Capability;
use domain::tasks::{Task, TaskState};
use tokio::time::Instant;

use super::{Seen, get};
use crate::identity::authenticate::still_may;
use crate::{Caller, Hub, HubError};

/// One task, once it is neither SUBMITTED nor REVIEWING, or as it is when the wait ends. Who waits holds no database
/// connection.
pub async fn watch(hub: &Hub, caller: &Caller, id: Id<Task>, wait: Duration) -> Result<Seen, HubError> {
    caller.require(Capability::TasksRead)?;
    let account = caller.credential.account.id;
    let _place = hub.coordination.waiting.enter(account).ok_or(HubError::TooManyWaiting)?;
    let deadline = Instant::now() + wait;
    let mut has_waited = false;
    loop {
        // Listening first: what happens during the look is told afterwards.
        let mut news = hub.coordination.news.listen(caller.credential.organization.id);
        let seen = get(hub, caller, id).await?;
        let is_open = matches!(seen.task.state, TaskState::Submitted | TaskState::Reviewing);
        if !is_open || Instant::now() >= deadline || hub.lifecycle.is_stopping() {
            if has_waited {
                still_may(hub, caller, Capability::TasksRead).await?;
            }
            return Ok(seen);
        }
        has_waited = true;
        tokio::select! {
            _ = news.changed() => {}
            () = tokio::time::sleep_until(deadline) => {}
            () = hub.lifecycle.stopping() => {}
        }
    }
}

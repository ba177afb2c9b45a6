//! Tasks that wait for somebody who does not come: found among all, not among those that came last.

use domain::permissions::Capability;
use domain::tasks::{Task, TaskState};
use records::tasks;

use super::{Seen, seen_all};
use crate::reviews::{self, ReviewSeen};
use crate::{Caller, Hub, HubError};

/// How many tasks in review are looked at, those first that are there longest. Whether people may still sign is not
/// stored, because it changes with them.
pub const LOOKED_AT_MAX: i64 = 300;

/// What waits for somebody, at most so many of each.
#[derive(Clone, Debug)]
pub struct Stuck {
    /// Those in review that nobody can approve as things are.
    pub unreachable: Vec<Seen>,
    /// How many of these there are.
    pub unreachable_count: usize,
    /// Those in review that should have been done by now.
    pub overdue: Vec<Seen>,
    /// How many of these there are.
    pub overdue_count: usize,
    /// Those that failed in a way somebody must look at, the last one first.
    pub failed: Vec<Seen>,
    /// Whether more is in review than was looked at.
    pub is_cut_off: bool,
}

/// What waits for somebody, as of now.
pub async fn stuck(hub: &Hub, caller: &Caller, most: usize) -> Result<Stuck, HubError> {
    caller.require(Capability::TasksRead)?;
    let input = (caller.clone(), most, hub.clock.now());
    hub.records
        .read(input, |tx, (caller, most, now)| {
            Box::pin(async move {
                let (org, most, now) = (caller.credential.organization.id, *most, *now);
                let mut waiting = tasks::longest(tx, org, TaskState::Reviewing, LOOKED_AT_MAX + 1).await?;
                let looked_at = usize::try_from(LOOKED_AT_MAX).unwrap_or(usize::MAX);
                let is_cut_off = waiting.len() > looked_at;
                waiting.truncate(looked_at);
                let reviews = reviews::seen_all(tx, &waiting).await?;
                let lost = waiting
                    .iter()
                    .zip(&reviews)
                    .filter(|(_, review)| review.as_ref().is_some_and(ReviewSeen::is_stuck));
                let lost: Vec<Task> = lost.map(|(task, _)| task.clone()).collect();
                let is_late = |task: &&Task| task.due_at.is_some_and(|due| due < now);
                let late: Vec<Task> = waiting.iter().filter(is_late).cloned().collect();
                let failed = tasks::need_attention(tx, org, i64::try_from(most).unwrap_or(i64::MAX)).await?;
                let (unreachable_count, overdue_count) = (lost.len(), late.len());
                Ok(Stuck {
                    unreachable: seen_all(tx, caller, lost.into_iter().take(most).collect()).await?,
                    unreachable_count,
                    overdue: seen_all(tx, caller, late.into_iter().take(most).collect()).await?,
                    overdue_count,
                    failed: seen_all(tx, caller, failed).await?,
                    is_cut_off,
                })
            })
        })
        .await
}

//! How many tasks there are of some kinds, for whoever looks at all of them.

use domain::permissions::Capability;
use domain::risk::RiskLevel;
use domain::tasks::TaskState;
use records::tasks::{self, Which};

use crate::{Caller, Hub, HubError};

/// Beyond this nobody counts on.
pub const COUNTED_MAX: i64 = 1000;

/// How many there are of each, in the same order; [`COUNTED_MAX`] stands for all beyond.
pub async fn counts(hub: &Hub, caller: &Caller, which: &[Which]) -> Result<Vec<i64>, HubError> {
    caller.require(Capability::TasksRead)?;
    let input = (caller.credential.organization.id, which.to_vec());
    hub.records
        .read(input, |tx, (org, which)| {
            Box::pin(async move {
                let mut counts = Vec::with_capacity(which.len());
                for one in which {
                    counts.push(tasks::count(tx, *org, *one, COUNTED_MAX).await?);
                }
                Ok(counts)
            })
        })
        .await
}

/// How many tasks in this state have each level, from the lowest; of the [`COUNTED_MAX`] that were made first.
pub async fn by_level(
    hub: &Hub,
    caller: &Caller,
    state: TaskState,
) -> Result<Vec<(RiskLevel, i64)>, HubError> {
    caller.require(Capability::TasksRead)?;
    let input = (caller.credential.organization.id, state);
    let found = hub
        .records
        .read(input, |tx, &(org, state)| {
            Box::pin(async move { tasks::by_level(tx, org, state, COUNTED_MAX).await })
        })
        .await?;
    let of =
        |level: RiskLevel| found.iter().find(|one| one.level == level.as_str()).map_or(0, |one| one.count);
    Ok(RiskLevel::ALL.into_iter().map(|level| (level, of(level))).collect())
}

//! How many tasks there are of some kinds, for whoever looks at all of them.

use domain::permissions::Capability;
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

//! A review as it is shown.

use domain::reviews::{Review, Summary, summary};
use domain::tasks::Task;
use records::Tx;

use super::case::{load, of_task};
use crate::HubError;

/// A review, and how it stands now.
#[derive(Clone, Debug)]
pub struct ReviewSeen {
    /// The review.
    pub review: Review,
    /// How it stands.
    pub summary: Summary,
}

/// The task's current or last review, as it stands now.
pub(crate) async fn seen(tx: &mut Tx, task: &Task) -> Result<Option<ReviewSeen>, HubError> {
    let Some(review) = of_task(tx, task).await? else { return Ok(None) };
    // What is shown goes by the last change, what is decided by the clock.
    let as_of = task.updated_at.max(review.created_at);
    let case = load(tx, task.clone(), review, (false, as_of)).await?;
    let summary = summary(&case.review, &case.seats, &case.provenance);
    Ok(Some(ReviewSeen { review: case.review, summary }))
}

//! How a reviewer keeps up (APPR-12, APPR-13).

use std::time::Duration;

use domain::accounts::Account;
use domain::permissions::Capability;
use domain::{Id, Timestamp};
use records::approvals::{self, Answered, Day};

use crate::{Caller, Hub, HubError};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// How far back the average looks.
const WINDOW: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// How a reviewer keeps up.
#[derive(Clone, Debug)]
pub struct Stats {
    /// Who.
    pub reviewer_id: Id<Account>,
    /// Requests that wait.
    pub pending_count: i64,
    /// Those approved since midnight, UTC.
    pub approved_today: i64,
    /// Those rejected since midnight, UTC.
    pub rejected_today: i64,
    /// How long answers of the last 30 days took, on average.
    pub avg_response_time: Option<Duration>,
    /// When the last one was given.
    pub last_action_at: Option<Timestamp>,
}

/// How the reviewer keeps up, as of now.
pub async fn stats(hub: &Hub, caller: &Caller, reviewer: Id<Account>) -> Result<Stats, HubError> {
    caller.require(Capability::ApprovalsRead)?;
    let now = hub.clock.now();
    let day = i64::try_from(DAY.as_micros()).unwrap_or(i64::MAX);
    let midnight = Timestamp::from_micros(now.micros() - now.micros().rem_euclid(day));
    let input = (caller.credential.organization.id, reviewer, midnight, now.minus(WINDOW));
    let read = hub.records.read(input, |tx, &(org, reviewer, midnight, since)| {
        Box::pin(async move {
            records::members::get(tx, org, reviewer).await?.ok_or(HubError::NotFound("account"))?;
            let pending_count = approvals::count_pending(tx, org, reviewer).await?;
            let today = approvals::answered_since(tx, org, reviewer, midnight).await?;
            let window = approvals::answered_since(tx, org, reviewer, since).await?;
            Ok::<_, HubError>((pending_count, today, window))
        })
    });
    let (pending_count, today, window): (i64, Answered, Answered) = read.await?;
    let average = window.total_micros.checked_div(window.approved + window.rejected);
    Ok(Stats {
        reviewer_id: reviewer,
        pending_count,
        approved_today: today.approved,
        rejected_today: today.rejected,
        avg_response_time: average.and_then(|micros| u64::try_from(micros).ok()).map(Duration::from_micros),
        last_action_at: window.last_at,
    })
}

/// What these people answered since then, each day by day, in the same order. Who belongs elsewhere answered nothing
/// here.
pub async fn by_day(
    hub: &Hub,
    caller: &Caller,
    reviewers: &[Id<Account>],
    since: Timestamp,
) -> Result<Vec<Vec<Day>>, HubError> {
    caller.require(Capability::ApprovalsRead)?;
    let input = (caller.credential.organization.id, reviewers.to_vec(), since);
    hub.records
        .read(input, |tx, (org, reviewers, since)| {
            Box::pin(async move {
                let mut days = Vec::with_capacity(reviewers.len());
                for reviewer in reviewers {
                    days.push(approvals::answered_by_day(tx, *org, *reviewer, *since).await?);
                }
                Ok(days)
            })
        })
        .await
}

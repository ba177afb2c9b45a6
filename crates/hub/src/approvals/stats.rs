//! How a reviewer keeps up (APPR-12, APPR-13).

use std::time::Duration;

use domain::accounts::Account;
use domain::organizations::Organization;
use domain::permissions::Capability;
use domain::{Id, Timestamp};
use records::Tx;
use records::approvals::{self, Day, Held};

use crate::{Caller, Hub, HubError};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// How far back the average looks.
const WINDOW: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// How many requests are looked at to say who holds them.
const HELD_MAX: i64 = 5000;

/// How a reviewer keeps up.
#[derive(Clone, Debug)]
pub struct Stats {
    /// Who.
    pub reviewer_id: Id<Account>,
    /// Requests that wait.
    pub pending_count: i64,
    /// What was answered.
    pub answers: Answers,
}

/// What a reviewer answered of late.
#[derive(Clone, Debug)]
pub struct Answers {
    /// Those approved since midnight, UTC.
    pub approved_today: i64,
    /// Those rejected since midnight, UTC.
    pub rejected_today: i64,
    /// How long answers of the last 30 days took, on average.
    pub avg_response_time: Option<Duration>,
    /// When the last one was given.
    pub last_action_at: Option<Timestamp>,
}

/// How the reviewer keeps up, as of now. All that waits is counted, to the last request.
pub async fn stats(hub: &Hub, caller: &Caller, reviewer: Id<Account>) -> Result<Stats, HubError> {
    caller.require(Capability::ApprovalsRead)?;
    let input = (caller.credential.organization.id, reviewer, hub.clock.now());
    hub.records
        .read(input, |tx, &(org, reviewer, now)| {
            Box::pin(async move {
                records::members::get(tx, org, reviewer).await?.ok_or(HubError::NotFound("account"))?;
                let pending_count = approvals::count_pending(tx, org, reviewer).await?;
                let answers = answers_of(tx, (org, reviewer), now).await?;
                Ok(Stats { reviewer_id: reviewer, pending_count, answers })
            })
        })
        .await
}

/// What the caller answered of late, for pages that say elsewhere how much waits.
pub async fn answers(hub: &Hub, caller: &Caller) -> Result<Answers, HubError> {
    caller.require(Capability::ApprovalsRead)?;
    let input = (caller.credential.organization.id, caller.credential.account.id, hub.clock.now());
    hub.records.read(input, |tx, &(org, reviewer, now)| Box::pin(answers_of(tx, (org, reviewer), now))).await
}

async fn answers_of(
    tx: &mut Tx,
    (org, reviewer): (Id<Organization>, Id<Account>),
    now: Timestamp,
) -> Result<Answers, HubError> {
    let day = i64::try_from(DAY.as_micros()).unwrap_or(i64::MAX);
    let midnight = Timestamp::from_micros(now.micros() - now.micros().rem_euclid(day));
    let today = approvals::answered_since(tx, org, reviewer, midnight).await?;
    let window = approvals::answered_since(tx, org, reviewer, now.minus(WINDOW)).await?;
    let average = window.total_micros.checked_div(window.approved + window.rejected);
    Ok(Answers {
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

/// Who holds requests that wait, the most first; the `HELD_MAX` most urgent requests are looked at.
pub async fn held(hub: &Hub, caller: &Caller) -> Result<Vec<Held>, HubError> {
    caller.require(Capability::ApprovalsRead)?;
    let org = caller.credential.organization.id;
    let read = hub.records.read(org, |tx, org| Box::pin(approvals::held(tx, *org, HELD_MAX)));
    let mut held: Vec<Held> = read.await?;
    held.sort_by_key(|one| (std::cmp::Reverse(one.count), one.oldest));
    Ok(held)
}

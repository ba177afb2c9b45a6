//! How a task stands where its state alone does not say it: what failed and is being undone, and a review that nobody can
//! end with yes.

use domain::Timestamp;
use domain::accounts::Account;
use domain::executions::{Outcome, Purpose, Rollback};
use domain::organizations::Organization;
use domain::tasks::thaw;
use domain::{Id, notifications};
use records::Tx;
use records::notifications::Alarm;

use super::{Dossier, Seen};
use crate::HubError;
use crate::reviews::ReviewSeen;

/// Of those who were told that a review waits for nobody, so many are named.
const ALARMED_NAMED: i64 = 20;

/// What failed, on its way back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Undoing {
    /// When the work failed.
    pub failed_at: Timestamp,
    /// Whether an agent is at it; if not, it waits for one.
    pub is_begun: bool,
}

/// Somebody who was told that a review waits for nobody.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Alarmed {
    /// Who.
    pub account: Id<Account>,
    /// Whether as the one on call; if not, as an admin.
    pub is_on_call: bool,
    /// When.
    pub at: Timestamp,
}

/// What a task that failed left behind, where a person has to look at it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LeftBehind {
    /// Nobody knows how far the work came.
    Unknown,
    /// It failed, and what it began stands as it was left until a person decides.
    Untouched,
    /// A person decided that it is undone, and that is not over.
    OnItsWayBack,
    /// It failed, and what it began was not undone: whoever tried says so.
    NotUndone,
    /// It failed, and nobody knows how far undoing it came.
    HalfUndone,
}

impl Seen {
    /// Whether what failed is being undone now, or will be.
    #[must_use]
    pub fn undoing(&self) -> Option<Undoing> {
        let newest = self.execution.as_ref()?;
        let ended_at = self.task.ended_at.unwrap_or(newest.updated_at);
        match (newest.purpose, newest.rollback) {
            (Purpose::Rollback, _) if newest.ended_at.is_none() => {
                Some(Undoing { failed_at: ended_at, is_begun: true })
            }
            (Purpose::Apply, Rollback::Asked) => Some(Undoing { failed_at: ended_at, is_begun: false }),
            (_, Rollback::Running) => {
                let config = thaw(&self.config).ok()?;
                let failed_at = newest.failed_and_undone_since(config.timeout())?;
                Some(Undoing { failed_at, is_begun: true })
            }
            _ => None,
        }
    }

    /// What a person has to look at, where one has to.
    #[must_use]
    pub fn left_behind(&self) -> Option<LeftBehind> {
        let newest = self.execution.as_ref().filter(|_| self.task.needs_attention)?;
        let is_known = newest.outcome == Some(Outcome::Known);
        let was_undone_in_vain = newest.purpose == Purpose::Rollback || newest.rollback == Rollback::Failed;
        Some(match (was_undone_in_vain, is_known) {
            _ if self.undoing().is_some() => LeftBehind::OnItsWayBack,
            (true, true) => LeftBehind::NotUndone,
            (true, false) => LeftBehind::HalfUndone,
            (false, true) => LeftBehind::Untouched,
            (false, false) => LeftBehind::Unknown,
        })
    }

    /// Whether its review is open and cannot end with yes as things are.
    #[must_use]
    pub fn is_stuck(&self) -> bool {
        self.review.as_ref().is_some_and(ReviewSeen::is_stuck)
    }
}

/// Who was told of a review that waits for nobody, the last first, since the review began.
pub(super) async fn alarmed(
    tx: &mut Tx,
    org: Id<Organization>,
    dossier: &Dossier,
) -> Result<Vec<Alarmed>, HubError> {
    let Some(review) = dossier.seen.review.as_ref().filter(|_| dossier.seen.is_stuck()) else {
        return Ok(Vec::new());
    };
    let found = records::notifications::alarms(tx, (org, dossier.seen.task.id), ALARMED_NAMED).await?;
    let since = review.review.created_at;
    let alarmed = |alarm: Alarm| Alarmed {
        account: alarm.account_id,
        is_on_call: alarm.kind == notifications::NotificationKind::Escalated,
        at: alarm.created_at,
    };
    Ok(found.into_iter().filter(|alarm| alarm.created_at >= since).map(alarmed).collect())
}

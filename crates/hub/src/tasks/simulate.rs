//! What would happen to a task that was handed in now. Nothing changes.

use domain::approvals::ApprovalStatus;
use domain::reviews::Resolution;
use domain::risk::Risk;
use domain::tasks::{Actor, Move, TaskState};
use records::Tx;

use super::create::{NewTask, Prepared, prepare, proposed};
use super::{actor, refused};
use crate::act::Act;
use crate::approvals::{self, Seen};
use crate::reviews::{Matter, ReviewSeen, plan};
use crate::{Caller, Hub, HubError, settings};

/// What would happen, as one caller is told.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// Where the task would stand: REVIEWING, or APPROVED.
    pub state: TaskState,
    /// How dangerous it is.
    pub risk: Risk,
    /// How its review would begin.
    pub review: ReviewSeen,
    /// Who would be asked.
    pub requests: Vec<Seen>,
    /// Why it would not pass by itself, if it would not.
    pub asks_because: Vec<String>,
    /// Whether the caller is shown how the risk came about.
    pub shows_score: bool,
}

/// Says what would happen to such a task.
pub async fn simulate(hub: &Hub, caller: &Caller, wanted: NewTask) -> Result<Simulated, HubError> {
    let prepared = prepare(hub, caller, wanted).await?;
    let input = Act::new(hub, caller, prepared);
    hub.records.read(input, |tx, act| Box::pin(unit(tx, act))).await
}

async fn unit(tx: &mut Tx, act: &Act<Prepared>) -> Result<Simulated, HubError> {
    let (task, revision, current) = proposed(tx, act, &act.input).await?;
    let submitted = task.submitted(actor(&current, &task), act.now).map_err(refused)?;
    let matter = Matter {
        task: submitted,
        revision: &revision,
        config: &act.input.frozen.config,
        by: (Move::BeginReview, Actor::HUB),
    };
    let settings = settings::load(tx, act.org()).await?;
    let mut plan = plan(tx, act, &matter, &settings).await?;
    let mut state = plan.task.state;
    if plan.passes() {
        plan.review = plan.review.closed(Resolution::Auto, None, act.now);
        state = TaskState::Approved;
    }
    let summary = plan.summary(&revision);
    let asked = plan.requests.into_iter().filter(|request| request.status == ApprovalStatus::Pending);
    let requests = approvals::seen_all(tx, &act.caller, asked.collect()).await?;
    Ok(Simulated {
        state,
        risk: plan.task.risk,
        review: ReviewSeen { review: plan.review, summary },
        requests,
        asks_because: plan.asks_because,
        shows_score: act.caller.credential.agent.is_none(),
    })
}

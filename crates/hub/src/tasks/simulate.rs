//! What would happen to a task that was handed in now. Nothing changes.

use domain::Id;
use domain::accounts::Account;
use domain::approvals::ApprovalStatus;
use domain::policies::Ineligible;
use domain::reviews::Resolution;
use domain::risk::Risk;
use domain::tasks::{Actor, Move, Revision, Task, TaskConfig, TaskState};
use records::{Tx, accounts};

use super::create::{NewTask, Prepared, prepare, proposed};
use super::{Offer, actor, current_config, current_revision, known, refused};
use crate::act::Act;
use crate::approvals::{self, Seen};
use crate::identity::credential::Credential;
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
    /// What those are called whom the policies mean and do not ask, each with the reason; not for agents.
    pub left_out: Vec<(String, Ineligible)>,
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
    told(tx, act, &current, (&task, &revision, &act.input.frozen.config)).await
}

/// Says what would happen to a draft that is there, if the caller handed it in now.
pub async fn foresee(hub: &Hub, caller: &Caller, id: Id<Task>) -> Result<Simulated, HubError> {
    caller.require(Offer::Submit.needs())?;
    let input = Act::new(hub, caller, id);
    hub.records.read(input, |tx, act| Box::pin(foreseen(tx, act))).await
}

async fn foreseen(tx: &mut Tx, act: &Act<Id<Task>>) -> Result<Simulated, HubError> {
    let task = known(tx, act.org(), act.input).await?;
    let revision = current_revision(tx, &task).await?;
    let config = current_config(&revision)?;
    told(tx, act, &act.caller.credential, (&task, &revision, &config)).await
}

async fn told<T>(
    tx: &mut Tx,
    act: &Act<T>,
    current: &Credential,
    (task, revision, config): (&Task, &Revision, &TaskConfig),
) -> Result<Simulated, HubError> {
    let submitted = task.submitted(actor(current, task), act.now).map_err(refused)?;
    let matter = Matter { task: submitted, revision, config, by: (Move::BeginReview, Actor::HUB) };
    let settings = settings::load(tx, act.org()).await?;
    let mut plan = plan(tx, act, &matter, &settings).await?;
    let mut state = plan.task.state;
    if plan.passes() {
        plan.review = plan.review.closed(Resolution::Auto, None, act.now);
        state = TaskState::Approved;
    }
    let summary = plan.summary(revision);
    let asked = plan.requests.into_iter().filter(|request| request.status == ApprovalStatus::Pending);
    let requests = approvals::seen_all(tx, &act.caller, asked.collect()).await?;
    let shows_score = act.caller.credential.agent.is_none();
    let ids: Vec<Id<Account>> = plan.left_out.iter().map(|(id, _)| *id).filter(|_| shows_score).collect();
    let called = accounts::called(tx, act.org(), &ids).await?;
    let name = |(id, why): &(Id<Account>, Ineligible)| {
        called.iter().find(|one| one.id == *id).map(|one| (one.name.clone(), *why))
    };
    Ok(Simulated {
        state,
        risk: plan.task.risk,
        review: ReviewSeen { review: plan.review, summary },
        requests,
        left_out: plan.left_out.iter().filter_map(name).collect(),
        asks_because: plan.asks_because,
        shows_score,
    })
}

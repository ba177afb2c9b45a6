//! The gate: the only way into APPLYING (promises 1 to 5), and the only way to undo what was applied.
//!
//! It is asked in the unit that starts an attempt, with everything read in that unit, and answers with all that the unit
//! writes: the task, the Grant with one attempt fewer, the claims. Locks add waiting and fairness; the claims alone
//! decide whether two tasks meet.

use std::collections::BTreeMap;

use crate::approvals::{Approval, ApprovalStatus, Response};
use crate::canonical::Sha256Hash;
use crate::executions::{Execution, Purpose, Rollback, RollbackRefusal};
use crate::grants::{Basis, Grant, Skip};
use crate::tasks::{
    Actor, Mode, Move, Provenance, Resource, Revision, RollbackStrategy, Task, TaskState, next,
};
use crate::{Id, Timestamp};

/// Who works on a resource.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Claim {
    /// Which, as [`Resource::name`].
    pub resource: String,
    /// The one that works on it alone.
    pub exclusive_by: Option<Id<Execution>>,
    /// How many work on it side by side.
    pub shared_count: u32,
    /// The highest fence that ever claimed it.
    pub high_fence: i64,
}

impl Claim {
    /// A resource that nobody ever claimed.
    #[must_use]
    pub const fn none(resource: String) -> Self {
        Self { resource, exclusive_by: None, shared_count: 0, high_fence: 0 }
    }
}

/// Everything the gate looks at.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The task.
    pub task: &'a Task,
    /// The revision whose bytes will be handed to the executor.
    pub revision: &'a Revision,
    /// What these bytes touch.
    pub resources: &'a [Resource],
    /// The Grant.
    pub grant: &'a Grant,
    /// All requests of the review that the Grant comes from.
    pub approvals: &'a [Approval],
    /// The prerequisites that are not completed.
    pub unfinished: &'a [Id<Task>],
    /// How many attempts its agent may still begin.
    pub capacity_left: u32,
    /// The claims on what it touches; none: nobody ever claimed it.
    pub claims: &'a BTreeMap<String, Claim>,
    /// The fence under which each resource is locked.
    pub fences: &'a BTreeMap<String, i64>,
    /// The attempt that wants to begin.
    pub execution: Id<Execution>,
    /// When.
    pub now: Timestamp,
}

/// What the unit writes when an attempt begins.
#[derive(Clone, PartialEq, Debug)]
pub struct Start {
    /// The task, APPLYING.
    pub task: Task,
    /// The Grant, with one attempt fewer.
    pub grant: Grant,
    /// Which attempt it is, from 1.
    pub attempt: u32,
    /// The claims, by resource.
    pub claims: Vec<Claim>,
}

/// Why the gate stays shut.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum GateRefusal {
    /// The task is not approved.
    #[error("the task is {}, not APPROVED", .0.as_str())]
    NotApproved(TaskState),
    /// The Grant was taken back.
    #[error("the grant was taken back")]
    Voided,
    /// The Grant is another task's, or another organization's.
    #[error("the grant belongs to another task")]
    OtherTask,
    /// The Grant is for other bytes.
    #[error("what would run is not what was approved")]
    OtherContent,
    /// The Grant is for another effect.
    #[error("the task would change something else than what was approved")]
    OtherEffect,
    /// It was approved too long ago.
    #[error("the approval is too old; the task has to be reviewed again")]
    Stale,
    /// Every attempt was used.
    #[error("all {0} approved attempts were started")]
    NoAttemptLeft(u32),
    /// Nobody outside its provenance said yes.
    #[error("nobody who had no hand in the task approved it")]
    NotTwoPeople,
    /// It waits for another task.
    #[error("a task that this one depends on is not completed")]
    Blocked,
    /// Its agent is busy.
    #[error("the agent works on as many tasks as it may")]
    AtCapacity,
    /// Somebody works on what it touches.
    #[error("another task works on {0}")]
    Claimed(String),
    /// No lock, or an old one.
    #[error("the lock on {0} is missing or older than one already used")]
    OldFence(String),
    /// Its last attempt failed a moment ago.
    #[error("the last attempt failed; the next one begins at {0} at the earliest")]
    TooSoon(Timestamp),
    /// Nobody asked for it to be undone, or it was tried.
    #[error("nobody asked for this attempt to be undone, or that was tried already")]
    NoRollback,
}

/// Whether the attempt may begin, and what is written then.
///
/// # Errors
/// Why not; nothing is written then.
pub fn gate(facts: &Facts<'_>) -> Result<Start, GateRefusal> {
    let state = next(facts.task.state, Move::Start, Actor::HUB)
        .map_err(|_| GateRefusal::NotApproved(facts.task.state))?;
    check_grant(facts)?;
    check_people(facts)?;
    check_prerequisites(facts)?;
    if let Some(not_before) = facts.task.not_before.filter(|not_before| *not_before > facts.now) {
        return Err(GateRefusal::TooSoon(not_before));
    }
    if facts.capacity_left == 0 {
        return Err(GateRefusal::AtCapacity);
    }
    let claims = claimed(facts)?;
    let attempts_started = facts.grant.attempts_started + 1;
    let updated_at = facts.now.after(facts.grant.updated_at);
    Ok(Start {
        task: Task { applying_at: Some(facts.now), not_before: None, ..facts.task.moved(state, facts.now) },
        grant: Grant { attempts_started, updated_at, ..facts.grant.clone() },
        attempt: attempts_started,
        claims,
    })
}

/// Whether an attempt that failed is undone by whoever made it, under the claims it has: that is part of what was
/// approved, and happens at most once.
///
/// # Errors
/// Why not.
pub fn undo(execution: &Execution, strategy: RollbackStrategy) -> Result<(), RollbackRefusal> {
    match (strategy, execution.purpose, execution.rollback) {
        (RollbackStrategy::Automatic, Purpose::Apply, Rollback::None) => Ok(()),
        (RollbackStrategy::Automatic, ..) => Err(RollbackRefusal::Tried),
        (RollbackStrategy::Manual | RollbackStrategy::None, ..) => Err(RollbackRefusal::NotApproved),
    }
}

/// What the unit writes when an attempt is undone later.
#[derive(Clone, PartialEq, Debug)]
pub struct UndoStart {
    /// The attempt that is undone.
    pub undone: Execution,
    /// The claims, by resource.
    pub claims: Vec<Claim>,
}

/// Whether an attempt may be undone now because a person asked for it, and what is written then. The task stays what
/// it is; the Grant is not taken from, because undoing is part of the attempt that was.
///
/// # Errors
/// Why not; nothing is written then.
pub fn roll_back(facts: &Facts<'_>, undone: &Execution) -> Result<UndoStart, GateRefusal> {
    if facts.task.state != TaskState::Failed {
        return Err(GateRefusal::NotApproved(facts.task.state));
    }
    if undone.rollback != Rollback::Asked || undone.task_id != facts.task.id {
        return Err(GateRefusal::NoRollback);
    }
    check_content(facts)?;
    check_people(facts)?;
    if facts.capacity_left == 0 {
        return Err(GateRefusal::AtCapacity);
    }
    Ok(UndoStart { undone: undone.rolled_back(Rollback::Running, facts.now), claims: claimed(facts)? })
}

/// What was approved is what runs, as often as it was approved.
fn check_grant(facts: &Facts<'_>) -> Result<(), GateRefusal> {
    check_content(facts)?;
    let grant = facts.grant;
    if grant.is_stale(facts.now) {
        return Err(GateRefusal::Stale);
    }
    if grant.attempts_left() == 0 { Err(GateRefusal::NoAttemptLeft(grant.attempts)) } else { Ok(()) }
}

fn check_content(facts: &Facts<'_>) -> Result<(), GateRefusal> {
    let Facts { task, revision, grant, .. } = *facts;
    if grant.voided_at.is_some() {
        return Err(GateRefusal::Voided);
    }
    if grant.task_id != task.id || grant.org_id != task.org_id || revision.task_id != task.id {
        return Err(GateRefusal::OtherTask);
    }
    let bytes = Sha256Hash::of(&revision.config);
    let is_same =
        [grant.content_hash, task.content_hash, revision.content_hash].iter().all(|hash| *hash == bytes);
    if !is_same || [grant.revision, task.revision].iter().any(|number| *number != revision.number) {
        return Err(GateRefusal::OtherContent);
    }
    if grant.effect_hash != task.effect_hash { Err(GateRefusal::OtherEffect) } else { Ok(()) }
}

/// Somebody else agreed: the last of the three times this is checked.
fn check_people(facts: &Facts<'_>) -> Result<(), GateRefusal> {
    match facts.grant.basis {
        // The policies agreed, and no person's vote is in it.
        Basis::Auto => Ok(()),
        Basis::Quorum | Basis::Override => {
            let provenance = &facts.revision.provenance;
            let in_review = |approval: &&Approval| approval.review_id == facts.grant.review_id;
            // Who signed that it need not wait for others said nothing about the task itself.
            let said_yes = |approval: &&Approval| {
                approval.status == ApprovalStatus::Approved && !approval.is_about_skipping()
            };
            let mut votes = facts.approvals.iter().filter(in_review).filter(said_yes).peekable();
            let is_somebody = votes.peek().is_some();
            if is_somebody && votes.all(|vote| is_independent(vote, provenance)) {
                return Ok(());
            }
            Err(GateRefusal::NotTwoPeople)
        }
    }
}

fn is_independent(vote: &Approval, provenance: &Provenance) -> bool {
    let independent =
        |response: &Response| !provenance.meets(&response.behind) && !provenance.includes(response.by);
    vote.response.as_ref().is_some_and(independent)
}

/// Whatever it waits for is done, or two admins signed that it need not be.
fn check_prerequisites(facts: &Facts<'_>) -> Result<(), GateRefusal> {
    let is_skipped = |skip: &Skip| {
        facts.unfinished.iter().all(|task| skip.prerequisites.contains(task)) && is_signed(facts, skip)
    };
    match facts.unfinished.is_empty() || facts.grant.skip.as_ref().is_some_and(is_skipped) {
        true => Ok(()),
        false => Err(GateRefusal::Blocked),
    }
}

/// The request that the Grant names was about exactly this, and another than who asked said yes to it.
fn is_signed(facts: &Facts<'_>, skip: &Skip) -> bool {
    let is_it =
        |approval: &&Approval| approval.id == skip.approval_id && approval.review_id == facts.grant.review_id;
    let is_yes = |approval: &Approval| {
        approval.is_about_skipping()
            && approval.status == ApprovalStatus::Approved
            && approval.content_hash == facts.grant.content_hash
            && approval.routing.skips == skip.prerequisites
            && is_independent(approval, &facts.revision.provenance)
            && approval
                .response
                .as_ref()
                .is_some_and(|response| approval.routing.is_seconded_by(&response.behind))
    };
    facts.approvals.iter().find(is_it).is_some_and(is_yes)
}

/// The claims with this attempt among them, in the order of their names.
fn claimed(facts: &Facts<'_>) -> Result<Vec<Claim>, GateRefusal> {
    let wanted: BTreeMap<String, Mode> =
        facts.resources.iter().map(|resource| (resource.name(), resource.mode)).collect();
    let claim = |(name, mode): (String, Mode)| {
        let before = facts.claims.get(&name).cloned().unwrap_or_else(|| Claim::none(name.clone()));
        let fence = facts.fences.get(&name).copied().filter(|fence| *fence >= before.high_fence);
        let high_fence = fence.ok_or_else(|| GateRefusal::OldFence(name.clone()))?;
        match mode {
            _ if before.exclusive_by.is_some() => Err(GateRefusal::Claimed(name)),
            Mode::Exclusive if before.shared_count > 0 => Err(GateRefusal::Claimed(name)),
            Mode::Exclusive => Ok(Claim { exclusive_by: Some(facts.execution), high_fence, ..before }),
            Mode::Shared => Ok(Claim { shared_count: before.shared_count + 1, high_fence, ..before }),
        }
    };
    wanted.into_iter().map(claim).collect()
}

/// The claims after an attempt on these resources ended.
#[must_use]
pub fn released(
    claims: &BTreeMap<String, Claim>,
    resources: &[Resource],
    execution: Id<Execution>,
) -> Vec<Claim> {
    let held: BTreeMap<String, Mode> =
        resources.iter().map(|resource| (resource.name(), resource.mode)).collect();
    let freed = |(name, mode): (String, Mode)| {
        let claim = claims.get(&name)?;
        match mode {
            Mode::Exclusive if claim.exclusive_by == Some(execution) => {
                Some(Claim { exclusive_by: None, ..claim.clone() })
            }
            // Somebody else's: never let go of what one does not hold.
            Mode::Exclusive => None,
            Mode::Shared => {
                Some(Claim { shared_count: claim.shared_count.saturating_sub(1), ..claim.clone() })
            }
        }
    };
    held.into_iter().filter_map(freed).collect()
}

#[cfg(test)]
mod tests;

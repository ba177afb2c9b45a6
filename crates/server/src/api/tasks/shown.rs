//! A task as it travels.

use domain::canonical::read_canonical;
use domain::grants::Skip;
use domain::policies::Matched;
use domain::reviews::{Escalation, PolicyTally, Review as DomainReview};
use domain::risk::{Factor, Risk};
use domain::tasks::{Task as DomainTask, TaskState as DomainState, TaskStatus as DomainStatus};
use domain::{Id, Timestamp};
use hub::reviews::ReviewSeen;
use hub::tasks::{Seen, Simulated};
use serde_json::Value;
use wire::{
    BlockedBy, Review, ReviewEscalation, ReviewPolicy, RiskFactor, SimulatedRequest, Simulation,
    SkippedDependencies, Task, TaskMetadata, TaskRisk, TaskState, TaskStatus,
};

pub(super) fn domain_state(state: TaskState) -> DomainState {
    match state {
        TaskState::Draft => DomainState::Draft,
        TaskState::Submitted => DomainState::Submitted,
        TaskState::Reviewing => DomainState::Reviewing,
        TaskState::Approved => DomainState::Approved,
        TaskState::Applying => DomainState::Applying,
        TaskState::Completed => DomainState::Completed,
        TaskState::Rejected => DomainState::Rejected,
        TaskState::Cancelled => DomainState::Cancelled,
        TaskState::Failed => DomainState::Failed,
    }
}

pub(crate) fn state(state: DomainState) -> TaskState {
    match state {
        DomainState::Draft => TaskState::Draft,
        DomainState::Submitted => TaskState::Submitted,
        DomainState::Reviewing => TaskState::Reviewing,
        DomainState::Approved => TaskState::Approved,
        DomainState::Applying => TaskState::Applying,
        DomainState::Completed => TaskState::Completed,
        DomainState::Rejected => TaskState::Rejected,
        DomainState::Cancelled => TaskState::Cancelled,
        DomainState::Failed => TaskState::Failed,
    }
}

pub(super) fn domain_status(status: TaskStatus) -> DomainStatus {
    match status {
        TaskStatus::Pending => DomainStatus::Pending,
        TaskStatus::InProgress => DomainStatus::InProgress,
        TaskStatus::Completed => DomainStatus::Completed,
        TaskStatus::Failed => DomainStatus::Failed,
        TaskStatus::Blocked => DomainStatus::Blocked,
    }
}

fn status(status: DomainStatus) -> TaskStatus {
    match status {
        DomainStatus::Pending => TaskStatus::Pending,
        DomainStatus::InProgress => TaskStatus::InProgress,
        DomainStatus::Completed => TaskStatus::Completed,
        DomainStatus::Failed => TaskStatus::Failed,
        DomainStatus::Blocked => TaskStatus::Blocked,
    }
}

/// The config whose bytes these are. What cannot be read is shown as null, and nothing can be done with it.
pub(crate) fn config(bytes: &[u8]) -> Value {
    read_canonical(bytes).unwrap_or(Value::Null)
}

pub(crate) fn shown(seen: &Seen) -> Task {
    let task = &seen.task;
    let blocked_by = seen.blocked_by().into_iter().map(|by| BlockedBy {
        task_id: by.task_id.raw(),
        state: state(by.state),
        dead: by.dead,
    });
    Task {
        id: task.id.raw(),
        project_id: task.project_id.raw(),
        slug: task.slug.clone(),
        path: task.path.clone(),
        state: state(task.state),
        status: status(task.status),
        revision: task.revision,
        content_hash: task.content_hash.to_string(),
        config: config(&seen.config),
        metadata: metadata(seen, task),
        risk: risk(&task.risk, seen.shows_score),
        preview: task.preview.clone(),
        effect_hash: task.effect_hash.map(|hash| hash.to_string()),
        review: seen.review.as_ref().map(|found| review(found, seen.shows_score)),
        execution: seen.execution.as_ref().map(crate::api::executions::shown),
        assignee: task.assignee.map(Id::raw),
        due_at: task.due_at.map(|at| at.to_string()),
        depends_on: seen.prerequisites.iter().map(|(id, _)| id.raw()).collect(),
        blocked_by: blocked_by.collect(),
        skipped_dependencies: seen.skip.as_ref().map(skipped),
        needs_attention: task.needs_attention,
        resubmitted_from: task.resubmitted_from.map(Id::raw),
        version: task.version,
    }
}

fn skipped(skip: &Skip) -> SkippedDependencies {
    SkippedDependencies {
        task_ids: skip.prerequisites.iter().map(|id| id.raw()).collect(),
        approval_id: skip.approval_id.raw(),
        signed_by: skip.signed_by.raw(),
        signed_at: skip.signed_at.to_string(),
    }
}

/// What would happen.
pub(super) fn simulation(simulated: &Simulated) -> Simulation {
    let policies = &simulated.review.review.policies;
    let request = |seen: &hub::approvals::Seen| {
        let names = seen.approval.serves.iter().filter_map(|place| policies.get(*place));
        SimulatedRequest {
            reviewer_id: seen.approval.reviewer_id.raw(),
            reviewer_name: seen.reviewer_name.clone(),
            policies: names.map(|policy| policy.name.clone()).collect(),
            due_at: seen.approval.due_at.map(|at| at.to_string()),
        }
    };
    Simulation {
        state: state(simulated.state),
        risk: risk(&simulated.risk, simulated.shows_score),
        review: review(&simulated.review, simulated.shows_score),
        reviewers: simulated.requests.iter().map(request).collect(),
        auto_approval: simulated.risk.auto_approvable,
        // They name the score.
        asks_because: if simulated.shows_score { simulated.asks_because.clone() } else { Vec::new() },
    }
}

fn review(seen: &ReviewSeen, shows_score: bool) -> Review {
    let ReviewSeen { review, summary } = seen;
    let policy = |(place, (policy, tally)): (usize, (&Matched, &PolicyTally))| ReviewPolicy {
        policy_id: policy.policy_id.raw(),
        version: policy.version,
        name: policy.name.clone(),
        // Why a policy applies names the score.
        because: if shows_score { policy.because.clone() } else { Vec::new() },
        min_approvers: tally.required,
        approved_count: tally.approved,
        required_roles: policy.quorum.required_roles.clone(),
        reviewers: policy.quorum.reviewers.iter().map(|id| id.raw()).collect(),
        reject_on: policy.quorum.reject_on.as_str().to_owned(),
        level: review.clock(place).level,
        due_at: review.clock(place).due_at.map(|at| at.to_string()),
    };
    Review {
        required_count: summary.required_count,
        approved_count: summary.approved_count,
        rejected_count: summary.rejected_count,
        pending_count: summary.pending_count,
        quorum_reached: summary.quorum_reached,
        reachable: summary.reachable,
        missing: summary.missing.clone(),
        policies: review.policies.iter().zip(&summary.tallies).enumerate().map(policy).collect(),
        escalations: review.escalations.iter().filter_map(|one| escalation(review, one)).collect(),
        review_hash: shows_score.then(|| review.review_hash.to_string()),
        resolution: review.resolution.map(|resolution| resolution.as_str().to_owned()),
    }
}

fn escalation(review: &DomainReview, one: &Escalation) -> Option<ReviewEscalation> {
    let policy = review.policies.get(one.place)?;
    Some(ReviewEscalation {
        policy_id: policy.policy_id.raw(),
        policy: policy.name.clone(),
        outcome: one.outcome.as_str().to_owned(),
        level: one.level,
        to: one.to.iter().map(|id| id.raw()).collect(),
        at: one.at.to_string(),
    })
}

fn metadata(seen: &Seen, task: &DomainTask) -> TaskMetadata {
    let text = |at: Option<Timestamp>| at.map(|at| at.to_string());
    let mut other = task.metadata.clone();
    let mut line = |name: &str| other.remove(name).and_then(|value| value.as_str().map(str::to_owned));
    TaskMetadata {
        author_id: task.author_id.raw(),
        author_name: seen.author_name.clone(),
        team: line("team"),
        ticket_ref: line("ticket_ref"),
        tags: task.tags.clone(),
        created_at: task.created_at.to_string(),
        updated_at: task.updated_at.to_string(),
        submitted_at: text(task.submitted_at),
        approved_at: text(task.approved_at),
        applying_at: text(task.applying_at),
        completed_at: text(task.completed_at),
        other,
    }
}

fn risk(risk: &Risk, shows_score: bool) -> TaskRisk {
    let factor = |factor: &Factor| RiskFactor {
        name: factor.name.to_owned(),
        value: factor.value,
        weight: factor.weight,
        contribution: factor.contribution,
        reason: factor.reason.clone(),
    };
    TaskRisk {
        score: shows_score.then_some(risk.score),
        level: risk.level.as_str().to_owned(),
        factors: shows_score.then(|| risk.factors.iter().map(factor).collect()),
        auto_approvable: risk.auto_approvable,
        assessed_at: shows_score.then(|| risk.assessed_at.to_string()),
        assessed_by: shows_score.then(|| risk.assessed_by.clone()),
    }
}

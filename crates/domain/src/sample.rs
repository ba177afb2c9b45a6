//! Small things to try the rules on; for tests only.

use uuid::Uuid;

use crate::accounts::{AccessLevel, Account, AccountStatus};
use crate::approvals::{Answer, Approval, ApprovalKind, ApprovalStatus, Priority, Response};
use crate::canonical::Sha256Hash;
use crate::executions::{Beginning, Purpose};
use crate::organizations::Organization;
use crate::policies::{Matched, Quorum, RejectOn};
use crate::reviews::{Ballot, Case, PolicyClock, Review, Seat};
use crate::risk::{Risk, RiskLevel};
use crate::tasks::{
    Action, Behind, DeclaredRisk, Mode, Provenance, Resource, Revision, RollbackStrategy, Task, TaskConfig,
    TaskState, TaskStatus,
};
use crate::{Id, Timestamp};

/// What the sample task would do.
pub(crate) const BYTES: &[u8] = b"{\"type\":\"sample\"}";

pub(crate) fn id<T>(number: u128) -> Id<T> {
    Id::new(Uuid::from_u128(number))
}

pub(crate) fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros)
}

/// Somebody acting for themselves, with a credential of their own.
pub(crate) fn alone(person: Id<Account>) -> Behind {
    Behind::act(person, &[], person)
}

/// An active person without a home.
pub(crate) fn account(number: u128) -> Account {
    Account {
        id: id(number),
        email: format!("{number}@example.org"),
        display_name: format!("Person {number}"),
        gitea_username: None,
        access_level: AccessLevel::User,
        status: AccountStatus::Active,
        home_org_id: None,
        created_at: at(0),
        updated_at: at(0),
    }
}

/// An organization that is open.
pub(crate) fn organization(number: u128) -> Organization {
    Organization {
        id: id(number),
        name: format!("Tenant {number}"),
        slug: format!("tenant-{number}"),
        owner_id: id(1),
        gitea_org_name: None,
        archived_at: None,
        created_at: at(0),
        updated_at: at(0),
    }
}

pub(crate) fn task(author: Id<Account>) -> Task {
    Task {
        id: id(1000),
        org_id: id(1),
        project_id: id(2),
        author_id: author,
        slug: None,
        path: None,
        state: TaskState::Reviewing,
        status: TaskStatus::InProgress,
        revision: 1,
        content_hash: Sha256Hash::of(BYTES),
        version: 1,
        task_type: "sample".into(),
        priority: 50,
        assignee: None,
        due_at: None,
        tags: Vec::new(),
        metadata: serde_json::Map::new(),
        risk: Risk {
            score: 40,
            level: RiskLevel::Medium,
            factors: Vec::new(),
            auto_approvable: false,
            assessed_at: at(1),
            assessed_by: "sample".into(),
        },
        preview: None,
        effect_hash: None,
        review_id: Some(id(2000)),
        queue_rank: 50,
        not_before: None,
        needs_attention: false,
        resubmitted_from: None,
        submitted_at: Some(at(2)),
        approved_at: None,
        applying_at: None,
        completed_at: None,
        ended_at: None,
        created_at: at(1),
        updated_at: at(2),
    }
}

pub(crate) fn revision(task: &Task, provenance: Provenance) -> Revision {
    Revision {
        id: id(3000),
        task_id: task.id,
        number: task.revision,
        config: BYTES.to_vec(),
        content_hash: task.content_hash,
        edited_by: task.author_id,
        provenance,
        created_at: at(1),
    }
}

/// A policy that asks for so many of some.
pub(crate) fn policy(number: u128, min_approvers: u32, reject_on: RejectOn) -> Matched {
    Matched {
        policy_id: id(100 + number),
        version: 1,
        name: format!("policy {number}"),
        because: Vec::new(),
        quorum: Quorum {
            min_approvers,
            required_roles: vec!["reviewer".into()],
            reviewers: Vec::new(),
            reject_on,
            admins_count: true,
            following_counts: false,
            allow_service_reviewers: false,
        },
        timeout_seconds: None,
    }
}

pub(crate) fn review(task: &Task, policies: Vec<Matched>) -> Review {
    Review {
        id: id(2000),
        org_id: task.org_id,
        task_id: task.id,
        revision: task.revision,
        content_hash: task.content_hash,
        effect_hash: task.effect_hash,
        risk_score: task.risk.score,
        review_hash: Review::hash(
            task.content_hash,
            task.revision,
            task.effect_hash,
            task.risk.score,
            &policies,
        ),
        clocks: policies
            .iter()
            .map(|_| PolicyClock { level: 0, raise_at: Some(at(500_000)), due_at: Some(at(1_000_000)) })
            .collect(),
        policies,
        escalations: Vec::new(),
        resolution: None,
        resolved_at: None,
        resolved_by: None,
        created_at: at(2),
    }
}

/// A request to this person, for these policies. Its id is the person's.
pub(crate) fn seat(review: &Review, reviewer: Id<Account>, serves: &[usize]) -> Seat {
    let approval = Approval {
        id: Id::new(reviewer.raw()),
        org_id: review.org_id,
        task_id: review.task_id,
        review_id: review.id,
        kind: ApprovalKind::Review,
        reviewer_id: reviewer,
        status: ApprovalStatus::Pending,
        priority: Priority::Normal,
        score: 500,
        serves: serves.to_vec(),
        content_hash: review.content_hash,
        joined: false,
        delegated_to: None,
        delegation_chain: Vec::new(),
        routing: crate::delegations::Routing::default(),
        due_at: Some(at(1_000_000)),
        acknowledged_at: None,
        response: None,
        created_at: at(2),
        updated_at: at(2),
    };
    Seat::plain(approval, serves.to_vec())
}

pub(crate) fn answered(seat: &Seat, action: Answer, behind: Behind) -> Seat {
    let by = seat.approval.reviewer_id;
    let response = Response { action, reason: None, by, behind, at: at(5) };
    Seat { approval: seat.approval.answered(response), ..seat.clone() }
}

/// A task of account 1, asked of each of these people for all policies.
pub(crate) fn case(policies: Vec<Matched>, reviewers: &[u128]) -> Case {
    let author = id(1);
    let task = task(author);
    let review = review(&task, policies);
    let all: Vec<usize> = (0..review.policies.len()).collect();
    let seats = reviewers.iter().map(|reviewer| seat(&review, id(*reviewer), &all)).collect();
    let provenance = Provenance::default().with(&alone(author));
    Case { task, review, provenance, seats, grant: None }
}

/// What this person would send.
pub(crate) fn ballot(case: &Case, voter: u128, answer: Answer) -> Ballot {
    Ballot {
        approval_id: id(voter),
        answer,
        reason: None,
        content_hash: case.review.content_hash,
        review_hash: Some(case.review.review_hash),
        voter: id(voter),
        behind: alone(id(voter)),
    }
}

pub(crate) fn resource(kind: &str, name: &str, mode: Mode) -> Resource {
    Resource { kind: kind.into(), id: name.into(), mode }
}

/// A config of an outside agent's task that touches nothing.
pub(crate) fn task_config(strategy: RollbackStrategy, idempotent: bool) -> TaskConfig {
    TaskConfig {
        task_type: "sample".into(),
        version: "1".into(),
        description: "d".into(),
        action: Action::External,
        parameters: serde_json::Map::new(),
        resources: Vec::new(),
        rollback_strategy: strategy,
        timeout_seconds: 60,
        priority: 50,
        declared_risk: DeclaredRisk::Medium,
        max_retries: u32::from(idempotent),
        idempotent,
        requires_labels: std::collections::BTreeMap::new(),
    }
}

/// What an attempt of agent 7 begins with.
pub(crate) fn beginning(number: u128, purpose: Purpose, now: Timestamp) -> Beginning {
    Beginning {
        id: id(number),
        purpose,
        agent_id: id(7),
        locks: Vec::new(),
        timeout: std::time::Duration::from_secs(60),
        lease: std::time::Duration::from_secs(30),
        now,
    }
}

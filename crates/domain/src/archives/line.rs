//! One task as one line of NDJSON, in the one way RFC 8785 allows.

use std::collections::BTreeSet;

use ed25519_dalek::VerifyingKey;
use serde_json::{Value, json};

use super::proofs::seals_of;
use super::{Archive, Finished};
use crate::accounts::Account;
use crate::approvals::Approval;
use crate::audit::seal::key_id;
use crate::audit::written::{key_value, seal_value};
use crate::canonical::{canonical_text, read_canonical};
use crate::executions::{Execution, ExecutionResult, LockTaken, Outcome};
use crate::grants::{Grant, Skip};
use crate::policies::Matched;
use crate::reviews::{Escalation, Resolution, Review};
use crate::tasks::comments::Comment;
use crate::tasks::{Revision, Task};
use crate::{Id, Timestamp};

/// The version of the format.
pub(super) const LINE_VERSION: u64 = 1;

impl Finished {
    /// The line, with its newline. Of the keys it takes those its seals were signed with.
    #[must_use]
    pub fn line(&self, archive: Id<Archive>, archived_at: Timestamp, keys: &[VerifyingKey]) -> String {
        let seals = seals_of(&self.proofs);
        let signers: BTreeSet<&str> = seals.values().map(|seal| seal.key_id.as_str()).collect();
        let keys: Vec<Value> =
            keys.iter().filter(|key| signers.contains(key_id(key).as_str())).map(key_value).collect();
        let seals: Vec<Value> = seals.values().map(|seal| seal_value(seal)).collect();
        let mut line = canonical_text(&json!({
            "kind": "task",
            "v": LINE_VERSION,
            "archive_id": archive.to_string(),
            "archived_at": archived_at.to_string(),
            "organization_id": self.task.org_id.to_string(),
            "task": task(&self.task),
            "depends_on": ids(&self.depends_on),
            "revisions": each(&self.revisions, revision),
            "comments": each(&self.comments, comment),
            "reviews": each(&self.reviews, review),
            "approvals": each(&self.approvals, approval),
            "grants": each(&self.grants, grant),
            "executions": self.executions.iter().map(|tried| self.execution(tried)).collect::<Value>(),
            "proofs": each(&self.proofs, super::Proof::to_value),
            "seals": seals,
            "keys": keys,
        }));
        line.push('\n');
        line
    }

    /// With all that it wrote: nobody could find that any more when the task is gone.
    fn execution(&self, execution: &Execution) -> Value {
        let output = self.outputs.get(&execution.id).map_or("", String::as_str);
        json!({
            "id": execution.id.to_string(),
            "grant_id": execution.grant_id.to_string(),
            "purpose": execution.purpose.as_str(),
            "attempt": execution.attempt,
            "agent_id": execution.agent_id.to_string(),
            "result": execution.result.map(ExecutionResult::as_str),
            "outcome": execution.outcome.map(Outcome::as_str),
            "rollback": execution.rollback.as_str(),
            "error": execution.error,
            "error_details": execution.error_details,
            "locks": each(&execution.locks, lock),
            "last_heartbeat": execution.last_heartbeat.to_string(),
            "lease_until": execution.lease_until.to_string(),
            "deadline_at": execution.deadline_at.to_string(),
            "output": output,
            "output_size": execution.output_size,
            "progress_percent": execution.progress_percent,
            "progress_message": execution.progress_message,
            "ended_at": time(execution.ended_at),
            "created_at": execution.created_at.to_string(),
            "updated_at": execution.updated_at.to_string(),
        })
    }
}

fn each<T>(things: &[T], value: fn(&T) -> Value) -> Value {
    things.iter().map(value).collect()
}

fn ids<T>(ids: &[Id<T>]) -> Value {
    ids.iter().map(|id| json!(id.to_string())).collect()
}

fn id<T>(id: Option<Id<T>>) -> Option<String> {
    id.map(|id| id.to_string())
}

fn time(at: Option<Timestamp>) -> Option<String> {
    at.map(|at| at.to_string())
}

fn task(task: &Task) -> Value {
    json!({
        "id": task.id.to_string(),
        "project_id": task.project_id.to_string(),
        "author_id": task.author_id.to_string(),
        "slug": task.slug,
        "path": task.path,
        "state": task.state.as_str(),
        "status": task.status.as_str(),
        "revision": task.revision,
        "content_hash": task.content_hash.to_string(),
        "version": task.version,
        "task_type": task.task_type,
        "priority": task.priority,
        "assignee": id(task.assignee),
        "due_at": time(task.due_at),
        "tags": task.tags,
        "metadata": task.metadata,
        "risk": task.risk.to_value(),
        "preview": task.preview,
        "effect_hash": task.effect_hash.map(|hash| hash.to_string()),
        "review_id": id(task.review_id),
        "queue_rank": task.queue_rank,
        "not_before": time(task.not_before),
        "needs_attention": task.needs_attention,
        "resubmitted_from": id(task.resubmitted_from),
        "submitted_at": time(task.submitted_at),
        "approved_at": time(task.approved_at),
        "applying_at": time(task.applying_at),
        "completed_at": time(task.completed_at),
        "ended_at": time(task.ended_at),
        "created_at": task.created_at.to_string(),
        "updated_at": task.updated_at.to_string(),
    })
}

/// The config is canonical already, so the line holds the very bytes that were approved.
fn revision(revision: &Revision) -> Value {
    let people: Vec<Id<Account>> = revision.provenance.iter().collect();
    json!({
        "id": revision.id.to_string(),
        "number": revision.number,
        "config": read_canonical(&revision.config),
        "content_hash": revision.content_hash.to_string(),
        "edited_by": revision.edited_by.to_string(),
        "provenance": ids(&people),
        "created_at": revision.created_at.to_string(),
    })
}

fn comment(comment: &Comment) -> Value {
    json!({
        "id": comment.id.to_string(),
        "author_id": comment.author_id.to_string(),
        "author_name": comment.author_name,
        "body": comment.body,
        "created_at": comment.created_at.to_string(),
    })
}

fn review(review: &Review) -> Value {
    json!({
        "id": review.id.to_string(),
        "revision": review.revision,
        "content_hash": review.content_hash.to_string(),
        "effect_hash": review.effect_hash.map(|hash| hash.to_string()),
        "risk_score": review.risk_score,
        "review_hash": review.review_hash.to_string(),
        "policies": each(&review.policies, Matched::to_value),
        "escalations": each(&review.escalations, escalation),
        "resolution": review.resolution.map(Resolution::as_str),
        "resolved_at": time(review.resolved_at),
        "resolved_by": id(review.resolved_by),
        "created_at": review.created_at.to_string(),
    })
}

fn escalation(escalation: &Escalation) -> Value {
    json!({
        "place": escalation.place,
        "level": escalation.level,
        "outcome": escalation.outcome.as_str(),
        "to": escalation.to.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "at": escalation.at.to_string(),
    })
}

fn approval(approval: &Approval) -> Value {
    let response = approval.response.as_ref();
    let behind = response.map(|response| response.behind.iter().collect::<Vec<_>>());
    json!({
        "id": approval.id.to_string(),
        "review_id": approval.review_id.to_string(),
        "kind": approval.kind.as_str(),
        "reviewer_id": approval.reviewer_id.to_string(),
        "status": approval.status.as_str(),
        "priority": approval.priority.as_str(),
        "score": approval.score,
        "serves": approval.serves,
        "content_hash": approval.content_hash.to_string(),
        "joined": approval.joined,
        "delegated_to": id(approval.delegated_to),
        "delegation_chain": ids(&approval.delegation_chain),
        "routing": approval.routing.to_value(),
        "due_at": time(approval.due_at),
        "acknowledged_at": time(approval.acknowledged_at),
        "responded_at": response.map(|response| response.at.to_string()),
        "response_action": response.map(|response| response.action.as_str()),
        "response_reason": response.and_then(|response| response.reason.as_deref()),
        "reviewed_by": response.map(|response| response.by.to_string()),
        "behind": ids(&behind.unwrap_or_default()),
        "created_at": approval.created_at.to_string(),
        "updated_at": approval.updated_at.to_string(),
    })
}

fn grant(grant: &Grant) -> Value {
    let versions: Vec<Value> = grant
        .policy_versions
        .iter()
        .map(|of| json!({"policy_id": of.policy_id.to_string(), "version": of.version}))
        .collect();
    json!({
        "id": grant.id.to_string(),
        "review_id": grant.review_id.to_string(),
        "revision": grant.revision,
        "content_hash": grant.content_hash.to_string(),
        "effect_hash": grant.effect_hash.map(|hash| hash.to_string()),
        "policy_versions": versions,
        "basis": grant.basis.as_str(),
        "attempts": grant.attempts,
        "attempts_started": grant.attempts_started,
        "valid_until": grant.valid_until.to_string(),
        "skip": grant.skip.as_ref().map(skip),
        "voided_at": time(grant.voided_at),
        "created_at": grant.created_at.to_string(),
        "updated_at": grant.updated_at.to_string(),
    })
}

fn skip(skip: &Skip) -> Value {
    json!({
        "prerequisites": ids(&skip.prerequisites),
        "approval_id": skip.approval_id.to_string(),
        "signed_by": skip.signed_by.to_string(),
        "signed_at": skip.signed_at.to_string(),
    })
}

fn lock(lock: &LockTaken) -> Value {
    json!({
        "key": lock.key, "lock_id": lock.lock_id.to_string(), "fence": lock.fence, "mode": lock.mode.as_str(),
    })
}

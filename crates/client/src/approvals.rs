//! Reviews: tasks handed in and taken back, requests to reviewers, and their answers.

use reqwest::Method;
use uuid::Uuid;
use wire::{
    AnswerBatch, Approval, ApprovalStats, ApprovalStatsQuery, ApprovalsQuery, Approve, BatchAnswered,
    GiveReason, GiveUrgency, Page, PageQuery, Refuse, Resubmit, Task,
};

use crate::{Client, ClientError};

impl Client {
    /// One page of requests to reviewers, those to be answered first at the top.
    pub async fn approvals(&self, query: &ApprovalsQuery) -> Result<Page<Approval>, ClientError> {
        self.find("/approvals", query).await
    }

    /// One request to a reviewer.
    pub async fn approval(&self, id: Uuid) -> Result<Approval, ClientError> {
        self.get(&format!("/approvals/{id}")).await
    }

    /// How a reviewer keeps up.
    pub async fn approval_stats(&self, query: &ApprovalStatsQuery) -> Result<ApprovalStats, ClientError> {
        self.find("/approvals/stats", query).await
    }

    /// Says yes to exactly what was read.
    pub async fn approve(&self, id: Uuid, answer: &Approve) -> Result<Approval, ClientError> {
        self.answer(self.api(Method::POST, &format!("/approvals/{id}/approve")).json(answer)).await
    }

    /// Says no, and why.
    pub async fn reject(&self, id: Uuid, answer: &Refuse) -> Result<Approval, ClientError> {
        self.answer(self.api(Method::POST, &format!("/approvals/{id}/reject")).json(answer)).await
    }

    /// Says that the task should be changed, and how.
    pub async fn request_changes(&self, id: Uuid, answer: &Refuse) -> Result<Approval, ClientError> {
        self.answer(self.api(Method::POST, &format!("/approvals/{id}/request-changes")).json(answer)).await
    }

    /// Answers many requests: all of them, or none.
    pub async fn answer_batch(&self, batch: &AnswerBatch) -> Result<BatchAnswered, ClientError> {
        self.answer(self.api(Method::POST, "/approvals/batch").json(batch)).await
    }

    /// Says that a request was seen.
    pub async fn acknowledge_approval(&self, id: Uuid) -> Result<Approval, ClientError> {
        self.answer(self.api(Method::POST, &format!("/approvals/{id}/acknowledge"))).await
    }

    /// One page of the requests about a task, of all its reviews.
    pub async fn task_approvals(&self, id: Uuid, page: &PageQuery) -> Result<Page<Approval>, ClientError> {
        self.find(&format!("/tasks/{id}/approvals"), page).await
    }

    /// Hands a draft in.
    pub async fn submit_task(&self, id: Uuid) -> Result<Task, ClientError> {
        self.answer(self.api(Method::POST, &format!("/tasks/{id}/submit"))).await
    }

    /// Gives a task up before it is applied.
    pub async fn cancel_task(&self, id: Uuid, reason: &GiveReason) -> Result<Task, ClientError> {
        self.answer(self.api(Method::POST, &format!("/tasks/{id}/cancel")).json(reason)).await
    }

    /// Makes a new draft of a task that did not come through.
    pub async fn resubmit_task(&self, id: Uuid, how: &Resubmit) -> Result<Task, ClientError> {
        self.answer(self.api(Method::POST, &format!("/tasks/{id}/resubmit")).json(how)).await
    }

    /// Takes the approval of a task back before it is applied.
    pub async fn withdraw_approval(&self, id: Uuid, reason: &GiveReason) -> Result<Task, ClientError> {
        self.answer(self.api(Method::POST, &format!("/tasks/{id}/withdraw-approval")).json(reason)).await
    }

    /// Asks the other admins to end a review with yes.
    pub async fn override_review(&self, id: Uuid, why: &GiveUrgency) -> Result<Task, ClientError> {
        self.answer(self.api(Method::POST, &format!("/tasks/{id}/override")).json(why)).await
    }

    /// Puts a task at the head of the queue.
    pub async fn force_apply(&self, id: Uuid, why: &GiveUrgency) -> Result<Task, ClientError> {
        self.answer(self.api(Method::POST, &format!("/tasks/{id}/force-apply")).json(why)).await
    }

    /// Has an admin who was not asked take part in a review.
    pub async fn join_review(&self, id: Uuid) -> Result<Approval, ClientError> {
        self.answer(self.api(Method::POST, &format!("/tasks/{id}/join-review"))).await
    }
}

//! Tasks, their revisions and what is said about them.

use std::time::Duration;

use reqwest::Method;
use uuid::Uuid;
use wire::{
    AttachPreview, AuditRow, Comment, CreateComment, CreateTask, Diff, DiffQuery, Page, PageQuery, Revision,
    RevisionSummary, Simulation, Task, TaskQuery, TasksQuery, UpdateTask,
};

use crate::transport::ANSWER_TIMEOUT;
use crate::{Client, ClientError};

impl Client {
    /// One page of tasks, newest first.
    pub async fn tasks(&self, query: &TasksQuery) -> Result<Page<Task>, ClientError> {
        self.find("/tasks", query).await
    }

    /// One task.
    pub async fn task(&self, id: Uuid) -> Result<Task, ClientError> {
        self.get(&format!("/tasks/{id}")).await
    }

    /// One task, once it is neither SUBMITTED nor REVIEWING, or as it is when the wait ends.
    pub async fn watch_task(&self, id: Uuid, wait_seconds: u32) -> Result<Task, ClientError> {
        let query = TaskQuery { wait_seconds: Some(wait_seconds) };
        let wait = Duration::from_secs(u64::from(wait_seconds));
        let request = self.api(Method::GET, &format!("/tasks/{id}")).query(&query);
        self.answer(request.timeout(ANSWER_TIMEOUT + wait)).await
    }

    /// Proposes a task.
    pub async fn create_task(&self, request: &CreateTask) -> Result<Task, ClientError> {
        self.answer(self.api(Method::POST, "/tasks").json(request)).await
    }

    /// What would happen to such a task.
    pub async fn simulate_task(&self, request: &CreateTask) -> Result<Simulation, ClientError> {
        self.answer(self.api(Method::POST, "/tasks/simulate").json(request)).await
    }

    /// Changes a task.
    pub async fn update_task(&self, id: Uuid, change: &UpdateTask) -> Result<Task, ClientError> {
        self.answer(self.api(Method::PATCH, &format!("/tasks/{id}")).json(change)).await
    }

    /// Deletes a draft.
    pub async fn delete_task(&self, id: Uuid) -> Result<(), ClientError> {
        self.send(self.api(Method::DELETE, &format!("/tasks/{id}"))).await.map(drop)
    }

    /// Attaches what the author says a draft would change.
    pub async fn attach_preview(&self, id: Uuid, preview: &AttachPreview) -> Result<Task, ClientError> {
        self.answer(self.api(Method::PUT, &format!("/tasks/{id}/preview")).json(preview)).await
    }

    /// One page of who did what to a task, newest first.
    pub async fn task_audit(&self, id: Uuid, page: &PageQuery) -> Result<Page<AuditRow>, ClientError> {
        self.find(&format!("/tasks/{id}/audit"), page).await
    }

    /// One page of a task's revisions, newest first.
    pub async fn task_revisions(
        &self,
        id: Uuid,
        page: &PageQuery,
    ) -> Result<Page<RevisionSummary>, ClientError> {
        self.find(&format!("/tasks/{id}/revisions"), page).await
    }

    /// One revision of a task with its config.
    pub async fn task_revision(&self, id: Uuid, number: i64) -> Result<Revision, ClientError> {
        self.get(&format!("/tasks/{id}/revisions/{number}")).await
    }

    /// What is different between two revisions of a task.
    pub async fn diff_task(&self, id: Uuid, query: &DiffQuery) -> Result<Diff, ClientError> {
        self.find(&format!("/tasks/{id}/diff"), query).await
    }

    /// Says something about a task.
    pub async fn comment_task(&self, id: Uuid, request: &CreateComment) -> Result<Comment, ClientError> {
        self.answer(self.api(Method::POST, &format!("/tasks/{id}/comments")).json(request)).await
    }

    /// One page of what was said about a task, newest first.
    pub async fn task_comments(&self, id: Uuid, page: &PageQuery) -> Result<Page<Comment>, ClientError> {
        self.find(&format!("/tasks/{id}/comments"), page).await
    }
}

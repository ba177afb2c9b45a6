//! Writing a task, and changing what was written.

use serde_json::{Map, Value};

use super::freeze::Frozen;
use super::metadata::Metadata;
use super::place::check_path;
use super::{Task, TaskStatus, queue_rank};
use crate::accounts::Account;
use crate::json::FieldError;
use crate::projects::Project;
use crate::text;
use crate::{Id, Timestamp};

/// How many tasks of one author may be on their way at once.
pub const OPEN_MAX: i64 = 1000;

/// What to change; what is none stays. The inner none removes.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TaskChange {
    /// What it will do, whole.
    pub config: Option<Value>,
    /// What is said about it; merged.
    pub metadata: Option<Map<String, Value>>,
    /// Its short name.
    pub slug: Option<Option<String>>,
    /// Its place in the plan.
    pub path: Option<Option<String>>,
    /// Who shall apply it.
    pub assignee: Option<Option<Id<Account>>>,
    /// Until when it should be done.
    pub due_at: Option<Option<Timestamp>>,
    /// Where it lives.
    pub project_id: Option<Id<Project>>,
    /// What it waits for, all of it.
    pub depends_on: Option<Vec<Id<Task>>>,
}

/// Everything wrong with where a task stands.
///
/// # Errors
/// Names each field.
pub fn check_place(slug: Option<&str>, path: Option<&str>) -> Result<(), Vec<FieldError>> {
    let slug = slug.map_or(Ok(()), text::slug).map_err(|bad| ("slug", bad));
    let path = path.map_or(Ok(()), check_path).map_err(|bad| ("path", bad));
    let wrong = [slug, path].into_iter().filter_map(Result::err);
    let errors: Vec<FieldError> =
        wrong.map(|(field, bad)| FieldError::on_member(field, bad.to_string())).collect();
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

impl Task {
    /// What is said about it, as its author may change it.
    #[must_use]
    pub fn said(&self) -> Metadata {
        Metadata { tags: self.tags.clone(), members: self.metadata.clone() }
    }

    /// With everything of the change but config and prerequisites.
    ///
    /// # Errors
    /// Names everything that is wrong.
    pub fn described(&self, change: &TaskChange) -> Result<Self, Vec<FieldError>> {
        let mut after = self.clone();
        after.slug = change.slug.clone().unwrap_or(after.slug);
        after.path = change.path.clone().unwrap_or(after.path);
        after.assignee = change.assignee.unwrap_or(after.assignee);
        after.due_at = change.due_at.unwrap_or(after.due_at);
        after.project_id = change.project_id.unwrap_or(after.project_id);
        let mut errors = check_place(after.slug.as_deref(), after.path.as_deref()).err().unwrap_or_default();
        match self.said().merged(change.metadata.as_ref().unwrap_or(&Map::new())) {
            Ok(said) => (after.tags, after.metadata) = (said.tags, said.members),
            Err(wrong) => errors.extend(wrong),
        }
        if errors.is_empty() { Ok(after) } else { Err(errors) }
    }

    /// With a new revision of what it does. What an author showed of the old one says nothing about the new one.
    #[must_use]
    pub fn rewritten(&self, frozen: &Frozen) -> Self {
        Self {
            revision: self.revision + 1,
            content_hash: frozen.hash,
            task_type: frozen.config.task_type.clone(),
            priority: i64::from(frozen.config.priority),
            queue_rank: queue_rank(frozen.config.priority.into()),
            preview: None,
            effect_hash: None,
            ..self.clone()
        }
    }

    /// Whether the other differs in what reviewers decide about: what it does, who applies it, where it lives. What it
    /// waits for is decided by the edges (DECISIONS.md 25).
    #[must_use]
    pub fn is_edited_in(&self, after: &Self) -> bool {
        let decided = |task: &Self| (task.content_hash, task.assignee, task.project_id);
        decided(self) != decided(after)
    }

    /// The next version of this task, as of now, with the planner's view that follows.
    #[must_use]
    pub fn next_version(&self, is_blocked: bool, now: Timestamp) -> Self {
        Self {
            status: TaskStatus::of(self.state, is_blocked),
            version: self.version + 1,
            updated_at: now.after(self.updated_at),
            ..self.clone()
        }
    }
}

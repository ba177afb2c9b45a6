//! Projects: where an organization's tasks live.

use crate::json::FieldError;
use crate::organizations::Organization;
use crate::text::{self, NAME_CHARS_MAX};
use crate::{Id, Timestamp};

/// The slug of the project every organization begins with.
pub const DEFAULT_SLUG: &str = "default";

/// Where tasks live.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Project {
    /// Its id.
    pub id: Id<Project>,
    /// Whose it is.
    pub org_id: Id<Organization>,
    /// What people read.
    pub name: String,
    /// Its name in URLs; unique in the organization.
    pub slug: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// What to change; what is none stays.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProjectChange {
    /// What people read.
    pub name: Option<String>,
    /// Its name in URLs.
    pub slug: Option<String>,
}

/// Why a project stays as it is.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ProjectRefusal {
    /// A name or slug is wrong.
    #[error("the project is not valid")]
    Invalid(Vec<FieldError>),
    /// The first project keeps its slug, so that it stays the one that cannot be deleted.
    #[error("the project `default` keeps its slug and is never deleted")]
    Default,
    /// An organization has at least one.
    #[error("an organization keeps at least one project")]
    Last,
    /// Tasks that were more than drafts are history.
    #[error("tasks of this project were submitted: it is kept with them")]
    HasTasks,
}

impl ProjectRefusal {
    /// The state that stands in the way, in a word.
    #[must_use]
    pub const fn state(&self) -> &'static str {
        match self {
            Self::Invalid(_) => "invalid",
            Self::Default => "default",
            Self::Last => "last",
            Self::HasTasks => "in_use",
        }
    }
}

impl Project {
    /// Everything wrong with name and slug.
    pub fn check(&self) -> Result<(), ProjectRefusal> {
        let name = text::name(&self.name, NAME_CHARS_MAX).map_err(|bad| ("name", bad));
        let slug = text::slug(&self.slug).map_err(|bad| ("slug", bad));
        let wrong = [name, slug].into_iter().filter_map(Result::err);
        let errors: Vec<FieldError> =
            wrong.map(|(field, bad)| FieldError::on_member(field, bad.to_string())).collect();
        if errors.is_empty() { Ok(()) } else { Err(ProjectRefusal::Invalid(errors)) }
    }

    /// The project after a change; the same one if nothing is different.
    pub fn changed(&self, change: &ProjectChange, now: Timestamp) -> Result<Self, ProjectRefusal> {
        let mut changed = self.clone();
        changed.name.clone_from(change.name.as_ref().unwrap_or(&self.name));
        changed.slug.clone_from(change.slug.as_ref().unwrap_or(&self.slug));
        changed.check()?;
        if self.slug == DEFAULT_SLUG && changed.slug != DEFAULT_SLUG {
            return Err(ProjectRefusal::Default);
        }
        if changed != *self {
            changed.updated_at = now.after(self.updated_at);
        }
        Ok(changed)
    }
}

/// What decides whether a project may go.
#[derive(Clone, Copy, Debug)]
pub struct DeleteFacts {
    /// Whether the organization has no other.
    pub is_last: bool,
    /// Whether a task of it is, or was, more than a draft.
    pub has_tasks_beyond_draft: bool,
}

/// Whether the project may be deleted (DECISIONS.md 23).
pub fn may_delete(project: &Project, facts: DeleteFacts) -> Result<(), ProjectRefusal> {
    if project.slug == DEFAULT_SLUG {
        return Err(ProjectRefusal::Default);
    }
    if facts.is_last {
        return Err(ProjectRefusal::Last);
    }
    if facts.has_tasks_beyond_draft { Err(ProjectRefusal::HasTasks) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn project(name: &str, slug: &str) -> Project {
        let at = Timestamp::from_micros(5);
        Project {
            id: Id::new(Uuid::from_u128(1)),
            org_id: Id::new(Uuid::from_u128(2)),
            name: name.to_owned(),
            slug: slug.to_owned(),
            created_at: at,
            updated_at: at,
        }
    }

    fn change(name: Option<&str>, slug: Option<&str>) -> ProjectChange {
        ProjectChange { name: name.map(str::to_owned), slug: slug.map(str::to_owned) }
    }

    #[test]
    fn every_wrong_field_is_named() {
        let Err(ProjectRefusal::Invalid(errors)) = project(" ", "Bad Slug").check() else {
            panic!("neither is right")
        };
        let pointers: Vec<&str> = errors.iter().map(|error| error.pointer.as_str()).collect();
        assert_eq!(pointers, ["/name", "/slug"]);
        assert!(project("Payments", "payments").check().is_ok());
    }

    #[test]
    fn a_change_is_a_new_version_and_no_change_is_none() {
        let before = project("Payments", "payments");
        let now = Timestamp::from_micros(5);
        let after = before.changed(&change(Some("Pay"), None), now).unwrap();
        assert_eq!((after.name.as_str(), after.slug.as_str()), ("Pay", "payments"));
        assert!(after.updated_at > before.updated_at);
        assert_eq!(before.changed(&change(Some("Payments"), Some("payments")), now).unwrap(), before);
        assert_eq!(before.changed(&change(None, None), now).unwrap(), before);
        assert!(matches!(before.changed(&change(None, Some("")), now), Err(ProjectRefusal::Invalid(_))));
    }

    #[test]
    fn the_first_project_keeps_its_slug() {
        let first = project("default", DEFAULT_SLUG);
        let now = Timestamp::from_micros(9);
        assert_eq!(first.changed(&change(None, Some("other")), now), Err(ProjectRefusal::Default));
        assert_eq!(first.changed(&change(Some("Main"), Some("default")), now).unwrap().name, "Main");
    }

    #[test]
    fn what_is_needed_is_not_deleted() {
        let facts = |is_last, has_tasks_beyond_draft| DeleteFacts { is_last, has_tasks_beyond_draft };
        let plain = project("Payments", "payments");
        assert_eq!(may_delete(&plain, facts(false, false)), Ok(()));
        assert_eq!(may_delete(&plain, facts(true, false)), Err(ProjectRefusal::Last));
        assert_eq!(may_delete(&plain, facts(false, true)), Err(ProjectRefusal::HasTasks));
        let first = project("default", DEFAULT_SLUG);
        assert_eq!(may_delete(&first, facts(false, false)), Err(ProjectRefusal::Default));
    }
}

//! Workspaces: the places a project's work is done in.

use crate::json::FieldError;
use crate::organizations::Organization;
use crate::projects::Project;
use crate::text::{self, NAME_CHARS_MAX};
use crate::{Id, Timestamp};

/// The longest path of a workspace, in characters.
pub const PATH_CHARS_MAX: usize = 1024;

/// A place on some machine, in the words of whoever works there; the hub never opens it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Workspace {
    /// Its id.
    pub id: Id<Workspace>,
    /// Whose it is.
    pub org_id: Id<Organization>,
    /// Of which project.
    pub project_id: Id<Project>,
    /// What people read; unique in the project.
    pub name: String,
    /// Where it is.
    pub path: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// What to change; what is none stays.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WorkspaceChange {
    /// What people read.
    pub name: Option<String>,
    /// Where it is.
    pub path: Option<String>,
}

impl Workspace {
    /// Everything wrong with name and path.
    pub fn check(&self) -> Result<(), Vec<FieldError>> {
        let name = text::name(&self.name, NAME_CHARS_MAX).map_err(|bad| ("name", bad));
        let path = text::name(&self.path, PATH_CHARS_MAX).map_err(|bad| ("path", bad));
        let wrong = [name, path].into_iter().filter_map(Result::err);
        let errors: Vec<FieldError> =
            wrong.map(|(field, bad)| FieldError::on_member(field, bad.to_string())).collect();
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// The workspace after a change; the same one if nothing is different.
    pub fn changed(&self, change: &WorkspaceChange, now: Timestamp) -> Result<Self, Vec<FieldError>> {
        let mut changed = self.clone();
        changed.name.clone_from(change.name.as_ref().unwrap_or(&self.name));
        changed.path.clone_from(change.path.as_ref().unwrap_or(&self.path));
        changed.check()?;
        if changed != *self {
            changed.updated_at = now.after(self.updated_at);
        }
        Ok(changed)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn workspace(name: &str, path: &str) -> Workspace {
        let at = Timestamp::from_micros(5);
        Workspace {
            id: Id::new(Uuid::from_u128(1)),
            org_id: Id::new(Uuid::from_u128(2)),
            project_id: Id::new(Uuid::from_u128(3)),
            name: name.to_owned(),
            path: path.to_owned(),
            created_at: at,
            updated_at: at,
        }
    }

    fn wrong(name: &str, path: &str) -> Vec<String> {
        let errors = workspace(name, path).check().err().unwrap_or_default();
        errors.into_iter().map(|error| error.pointer).collect()
    }

    #[test]
    fn names_and_paths_have_bounds() {
        assert!(wrong("laptop", "/srv/code").is_empty());
        assert!(wrong("é", &"é".repeat(1024)).is_empty());
        assert_eq!(wrong("", "/srv"), ["/name"]);
        assert_eq!(wrong("a", &"x".repeat(1025)), ["/path"]);
        assert_eq!(wrong("a\u{7}", "/srv\n"), ["/name", "/path"]);
    }

    #[test]
    fn a_change_is_a_new_version_and_no_change_is_none() {
        let before = workspace("laptop", "/srv");
        let now = Timestamp::from_micros(1);
        let moved = WorkspaceChange { name: None, path: Some("/home".to_owned()) };
        let after = before.changed(&moved, now).unwrap();
        assert_eq!((after.path.as_str(), after.updated_at), ("/home", Timestamp::from_micros(6)));
        assert_eq!(after.changed(&moved, now).unwrap(), after);
    }
}

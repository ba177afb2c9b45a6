//! Projects and their workspaces.

use garde::Validate;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::page::{CURSOR_CHARS_MAX, LIMIT_MAX};
use crate::patch::not_null;

/// How long the name of a project or a workspace may be.
pub const NAME_CHARS_MAX: usize = 200;
/// How long a slug may be.
pub const SLUG_CHARS_MAX: usize = 64;
/// How long the path of a workspace may be.
pub const PATH_CHARS_MAX: usize = 1024;

/// Where tasks live.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Project {
    /// The project's id.
    pub id: Uuid,
    /// Its name for people.
    pub name: String,
    /// Its short name, unique in the organization.
    pub slug: String,
    /// When it was made.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// When it was last changed.
    #[schema(format = DateTime)]
    pub updated_at: String,
}

/// Makes a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateProject {
    /// Its name for people.
    #[garde(length(chars, min = 1, max = NAME_CHARS_MAX))]
    #[schema(min_length = 1, max_length = 200)]
    pub name: String,
    /// Its short name: a-z, 0-9 and -.
    #[garde(length(chars, min = 1, max = SLUG_CHARS_MAX))]
    #[schema(min_length = 1, max_length = 64)]
    pub slug: String,
}

/// Changes a project; what is absent stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateProject {
    /// Its name for people.
    #[garde(inner(length(chars, min = 1, max = NAME_CHARS_MAX)))]
    #[schema(min_length = 1, max_length = 200, nullable = false)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its short name.
    #[garde(inner(length(chars, min = 1, max = SLUG_CHARS_MAX)))]
    #[schema(min_length = 1, max_length = 64, nullable = false)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub slug: Option<String>,
}

/// Which projects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ProjectsQuery {
    /// Only the one with this slug.
    #[garde(inner(length(bytes, min = 1, max = SLUG_CHARS_MAX)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slug: Option<String>,
    /// How many items at most (default 50).
    #[garde(inner(range(min = 1, max = LIMIT_MAX)))]
    #[param(minimum = 1, maximum = 200)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// `next_cursor` of the page before.
    #[garde(inner(length(bytes, min = 1, max = CURSOR_CHARS_MAX)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// A place a project's work is done in. The hub never opens it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Workspace {
    /// The workspace's id.
    pub id: Uuid,
    /// Of which project.
    pub project_id: Uuid,
    /// Its name for people, unique in the project.
    pub name: String,
    /// Where it is, in the words of whoever works there.
    pub path: String,
    /// When it was made.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// When it was last changed.
    #[schema(format = DateTime)]
    pub updated_at: String,
}

/// Adds a workspace to a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateWorkspace {
    /// Its name for people.
    #[garde(length(chars, min = 1, max = NAME_CHARS_MAX))]
    #[schema(min_length = 1, max_length = 200)]
    pub name: String,
    /// Where it is.
    #[garde(length(chars, min = 1, max = PATH_CHARS_MAX))]
    #[schema(min_length = 1, max_length = 1024)]
    pub path: String,
}

/// Changes a workspace; what is absent stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateWorkspace {
    /// Its name for people.
    #[garde(inner(length(chars, min = 1, max = NAME_CHARS_MAX)))]
    #[schema(min_length = 1, max_length = 200, nullable = false)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Where it is.
    #[garde(inner(length(chars, min = 1, max = PATH_CHARS_MAX)))]
    #[schema(min_length = 1, max_length = 1024, nullable = false)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_change_names_only_what_changes() {
        let change = UpdateProject { name: Some("Pay".to_owned()), slug: None };
        assert_eq!(serde_json::to_value(&change).unwrap(), json!({"name": "Pay"}));
        assert!(serde_json::from_value::<UpdateProject>(json!({"name": null})).is_err());
        assert!(serde_json::from_value::<UpdateProject>(json!({"title": "Pay"})).is_err());
        assert!(serde_json::from_value::<UpdateWorkspace>(json!({"path": null})).is_err());
        assert_eq!(serde_json::from_value::<UpdateWorkspace>(json!({})).unwrap(), UpdateWorkspace::default());
    }
}

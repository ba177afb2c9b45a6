//! Why what an attempt began was not undone. What it failed with first stays where it is; this stands beside it, among what
//! its agent said about the failure, so that a record from before there was such a thing reads as it did.

use serde_json::{Map, Value};

use super::{Execution, Outcome, Purpose, Rollback};

/// Among the details of an error: why what failed was not undone.
pub const ROLLBACK_ERROR: &str = "rollback_error";
/// The same: what else the agent said about that.
pub const ROLLBACK_ERROR_DETAILS: &str = "rollback_error_details";
/// The same: what the agent said about the failure itself, where it used one of these names.
const FIRST: &str = "first";

/// Why what an attempt began was not undone.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct NotUndone<'e> {
    /// What went wrong.
    pub error: &'e str,
    /// Whether that is the hub's word, and not the agent's.
    pub is_by_hub: bool,
}

impl Execution {
    /// Why what it began was not undone by the agent that failed, if that was tried.
    #[must_use]
    pub fn not_undone(&self) -> Option<NotUndone<'_>> {
        if self.purpose != Purpose::Apply || self.rollback != Rollback::Failed {
            return None;
        }
        let error = self.error_details.as_ref()?.get(ROLLBACK_ERROR)?.as_str()?;
        Some(NotUndone { error, is_by_hub: self.outcome == Some(Outcome::Unknown) })
    }
}

/// What was said about the failure, and then about undoing it.
pub(super) fn with_rollback_error(
    first: Option<&Value>,
    error: Option<String>,
    details: Option<&Value>,
) -> Option<Value> {
    let Some(error) = error else { return first.cloned() };
    let mut members = first.and_then(Value::as_object).cloned().unwrap_or_default();
    if [ROLLBACK_ERROR, ROLLBACK_ERROR_DETAILS, FIRST].iter().any(|name| members.contains_key(*name)) {
        members = Map::from_iter([(FIRST.to_owned(), Value::Object(members))]);
    }
    members.insert(ROLLBACK_ERROR.to_owned(), error.into());
    if let Some(details) = details {
        members.insert(ROLLBACK_ERROR_DETAILS.to_owned(), details.clone());
    }
    Some(members.into())
}

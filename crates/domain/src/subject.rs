//! What an event or an audit row is about.

use std::fmt;

/// A thing by its kind and id, such as `task` and the task's id.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Subject {
    /// `type` on the wire.
    pub kind: String,
    /// The id as text: not every subject is a row (a lock key is none).
    pub id: String,
}

impl Subject {
    /// Names a thing.
    #[must_use]
    pub fn new(kind: impl Into<String>, id: impl fmt::Display) -> Self {
        Self { kind: kind.into(), id: id.to_string() }
    }
}

//! What can go wrong with the records, by what the caller can do about it.

use std::error::Error as StdError;

type Cause = Box<dyn StdError + Send + Sync>;

/// Why a unit or a read did not give an answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another unit was first. `Db::write` runs the unit again a bounded number of times.
    #[error("another unit changed {what} first")]
    LostRace {
        /// What was changed by the other.
        what: String,
    },
    /// A unique index refused a row.
    #[error("already exists: {what}")]
    Duplicate {
        /// What the engine says about the index.
        what: String,
    },
    /// A foreign key or CHECK refused a row: the unit decided something the schema forbids.
    #[error("the schema refuses the change: {what}")]
    Constraint {
        /// What the engine says about the constraint.
        what: String,
    },
    /// The writer's queue or the pool is full.
    #[error("the records are overloaded")]
    Overloaded,
    /// The commit may or may not have happened.
    #[error("it is not known whether the change was committed: {0}")]
    OutcomeUnknown(String),
    /// No space left; nothing was changed.
    #[error("the disk is full")]
    DiskFull,
    /// The database cannot be reached; nothing was changed.
    #[error("the database cannot be reached: {0}")]
    Unavailable(String),
    /// A stored value is not what the code expects.
    #[error("column {column}: {reason}")]
    BadRow {
        /// The column that was read.
        column: &'static str,
        /// What is wrong with its value.
        reason: String,
    },
    /// A unit awaited something other than its transaction, panicked, or went on after an error: a bug.
    #[error("a unit misbehaved: {0}")]
    Misbehaved(&'static str),
    /// The database refuses to be opened.
    #[error("{0}")]
    Refused(String),
    /// The engine answered something no caller can handle: a bug, or damage.
    #[error("the database failed: {0}")]
    Engine(#[source] Cause),
}

/// What a unit may fail with: it can carry an [`Error`], and says whether running it again may help.
pub trait UnitError: From<Error> + Send + 'static {
    /// Whether the unit lost a race and should be run again.
    fn is_lost_race(&self) -> bool;
}

impl UnitError for Error {
    fn is_lost_race(&self) -> bool {
        matches!(self, Self::LostRace { .. })
    }
}

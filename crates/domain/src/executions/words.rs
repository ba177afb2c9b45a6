//! What can be said of an execution in one word.

use std::str::FromStr;

use crate::text::{UnknownWord, one_of};

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// What was approved.
    Apply,
    /// Undoing it.
    Rollback,
}

impl Purpose {
    /// Each one.
    pub const ALL: [Self; 2] = [Self::Apply, Self::Rollback];

    /// On the wire and in SQL.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "apply",
            Self::Rollback => "rollback",
        }
    }
}

impl FromStr for Purpose {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        one_of(&Self::ALL, Self::as_str, text)
    }
}

/// How far it is. Follows from the rest; never stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Its agent works.
    Applying,
    /// It is undone, or waits for whoever undoes it.
    RollingBack,
    /// Nothing more happens.
    Ended,
}

impl Phase {
    /// On the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Applying => "applying",
            Self::RollingBack => "rolling_back",
            Self::Ended => "ended",
        }
    }
}

/// How the work ended (EXEC-03).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExecutionResult {
    /// Done.
    Success,
    /// It did not work, or nobody can say.
    Failure,
    /// It took too long.
    Timeout,
    /// An admin ended it.
    Cancelled,
}

impl ExecutionResult {
    /// Each one.
    pub const ALL: [Self; 4] = [Self::Success, Self::Failure, Self::Timeout, Self::Cancelled];

    /// On the wire and in SQL.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
        }
    }
}

impl FromStr for ExecutionResult {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        one_of(&Self::ALL, Self::as_str, text)
    }
}

/// Whether the hub knows what was done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The agent said so.
    Known,
    /// It ended before the agent could say.
    Unknown,
}

impl Outcome {
    /// Each one.
    pub const ALL: [Self; 2] = [Self::Known, Self::Unknown];

    /// On the wire and in SQL.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Known => "known",
            Self::Unknown => "unknown",
        }
    }
}

impl FromStr for Outcome {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        one_of(&Self::ALL, Self::as_str, text)
    }
}

/// What became of undoing an attempt. It goes on only, so it happens at most once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Rollback {
    /// Nothing was undone.
    None,
    /// A person asked for it.
    Asked,
    /// An agent is at it.
    Running,
    /// It was undone.
    Succeeded,
    /// It was not, or nobody can say.
    Failed,
}

impl Rollback {
    /// Each one.
    pub const ALL: [Self; 5] = [Self::None, Self::Asked, Self::Running, Self::Succeeded, Self::Failed];

    /// On the wire and in SQL.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Asked => "asked",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
        }
    }
}

impl FromStr for Rollback {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        one_of(&Self::ALL, Self::as_str, text)
    }
}

//! What every use case can fail with, beside its own refusals.

use domain::Id;
use domain::approvals::Approval;
use domain::json::FieldError;
use records::UnitError;

/// Why a use case gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    /// The records failed.
    #[error(transparent)]
    Records(#[from] records::Error),
    /// The credential is missing, unknown, ended, or its account may not act.
    #[error("{0}")]
    Unauthenticated(&'static str),
    /// The caller may not do this.
    #[error("{0}")]
    Forbidden(String),
    /// There is no such thing, for this caller.
    #[error("there is no such {0}")]
    NotFound(&'static str),
    /// Fields of the request are wrong.
    #[error("the request is not valid")]
    Invalid(Vec<FieldError>),
    /// The thing is in a state that does not allow this.
    #[error("{detail}")]
    InvalidState {
        /// The state it is in.
        state: String,
        /// Why that does not allow it.
        detail: String,
    },
    /// It contradicts what is already there.
    #[error("{0}")]
    Conflict(String),
    /// The thing was changed since the caller read it.
    #[error("it was changed since you read it; read it again")]
    PreconditionFailed,
    /// The same idempotency key came with another body.
    #[error("this Idempotency-Key was used with another body")]
    IdempotencyMismatch,
    /// The first request with this idempotency key is still running.
    #[error("the first request with this Idempotency-Key is still running")]
    IdempotencyInFlight,
    /// Too many requests of this account wait already.
    #[error("too many of your requests are waiting already; let some of them end")]
    TooManyWaiting,
    /// As many follow the log as the hub has room for.
    #[error("as many follow the log already as this hub has room for; poll, or try again later")]
    TooManyFollowers,
    /// The hub does not call such addresses.
    #[error("{0}")]
    AddressNotAllowed(String),
    /// Something was tried too often, or too soon after the last time.
    #[error("{what}; try again in {retry_after_seconds} s")]
    TooMany {
        /// What was tried.
        what: &'static str,
        /// When it may be tried again.
        retry_after_seconds: u32,
    },
    /// The author has too many tasks on their way.
    #[error(
        "{open} of your tasks are not at their end, which is the most there may be; finish or cancel some"
    )]
    TooManyOpen {
        /// How many.
        open: i64,
    },
    /// Nobody here carries out tasks of this kind.
    #[error("this hub does not carry out tasks of action kind `{0}`; say `external` and have an agent do it")]
    ExecutorDisabled(&'static str),
    /// An attempt does not begin.
    #[error(transparent)]
    NotBegun(Box<crate::executions::NotBegun>),
    /// Too late to say something about an attempt.
    #[error(transparent)]
    AttemptEnded(domain::executions::AttemptEnded),
    /// Nobody has answered the program that asks for a login.
    #[error("nobody has granted or denied this login yet; ask again")]
    AuthorizationPending,
    /// A person denied it.
    #[error("{0}")]
    AccessDenied(&'static str),
    /// It worked once, or until now.
    #[error("{0}")]
    Expired(&'static str),
    /// Somebody else is asked.
    #[error("{0}")]
    NotYourReview(String),
    /// The caller had a hand in it.
    #[error("{0}")]
    SelfApproval(String),
    /// The review is over.
    #[error("{detail}")]
    AlreadyResolved {
        /// How it ended, if it did.
        resolution: Option<&'static str>,
        /// In words.
        detail: String,
    },
    /// The caller decided on something that is no longer there.
    #[error("the task changed since you read it; read it again before you decide")]
    StaleContent {
        /// What it is now.
        content_hash: String,
        /// And all around it.
        review_hash: String,
    },
    /// Some answers of a batch cannot be taken, so none was.
    #[error("{} of {of} answers cannot be taken; nothing was changed", failed.len())]
    Batch {
        /// Which, and why.
        failed: Vec<Failed>,
        /// How many there were.
        of: usize,
    },
    /// The provider of logins could not be reached, or did not answer as it must.
    #[error("{0} could not be reached; nobody was signed in. Try again in a moment, or sign in another way")]
    ProviderUnavailable(String),
    /// The log no longer goes back that far.
    #[error("events up to {} are gone", oldest_seq - 1)]
    EventsGone {
        /// The oldest number that can be asked for.
        oldest_seq: i64,
    },
    /// The task was finished long ago, and left.
    #[error("the task was finished and is archived; an admin reads it in archive {archive_id}")]
    TaskArchived {
        /// Where it is.
        archive_id: String,
        /// Since when.
        archived_at: String,
    },
    /// The token of a standalone grant opens nothing.
    #[error(transparent)]
    Grant(domain::standalone_grants::GrantRefusal),
    /// The store of standalone grants does not work.
    #[error(transparent)]
    GrantStore(#[from] coordination::standalone_grants::StoreError),
    /// A lock could not be had, or kept.
    #[error(transparent)]
    Lock(#[from] coordination::locks::Refusal),
    /// The hub's own keys are not what they were at the start.
    #[error(transparent)]
    Keys(#[from] crate::keys::KeyError),
    /// The operating system gives no randomness.
    #[error(transparent)]
    NoRandomness(#[from] crate::ids::NoRandomness),
}

/// One answer of a batch that cannot be taken.
#[derive(Debug)]
pub struct Failed {
    /// Its place in the batch.
    pub place: usize,
    /// To which request.
    pub approval_id: Id<Approval>,
    /// Why.
    pub error: HubError,
}

impl HubError {
    /// One wrong field.
    pub fn field(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::Invalid(vec![FieldError { pointer: pointer.into(), detail: detail.into() }])
    }

    /// The same, but what a unique index refused in words: which value is taken. For use cases where only that value
    /// can be.
    pub(crate) fn or_taken(self, detail: impl FnOnce() -> String) -> Self {
        match self {
            Self::Records(records::Error::Duplicate { .. }) => Self::Conflict(detail()),
            other => other,
        }
    }
}

impl UnitError for HubError {
    fn is_lost_race(&self) -> bool {
        matches!(self, Self::Records(error) if error.is_lost_race())
    }
}

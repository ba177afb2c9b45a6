//! The stable codes of the answers that are not a success, each with its status, title and page.

use std::fmt;
use std::str::FromStr;

mod table;

use table::{About, TABLE};

/// Why a request was not carried out. Clients rely on the names: add, never rename.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// The body is not JSON.
    MalformedBody,
    /// A member name occurs twice in one object.
    DuplicateKey,
    /// A header or the query string cannot be read.
    BadRequest,
    /// No credentials, or not valid ones.
    Unauthenticated,
    /// Known, but not allowed.
    Forbidden,
    /// A person was asked, and said no.
    AccessDenied,
    /// The caller had a hand in what is to be decided.
    SelfApproval,
    /// Somebody else is asked.
    NotYourReview,
    /// Nothing of that name in the caller's organization.
    NotFound,
    /// The path exists with other methods.
    MethodNotAllowed,
    /// Not finished in time.
    RequestTimeout,
    /// Contradicts what is already there.
    Conflict,
    /// Not in this state.
    InvalidState,
    /// Decided on something that is no longer there.
    StaleContent,
    /// The review is over.
    AlreadyResolved,
    /// Some answers of a batch cannot be taken, for different reasons.
    BatchRefused,
    /// The first request with this idempotency key still runs.
    IdempotencyInFlight,
    /// A person was asked, and has not answered yet.
    AuthorizationPending,
    /// Older than the event log.
    EventsGone,
    /// The task was finished long ago, and left.
    TaskArchived,
    /// It worked once, or until some time ago.
    Expired,
    /// `If-Match` names an old version.
    PreconditionFailed,
    /// More than the largest body.
    BodyTooLarge,
    /// More than the longest path and query.
    UriTooLong,
    /// The body does not say it is JSON.
    UnsupportedMediaType,
    /// JSON, but not what the route takes.
    ValidationFailed,
    /// The idempotency key belongs to another body.
    IdempotencyMismatch,
    /// Nobody here carries out such a task.
    ExecutorDisabled,
    /// Too many requests.
    RateLimited,
    /// Too many tasks on their way.
    TooManyOpen,
    /// More than the largest headers.
    HeadersTooLarge,
    /// A bug of ours.
    Internal,
    /// A queue of the hub is full.
    Overloaded,
    /// The database cannot be reached.
    RecordsUnavailable,
    /// The provider of logins cannot be reached.
    ProviderUnavailable,
    /// Saved or not: nobody can say.
    OutcomeUnknown,
    /// Starting, stopping, or a dependency is missing.
    NotReady,
    /// No space left for the data.
    DiskFull,
    /// The same owner holds the lock already.
    AlreadyHeld,
    /// It ended before this was said.
    LockExpired,
    /// It is somebody else's.
    NotHolder,
    /// Others hold it.
    LockHeld,
    /// Others still held it when the wait was over.
    LockWaitTimeout,
    /// It would have waited for itself.
    DeadlockDetected,
    /// The agent has as many as it may.
    TooManyLocks,
    /// The line is full.
    QueueFull,
    /// The engine of locks cannot work.
    CoordinationUnavailable,
    /// The task may not be applied.
    NotApproved,
    /// It waits for something else.
    Blocked,
    /// The agent is busy.
    AgentAtCapacity,
    /// The agent takes no new work.
    AgentDraining,
    /// Too late to say something about it.
    AttemptEnded,
    /// Another organization is named than the caller's.
    TenantMismatch,
    /// The token is for another hash.
    HashMismatch,
    /// Nobody here has such a token.
    UnknownToken,
    /// The token was used.
    AlreadyConsumed,
    /// The request does not ask for a WebSocket.
    UpgradeRequired,
    /// A private address, and the operator has not allowed it.
    AddressNotAllowed,
}

/// The text is not the name of a code this version knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownCode;

impl Code {
    /// Every code, in the order of the enum.
    pub fn all() -> impl ExactSizeIterator<Item = Self> {
        TABLE.iter().map(|about| about.code)
    }

    /// The name clients compare with, such as `NOT_FOUND`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.about().name
    }

    /// The HTTP status that goes with it.
    #[must_use]
    pub fn status(self) -> u16 {
        self.about().status
    }

    /// What it means in a few words; the same for every occurrence.
    #[must_use]
    pub fn title(self) -> &'static str {
        self.about().title
    }

    /// Its page in Markdown, which the hub serves at `/errors/{CODE}`.
    #[must_use]
    pub fn page(self) -> &'static str {
        self.about().page
    }

    /// What the page says under "What to do", so that a client can say it where there is no page to open.
    #[must_use]
    pub fn advice(self) -> String {
        let (_, after) = self.page().split_once("## What to do\n\n").unwrap_or_default();
        let (advice, _) = after.split_once("\n\n").unwrap_or_default();
        advice.replace('\n', " ")
    }

    fn about(self) -> &'static About {
        &TABLE[self as usize]
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Code {
    type Err = UnknownCode;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::all().find(|code| code.as_str() == text).ok_or(UnknownCode)
    }
}

impl fmt::Display for UnknownCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not an error code of this version")
    }
}

impl std::error::Error for UnknownCode {}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;
    use crate::Problem;

    #[test]
    fn every_code_has_a_page_and_every_page_a_code() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors");
        let pages: BTreeSet<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        let codes: BTreeSet<String> = Code::all().map(|code| format!("{code}.md")).collect();
        assert_eq!(pages, codes);
    }

    #[test]
    fn each_page_is_about_its_code() {
        for code in Code::all() {
            let heading = format!("# {code}: {}", code.title());
            assert_eq!(code.page().lines().next(), Some(heading.as_str()));
            assert!(code.advice().ends_with('.'), "{code}: the advice is a whole sentence");
        }
    }

    #[test]
    fn each_example_is_what_the_hub_would_send() {
        for code in Code::all() {
            let (_, after) = code.page().split_once("```json\n").unwrap();
            let (example, _) = after.split_once("```").unwrap();
            let problem: Problem = serde_json::from_str(example).unwrap();
            let made = Problem::new(code, problem.detail.clone());
            assert_eq!(problem.code, made.code);
            assert_eq!(problem.status, made.status, "{code}");
            assert_eq!(problem.title, made.title, "{code}");
            assert_eq!(problem.type_uri, made.type_uri, "{code}");
        }
    }

    #[test]
    fn names_are_read_back() {
        for code in Code::all() {
            assert_eq!(code.as_str().parse(), Ok(code));
        }
        assert_eq!("not_found".parse::<Code>(), Err(UnknownCode));
        assert_eq!("".parse::<Code>(), Err(UnknownCode));
    }

    #[test]
    fn statuses_are_failures() {
        for code in Code::all() {
            assert!((400..600).contains(&code.status()), "{code}");
        }
    }
}

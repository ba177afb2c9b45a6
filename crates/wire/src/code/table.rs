//! The table of the codes.

use super::Code;

/// What there is to know about one code.
pub(super) struct About {
    pub(super) code: Code,
    pub(super) name: &'static str,
    pub(super) status: u16,
    pub(super) title: &'static str,
    pub(super) page: &'static str,
}

/// One row: the code, its name, status and title; its page is the file of its name.
macro_rules! row {
    ($code:ident, $name:literal, $status:literal, $title:literal) => {
        About {
            code: Code::$code,
            name: $name,
            status: $status,
            title: $title,
            page: include_str!(concat!("../../../../docs/errors/", $name, ".md")),
        }
    };
}

/// One row per code, in the order of the enum.
pub(super) const TABLE: &[About] = &[
    row!(MalformedBody, "MALFORMED_BODY", 400, "The body is not valid JSON"),
    row!(DuplicateKey, "DUPLICATE_KEY", 400, "A name occurs twice in one JSON object"),
    row!(BadRequest, "BAD_REQUEST", 400, "A header or query parameter cannot be read"),
    row!(Unauthenticated, "UNAUTHENTICATED", 401, "Credentials are missing or not valid"),
    row!(Forbidden, "FORBIDDEN", 403, "You may not do this"),
    row!(AccessDenied, "ACCESS_DENIED", 403, "The person who was asked said no"),
    row!(SelfApproval, "SELF_APPROVAL", 403, "You had a hand in this task"),
    row!(NotYourReview, "NOT_YOUR_REVIEW", 403, "You are not asked"),
    row!(NotFound, "NOT_FOUND", 404, "There is no such thing here"),
    row!(MethodNotAllowed, "METHOD_NOT_ALLOWED", 405, "This path does not take that method"),
    row!(RequestTimeout, "REQUEST_TIMEOUT", 408, "The request took too long"),
    row!(Conflict, "CONFLICT", 409, "It contradicts what is already there"),
    row!(InvalidState, "INVALID_STATE", 409, "Its state does not allow this"),
    row!(StaleContent, "STALE_CONTENT", 409, "The task changed since you read it"),
    row!(AlreadyResolved, "ALREADY_RESOLVED", 409, "The review is over"),
    row!(BatchRefused, "BATCH_REFUSED", 409, "Some answers of the batch cannot be taken"),
    row!(
        IdempotencyInFlight,
        "IDEMPOTENCY_IN_FLIGHT",
        409,
        "The first request with this Idempotency-Key is still running"
    ),
    row!(AuthorizationPending, "AUTHORIZATION_PENDING", 409, "The person who was asked has not answered yet"),
    row!(EventsGone, "EVENTS_GONE", 410, "These events are no longer kept"),
    row!(TaskArchived, "TASK_ARCHIVED", 410, "The task is archived"),
    row!(Expired, "EXPIRED", 410, "It is no longer valid"),
    row!(PreconditionFailed, "PRECONDITION_FAILED", 412, "It changed since you read it"),
    row!(BodyTooLarge, "BODY_TOO_LARGE", 413, "The body is too large"),
    row!(UriTooLong, "URI_TOO_LONG", 414, "The address is too long"),
    row!(UnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE", 415, "The body must be application/json"),
    row!(ValidationFailed, "VALIDATION_FAILED", 422, "The input is not valid"),
    row!(IdempotencyMismatch, "IDEMPOTENCY_MISMATCH", 422, "This Idempotency-Key was used with another body"),
    row!(ExecutorDisabled, "EXECUTOR_DISABLED", 422, "This hub does not carry out such tasks"),
    row!(RateLimited, "RATE_LIMITED", 429, "Too many requests"),
    row!(TooManyOpen, "TOO_MANY_OPEN", 429, "Too many of your tasks are on their way"),
    row!(HeadersTooLarge, "HEADERS_TOO_LARGE", 431, "The request headers are too large"),
    row!(Internal, "INTERNAL", 500, "Something went wrong in the hub"),
    row!(Overloaded, "OVERLOADED", 503, "The hub has more work than it can take"),
    row!(RecordsUnavailable, "RECORDS_UNAVAILABLE", 503, "The database cannot be reached"),
    row!(ProviderUnavailable, "PROVIDER_UNAVAILABLE", 503, "The provider of logins cannot be reached"),
    row!(OutcomeUnknown, "OUTCOME_UNKNOWN", 503, "The hub cannot say whether the change was saved"),
    row!(NotReady, "NOT_READY", 503, "The hub is not ready"),
    row!(DiskFull, "DISK_FULL", 507, "The disk is full"),
    row!(AlreadyHeld, "ALREADY_HELD", 409, "You hold this lock already"),
    row!(LockExpired, "LOCK_EXPIRED", 409, "The lock is not held any more"),
    row!(NotHolder, "NOT_HOLDER", 409, "Somebody else holds the lock"),
    row!(LockHeld, "LOCK_HELD", 423, "The lock is held"),
    row!(LockWaitTimeout, "LOCK_WAIT_TIMEOUT", 423, "The lock did not become free in time"),
    row!(DeadlockDetected, "DEADLOCK_DETECTED", 423, "Waiting for this lock closed a circle"),
    row!(TooManyLocks, "TOO_MANY_LOCKS", 429, "The agent has as many locks as it may"),
    row!(QueueFull, "QUEUE_FULL", 503, "Too many wait for this lock already"),
    row!(CoordinationUnavailable, "COORDINATION_UNAVAILABLE", 503, "Coordination is not available"),
    row!(NotApproved, "NOT_APPROVED", 409, "The task is not approved"),
    row!(Blocked, "BLOCKED", 409, "The task waits for something"),
    row!(AgentAtCapacity, "AGENT_AT_CAPACITY", 409, "The agent works on as many tasks as it may"),
    row!(AgentDraining, "AGENT_DRAINING", 409, "The agent takes no new work"),
    row!(AttemptEnded, "ATTEMPT_ENDED", 409, "The attempt has ended"),
    row!(TenantMismatch, "TENANT_MISMATCH", 403, "That is not your organization"),
    row!(HashMismatch, "HASH_MISMATCH", 403, "The token is for another hash"),
    row!(UnknownToken, "UNKNOWN_TOKEN", 404, "There is no such token"),
    row!(AlreadyConsumed, "ALREADY_CONSUMED", 409, "The token was used already"),
    row!(UpgradeRequired, "UPGRADE_REQUIRED", 426, "This address is for WebSockets"),
    row!(AddressNotAllowed, "ADDRESS_NOT_ALLOWED", 422, "The hub does not call this address"),
];

// A row is found by the code's number, so the rows stand in the order of the enum and none is missing.
const _: () = {
    assert!(TABLE.len() == Code::AddressNotAllowed as usize + 1);
    let mut row = 0;
    while row < TABLE.len() {
        assert!(TABLE[row].code as usize == row);
        row += 1;
    }
};

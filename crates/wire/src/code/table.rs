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

/// One row per code, in the order of the enum.
pub(super) const TABLE: &[About] = &[
    About {
        code: Code::MalformedBody,
        name: "MALFORMED_BODY",
        status: 400,
        title: "The body is not valid JSON",
        page: include_str!("../../../../docs/errors/MALFORMED_BODY.md"),
    },
    About {
        code: Code::DuplicateKey,
        name: "DUPLICATE_KEY",
        status: 400,
        title: "A name occurs twice in one JSON object",
        page: include_str!("../../../../docs/errors/DUPLICATE_KEY.md"),
    },
    About {
        code: Code::BadRequest,
        name: "BAD_REQUEST",
        status: 400,
        title: "A header or query parameter cannot be read",
        page: include_str!("../../../../docs/errors/BAD_REQUEST.md"),
    },
    About {
        code: Code::Unauthenticated,
        name: "UNAUTHENTICATED",
        status: 401,
        title: "Credentials are missing or not valid",
        page: include_str!("../../../../docs/errors/UNAUTHENTICATED.md"),
    },
    About {
        code: Code::Forbidden,
        name: "FORBIDDEN",
        status: 403,
        title: "You may not do this",
        page: include_str!("../../../../docs/errors/FORBIDDEN.md"),
    },
    About {
        code: Code::AccessDenied,
        name: "ACCESS_DENIED",
        status: 403,
        title: "The person who was asked said no",
        page: include_str!("../../../../docs/errors/ACCESS_DENIED.md"),
    },
    About {
        code: Code::NotFound,
        name: "NOT_FOUND",
        status: 404,
        title: "There is no such thing here",
        page: include_str!("../../../../docs/errors/NOT_FOUND.md"),
    },
    About {
        code: Code::MethodNotAllowed,
        name: "METHOD_NOT_ALLOWED",
        status: 405,
        title: "This path does not take that method",
        page: include_str!("../../../../docs/errors/METHOD_NOT_ALLOWED.md"),
    },
    About {
        code: Code::RequestTimeout,
        name: "REQUEST_TIMEOUT",
        status: 408,
        title: "The request took too long",
        page: include_str!("../../../../docs/errors/REQUEST_TIMEOUT.md"),
    },
    About {
        code: Code::Conflict,
        name: "CONFLICT",
        status: 409,
        title: "It contradicts what is already there",
        page: include_str!("../../../../docs/errors/CONFLICT.md"),
    },
    About {
        code: Code::InvalidState,
        name: "INVALID_STATE",
        status: 409,
        title: "Its state does not allow this",
        page: include_str!("../../../../docs/errors/INVALID_STATE.md"),
    },
    About {
        code: Code::IdempotencyInFlight,
        name: "IDEMPOTENCY_IN_FLIGHT",
        status: 409,
        title: "The first request with this Idempotency-Key is still running",
        page: include_str!("../../../../docs/errors/IDEMPOTENCY_IN_FLIGHT.md"),
    },
    About {
        code: Code::AuthorizationPending,
        name: "AUTHORIZATION_PENDING",
        status: 409,
        title: "The person who was asked has not answered yet",
        page: include_str!("../../../../docs/errors/AUTHORIZATION_PENDING.md"),
    },
    About {
        code: Code::EventsGone,
        name: "EVENTS_GONE",
        status: 410,
        title: "These events are no longer kept",
        page: include_str!("../../../../docs/errors/EVENTS_GONE.md"),
    },
    About {
        code: Code::Expired,
        name: "EXPIRED",
        status: 410,
        title: "It is no longer valid",
        page: include_str!("../../../../docs/errors/EXPIRED.md"),
    },
    About {
        code: Code::PreconditionFailed,
        name: "PRECONDITION_FAILED",
        status: 412,
        title: "It changed since you read it",
        page: include_str!("../../../../docs/errors/PRECONDITION_FAILED.md"),
    },
    About {
        code: Code::BodyTooLarge,
        name: "BODY_TOO_LARGE",
        status: 413,
        title: "The body is too large",
        page: include_str!("../../../../docs/errors/BODY_TOO_LARGE.md"),
    },
    About {
        code: Code::UriTooLong,
        name: "URI_TOO_LONG",
        status: 414,
        title: "The address is too long",
        page: include_str!("../../../../docs/errors/URI_TOO_LONG.md"),
    },
    About {
        code: Code::UnsupportedMediaType,
        name: "UNSUPPORTED_MEDIA_TYPE",
        status: 415,
        title: "The body must be application/json",
        page: include_str!("../../../../docs/errors/UNSUPPORTED_MEDIA_TYPE.md"),
    },
    About {
        code: Code::ValidationFailed,
        name: "VALIDATION_FAILED",
        status: 422,
        title: "The input is not valid",
        page: include_str!("../../../../docs/errors/VALIDATION_FAILED.md"),
    },
    About {
        code: Code::IdempotencyMismatch,
        name: "IDEMPOTENCY_MISMATCH",
        status: 422,
        title: "This Idempotency-Key was used with another body",
        page: include_str!("../../../../docs/errors/IDEMPOTENCY_MISMATCH.md"),
    },
    About {
        code: Code::RateLimited,
        name: "RATE_LIMITED",
        status: 429,
        title: "Too many requests",
        page: include_str!("../../../../docs/errors/RATE_LIMITED.md"),
    },
    About {
        code: Code::HeadersTooLarge,
        name: "HEADERS_TOO_LARGE",
        status: 431,
        title: "The request headers are too large",
        page: include_str!("../../../../docs/errors/HEADERS_TOO_LARGE.md"),
    },
    About {
        code: Code::Internal,
        name: "INTERNAL",
        status: 500,
        title: "Something went wrong in the hub",
        page: include_str!("../../../../docs/errors/INTERNAL.md"),
    },
    About {
        code: Code::Overloaded,
        name: "OVERLOADED",
        status: 503,
        title: "The hub has more work than it can take",
        page: include_str!("../../../../docs/errors/OVERLOADED.md"),
    },
    About {
        code: Code::RecordsUnavailable,
        name: "RECORDS_UNAVAILABLE",
        status: 503,
        title: "The database cannot be reached",
        page: include_str!("../../../../docs/errors/RECORDS_UNAVAILABLE.md"),
    },
    About {
        code: Code::OutcomeUnknown,
        name: "OUTCOME_UNKNOWN",
        status: 503,
        title: "The hub cannot say whether the change was saved",
        page: include_str!("../../../../docs/errors/OUTCOME_UNKNOWN.md"),
    },
    About {
        code: Code::NotReady,
        name: "NOT_READY",
        status: 503,
        title: "The hub is not ready",
        page: include_str!("../../../../docs/errors/NOT_READY.md"),
    },
    About {
        code: Code::DiskFull,
        name: "DISK_FULL",
        status: 507,
        title: "The disk is full",
        page: include_str!("../../../../docs/errors/DISK_FULL.md"),
    },
    About {
        code: Code::AlreadyHeld,
        name: "ALREADY_HELD",
        status: 409,
        title: "You hold this lock already",
        page: include_str!("../../../../docs/errors/ALREADY_HELD.md"),
    },
    About {
        code: Code::LockExpired,
        name: "LOCK_EXPIRED",
        status: 409,
        title: "The lock is not held any more",
        page: include_str!("../../../../docs/errors/LOCK_EXPIRED.md"),
    },
    About {
        code: Code::NotHolder,
        name: "NOT_HOLDER",
        status: 409,
        title: "Somebody else holds the lock",
        page: include_str!("../../../../docs/errors/NOT_HOLDER.md"),
    },
    About {
        code: Code::LockHeld,
        name: "LOCK_HELD",
        status: 423,
        title: "The lock is held",
        page: include_str!("../../../../docs/errors/LOCK_HELD.md"),
    },
    About {
        code: Code::LockWaitTimeout,
        name: "LOCK_WAIT_TIMEOUT",
        status: 423,
        title: "The lock did not become free in time",
        page: include_str!("../../../../docs/errors/LOCK_WAIT_TIMEOUT.md"),
    },
    About {
        code: Code::DeadlockDetected,
        name: "DEADLOCK_DETECTED",
        status: 423,
        title: "Waiting for this lock closed a circle",
        page: include_str!("../../../../docs/errors/DEADLOCK_DETECTED.md"),
    },
    About {
        code: Code::TooManyLocks,
        name: "TOO_MANY_LOCKS",
        status: 429,
        title: "The agent has as many locks as it may",
        page: include_str!("../../../../docs/errors/TOO_MANY_LOCKS.md"),
    },
    About {
        code: Code::QueueFull,
        name: "QUEUE_FULL",
        status: 503,
        title: "Too many wait for this lock already",
        page: include_str!("../../../../docs/errors/QUEUE_FULL.md"),
    },
    About {
        code: Code::CoordinationUnavailable,
        name: "COORDINATION_UNAVAILABLE",
        status: 503,
        title: "Locks are not available",
        page: include_str!("../../../../docs/errors/COORDINATION_UNAVAILABLE.md"),
    },
];

// A row is found by the code's number, so the rows stand in the order of the enum and none is missing.
const _: () = {
    assert!(TABLE.len() == Code::CoordinationUnavailable as usize + 1);
    let mut row = 0;
    while row < TABLE.len() {
        assert!(TABLE[row].code as usize == row);
        row += 1;
    }
};

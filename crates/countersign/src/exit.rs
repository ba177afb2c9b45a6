//! How the process ends.

use std::io;
use std::process::ExitCode;

use client::ClientError;
use wire::Code;

/// How the process ends. Scripts rely on these numbers; add, never renumber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done.
    Done = 0,
    /// Not done.
    Failed = 1,
    /// Not understood: the command line is wrong.
    Usage = 2,
    /// Rejected or denied.
    Refused = 3,
    /// Waited, and nothing came.
    TimedOut = 4,
    /// No hub to ask.
    Unreachable = 5,
}

impl Exit {
    /// How a command ends that stopped with this error.
    #[must_use]
    pub fn of(error: &anyhow::Error) -> Self {
        for cause in error.chain() {
            if let Some(error) = cause.downcast_ref::<ClientError>() {
                return Self::from(error);
            }
            if let Some(error) = cause.downcast_ref::<io::Error>()
                && error.kind() == io::ErrorKind::BrokenPipe
            {
                // Whoever read the output has seen enough, as with `| head`.
                return Self::Done;
            }
        }
        Self::Failed
    }
}

impl From<&ClientError> for Exit {
    fn from(error: &ClientError) -> Self {
        match error {
            ClientError::Setup(_) => Self::Usage,
            ClientError::Unreachable { .. } => Self::Unreachable,
            ClientError::Protocol(_) => Self::Failed,
            ClientError::Problem(problem) => match problem.known_code() {
                Some(
                    Code::Unauthenticated
                    | Code::Forbidden
                    | Code::AccessDenied
                    | Code::NotYourReview
                    | Code::SelfApproval
                    | Code::TenantMismatch
                    | Code::HashMismatch
                    | Code::UnknownToken
                    | Code::AlreadyConsumed
                    | Code::Expired,
                ) => Self::Refused,
                Some(Code::RequestTimeout | Code::LockWaitTimeout) => Self::TimedOut,
                // A newer hub may refuse with a code of its own.
                None if matches!(problem.status, 401 | 403) => Self::Refused,
                _ => Self::Failed,
            },
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;
    use wire::Problem;

    use super::*;

    fn problem(code: Code) -> ClientError {
        ClientError::Problem(Box::new(Problem::new(code, "because")))
    }

    #[test]
    fn numbers_stay_as_scripts_know_them() {
        use Exit::{Done, Failed, Refused, TimedOut, Unreachable, Usage};
        let numbers = [Done, Failed, Usage, Refused, TimedOut, Unreachable].map(|exit| exit as u8);
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn each_error_has_its_number() {
        let mut unknown = Problem::new(Code::Forbidden, "no");
        unknown.code = "NOT_ON_SUNDAYS".to_owned();
        let cases = [
            (ClientError::Setup(String::new()), Exit::Usage),
            (ClientError::Unreachable { url: String::new(), source: "no".into() }, Exit::Unreachable),
            (ClientError::Protocol(String::new()), Exit::Failed),
            (problem(Code::Unauthenticated), Exit::Refused),
            (problem(Code::Forbidden), Exit::Refused),
            (problem(Code::AccessDenied), Exit::Refused),
            (problem(Code::SelfApproval), Exit::Refused),
            (problem(Code::NotYourReview), Exit::Refused),
            (problem(Code::AlreadyConsumed), Exit::Refused),
            (problem(Code::HashMismatch), Exit::Refused),
            (problem(Code::UnknownToken), Exit::Refused),
            (ClientError::Problem(Box::new(unknown)), Exit::Refused),
            (problem(Code::RequestTimeout), Exit::TimedOut),
            (problem(Code::LockWaitTimeout), Exit::TimedOut),
            (problem(Code::NotFound), Exit::Failed),
            (problem(Code::ValidationFailed), Exit::Failed),
            (problem(Code::Overloaded), Exit::Failed),
        ];
        for (error, expected) in cases {
            assert_eq!(Exit::from(&error), expected, "{error}");
        }
    }

    #[test]
    fn the_cause_counts_however_deep_it_is() {
        let wrapped = Err::<(), _>(problem(Code::Forbidden)).context("while minting a key").unwrap_err();
        assert_eq!(Exit::of(&wrapped), Exit::Refused);
        assert_eq!(Exit::of(&anyhow::anyhow!("no")), Exit::Failed);
    }

    #[test]
    fn a_reader_who_left_is_no_failure() {
        let gone = anyhow::Error::from(io::Error::from(io::ErrorKind::BrokenPipe)).context("while writing");
        assert_eq!(Exit::of(&gone), Exit::Done);
        let full = anyhow::Error::from(io::Error::from(io::ErrorKind::StorageFull));
        assert_eq!(Exit::of(&full), Exit::Failed);
    }
}

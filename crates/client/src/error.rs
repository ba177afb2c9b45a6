//! What can go wrong between a client and the hub.

use std::fmt::Write as _;

use wire::Problem;

/// Why a call has no answer to give. The text says what to do next.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The client was set up with something it cannot use.
    #[error("{0}")]
    Setup(String),
    /// No answer from the hub.
    #[error(
        "cannot reach the hub at {url}; start it with `countersign serve`, or set COUNTERSIGN_URL to where it listens"
    )]
    Unreachable {
        /// Where it was looked for.
        url: String,
        /// What the network said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The hub answered that it did not do it.
    #[error("{}", explain(.0))]
    Problem(Box<Problem>),
    /// Something answered, but not the way a hub does.
    #[error("{0}")]
    Protocol(String),
}

impl ClientError {
    /// Whether it may be otherwise in a moment: a hub that is restarted or busy comes back, a refusal stays one.
    #[must_use]
    pub fn passes(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Problem(problem) => problem.status >= 500 || matches!(problem.status, 408 | 429),
            Self::Setup(_) | Self::Protocol(_) => false,
        }
    }
}

/// The problem in words, one thing per line.
fn explain(problem: &Problem) -> String {
    let mut text = format!("{}: {}", problem.title, problem.detail);
    for error in &problem.errors {
        // Writing to a String cannot fail.
        write!(text, "\n  {}: {}", error.pointer, error.detail).ok();
    }
    if let Some(code) = problem.known_code() {
        write!(text, "\n{}", code.advice()).ok();
    }
    write!(text, "\n({}, request {})", problem.code, problem.request_id).ok();
    text
}

#[cfg(test)]
mod tests {
    use wire::Code;

    use super::*;

    #[test]
    fn a_problem_says_what_where_and_what_next() {
        let mut problem = Problem::new(Code::ValidationFailed, "1 field is not valid")
            .with_error("/name", "must have 1 to 200 characters");
        problem.request_id = "r-1".to_owned();
        let text = ClientError::Problem(Box::new(problem)).to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "The input is not valid: 1 field is not valid");
        assert_eq!(lines[1], "  /name: must have 1 to 200 characters");
        assert!(lines[2].starts_with("Correct each place"), "{text}");
        assert_eq!(lines[3], "(VALIDATION_FAILED, request r-1)");
    }
}

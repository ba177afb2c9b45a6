//! What people and agents say about a task.

use super::Task;
use crate::accounts::Account;
use crate::organizations::Organization;
use crate::text::BadText;
use crate::{Id, Timestamp};

/// The longest comment.
pub const COMMENT_BYTES_MAX: usize = 16 * 1024;

/// One remark. It is never changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Comment {
    /// Its id.
    pub id: Id<Comment>,
    /// Whose task.
    pub org_id: Id<Organization>,
    /// About which task.
    pub task_id: Id<Task>,
    /// Who said it.
    pub author_id: Id<Account>,
    /// What people call them.
    pub author_name: String,
    /// What was said.
    pub body: String,
    /// When.
    pub created_at: Timestamp,
}

/// Checks what is to be said: something, at most 16 KiB, no control characters but line breaks and tabs.
///
/// # Errors
/// Says what is wrong.
pub fn check_body(body: &str) -> Result<(), BadText> {
    if body.trim().is_empty() || body.len() > COMMENT_BYTES_MAX {
        return Err(BadText(format!("must have 1 to {COMMENT_BYTES_MAX} bytes")));
    }
    if body.chars().any(|character| character.is_control() && !matches!(character, '\n' | '\r' | '\t')) {
        return Err(BadText("must hold no control characters but line breaks and tabs".to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn something_is_said_and_not_too_much() {
        for good in ["why?", "two\r\n\tlines é\u{202e}", &"x".repeat(COMMENT_BYTES_MAX)] {
            assert!(check_body(good).is_ok());
        }
        for bad in ["", " \n ", "a\u{1b}[2K", "a\0", &"é".repeat(COMMENT_BYTES_MAX / 2 + 1)] {
            assert!(check_body(bad).is_err());
        }
    }
}

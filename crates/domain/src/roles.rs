//! Names that policies ask for: who holds which in an organization, and who gave it.

use crate::accounts::Account;
use crate::text::BadText;
use crate::{Id, Timestamp};

/// May create tasks.
pub const AUTHOR: &str = "author";
/// Is asked by the default policy.
pub const REVIEWER: &str = "reviewer";
/// Another spelling of the membership level `admin` (DECISIONS.md 18).
pub const ADMIN: &str = "admin";

/// How many roles a member may hold.
pub const ROLES_MAX: usize = 50;
const ROLE_CHARS_MAX: usize = 64;
/// Words that would be mistaken for a membership level or the hub itself.
const REFUSED: [&str; 2] = ["owner", "system"];

/// That a member holds a role.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RoleGrant {
    /// Its id.
    pub id: Id<RoleGrant>,
    /// Who holds it.
    pub account_id: Id<Account>,
    /// Its name.
    pub role: String,
    /// Who gave it.
    pub granted_by: Id<Account>,
    /// Since when.
    pub created_at: Timestamp,
}

/// Checks the name of a role.
///
/// # Errors
/// Says what is wrong.
pub fn check(role: &str) -> Result<(), BadText> {
    if REFUSED.contains(&role) {
        return Err(BadText(format!("{role} is not a role that can be given")));
    }
    let first_is_letter = role.as_bytes().first().is_some_and(u8::is_ascii_lowercase);
    let in_alphabet = role.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'));
    if first_is_letter && in_alphabet && role.len() <= ROLE_CHARS_MAX {
        return Ok(());
    }
    Err(BadText("must be 1 to 64 of a-z, 0-9, _ and -, beginning with a letter".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_roles() {
        for good in [AUTHOR, REVIEWER, ADMIN, "dba", "sre-2", "a_b", &"x".repeat(64)] {
            assert!(check(good).is_ok(), "{good:?}");
        }
        for bad in ["", "owner", "system", "DBA", "2nd", "-a", "a b", "é", &"x".repeat(65)] {
            assert!(check(bad).is_err(), "{bad:?}");
        }
    }
}

//! What a password may look like, and whose it is.

use crate::accounts::Account;
use crate::text::BadText;
use crate::{Id, Timestamp};

/// The shortest password, in characters.
pub const PASSWORD_CHARS_MIN: usize = 12;
/// The longest password, in characters: hashing must not become a way to keep the hub busy.
pub const PASSWORD_CHARS_MAX: usize = 256;

/// The stored password of an account.
#[derive(Clone, PartialEq, Eq)]
pub struct Password {
    /// Whose it is.
    pub account_id: Id<Account>,
    /// Its hash with salt and parameters, in PHC form.
    pub hash: String,
    /// Who chose it: the account itself, or the admin who enrolled it.
    pub set_by: Id<Account>,
    /// When the account got its first one.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// Checks the length of a password and that it is not blank.
///
/// # Errors
/// Says what would be right.
pub fn check_form(text: &str) -> Result<(), BadText> {
    if !(PASSWORD_CHARS_MIN..=PASSWORD_CHARS_MAX).contains(&text.chars().count()) {
        return Err(BadText(format!(
            "must have {PASSWORD_CHARS_MIN} to {PASSWORD_CHARS_MAX} characters; a few random words are easier to \
             remember than symbols"
        )));
    }
    if text.trim().is_empty() {
        return Err(BadText("must not be blank".to_owned()));
    }
    Ok(())
}

/// Checks a password that somebody with this e-mail wants to have.
///
/// # Errors
/// Says what would be right.
pub fn check(text: &str, email: &str) -> Result<(), BadText> {
    check_form(text)?;
    if text.trim().to_lowercase() == email.to_lowercase() {
        return Err(BadText("must not be the email address, which everybody knows".to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_have_bounds_and_are_not_blank_nor_the_e_mail() {
        let email = "ada.lovelace@example.org";
        let longest = "é".repeat(PASSWORD_CHARS_MAX);
        for good in ["correct horse", "éééééééééééé", " 12 characters ", longest.as_str()] {
            assert_eq!(check(good, email), Ok(()), "{good:?}");
        }
        let too_long = "x".repeat(PASSWORD_CHARS_MAX + 1);
        let blank = " ".repeat(20);
        let bad = [
            "",
            "elevenchars",
            "ééééééééééé",
            &too_long,
            &blank,
            email,
            "Ada.Lovelace@Example.ORG",
            " ada.lovelace@example.org ",
        ];
        for bad in bad {
            assert!(check(bad, email).is_err(), "{bad:?}");
        }
    }
}

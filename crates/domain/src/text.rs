//! What names may look like, and words from fixed lists.

/// The longest e-mail address that can be delivered to (RFC 5321), in bytes.
pub const EMAIL_BYTES_MAX: usize = 254;
/// The longest name of a person or an organization, in characters.
pub const NAME_CHARS_MAX: usize = 200;
/// The longest slug.
pub const SLUG_CHARS_MAX: usize = 64;

/// Why a text is refused, in words for whoever sent it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct BadText(pub String);

/// A word that is not in its list.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be one of {}", allowed.join(", "))]
pub struct UnknownWord {
    /// The list.
    pub allowed: Vec<&'static str>,
}

/// Finds the member of `all` that is written as `text`.
///
/// # Errors
/// [`UnknownWord`] lists what would have been right.
pub fn one_of<T: Copy>(all: &[T], word: fn(T) -> &'static str, text: &str) -> Result<T, UnknownWord> {
    let found = all.iter().copied().find(|member| word(*member) == text);
    found.ok_or_else(|| UnknownWord { allowed: all.iter().copied().map(word).collect() })
}

/// Checks an e-mail address and lower-cases it, so that one person is one row.
///
/// # Errors
/// Says what is wrong. Whether the address can be reached only a message to it can tell.
pub fn email(text: &str) -> Result<String, BadText> {
    let refuse = |reason: &str| Err(BadText(reason.to_owned()));
    // Letters of other scripts stay: some of them become ASCII, and another address somebody's.
    let text = text.to_ascii_lowercase();
    if text.len() > EMAIL_BYTES_MAX {
        return refuse("an email address has at most 254 bytes");
    }
    if text.chars().any(|character| character.is_whitespace() || character.is_control()) {
        return refuse("an email address holds no spaces and no control characters");
    }
    match text.split_once('@') {
        Some((local, domain)) if !local.is_empty() && !domain.is_empty() && !domain.contains('@') => Ok(text),
        _ => refuse("an email address has one @ with something before and after it"),
    }
}

/// Checks the name of a person, an organization or a key: one line that is not blank.
///
/// # Errors
/// Says what is wrong.
pub fn name(text: &str, chars_max: usize) -> Result<(), BadText> {
    let chars = text.chars().count();
    if text.trim().is_empty() || chars > chars_max {
        return Err(BadText(format!("must have 1 to {chars_max} characters")));
    }
    if text.chars().any(char::is_control) {
        return Err(BadText("must hold no control characters".to_owned()));
    }
    Ok(())
}

/// Checks a slug: `[a-z0-9-]{1,64}`, no hyphen at either end.
///
/// # Errors
/// Says what is wrong.
pub fn slug(text: &str) -> Result<(), BadText> {
    let in_alphabet = text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'));
    let right_size = (1..=SLUG_CHARS_MAX).contains(&text.len());
    if in_alphabet && right_size && !text.starts_with('-') && !text.ends_with('-') {
        return Ok(());
    }
    Err(BadText("must be 1 to 64 of a-z, 0-9 and -, without a - at either end".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn email_addresses() {
        assert_eq!(email("Ada.Lovelace@Example.ORG").unwrap(), "ada.lovelace@example.org");
        assert_eq!(email("a@b").unwrap(), "a@b");
        // The Kelvin sign is not the letter k, though it becomes one.
        assert_ne!(email("mi\u{212a}e@b").unwrap(), "mike@b");
        let long = format!("{}@example.org", "x".repeat(250));
        for bad in ["", "@", "a@", "@b", "a", "a@b@c", "a b@c", "a@b\n", "a@\u{7f}b", long.as_str()] {
            assert!(email(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn names() {
        assert!(name("Zoë 😀", NAME_CHARS_MAX).is_ok());
        assert!(name(&"é".repeat(200), NAME_CHARS_MAX).is_ok());
        for bad in ["", "   ", "a\u{1b}[2K", "a\nb", "é".repeat(201).as_str()] {
            assert!(name(bad, NAME_CHARS_MAX).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn slugs() {
        for good in ["a", "0", "a-b", "a--b", &"x".repeat(64)] {
            assert!(slug(good).is_ok(), "{good:?}");
        }
        for bad in ["", "-", "-a", "a-", "A", "a_b", "é", &"x".repeat(65)] {
            assert!(slug(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn an_unknown_word_is_told_the_list() {
        let word = |yes: bool| if yes { "yes" } else { "no" };
        assert_eq!(one_of(&[true, false], word, "no"), Ok(false));
        assert_eq!(one_of(&[true, false], word, "NO").unwrap_err().to_string(), "must be one of yes, no");
    }
}

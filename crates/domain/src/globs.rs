//! Patterns that name resources: `*` stands for any run of characters, `?` for exactly one.

use std::str::Chars;

use crate::tasks::Resource;
use crate::text::BadText;

/// The longest pattern: a resource's longest type, a colon, and its longest id.
pub const PATTERN_BYTES_MAX: usize = TYPE_BYTES_MAX + 1 + ID_BYTES_MAX;

const TYPE_BYTES_MAX: usize = 64;
const ID_BYTES_MAX: usize = 256;

/// Whether the text is what the pattern says, from beginning to end. Only the latest `*` is ever tried again, so it
/// takes at most as many steps as the text is long times the pattern is long.
#[must_use]
pub fn matches(pattern: &str, text: &str) -> bool {
    let (mut rest, mut unread) = (pattern.chars(), text.chars());
    let mut latest_star: Option<(Chars<'_>, Chars<'_>)> = None;
    while !unread.as_str().is_empty() {
        let (mut after, mut next) = (rest.clone(), unread.clone());
        match (after.next(), next.next()) {
            (Some('*'), _) => {
                latest_star = Some((after.clone(), unread.clone()));
                rest = after;
            }
            (Some(wanted), found) if wanted == '?' || Some(wanted) == found => (rest, unread) = (after, next),
            _ => {
                let Some((behind_star, taken)) = &mut latest_star else { return false };
                taken.next();
                (rest, unread) = (behind_star.clone(), taken.clone());
            }
        }
    }
    rest.all(|left| left == '*')
}

/// A pattern for resources: without a colon it names ids (`prod-*`), with one `type:id` (`database:prod-*`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResourcePattern(String);

impl ResourcePattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// It could match nothing that exists, so that whoever wrote it would believe in a rule that never applies.
    pub fn new(pattern: &str) -> Result<Self, BadText> {
        if pattern.is_empty() || pattern.len() > PATTERN_BYTES_MAX {
            return Err(BadText(format!("must have 1 to {PATTERN_BYTES_MAX} characters")));
        }
        let (kind, id) = pattern.split_once(':').unwrap_or(("*", pattern));
        if kind.is_empty() || id.is_empty() {
            return Err(BadText("needs something on both sides of the colon, at least *".into()));
        }
        let is_wild = |byte: u8| matches!(byte, b'*' | b'?');
        if !pattern.bytes().all(|byte| is_wild(byte) || is_id_byte(byte)) {
            return Err(BadText(
                "besides * and ? only A-Z, a-z, 0-9 and ._/@+=:- occur in the names of resources".into(),
            ));
        }
        // Behind a star one may already be in the id.
        let in_type = kind.split('*').next().unwrap_or_default();
        if !in_type.bytes().all(|byte| is_wild(byte) || is_type_byte(byte)) {
            return Err(BadText(
                "only a-z, 0-9, _ and - occur in the type of a resource, before the colon".into(),
            ));
        }
        Ok(Self(pattern.to_owned()))
    }

    /// As it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it means this resource.
    #[must_use]
    pub fn means(&self, resource: &Resource) -> bool {
        if self.0.contains(':') { matches(&self.0, &resource.name()) } else { matches(&self.0, &resource.id) }
    }

    /// How many steps it takes at most to hold it against one character: what it says between two stars may have to be
    /// read again from every place.
    #[must_use]
    pub fn steps(&self) -> usize {
        let pieces: Vec<&str> = self.0.split('*').collect();
        pieces.iter().skip(1).map(|piece| piece.len()).max().unwrap_or(0) + 1
    }
}

const fn is_type_byte(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-')
}

const fn is_id_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'/' | b'@' | b'+' | b'=' | b':' | b'-')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tasks::Mode;

    /// Tries everything.
    fn naive(pattern: &[char], text: &[char]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some(('*', rest)) => (0..=text.len()).any(|taken| naive(rest, &text[taken..])),
            Some(('?', rest)) => !text.is_empty() && naive(rest, &text[1..]),
            Some((wanted, rest)) => text.first() == Some(wanted) && naive(rest, &text[1..]),
        }
    }

    fn chars(text: &str) -> Vec<char> {
        text.chars().collect()
    }

    proptest! {
        #[test]
        fn agrees_with_trying_everything(pattern in "[ab*?é]{0,8}", text in "[abé]{0,10}") {
            prop_assert_eq!(matches(&pattern, &text), naive(&chars(&pattern), &chars(&text)));
        }

        #[test]
        fn a_text_is_matched_by_whatever_it_was_made_of(pieces in prop::collection::vec("[a-c]{0,4}", 1..6)) {
            prop_assert!(matches(&pieces.join("*"), &pieces.join("-x-")));
        }
    }

    #[test]
    fn no_pattern_takes_long() {
        let text = "a".repeat(PATTERN_BYTES_MAX);
        let pattern = format!("{}b", "*a".repeat(160));
        assert!(!matches(&pattern, &text), "trying everything would not end in our lifetime");
    }

    fn resource(kind: &str, id: &str) -> Resource {
        Resource { kind: kind.into(), id: id.into(), mode: Mode::Exclusive }
    }

    #[test]
    fn a_colon_decides_what_is_compared() {
        let cases = [
            ("prod-*", "database", "prod-db", true),
            ("prod-*", "prod-x", "stage", false),
            ("database:prod-*", "database", "prod-db", true),
            ("database:prod-*", "cache", "prod-db", false),
            ("*:prod-??", "cache", "prod-01", true),
            ("*:prod-??", "cache", "prod-1", false),
            ("*", "cache", "anything:with/all=of@it", true),
            ("a:b:c", "a", "b:c", true),
            ("b:c", "a", "b:c", false),
        ];
        for (pattern, kind, id, means) in cases {
            let pattern = ResourcePattern::new(pattern).unwrap();
            assert_eq!(pattern.means(&resource(kind, id)), means, "{pattern:?} {kind}:{id}");
        }
    }

    #[test]
    fn a_pattern_that_could_never_match_is_refused() {
        for good in
            ["*", "prod-*", "database:*", "*:*", "Prod_1", "a:.b/c@d+e=f:-", "*.x:y", &"x".repeat(321)]
        {
            assert!(ResourcePattern::new(good).is_ok(), "{good:?}");
        }
        let long = "x".repeat(322);
        for bad in [
            "",
            ":",
            "a:",
            ":b",
            "prod db",
            "Database:x",
            "a.b:x",
            "prod\u{0}",
            "prod\u{202e}",
            "é",
            "a{b,c}",
            &long,
        ] {
            assert!(ResourcePattern::new(bad).is_err(), "{bad:?}");
        }
    }
}

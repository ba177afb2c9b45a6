//! What can be locked.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::text::BadText;

/// The longest key: `resource:`, a type, `:`, an id.
pub const KEY_BYTES_MAX: usize = 9 + TYPE_BYTES_MAX + 1 + ID_BYTES_MAX;

const TYPE_BYTES_MAX: usize = 64;
const ID_BYTES_MAX: usize = 256;
const TASK: &str = "task:";
const RESOURCE: &str = "resource:";

/// `task:<id>` or `resource:<type>:<id>`. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LockKey(Arc<str>);

impl LockKey {
    /// As it is written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it belongs to the hub.
    #[must_use]
    pub fn is_task(&self) -> bool {
        self.0.starts_with(TASK)
    }

    /// The type of the resource; none for a task.
    #[must_use]
    pub fn resource_type(&self) -> Option<&str> {
        self.0.strip_prefix(RESOURCE)?.split_once(':').map(|(kind, _)| kind)
    }
}

impl fmt::Display for LockKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for LockKey {
    type Err = BadText;

    fn from_str(text: &str) -> Result<Self, BadText> {
        let is_right = match (text.strip_prefix(TASK), text.strip_prefix(RESOURCE)) {
            (Some(id), _) => is_id(id),
            (None, Some(rest)) => {
                rest.split_once(':').is_some_and(|(kind, id)| is_resource_type(kind) && is_id(id))
            }
            (None, None) => false,
        };
        if is_right {
            return Ok(Self(text.into()));
        }
        Err(BadText(
            "must be task:<id> or resource:<type>:<id>; a type is 1 to 64 of a-z, 0-9, _ and -, an id 1 to 256 of \
             A-Z, a-z, 0-9 and ._/@+=:-"
                .to_owned(),
        ))
    }
}

fn is_resource_type(text: &str) -> bool {
    let in_alphabet = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-');
    (1..=TYPE_BYTES_MAX).contains(&text.len()) && text.bytes().all(in_alphabet)
}

fn is_id(text: &str) -> bool {
    let in_alphabet = |byte: u8| byte.is_ascii_alphanumeric() || b"._/@+=:-".contains(&byte);
    (1..=ID_BYTES_MAX).contains(&text.len()) && text.bytes().all(in_alphabet)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_follow_the_grammar() {
        let long = format!("resource:{}:{}", "t".repeat(64), "i".repeat(256));
        assert_eq!(long.len(), KEY_BYTES_MAX);
        for good in
            ["task:1", "resource:database:prod-db-01", "resource:a:b:c", "resource:x_y-1:A./@+=:-", &long]
        {
            assert_eq!(good.parse::<LockKey>().unwrap().as_str(), good);
        }
        let (long_type, long_id) =
            (format!("resource:{}:x", "t".repeat(65)), format!("task:{}", "x".repeat(257)));
        for bad in [
            "",
            "task:",
            "task",
            "resource:",
            "resource:db",
            "resource:db:",
            "resource::x",
            "resource:DB:x",
            "agent:1",
            "task:a b",
            "task:é",
            "task:{x}",
            "resource:d.b:x",
            &long_type,
            &long_id,
        ] {
            assert!(bad.parse::<LockKey>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_key_knows_what_it_is_of() {
        let key = |text: &str| text.parse::<LockKey>().unwrap();
        assert_eq!(key("resource:database:a:b").resource_type(), Some("database"));
        assert_eq!(key("task:a:b").resource_type(), None);
        assert!(key("task:a").is_task() && !key("resource:task:a").is_task());
    }
}

//! Strict JSON: text in, [`Value`] out, or the reason why not and where.
//!
//! The parser is our own because the rules need what `serde_json` does not tell its visitors: whether a number was
//! written as an integer, whether it vanished or overflowed, and where a lone surrogate stands. Tests hold it
//! against `serde_json` on random texts.

mod parser;
#[cfg(test)]
mod tests;

use serde_json::Value;

/// How many arrays and objects may stand inside each other.
pub const DEPTH_MAX: usize = 64;

/// The largest integer whose neighbours a double can still tell apart: 2^53 − 1.
pub const INTEGER_MAX: i64 = (1 << 53) - 1;

/// What kind of refusal a text gets; each kind has an answer of its own on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JsonErrorKind {
    /// Not JSON at all, or nested too deeply.
    Malformed,
    /// A member name occurs twice in one object.
    DuplicateKey,
    /// JSON, but it holds something the hub cannot keep faithfully.
    Unacceptable,
}

/// Why a text is refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{detail} (line {line}, column {column})")]
pub struct JsonError {
    /// Which answer it deserves.
    pub kind: JsonErrorKind,
    /// RFC 6901 pointer to the value in question. A bad member name is reported on the object that holds it.
    pub pointer: String,
    /// Line, from 1.
    pub line: usize,
    /// Byte in the line, from 1.
    pub column: usize,
    /// What is wrong, in words that repeat nothing of the input.
    pub detail: &'static str,
}

/// One wrong place in an input, as it is reported to whoever sent it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{pointer}: {detail}")]
pub struct FieldError {
    /// RFC 6901 pointer to the value.
    pub pointer: String,
    /// What is wrong with it.
    pub detail: String,
}

impl FieldError {
    /// An error about the member of this name in the outermost object.
    #[must_use]
    pub fn on_member(name: &str, detail: impl Into<String>) -> Self {
        let mut pointer = String::new();
        pointer_push(&mut pointer, name);
        Self { pointer, detail: detail.into() }
    }
}

/// Reads one JSON text.
///
/// # Errors
/// [`JsonError`] names the first thing that is wrong.
pub fn parse(bytes: &[u8]) -> Result<Value, JsonError> {
    parser::parse(bytes)
}

/// Appends one segment to an RFC 6901 pointer.
pub fn pointer_push(pointer: &mut String, segment: &str) {
    pointer.push('/');
    for part in segment.chars() {
        match part {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            other => pointer.push(other),
        }
    }
}

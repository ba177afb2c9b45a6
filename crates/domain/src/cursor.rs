//! Where the next page of a list begins.
//!
//! A cursor holds the keys of the last row shown and nothing else; the server remembers nothing. It carries a digest
//! of those keys and of what was listed, so one that was mistyped, or taken from another list, organization or
//! filter, is refused. It is no secret: whoever forges one only chooses where in their own list to begin.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::Id;
use crate::canonical::canonical;
use crate::organizations::Organization;

/// The longest cursor, in characters. Sort keys are names and ids, so real ones are far shorter.
pub const CURSOR_CHARS_MAX: usize = 2048;

const DIGEST_BYTES: usize = 12;

/// What is listed. A cursor is good for exactly one scope.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scope<'a> {
    /// Whose list; none for what belongs to the instance.
    pub org: Option<Id<Organization>>,
    /// Which list, such as `audit`.
    pub list: &'a str,
    /// What it was narrowed by: (name, value). The order matters, so keep to the order of the code.
    pub filters: &'a [(&'a str, &'a str)],
}

/// One of the columns a list is sorted by.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CursorKey {
    /// A number or a time in microseconds.
    Int(i64),
    /// A name.
    Text(String),
    /// An id.
    Uuid(Uuid),
}

/// The text is not a cursor of this list.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("not a cursor of this list: use next_cursor of its last page, with the same filters")]
pub struct CursorError;

/// Writes and reads cursors.
#[derive(Clone, Copy, Debug)]
pub struct Cursor;

impl Cursor {
    /// The cursor behind the row that has these keys.
    #[must_use]
    pub fn encode(scope: &Scope<'_>, keys: &[CursorKey]) -> String {
        let packed = pack(keys);
        let mut bytes = digest(scope, &packed).to_vec();
        bytes.extend(packed);
        let text = URL_SAFE_NO_PAD.encode(bytes);
        debug_assert!(text.len() <= CURSOR_CHARS_MAX, "a list is sorted by something unbounded");
        text
    }

    /// The keys inside a cursor of this scope.
    ///
    /// # Errors
    /// [`CursorError`] for everything that [`Cursor::encode`] did not make for this scope.
    pub fn decode(scope: &Scope<'_>, text: &str) -> Result<Vec<CursorKey>, CursorError> {
        if text.len() > CURSOR_CHARS_MAX {
            return Err(CursorError);
        }
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| CursorError)?;
        let (stated, packed) = bytes.split_first_chunk::<DIGEST_BYTES>().ok_or(CursorError)?;
        if *stated != digest(scope, packed) {
            return Err(CursorError);
        }
        unpack(packed).ok_or(CursorError)
    }
}

fn digest(scope: &Scope<'_>, packed: &[u8]) -> [u8; DIGEST_BYTES] {
    let claim = json!([scope.org.map(|org| org.to_string()), scope.list, scope.filters]);
    let whole: [u8; 32] =
        Sha256::new().chain_update(canonical(&claim)).chain_update(packed).finalize().into();
    let mut short = [0; DIGEST_BYTES];
    short.copy_from_slice(&whole[..DIGEST_BYTES]);
    short
}

fn pack(keys: &[CursorKey]) -> Vec<u8> {
    let mut packed = Vec::with_capacity(32);
    for key in keys {
        match key {
            CursorKey::Int(number) => {
                packed.push(b'i');
                packed.extend(number.to_be_bytes());
            }
            CursorKey::Text(text) => {
                packed.push(b't');
                // A longer text makes a longer cursor than can be read back anyway.
                packed.extend(u16::try_from(text.len()).unwrap_or(u16::MAX).to_be_bytes());
                packed.extend(text.as_bytes());
            }
            CursorKey::Uuid(id) => {
                packed.push(b'u');
                packed.extend(id.as_bytes());
            }
        }
    }
    packed
}

fn unpack(mut rest: &[u8]) -> Option<Vec<CursorKey>> {
    let mut keys = Vec::new();
    while let Some((tag, body)) = rest.split_first() {
        let (key, after) = match tag {
            b'i' => {
                let (number, after) = body.split_first_chunk::<8>()?;
                (CursorKey::Int(i64::from_be_bytes(*number)), after)
            }
            b't' => {
                let (length, body) = body.split_first_chunk::<2>()?;
                let (text, after) = body.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
                (CursorKey::Text(std::str::from_utf8(text).ok()?.to_owned()), after)
            }
            b'u' => {
                let (id, after) = body.split_first_chunk::<16>()?;
                (CursorKey::Uuid(Uuid::from_bytes(*id)), after)
            }
            _ => return None,
        };
        keys.push(key);
        rest = after;
    }
    Some(keys)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn scope<'a>(list: &'a str, filters: &'a [(&'a str, &'a str)]) -> Scope<'a> {
        Scope { org: Some(Id::new(Uuid::from_u128(7))), list, filters }
    }

    fn keys() -> Vec<CursorKey> {
        vec![CursorKey::Int(-5), CursorKey::Text("Zoë".to_owned()), CursorKey::Uuid(Uuid::from_u128(9))]
    }

    #[test]
    fn a_cursor_is_good_for_its_own_list_only() {
        let filters = [("action", "x"), ("actor", "y")];
        let home = scope("audit", &filters);
        let text = Cursor::encode(&home, &keys());
        assert_eq!(Cursor::decode(&home, &text), Ok(keys()));
        let other_org = Scope { org: Some(Id::new(Uuid::from_u128(8))), ..home };
        for other in [
            other_org,
            Scope { org: None, ..home },
            scope("keys", &filters),
            scope("audit", &filters[..1]),
            scope("audit", &[("action", "xactory")]),
            scope("audit", &[]),
        ] {
            assert_eq!(Cursor::decode(&other, &text), Err(CursorError), "{other:?}");
        }
    }

    #[test]
    fn strange_texts_are_refused() {
        let home = scope("audit", &[]);
        let good = Cursor::encode(&home, &keys());
        let long = "A".repeat(CURSOR_CHARS_MAX + 1);
        for bad in ["", "A", "é", "null", &format!("{good}="), &format!("{good}A"), &good[1..], &long] {
            assert_eq!(Cursor::decode(&home, bad), Err(CursorError), "{bad:?}");
        }
    }

    #[test]
    fn a_right_digest_over_nonsense_is_still_refused() {
        let home = scope("audit", &[]);
        for nonsense in [&b"x"[..], b"i123", b"t\x00\x05abc", b"t\x00\x01\xff", b"u123"] {
            let bytes = [&digest(&home, nonsense)[..], nonsense].concat();
            assert_eq!(Cursor::decode(&home, &URL_SAFE_NO_PAD.encode(bytes)), Err(CursorError));
        }
    }

    fn any_key() -> impl Strategy<Value = CursorKey> {
        prop_oneof![
            any::<i64>().prop_map(CursorKey::Int),
            ".{0,40}".prop_map(CursorKey::Text),
            any::<u128>().prop_map(|raw| CursorKey::Uuid(Uuid::from_u128(raw))),
        ]
    }

    proptest! {
        #[test]
        fn keys_come_back(keys in prop::collection::vec(any_key(), 0..4)) {
            let home = scope("audit", &[]);
            prop_assert_eq!(Cursor::decode(&home, &Cursor::encode(&home, &keys)), Ok(keys));
        }

        #[test]
        fn a_changed_character_is_noticed(keys in prop::collection::vec(any_key(), 0..4), at: prop::sample::Index,
            to in "[A-Za-z0-9_-]") {
            let home = scope("audit", &[]);
            let mut text = Cursor::encode(&home, &keys);
            let at = at.index(text.len());
            prop_assume!(text[at..=at] != to);
            text.replace_range(at..=at, &to);
            prop_assert_eq!(Cursor::decode(&home, &text), Err(CursorError));
        }
    }
}

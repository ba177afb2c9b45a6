//! RFC 8785: the one way to write a JSON value, and the hashes taken of it.
//!
//! `serde_json_canonicalizer` formats the doubles. The rest is our own because a [`Value`] can always be written and
//! audit bodies are written on every change, and the crate re-parses each member name; tests hold us against it.

use std::cmp::Ordering;
use std::fmt::{self, Write};
use std::str::FromStr;

use serde_json::{Map, Number, Value};
use sha2::{Digest, Sha256};

use crate::json::INTEGER_MAX;

/// The RFC 8785 bytes of a value.
#[must_use]
pub fn canonical(value: &Value) -> Vec<u8> {
    canonical_text(value).into_bytes()
}

/// The same as text.
#[must_use]
pub fn canonical_text(value: &Value) -> String {
    let mut out = String::with_capacity(256);
    write_value(&mut out, value);
    out
}

/// Reads bytes that must be canonical already; `None` if they are anything else.
///
/// More lenient than [`crate::json::parse`] in what it holds, because what was once written must stay readable.
#[must_use]
pub fn read_canonical(bytes: &[u8]) -> Option<Value> {
    let value: Value = serde_json::from_slice(bytes).ok()?;
    (canonical(&value) == bytes).then_some(value)
}

/// SHA-256 of some bytes.
#[must_use]
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// SHA-256 as the API shows it: `sha256:` and 64 hexadecimal digits.
#[must_use]
pub fn content_hash(bytes: &[u8]) -> String {
    format!("sha256:{}", hex::encode(sha256(bytes)))
}

/// A SHA-256 as the API shows it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sha256Hash(pub [u8; 32]);

/// The text is not `sha256:` and 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be sha256: and 64 lower-case hexadecimal digits")]
pub struct NotAHash;

impl Sha256Hash {
    /// The hash of some bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(sha256(bytes))
    }

    /// The hash of the RFC 8785 form of a value.
    #[must_use]
    pub fn of_value(value: &Value) -> Self {
        Self::of(&canonical(value))
    }
}

impl fmt::Display for Sha256Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut digits = [0; 64];
        hex::encode_to_slice(self.0, &mut digits).map_err(|_| fmt::Error)?;
        f.write_str("sha256:")?;
        f.write_str(std::str::from_utf8(&digits).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Sha256Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Sha256Hash {
    type Err = NotAHash;

    fn from_str(text: &str) -> Result<Self, NotAHash> {
        let digits = text.strip_prefix("sha256:").ok_or(NotAHash)?;
        // One hash has one spelling, so that nobody compares texts and is surprised.
        if digits.bytes().any(|digit| digit.is_ascii_uppercase()) {
            return Err(NotAHash);
        }
        let mut bytes = [0; 32];
        hex::decode_to_slice(digits, &mut bytes).map_err(|_| NotAHash)?;
        Ok(Self(bytes))
    }
}

fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => write_number(out, number),
        Value::String(text) => write_string(out, text),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_value(out, item);
            }
            out.push(']');
        }
        Value::Object(members) => write_object(out, members),
    }
}

fn write_object(out: &mut String, members: &Map<String, Value>) {
    let mut sorted: Vec<(&String, &Value)> = members.iter().collect();
    sorted.sort_by(|(a, _), (b, _)| by_utf16(a, b));
    out.push('{');
    for (index, (name, value)) in sorted.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_string(out, name);
        out.push(':');
        write_value(out, value);
    }
    out.push('}');
}

fn by_utf16(a: &str, b: &str) -> Ordering {
    a.encode_utf16().cmp(b.encode_utf16())
}

fn write_string(out: &mut String, text: &str) {
    out.push('"');
    let mut from = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte >= b' ' && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.push_str(&text[from..at]);
        from = at + 1;
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            0x08 => out.push_str("\\b"),
            0x0c => out.push_str("\\f"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            control => push_formatted(out, format_args!("\\u{control:04x}")),
        }
    }
    out.push_str(&text[from..]);
    out.push('"');
}

fn write_number(out: &mut String, number: &Number) {
    match number.as_i64() {
        Some(integer) if (-INTEGER_MAX..=INTEGER_MAX).contains(&integer) => {
            push_formatted(out, format_args!("{integer}"));
        }
        // RFC 8785 knows doubles only.
        _ => write_double(out, number.as_f64().unwrap_or_default()),
    }
}

/// ECMAScript's `Number::toString`. Rust's own shortest digits differ from it where two are equally near.
fn write_double(out: &mut String, number: f64) {
    // A Number is finite, so this cannot fail; ECMAScript writes null for what is not.
    let text = serde_json_canonicalizer::to_string(&number).unwrap_or_else(|_| String::from("null"));
    out.push_str(&text);
}

fn push_formatted(out: &mut String, text: std::fmt::Arguments<'_>) {
    let written = out.write_fmt(text);
    debug_assert!(written.is_ok(), "a String takes everything");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn double(bits: u64) -> String {
        canonical_text(&json!(f64::from_bits(bits)))
    }

    #[test]
    fn numbers_of_rfc_8785_appendix_b() {
        for (bits, text) in [
            (0x0000_0000_0000_0000, "0"),
            (0x8000_0000_0000_0000, "0"),
            (0x0000_0000_0000_0001, "5e-324"),
            (0x8000_0000_0000_0001, "-5e-324"),
            (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
            (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
            (0x4340_0000_0000_0000, "9007199254740992"),
            (0xc340_0000_0000_0000, "-9007199254740992"),
            (0x4430_0000_0000_0000, "295147905179352830000"),
            (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
            (0x44b5_2d02_c7e1_4af6, "1e+23"),
            (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
            (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
            (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
            (0x444b_1ae4_d6e2_ef50, "1e+21"),
            (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
            (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
            (0x41b3_de43_5555_5553, "333333333.3333332"),
            (0x41b3_de43_5555_5554, "333333333.33333325"),
            (0x41b3_de43_5555_5555, "333333333.3333333"),
            (0x41b3_de43_5555_5556, "333333333.3333334"),
            (0x41b3_de43_5555_5557, "333333333.33333343"),
            (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
            (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
        ] {
            assert_eq!(double(bits), text, "{bits:#x}");
        }
        assert_eq!(
            canonical_text(&json!([u64::MAX, i64::MIN])),
            "[18446744073709552000,-9223372036854776000]"
        );
    }

    #[test]
    fn the_sample_of_rfc_8785() {
        let input = r#"{ "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
            "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false] }"#;
        let value = crate::json::parse(input.as_bytes()).unwrap();
        assert_eq!(
            canonical_text(&value),
            r#"{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"#
                .to_owned()
                + r#""string":"€$\u000f\nA'B\"\\\\\"/"}"#
        );
    }

    #[test]
    fn names_are_sorted_by_utf16_units() {
        let input = r#"{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}"#;
        let value = crate::json::parse(input.as_bytes()).unwrap();
        assert_eq!(
            canonical_text(&value),
            "{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"ö\":7,\"€\":1,\"😀\":5,\"\u{fb33}\":3}"
        );
    }

    #[test]
    fn only_canonical_bytes_are_read_back() {
        assert_eq!(read_canonical(br#"{"a":1,"b":[]}"#), Some(json!({"a": 1, "b": []})));
        for other in [r#"{"b":[],"a":1}"#, r#"{"a": 1}"#, r#"{"a":1,"a":1}"#, r#"{"a":1.0}"#, "{", ""] {
            assert_eq!(read_canonical(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn a_hash_has_one_spelling() {
        let hash = Sha256Hash::of(b"");
        assert_eq!(hash.to_string(), content_hash(b""));
        assert_eq!(hash.to_string().parse(), Ok(hash));
        assert_eq!(Sha256Hash::of_value(&json!({"b": 1, "a": 2})), Sha256Hash::of(br#"{"a":2,"b":1}"#));
        let digits = hash.to_string().split_off("sha256:".len());
        for wrong in
            [digits.clone(), format!("sha256:{}", digits.to_uppercase()), format!("sha256:{digits}0")]
        {
            assert_eq!(wrong.parse::<Sha256Hash>(), Err(NotAHash), "{wrong}");
        }
    }

    #[test]
    fn hashes_are_sha_256() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(content_hash(b""), format!("sha256:{empty}"));
        assert_eq!(hex::encode(sha256(b"")), empty);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        #[test]
        fn integers_agree_with_the_reference(number in any::<i64>(), shift in 0..63u32) {
            let number = number >> shift;
            prop_assert_eq!(canonical_text(&json!(number)), serde_json_canonicalizer::to_string(&number).unwrap());
        }

        #[test]
        fn objects_agree_with_the_reference(names in prop::collection::vec(".{0,4}", 0..8), text in any::<String>()) {
            let members: Map<String, Value> = names.into_iter().map(|name| (name, json!(text))).collect();
            let value = Value::Object(members);
            prop_assert_eq!(canonical_text(&value), serde_json_canonicalizer::to_string(&value).unwrap());
        }
    }
}

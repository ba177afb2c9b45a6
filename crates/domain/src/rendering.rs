//! The one way to show what a reviewer signs: whole, in one order, with nothing invisible in it.
//!
//! What comes out is JSON again and means the same value, so nothing can be lost on the way to the reader's eyes;
//! whatever a reader could not see, or would see in the wrong place, is written as an escape.

use std::fmt::Write;

use serde_json::Value;
use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};
use unicode_security::MixedScript;

use crate::canonical::canonical_text;
use crate::json::pointer_push;

/// What a reader should know about a text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Warning {
    /// It changes the direction of what is around it.
    Bidirectional,
    /// It holds control characters other than line breaks and tabs.
    Control,
    /// It holds something nobody sees.
    Invisible,
    /// It mixes letters of several scripts, which can look alike.
    MixedScripts,
    /// The same text has another, more usual spelling in bytes.
    NotNormalized,
}

impl Warning {
    /// In words for a reviewer.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Bidirectional => "holds characters that change the direction of text",
            Self::Control => "holds control characters",
            Self::Invisible => "holds characters that cannot be seen",
            Self::MixedScripts => "mixes letters of several scripts, some of which look alike",
            Self::NotNormalized => "is not in Unicode normal form C",
        }
    }
}

/// A text that needs a second look.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mark {
    /// RFC 6901 pointer to it. A marked member name is reported on its value.
    pub pointer: String,
    /// Why.
    pub warning: Warning,
}

/// A value as reviewers see it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rendering {
    /// JSON over several lines, members sorted by name.
    pub text: String,
    /// What in it needs a second look.
    pub marks: Vec<Mark>,
    /// How many characters in it a reader would not see, and sees as escapes.
    pub hidden: usize,
}

/// Shows a value.
#[must_use]
pub fn render(value: &Value) -> Rendering {
    let mut rendering = Rendering { text: String::new(), marks: Vec::new(), hidden: 0 };
    write_value(&mut rendering, &mut String::new(), value, 0);
    rendering
}

/// Everything a reader should know about a text.
#[must_use]
pub fn warnings(text: &str) -> Vec<Warning> {
    let mut found = Vec::new();
    if text.chars().any(is_bidirectional) {
        found.push(Warning::Bidirectional);
    }
    if text.chars().any(is_control) {
        found.push(Warning::Control);
    }
    if text.chars().any(|character| is_hidden(character) && !is_bidirectional(character)) {
        found.push(Warning::Invisible);
    }
    if !text.is_single_script() {
        found.push(Warning::MixedScripts);
    }
    if !text.is_ascii() && !text.nfc().eq(text.chars()) {
        found.push(Warning::NotNormalized);
    }
    found
}

/// A part of a text, as it is shown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Piece {
    /// What a reader sees as it is, with backslashes doubled so that nobody can write what looks like an escape.
    Seen(String),
    /// One character that a reader would not see, as an escape.
    Hidden {
        /// Such as `\u202e`.
        escape: String,
        /// What it is: `U+202E, changes the direction of text`.
        about: String,
    },
}

/// Text that stands by itself, such as a comment or a title, in parts. Line breaks are seen.
#[must_use]
pub fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut seen = String::new();
    for character in text.chars() {
        if character == '\n' || !(character.is_control() || is_hidden(character)) {
            seen.push_str(if character == '\\' { "\\" } else { "" });
            seen.push(character);
            continue;
        }
        if !seen.is_empty() {
            pieces.push(Piece::Seen(std::mem::take(&mut seen)));
        }
        let mut escaped = String::new();
        escape(&mut escaped, character);
        let about = format!("U+{:04X}, {}", u32::from(character), what_it_is(character));
        pieces.push(Piece::Hidden { escape: escaped, about });
    }
    if !seen.is_empty() {
        pieces.push(Piece::Seen(seen));
    }
    pieces
}

fn what_it_is(character: char) -> &'static str {
    match character {
        _ if is_bidirectional(character) => "changes the direction of text",
        _ if character.is_control() => "a control character",
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => "an unusual space",
        _ => "cannot be seen",
    }
}

/// The same as one text.
#[must_use]
pub fn plain(text: &str) -> String {
    let parts = pieces(text).into_iter().map(|piece| match piece {
        Piece::Seen(text) => text,
        Piece::Hidden { escape, .. } => escape,
    });
    parts.collect()
}

/// The same JSON with everything that is hidden as an escape: programs read what they did before, and people see it.
#[must_use]
pub fn visible_json(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for character in json.chars() {
        // JSON itself escapes the controls below U+0020, and nothing outside of its strings is hidden.
        match character.is_control() && !character.is_ascii_whitespace() || is_hidden(character) {
            true => escape(&mut shown, character),
            false => shown.push(character),
        }
    }
    shown
}

fn write_value(out: &mut Rendering, pointer: &mut String, value: &Value, depth: usize) {
    match value {
        Value::String(text) => {
            mark(out, pointer, text);
            write_string(&mut out.text, text);
        }
        Value::Array(items) if !items.is_empty() => {
            let items = items.iter().enumerate().map(|(index, item)| (index.to_string(), None, item));
            write_members(out, pointer, ('[', ']'), items.collect(), depth);
        }
        Value::Object(members) if !members.is_empty() => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            let members = sorted.into_iter().map(|(name, value)| (name.clone(), Some(name.as_str()), value));
            write_members(out, pointer, ('{', '}'), members.collect(), depth);
        }
        other => out.text.push_str(&canonical_text(other)),
    }
}

fn write_members(
    out: &mut Rendering,
    pointer: &mut String,
    (open, close): (char, char),
    members: Vec<(String, Option<&str>, &Value)>,
    depth: usize,
) {
    out.text.push(open);
    for (index, (segment, name, value)) in members.into_iter().enumerate() {
        out.text.push_str(if index == 0 { "\n" } else { ",\n" });
        indent(&mut out.text, depth + 1);
        let length = pointer.len();
        pointer_push(pointer, &segment);
        if let Some(name) = name {
            mark(out, pointer, name);
            write_string(&mut out.text, name);
            out.text.push_str(": ");
        }
        write_value(out, pointer, value, depth + 1);
        pointer.truncate(length);
    }
    out.text.push('\n');
    indent(&mut out.text, depth);
    out.text.push(close);
}

fn indent(text: &mut String, depth: usize) {
    for _ in 0..depth {
        text.push_str("  ");
    }
}

fn mark(out: &mut Rendering, pointer: &str, text: &str) {
    let is_unseen = |character: &char| is_control(*character) || is_hidden(*character);
    out.hidden += text.chars().filter(is_unseen).count();
    for warning in warnings(text) {
        let mark = Mark { pointer: pointer.to_owned(), warning };
        if !out.marks.contains(&mark) {
            out.marks.push(mark);
        }
    }
}

fn write_string(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ if character.is_control() || is_hidden(character) => escape(out, character),
            _ => out.push(character),
        }
    }
    out.push('"');
}

/// As JSON escapes: `\u202e`, and two of them above the basic plane.
fn escape(out: &mut String, character: char) {
    for unit in character.encode_utf16(&mut [0; 2]) {
        // Writing to a string cannot fail.
        let _written = write!(out, "\\u{unit:04x}");
    }
}

/// Whether it is a control character that is no line break and no tab.
fn is_control(character: char) -> bool {
    character.is_control() && !matches!(character, '\n' | '\t' | '\r')
}

fn is_bidirectional(character: char) -> bool {
    matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether a reader would not see it, or not know which it is.
fn is_hidden(character: char) -> bool {
    if character.is_ascii() {
        return false;
    }
    let hidden_category = matches!(
        character.general_category(),
        GeneralCategory::Format
            | GeneralCategory::LineSeparator
            | GeneralCategory::ParagraphSeparator
            | GeneralCategory::SpaceSeparator
            | GeneralCategory::PrivateUse
            | GeneralCategory::Unassigned
    );
    hidden_category || is_ignorable(character)
}

/// Letters and marks that are drawn as nothing.
fn is_ignorable(character: char) -> bool {
    matches!(character,
        '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{2800}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}' | '\u{e0100}'..='\u{e01ef}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn json_stays_what_it_is_when_it_is_made_visible() {
        let value = serde_json::json!({"a\u{202e}": ["\u{e0041}x\u{7f}\u{85}\n\t", "é\\"]});
        let shown = visible_json(&value.to_string());
        assert_eq!(shown, r#"{"a\u202e":["\udb40\udc41x\u007f\u0085\n\t","é\\"]}"#);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }

    #[test]
    fn it_reads_like_json() {
        let rendering =
            render(&json!({"b": [1, {"x": []}], "a": {}, "c": "plain 😀 é", "d": [true, null, 1e30]}));
        let expected = "{\n  \"a\": {},\n  \"b\": [\n    1,\n    {\n      \"x\": []\n    }\n  ],\n  \"c\": \"plain 😀 é\",\n  \
                        \"d\": [\n    true,\n    null,\n    1e+30\n  ]\n}";
        assert_eq!(rendering.text, expected);
        assert_eq!(rendering.marks, []);
    }

    #[test]
    fn nothing_hides() {
        for (text, shown, warnings) in [
            ("a\u{202e}b", r#""a\u202eb""#, vec![Warning::Bidirectional]),
            ("a\u{200b}b", r#""a\u200bb""#, vec![Warning::Invisible]),
            ("a\u{a0}b", r#""a\u00a0b""#, vec![Warning::Invisible]),
            ("a\u{e0041}", r#""a\udb40\udc41""#, vec![Warning::Invisible]),
            ("a\u{fe0f}", r#""a\ufe0f""#, vec![Warning::Invisible]),
            ("a\u{3164}", r#""a\u3164""#, vec![Warning::Invisible, Warning::MixedScripts]),
            ("\u{1b}[2K\u{85}", r#""\u001b[2K\u0085""#, vec![Warning::Control]),
            ("line\r\n\tnext", r#""line\r\n\tnext""#, vec![]),
            (r"\u202e", r#""\\u202e""#, vec![]),
            ("p\u{430}ypal", "\"p\u{430}ypal\"", vec![Warning::MixedScripts]),
            ("e\u{301}", "\"e\u{301}\"", vec![Warning::NotNormalized]),
            ("ひらがなカタカナ漢字", "\"ひらがなカタカナ漢字\"", vec![]),
        ] {
            let rendering = render(&json!(text));
            assert_eq!(rendering.text, shown, "{text:?}");
            let found: Vec<Warning> = rendering.marks.iter().map(|mark| mark.warning).collect();
            assert_eq!(found, warnings, "{text:?}");
        }
    }

    #[test]
    fn names_are_looked_at_too() {
        let rendering = render(&json!({"a": {"x\u{202e}/": "p\u{430}ypal"}}));
        assert_eq!(rendering.hidden, 1);
        assert_eq!(render(&json!({"\u{200b}": ["\u{1b}\u{1b}\n\t\\u202e", "é"]})).hidden, 3);
        let marks: Vec<(&str, Warning)> =
            rendering.marks.iter().map(|mark| (mark.pointer.as_str(), mark.warning)).collect();
        let pointer = "/a/x\u{202e}~1";
        assert_eq!(marks, [(pointer, Warning::Bidirectional), (pointer, Warning::MixedScripts)]);
    }

    #[test]
    fn a_comment_keeps_its_lines_and_cannot_fake_an_escape() {
        assert_eq!(plain("one\ntwo\u{202e}\\u202e\u{7f}\r"), "one\ntwo\\u202e\\\\u202e\\u007f\\u000d");
    }

    #[test]
    fn what_is_hidden_is_a_piece_of_its_own_and_says_what_it_is() {
        let hidden = |escape: &str, about: &str| Piece::Hidden { escape: escape.into(), about: about.into() };
        let seen = |text: &str| Piece::Seen(text.into());
        assert_eq!(
            pieces("a\\u{202e}\n\u{202e}b\u{7f}\u{a0}\u{200b}"),
            [
                seen("a\\\\u{202e}\n"),
                hidden("\\u202e", "U+202E, changes the direction of text"),
                seen("b"),
                hidden("\\u007f", "U+007F, a control character"),
                hidden("\\u00a0", "U+00A0, an unusual space"),
                hidden("\\u200b", "U+200B, cannot be seen"),
            ]
        );
        assert_eq!(pieces(""), []);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2048))]

        #[test]
        fn what_is_shown_means_what_it_shows(name in any::<String>(), text in any::<String>(), number in any::<i32>()) {
            let value = json!({ name: [text, number, {"deep": text}], "z": number });
            let rendering = render(&value);
            prop_assert_eq!(&serde_json::from_str::<Value>(&rendering.text).unwrap(), &value);
            let hidden = |character: char| {
                character != '\n' && (character.is_control() || is_hidden(character) || is_bidirectional(character))
            };
            prop_assert!(!rendering.text.contains(hidden));
        }
    }
}

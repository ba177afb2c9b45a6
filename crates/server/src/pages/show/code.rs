//! What will run, as the one renderer of `domain` writes it: line by line, with what is hidden in it marked.

use std::collections::BTreeMap;

use domain::rendering::{Warning, render};
use serde_json::Value;

use super::{Markup, line, plural};

/// A value in full.
pub(crate) struct Code {
    /// One element a line.
    pub(crate) lines: Markup,
    /// What in it needs a second look, in words; none: nothing does.
    pub(crate) warnings: Vec<Markup>,
}

/// Shows a value whole.
pub(crate) fn code(value: &Value) -> Code {
    let rendering = render(value);
    let mut lines = Markup::default();
    for text in rendering.text.split('\n') {
        lines.raw(format_args!("<span>"));
        highlight(&mut lines, text);
        lines.raw(format_args!("</span>"));
    }
    let mut places: BTreeMap<Warning, Vec<&str>> = BTreeMap::new();
    for mark in &rendering.marks {
        places.entry(mark.warning).or_default().push(&mark.pointer);
    }
    let warnings = places.into_iter().map(|(warning, places)| told(warning, &places));
    let warnings = counted(rendering.hidden).into_iter().chain(warnings).collect();
    Code { lines, warnings }
}

/// How many characters nobody would see; none: there is none.
fn counted(hidden: usize) -> Option<Markup> {
    let whole = match hidden {
        0 => return None,
        1 => "1 character in it cannot be seen; it is marked.".to_owned(),
        _ => format!("{} in it cannot be seen; each is marked.", plural(hidden, "character")),
    };
    Some(line(&whole))
}

/// Where a text needs a second look, and why: the first places by name, the others by their number.
fn told(warning: Warning, places: &[&str]) -> Markup {
    const NAMED: usize = 3;
    let mut markup = Markup::default();
    for (place, pointer) in places.iter().take(NAMED).enumerate() {
        let pointer = if pointer.is_empty() { "/" } else { pointer };
        let joint = if place > 0 { ", " } else { "" };
        markup.raw(format_args!("{joint}<code>{}</code>", line(pointer)));
    }
    if places.len() > NAMED {
        markup.raw(format_args!(" and {}", plural(places.len() - NAMED, "other place")));
    }
    markup.raw(format_args!(" {}", warning.words()));
    markup
}

/// One line of JSON. Names, texts and numbers differ in colour, which means nothing; escapes are marked, which does.
pub(super) fn highlight(markup: &mut Markup, text: &str) {
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' => {
                let length = string_length(rest);
                let is_name = rest.get(length..).is_some_and(|after| after.starts_with(':'));
                markup.raw(format_args!("<span class=\"{}\">", if is_name { "k" } else { "s" }));
                string(markup, &rest[..length]);
                markup.raw(format_args!("</span>"));
                length
            }
            '-' | '0'..='9' | 'a'..='z' => {
                let is_word = |letter: char| letter.is_ascii_alphanumeric() || "+-.".contains(letter);
                let length = rest.find(|letter| !is_word(letter)).unwrap_or(rest.len());
                markup.raw(format_args!("<span class=\"n\">"));
                markup.text(&rest[..length]);
                markup.raw(format_args!("</span>"));
                length
            }
            other => {
                markup.text(&rest[..other.len_utf8()]);
                other.len_utf8()
            }
        };
        rest = &rest[length..];
    }
}

/// How long the text at the beginning is, quotes included.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (place, letter) in text.char_indices().skip(1) {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return place + 1,
            _ => {}
        }
    }
    text.len()
}

/// A text with its escapes. The renderer escapes with `\u` only what a reader would not see.
fn string(markup: &mut Markup, text: &str) {
    let mut rest = text;
    while let Some(place) = rest.find('\\') {
        let hidden = rest.get(place + 1..place + 2) == Some("u");
        let length = if hidden { 6 } else { 2 };
        let end = (place + length).min(rest.len());
        markup.text(&rest[..place]);
        match hidden {
            true => markup.hidden(&rest[place..end], "cannot be seen, or changes what is around it"),
            false => markup.text(&rest[place..end]),
        }
        rest = &rest[end..];
    }
    markup.text(rest);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_texts_and_numbers() {
        let shown = code(&json!({"a\"<": ["x</span>", -1.5, true, null, {}]})).lines.to_string();
        for part in [
            "<span class=\"k\">&#34;a\\&#34;&#60;&#34;</span>: [",
            "<span class=\"s\">&#34;x&#60;/span&#62;&#34;</span>,",
            "<span class=\"n\">-1.5</span>,",
            "<span class=\"n\">true</span>",
            "{}",
        ] {
            assert!(shown.contains(part), "{part} in {shown}");
        }
    }

    #[test]
    fn what_is_hidden_is_marked_and_what_only_looks_like_it_is_not() {
        let shown = code(&json!({"d": "a\u{200b}\u{e0041}\\u200b"}));
        let text = shown.lines.to_string();
        assert_eq!(text.matches("class=\"esc\"").count(), 3, "{text}");
        assert!(text.contains("</span>\\\\u200b&#34;"), "{text}");
        let warnings: Vec<String> = shown.warnings.iter().map(ToString::to_string).collect();
        let whole = "2 characters in it cannot be seen; each is marked.";
        assert_eq!(warnings, [whole, "<code>/d</code> holds characters that cannot be seen"]);
        assert_eq!(counted(1).unwrap().to_string(), "1 character in it cannot be seen; it is marked.");
    }
}

//! HTML that is finished.

use std::fmt::{self, Write};

use askama::filters::HtmlSafe;
use domain::rendering::{Piece, pieces, plain};

/// Two lines of a narrow row hold this many characters.
const ROW_CHARACTERS: usize = 60;

/// HTML that is finished: whatever strangers wrote is escaped in it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Markup(pub(super) String);

impl fmt::Display for Markup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl HtmlSafe for Markup {}

impl Markup {
    /// Without anything in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds text as text.
    pub(in crate::pages) fn text(&mut self, text: &str) {
        for character in text.chars() {
            match character {
                '&' => self.0.push_str("&#38;"),
                '<' => self.0.push_str("&#60;"),
                '>' => self.0.push_str("&#62;"),
                '"' => self.0.push_str("&#34;"),
                '\'' => self.0.push_str("&#39;"),
                other => self.0.push(other),
            }
        }
    }

    /// Adds HTML of ours.
    pub(in crate::pages) fn raw(&mut self, html: fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _written = self.0.write_fmt(html);
    }

    /// Adds something that a reader would not see.
    pub(super) fn hidden(&mut self, escape: &str, about: &str) {
        self.raw(format_args!("<span class=\"esc\" title=\""));
        self.text(about);
        self.raw(format_args!("\">"));
        self.text(escape);
        self.raw(format_args!("</span>"));
    }
}

/// Text on one line, such as a title or a name. A line break in it is marked like everything else that is hidden.
pub(crate) fn line(text: &str) -> Markup {
    shown(text, false)
}

/// The whole of a text for whom a row shows only its first lines; none where they hold all of it.
pub(crate) fn whole(text: &str) -> Option<String> {
    (text.chars().nth(ROW_CHARACTERS).is_some()).then(|| plain(text))
}

/// Text that may have several lines, such as a comment.
pub(crate) fn lines(text: &str) -> Markup {
    shown(text, true)
}

fn shown(text: &str, keeps_lines: bool) -> Markup {
    let mut markup = Markup::default();
    for piece in pieces(text) {
        match piece {
            Piece::Hidden { escape, about } => markup.hidden(&escape, &about),
            Piece::Seen(seen) if keeps_lines => markup.text(&seen),
            Piece::Seen(seen) => {
                for (place, part) in seen.split('\n').enumerate() {
                    if place > 0 {
                        markup.hidden("\\n", "U+000A, a line break");
                    }
                    markup.text(part);
                }
            }
        }
    }
    markup
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_strangers_write_is_html() {
        assert_eq!(
            lines("<img src=x onerror=\"alert('1')\">&amp;").to_string(),
            "&#60;img src=x onerror=&#34;alert(&#39;1&#39;)&#34;&#62;&#38;amp;"
        );
    }

    #[test]
    fn what_is_hidden_is_marked() {
        let marked = line("a\u{202e}b\nc\\u202e").to_string();
        let direction = "<span class=\"esc\" title=\"U+202E, changes the direction of text\">\\u202e</span>";
        let broken = "<span class=\"esc\" title=\"U+000A, a line break\">\\n</span>";
        assert_eq!(marked, format!("a{direction}b{broken}c\\\\u202e"));
        assert_eq!(lines("a\nb").to_string(), "a\nb");
    }
}

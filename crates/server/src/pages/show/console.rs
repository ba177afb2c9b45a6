//! What a program wrote while it ran. Nobody signs it, so what it wrote to colour its words is short, but it is there.

use super::{Markup, lines};

/// What stands for a code that colours what follows.
const COLOUR: &str = "\\e";

/// A line of output. Codes of colours are one marked symbol each, which names the code; everything else that is hidden, also
/// codes that would erase or move what is shown, is written out.
pub(crate) fn output(text: &str) -> Markup {
    let mut markup = Markup::default();
    let mut rest = text;
    while let Some((before, code, after)) = next_colour(rest) {
        markup.raw(format_args!("{}", lines(before)));
        markup.hidden(COLOUR, &format!("U+001B [{code}, a colour of the console"));
        rest = after;
    }
    markup.raw(format_args!("{}", lines(rest)));
    markup
}

/// The first code of a colour: what is before it, what it says, and what is after it.
fn next_colour(text: &str) -> Option<(&str, &str, &str)> {
    for (at, begin) in text.match_indices("\u{1b}[") {
        let (before, code) = (text.get(..at)?, text.get(at + begin.len()..)?);
        let length = code.bytes().take_while(|byte| byte.is_ascii_digit() || b";:".contains(byte)).count();
        if code.as_bytes().get(length) == Some(&b'm') {
            return Some((before, code.get(..=length)?, code.get(length + 1..)?));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_short_and_nothing_else_is() {
        let symbol = |code: &str| {
            format!("<span class=\"esc\" title=\"U+001B [{code}, a colour of the console\">\\e</span>")
        };
        let shown = output("\u{1b}[1;32mok\u{1b}[0m <b>").to_string();
        assert_eq!(shown, format!("{}ok{} &#60;b&#62;", symbol("1;32m"), symbol("0m")));
        for kept in ["\u{1b}[2J", "\u{1b}]0;m", "\u{1b}[31", "\u{1b}", "\u{202e}[31m"] {
            assert_eq!(output(kept), lines(kept), "{kept:?}");
        }
        assert_eq!(output("\u{1b}[2J\u{1b}[m").to_string(), format!("{}{}", lines("\u{1b}[2J"), symbol("m")));
    }
}

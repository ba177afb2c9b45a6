//! Writes for people and for programs.
//!
//! Most text the hub knows was written by strangers, and a terminal obeys what it is sent. So whatever is shown goes
//! through [`shown`], [`Table`] or [`write_json`], which let no character pass that a terminal would act on, or that
//! would make a person read something else than what is there.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, IsTerminal, Read, Write};

use comfy_table::{ContentArrangement, presets};
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};
use serde::Serialize;

/// The longest line somebody types.
const LINE_BYTES_MAX: u64 = 4096;

/// What happens to line ends in text from a stranger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineEnds {
    /// They are escaped like all the rest: the text stays on its line.
    Escape,
    /// They are kept: the text has the screen to itself.
    Keep,
}

/// Text from a stranger, safe for a terminal: what it would act on or hide appears as `\u{1b}`. Elsewhere the text is
/// wanted as it is.
#[must_use]
pub fn shown(text: &str, is_terminal: bool, line_ends: LineEnds) -> Cow<'_, str> {
    let must_go = |c: char| is_treacherous(c) && !(c == '\n' && line_ends == LineEnds::Keep);
    if !is_terminal || !text.contains(must_go) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(replace(text, must_go, |out, c| out.extend(c.escape_unicode())))
}

/// Whether a terminal would act on this character, or show nothing, or show the text around it in another order.
#[must_use]
pub fn is_treacherous(c: char) -> bool {
    c.is_control() || is_bidirectional(c) || is_invisible(c)
}

/// Marks that change the direction of the text around them.
const fn is_bidirectional(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Characters without a shape of their own: Unicode's `Default_Ignorable_Code_Point`, line and paragraph separators,
/// interlinear annotations, blanks that are no space, and the marks that only steer shaping.
const fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{13430}'..='\u{1343f}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

fn replace(text: &str, must_go: impl Fn(char) -> bool, escape: impl Fn(&mut String, char)) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if must_go(c) { escape(&mut out, c) } else { out.push(c) }
    }
    out
}

/// Rows under headings, without colours or frames, so that both people and `grep` can read them.
#[derive(Clone, Debug)]
pub struct Table(comfy_table::Table);

impl Table {
    /// A table with these headings.
    #[must_use]
    pub fn new<const COLUMNS: usize>(headings: [&str; COLUMNS]) -> Self {
        let mut table = comfy_table::Table::new();
        table.load_style(presets::NOTHING).set_header(headings);
        for column in table.column_iter_mut() {
            column.set_padding((0, 2));
        }
        Self(table)
    }

    /// Adds a row. Cells may hold anything: they are made safe here, terminal or not, and stay on their line.
    pub fn row<const COLUMNS: usize>(&mut self, cells: [&str; COLUMNS]) {
        self.0.add_row(cells.map(|cell| shown(cell, true, LineEnds::Escape)));
    }

    /// The table as text. With a width, long cells are wrapped to fit it.
    #[must_use]
    pub fn render(mut self, width: Option<u16>) -> String {
        if let Some(width) = width {
            self.0.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
        }
        self.0.trim_fmt() + "\n"
    }
}

/// How wide the terminal behind standard output is; `None` if there is none, or nobody knows.
#[must_use]
pub fn width() -> Option<u16> {
    if !io::stdout().is_terminal() {
        return None;
    }
    rustix::termios::tcgetwinsize(io::stdout()).ok().map(|size| size.ws_col).filter(|columns| *columns > 0)
}

/// Writes a value as indented JSON and a line end.
///
/// Treacherous characters are written as JSON escapes, which every JSON reader turns back: the output is safe on a
/// terminal and means the same in a pipe.
pub fn write_json(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    writeln!(out, "{}", json_safe(&serde_json::to_string_pretty(value)?))
}

/// Writes a value as one line of JSON, for streams of them.
pub fn write_json_line(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    writeln!(out, "{}", json_safe(&serde_json::to_string(value)?))
}

/// Outside of its strings JSON has no such characters but line ends, and in them line ends are escaped already.
fn json_safe(json: &str) -> String {
    replace(
        json,
        |c| is_treacherous(c) && c != '\n',
        |out, c| {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a String cannot fail.
                write!(out, "\\u{unit:04x}").ok();
            }
        },
    )
}

/// The terminal itself: what is asked there does not go into a pipe.
fn terminal() -> io::Result<File> {
    let opened = OpenOptions::new().read(true).write(true).open("/dev/tty");
    opened.map_err(|_| io::Error::other("there is no terminal to ask on"))
}

/// Asks for a line on the terminal.
pub(crate) fn ask(question: &str) -> io::Result<String> {
    let mut terminal = terminal()?;
    terminal.write_all(question.as_bytes())?;
    line(&terminal)
}

/// Asks for a line on the terminal that nobody sees.
pub(crate) fn ask_secret(question: &str) -> io::Result<String> {
    let mut terminal = terminal()?;
    // Before the question: whoever answers at once would be seen, and what they typed so far would be dropped.
    let silence = Silence::over(terminal.try_clone()?)?;
    terminal.write_all(question.as_bytes())?;
    let answer = typed(BufReader::new(&terminal).bytes());
    drop(silence);
    terminal.write_all(b"\n")?;
    answer
}

/// What is typed up to the end of a line, as a terminal that leaves the editing to us sends it.
fn typed(keys: impl Iterator<Item = io::Result<u8>>) -> io::Result<String> {
    const INTERRUPT: u8 = 0x03;
    const END: u8 = 0x04;
    const BACKSPACE: u8 = 0x08;
    const KILL_LINE: u8 = 0x15;
    const DELETE: u8 = 0x7f;
    let mut line = Vec::new();
    for key in keys {
        match key? {
            b'\r' | b'\n' => break,
            END if line.is_empty() => break,
            INTERRUPT => return Err(io::Error::new(io::ErrorKind::Interrupted, "interrupted")),
            BACKSPACE | DELETE => {
                // A character may be several bytes; its first is no continuation.
                while line.pop().is_some_and(|byte: u8| byte & 0xc0 == 0x80) {}
            }
            KILL_LINE => line.clear(),
            _ if line.len() as u64 >= LINE_BYTES_MAX => break,
            byte => line.push(byte),
        }
    }
    String::from_utf8(line)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "what was typed is not UTF-8"))
}

fn line(terminal: &File) -> io::Result<String> {
    let mut line = String::new();
    BufReader::new(terminal).take(LINE_BYTES_MAX).read_line(&mut line)?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

/// A terminal that shows nothing of what is typed, until this is dropped. Ctrl-C comes as a key: as a signal it would end
/// the program and leave the terminal silent.
struct Silence {
    terminal: File,
    before: Termios,
}

impl Silence {
    fn over(terminal: File) -> io::Result<Self> {
        let before = tcgetattr(&terminal)?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        silent.special_codes[SpecialCodeIndex::VMIN] = 1;
        silent.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(&terminal, OptionalActions::Flush, &silent)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        // A terminal that is gone needs no echo.
        tcsetattr(&self.terminal, OptionalActions::Flush, &self.before).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(shown(text, true, LineEnds::Escape), expected);
    }

    fn keys(pressed: &str) -> io::Result<String> {
        typed(pressed.bytes().map(Ok))
    }

    #[test]
    fn a_secret_can_be_corrected_while_it_is_typed() {
        for (pressed, expected) in [
            ("secret\nrest", "secret"),
            ("secret\r", "secret"),
            ("secrex\x7ft\n", "secret"),
            ("geh\u{e9}im\x08\x08\x08eim\n", "geheim"),
            ("\x7f\x7fa\n", "a"),
            ("wrong\x15right\n", "right"),
            ("\x04never", ""),
            ("a\x04b\n", "a\u{4}b"),
            ("no end", "no end"),
        ] {
            assert_eq!(keys(pressed).unwrap(), expected, "{pressed:?}");
        }
    }

    #[test]
    fn an_interrupt_ends_the_question() {
        assert_eq!(keys("sec\x03ret\n").unwrap_err().kind(), io::ErrorKind::Interrupted);
        assert_eq!(typed([Ok(0xff), Ok(b'\n')].into_iter()).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn an_escape_cannot_repaint_the_prompt() {
        check("deploy\x1b[2K", "deploy\\u{1b}[2K");
        check("title\x1b]0;pwned\x07", "title\\u{1b}]0;pwned\\u{7}");
        check("c1 \u{9b}31m", "c1 \\u{9b}31m");
        check("approve\rreject", "approve\\u{d}reject");
    }

    #[test]
    fn nothing_hides_or_turns_around() {
        check("safe\u{202e}txt.exe", "safe\\u{202e}txt.exe");
        check("ad\u{200b}min", "ad\\u{200b}min");
        check("tag\u{e0041}", "tag\\u{e0041}");
    }

    #[test]
    fn honest_text_is_left_alone() {
        for text in ["", "deploy to prod-db-01", "Grüße, 世界, שלום, नमस्ते", "a\\b", "🚀"]
        {
            assert!(matches!(shown(text, true, LineEnds::Escape), Cow::Borrowed(same) if same == text));
        }
    }

    #[test]
    fn line_ends_are_kept_where_asked() {
        assert_eq!(shown("a\nb\x1b", true, LineEnds::Keep), "a\nb\\u{1b}");
        check("a\nb", "a\\u{a}b");
    }

    #[test]
    fn pipes_get_the_text_itself() {
        assert_eq!(shown("a\x1b\u{202e}", false, LineEnds::Escape), "a\x1b\u{202e}");
    }

    /// Said differently from the code under test, so that a slip there does not hide here.
    fn is_harmless(c: char) -> bool {
        let bad = [0x00..0x20, 0x7f..0xa0, 0x200b..0x2010, 0x2028..0x202f, 0x2060..0x2070, 0xfe00..0xfe10];
        let single = [0xad, 0x34f, 0x61c, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x2800, 0x3164, 0xfeff, 0xffa0];
        let c = u32::from(c);
        !bad.iter().any(|range| range.contains(&c))
            && !single.contains(&c)
            && !(0xe0000..0xe1000).contains(&c)
    }

    #[test]
    fn no_character_there_is_gets_through() {
        for c in '\0'..=char::MAX {
            let text = format!("a{c}b");
            let safe = shown(&text, true, LineEnds::Escape);
            assert!(safe.chars().all(is_harmless), "{c:?}");
            assert!(safe.chars().all(|c| !is_treacherous(c)), "{c:?}");
            assert!(safe.len() >= 3, "{c:?} vanished");
        }
    }

    #[test]
    fn json_is_safe_and_means_the_same() {
        for c in '\0'..=char::MAX {
            if !is_treacherous(c) {
                continue;
            }
            let value = serde_json::json!({ format!("k{c}"): format!("v{c}\n") });
            let mut out = Vec::new();
            write_json_line(&mut out, &value).unwrap();
            let text = String::from_utf8(out).unwrap();
            let line = text.strip_suffix('\n').unwrap();
            assert!(line.chars().all(is_harmless), "{c:?}: {line:?}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(line).unwrap(), value);
        }
    }

    #[test]
    fn json_for_people_is_indented() {
        let mut out = Vec::new();
        write_json(&mut out, &serde_json::json!({"a": 1})).unwrap();
        assert_eq!(out, b"{\n  \"a\": 1\n}\n");
    }

    #[test]
    fn a_table_lines_up_and_is_safe_even_in_a_pipe() {
        let mut table = Table::new(["NAME", "VALUE"]);
        table.row(["data", "./countersign-data"]);
        table.row(["evil\x1b[2K\n", "x"]);
        let text = table.render(None);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert_eq!(lines[1].find("./"), lines[0].find("VALUE"));
        assert!(lines[2].contains("evil\\u{1b}[2K\\u{a}"), "{text}");
        assert!(!text.contains('\x1b'));
    }

    #[test]
    fn a_table_fits_the_width_it_is_given() {
        let mut table = Table::new(["NAME", "VALUE"]);
        table.row(["long", &"word ".repeat(40)]);
        for line in table.clone().render(Some(40)).lines() {
            assert!(line.len() <= 40, "{line}");
        }
        assert_eq!(table.render(None).lines().count(), 2);
    }
}

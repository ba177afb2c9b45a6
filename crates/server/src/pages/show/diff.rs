//! What is different between two texts, line by line, with marks inside the lines.

use super::Markup;
use super::code::highlight;

/// Lines around a difference that are shown with it.
const AROUND: usize = 3;
/// Beyond this many comparisons, what is between the first and the last difference counts as replaced.
const STEPS_MAX: usize = 4_000_000;

/// A difference, ready to be shown.
pub(crate) struct Compared {
    /// One element a line.
    pub(crate) lines: Markup,
    /// Lines that came.
    pub(crate) added: usize,
    /// Lines that went.
    pub(crate) removed: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Same(usize, usize),
    Gone(usize),
    Came(usize),
}

/// Compares two texts.
pub(crate) fn compared(from: &str, to: &str) -> Compared {
    let (old, new): (Vec<&str>, Vec<&str>) = (from.split('\n').collect(), to.split('\n').collect());
    let steps = steps(&old, &new);
    let is_near = |place: usize| {
        let near = &steps[place.saturating_sub(AROUND)..(place + AROUND + 1).min(steps.len())];
        near.iter().any(|step| !matches!(step, Step::Same(_, _)))
    };
    let mut lines = Markup::default();
    let mut skipped = false;
    for (place, step) in steps.iter().enumerate() {
        if !is_near(place) {
            skipped = true;
            continue;
        }
        if std::mem::take(&mut skipped) {
            lines.raw(format_args!(
                "<div class=\"l\"><i></i><i></i><b></b><span class=\"muted\">⋯</span></div>"
            ));
        }
        write(&mut lines, *step, (&old, &new), partner(&steps, place));
    }
    let count = |is: fn(&Step) -> bool| steps.iter().filter(|step| is(step)).count();
    Compared {
        lines,
        added: count(|step| matches!(step, Step::Came(_))),
        removed: count(|step| matches!(step, Step::Gone(_))),
    }
}

/// The line that replaced this one, or was replaced by it: the one with the same place among those that went and came.
fn partner(steps: &[Step], place: usize) -> Option<usize> {
    let before = steps[..place].iter().rposition(|step| matches!(step, Step::Same(_, _)));
    let begin = before.map_or(0, |before| before + 1);
    let after = steps[place..].iter().position(|step| matches!(step, Step::Same(_, _)));
    let block = &steps[begin..after.map_or(steps.len(), |after| place + after)];
    let gone: Vec<usize> = block.iter().filter_map(|step| gone(*step)).collect();
    let came: Vec<usize> = block.iter().filter_map(|step| came(*step)).collect();
    match steps[place] {
        Step::Same(_, _) => None,
        Step::Gone(line) => came.get(gone.iter().position(|other| *other == line)?).copied(),
        Step::Came(line) => gone.get(came.iter().position(|other| *other == line)?).copied(),
    }
}

fn gone(step: Step) -> Option<usize> {
    if let Step::Gone(line) = step { Some(line) } else { None }
}

fn came(step: Step) -> Option<usize> {
    if let Step::Came(line) = step { Some(line) } else { None }
}

fn write(markup: &mut Markup, step: Step, (old, new): (&[&str], &[&str]), partner: Option<usize>) {
    let (class, left, right, sign, text, other, tag) = match step {
        Step::Same(from, to) => ("", Some(from), Some(to), " ", new[to], None, ""),
        Step::Gone(from) => (" del", Some(from), None, "−", old[from], partner.map(|to| new[to]), "del"),
        Step::Came(to) => (" add", None, Some(to), "+", new[to], partner.map(|from| old[from]), "ins"),
    };
    let number = |place: Option<usize>| place.map_or(String::new(), |place| (place + 1).to_string());
    markup.raw(format_args!(
        "<div class=\"l{class}\"><i>{}</i><i>{}</i><b aria-hidden=\"true\">{sign}</b><span>",
        number(left),
        number(right)
    ));
    match other {
        None => highlight_plain(markup, text),
        Some(other) => {
            let (begin, end) = changed(text, other);
            highlight_plain(markup, &text[..begin]);
            markup.raw(format_args!("<{tag}>"));
            highlight_plain(markup, &text[begin..end]);
            markup.raw(format_args!("</{tag}>"));
            highlight_plain(markup, &text[end..]);
        }
    }
    markup.raw(format_args!("</span></div>"));
}

/// Text of a line. What is hidden in it stands there as an escape, and is marked where the line is shown whole.
fn highlight_plain(markup: &mut Markup, text: &str) {
    match text.contains("\\u") {
        true => highlight(markup, text),
        false => markup.text(text),
    }
}

/// Which part of a text another has not.
fn changed(text: &str, other: &str) -> (usize, usize) {
    let same = |(a, b): &(char, char)| a == b;
    let begin: usize =
        text.chars().zip(other.chars()).take_while(same).map(|(letter, _)| letter.len_utf8()).sum();
    let (text_rest, other_rest) = (&text[begin..], &other[begin..]);
    let tail: usize = text_rest
        .chars()
        .rev()
        .zip(other_rest.chars().rev())
        .take_while(same)
        .map(|(letter, _)| letter.len_utf8())
        .sum();
    (begin, text.len() - tail)
}

fn steps(old: &[&str], new: &[&str]) -> Vec<Step> {
    let begin = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[begin..], &new[begin..]);
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let (old_middle, new_middle) = (&old_rest[..old_rest.len() - tail], &new_rest[..new_rest.len() - tail]);
    let mut steps: Vec<Step> = (0..begin).map(|place| Step::Same(place, place)).collect();
    steps.extend(middle(old_middle, new_middle).into_iter().map(|step| match step {
        Step::Same(from, to) => Step::Same(begin + from, begin + to),
        Step::Gone(from) => Step::Gone(begin + from),
        Step::Came(to) => Step::Came(begin + to),
    }));
    let (old_tail, new_tail) = (old.len() - tail, new.len() - tail);
    steps.extend((0..tail).map(|place| Step::Same(old_tail + place, new_tail + place)));
    steps
}

/// The longest common subsequence, by the table everybody knows.
fn middle(old: &[&str], new: &[&str]) -> Vec<Step> {
    let replaced = || (0..old.len()).map(Step::Gone).chain((0..new.len()).map(Step::Came)).collect();
    if old.is_empty() || new.is_empty() || old.len() * new.len() > STEPS_MAX {
        return replaced();
    }
    let width = new.len() + 1;
    let mut longest = vec![0_u32; (old.len() + 1) * width];
    for from in (0..old.len()).rev() {
        for to in (0..new.len()).rev() {
            longest[from * width + to] = match old[from] == new[to] {
                true => longest[(from + 1) * width + to + 1] + 1,
                false => longest[(from + 1) * width + to].max(longest[from * width + to + 1]),
            };
        }
    }
    let (mut from, mut to, mut steps) = (0, 0, Vec::new());
    while from < old.len() && to < new.len() {
        if old[from] == new[to] {
            steps.push(Step::Same(from, to));
            (from, to) = (from + 1, to + 1);
        } else if longest[(from + 1) * width + to] >= longest[from * width + to + 1] {
            steps.push(Step::Gone(from));
            from += 1;
        } else {
            steps.push(Step::Came(to));
            to += 1;
        }
    }
    steps.extend((from..old.len()).map(Step::Gone));
    steps.extend((to..new.len()).map(Step::Came));
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_and_what_came() {
        let (old, new) = (["a", "b", "c", "d"], ["a", "x", "c", "d", "e"]);
        assert_eq!(
            steps(&old, &new),
            [
                Step::Same(0, 0),
                Step::Gone(1),
                Step::Came(1),
                Step::Same(2, 2),
                Step::Same(3, 3),
                Step::Came(4)
            ]
        );
        assert_eq!(steps(&["a"], &["a"]), [Step::Same(0, 0)]);
    }

    #[test]
    fn the_change_is_marked_inside_the_line() {
        let shown = compared("{\n  \"t\": \"30s\"\n}", "{\n  \"t\": \"4s\"\n}");
        let text = shown.lines.to_string();
        assert!(text.contains("&#34;<del>30</del>s&#34;"), "{text}");
        assert!(text.contains("&#34;<ins>4</ins>s&#34;"), "{text}");
        assert_eq!((shown.added, shown.removed), (1, 1));
    }

    #[test]
    fn what_is_far_from_any_difference_is_left_out() {
        let many: Vec<String> = (0..40).map(|number| format!("line {number}")).collect();
        let mut changed = many.clone();
        changed[20] = "<other>".into();
        let text = compared(&many.join("\n"), &changed.join("\n")).lines.to_string();
        assert!(!text.contains("line 16<") && text.contains("line 17<"), "{text}");
        assert!(text.contains("<ins>&#60;other&#62;</ins>"), "{text}");
    }

    #[test]
    fn letters_of_several_bytes_are_not_cut() {
        assert_eq!(changed("aéx", "aèx"), (1, 3));
        assert_eq!(changed("aa", "aaa"), (2, 2));
        assert_eq!(changed("aaa", "aa"), (2, 3));
    }
}

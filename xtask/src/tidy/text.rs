//! What every file must look like.

/// A text file: its path from the root of the tree, and what is in it.
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// What one person can hold in their head.
const LINES_MAX: usize = 400;

/// Source files that may be longer, each with the reason.
const LONG_FILES: &[(&str, &str)] = &[];

/// Words that mean "not finished". In two pieces, or this table would find itself.
const UNFINISHED: &[(&str, &str, &str)] = &[
    ("to", "do!", "finish it or leave it out"),
    ("#[ig", "nore", "a test that does not run proves nothing"),
    ("fix", "me", "fix it, or open an issue"),
    ("for", " now", "say what holds and why; nobody knows when now ends"),
];

/// Where time is what has gone by, whatever is done to the clock on the wall: locks and leases live there.
const WITHOUT_WALL_CLOCK: &[&str] = &["crates/coordination/src/", "crates/domain/src/"];

/// Ways to read the clock on the wall. The compiler's lint has exceptions; here there are none.
const WALL_CLOCKS: &[&str] = &["SystemTime", "Timestamp::now", "Utc::now", "Zoned::now", "clock_gettime"];

const LOOP_OVER_TIMES: &str = concat!("for", " now in ");

/// Everything that is wrong with one file.
pub(crate) fn check(file: &File) -> Vec<String> {
    let mut problems = check_lines(file);
    if !file.text.is_empty() && !file.text.ends_with('\n') {
        problems.push(format!("{}: the last line does not end", file.path));
    }
    if is_rust(file) {
        problems.extend(check_rust(file));
    }
    problems
}

fn is_rust(file: &File) -> bool {
    file.path.ends_with(".rs")
}

fn check_lines(file: &File) -> Vec<String> {
    let mut problems = Vec::new();
    for (index, line) in file.text.split('\n').enumerate() {
        let place = format!("{}:{}", file.path, index + 1);
        if line.ends_with(char::is_whitespace) {
            problems.push(format!("{place}: white space at the end of the line"));
        }
        if !is_rust(file) {
            continue;
        }
        if line.contains('\t') {
            problems.push(format!("{place}: a tab"));
        }
        // Times are called `now`, and a test may loop over several: that is code, not a promise.
        let lower = line.trim_start().trim_start_matches(LOOP_OVER_TIMES).to_ascii_lowercase();
        for (head, tail, advice) in UNFINISHED {
            let word = format!("{head}{tail}");
            // Whole words: a type may be called Nowhere.
            let is_whole = |rest: &str| !rest.starts_with(|next: char| next.is_ascii_alphanumeric());
            if lower.split(&word).skip(1).any(is_whole) {
                problems.push(format!("{place}: `{word}`: {advice}"));
            }
        }
    }
    problems
}

fn check_rust(file: &File) -> Vec<String> {
    let mut problems = Vec::new();
    let lines = file.text.lines().count();
    if LINES_MAX < lines && !LONG_FILES.iter().any(|(path, _)| *path == file.path) {
        problems
            .push(format!("{}: {lines} lines, more than {LINES_MAX}; split it by what it does", file.path));
    }
    if WITHOUT_WALL_CLOCK.iter().any(|place| file.path.starts_with(place)) {
        let read = WALL_CLOCKS.iter().filter(|clock| file.text.contains(**clock));
        problems.extend(read.map(|clock| format!("{}: `{clock}`: no wall clock in here", file.path)));
    }
    let is_root = ["src/lib.rs", "src/main.rs"].iter().any(|root| file.path.ends_with(root));
    if is_root && !file.text.starts_with("//!") {
        problems.push(format!("{}: a crate opens with what it is and how to add to it (`//!`)", file.path));
    }
    problems
}

/// An exception that is no longer needed must go, or the table fills with permissions to grow.
pub(crate) fn check_long_files(files: &[File]) -> Vec<String> {
    stale(LONG_FILES, files)
}

fn stale(exceptions: &[(&str, &str)], files: &[File]) -> Vec<String> {
    let is_long =
        |path: &str| files.iter().any(|file| file.path == path && LINES_MAX < file.text.lines().count());
    let unneeded = exceptions.iter().filter(|(path, _)| !is_long(path));
    unneeded.map(|(path, _)| format!("{path}: listed among the long files but not long")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File { path: path.to_owned(), text: text.to_owned() }
    }

    fn problems(path: &str, text: &str) -> Vec<String> {
        check(&file(path, text))
    }

    #[test]
    fn a_tidy_file_is_left_alone() {
        assert_eq!(problems("crates/x/src/lib.rs", "//! What it is.\n\nfn main() {}\n"), [""; 0]);
        assert_eq!(problems("README.md", "# Words\n\n\tcode\n"), [""; 0]);
        assert_eq!(problems("empty.sql", ""), [""; 0]);
    }

    #[test]
    fn locks_do_not_look_at_the_clock_on_the_wall() {
        let text = "use std::time::SystemTime;\n";
        let found = problems("crates/coordination/src/locks/local/index.rs", text);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("no wall clock"), "{found:?}");
        assert_eq!(problems("crates/hub/src/clock.rs", text), [""; 0]);
    }

    #[test]
    fn unfinished_words_are_found_where_they_stand() {
        for (head, tail, _) in UNFINISHED {
            let found = problems("a.rs", &format!("fine\n// {head}{tail} later\n"));
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(found[0].starts_with("a.rs:2: "), "{found:?}");
            assert_eq!(problems("notes.md", &format!("{head}{tail}\n")), [""; 0]);
        }
        let times = format!("    {LOOP_OVER_TIMES}[1, 2] {{}}\n");
        assert_eq!(problems("a.rs", &times), [""; 0]);
        assert_eq!(problems("a.rs", &format!("// {LOOP_OVER_TIMES}memory\n")).len(), 1);
        assert_eq!(
            problems("a.rs", &format!("impl Store {}here {{}}\n", "for| now".replace('|', ""))),
            [""; 0]
        );
        let shouted = format!("// {}\n", "fix|me".replace('|', "").to_uppercase());
        assert_eq!(problems("a.rs", &shouted).len(), 1);
    }

    #[test]
    fn lines_and_files_end_properly() {
        assert_eq!(problems("a.md", "one \ntwo\n"), ["a.md:1: white space at the end of the line"]);
        assert_eq!(problems("a.md", "one\r\n"), ["a.md:1: white space at the end of the line"]);
        assert_eq!(problems("a.toml", "one"), ["a.toml: the last line does not end"]);
        assert_eq!(problems("a.rs", "\tone\n"), ["a.rs:1: a tab"]);
    }

    #[test]
    fn a_long_source_file_is_found() {
        assert_eq!(problems("a.rs", &"x\n".repeat(LINES_MAX)), [""; 0]);
        assert_eq!(problems("a.rs", &"x\n".repeat(LINES_MAX + 1)).len(), 1);
        assert_eq!(problems("a.md", &"x\n".repeat(LINES_MAX + 1)), [""; 0]);
    }

    #[test]
    fn an_exception_that_is_not_needed_is_found() {
        let files = [file("long.rs", &"x\n".repeat(LINES_MAX + 1)), file("short.rs", "x\n")];
        assert_eq!(stale(&[("long.rs", "a table")], &files), [""; 0]);
        assert_eq!(stale(&[("short.rs", "a table"), ("gone.rs", "a table")], &files).len(), 2);
    }

    #[test]
    fn a_crate_opens_with_what_it_is() {
        assert_eq!(problems("bench/src/main.rs", "fn main() {}\n").len(), 1);
        assert_eq!(problems("crates/x/src/other.rs", "fn other() {}\n"), [""; 0]);
    }
}

//! `docs/lessons.md` names tests; each of them exists.

use super::text::File;

const PAGE: &str = "docs/lessons.md";

/// Every test that the page names and nobody wrote.
pub(crate) fn check(files: &[File]) -> Vec<String> {
    let Some(page) = files.iter().find(|file| file.path == PAGE) else {
        return vec![format!("{PAGE} is missing")];
    };
    let sources: Vec<&File> = files.iter().filter(|file| file.path.ends_with(".rs")).collect();
    let is_written = |name: &str| {
        let head = format!("fn {name}(");
        sources.iter().any(|file| file.text.contains(&head))
    };
    let mut problems = Vec::new();
    for (index, line) in page.text.lines().enumerate() {
        let Some(tests) = named(line) else { continue };
        if tests.is_empty() {
            problems.push(format!("{PAGE}:{}: names no test", index + 1));
        }
        let missing = tests.iter().filter(|name| !is_written(name));
        problems.extend(missing.map(|name| format!("{PAGE}:{}: there is no test `{name}`", index + 1)));
    }
    problems
}

/// The tests of a row of the table; none where it is no row.
fn named(line: &str) -> Option<Vec<&str>> {
    let last = line.strip_suffix('|')?.rsplit('|').next()?.trim();
    let is_head = last == "Tests" || last.starts_with("---");
    (!is_head).then(|| last.split('`').skip(1).step_by(2).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_is_named_must_be_there() {
        let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
        let page = file(PAGE, "| bug | Tests |\n|---|---|\n| a | `is_there`, `is_gone` |\n| b | later |\n");
        let source = file("a.rs", "async fn is_there() {}");
        let problems = check(&[page, source]);
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(problems[0].contains("is_gone") && problems[1].contains("names no test"));
    }
}

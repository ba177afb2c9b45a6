//! One word for one thing, on every page: people sign in, and have an email.

use std::path::Path;

/// What pages call it otherwise, or would like to.
const OTHER_WORDS: [&str; 7] = ["log in", "log-in", "login", "logins", "log out", "logged in", "e-mail"];

/// The words of a template that people read: without tags, what is filled in, and what is typed into a terminal.
fn words(template: &str) -> String {
    let mut words = String::new();
    let mut rest = template;
    while let Some(begin) = rest.find(['<', '{']) {
        words.push_str(&rest[..begin]);
        let end = ["<code>", "<pre", "<", "{{", "{%"].into_iter().zip(["</code>", "</pre>", ">", "}}", "%}"]);
        let end = end.into_iter().find(|(begins, _)| rest[begin..].starts_with(begins)).map(|(_, end)| end);
        let behind = end.and_then(|end| rest[begin..].find(end).map(|at| begin + at + end.len()));
        rest = &rest[behind.unwrap_or(begin + 1)..];
        words.push(' ');
    }
    words.push_str(rest);
    words.to_lowercase()
}

fn templates(directory: &Path, found: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => templates(&path, found),
            false => found.push((path.display().to_string(), std::fs::read_to_string(&path).unwrap())),
        }
    }
}

#[test]
fn people_sign_in_and_have_an_email() {
    let mut found = Vec::new();
    templates(&Path::new(env!("CARGO_MANIFEST_DIR")).join("templates"), &mut found);
    assert!(found.len() > 40, "there are templates");
    for (path, text) in found {
        let said = words(&text);
        let is_letter = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
        for other in OTHER_WORDS {
            let is_said = said.match_indices(other).any(|(at, _)| {
                let (before, after) =
                    (said[..at].chars().next_back(), said[at + other.len()..].chars().next());
                !is_letter(before) && !is_letter(after)
            });
            assert!(!is_said, "{path} says {other}");
        }
    }
}

#[test]
fn what_people_read_is_found() {
    let text = "<a title=\"login\">Log in</a>{{ login }}{% if login %} as <code>login</code> { x";
    assert_eq!(words(text).split_whitespace().collect::<Vec<_>>(), ["log", "in", "as", "x"]);
}

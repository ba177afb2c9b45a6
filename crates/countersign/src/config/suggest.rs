//! "Did you mean …?"

/// The candidate that was probably meant, if one is near enough to be worth naming.
pub(super) fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let word = plain(word);
    let (distance, nearest) = candidates.map(|name| (distance(&word, &plain(name)), name)).min()?;
    (distance <= 2.max(word.chars().count() / 3)).then_some(nearest)
}

/// People write a setting the way another place spells it: `COUNTERSIGN_LISTEN` or `pg-schema` in the file.
fn plain(name: &str) -> String {
    let name = name.to_lowercase().replace('-', "_");
    name.strip_prefix("countersign_").map(str::to_owned).unwrap_or(name)
}

/// How many letters must be changed, added or removed (Levenshtein).
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, letter) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, other) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_meant() {
        let names = ["data", "listen", "pg_schema", "database_url"];
        let cases = [
            ("lisen", Some("listen")),
            ("COUNTERSIGN_LISTEN", Some("listen")),
            ("pg-schema", Some("pg_schema")),
            ("databse_url", Some("database_url")),
            ("executors", None),
            ("", None),
        ];
        for (word, expected) in cases {
            assert_eq!(nearest(word, names.into_iter()), expected, "{word}");
        }
    }

    #[test]
    fn distances() {
        for (from, to, expected) in [("", "", 0), ("", "ab", 2), ("ab", "", 2), ("kitten", "sitting", 3)] {
            assert_eq!(distance(from, to), expected, "{from} {to}");
        }
    }
}

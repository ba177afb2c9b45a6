//! Files that say rules: TOML where the name says so, JSON otherwise.

use std::io::Read;
use std::path::Path;

use anyhow::Context;
use serde_json::Value;

use crate::cli::Usage;

/// More than any rules; a wrong file is not read to its end.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// What a file says; `-` is JSON from standard input.
pub(crate) fn read(path: &Path) -> anyhow::Result<Value> {
    let mut bytes = Vec::new();
    let cannot = || format!("cannot read {}", path.display());
    if path == Path::new("-") {
        std::io::stdin().take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).with_context(cannot)?;
    } else {
        let file = std::fs::File::open(path).with_context(cannot)?;
        file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).with_context(cannot)?;
    }
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(Usage(format!("{} is larger than 1 MiB", path.display())).into());
    }
    let is_toml = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml"));
    let read = if is_toml { from_toml(&bytes) } else { from_json(&bytes) };
    read.map_err(|error| Usage(format!("{}: {error}", path.display())).into())
}

fn from_toml(bytes: &[u8]) -> Result<Value, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "not UTF-8".to_owned())?;
    toml::from_str(text).map_err(|error| error.to_string())
}

fn from_json(bytes: &[u8]) -> Result<Value, String> {
    domain::json::parse(bytes).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_kinds_say_the_same() {
        let toml = "name = 'p'\nreviewers = ['a']\n[auto_approve_if]\nrisk_below = 9\n";
        let json = r#"{"name": "p", "reviewers": ["a"], "auto_approve_if": {"risk_below": 9}}"#;
        assert_eq!(from_toml(toml.as_bytes()), from_json(json.as_bytes()));
        assert_eq!(from_json(b"[]"), Ok(json!([])));
        for bad in ["{", r#"{"a": 1, "a": 2}"#, "name = 'p'"] {
            assert!(from_json(bad.as_bytes()).is_err(), "{bad}");
        }
        assert!(from_toml(b"name = p").is_err());
        assert!(from_toml(b"\xff").is_err());
    }
}

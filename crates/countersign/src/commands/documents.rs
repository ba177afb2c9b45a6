//! Files that say what to make: JSON, TOML, or YAML that means JSON.

use std::io::Read;
use std::path::Path;

use anyhow::{Context, bail};
use serde_json::{Map, Value};
use yaml_rust2::{Yaml, YamlLoader};

use crate::cli::Usage;

/// The largest file that is read; the hub takes no larger body.
const BYTES_MAX: u64 = 1024 * 1024;

/// The object in a file; see [`read`].
pub(crate) fn read_object(path: &Path) -> anyhow::Result<Map<String, Value>> {
    match read(path)? {
        Value::Object(members) => Ok(members),
        _ => {
            let detail = format!("{} must hold one object, such as {{\"config\": …}}", path.display());
            Err(Usage(detail).into())
        }
    }
}

/// What a file says, `-` being standard input. What ends in neither `.json` nor `.toml` is read as YAML, and so as JSON
/// too.
pub(crate) fn read(path: &Path) -> anyhow::Result<Value> {
    let text = if path == Path::new("-") {
        limited(std::io::stdin().lock())
    } else {
        std::fs::File::open(path).map_err(Into::into).and_then(limited)
    };
    let text = text.with_context(|| format!("reading {}", path.display()))?;
    let is = |wanted: &str| path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(wanted));
    let parsed = match () {
        () if is("json") => json(&text),
        () if is("toml") => toml::from_str(&text).map_err(Into::into),
        () => yaml(&text),
    };
    parsed.map_err(|error| Usage(format!("{} cannot be understood: {error:#}", path.display())).into())
}

fn limited(from: impl Read) -> anyhow::Result<String> {
    let mut text = String::new();
    let read = from.take(BYTES_MAX + 1).read_to_string(&mut text)?;
    if u64::try_from(read)? > BYTES_MAX {
        bail!("it is larger than {BYTES_MAX} bytes");
    }
    Ok(text)
}

/// As strict as the hub itself.
fn json(text: &str) -> anyhow::Result<Value> {
    Ok(domain::json::parse(text.as_bytes())?)
}

fn yaml(text: &str) -> anyhow::Result<Value> {
    let mut documents = YamlLoader::load_from_str(text)?;
    match (documents.pop(), documents.len()) {
        (Some(document), 0) => value(document),
        (None, _) => bail!("it is empty"),
        (Some(_), more) => bail!("it holds {} documents, not one", more + 1),
    }
}

/// What YAML means in JSON, or that it means nothing there.
fn value(yaml: Yaml) -> anyhow::Result<Value> {
    Ok(match yaml {
        Yaml::Null => Value::Null,
        Yaml::Boolean(flag) => Value::from(flag),
        Yaml::Integer(number) => Value::from(number),
        Yaml::String(text) => Value::from(text),
        Yaml::Real(text) => {
            let number = text.parse().ok().and_then(serde_json::Number::from_f64);
            Value::Number(number.with_context(|| format!("{text} is no number that JSON knows"))?)
        }
        Yaml::Array(items) => items.into_iter().map(value).collect::<anyhow::Result<_>>()?,
        Yaml::Hash(members) => {
            let named = members.into_iter().map(|(name, member)| match name {
                Yaml::String(name) => Ok((name, value(member)?)),
                other => bail!("{other:?} is no name: quote it"),
            });
            Value::Object(named.collect::<anyhow::Result<_>>()?)
        }
        Yaml::Alias(_) | Yaml::BadValue => bail!("it uses an alias or a tag that means nothing in JSON"),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn yaml_means_what_its_json_would() {
        let text = "config:\n  type: db\n  description: |\n    two\n    lines\n  idempotent: true\n  priority: 5\n  \
                    parameters: {country: no, version: \"1.0\", ratio: 0.5, nothing: ~, list: [1, x]}\n";
        let expected = json!({"config": {
            "type": "db", "description": "two\nlines\n", "idempotent": true, "priority": 5,
            "parameters": {"country": "no", "version": "1.0", "ratio": 0.5, "nothing": null, "list": [1, "x"]},
        }});
        assert_eq!(yaml(text).unwrap(), expected);
        assert_eq!(yaml(&expected.to_string()).unwrap(), expected, "JSON is YAML");
    }

    #[test]
    fn the_ending_says_how_it_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let expected = json!({"name": "p", "reviewers": ["a"], "auto_approve_if": {"risk_below": 9}});
        for (name, text) in [
            ("rules.json", expected.to_string()),
            ("rules.TOML", "name = 'p'\nreviewers = ['a']\n[auto_approve_if]\nrisk_below = 9\n".to_owned()),
            ("rules.yaml", "name: p\nreviewers: [a]\nauto_approve_if: {risk_below: 9}\n".to_owned()),
            ("rules", expected.to_string()),
        ] {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            assert_eq!(read(&path).unwrap(), expected, "{name}");
        }
        let path = folder.path().join("list.json");
        std::fs::write(&path, "[]").unwrap();
        assert_eq!(read(&path).unwrap(), json!([]));
        assert!(read_object(&path).unwrap_err().is::<Usage>(), "a list is no object");
        std::fs::write(&path, "{").unwrap();
        assert!(read(&path).unwrap_err().is::<Usage>());
    }

    #[test]
    fn what_is_not_clear_is_refused() {
        for bad in ["", "a: 1\na: 2\n", "a: 1\n---\nb: 2\n", "1: x\n", "a: .inf\n", "a: [1", "a: !!int x\n"] {
            assert!(yaml(bad).is_err(), "{bad:?}");
        }
        for bad in ["{\"a\":1,\"a\":2}", "{\"a\": 9007199254740993}", "{", ""] {
            assert!(json(bad).is_err(), "{bad:?}");
        }
    }
}

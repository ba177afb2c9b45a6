//! The file with settings.

use std::io;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::Environment;
use super::flags::ServerFlags;
use super::problem::{ConfigProblem, Source};
use super::setting::{DATA, Shape};

/// How a file is read; tests have files that do not exist.
pub type ReadFile<'a> = &'a dyn Fn(&Path) -> io::Result<String>;

/// The name of the file in the data directory.
const FILE_NAME: &str = "countersign.toml";

/// What the file says, still unchecked.
#[derive(Default)]
pub(super) struct File {
    pub(super) path: PathBuf,
    pub(super) entries: Table,
}

impl File {
    /// The file that was named, else the one in the data directory if it is there.
    pub(super) fn load(
        flags: &ServerFlags,
        env: &Environment,
        read: ReadFile<'_>,
    ) -> Result<Self, Box<ConfigProblem>> {
        if let Some(path) = &flags.config {
            let text = read(path).map_err(|error| unreadable(path, &error))?;
            return Self::parse(path, &text);
        }
        let Some(path) = data_directory(flags, env).map(|data| data.join(FILE_NAME)) else {
            return Ok(Self::default());
        };
        match read(&path) {
            Ok(text) => Self::parse(&path, &text)?.refuse_data(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(unreadable(&path, &error)),
        }
    }

    fn parse(path: &Path, text: &str) -> Result<Self, Box<ConfigProblem>> {
        match text.parse::<Table>() {
            Ok(entries) => Ok(Self { path: path.to_owned(), entries }),
            Err(error) => {
                // The error's own text repeats the line, which may hold a password.
                let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
                let line = before.matches('\n').count() + 1;
                Err(about_file(
                    path,
                    format!("line {line} is not TOML: {}", error.message().replace('\n', " ")),
                    "write each setting as `name = \"value\"` on a line of its own",
                ))
            }
        }
    }

    /// A directory cannot say from within that it is another one.
    fn refuse_data(self) -> Result<Self, Box<ConfigProblem>> {
        if !self.entries.contains_key(DATA.name) {
            return Ok(self);
        }
        Err(Box::new(ConfigProblem {
            setting: DATA.name.to_owned(),
            source: Source::File(self.path),
            value: None,
            reason: "the file was found in the data directory, so it cannot name another one".to_owned(),
            instead: format!("set it with --data or {}, or name the file with --config", DATA.env),
        }))
    }
}

/// The data directory as far as it can be known before the file is read. `None` when what was said is not usable;
/// that is reported where all settings are.
fn data_directory(flags: &ServerFlags, env: &Environment) -> Option<PathBuf> {
    let text = match (flags.given(DATA.name), env.get(DATA.env)) {
        (Some(text), _) => text,
        (None, Some(value)) => value.to_str()?,
        (None, None) => DATA.default?,
    };
    (!text.is_empty()).then(|| PathBuf::from(text))
}

/// A TOML value as the text a flag or variable would have.
pub(super) fn text_of(value: &Value, shape: Shape) -> Result<String, &'static str> {
    match (shape, value) {
        (Shape::Text | Shape::List, Value::String(text)) => Ok(text.clone()),
        (Shape::Number, Value::Integer(number)) => Ok(number.to_string()),
        (Shape::List, Value::Array(items)) => {
            let texts: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
            texts.map(|texts| texts.join(",")).ok_or("not an array of strings")
        }
        (Shape::Text, _) => Err("not a string in quotes"),
        (Shape::Number, _) => Err("not a number without quotes"),
        (Shape::List, _) => Err("not an array of strings"),
    }
}

fn unreadable(path: &Path, error: &io::Error) -> Box<ConfigProblem> {
    about_file(path, format!("the file cannot be read ({error})"), "name a file that exists and may be read")
}

fn about_file(path: &Path, reason: String, instead: &str) -> Box<ConfigProblem> {
    Box::new(ConfigProblem {
        setting: "config".to_owned(),
        source: Source::File(path.to_owned()),
        value: None,
        reason,
        instead: instead.to_owned(),
    })
}

//! What is wrong with the configuration, and where each value came from.

use std::fmt;
use std::path::PathBuf;

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The command line.
    Flag(&'static str),
    /// An environment variable.
    Environment(String),
    /// The file with settings.
    File(PathBuf),
    /// Nobody said anything.
    Default,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) => write!(f, "flag --{name}"),
            Self::Environment(name) => write!(f, "environment {name}"),
            Self::File(path) => write!(f, "file {}", path.display()),
            Self::Default => f.write_str("default"),
        }
    }
}

/// One setting as `config check` shows it: nothing in it is secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The setting.
    pub name: &'static str,
    /// Its value, with passwords masked.
    pub value: String,
    /// Where the value came from.
    pub source: Source,
}

/// One thing that is wrong: which setting, where it was set, to what, why that is wrong, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigProblem {
    /// The setting, key or variable.
    pub setting: String,
    /// Where it was set.
    pub source: Source,
    /// What it was set to, with passwords masked; `None` if the value is not the matter.
    pub value: Option<String>,
    /// Why that is wrong.
    pub reason: String,
    /// What to do about it.
    pub instead: String,
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.setting)?;
        if let Some(value) = &self.value {
            write!(f, " = {value:?}")?;
        }
        write!(f, " ({}): {}; {}", self.source, self.reason, self.instead)
    }
}

/// Everything that is wrong, so that it can be corrected in one go.
#[derive(Debug)]
pub struct ConfigProblems(pub Vec<ConfigProblem>);

impl fmt::Display for ConfigProblems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the configuration is not valid")?;
        for problem in &self.0 {
            write!(f, "\n  {problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigProblems {}

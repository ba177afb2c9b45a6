//! The environment as a value, so that tests need not touch the process's own.

use std::collections::BTreeMap;
use std::ffi::OsString;

/// Every variable that begins so is ours, and a typing error in one must not pass unnoticed.
const OURS: &str = "COUNTERSIGN_";
/// Ours, but not settings of the server: for the command line, for children of `lock run`, for the test suite.
const NOT_SETTINGS: [&str; 4] =
    ["COUNTERSIGN_URL", "COUNTERSIGN_API_KEY", "COUNTERSIGN_FENCING_TOKEN", "COUNTERSIGN_FENCING_TOKENS"];
const FOR_TESTS: &str = "COUNTERSIGN_TEST_";

/// Names and values of environment variables.
#[derive(Clone, Default)]
pub struct Environment(BTreeMap<String, OsString>);

impl Environment {
    /// The variables of this process.
    #[must_use]
    pub fn of_process() -> Self {
        Self(std::env::vars_os().map(|(name, value)| (name.to_string_lossy().into_owned(), value)).collect())
    }

    #[cfg(test)]
    pub(super) fn insert(&mut self, name: &str, value: OsString) {
        self.0.insert(name.to_owned(), value);
    }

    pub(super) fn get(&self, name: &str) -> Option<&OsString> {
        self.0.get(name)
    }

    /// The names that claim to be a setting of ours.
    pub(super) fn claimed(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str).filter(|name| {
            name.starts_with(OURS) && !name.starts_with(FOR_TESTS) && !NOT_SETTINGS.contains(name)
        })
    }
}

impl<'a> FromIterator<(&'a str, &'a str)> for Environment {
    fn from_iter<I: IntoIterator<Item = (&'a str, &'a str)>>(variables: I) -> Self {
        Self(variables.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect())
    }
}

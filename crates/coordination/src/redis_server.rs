//! Where Redis is, and how long we wait for it.

use std::time::Duration;

/// A Redis that says nothing for so long is away.
pub(crate) const ANSWER_WITHIN: Duration = Duration::from_secs(2);
pub(crate) const CONNECT_WITHIN: Duration = Duration::from_secs(2);

/// Where Redis is. `rediss://` means TLS, which is always verified.
#[derive(Clone)]
pub struct Options {
    /// Its address, which may hold a password.
    pub url: String,
    /// What every key begins with.
    pub key_prefix: String,
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options").field("key_prefix", &self.key_prefix).finish_non_exhaustive()
    }
}

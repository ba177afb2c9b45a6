//! Logins that are on their way to a provider and back.

use std::time::Duration;

use crate::accounts::Account;
use crate::{Id, Timestamp};

/// How long a person may take at the provider.
pub const FLOW_LASTS: Duration = Duration::from_secs(10 * 60);

/// A browser that was sent to the provider. It comes back once.
#[derive(Clone, PartialEq, Eq)]
pub struct OidcFlow {
    /// Its id, which is no secret.
    pub id: Id<OidcFlow>,
    /// The hash of what only the browser has that was sent.
    pub browser_hash: [u8; 32],
    /// What the provider's token must repeat.
    pub nonce: String,
    /// What proves to the provider that the code is ours to exchange.
    pub verifier: String,
    /// Where the person wanted to go.
    pub next: Option<String>,
    /// The account that is to be connected; none to log in.
    pub link_account_id: Option<Id<Account>>,
    /// When it ends by itself.
    pub expires_at: Timestamp,
    /// When the browser was sent.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl OidcFlow {
    /// Whether this browser may end it now. Whoever brings another browser's answer logs somebody into the wrong
    /// account.
    #[must_use]
    pub fn may_return(&self, browser_hash: &[u8; 32], now: Timestamp) -> bool {
        // Hashes of secrets: how long comparing takes tells nothing about what was hashed.
        self.browser_hash == *browser_hash && now < self.expires_at
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn only_the_browser_that_was_sent_comes_back_and_in_time() {
        let sent = Timestamp::from_micros(0);
        let flow = OidcFlow {
            id: Id::new(Uuid::from_u128(1)),
            browser_hash: [1; 32],
            nonce: "n".into(),
            verifier: "v".into(),
            next: None,
            link_account_id: None,
            expires_at: sent.plus(FLOW_LASTS),
            created_at: sent,
            updated_at: sent,
        };
        let end = sent.plus(FLOW_LASTS);
        assert!(flow.may_return(&[1; 32], end.minus(Duration::from_micros(1))));
        assert!(!flow.may_return(&[1; 32], end));
        assert!(!flow.may_return(&[2; 32], sent));
    }
}

//! Links that log in once.

use std::time::Duration;

use crate::accounts::Account;
use crate::{Id, Timestamp};

/// How long a link can be used.
pub const LINK_LASTS: Duration = Duration::from_secs(15 * 60);

/// A link for one account.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoginLink {
    /// Its id, which is no secret.
    pub id: Id<LoginLink>,
    /// Whom it logs in.
    pub account_id: Id<Account>,
    /// When it ends by itself.
    pub expires_at: Timestamp,
    /// When it was used.
    pub used_at: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// Why a link logs nobody in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LinkRefusal {
    /// It has done its work.
    #[error("this link was used already; it works once")]
    Used,
    /// It came too late.
    #[error("this link has expired; it works for 15 minutes")]
    Expired,
}

impl LoginLink {
    /// A link for this account that works from now on.
    #[must_use]
    pub fn made(id: Id<LoginLink>, account: Id<Account>, now: Timestamp) -> Self {
        Self {
            id,
            account_id: account,
            expires_at: now.plus(LINK_LASTS),
            used_at: None,
            created_at: now,
            updated_at: now,
        }
    }

    /// Whether the link logs in now.
    ///
    /// # Errors
    /// The reason, the most final one first.
    pub fn usable(&self, now: Timestamp) -> Result<(), LinkRefusal> {
        if self.used_at.is_some() {
            return Err(LinkRefusal::Used);
        }
        if self.expires_at <= now { Err(LinkRefusal::Expired) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_link_works_for_a_quarter_of_an_hour_and_once() {
        let made = Timestamp::from_micros(0);
        let link = LoginLink::made(Id::new(Uuid::from_u128(1)), Id::new(Uuid::from_u128(2)), made);
        let end = made.plus(LINK_LASTS);
        assert_eq!(link.usable(end.minus(Duration::from_micros(1))), Ok(()));
        assert_eq!(link.usable(end), Err(LinkRefusal::Expired));
        let used = LoginLink { used_at: Some(made), ..link };
        assert_eq!(used.usable(made), Err(LinkRefusal::Used));
    }
}

//! Invitations of accounts that are at home elsewhere.

use std::str::FromStr;
use std::time::Duration;

use crate::accounts::{Account, AccountStatus};
use crate::organizations::{MembershipLevel, Organization};
use crate::text::{UnknownWord, one_of};
use crate::{Id, Timestamp};

/// How long an invitation can be accepted.
pub const INVITATION_LASTS: Duration = Duration::from_secs(7 * 24 * 3600);

/// What became of an invitation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InvitationStatus {
    /// Nothing yet.
    Open,
    /// The person joined.
    Accepted,
    /// The person did not want to.
    Declined,
    /// The organization changed its mind.
    Withdrawn,
}

impl InvitationStatus {
    /// Every status.
    pub const ALL: [Self; 4] = [Self::Open, Self::Accepted, Self::Declined, Self::Withdrawn];

    /// As stored and on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Accepted => "accepted",
            Self::Declined => "declined",
            Self::Withdrawn => "withdrawn",
        }
    }
}

impl FromStr for InvitationStatus {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        one_of(&Self::ALL, Self::as_str, text)
    }
}

/// An organization wants somebody who is at home elsewhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Invitation {
    /// Its id.
    pub id: Id<Invitation>,
    /// Where to.
    pub org_id: Id<Organization>,
    /// Who is wanted.
    pub account_id: Id<Account>,
    /// Which admin asked; whoever accepts has the roles from them.
    pub invited_by: Id<Account>,
    /// The level offered.
    pub membership_level: MembershipLevel,
    /// The roles offered.
    pub roles: Vec<String>,
    /// The manager offered.
    pub manager_id: Option<Id<Account>>,
    /// What became of it.
    pub status: InvitationStatus,
    /// Until when it can be accepted.
    pub expires_at: Timestamp,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// Why an invitation can no longer be answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InvitationRefusal {
    /// It was answered or withdrawn.
    #[error("this invitation is closed")]
    Closed,
    /// Nobody answered in time.
    #[error("this invitation has expired; ask for another one")]
    Expired,
    /// What it offers is its sender's to give.
    #[error("whoever sent this invitation can no longer give what it offers; ask for another one")]
    Void,
}

/// Whether the offer still stands: whoever made it must still be able to.
pub fn still_stands(
    sender: AccountStatus,
    level: Option<MembershipLevel>,
    organization: &Organization,
) -> Result<(), InvitationRefusal> {
    let can_give = sender == AccountStatus::Active && level.is_some_and(MembershipLevel::is_admin);
    if can_give && organization.archived_at.is_none() { Ok(()) } else { Err(InvitationRefusal::Void) }
}

impl Invitation {
    /// Whether it can still be answered.
    ///
    /// # Errors
    /// Why not.
    pub fn is_open(&self, now: Timestamp) -> Result<(), InvitationRefusal> {
        if self.status != InvitationStatus::Open {
            return Err(InvitationRefusal::Closed);
        }
        if self.expires_at <= now { Err(InvitationRefusal::Expired) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::sample;

    #[test]
    fn an_invitation_is_open_until_it_is_not() {
        let at = Timestamp::from_micros;
        let open = Invitation {
            id: Id::new(Uuid::from_u128(1)),
            org_id: Id::new(Uuid::from_u128(2)),
            account_id: Id::new(Uuid::from_u128(3)),
            invited_by: Id::new(Uuid::from_u128(4)),
            membership_level: MembershipLevel::Member,
            roles: Vec::new(),
            manager_id: None,
            status: InvitationStatus::Open,
            expires_at: at(10),
            created_at: at(0),
            updated_at: at(0),
        };
        assert_eq!(open.is_open(at(9)), Ok(()));
        assert_eq!(open.is_open(at(10)), Err(InvitationRefusal::Expired));
        for status in InvitationStatus::ALL {
            assert_eq!(status.as_str().parse(), Ok(status));
            let known = Invitation { status, ..open.clone() };
            assert_eq!(known.is_open(at(1)).is_ok(), status == InvitationStatus::Open);
        }
    }

    #[test]
    fn an_offer_stands_while_its_sender_could_make_it() {
        let open = sample::organization(2);
        let levels = [None, Some(MembershipLevel::Member), Some(MembershipLevel::Admin)];
        for sender in AccountStatus::ALL {
            for level in levels.into_iter().chain([Some(MembershipLevel::Owner)]) {
                let can_give = sender == AccountStatus::Active
                    && matches!(level, Some(MembershipLevel::Admin | MembershipLevel::Owner));
                let expected = if can_give { Ok(()) } else { Err(InvitationRefusal::Void) };
                assert_eq!(still_stands(sender, level, &open), expected, "{sender:?} {level:?}");
            }
        }
        let archived = Organization { archived_at: Some(Timestamp::from_micros(1)), ..open };
        let owner = Some(MembershipLevel::Owner);
        assert_eq!(still_stands(AccountStatus::Active, owner, &archived), Err(InvitationRefusal::Void));
    }
}

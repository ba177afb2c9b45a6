//! Who an account is to a provider of logins.
//!
//! A provider knows a person by a subject, which never changes and is never given to another; an e-mail may be both.
//! So a connection is made once, by the person who is logged in on both sides, and from then on only the subject
//! counts. The one exception is enrolment: an account that never had a credential is connected by its e-mail, if the
//! provider says that it has verified that the address is the person's.

use crate::accounts::Account;
use crate::{Id, Timestamp};

/// A person at a provider, and the account they are here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExternalIdentity {
    /// Its id here.
    pub id: Id<ExternalIdentity>,
    /// Who they are here.
    pub account_id: Id<Account>,
    /// The provider.
    pub issuer: String,
    /// Who they are there.
    pub subject: String,
    /// Since when.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// What decides whether an account is connected because the e-mail is the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EnrolFacts {
    /// The provider has verified that the address is the person's.
    pub email_is_verified: bool,
    /// The account is an active person's.
    pub may_log_in: bool,
    /// The account has, or ever had, a credential of any kind: somebody is this account already.
    pub has_credential: bool,
}

/// Whether the person is enrolled as the account that has their e-mail.
#[must_use]
pub fn may_enrol(facts: EnrolFacts) -> bool {
    facts.email_is_verified && facts.may_log_in && !facts.has_credential
}

/// Why an account is not connected to a person at a provider.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConnectRefusal {
    /// The person is another account here.
    #[error("that identity is connected to another account of this hub")]
    SomebodyElses,
    /// The account is somebody else there.
    #[error("your account is connected to another identity at this provider; disconnect that first")]
    ConnectedAlready,
}

/// Whether an account becomes what the provider calls `subject`. False where it is that already.
///
/// # Errors
/// One account is one person at a provider, and one person there is one account.
pub fn may_connect(
    account: Id<Account>,
    known: Option<&ExternalIdentity>,
    own: &[ExternalIdentity],
    issuer: &str,
) -> Result<bool, ConnectRefusal> {
    match known {
        Some(known) if known.account_id == account => Ok(false),
        Some(_) => Err(ConnectRefusal::SomebodyElses),
        None if own.iter().any(|identity| identity.issuer == issuer) => Err(ConnectRefusal::ConnectedAlready),
        None => Ok(true),
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn only_a_verified_address_enrols_and_only_an_account_nobody_is_yet() {
        let all = EnrolFacts { email_is_verified: true, may_log_in: true, has_credential: false };
        assert!(may_enrol(all));
        assert!(!may_enrol(EnrolFacts { email_is_verified: false, ..all }));
        assert!(!may_enrol(EnrolFacts { may_log_in: false, ..all }));
        assert!(!may_enrol(EnrolFacts { has_credential: true, ..all }));
    }

    #[test]
    fn one_account_is_one_person_there_and_the_other_way_round() {
        let [me, other]: [Id<Account>; 2] = [1, 2].map(|n| Id::new(Uuid::from_u128(n)));
        let at = Timestamp::from_micros(0);
        let identity = |account_id, issuer: &str| ExternalIdentity {
            id: Id::new(Uuid::from_u128(9)),
            account_id,
            issuer: issuer.into(),
            subject: "s".into(),
            created_at: at,
            updated_at: at,
        };
        let (mine, others) = (identity(me, "a"), identity(other, "a"));
        let elsewhere = identity(me, "b");
        assert_eq!(may_connect(me, None, &[], "a"), Ok(true));
        assert_eq!(may_connect(me, None, std::slice::from_ref(&elsewhere), "a"), Ok(true));
        assert_eq!(may_connect(me, Some(&mine), std::slice::from_ref(&mine), "a"), Ok(false));
        assert_eq!(may_connect(me, Some(&others), &[], "a"), Err(ConnectRefusal::SomebodyElses));
        assert_eq!(may_connect(me, None, &[mine], "a"), Err(ConnectRefusal::ConnectedAlready));
    }
}

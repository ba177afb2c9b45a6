//! Who stands behind a task, and who behind a vote: nobody decides on what they stand behind (promise 5).

use std::collections::BTreeSet;

use crate::Id;
use crate::accounts::Account;

/// Everybody who had a hand in a revision.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Provenance(BTreeSet<Id<Account>>);

/// Everybody who stands behind one act: whoever did it, who answers for them, and who minted the credential.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Behind(BTreeSet<Id<Account>>);

impl Provenance {
    /// With whoever stands behind this act too; a revision inherits from the one before it.
    #[must_use]
    pub fn with(&self, behind: &Behind) -> Self {
        Self(self.0.union(&behind.0).copied().collect())
    }

    /// Whether this account had a hand in it.
    #[must_use]
    pub fn includes(&self, account: Id<Account>) -> bool {
        self.0.contains(&account)
    }

    /// Whether somebody is behind both.
    #[must_use]
    pub fn meets(&self, behind: &Behind) -> bool {
        !self.0.is_disjoint(&behind.0)
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = Id<Account>> {
        self.0.iter().copied()
    }
}

impl Behind {
    /// The account itself, its line of owners if it is an agent, and the minter of the credential it came with.
    #[must_use]
    pub fn act(account: Id<Account>, owners: &[Id<Account>], minted_by: Id<Account>) -> Self {
        owners.iter().copied().chain([account, minted_by]).collect()
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = Id<Account>> {
        self.0.iter().copied()
    }
}

impl FromIterator<Id<Account>> for Provenance {
    fn from_iter<I: IntoIterator<Item = Id<Account>>>(accounts: I) -> Self {
        Self(accounts.into_iter().collect())
    }
}

impl FromIterator<Id<Account>> for Behind {
    fn from_iter<I: IntoIterator<Item = Id<Account>>>(accounts: I) -> Self {
        Self(accounts.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn account(number: u128) -> Id<Account> {
        Id::new(Uuid::from_u128(number))
    }

    #[test]
    fn whoever_answers_for_an_agent_or_minted_its_key_is_behind_it() {
        let behind = Behind::act(account(1), &[account(2), account(3)], account(4));
        let provenance = Provenance::default().with(&behind);
        for number in 1..=4 {
            assert!(provenance.includes(account(number)), "{number}");
            assert!(provenance.meets(&Behind::act(account(9), &[account(number)], account(9))));
            assert!(provenance.meets(&Behind::act(account(9), &[], account(number))));
        }
        assert!(!provenance.meets(&Behind::act(account(9), &[account(8)], account(9))));
    }

    #[test]
    fn a_revision_inherits() {
        let first = Provenance::default().with(&Behind::act(account(1), &[], account(1)));
        let second = first.with(&Behind::act(account(2), &[], account(2)));
        assert!(second.includes(account(1)) && second.includes(account(2)));
    }
}

//! Who may obtain a credential, and how much it may do (DECISIONS.md 20).
//!
//! Nobody can obtain a credential that acts as another person, except the first one at enrolment.

use crate::Id;
use crate::accounts::Account;

/// What the rule looks at.
pub struct MintFacts<'a> {
    /// Who asks.
    pub minter: Id<Account>,
    /// Whether they administer the organization the key will act in.
    pub minter_is_org_admin: bool,
    /// The limits of the key they use.
    pub minter_scopes: Option<&'a [String]>,
    /// Whose key it will be.
    pub owner: Id<Account>,
    /// Whether that account belongs to the organization.
    pub owner_is_member: bool,
    /// Whether the organization is that account's home.
    pub owner_is_at_home: bool,
    /// Whether that account is an agent that belongs to who asks.
    pub owner_is_minters_agent: bool,
    /// Whether that account has, or ever had, a credential.
    pub owner_has_credential: bool,
}

/// Why not.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MintRefusal {
    /// Another person's key.
    #[error(
        "everybody mints their own keys and those of their agents; an admin mints only the first one of an account \
             that has none"
    )]
    NotYours,
    /// Another person's key, and they have one already.
    #[error("this account has had a credential already: only its owner mints another")]
    NotTheFirst,
    /// A guest's key: with it, others could be minted for the guest's home.
    #[error("only an admin of the account's home organization mints its first key")]
    NotAtHome,
    /// The owner does not belong to the organization.
    #[error("the account is not a member of the organization")]
    NotAMember,
    /// The new key could do more than the one it is minted with.
    #[error("the scope {0} is more than the key you use may do")]
    ScopeTooWide(String),
}

/// Whether a key with these scopes may be minted.
pub fn may_mint(facts: &MintFacts<'_>, scopes: Option<&[String]>) -> Result<(), MintRefusal> {
    let enrols = facts.minter != facts.owner && !facts.owner_is_minters_agent;
    if enrols {
        if !facts.minter_is_org_admin {
            return Err(MintRefusal::NotYours);
        }
        if facts.owner_has_credential {
            return Err(MintRefusal::NotTheFirst);
        }
    }
    if !facts.owner_is_member {
        return Err(MintRefusal::NotAMember);
    }
    if enrols && !facts.owner_is_at_home {
        return Err(MintRefusal::NotAtHome);
    }
    match (facts.minter_scopes, scopes) {
        (None, _) => Ok(()),
        (Some(_), None) => Err(MintRefusal::ScopeTooWide("(all)".into())),
        (Some(held), Some(wanted)) => match wanted.iter().find(|scope| !covers(held, scope)) {
            Some(scope) => Err(MintRefusal::ScopeTooWide(scope.clone())),
            None => Ok(()),
        },
    }
}

/// Whether a key with `wanted` can do nothing that a key with `held` cannot. `None` stands for everything.
#[must_use]
pub fn within(wanted: Option<&[String]>, held: Option<&[String]>) -> bool {
    match (wanted, held) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(wanted), Some(held)) => wanted.iter().all(|scope| covers(held, scope)),
    }
}

fn covers(held: &[String], scope: &str) -> bool {
    held.iter().any(|own| {
        let namespace = own.strip_suffix('*').filter(|namespace| namespace.ends_with(':'));
        own == scope || namespace.is_some_and(|namespace| scope.starts_with(namespace))
    })
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const ADMIN: Id<Account> = Id::new(Uuid::from_u128(1));
    const OTHER: Id<Account> = Id::new(Uuid::from_u128(2));

    fn facts(owner: Id<Account>) -> MintFacts<'static> {
        MintFacts {
            minter: ADMIN,
            minter_is_org_admin: true,
            minter_scopes: None,
            owner,
            owner_is_member: true,
            owner_is_at_home: true,
            owner_is_minters_agent: false,
            owner_has_credential: false,
        }
    }

    #[test]
    fn an_admin_enrols_and_then_never_again() {
        assert_eq!(may_mint(&facts(OTHER), None), Ok(()));
        let again = MintFacts { owner_has_credential: true, ..facts(OTHER) };
        assert_eq!(may_mint(&again, None), Err(MintRefusal::NotTheFirst));
        let member = MintFacts { minter_is_org_admin: false, ..facts(OTHER) };
        assert_eq!(may_mint(&member, None), Err(MintRefusal::NotYours));
        let own = MintFacts { minter_is_org_admin: false, owner_has_credential: true, ..facts(ADMIN) };
        assert_eq!(may_mint(&own, None), Ok(()));
        let guest = MintFacts { owner_is_at_home: false, ..facts(OTHER) };
        assert_eq!(may_mint(&guest, None), Err(MintRefusal::NotAtHome));
        let own_abroad = MintFacts { owner_is_at_home: false, ..facts(ADMIN) };
        assert_eq!(may_mint(&own_abroad, None), Ok(()));
        let stranger = MintFacts { owner_is_member: false, ..facts(ADMIN) };
        assert_eq!(may_mint(&stranger, None), Err(MintRefusal::NotAMember));
    }

    #[test]
    fn an_agents_owner_mints_its_keys() {
        let owner = MintFacts {
            minter_is_org_admin: false,
            owner_is_minters_agent: true,
            owner_has_credential: true,
            ..facts(OTHER)
        };
        assert_eq!(may_mint(&owner, None), Ok(()));
        let gone = MintFacts { owner_is_member: false, ..owner };
        assert_eq!(may_mint(&gone, None), Err(MintRefusal::NotAMember));
    }

    #[test]
    fn a_narrow_key_mints_only_narrower_ones() {
        let held = ["keys:*".to_owned(), "events:read".to_owned()];
        let narrow = MintFacts { minter_scopes: Some(&held), ..facts(ADMIN) };
        for (wanted, fine) in [
            (Some(vec!["keys:read"]), true),
            (Some(vec!["keys:*", "events:read"]), true),
            (Some(vec![]), true),
            (Some(vec!["events:*"]), false),
            (Some(vec!["keys:read", "settings:read"]), false),
            (None, false),
        ] {
            let wanted: Option<Vec<String>> = wanted.map(|all| all.into_iter().map(str::to_owned).collect());
            assert_eq!(may_mint(&narrow, wanted.as_deref()).is_ok(), fine, "{wanted:?}");
            assert_eq!(within(wanted.as_deref(), Some(&held)), fine, "{wanted:?}");
        }
        assert!(within(None, None));
    }
}

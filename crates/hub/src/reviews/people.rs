//! Who could be asked, as the rules look at them.

use std::collections::{BTreeMap, BTreeSet};

use domain::Id;
use domain::accounts::{AccessLevel, Account};
use domain::members::HeldRole;
use domain::organizations::Organization;
use domain::policies::{Candidate, Quorum};
use domain::reviews::Review;
use domain::roles::{self, RoleGrant};
use records::Tx;
use records::reviewers::{self, Standing};

use crate::HubError;
use crate::agents::owners;

/// How many holders of one role are looked at; a review asks fewer.
const HOLDERS_MAX: i64 = 1000;

/// Everybody whom the policies could ask.
pub(crate) async fn candidates<'a>(
    tx: &mut Tx,
    org: Id<Organization>,
    quorums: impl Iterator<Item = &'a Quorum> + Clone,
) -> Result<Vec<Candidate>, HubError> {
    let mut standings = Vec::new();
    let mut grants = Vec::new();
    let wanted: BTreeSet<&str> =
        quorums.clone().flat_map(|quorum| &quorum.required_roles).map(String::as_str).collect();
    for role in wanted {
        if role == roles::ADMIN {
            standings.extend(reviewers::admins(tx, org, HOLDERS_MAX).await?);
        } else {
            let (holders, given) = reviewers::holders(tx, org, role, HOLDERS_MAX).await?;
            standings.extend(holders);
            grants.extend(given);
        }
    }
    let named: BTreeSet<Id<Account>> = quorums.flat_map(|quorum| quorum.reviewers.iter().copied()).collect();
    if !named.is_empty() {
        standings.extend(reviewers::named(tx, org, named).await?);
    }
    Ok(joined(tx, org, standings, grants).await?.into_values().collect())
}

/// The admins of the organization.
pub(crate) async fn admins(tx: &mut Tx, org: Id<Organization>) -> Result<Vec<Candidate>, HubError> {
    let standings = reviewers::admins(tx, org, HOLDERS_MAX).await?;
    Ok(joined(tx, org, standings, Vec::new()).await?.into_values().collect())
}

/// Everybody who is asked in a review.
pub(super) async fn asked(
    tx: &mut Tx,
    org: Id<Organization>,
    review: Id<Review>,
) -> Result<BTreeMap<Id<Account>, Candidate>, HubError> {
    let (standings, grants) = reviewers::asked(tx, org, review).await?;
    joined(tx, org, standings, grants).await
}

/// The same of several reviews: all of these accounts, whether or not they have left.
pub(super) async fn standing(
    tx: &mut Tx,
    org: Id<Organization>,
    accounts: BTreeSet<Id<Account>>,
) -> Result<BTreeMap<Id<Account>, Candidate>, HubError> {
    let (standings, grants) = reviewers::standing(tx, org, accounts).await?;
    joined(tx, org, standings, grants).await
}

/// One member, with all roles.
pub(crate) async fn one(
    tx: &mut Tx,
    org: Id<Organization>,
    account: Id<Account>,
) -> Result<Option<Candidate>, HubError> {
    let Some(standing) = reviewers::one(tx, org, account).await? else { return Ok(None) };
    let grants = records::roles::of(tx, org, account).await?;
    Ok(joined(tx, org, vec![standing], grants).await?.into_values().next())
}

/// Those of these accounts that are members, with all roles.
pub(crate) async fn several(
    tx: &mut Tx,
    org: Id<Organization>,
    accounts: BTreeSet<Id<Account>>,
) -> Result<BTreeMap<Id<Account>, Candidate>, HubError> {
    if accounts.is_empty() {
        return Ok(BTreeMap::new());
    }
    let (standings, grants) = reviewers::several(tx, org, accounts).await?;
    joined(tx, org, standings, grants).await
}

async fn joined(
    tx: &mut Tx,
    org: Id<Organization>,
    standings: Vec<Standing>,
    grants: Vec<RoleGrant>,
) -> Result<BTreeMap<Id<Account>, Candidate>, HubError> {
    let mut roles: BTreeMap<Id<Account>, Vec<HeldRole>> = BTreeMap::new();
    for grant in grants {
        let held = HeldRole { role: grant.role, granted_by: grant.granted_by };
        roles.entry(grant.account_id).or_default().push(held);
    }
    let services = standings.iter().filter(|standing| standing.access_level == AccessLevel::Service);
    let mut agents = owners::lines(tx, org, services.map(|service| service.account_id).collect()).await?;
    let mut people = BTreeMap::new();
    for standing in standings {
        let id = standing.account_id;
        if people.contains_key(&id) {
            continue;
        }
        let owners = agents.remove(&id);
        people.insert(
            id,
            Candidate {
                account_id: id,
                status: standing.status,
                access_level: standing.access_level,
                level: standing.membership_level,
                roles: roles.remove(&id).unwrap_or_default(),
                is_agent: owners.is_some(),
                owners: owners.unwrap_or_default(),
            },
        );
    }
    Ok(people)
}

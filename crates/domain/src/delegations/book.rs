//! Where a request goes: the chain of delegations from whom a policy asks to who decides.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::{Delegation, DelegationKind, Matter};
use crate::accounts::Account;
use crate::tasks::Provenance;
use crate::{Id, Timestamp};

/// How many links a chain has at most; a longer one is no chain.
pub const CHAIN_MAX: usize = 16;

/// One step of a request from somebody to somebody else.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// From whom.
    pub from: Id<Account>,
    /// By which delegation; none: by hand.
    pub by: Option<Id<Delegation>>,
}

/// Through whom a request came, and where it ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chain {
    /// Each step, the first asked first.
    pub links: Vec<Link>,
    /// Who decides.
    pub to: Id<Account>,
}

/// Where a request goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Route {
    /// To whom it was meant for.
    Own,
    /// To somebody else.
    To(Chain),
    /// To nobody: somebody who had a hand in the task would decide, or choose who does.
    Void(Id<Account>),
    /// To whom it was meant for, because the delegations lead in a circle or on and on.
    Circle(Vec<Id<Account>>),
}

impl Route {
    /// Who decides, if it is somebody else.
    #[must_use]
    pub fn end(&self) -> Option<Id<Account>> {
        match self {
            Self::To(chain) => Some(chain.to),
            Self::Own | Self::Void(_) | Self::Circle(_) => None,
        }
    }
}

/// The delegations that matter, by their owners.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Book {
    of: BTreeMap<Id<Account>, Vec<Delegation>>,
}

impl FromIterator<Delegation> for Book {
    fn from_iter<I: IntoIterator<Item = Delegation>>(delegations: I) -> Self {
        let mut of: BTreeMap<Id<Account>, Vec<Delegation>> = BTreeMap::new();
        for delegation in delegations {
            of.entry(delegation.owner_id).or_default().push(delegation);
        }
        for owned in of.values_mut() {
            owned.sort_unstable_by_key(|delegation| delegation.id);
            owned.dedup_by_key(|delegation| delegation.id);
        }
        Self { of }
    }
}

impl Book {
    /// Whether nobody delegates anything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// Everybody whom a delegation names.
    pub fn delegates(&self) -> impl Iterator<Item = Id<Account>> {
        self.of.values().flatten().map(|delegation| delegation.delegate_to)
    }

    /// Whom somebody follows in this matter.
    pub fn followed(
        &self,
        owner: Id<Account>,
        matter: &Matter,
        provenance: &Provenance,
        now: Timestamp,
    ) -> Vec<Id<Delegation>> {
        let holds = |delegation: &&Delegation| {
            delegation.kind == DelegationKind::Follow && delegation.holds_for(matter, provenance, now)
        };
        self.owned(owner).iter().filter(holds).map(|delegation| delegation.id).collect()
    }

    /// Where a request to this person goes. Depth first: of several delegations that cover the matter the oldest
    /// counts; one to somebody who may not stand in is passed over.
    #[must_use]
    pub fn route(
        &self,
        owner: Id<Account>,
        matter: &Matter,
        (provenance, now): (&Provenance, Timestamp),
        may_stand_in: impl Fn(Id<Account>) -> bool,
    ) -> Route {
        let mut links: Vec<Link> = Vec::new();
        let mut at = owner;
        loop {
            let covers = |delegation: &&Delegation| {
                let is_active = delegation.kind == DelegationKind::Transfer && delegation.is_in_force(now);
                let is_void = provenance.includes(delegation.delegate_to);
                is_active
                    && delegation.conditions.cover(matter)
                    && (is_void || may_stand_in(delegation.delegate_to))
            };
            let Some(next) = self.owned(at).iter().find(covers) else { break };
            links.push(Link { from: at, by: Some(next.id) });
            at = next.delegate_to;
            if links.iter().any(|link| link.from == at) || links.len() > CHAIN_MAX {
                return Route::Circle(links.iter().map(|link| link.from).chain([at]).collect());
            }
            if provenance.includes(at) || provenance.meets(&next.behind) {
                return Route::Void(at);
            }
            if !next.cascade {
                break;
            }
        }
        if links.is_empty() { Route::Own } else { Route::To(Chain { links, to: at }) }
    }

    /// The circle that a delegation would close among those that hold at one time, whatever their conditions say. The
    /// shortest, each person looked at once: there are many more ways than people.
    #[must_use]
    pub fn circle(&self, new: &Delegation) -> Option<Vec<Id<Account>>> {
        if new.kind != DelegationKind::Transfer || !new.active || !new.cascade {
            return None;
        }
        let mut from = BTreeMap::from([(new.delegate_to, new.owner_id)]);
        let mut reached = vec![new];
        for _ in 0..CHAIN_MAX {
            if from.contains_key(&new.owner_id) || reached.is_empty() {
                break;
            }
            let onward = reached.iter().flat_map(|last| self.owned(last.delegate_to));
            // What goes no further matters only where it leads back.
            let holds = onward.filter(|next| {
                next.id != new.id
                    && next.active
                    && next.kind == DelegationKind::Transfer
                    && next.overlaps(new)
                    && (next.cascade || next.delegate_to == new.owner_id)
            });
            reached = holds.filter(|next| reach(&mut from, next)).collect();
        }
        from.contains_key(&new.owner_id).then(|| way_to(new.owner_id, &from))
    }

    fn owned(&self, owner: Id<Account>) -> &[Delegation] {
        self.of.get(&owner).map(Vec::as_slice).unwrap_or_default()
    }
}

/// Notes how somebody was reached, the first time.
fn reach(from: &mut BTreeMap<Id<Account>, Id<Account>>, next: &Delegation) -> bool {
    match from.entry(next.delegate_to) {
        Entry::Vacant(place) => {
            place.insert(next.owner_id);
            true
        }
        Entry::Occupied(_) => false,
    }
}

/// Everybody from this person back to the same.
fn way_to(end: Id<Account>, from: &BTreeMap<Id<Account>, Id<Account>>) -> Vec<Id<Account>> {
    let mut way = vec![end];
    let mut at = end;
    while let Some(before) = from.get(&at) {
        way.push(*before);
        at = *before;
        if at == end {
            break;
        }
    }
    way.reverse();
    way
}

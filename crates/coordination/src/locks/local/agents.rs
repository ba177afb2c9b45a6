//! Who has what: agents, the pieces of their work, and the locks of each.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::Id;
use domain::accounts::Account;
use domain::locks::{Hold, LOCKS_PER_AGENT_MAX, Owner};
use domain::organizations::Organization;

const SHARDS: usize = 16;

type Name = (Id<Organization>, Id<Account>);

/// Agents that hold or wait for something.
pub(super) struct Agents {
    shards: Vec<Mutex<HashMap<Name, Agent>>>,
    hasher: RandomState,
}

#[derive(Default)]
struct Agent {
    /// Locks it holds and waits for.
    uses: usize,
    owners: HashMap<Box<str>, Work>,
}

struct Work {
    owner: Arc<Owner>,
    uses: usize,
    held: HashSet<Id<Hold>>,
}

impl Agents {
    pub(super) fn new() -> Self {
        Self { shards: (0..SHARDS).map(|_| Mutex::default()).collect(), hasher: RandomState::new() }
    }

    fn shard(&self, name: &Name) -> MutexGuard<'_, HashMap<Name, Agent>> {
        let shard = usize::try_from(self.hasher.hash_one(name) % SHARDS as u64).unwrap_or(0);
        self.shards[shard].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more that this owner holds or waits for; none if the agent has as many as it may. `birth` is the owner's if
    /// it has nothing yet.
    pub(super) fn enter(&self, name: Name, owner: &str, birth: u64) -> Option<Arc<Owner>> {
        let mut shard = self.shard(&name);
        let agent = shard.entry(name).or_default();
        if agent.uses >= LOCKS_PER_AGENT_MAX {
            return None;
        }
        agent.uses += 1;
        if let Some(work) = agent.owners.get_mut(owner) {
            work.uses += 1;
            return Some(Arc::clone(&work.owner));
        }
        let made = Arc::new(Owner { org: name.0, agent: name.1, name: owner.into(), birth });
        let work = Work { owner: Arc::clone(&made), uses: 1, held: HashSet::new() };
        agent.owners.insert(owner.into(), work);
        Some(made)
    }

    /// Takes over an owner of an earlier run, with one thing it holds (then which) or waits for.
    pub(super) fn restore(&self, owner: &Arc<Owner>, held: Option<Id<Hold>>) {
        let mut shard = self.shard(&(owner.org, owner.agent));
        let agent = shard.entry((owner.org, owner.agent)).or_default();
        agent.uses += 1;
        let made = || Work { owner: Arc::clone(owner), uses: 0, held: HashSet::new() };
        let work = agent.owners.entry(owner.name.clone()).or_insert_with(made);
        work.uses += 1;
        work.held.extend(held);
    }

    /// What it waited for it now holds.
    pub(super) fn holds(&self, owner: &Owner, id: Id<Hold>) {
        let mut shard = self.shard(&(owner.org, owner.agent));
        let agent = shard.get_mut(&(owner.org, owner.agent));
        if let Some(work) = agent.and_then(|agent| agent.owners.get_mut(&owner.name)) {
            work.held.insert(id);
        }
    }

    /// One less that this owner holds (then which) or waits for.
    pub(super) fn leave(&self, owner: &Owner, held: Option<Id<Hold>>) {
        let name = (owner.org, owner.agent);
        let mut shard = self.shard(&name);
        let Some(agent) = shard.get_mut(&name) else { return };
        agent.uses -= 1;
        if let Some(work) = agent.owners.get_mut(&owner.name) {
            work.uses -= 1;
            if let Some(id) = held {
                work.held.remove(&id);
            }
            if work.uses == 0 {
                agent.owners.remove(&owner.name);
            }
        }
        if agent.uses == 0 {
            shard.remove(&name);
        }
    }

    /// The owner of this name, if it holds or waits for more than one thing. Nobody else's way is blocked by who only
    /// stands at the end of one line.
    pub(super) fn in_others_way(&self, name: Name, owner: &str) -> Option<Arc<Owner>> {
        let shard = self.shard(&name);
        let work = shard.get(&name)?.owners.get(owner).filter(|work| work.uses > 1)?;
        Some(Arc::clone(&work.owner))
    }

    /// The locks of one owner.
    pub(super) fn held_by(&self, owner: &Owner) -> Vec<Id<Hold>> {
        let shard = self.shard(&(owner.org, owner.agent));
        let agent = shard.get(&(owner.org, owner.agent));
        let work = agent.and_then(|agent| agent.owners.get(&owner.name));
        work.into_iter().flat_map(|work| work.held.iter().copied()).collect()
    }

    /// The pieces of an agent's work, with the locks of each.
    pub(super) fn owners_of(&self, name: Name) -> Vec<(Arc<Owner>, Vec<Id<Hold>>)> {
        let shard = self.shard(&name);
        let owners = shard.get(&name).into_iter().flat_map(|agent| agent.owners.values());
        owners.map(|work| (Arc::clone(&work.owner), work.held.iter().copied().collect())).collect()
    }
}

//! Who waits for whom, in one organization. Only keys with a line are here: nobody waits for anybody elsewhere.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::{Line, LockKey, Mode, Owner};

/// One owner waits for another.
#[derive(Clone, Debug)]
pub struct Edge {
    /// Who waits.
    pub waiter: Arc<Owner>,
    /// For which key.
    pub key: LockKey,
    /// Who holds it, or stands before the waiter.
    pub blocker: Arc<Owner>,
}

/// The wait-for graph, as copies of the lines there are. Whoever changes a line says so before others can see it.
#[derive(Debug, Default)]
pub struct Waits {
    lines: HashMap<LockKey, Copy>,
    /// By the owner's birth: the keys it stands in line for.
    waiting: HashMap<u64, BTreeSet<LockKey>>,
}

#[derive(Debug)]
struct Copy {
    holders: Vec<(Arc<Owner>, Mode)>,
    queue: Vec<(Arc<Owner>, Mode)>,
}

impl Copy {
    /// Those this owner waits for here. Who shares does not wait for others who share: what is in their way is in its
    /// own way too.
    fn blockers(&self, birth: u64) -> impl Iterator<Item = &Arc<Owner>> {
        let places = self.queue.iter().enumerate().filter(move |(_, (owner, _))| owner.birth == birth);
        places.flat_map(move |(place, (_, mode))| {
            let before = self.holders.iter().chain(&self.queue[..place]);
            before
                .filter(move |(owner, other)| owner.birth != birth && other.conflicts(*mode))
                .map(|(owner, _)| owner)
        })
    }
}

impl Waits {
    /// Takes over how a line stands.
    pub fn update(&mut self, key: &LockKey, line: &Line) {
        self.forget(key);
        if line.queue_length() == 0 {
            return;
        }
        let queue: Vec<_> = line.waiters().map(|waiter| (Arc::clone(&waiter.owner), waiter.mode)).collect();
        for (owner, _) in &queue {
            self.waiting.entry(owner.birth).or_default().insert(key.clone());
        }
        let holders = line.holders().iter().map(|hold| (Arc::clone(&hold.owner), hold.mode)).collect();
        self.lines.insert(key.clone(), Copy { holders, queue });
    }

    fn forget(&mut self, key: &LockKey) {
        let Some(copy) = self.lines.remove(key) else { return };
        for (owner, _) in copy.queue {
            if let Some(keys) = self.waiting.get_mut(&owner.birth) {
                keys.remove(key);
                if keys.is_empty() {
                    self.waiting.remove(&owner.birth);
                }
            }
        }
    }

    /// Whether nobody waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The keys an owner stands in line for.
    #[must_use]
    pub fn keys_of(&self, owner: &Owner) -> Vec<LockKey> {
        self.waiting.get(&owner.birth).into_iter().flatten().cloned().collect()
    }

    fn edges_of<'w>(&'w self, owner: &'w Arc<Owner>) -> impl Iterator<Item = Edge> + 'w {
        let keys = self.waiting.get(&owner.birth).into_iter().flatten();
        keys.filter_map(|key| Some((key, self.lines.get(key)?))).flat_map(move |(key, copy)| {
            copy.blockers(owner.birth).map(move |blocker| Edge {
                waiter: Arc::clone(owner),
                key: key.clone(),
                blocker: Arc::clone(blocker),
            })
        })
    }

    /// A circle through this owner, edge by edge, beginning and ending with it. A wait that was just added closes
    /// circles through its owner only.
    #[must_use]
    pub fn circle(&self, from: &Arc<Owner>) -> Option<Vec<Edge>> {
        let mut came_by: HashMap<u64, Edge> = HashMap::new();
        let mut open = vec![Arc::clone(from)];
        while let Some(owner) = open.pop() {
            for edge in self.edges_of(&owner) {
                let birth = edge.blocker.birth;
                if birth == from.birth {
                    return Some(path(edge, &came_by));
                }
                if let std::collections::hash_map::Entry::Vacant(unseen) = came_by.entry(birth) {
                    open.push(Arc::clone(&edge.blocker));
                    unseen.insert(edge);
                }
            }
        }
        None
    }

    /// Everybody who waits, and for whom.
    #[must_use]
    pub fn edges(&self) -> Vec<Edge> {
        let mut owners: HashMap<u64, &Arc<Owner>> = HashMap::new();
        for (owner, _) in self.lines.values().flat_map(|copy| &copy.queue) {
            owners.insert(owner.birth, owner);
        }
        let mut edges: Vec<Edge> = owners.values().flat_map(|owner| self.edges_of(owner)).collect();
        edges.sort_by(|a, b| {
            (a.waiter.birth, &a.key, a.blocker.birth).cmp(&(b.waiter.birth, &b.key, b.blocker.birth))
        });
        edges
    }

    /// Every circle there is, each owner in at most one of them. Where there is none, each wait is looked at once.
    #[must_use]
    pub fn circles(&self) -> Vec<Vec<Edge>> {
        let mut told = HashSet::new();
        let mut circles = Vec::new();
        let edges = self.edges();
        let stuck = stuck(&edges);
        for edge in edges.iter().filter(|edge| stuck.contains(&edge.waiter.birth)) {
            if told.contains(&edge.waiter.birth) {
                continue;
            }
            if let Some(circle) = self.circle(&edge.waiter) {
                told.extend(circle.iter().map(|edge| edge.waiter.birth));
                circles.push(circle);
            }
        }
        circles
    }
}

/// Those, by their birth, who would still wait if everybody who waits for nobody gave everything back, and those who
/// waited only for them, and so on: whoever is in a circle is among them.
fn stuck(edges: &[Edge]) -> HashSet<u64> {
    let mut waits: HashMap<u64, usize> = HashMap::new();
    let mut waiters: HashMap<u64, Vec<u64>> = HashMap::new();
    for edge in edges {
        *waits.entry(edge.waiter.birth).or_default() += 1;
        waiters.entry(edge.blocker.birth).or_default().push(edge.waiter.birth);
    }
    let mut done: Vec<u64> = waiters.keys().filter(|owner| !waits.contains_key(owner)).copied().collect();
    while let Some(owner) = done.pop() {
        for waiter in waiters.remove(&owner).unwrap_or_default() {
            let left = waits.entry(waiter).or_default();
            *left = left.saturating_sub(1);
            if *left == 0 {
                waits.remove(&waiter);
                done.push(waiter);
            }
        }
    }
    waits.into_keys().collect()
}

/// From the first owner along the edges it was reached by, and the last edge back to it.
fn path(last: Edge, came_by: &HashMap<u64, Edge>) -> Vec<Edge> {
    let mut path = vec![last];
    while let Some(edge) = path.last().and_then(|edge| came_by.get(&edge.waiter.birth)) {
        path.push(edge.clone());
    }
    path.reverse();
    path
}

/// Whoever loses: the youngest in the circle, because it has the least to lose.
#[must_use]
pub fn victim(circle: &[Edge]) -> Option<&Arc<Owner>> {
    circle.iter().map(|edge| &edge.waiter).max_by_key(|owner| owner.birth)
}

//! Looking at locks, and ending those of others.

use std::collections::BinaryHeap;

use domain::accounts::Account;
use domain::locks::{Hold, Waiter};
use domain::organizations::Organization;
use domain::{Id, Timestamp};
use tokio::sync::oneshot;

use super::Inner;
use super::lane::{LANES, Lane, Place, Reply};
use super::tickets::{End, Stage};
use super::turn::Turn;
use crate::locks::{Filter, Graph, Held, Refusal, Standing, Ticket, TicketStatus};

/// A lock as its holder sees it.
pub(super) fn held(place: &Place, hold: &Hold) -> Held {
    Held { key: place.key.clone(), hold: hold.clone() }
}

/// Looks at a key; the answer goes out when everything it rests on is durable.
async fn settled<T>(
    inner: &Inner,
    place: Place,
    look: impl FnOnce(&mut Turn<'_>) -> T,
) -> Result<T, Refusal> {
    inner.check_open()?;
    let (listener, answer) = oneshot::channel();
    let seen = {
        let mut turn = Turn::of_asker(inner, place);
        let seen = look(&mut turn);
        turn.answer(listener, Reply::Nothing);
        seen
    };
    answer.await.map_err(|_| inner.broken())?;
    Ok(seen)
}

pub(super) async fn is_current(inner: &Inner, place: Place, fence: u64) -> Result<bool, Refusal> {
    settled(inner, place, |turn| turn.line.holders().iter().any(|hold| hold.fence == fence)).await
}

pub(super) async fn force_release(
    inner: &Inner,
    place: Place,
    which: &[Id<Hold>],
) -> Result<Vec<Held>, Refusal> {
    settled(inner, place, |turn| {
        let end = |id: &Id<Hold>| turn.end(*id).map(|hold| turn.held(&hold));
        let ended = which.iter().filter_map(end).collect();
        turn.serve();
        ended
    })
    .await
}

pub(super) async fn release_all(
    inner: &Inner,
    org: Id<Organization>,
    agent: Id<Account>,
) -> Result<usize, Refusal> {
    let mut ended = 0;
    for (owner, held) in inner.agents.owners_of((org, agent)) {
        let keys = inner.waits(org).get(&org).map(|waits| waits.keys_of(&owner)).unwrap_or_default();
        for key in keys {
            let refusal = Refusal::Expired;
            let mine = |waiter: &Waiter| waiter.owner.birth == owner.birth;
            ended += settled(inner, Place { org, key }, |turn| turn.dismiss(mine, End::Cancelled, &refusal))
                .await?;
        }
        for id in held {
            let Some(place) = inner.index.find(id) else { continue };
            let given_back = settled(inner, place, |turn| turn.give_back(id).is_some()).await?;
            ended += usize::from(given_back);
        }
    }
    Ok(ended)
}

/// How a ticket stands, after it has left the line where that is asked for.
pub(super) async fn ticket(
    inner: &Inner,
    org: Id<Organization>,
    id: Id<Waiter>,
    leaves: bool,
) -> Result<Ticket, Refusal> {
    let entry = inner.tickets.find(id).filter(|entry| entry.place.org == org).ok_or(Refusal::NoTicket)?;
    let status = settled(inner, entry.place.clone(), |turn| {
        if leaves {
            turn.end_tickets(|waiter| waiter.ticket() == Some(id), End::Cancelled);
        }
        let stage = inner.tickets.find(id).map(|entry| entry.stage)?;
        Some(match stage {
            Stage::Waiting => {
                let position = turn.line.waiters().position(|waiter| waiter.ticket() == Some(id))?;
                TicketStatus::Waiting(position + 1)
            }
            Stage::Granted(lock) => {
                let hold = turn.line.holders().iter().find(|hold| hold.id == lock)?;
                TicketStatus::Granted(Box::new(turn.held(hold)))
            }
            Stage::Ended(End::Expired) => TicketStatus::Expired,
            Stage::Ended(End::Cancelled) => TicketStatus::Cancelled,
        })
    })
    .await?;
    let status = status.ok_or(Refusal::NoTicket)?;
    Ok(Ticket { id, key: entry.place.key, agent: entry.agent, status })
}

pub(super) fn queue(inner: &Inner, place: Place) -> Result<Standing, Refusal> {
    inner.check_open()?;
    let turn = Turn::at(inner, place);
    Ok(Standing {
        holders: turn.line.holders().iter().map(|hold| turn.held(hold)).collect(),
        waiters: turn.line.waiters().cloned().collect(),
    })
}

pub(super) fn graph(inner: &Inner, org: Id<Organization>) -> Result<Graph, Refusal> {
    inner.check_open()?;
    let graphs = inner.waits(org);
    let Some(waits) = graphs.get(&org) else { return Ok(Graph::default()) };
    Ok(Graph { edges: waits.edges(), circles: waits.circles() })
}

/// By when it was granted; newest first means that the greatest go out of the heap last.
struct Found(Held);

impl Found {
    fn order(&self) -> std::cmp::Reverse<(Timestamp, Id<Hold>)> {
        std::cmp::Reverse((self.0.hold.acquired_at, self.0.hold.id))
    }
}

impl PartialEq for Found {
    fn eq(&self, other: &Self) -> bool {
        self.order() == other.order()
    }
}
impl Eq for Found {}
impl PartialOrd for Found {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Found {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.order().cmp(&other.order())
    }
}

struct Search<'f> {
    filter: &'f Filter,
    now_ms: u64,
    found: BinaryHeap<Found>,
}

impl Search<'_> {
    fn look(&mut self, place: &Place, hold: &Hold) {
        let filter = self.filter;
        let wanted = place.org == filter.org
            && !hold.is_over(self.now_ms)
            && filter.agent.is_none_or(|agent| agent == hold.owner.agent)
            && filter.key.as_ref().is_none_or(|key| *key == place.key)
            && filter.resource_type.as_deref().is_none_or(|kind| place.key.resource_type() == Some(kind))
            && filter.before.is_none_or(|before| (hold.acquired_at, hold.id) < before);
        if !wanted {
            return;
        }
        self.found.push(Found(held(place, hold)));
        if self.found.len() > filter.limit {
            self.found.pop();
        }
    }

    fn lane(&mut self, lane: &Lane) {
        for (place, line) in &lane.lines {
            line.holders().iter().for_each(|hold| self.look(place, hold));
        }
    }
}

/// Those of one key or one agent are found directly; otherwise all are looked at, lane by lane.
pub(super) fn list(inner: &Inner, filter: &Filter) -> Result<Vec<Held>, Refusal> {
    inner.check_open()?;
    let mut search = Search { filter, now_ms: inner.time.monotonic_ms(), found: BinaryHeap::new() };
    let look_at = |place: &Place, search: &mut Search<'_>| {
        let lane = inner.lane(inner.lane_of(place));
        let holders = lane.lines.get(place).into_iter().flat_map(|line| line.holders());
        holders.for_each(|hold| search.look(place, hold));
    };
    if let Some(key) = &filter.key {
        look_at(&Place { org: filter.org, key: key.clone() }, &mut search);
    } else if let Some(agent) = filter.agent {
        let ids = inner.agents.owners_of((filter.org, agent)).into_iter().flat_map(|(_, held)| held);
        let places: std::collections::HashSet<Place> = ids.filter_map(|id| inner.index.find(id)).collect();
        places.iter().for_each(|place| look_at(place, &mut search));
    } else {
        (0..LANES).for_each(|number| search.lane(&inner.lane(number)));
    }
    Ok(search.found.into_sorted_vec().into_iter().map(|found| found.0).collect())
}

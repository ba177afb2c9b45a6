//! An agent in a few facts.

use domain::Timestamp;
use domain::agents::{Agent, AgentStatus};
use hub::agents::Seen;
use uuid::Uuid;

use crate::pages::lists::{Address, Names};
use crate::pages::show::{Face, Markup, ago, grouped, line, long, plural, whole};

/// One agent.
pub(in crate::pages) struct Card {
    pub(in crate::pages) id: Uuid,
    pub(in crate::pages) face: Face,
    pub(in crate::pages) description: Markup,
    /// The same where the card shows only its beginning.
    pub(in crate::pages) whole: Option<String>,
    pub(in crate::pages) dot: &'static str,
    pub(in crate::pages) health: String,
    pub(in crate::pages) heard: Option<Markup>,
    pub(in crate::pages) working: String,
    /// Of a hundred.
    pub(in crate::pages) load: i64,
    pub(in crate::pages) queued: String,
    pub(in crate::pages) labels: Vec<Markup>,
    pub(in crate::pages) owner: Face,
    pub(in crate::pages) is_off: bool,
    pub(in crate::pages) to: String,
}

/// What somebody should look at.
pub(in crate::pages) struct Trouble {
    pub(in crate::pages) name: Markup,
    pub(in crate::pages) words: String,
    pub(in crate::pages) since: Markup,
    pub(in crate::pages) to: String,
}

/// A disc, a ring or a diamond, and a word.
pub(in crate::pages) fn health(agent: &Agent, active_tasks: i64) -> (&'static str, String) {
    let tasks = plural(usize::try_from(active_tasks).unwrap_or(0), "task");
    match agent.status() {
        AgentStatus::Active => ("dot-ok", "Active".to_owned()),
        AgentStatus::Draining if active_tasks > 0 => ("dot-warn", format!("Draining, {tasks} to finish")),
        AgentStatus::Draining => ("dot-warn", "Draining, nothing left to finish".to_owned()),
        AgentStatus::Offline if agent.last_heartbeat.is_none() => ("dot-off", "Never heard".to_owned()),
        AgentStatus::Offline => ("dot-bad", "Offline".to_owned()),
    }
}

pub(in crate::pages) fn card(seen: &Seen, names: &Names, address: &Address, now: Timestamp) -> Card {
    let agent = &seen.agent;
    let (dot, health) = health(agent, seen.workload.active_tasks);
    let active = seen.workload.active_tasks;
    Card {
        id: agent.id.raw(),
        face: Face { name: agent.name.clone(), is_agent: true, is_me: false },
        description: line(&agent.description),
        whole: whole(&agent.description),
        dot,
        health,
        heard: agent.last_heartbeat.map(|at| ago(at, now)),
        working: format!("{} of {}", grouped(active), grouped(agent.max_tasks)),
        load: (active * 100 / agent.max_tasks.max(1)).clamp(0, 100),
        queued: grouped(seen.workload.queued_tasks),
        labels: agent.labels.iter().map(|(key, value)| line(&format!("{key}={value}"))).collect(),
        owner: names.face(agent.owner_id),
        is_off: agent.status() == AgentStatus::Offline,
        to: address.clone().with("agent", agent.id).to_string(),
    }
}

/// An agent that was there and is silent; worse, if it has work in hand.
pub(in crate::pages) fn trouble(seen: &Seen, now: Timestamp) -> Option<Trouble> {
    let agent = &seen.agent;
    let heard = agent.last_heartbeat.filter(|_| agent.status() == AgentStatus::Offline)?;
    let active = usize::try_from(seen.workload.active_tasks).unwrap_or(0);
    let queued = usize::try_from(seen.workload.queued_tasks).unwrap_or(0);
    let words = match (active, queued) {
        (0, 0) => "Nothing waits for it.".to_owned(),
        (0, queued) => format!("{} for it.", verb(queued)),
        (active, _) => format!(
            "It was working on {}; when its lease is over the hub ends the attempt.",
            plural(active, "task")
        ),
    };
    Some(Trouble {
        name: line(&agent.name),
        words,
        since: long(heard, now),
        to: Address::of("/agents").with("agent", agent.id).to_string(),
    })
}

fn verb(queued: usize) -> String {
    if queued == 1 { "1 task waits".to_owned() } else { format!("{} wait", plural(queued, "task")) }
}

//! The latest deadlock, from its audit row: who waited for whom, and who gave way.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::Timestamp;
use domain::accounts::Account;
use domain::audit::AuditEntry;
use domain::{Id, rendering};
use hub::audit::list;
use hub::{AuditFilter, HubError};
use serde_json::Value;
use uuid::Uuid;

use super::picture::{Node, Picture, Tie, draw};
use crate::App;
use crate::pages::lists::Names;
use crate::pages::shell::Shell;
use crate::pages::show::{Face, Markup, absolute, ago, line};

/// Older ones are in the audit log.
const LOOKED_BACK: Duration = Duration::from_secs(7 * 24 * 60 * 60);
const EDGES_MAX: usize = 24;

/// What happened.
pub(super) struct Deadlock {
    pub(super) row: Uuid,
    pub(super) at: String,
    pub(super) ago: Markup,
    pub(super) loser: Face,
    pub(super) waits: Vec<Wait>,
    pub(super) again: Option<String>,
}

/// One of those in the circle.
pub(super) struct Wait {
    pub(super) who: Face,
    pub(super) piece: Option<String>,
    pub(super) key: String,
    pub(super) held_by: Face,
    pub(super) held_by_piece: Option<String>,
}

impl Wait {
    /// The key as a reader can trust it.
    pub(super) fn key(&self) -> Markup {
        line(&self.key)
    }
}

/// The latest of the last days.
pub(super) async fn latest(app: &App, shell: &Shell) -> Result<Option<Deadlock>, HubError> {
    // Nobody who may not read the log is told what is in it.
    if shell.caller.require(domain::permissions::Capability::AuditRead).is_err() {
        return Ok(None);
    }
    let filter = AuditFilter {
        action: Some("lock:deadlock".to_owned()),
        from: Some(shell.now.minus(LOOKED_BACK)),
        ..AuditFilter::default()
    };
    const COUNTED: i64 = 100;
    let rows = list::list(&app.hub, &shell.caller, filter, COUNTED).await?;
    let Some(newest) = rows.first().map(|row| &row.entry) else { return Ok(None) };
    let members = members(newest);
    let ids = rows.iter().flat_map(|row| self::members(&row.entry)).filter_map(|text| text.parse().ok());
    let names = Names::of(app, shell, ids.collect::<Vec<Id<Account>>>()).await?;
    let same = rows.iter().filter(|row| self::members(&row.entry) == members).count();
    let again = (same > 1).then(|| format!("{same} times in 7 days between the same agents"));
    Ok(Some(read(newest, &names, again, shell.now)))
}

/// The agents in the circle.
fn members(entry: &AuditEntry) -> Vec<String> {
    let mut agents: Vec<String> = edges(entry).iter().map(|edge| text(edge, "agent_id")).collect();
    agents.sort();
    agents.dedup();
    agents
}

fn edges(entry: &AuditEntry) -> Vec<&Value> {
    let cycle = entry.details.get("cycle").and_then(Value::as_array);
    cycle.map(|edges| edges.iter().take(EDGES_MAX).collect()).unwrap_or_default()
}

fn text(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn read(entry: &AuditEntry, names: &Names, again: Option<String>, now: Timestamp) -> Deadlock {
    let piece = |edge: &Value, agent: &str, owner: &str| {
        let owner = text(edge, owner);
        let is_said = owner != text(edge, agent) && Uuid::parse_str(&owner).is_err();
        is_said.then_some(owner)
    };
    let wait = |edge: &Value| Wait {
        who: names.face_of(&text(edge, "agent_id")),
        piece: piece(edge, "agent_id", "owner"),
        key: text(edge, "waits_for"),
        held_by: names.face_of(&text(edge, "held_by_agent_id")),
        held_by_piece: piece(edge, "held_by_agent_id", "held_by_owner"),
    };
    let loser = entry.details.get("agent_id").and_then(Value::as_str).unwrap_or_default();
    Deadlock {
        row: entry.id.raw(),
        at: absolute(entry.occurred_at),
        ago: ago(entry.occurred_at, now),
        loser: names.face_of(loser),
        waits: edges(entry).into_iter().map(wait).collect(),
        again,
    }
}

impl Deadlock {
    /// The circle, drawn.
    pub(super) fn picture(&self) -> Picture {
        let mut nodes: Vec<Node> = Vec::new();
        let mut places: BTreeMap<(bool, String), usize> = BTreeMap::new();
        let mut place = |is_key: bool, node: Node| -> usize {
            *places.entry((is_key, node.whole.clone())).or_insert_with(|| {
                nodes.push(node.bad(true));
                nodes.len() - 1
            })
        };
        let owner = |face: &Face, piece: &Option<String>| Node::of_owner(face.name.clone(), piece.clone());
        let mut ties = Vec::new();
        for wait in &self.waits {
            let waiter = place(false, owner(&wait.who, &wait.piece));
            let key = place(true, Node::of_key(&wait.key));
            let holder = place(false, owner(&wait.held_by, &wait.held_by_piece));
            ties.push(Tie { from: waiter, to: key, waits: true, is_bad: true, label: "waits".to_owned() });
            ties.push(Tie { from: key, to: holder, waits: false, is_bad: true, label: "held by".to_owned() });
        }
        let told: Vec<String> = self
            .waits
            .iter()
            .map(|wait| {
                let name = rendering::plain;
                format!(
                    "{} waits for {}, held by {}",
                    name(&wait.who.name),
                    wait.key,
                    name(&wait.held_by.name)
                )
            })
            .collect();
        draw(nodes, &ties, format!("A circle: {}.", told.join("; ")))
    }
}

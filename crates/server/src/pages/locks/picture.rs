//! Who waits for whom, drawn: agents are boxes, keys are pills, an arrow waits, a bar holds.

use std::collections::{BTreeMap, BTreeSet};

use domain::locks::{LockKey, Owner};
use domain::{Timestamp, rendering};
use hub::HubError;
use hub::locks::{Graph, Standing};

use super::{Address, PLACES_SHOWN, agents_of, fence};
use crate::App;
use crate::pages::drawing::fitting;
use crate::pages::drawing::layers::{Line, Sizes, layered};
use crate::pages::lists::Names;
use crate::pages::shell::Shell;
use crate::pages::show::{plural, span};

const SIZES: Sizes = Sizes { width: 184, height: 48, across: 140, between: 26, margin: 24 };
const TEXT: i32 = 34;

/// What is drawn, before it has a place.
pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) name: String,
    pub(super) sub: String,
    pub(super) is_bad: bool,
    pub(super) to: Option<String>,
}

#[derive(Clone, Copy)]
pub(super) enum Kind {
    Owner,
    Key,
}

/// A line between two nodes, by their places.
pub(super) struct Tie {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) waits: bool,
    pub(super) is_bad: bool,
    pub(super) label: String,
}

/// The drawing.
pub(super) struct Picture {
    pub(super) width: i32,
    pub(super) height: i32,
    /// What one sees in it.
    pub(super) finding: String,
    pub(super) nodes: Vec<Drawn>,
    pub(super) ties: Vec<DrawnTie>,
}

pub(super) struct Drawn {
    pub(super) x: i32,
    pub(super) y: i32,
    pub(super) width: i32,
    pub(super) height: i32,
    pub(super) round: i32,
    pub(super) icon: &'static str,
    pub(super) is_bad: bool,
    pub(super) whole: String,
    pub(super) name: String,
    pub(super) sub: String,
    pub(super) to: Option<String>,
    pub(super) text_x: i32,
    pub(super) name_y: i32,
    pub(super) sub_y: i32,
}

pub(super) struct DrawnTie {
    pub(super) class: &'static str,
    pub(super) line: Line,
    pub(super) label: String,
    pub(super) is_bad: bool,
}

/// Gives everything its place.
pub(super) fn draw(nodes: Vec<Node>, ties: &[Tie], finding: String) -> Picture {
    let arrows: Vec<(usize, usize)> = ties.iter().map(|tie| (tie.from, tie.to)).collect();
    let layout = layered(nodes.len(), &arrows, SIZES);
    let drawn = |place: &usize| {
        let (node, (x, y)) = (&nodes[*place], layout.nodes[*place]);
        let whole = match node.sub.is_empty() {
            true => rendering::plain(&node.name),
            false => rendering::plain(&format!("{}, {}", node.name, node.sub)),
        };
        let (name, sub) = (rendering::plain(&node.name), rendering::plain(&node.sub));
        let is_two = !sub.is_empty();
        Drawn {
            x,
            y,
            width: SIZES.width,
            height: SIZES.height,
            round: if matches!(node.kind, Kind::Key) { SIZES.height / 2 } else { 8 },
            icon: if matches!(node.kind, Kind::Key) { "lock" } else { "agent" },
            is_bad: node.is_bad,
            whole,
            name: shortened(&name, node.kind),
            sub: fitting(&sub, SIZES.width - TEXT - 8),
            to: node.to.clone(),
            text_x: x + TEXT,
            name_y: y + if is_two { 21 } else { 28 },
            sub_y: y + 37,
        }
    };
    let class = |tie: &Tie| match (tie.waits, tie.is_bad) {
        (true, true) => "edge edge-bad",
        (true, false) => "edge",
        (false, _) => "edge edge-hold",
    };
    let lines = ties.iter().zip(layout.lines).map(|(tie, line)| DrawnTie {
        class: class(tie),
        line,
        label: tie.label.clone(),
        is_bad: tie.is_bad,
    });
    Picture {
        width: layout.width,
        height: layout.height,
        finding,
        nodes: layout.reading.iter().map(drawn).collect(),
        ties: lines.collect(),
    }
}

/// Of a key its end tells more than `resource:`.
fn shortened(name: &str, kind: Kind) -> String {
    let name = match kind {
        Kind::Key => name.strip_prefix("resource:").unwrap_or(name),
        Kind::Owner => name,
    };
    fitting(name, SIZES.width - TEXT - 10)
}

/// How these lines stand now; none if there are none.
pub(super) async fn of_lines(
    app: &App,
    shell: &Shell,
    lines: &[(LockKey, Standing)],
    graph: &Graph,
) -> Result<Option<Picture>, HubError> {
    if lines.is_empty() {
        return Ok(None);
    }
    let mut owners = Vec::new();
    for (_, standing) in lines {
        owners.extend(agents_of(standing));
    }
    let names = Names::of(app, shell, owners).await?;
    Ok(Some(drawn(lines, graph, &names, shell.now)))
}

fn drawn(lines: &[(LockKey, Standing)], graph: &Graph, names: &Names, now: Timestamp) -> Picture {
    let circle: BTreeSet<(u64, &str)> =
        graph.circles.iter().flatten().map(|edge| (edge.waiter.birth, edge.key.as_str())).collect();
    let mut canvas = Canvas { names, nodes: Vec::new(), places: BTreeMap::new(), circle: &circle };
    let mut ties = Vec::new();
    for (key, standing) in lines {
        let pill = canvas.key(key);
        for held in &standing.holders {
            let to = canvas.owner(&held.hold.owner);
            let label = format!("fence {}", fence(held.hold.fence));
            let is_bad = canvas.is_in_circle(&held.hold.owner);
            ties.push(Tie { from: pill, to, waits: false, is_bad, label });
        }
        for waiter in standing.waiters.iter().take(PLACES_SHOWN) {
            let from = canvas.owner(&waiter.owner);
            let label = format!("waits {}", span(now.since(waiter.asked_at)));
            let is_bad = circle.contains(&(waiter.owner.birth, key.as_str()));
            ties.push(Tie { from, to: pill, waits: true, is_bad, label });
        }
    }
    let finding = found(lines, graph);
    let nodes = std::mem::take(&mut canvas.nodes);
    draw(nodes, &ties, finding)
}

fn found(lines: &[(LockKey, Standing)], graph: &Graph) -> String {
    let told: Vec<String> = lines
        .iter()
        .map(|(key, standing)| format!("{} for {key}", plural(standing.waiters.len(), "place")))
        .collect();
    let circles = match graph.circles.len() {
        0 => "Nobody waits in a circle.".to_owned(),
        count => format!("{} of waiting.", plural(count, "circle")),
    };
    format!("In line: {}. {circles}", told.join(", "))
}

struct Canvas<'a> {
    names: &'a Names,
    nodes: Vec<Node>,
    /// Owners by their birth, keys by their name.
    places: BTreeMap<(u64, String), usize>,
    circle: &'a BTreeSet<(u64, &'a str)>,
}

impl Canvas<'_> {
    fn is_in_circle(&self, owner: &Owner) -> bool {
        self.circle.iter().any(|(birth, _)| *birth == owner.birth)
    }

    fn put(&mut self, place: (u64, String), node: Node) -> usize {
        let nodes = &mut self.nodes;
        *self.places.entry(place).or_insert_with(|| {
            nodes.push(node);
            nodes.len() - 1
        })
    }

    fn owner(&mut self, owner: &Owner) -> usize {
        let is_said = *owner.name != *owner.agent.to_string() && uuid::Uuid::parse_str(&owner.name).is_err();
        let sub = if is_said { owner.name.to_string() } else { String::new() };
        let to = Some(Address::of("/locks").with("agent", owner.agent).to_string());
        let node = Node {
            kind: Kind::Owner,
            name: self.names.name(owner.agent),
            sub,
            is_bad: self.is_in_circle(owner),
            to,
        };
        self.put((owner.birth, String::new()), node)
    }

    fn key(&mut self, key: &LockKey) -> usize {
        let is_bad = self.circle.iter().any(|(_, name)| *name == key.as_str());
        let to = Some(Address::of("/locks").with("line", key).to_string());
        let node = Node { kind: Kind::Key, name: key.to_string(), sub: String::new(), is_bad, to };
        self.put((u64::MAX, key.to_string()), node)
    }
}

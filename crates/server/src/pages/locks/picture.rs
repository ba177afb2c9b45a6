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

const SIZES: Sizes = Sizes { width: 184, height: 48, across: 72, between: 26, margin: 16 };
const TEXT: i32 = 34;
/// How wide a letter of a label is, from above.
const LABEL_LETTER: i32 = 7;
/// What is seen of a line beside its label.
const LABEL_ROOM: i32 = 10;

/// What is drawn, before it has a place.
pub(super) struct Node {
    kind: Kind,
    /// Everything that is to be said of it; of the others only what fits is shown.
    pub(super) whole: String,
    name: String,
    sub: String,
    is_bad: bool,
    to: Option<String>,
}

impl Node {
    /// An agent, with the piece of its work where it named one.
    pub(super) fn of_owner(name: String, piece: Option<String>) -> Self {
        let whole = piece.as_ref().map_or(name.clone(), |piece| format!("{name}, {piece}"));
        let sub = piece.unwrap_or_default();
        Self { kind: Kind::Owner, whole, name, sub, is_bad: false, to: None }
    }

    /// Of a key its end tells most, so what kind of thing it is of stands below.
    pub(super) fn of_key(key: &str) -> Self {
        let of_what = key.strip_prefix("resource:").unwrap_or(key);
        let (sub, name) = of_what.split_once(':').unwrap_or(("", of_what));
        let (name, sub) = (name.to_owned(), sub.to_owned());
        Self { kind: Kind::Key, whole: key.to_owned(), name, sub, is_bad: false, to: None }
    }

    /// The same, in the circle.
    pub(super) fn bad(self, is_bad: bool) -> Self {
        Self { is_bad, ..self }
    }

    fn leading_to(self, to: Address) -> Self {
        Self { to: Some(to.to_string()), ..self }
    }
}

#[derive(Clone, Copy)]
enum Kind {
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
    let layout = layered(nodes.len(), &arrows, Sizes { across: across(ties), ..SIZES });
    let drawn = |place: &usize| {
        let (node, (x, y)) = (&nodes[*place], layout.nodes[*place]);
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
            whole: rendering::plain(&node.whole),
            name: fitting(&name, SIZES.width - TEXT - 10),
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

impl Picture {
    /// Whether anybody waits in a circle.
    pub(super) fn has_circle(&self) -> bool {
        self.ties.iter().any(|tie| tie.is_bad)
    }
}

/// How far apart layers stand, so that each line has room for its label, and no more: what is too wide is cut off.
fn across(ties: &[Tie]) -> i32 {
    let letters = ties.iter().map(|tie| tie.label.chars().count()).max().unwrap_or(0);
    let room = i32::try_from(letters).unwrap_or(0) * LABEL_LETTER + LABEL_ROOM;
    room.max(SIZES.across)
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
        let piece = is_said.then(|| owner.name.to_string());
        let node = Node::of_owner(self.names.name(owner.agent), piece).bad(self.is_in_circle(owner));
        let to = Address::of("/locks").with("agent", owner.agent);
        self.put((owner.birth, String::new()), node.leading_to(to))
    }

    fn key(&mut self, key: &LockKey) -> usize {
        let is_bad = self.circle.iter().any(|(_, name)| *name == key.as_str());
        let to = Address::of("/locks").with("line", key);
        self.put((u64::MAX, key.to_string()), Node::of_key(key.as_str()).bad(is_bad).leading_to(to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left of a window of 1,280 pixels beside the navigation, the margins and a scroll bar.
    const ROOM: i32 = 990;

    fn tie(from: usize, to: usize, waits: bool, label: &str) -> Tie {
        Tie { from, to, waits, is_bad: waits, label: label.to_owned() }
    }

    fn nodes() -> Vec<Node> {
        let owner = |name: &str| Node::of_owner(name.to_owned(), None);
        vec![
            owner("ledger-mover"),
            Node::of_key("resource:database:prod-orders"),
            owner("index-keeper"),
            Node::of_key("task:0197a000-0000-7000-8000-000000000000"),
        ]
    }

    #[test]
    fn what_is_mostly_drawn_fits_into_a_window_of_the_usual_width() {
        let line = [tie(0, 1, true, "waits 59 min"), tie(1, 2, false, "fence 30,064,771,114")];
        let in_line = draw(nodes().into_iter().take(3).collect(), &line, String::new());
        assert!(in_line.width <= ROOM, "{}", in_line.width);
        let circle = [(0, 1, true), (1, 2, false), (2, 3, true), (3, 0, false)];
        let circle =
            circle.map(|(from, to, waits)| tie(from, to, waits, if waits { "waits" } else { "held by" }));
        let picture = draw(nodes(), &circle, String::new());
        assert!(picture.width <= ROOM && picture.has_circle(), "{}", picture.width);
    }

    #[test]
    fn a_key_is_named_by_its_end_and_told_whole() {
        let told = |key: &str| {
            let node = Node::of_key(key);
            (node.name, node.sub, node.whole)
        };
        let of = |name: &str, sub: &str, whole: &str| (name.to_owned(), sub.to_owned(), whole.to_owned());
        let key = "resource:database:prod:orders";
        assert_eq!(told(key), of("prod:orders", "database", key));
        assert_eq!(told("task:7"), of("7", "task", "task:7"));
        assert_eq!(told("odd"), of("odd", "", "odd"));
    }
}

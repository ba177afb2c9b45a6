//! The plan, drawn.

use std::collections::BTreeSet;

use domain::tasks::TaskState;
use domain::{Timestamp, rendering};
use hub::tasks::Seen;
use uuid::Uuid;

use super::Web;
use crate::pages::drawing::fitting;
use crate::pages::drawing::layers::{Sizes, layered};
use crate::pages::show::{plural, span};
use crate::pages::task_list::rows::{since, title_of};

const SIZES: Sizes = Sizes { width: 256, height: 56, across: 56, between: 24, margin: 20 };
const TEXT: i32 = 36;

/// The drawing.
pub(super) struct Picture {
    pub(super) width: i32,
    pub(super) height: i32,
    /// What one sees in it.
    pub(super) finding: String,
    pub(super) nodes: Vec<Node>,
    pub(super) edges: Vec<(&'static str, String)>,
}

/// One task.
pub(super) struct Node {
    pub(super) id: Uuid,
    pub(super) class: &'static str,
    pub(super) icon: String,
    pub(super) x: i32,
    pub(super) y: i32,
    pub(super) width: i32,
    pub(super) height: i32,
    pub(super) whole: String,
    pub(super) name: String,
    pub(super) sub: String,
}

pub(super) fn draw(web: &Web<'_>, now: Timestamp) -> Picture {
    let layout = layered(web.tasks.len(), &web.edges, SIZES);
    let longest = web.longest();
    let steps: BTreeSet<(usize, usize)> = longest.windows(2).map(|pair| (pair[0], pair[1])).collect();
    let class = |edge: &(usize, usize)| match web.state(edge.0) {
        TaskState::Completed => "edge edge-done",
        state if state.is_dead() => "edge edge-bad",
        _ if steps.contains(edge) => "edge edge-crit",
        _ => "edge",
    };
    let node = |place: &usize| {
        let (seen, (x, y)) = (&web.tasks[*place], layout.nodes[*place]);
        let title = rendering::plain(&title_of(seen));
        Node {
            id: seen.task.id.raw(),
            class: shape(seen, longest.first() == Some(place)),
            icon: format!("s-{}", seen.task.state.as_str().to_ascii_lowercase()),
            x,
            y,
            width: SIZES.width,
            height: SIZES.height,
            name: fitting(&title, SIZES.width - TEXT - 8),
            whole: title,
            sub: sub(seen, now),
        }
    };
    Picture {
        width: layout.width,
        height: layout.height,
        finding: finding(web, &longest),
        nodes: layout.reading.iter().map(node).collect(),
        edges: web.edges.iter().map(class).zip(layout.lines.into_iter().map(|line| line.path)).collect(),
    }
}

fn finding(web: &Web<'_>, longest: &[usize]) -> String {
    let counts = format!(
        "{} and {}",
        plural(web.tasks.len(), "task"),
        plural(web.edges.len(), "dependency").replace("dependencys", "dependencies")
    );
    match longest.first() {
        Some(first) if longest.len() > 1 => format!(
            "{counts}. The longest wait has {} and begins with {}.",
            plural(longest.len(), "task"),
            rendering::plain(&title_of(&web.tasks[*first]))
        ),
        _ => format!("{counts}."),
    }
}

fn shape(seen: &Seen, is_first_of_longest: bool) -> &'static str {
    match seen.task.state {
        TaskState::Completed => "node node-done",
        TaskState::Applying => "node node-run",
        state if state.is_dead() => "node node-bad",
        _ if is_first_of_longest => "node node-hot",
        TaskState::Draft | TaskState::Approved if seen.task.is_blocked() => "node node-wait",
        _ => "node",
    }
}

fn sub(seen: &Seen, now: Timestamp) -> String {
    let state = seen.task.state.as_str().to_ascii_lowercase();
    let blocked = seen.blocked_by().len();
    match blocked {
        0 => format!("{state}, {}", span(now.since(since(&seen.task)))),
        count => format!("{state}, waits for {count}"),
    }
}

//! Which task waits for which: a graph without circles, inside one project (PLAN-24, PLAN-26).

use std::collections::{BTreeMap, BTreeSet};

use super::{Task, TaskState};
use crate::Id;
use crate::grants::Skip;
use crate::json::FieldError;
use crate::projects::Project;

/// How many tasks one may wait for.
pub const PREREQUISITES_MAX: usize = 100;
/// How many tasks may wait for one.
pub const DEPENDENTS_MAX: i64 = 1000;

/// `dependent` waits for `depends_on`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Edge {
    /// What has to be done first.
    pub depends_on: Id<Task>,
    /// What waits for it.
    pub dependent: Id<Task>,
}

/// A task another waits for, or would.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Prerequisite {
    /// Which.
    pub task_id: Id<Task>,
    /// Where it lives.
    pub project_id: Id<Project>,
    /// Where it stands.
    pub state: TaskState,
    /// How many wait for it already, whoever asks left out.
    pub other_dependents: i64,
}

/// What a task waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockedBy {
    /// Which task.
    pub task_id: Id<Task>,
    /// Where that one stands.
    pub state: TaskState,
    /// Whether it will never be done (DECISIONS.md 28).
    pub dead: bool,
}

/// Those of the prerequisites that are not done.
#[must_use]
pub fn blocked_by(prerequisites: &[(Id<Task>, TaskState)]) -> Vec<BlockedBy> {
    let open = prerequisites.iter().filter(|(_, state)| *state != TaskState::Completed);
    open.map(|(task_id, state)| BlockedBy { task_id: *task_id, state: *state, dead: state.is_dead() })
        .collect()
}

/// Those of them that have to be: without what two admins signed that it need not wait for.
#[must_use]
pub fn unskipped(prerequisites: &[(Id<Task>, TaskState)], skip: Option<&Skip>) -> Vec<BlockedBy> {
    let is_skipped = |by: &BlockedBy| skip.is_some_and(|skip| skip.prerequisites.contains(&by.task_id));
    blocked_by(prerequisites).into_iter().filter(|by| !is_skipped(by)).collect()
}

/// Whether a task waits for another.
#[must_use]
pub fn is_blocked(states: impl IntoIterator<Item = TaskState>) -> bool {
    states.into_iter().any(|state| state != TaskState::Completed)
}

/// What has to hold before a task may wait for others.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The task; none while it is being made.
    pub task: Option<Id<Task>>,
    /// Where it lives, or moves to.
    pub project: Id<Project>,
    /// What it shall wait for, as it was sent.
    pub depends_on: &'a [Id<Task>],
    /// Those of them that exist in the organization.
    pub found: &'a [Prerequisite],
    /// Every edge below the task: its dependents, theirs, and so on.
    pub below: &'a [Edge],
}

/// Whether the task may wait for these, all of them.
///
/// # Errors
/// Names each that is wrong, by pointers that begin with `/depends_on`.
pub fn check(wanted: &Wanted<'_>) -> Result<(), Vec<FieldError>> {
    if wanted.depends_on.len() > PREREQUISITES_MAX {
        let detail = format!("must be at most {PREREQUISITES_MAX}, these are {}", wanted.depends_on.len());
        return Err(vec![FieldError::on_member("depends_on", detail)]);
    }
    let parents = parents(wanted);
    let mut seen = BTreeSet::new();
    let wrong = wanted.depends_on.iter().enumerate().filter_map(|(index, id)| {
        let detail =
            if seen.insert(*id) { refusal(wanted, &parents, *id)? } else { "is named twice".to_owned() };
        Some(FieldError { pointer: format!("/depends_on/{index}"), detail })
    });
    let errors: Vec<FieldError> = wrong.collect();
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

fn refusal(wanted: &Wanted<'_>, parents: &BTreeMap<Id<Task>, Id<Task>>, id: Id<Task>) -> Option<String> {
    if wanted.task == Some(id) {
        return Some("a task cannot wait for itself".to_owned());
    }
    let Some(found) = wanted.found.iter().find(|found| found.task_id == id) else {
        return Some("there is no such task".to_owned());
    };
    if found.project_id != wanted.project {
        return Some("is in another project: tasks wait for tasks of their own project only".to_owned());
    }
    if found.other_dependents >= DEPENDENTS_MAX {
        return Some(format!("{DEPENDENTS_MAX} tasks wait for it already"));
    }
    circle(parents, id).map(|chain| format!("would close a circle: {}", chain.join(" waits for ")))
}

/// Where each task below was reached from, the task itself from nowhere.
fn parents(wanted: &Wanted<'_>) -> BTreeMap<Id<Task>, Id<Task>> {
    let Some(task) = wanted.task else { return BTreeMap::new() };
    let mut below: BTreeMap<Id<Task>, Vec<Id<Task>>> = BTreeMap::new();
    for edge in wanted.below {
        below.entry(edge.depends_on).or_default().push(edge.dependent);
    }
    let mut parents = BTreeMap::from([(task, task)]);
    let mut queue = vec![task];
    while let Some(at) = queue.pop() {
        for next in below.get(&at).into_iter().flatten() {
            parents.entry(*next).or_insert_with(|| {
                queue.push(*next);
                at
            });
        }
    }
    parents
}

/// The way from what is wanted up to the task and back, if what is wanted waits for the task already.
fn circle(parents: &BTreeMap<Id<Task>, Id<Task>>, wanted: Id<Task>) -> Option<Vec<String>> {
    let mut chain = vec![wanted.to_string()];
    let mut at = wanted;
    loop {
        let parent = *parents.get(&at)?;
        if parent == at {
            chain.push(wanted.to_string());
            return Some(chain);
        }
        chain.push(parent.to_string());
        at = parent;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    const HERE: Id<Project> = Id::new(Uuid::from_u128(1));

    fn task(number: u128) -> Id<Task> {
        Id::new(Uuid::from_u128(number))
    }

    fn found(number: u128) -> Prerequisite {
        let task_id = task(number);
        Prerequisite { task_id, project_id: HERE, state: TaskState::Draft, other_dependents: 0 }
    }

    fn edge(depends_on: u128, dependent: u128) -> Edge {
        Edge { depends_on: task(depends_on), dependent: task(dependent) }
    }

    fn details(
        of: Option<u128>,
        depends_on: &[Id<Task>],
        all: &[Prerequisite],
        below: &[Edge],
    ) -> Vec<String> {
        let wanted = Wanted { task: of.map(task), project: HERE, depends_on, found: all, below };
        let errors = check(&wanted).err().unwrap_or_default();
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_is_wrong_is_named() {
        let elsewhere = Prerequisite { project_id: Id::new(Uuid::from_u128(2)), ..found(4) };
        let busy = Prerequisite { other_dependents: DEPENDENTS_MAX, ..found(5) };
        let all = [found(2), found(3), elsewhere, busy, found(9)];
        let wanted = [task(2), task(2), task(7), task(4), task(5), task(9), task(3)];
        let wrong = details(Some(9), &wanted, &all, &[edge(9, 8), edge(8, 3)]);
        let starts =
            ["/depends_on/1: is named twice", "/depends_on/2: there is no", "/depends_on/3: is in another"];
        for (wrong, start) in wrong.iter().zip(starts) {
            assert!(wrong.starts_with(start), "{wrong}");
        }
        assert_eq!(wrong[3], "/depends_on/4: 1000 tasks wait for it already");
        assert_eq!(wrong[4], "/depends_on/5: a task cannot wait for itself");
        let chain = [3, 8, 9, 3].map(|number| task(number).to_string()).join(" waits for ");
        assert_eq!(wrong[5], format!("/depends_on/6: would close a circle: {chain}"));
        assert_eq!(wrong.len(), 6);
    }

    #[test]
    fn too_many_are_refused_and_so_many_are_not() {
        let all: Vec<Prerequisite> = (2..=102).map(found).collect();
        let ids: Vec<Id<Task>> = all.iter().map(|found| found.task_id).collect();
        assert_eq!(details(None, &ids, &all, &[]), ["/depends_on: must be at most 100, these are 101"]);
        assert!(details(None, &ids[1..], &all, &[]).is_empty());
    }

    #[test]
    fn only_what_is_not_done_blocks() {
        let all = TaskState::ALL.map(|state| (task(1), state));
        let blocking = blocked_by(&all);
        assert_eq!(blocking.len(), TaskState::ALL.len() - 1);
        assert!(blocking.iter().all(|by| by.state != TaskState::Completed && by.dead == by.state.is_dead()));
        assert!(!is_blocked([TaskState::Completed]) && !is_blocked([]) && is_blocked([TaskState::Failed]));
    }

    /// All edges that can be reached going down, by a search of its own.
    fn below(edges: &[Edge], from: Id<Task>) -> Vec<Edge> {
        let mut reached = BTreeSet::from([from]);
        loop {
            let more: Vec<Id<Task>> = edges
                .iter()
                .filter(|edge| reached.contains(&edge.depends_on))
                .map(|edge| edge.dependent)
                .collect();
            let before = reached.len();
            reached.extend(more);
            if reached.len() == before {
                return edges.iter().copied().filter(|edge| reached.contains(&edge.depends_on)).collect();
            }
        }
    }

    fn has_circle(edges: &[Edge]) -> bool {
        edges
            .iter()
            .any(|edge| below(edges, edge.dependent).iter().any(|later| later.dependent == edge.dependent))
    }

    proptest! {
        #[test]
        fn a_graph_never_gets_a_circle_and_nothing_else_is_refused(
            wishes in prop::collection::vec((1..8u128, 1..8u128), 1..40),
        ) {
            let all: Vec<Prerequisite> = (1..8).map(found).collect();
            let mut edges: Vec<Edge> = Vec::new();
            for (dependent, depends_on) in wishes {
                let wrong = details(Some(dependent), &[task(depends_on)], &all, &below(&edges, task(dependent)));
                let mut after = edges.clone();
                after.push(edge(depends_on, dependent));
                prop_assert_eq!(wrong.is_empty(), !has_circle(&after));
                if wrong.is_empty() {
                    edges = after;
                }
            }
            prop_assert!(!has_circle(&edges));
        }
    }
}

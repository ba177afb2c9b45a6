//! The plan: what waits for what, from left to right, and in words what holds it up.

mod picture;

use std::collections::{BTreeMap, BTreeSet};

use askama::Template;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use domain::Id;
use domain::permissions::Capability;
use domain::projects::Project;
use domain::tasks::{Task, TaskState};
use garde::Validate;
use hub::tasks::Seen;
use serde::Deserialize;
use uuid::Uuid;

use picture::Picture;

use super::lists::{denied, given};
use super::page;
use super::shell::Shell;
use super::show::{Markup, filters, line, long, pill_of, plural, risk};
use super::task_list::rows::{since, title_of};
use crate::App;
use crate::extract::Asked;
use crate::problem::Problem;

const TEXT_BYTES_MAX: usize = 100;
const PROJECTS_SHOWN: i64 = 100;
/// What holds things up, the worst first.
const HOLDS_SHOWN: usize = 8;
const NEXT_SHOWN: usize = 8;

#[derive(Deserialize, Validate, Default)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asking {
    #[garde(inner(length(bytes, max = TEXT_BYTES_MAX)))]
    project: Option<String>,
    /// `list` for those who do not read graphs.
    #[garde(inner(length(bytes, max = TEXT_BYTES_MAX)))]
    view: Option<String>,
}

#[derive(Template)]
#[template(path = "plan/plan.html")]
struct PlanPage<'a> {
    shell: &'a Shell,
    projects: Vec<Project>,
    project: Option<Uuid>,
    is_list: bool,
    picture: Option<Picture>,
    left: String,
    holds: Vec<Hold>,
    next: Vec<Next>,
    rows: Vec<Line>,
    more: bool,
}

/// A task that others wait for.
struct Hold {
    id: Uuid,
    title: Markup,
    icon: &'static str,
    is_bad: bool,
    words: String,
    since: Markup,
    behind: String,
    risk: Option<Markup>,
}

/// A task that starts when one other is done.
struct Next {
    id: Uuid,
    title: Markup,
    after: Markup,
}

/// The same as the picture, for the list.
struct Line {
    id: Uuid,
    title: Markup,
    state: Markup,
    waits_for: Vec<Markup>,
}

pub(crate) async fn show(
    State(app): State<App>,
    shell: Shell,
    Asked(asking): Asked<Asking>,
) -> Result<Response<Body>, Problem> {
    if let Some(denied) = denied(&shell, Capability::TasksRead, "Plan", "Tasks") {
        return Ok(denied);
    }
    let project = given(asking.project.as_deref()).map(Uuid::parse_str).transpose();
    let project = project.map_err(|_| Problem::field("/project", "must be the id of a project"))?;
    let plan = hub::tasks::plan(&app.hub, &shell.caller, project.map(Id::new)).await?;
    let projects = hub::projects::list(&app.hub, &shell.caller, None, None, PROJECTS_SHOWN).await?;
    let web = Web::of(&plan.tasks);
    let left = plan.tasks.iter().filter(|seen| !seen.task.state.is_final()).count();
    let template = PlanPage {
        picture: (!plan.tasks.is_empty()).then(|| picture::draw(&web, shell.now)),
        left: format!("{left} of {} to be done", plural(plan.tasks.len(), "task")),
        holds: holds(&web, &shell),
        next: next(&web),
        rows: web.tasks.iter().map(|seen| web.line(seen)).collect(),
        is_list: asking.view.as_deref() == Some("list"),
        more: plan.more,
        project,
        projects,
        shell: &shell,
    };
    Ok(page(StatusCode::OK, &template))
}

/// The tasks with what leads from one to the other.
struct Web<'a> {
    tasks: &'a [Seen],
    /// From what is waited for to what waits, by their places.
    edges: Vec<(usize, usize)>,
}

impl<'a> Web<'a> {
    fn of(tasks: &'a [Seen]) -> Self {
        let places: BTreeMap<Id<Task>, usize> =
            tasks.iter().enumerate().map(|(place, seen)| (seen.task.id, place)).collect();
        let edges = tasks.iter().enumerate().flat_map(|(to, seen)| {
            let places = &places;
            let before = seen.prerequisites.iter().filter_map(move |(id, _)| places.get(id));
            before.map(move |from| (*from, to))
        });
        Self { tasks, edges: edges.collect() }
    }

    fn state(&self, place: usize) -> TaskState {
        self.tasks[place].task.state
    }

    fn is_done(&self, place: usize) -> bool {
        self.state(place) == TaskState::Completed
    }

    /// Everything that cannot begin before this one is done, directly or not.
    fn behind(&self, place: usize) -> usize {
        let mut seen = BTreeSet::new();
        let mut open = vec![place];
        while let Some(one) = open.pop() {
            for (_, to) in self.edges.iter().filter(|(from, _)| *from == one) {
                if seen.insert(*to) {
                    open.push(*to);
                }
            }
        }
        seen.len()
    }

    /// The longest chain of tasks that are still to be done, from its beginning.
    fn longest(&self) -> Vec<usize> {
        let mut memo: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut best = Vec::new();
        for place in 0..self.tasks.len() {
            let chain = self.chain(place, &mut memo, 0);
            if chain.len() > best.len() {
                best = chain;
            }
        }
        best
    }

    fn chain(&self, place: usize, memo: &mut BTreeMap<usize, Vec<usize>>, depth: usize) -> Vec<usize> {
        if self.state(place).is_final() || depth > self.tasks.len() {
            return Vec::new();
        }
        if let Some(known) = memo.get(&place) {
            return known.clone();
        }
        let after: Vec<usize> =
            self.edges.iter().filter(|(from, _)| *from == place).map(|(_, to)| *to).collect();
        let mut longest = Vec::new();
        for next in after {
            let rest = self.chain(next, memo, depth + 1);
            if rest.len() > longest.len() {
                longest = rest;
            }
        }
        let chain: Vec<usize> = std::iter::once(place).chain(longest).collect();
        memo.insert(place, chain.clone());
        chain
    }

    fn line(&self, seen: &Seen) -> Line {
        let waits = seen.prerequisites.iter().filter(|(_, state)| *state != TaskState::Completed);
        let title = |id: Id<Task>| self.tasks.iter().find(|seen| seen.task.id == id).map(title_of);
        Line {
            id: seen.task.id.raw(),
            title: line(&title_of(seen)),
            state: pill_of(seen),
            waits_for: waits.map(|(id, _)| line(&title(*id).unwrap_or_else(|| id.to_string()))).collect(),
        }
    }
}

/// Those that are not done themselves, wait for nothing, and are waited for.
fn holds(web: &Web<'_>, shell: &Shell) -> Vec<Hold> {
    let mut found: Vec<(usize, usize)> = (0..web.tasks.len())
        .filter(|place| !web.is_done(*place))
        .filter(|place| !web.edges.iter().any(|(from, to)| to == place && !web.is_done(*from)))
        .map(|place| (web.behind(place), place))
        .filter(|(behind, _)| *behind > 0)
        .collect();
    // What will never happen first, then what most wait for.
    found.sort_by_key(|(behind, place)| (!web.state(*place).is_dead(), usize::MAX - behind, *place));
    found
        .into_iter()
        .take(HOLDS_SHOWN)
        .map(|(behind, place)| hold(&web.tasks[place], behind, shell))
        .collect()
}

fn hold(seen: &Seen, behind: usize, shell: &Shell) -> Hold {
    let task = &seen.task;
    let (icon, is_bad, words) = match task.state {
        TaskState::Draft => ("s-draft", false, "nobody has handed it in"),
        TaskState::Submitted => ("s-submitted", false, "handed in"),
        TaskState::Reviewing if seen.review.as_ref().is_some_and(|review| !review.summary.reachable) => {
            ("s-reviewing", true, "nobody is left who may sign")
        }
        TaskState::Reviewing => ("s-reviewing", false, "in review"),
        TaskState::Approved => ("s-approved", false, "approved, waits for an agent"),
        TaskState::Applying => ("s-applying", false, "applying"),
        TaskState::Completed => ("s-completed", false, "completed"),
        TaskState::Rejected => ("s-rejected", true, "rejected: whatever waits for it waits for ever"),
        TaskState::Cancelled => ("s-cancelled", true, "cancelled: whatever waits for it waits for ever"),
        TaskState::Failed => ("s-failed", true, "failed: whatever waits for it waits for ever"),
    };
    Hold {
        id: task.id.raw(),
        title: line(&title_of(seen)),
        icon,
        is_bad,
        words: words.to_owned(),
        since: long(since(task), shell.now),
        behind: plural(behind, "task"),
        risk: task.submitted_at.map(|_| risk(task.risk.level, seen.shows_score.then_some(task.risk.score))),
    }
}

/// Approved tasks that wait for exactly one other.
fn next(web: &Web<'_>) -> Vec<Next> {
    let mut found = Vec::new();
    for (place, seen) in
        web.tasks.iter().enumerate().filter(|(_, seen)| seen.task.state == TaskState::Approved)
    {
        let mut before = web.edges.iter().filter(|(from, to)| *to == place && !web.is_done(*from));
        if let (Some((from, _)), None) = (before.next(), before.next()) {
            let after = line(&title_of(&web.tasks[*from]));
            found.push(Next { id: seen.task.id.raw(), title: line(&title_of(seen)), after });
        }
    }
    found.truncate(NEXT_SHOWN);
    found
}

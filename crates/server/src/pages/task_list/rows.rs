//! A task in two lines: what it is and where it stands, then where it belongs and what it touches.

use std::collections::BTreeMap;

use domain::projects::Project;
use domain::tasks::{Task, TaskConfig, TaskState, thaw};
use domain::{Id, Timestamp};
use hub::HubError;
use hub::tasks::Seen;
use uuid::Uuid;

use crate::App;
use crate::pages::lists::Names;
use crate::pages::shell::Shell;
use crate::pages::show::{Face, HashShown, Markup, line, long, pill_of, plural, risk_of, seats};

/// Of a long description the row has the beginning; the whole is on the task's page.
const TITLE_CHARS_MAX: usize = 140;
const RESOURCES_SHOWN: usize = 2;

/// One row.
pub(in crate::pages) struct Row {
    pub(in crate::pages) id: Uuid,
    pub(in crate::pages) state: Markup,
    pub(in crate::pages) title: Markup,
    pub(in crate::pages) project: Option<Markup>,
    pub(in crate::pages) ticket: Option<Markup>,
    pub(in crate::pages) resources: Vec<Markup>,
    pub(in crate::pages) more_resources: Option<String>,
    /// None while nobody has assessed it.
    pub(in crate::pages) risk: Markup,
    pub(in crate::pages) author: Face,
    pub(in crate::pages) signed: Option<Markup>,
    pub(in crate::pages) strip: Markup,
    pub(in crate::pages) since: Markup,
    /// What a reader must not miss, and whether it is bad.
    pub(in crate::pages) flag: Option<(String, bool)>,
}

/// What rows need besides the tasks.
pub(in crate::pages) struct Rows {
    projects: BTreeMap<Id<Project>, String>,
}

impl Rows {
    /// With the projects that the page has read anyway; of another project the row says nothing.
    pub(in crate::pages) fn with(projects: &[Project]) -> Self {
        Self { projects: projects.iter().map(|project| (project.id, project.name.clone())).collect() }
    }

    pub(in crate::pages) async fn of(
        &self,
        app: &App,
        shell: &Shell,
        found: &[Seen],
    ) -> Result<Vec<Row>, HubError> {
        let names = Names::of(app, shell, found.iter().map(|seen| seen.task.author_id)).await?;
        Ok(found.iter().map(|seen| self.row(seen, &names, shell.now)).collect())
    }

    fn row(&self, seen: &Seen, names: &Names, now: Timestamp) -> Row {
        let task = &seen.task;
        let config = thaw(&seen.config).ok();
        let resources = config.as_ref().map(|config| config.resources.as_slice()).unwrap_or_default();
        let more = resources.len().saturating_sub(RESOURCES_SHOWN);
        let ticket = task.metadata.get("ticket_ref").and_then(|value| value.as_str());
        Row {
            id: task.id.raw(),
            state: pill_of(seen),
            title: line(&title(config.as_ref(), task)),
            project: self.projects.get(&task.project_id).map(|name| line(name)),
            ticket: ticket.map(line),
            resources: resources.iter().take(RESOURCES_SHOWN).map(|one| line(&one.name())).collect(),
            more_resources: (more > 0).then(|| plural(more, "more resource")),
            risk: risk_of(task, seen.shows_score),
            author: names.face(task.author_id),
            signed: signed(seen),
            strip: HashShown::of(task.content_hash).strip,
            since: long(since(task), now),
            flag: flag(seen),
        }
    }
}

/// What people read first: the first line of what the author says it does.
pub(in crate::pages) fn title(config: Option<&TaskConfig>, task: &Task) -> String {
    let whole = config.map_or(task.task_type.as_str(), |config| config.description.as_str());
    let first = whole.trim().lines().next().unwrap_or_default();
    if first.is_empty() {
        return task.task_type.clone();
    }
    match first.chars().nth(TITLE_CHARS_MAX) {
        None => first.to_owned(),
        Some(_) => format!("{}…", first.chars().take(TITLE_CHARS_MAX).collect::<String>().trim_end()),
    }
}

/// What the task is called, read from its current revision.
pub(in crate::pages) fn title_of(seen: &Seen) -> String {
    title(thaw(&seen.config).ok().as_ref(), &seen.task)
}

/// How many signatures all policies have of those they need, as the inbox and the task's page count them.
fn signed(seen: &Seen) -> Option<Markup> {
    let tallies = &seen.review.as_ref()?.summary.tallies;
    let given = tallies.iter().map(|tally| tally.approved.min(tally.required)).sum();
    let needed: u32 = tallies.iter().map(|tally| tally.required).sum();
    (needed > 0).then(|| seats(given, needed))
}

/// When it came into the state that it is in.
pub(in crate::pages) fn since(task: &Task) -> Timestamp {
    let at = match task.state {
        TaskState::Draft => None,
        TaskState::Submitted | TaskState::Reviewing => task.submitted_at,
        TaskState::Approved => task.approved_at,
        TaskState::Applying => task.applying_at,
        TaskState::Completed | TaskState::Rejected | TaskState::Cancelled | TaskState::Failed => {
            task.ended_at
        }
    };
    at.unwrap_or(task.created_at)
}

fn flag(seen: &Seen) -> Option<(String, bool)> {
    let task = &seen.task;
    if task.needs_attention {
        return Some(("Somebody has to look at how it ended".to_owned(), true));
    }
    let is_lost =
        |review: &hub::reviews::ReviewSeen| review.review.resolution.is_none() && !review.summary.reachable;
    if task.state == TaskState::Reviewing && seen.review.as_ref().is_some_and(is_lost) {
        return Some(("Nobody is left who may sign".to_owned(), true));
    }
    let blocked = seen.blocked_by();
    if blocked.iter().any(|by| by.dead) {
        return Some(("Waits for a task that will not happen".to_owned(), true));
    }
    (!blocked.is_empty()).then(|| (format!("Waits for {}", plural(blocked.len(), "task")), false))
}

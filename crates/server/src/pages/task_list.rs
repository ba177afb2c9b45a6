//! The list of tasks: views as tabs, filters as plain query parameters, rows of two lines.

mod asking;
pub(super) mod rows;

use askama::Template;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use domain::cursor::CursorKey;
use domain::permissions::Capability;
use domain::projects::Project;
use domain::tasks::{TaskState, TaskStatus};
use hub::WhichTasks;
use hub::tasks::{self, Seen};

pub(crate) use asking::Asking;
use rows::{Row, Rows};

use super::lists::{Address, Chip, denied};
use super::shell::Shell;
use super::show::{counted, filters};
use super::{lead_to, page};
use crate::App;
use crate::api::page::List;
use crate::extract::Asked;
use crate::problem::Problem;

const ROWS_SHOWN: usize = 30;
const PROJECTS_SHOWN: i64 = 100;

#[derive(Template)]
#[template(path = "tasks/list.html")]
struct TasksPage<'a> {
    shell: &'a Shell,
    tabs: Vec<Tab>,
    chips: Vec<Chip>,
    /// What each form keeps when it sets its own filter.
    kept_by_search: Vec<(&'static str, String)>,
    kept_by_state: Vec<(&'static str, String)>,
    kept_by_project: Vec<(&'static str, String)>,
    levels: Vec<Level>,
    states: Vec<&'static str>,
    projects: Vec<Project>,
    rows: Vec<Row>,
    is_first: bool,
    newest: String,
    older: Option<String>,
    /// Whether anything but the tab narrows the list.
    is_narrowed: bool,
    may_write: bool,
}

struct Tab {
    name: &'static str,
    to: String,
    count: Option<String>,
    is_bad: bool,
    is_here: bool,
}

struct Level {
    name: &'static str,
    to: String,
}

/// A view that everybody has: what it is called, the parameter that makes it, and what is counted for it.
const VIEWS: [(&str, &str, &str, Option<WhichTasks>); 8] = [
    ("Open", "open", "true", Some(WhichTasks::Open)),
    ("In review", "state", "REVIEWING", Some(WhichTasks::In(TaskState::Reviewing))),
    ("Approved, to start", "state", "APPROVED", Some(WhichTasks::In(TaskState::Approved))),
    ("Applying", "state", "APPLYING", Some(WhichTasks::In(TaskState::Applying))),
    ("Waiting for others", "status", "blocked", Some(WhichTasks::Of(TaskStatus::Blocked))),
    ("Failed", "state", "FAILED", Some(WhichTasks::In(TaskState::Failed))),
    ("Mine", "author", "me", None),
    ("All", "", "", None),
];

pub(crate) async fn show(
    State(app): State<App>,
    shell: Shell,
    Asked(asking): Asked<Asking>,
) -> Result<Response<Body>, Problem> {
    if let Some(denied) = denied(&shell, Capability::TasksRead, "Tasks", "Tasks") {
        return Ok(denied);
    }
    if let Some(elsewhere) = asking.searched()? {
        return Ok(lead_to(&elsewhere));
    }
    // Without a word the list is of what is not at its end.
    let asking = asking.or_open();
    let address = asking.address();
    let (filter, list) = asking.filter(&app, &shell.caller).await?;
    let read = i64::try_from(ROWS_SHOWN + 1).unwrap_or(i64::MAX);
    let found = tasks::list(&app.hub, &shell.caller, filter, read).await?;
    let next = next(&list, &found);
    let older = next.map(|cursor| address.clone().with("cursor", cursor).to_string());
    let projects = hub::projects::list(&app.hub, &shell.caller, None, None, PROJECTS_SHOWN).await?;
    let found = &found[..found.len().min(ROWS_SHOWN)];
    let rows = Rows::with(&projects).of(&app, &shell, found).await?;
    let template = TasksPage {
        tabs: tabs(&app, &shell, &asking).await?,
        chips: asking.chips(&projects),
        kept_by_search: address.hidden(&["cursor", "q", "resource", "tag"]),
        kept_by_state: address.hidden(&["cursor", "q", "open", "state"]),
        kept_by_project: address.hidden(&["cursor", "q", "project"]),
        levels: levels(&address),
        states: TaskState::ALL.map(TaskState::as_str).into(),
        rows,
        is_first: asking.cursor().is_none(),
        newest: address.without("cursor").to_string(),
        older,
        is_narrowed: asking.is_narrowed(),
        may_write: shell.may_propose(),
        projects,
        shell: &shell,
    };
    Ok(page(StatusCode::OK, &template))
}

fn next(list: &List<'_>, found: &[Seen]) -> Option<String> {
    let place = |seen: &&Seen| {
        vec![CursorKey::Int(seen.task.created_at.micros()), CursorKey::Uuid(seen.task.id.raw())]
    };
    list.page(found.iter().collect(), ROWS_SHOWN, place, |_| ()).next_cursor
}

async fn tabs(app: &App, shell: &Shell, asking: &Asking) -> Result<Vec<Tab>, Problem> {
    let counting: Vec<WhichTasks> = VIEWS.iter().filter_map(|(_, _, _, which)| *which).collect();
    let mut counts = tasks::counts(&app.hub, &shell.caller, &counting).await?.into_iter();
    let tab = |(name, parameter, value, which): &(&'static str, &'static str, &str, Option<WhichTasks>)| {
        let to = match parameter.is_empty() {
            true => Address::of("/tasks").with("open", "false"),
            false => Address::of("/tasks").with(parameter, value),
        };
        let count = which.and_then(|_| counts.next());
        Tab {
            name,
            is_here: asking.is_view(parameter, value),
            is_bad: *value == "FAILED" && count.is_some_and(|count| count > 0),
            count: count.filter(|count| *count > 0).map(counted),
            to: to.to_string(),
        }
    };
    Ok(VIEWS.iter().map(tab).collect())
}

fn levels(address: &Address) -> Vec<Level> {
    let levels = [("MEDIUM and up", "MEDIUM"), ("HIGH and up", "HIGH"), ("CRITICAL", "CRITICAL")];
    let to = |word: &str| address.without("cursor").with("risk", word).to_string();
    levels.map(|(name, word)| Level { name, to: to(word) }).into()
}

//! The overview: five numbers that lead on, what needs somebody, then charts that say what one sees in them.

mod charts;
mod needs;

use askama::Template;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use domain::permissions::Capability;
use domain::tasks::{TaskState, TaskStatus};
use hub::tasks;
use hub::{HubError, WhichTasks};

use charts::{Chart, Decisions, Rows};
use needs::Needs;

use super::lists::denied;
use super::page;
use super::shell::Shell;
use super::show::{absolute, counted, filters, plural};
use crate::App;
use crate::problem::Problem;

#[derive(Template)]
#[template(path = "overview/overview.html")]
struct OverviewPage<'a> {
    shell: &'a Shell,
    now: String,
    numbers: Vec<Number>,
    needs: Needs,
    decisions: Decisions,
    charts: [(&'static str, Chart); 3],
    reviewers: Rows,
}

/// A number that leads to what it counts.
struct Number {
    name: &'static str,
    value: String,
    about: String,
    is_bad: bool,
    to: &'static str,
}

pub(crate) async fn show(State(app): State<App>, shell: Shell) -> Result<Response<Body>, Problem> {
    if let Some(denied) = denied(&shell, Capability::TasksRead, "Overview", "Tasks and their reviews") {
        return Ok(denied);
    }
    let counted = Counted::read(&app, &shell).await?;
    let levels = tasks::by_level(&app.hub, &shell.caller, TaskState::Reviewing).await?;
    let decisions = charts::decisions(&app, &shell).await?;
    let lines = charts::lines(&app, &shell).await?;
    let template = OverviewPage {
        now: absolute(shell.now),
        numbers: numbers(&counted, &decisions, &lines, shell.requests()),
        needs: needs::read(&app, &shell).await?,
        charts: [
            ("Where open tasks are", charts::states(&counted)),
            ("Risk of what is in review", charts::risks(&levels)),
            ("Lines for locks", lines),
        ],
        reviewers: charts::reviewers(&app, &shell, &decisions).await?,
        decisions,
        shell: &shell,
    };
    Ok(page(StatusCode::OK, &template))
}

/// How many tasks stand where.
struct Counted {
    drafts: i64,
    reviewing: i64,
    approved: i64,
    applying: i64,
    blocked: i64,
}

impl Counted {
    async fn read(app: &App, shell: &Shell) -> Result<Self, HubError> {
        let which = [
            WhichTasks::In(TaskState::Draft),
            WhichTasks::In(TaskState::Reviewing),
            WhichTasks::In(TaskState::Approved),
            WhichTasks::In(TaskState::Applying),
            WhichTasks::Of(TaskStatus::Blocked),
        ];
        let counts = tasks::counts(&app.hub, &shell.caller, &which).await?;
        let at = |place: usize| counts.get(place).copied().unwrap_or(0);
        Ok(Self { drafts: at(0), reviewing: at(1), approved: at(2), applying: at(3), blocked: at(4) })
    }
}

fn numbers(all: &Counted, decisions: &Decisions, lines: &Chart, mine: i64) -> Vec<Number> {
    let mine = match mine {
        0 => "none waits for you".to_owned(),
        1 => "1 waits for you".to_owned(),
        many => format!("{} wait for you", counted(many)),
    };
    let number = |name, value: String, about: String, to| Number { name, value, about, is_bad: false, to };
    vec![
        number("Waiting for a decision", counted(all.reviewing), mine, "/tasks?state=REVIEWING"),
        number(
            "Answered today",
            counted(decisions.today),
            format!("{} in 14 days", counted(decisions.total)),
            "/audit?action=approval:approved",
        ),
        number(
            "Approved, to start",
            counted(all.approved),
            format!("{} for another task", waits(all.blocked)),
            "/tasks?state=APPROVED",
        ),
        number(
            "Applying now",
            counted(all.applying),
            if all.applying == 1 { "attempt under way" } else { "attempts under way" }.to_owned(),
            "/tasks?state=APPLYING",
        ),
        Number {
            is_bad: lines.is_bad,
            ..number("Waiting for locks", lines.total.clone(), lines.about.clone(), "/locks")
        },
    ]
}

fn waits(count: i64) -> String {
    match count {
        1 => "1 task waits".to_owned(),
        count => format!("{} wait", plural(usize::try_from(count).unwrap_or(0), "task")),
    }
}

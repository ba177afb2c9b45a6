//! What waits for somebody, what of their own waits for others, what they have answered and what they were told: the list,
//! and beside it what they read and decide.

mod asking;
mod batch;
mod done;
mod own;
#[cfg(test)]
mod snapshots;
mod told;
mod waiting;

use askama::Template;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{Response, StatusCode};
use domain::Id;
use domain::projects::Project;
use hub::approvals::{self, Answered, Answers};
use hub::tasks;
use uuid::Uuid;

use super::reading::{Decide, Reading};
use super::shell::{Shell, Toast};
use super::show::{Markup, ago, filters, span};
use super::{lists, page, tasks as task_pages};
use crate::App;
use crate::extract::Asked;
use crate::problem::Problem;

use asking::{Asking, Tab, View};
pub(crate) use batch::{show as show_batch, sign};
use lists::Chip;
use own::Own;
pub(crate) use told::read as read_told;
pub(super) use told::said;
use waiting::Row;

/// Rows of the list; whoever has more answers some first.
const ROWS_SHOWN: i64 = 50;
const PROJECTS_SHOWN: i64 = 100;

#[derive(Template)]
#[template(path = "inbox.html")]
struct InboxPage<'a> {
    shell: &'a Shell,
    tabs: Vec<Tab>,
    chips: Vec<Chip>,
    filter: Filter,
    rows: Rows,
    /// What is said below the list.
    more: Option<&'static str>,
    batches: bool,
    stats: StatsShown,
    /// The list without what is open.
    back: String,
    /// What is on the page with nothing ticked: a form that is put back to how it came is ticked again.
    cleared: String,
    pane: Pane,
}

/// The rows of the view that is shown.
enum Rows {
    Waiting(Vec<Row>),
    Own(Vec<Own>),
    Done(Vec<done::Row>),
    Told(told::Listed),
}

impl Rows {
    fn is_empty(&self) -> bool {
        match self {
            Self::Waiting(rows) => rows.is_empty(),
            Self::Own(rows) => rows.is_empty(),
            Self::Done(rows) => rows.is_empty(),
            Self::Told(listed) => listed.rows.is_empty(),
        }
    }
}

/// What the form of the filter begins with.
struct Filter {
    text: String,
    risk: String,
    project: String,
    projects: Vec<Project>,
}

/// What is beside the list.
enum Pane {
    Nothing,
    Task(Box<Reading>),
    Batch(batch::Listed),
}

impl Pane {
    fn is_open(&self) -> bool {
        !matches!(self, Self::Nothing)
    }
}

#[derive(Template)]
#[template(path = "inbox_empty.html")]
struct EmptyPage<'a> {
    shell: &'a Shell,
    tabs: Vec<Tab>,
    stats: StatsShown,
    own: Vec<Own>,
}

struct StatsShown {
    approved: i64,
    rejected: i64,
    average: Option<String>,
    last: Option<Markup>,
}

/// The list, and what is open.
pub(crate) async fn show(
    State(app): State<App>,
    mut shell: Shell,
    Asked(asking): Asked<Asking>,
) -> Result<Response<Body>, Problem> {
    if let Some(done) = asking.done {
        shell.toasts.extend(toast(&app, &shell, done).await);
    }
    let task = match (asking.open, asking.task) {
        (Some(open), _) => {
            Some(approvals::get(&app.hub, &shell.caller, Id::new(open)).await?.approval.task_id)
        }
        (None, task) => task.map(Id::new),
    };
    let Some(task) = task else { return shown(&app, &shell, &asking, (Pane::Nothing, &[])).await };
    let dossier = task_pages::opened(&app, &shell, task, asking.open.map(Id::new)).await?;
    let reading = Reading::of(&dossier, &shell, "inbox");
    let mine = dossier.mine.as_ref().map(|mine| mine.approval.id.raw());
    let current: Vec<Uuid> = [asking.open, mine, Some(task.raw())].into_iter().flatten().collect();
    shown(&app, &shell, &asking, (Pane::Task(Box::new(reading)), &current)).await
}

/// What came of the answer that led here, and of those that were given with it.
async fn toast(app: &App, shell: &Shell, done: Uuid) -> Option<Toast> {
    let seen = approvals::get(&app.hub, &shell.caller, Id::new(done)).await.ok()?;
    let at = seen.approval.response.as_ref().map(|response| response.at);
    let latest = approvals::answered(&app.hub, &shell.caller, batch::LISTED_MAX as i64).await.ok()?;
    let is_one_of_them = |answered: &&Answered| {
        at.is_some() && answered.approval.response.as_ref().map(|response| response.at) == at
    };
    let together: Vec<&Answered> = latest.iter().filter(is_one_of_them).collect();
    if together.len() > 1 && together.iter().any(|answered| answered.approval.id == seen.approval.id) {
        return batch::told(&together);
    }
    let task = tasks::get(&app.hub, &shell.caller, seen.approval.task_id).await.ok()?;
    Some(task_pages::told(&seen.approval, &task, shell.caller.credential.account.id))
}

async fn shown(
    app: &App,
    shell: &Shell,
    asking: &Asking,
    (pane, current): (Pane, &[Uuid]),
) -> Result<Response<Body>, Problem> {
    let stats = stats_shown(&approvals::answers(&app.hub, &shell.caller).await?, shell);
    let (rows, more, batches) = match asking.view()? {
        View::Waiting => waiting::rows(app, shell, asking, (current, matches!(pane, Pane::Batch(_)))).await?,
        View::Own => (Rows::Own(own::rows(app, shell, current).await?), None, false),
        View::Done => (Rows::Done(done::rows(app, shell, current).await?), None, false),
        View::Told => (Rows::Told(told::listed(app, shell, current).await?), None, false),
    };
    let tabs = asking.tabs(app, shell).await?;
    let is_all = asking.view()? == View::Waiting && !asking.is_narrowed();
    if is_all && rows.is_empty() && !pane.is_open() {
        let own = own::rows(app, shell, &[]).await?;
        return Ok(page(StatusCode::OK, &EmptyPage { shell, tabs, stats, own }));
    }
    let projects = hub::projects::list(&app.hub, &shell.caller, None, None, PROJECTS_SHOWN).await?;
    let template = InboxPage {
        tabs,
        chips: asking.chips(&projects),
        filter: asking.form(projects),
        rows,
        more,
        batches,
        stats,
        back: asking.back().to_string(),
        cleared: asking.address().maybe("open", asking.open).to_string(),
        pane,
        shell,
    };
    Ok(page(StatusCode::OK, &template))
}

fn stats_shown(answers: &Answers, shell: &Shell) -> StatsShown {
    StatsShown {
        approved: answers.approved_today,
        rejected: answers.rejected_today,
        average: answers.avg_response_time.map(span),
        last: answers.last_action_at.map(|at| ago(at, shell.now)),
    }
}

/// The names of a query or a form that may come several times.
fn pairs(query: RawQuery) -> Result<Vec<(String, String)>, Problem> {
    let text = format!("/?{}", query.0.unwrap_or_default());
    let uri: axum::http::Uri =
        text.parse().map_err(|_| Problem::field("", "the query string is not valid"))?;
    let read = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(&uri);
    read.map(|read| read.0).map_err(|_| Problem::field("", "the query string is not valid"))
}

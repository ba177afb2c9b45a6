//! What waits for somebody: the list, and beside it what they read and decide.

mod batch;

use askama::Template;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{Response, StatusCode};
use domain::approvals::{ApprovalKind, Priority};
use domain::risk::RiskLevel;
use domain::tasks::thaw;
use garde::Validate;
use hub::TaskFilter;
use hub::approvals::{self, Inbox, Stats, Waiting};
use hub::tasks;
use serde::Deserialize;
use uuid::Uuid;

use super::reading::{Decide, Due, Reading, description, due, title};
use super::shell::{Shell, Toast};
use super::show::{Markup, filters, line, long, resource_icon, risk, seats, span, strip};
use super::{page, tasks as task_pages};
use crate::App;
use crate::extract::Asked;
use crate::problem::Problem;

pub(crate) use batch::{show as show_batch, sign};

/// Rows of the list; whoever has more answers some first.
const ROWS_SHOWN: i64 = 100;
const STRIP_BARS: usize = 16;
/// Own tasks that wait for others, on the empty page.
const OWN_SHOWN: i64 = 20;

#[derive(Template)]
#[template(path = "inbox.html")]
struct InboxPage<'a> {
    shell: &'a Shell,
    rows: Vec<Row>,
    more: bool,
    batches: bool,
    stats: StatsShown,
    pane: Pane,
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
    stats: StatsShown,
    own: Vec<Own>,
}

/// One request.
struct Row {
    id: String,
    title: Markup,
    plain_title: String,
    risk: Markup,
    urgent: bool,
    is_override: bool,
    age: Markup,
    author: Markup,
    author_icon: &'static str,
    resource: Option<(Markup, &'static str)>,
    strip: Markup,
    seats: Markup,
    unreachable: bool,
    due: Option<Due>,
    blocks: usize,
    opened: bool,
    batchable: bool,
    current: bool,
    picked: bool,
}

struct StatsShown {
    approved: i64,
    rejected: i64,
    average: Option<String>,
    last: Option<Markup>,
}

/// A task of one's own that waits for others.
struct Own {
    id: String,
    title: Markup,
    missing: Vec<Markup>,
    reachable: bool,
    age: Markup,
}

#[derive(Deserialize, Validate)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asking {
    #[garde(skip)]
    open: Option<Uuid>,
    #[garde(skip)]
    done: Option<Uuid>,
}

/// The list, and the request that is open.
pub(crate) async fn show(
    State(app): State<App>,
    mut shell: Shell,
    Asked(asking): Asked<Asking>,
) -> Result<Response<Body>, Problem> {
    if let Some(done) = asking.done {
        shell.toasts.extend(toast(&app, &shell, done).await);
    }
    let Some(open) = asking.open else {
        return shown(&app, &shell, Pane::Nothing, &[]).await;
    };
    let seen = approvals::get(&app.hub, &shell.caller, domain::Id::new(open)).await?;
    let dossier = task_pages::opened(&app, &shell, seen.approval.task_id).await?;
    let reading = Reading::of(&dossier, &shell, "inbox");
    let open = dossier.mine.as_ref().map_or(open, |mine| mine.approval.id.raw());
    shown(&app, &shell, Pane::Task(Box::new(reading)), &[open]).await
}

/// What came of the answer that led here.
async fn toast(app: &App, shell: &Shell, done: Uuid) -> Option<Toast> {
    let seen = approvals::get(&app.hub, &shell.caller, domain::Id::new(done)).await.ok()?;
    let task = tasks::get(&app.hub, &shell.caller, seen.approval.task_id).await.ok()?;
    Some(task_pages::told(&seen.approval, &task, shell.caller.credential.account.id))
}

async fn shown(app: &App, shell: &Shell, pane: Pane, current: &[Uuid]) -> Result<Response<Body>, Problem> {
    let inbox = approvals::inbox(&app.hub, &shell.caller, ROWS_SHOWN + 1).await?;
    let stats = approvals::stats(&app.hub, &shell.caller, shell.caller.credential.account.id).await?;
    let stats = stats_shown(&stats, shell);
    if inbox.waiting.is_empty() && matches!(pane, Pane::Nothing) {
        let own = own(app, shell).await?;
        return Ok(page(StatusCode::OK, &EmptyPage { shell, stats, own }));
    }
    let Inbox { mut waiting, batches } = inbox;
    let more = waiting.len() > ROWS_SHOWN as usize;
    waiting.truncate(ROWS_SHOWN as usize);
    let is_batch = matches!(pane, Pane::Batch(_));
    let rows = waiting.iter().map(|waiting| {
        let mut row = row(waiting, shell);
        let is_named = current.contains(&waiting.approval.id.raw());
        (row.current, row.picked) = (is_named && !is_batch, is_named && is_batch);
        row.batchable &= batches;
        row
    });
    let template = InboxPage { shell, rows: rows.collect(), more, batches, stats, pane };
    Ok(page(StatusCode::OK, &template))
}

fn row(waiting: &Waiting, shell: &Shell) -> Row {
    let (approval, task) = (&waiting.approval, &waiting.task.task);
    let config = thaw(&waiting.task.config).ok();
    let first = config.as_ref().and_then(|config| config.resources.first());
    let tallies = waiting.task.review.as_ref().map(|seen| &seen.summary);
    let given = tallies.map_or(0, |all| all.tallies.iter().map(|one| one.approved.min(one.required)).sum());
    let needed = tallies.map_or(0, |all| all.tallies.iter().map(|one| one.required).sum());
    Row {
        id: approval.id.to_string(),
        title: title(&waiting.task.config),
        plain_title: domain::rendering::plain(&description(&waiting.task.config)),
        risk: risk(task.risk.level, Some(task.risk.score)),
        urgent: approval.priority == Priority::Urgent,
        is_override: approval.kind == ApprovalKind::Override,
        age: long(approval.created_at, shell.now),
        author: line(&waiting.task.author_name),
        author_icon: if waiting.by_agent { "agent" } else { "user" },
        resource: first.map(|resource| (line(&resource.id), resource_icon(&resource.kind))),
        strip: strip(task.content_hash, STRIP_BARS),
        seats: seats(given, needed),
        unreachable: tallies.is_some_and(|all| !all.reachable),
        due: approval.due_at.map(|at| due(at, shell.now)),
        blocks: waiting.blocks,
        opened: approval.acknowledged_at.is_some(),
        batchable: may_be_batched(waiting),
        current: false,
        picked: false,
    }
}

/// High risk is signed one by one, and so is skipping a review.
fn may_be_batched(waiting: &Waiting) -> bool {
    let is_low = matches!(waiting.task.task.risk.level, RiskLevel::Low | RiskLevel::Medium);
    is_low && waiting.approval.kind == ApprovalKind::Review
}

fn stats_shown(stats: &Stats, shell: &Shell) -> StatsShown {
    StatsShown {
        approved: stats.approved_today,
        rejected: stats.rejected_today,
        average: stats.avg_response_time.map(span),
        last: stats.last_action_at.map(|at| super::show::ago(at, shell.now)),
    }
}

/// The reader's own tasks that others have to decide on.
async fn own(app: &App, shell: &Shell) -> Result<Vec<Own>, Problem> {
    let me = shell.caller.credential.account.id;
    let filter = TaskFilter {
        author: Some(me),
        state: Some(domain::tasks::TaskState::Reviewing),
        ..TaskFilter::default()
    };
    let found = tasks::list(&app.hub, &shell.caller, filter, OWN_SHOWN).await?;
    let own = found.iter().map(|seen| {
        let summary = seen.review.as_ref().map(|review| &review.summary);
        Own {
            id: seen.task.id.to_string(),
            title: title(&seen.config),
            missing: summary.iter().flat_map(|all| &all.missing).map(|missing| line(missing)).collect(),
            reachable: summary.is_none_or(|all| all.reachable),
            age: long(seen.task.submitted_at.unwrap_or(seen.task.created_at), shell.now),
        }
    });
    Ok(own.collect())
}

/// The names of a query or a form that may come several times.
fn pairs(query: RawQuery) -> Result<Vec<(String, String)>, Problem> {
    let text = format!("/?{}", query.0.unwrap_or_default());
    let uri: axum::http::Uri =
        text.parse().map_err(|_| Problem::field("", "the query string is not valid"))?;
    let read = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(&uri);
    read.map(|read| read.0).map_err(|_| Problem::field("", "the query string is not valid"))
}

//! What the reader was told: what it was, about which task, and whether they have read it.

use axum::body::Body;
use axum::extract::State;
use axum::http::Response;
use domain::Id;
use domain::notifications::{Notification, NotificationKind as Kind};
use hub::notifications::{self, Told};
use uuid::Uuid;

use super::asking::View;
use crate::App;
use crate::pages::form::Filled;
use crate::pages::lead_to;
use crate::pages::lists::Names;
use crate::pages::reading::description;
use crate::pages::shell::Shell;
use crate::pages::show::{Markup, ago, line, pill, whole};
use crate::problem::Problem;

const TOLD_SHOWN: i64 = 100;

/// What is listed, and what of it is new.
pub(super) struct Listed {
    pub(super) rows: Vec<Row>,
    pub(super) unread: Vec<String>,
}

/// One thing.
pub(super) struct Row {
    pub(super) id: String,
    pub(super) to: String,
    pub(super) title: Markup,
    pub(super) whole: Option<String>,
    pub(super) icon: &'static str,
    pub(super) words: &'static str,
    pub(super) at: Markup,
    /// Who did it, and their symbol.
    pub(super) actor: Option<(Markup, &'static str)>,
    pub(super) state: Markup,
    pub(super) is_unread: bool,
    pub(super) current: bool,
}

/// The latest, the newest first.
pub(super) async fn listed(app: &App, shell: &Shell, current: &[Uuid]) -> Result<Listed, Problem> {
    let found = notifications::told(&app.hub, &shell.caller, TOLD_SHOWN).await?;
    let actors = found.iter().filter_map(|told| told.notification.actor_id).map(Id::new);
    let names = Names::of(app, shell, actors).await?;
    let rows: Vec<Row> = found.iter().map(|told| row(told, &names, (shell, current))).collect();
    let unread = rows.iter().filter(|row| row.is_unread).map(|row| row.id.clone()).collect();
    Ok(Listed { rows, unread })
}

fn row(told: &Told, names: &Names, (shell, current): (&Shell, &[Uuid])) -> Row {
    let (what, task) = (&told.notification, &told.task.task);
    let (words, icon) = said(what.kind);
    let description = description(&told.task.config);
    Row {
        id: what.id.to_string(),
        to: View::Told.address().with("task", task.id).to_string(),
        title: line(&description),
        whole: whole(&description),
        icon,
        words,
        at: ago(what.created_at, shell.now),
        actor: told.actor.as_deref().map(|name| (line(name), symbol(what, names))),
        state: pill(task.state),
        is_unread: what.read_at.is_none(),
        current: current.contains(&task.id.raw()),
    }
}

fn symbol(what: &Notification, names: &Names) -> &'static str {
    what.actor_id.map_or("user", |actor| names.face(Id::new(actor)).symbol())
}

/// What it tells, in words, and its symbol.
pub(in crate::pages) fn said(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::ReviewRequested => ("You were asked to decide", "sign"),
        Kind::StandingIn => ("You were asked in somebody’s place", "delegate"),
        Kind::OverrideRequested => ("You were asked to sign an override", "bolt"),
        Kind::RequestMoved => ("What you were asked went to somebody else", "delegate"),
        Kind::RequestClosed => ("Your answer is no longer waited for", "x"),
        Kind::Escalated => ("Time is over, and you are on call", "alert"),
        Kind::TaskApproved => ("Your task was approved", "check"),
        Kind::TaskOverridden => ("Your task was approved by override", "bolt"),
        Kind::TaskRejected => ("Your task was rejected", "x"),
        Kind::TaskTimedOut => ("Nobody decided on your task in time", "clock"),
        Kind::ChangesRequested => ("Your task came back to be changed", "edit"),
        Kind::TaskCompleted => ("Your task is done", "s-completed"),
        Kind::TaskFailed => ("Your task failed", "s-failed"),
        Kind::NeedsAttention => ("Nobody knows what was done; somebody has to look", "alert"),
        Kind::TaskCancelled => ("Your task was cancelled", "s-cancelled"),
        Kind::TaskBlocked => ("Your task waits for one that will never be done", "stop"),
        Kind::TaskCommented => ("There is a new comment", "comment"),
        Kind::NobodyTold => ("It waits, and only admins like you were told", "alert"),
    }
}

/// Notes that what was on the page is read.
pub(crate) async fn read(
    State(app): State<App>,
    shell: Shell,
    Filled(fields): Filled<Vec<(String, String)>>,
) -> Result<Response<Body>, Problem> {
    let mut ids: Vec<Id<Notification>> = Vec::new();
    for (name, value) in &fields {
        if name != "notification_ids" {
            return Err(Problem::field(format!("/{name}"), "is not known"));
        }
        let id = value.parse().map_err(|_| Problem::field("/notification_ids", "is not an id"))?;
        ids.push(Id::new(id));
    }
    if ids.len() > TOLD_SHOWN as usize {
        return Err(Problem::field("/notification_ids", format!("at most {TOLD_SHOWN} are read at once")));
    }
    notifications::read_all(&app.hub, &shell.caller, ids).await?;
    Ok(lead_to(&View::Told.address().to_string()))
}

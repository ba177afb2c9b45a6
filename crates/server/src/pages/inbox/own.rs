//! The reader's own tasks that others have to decide on.

use domain::tasks::TaskState;
use hub::TaskFilter;
use hub::tasks::{self, Seen};
use uuid::Uuid;

use super::asking::View;
use crate::App;
use crate::pages::reading::description;
use crate::pages::shell::Shell;
use crate::pages::show::{Markup, line, long, risk, seats, whole};
use crate::problem::Problem;

const OWN_SHOWN: i64 = 100;

/// One of them.
pub(super) struct Own {
    pub(super) id: String,
    pub(super) to: String,
    pub(super) title: Markup,
    pub(super) whole: Option<String>,
    pub(super) risk: Markup,
    pub(super) seats: Markup,
    pub(super) missing: Vec<Markup>,
    pub(super) reachable: bool,
    pub(super) age: Markup,
    pub(super) current: bool,
}

/// Those that wait, the newest first.
pub(super) async fn rows(app: &App, shell: &Shell, current: &[Uuid]) -> Result<Vec<Own>, Problem> {
    let me = shell.caller.credential.account.id;
    let filter = TaskFilter { author: Some(me), state: Some(TaskState::Reviewing), ..TaskFilter::default() };
    let found = tasks::list(&app.hub, &shell.caller, filter, OWN_SHOWN).await?;
    Ok(found.iter().map(|seen| row(seen, shell, current)).collect())
}

fn row(seen: &Seen, shell: &Shell, current: &[Uuid]) -> Own {
    let (task, summary) = (&seen.task, seen.review.as_ref().map(|review| &review.summary));
    let given = summary.map_or(0, |all| all.tallies.iter().map(|one| one.approved.min(one.required)).sum());
    let needed = summary.map_or(0, |all| all.tallies.iter().map(|one| one.required).sum());
    let words = description(&seen.config);
    let missing = summary.iter().flat_map(|all| &all.missing);
    Own {
        id: task.id.to_string(),
        to: View::Own.address().with("task", task.id).to_string(),
        title: line(&words),
        whole: whole(&words),
        risk: risk(task.risk.level, Some(task.risk.score)),
        seats: seats(given, needed),
        missing: missing.map(|missing| line(missing)).collect(),
        reachable: summary.is_none_or(|all| all.reachable),
        age: long(task.submitted_at.unwrap_or(task.created_at), shell.now),
        current: current.contains(&task.id.raw()),
    }
}

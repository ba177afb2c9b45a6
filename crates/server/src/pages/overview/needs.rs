//! What nobody is dealing with: a log that was tampered with, reviews that cannot end, ends that nobody has looked at, agents that fell silent.

use domain::agents::AgentStatus;
use domain::permissions::Capability;
use domain::tasks::TaskState;
use hub::tasks::Seen;
use hub::{AgentFilter, HubError};

use super::newest;
use crate::App;
use crate::pages::audit::last_check;
use crate::pages::shell::Shell;
use crate::pages::show::{Markup, clock, line, long};
use crate::pages::task_list::rows::title_of;

const AGENTS_LOOKED_AT: i64 = 20;
const SHOWN: usize = 12;

/// Something for a person.
pub(super) struct Need {
    pub(super) icon: &'static str,
    pub(super) is_bad: bool,
    pub(super) what: Markup,
    pub(super) words: String,
    pub(super) since: Option<Markup>,
    pub(super) to: String,
    pub(super) button: &'static str,
}

pub(super) async fn read(app: &App, shell: &Shell, reviewing: &[Seen]) -> Result<Vec<Need>, HubError> {
    let mut needs: Vec<Need> = tampered(app, shell).await?.into_iter().collect();
    needs.extend(reviewing.iter().filter_map(unreachable));
    let failed = newest(app, shell, TaskState::Failed).await?;
    needs.extend(failed.iter().filter(|seen| seen.task.needs_attention).map(|seen| ended(seen, shell)));
    needs.extend(reviewing.iter().filter_map(|seen| overdue(seen, shell)));
    needs.extend(silent(app, shell).await?);
    needs.truncate(SHOWN);
    Ok(needs)
}

async fn tampered(app: &App, shell: &Shell) -> Result<Option<Need>, HubError> {
    if shell.caller.require(Capability::AuditRead).is_err() {
        return Ok(None);
    }
    let broken = last_check(app, shell).await?.filter(|check| !check.ok);
    Ok(broken.map(|check| Need {
        icon: "alert",
        is_bad: true,
        what: line("The audit log"),
        words: "is not what was sealed. Found".to_owned(),
        since: Some(long(check.updated_at, shell.now)),
        to: "/audit".to_owned(),
        button: "Look",
    }))
}

fn unreachable(seen: &Seen) -> Option<Need> {
    let review = seen.review.as_ref()?;
    let is_lost = review.review.resolution.is_none() && !review.summary.reachable;
    let missing = review.summary.missing.first().cloned().unwrap_or_default();
    is_lost.then(|| Need {
        icon: "alert",
        is_bad: true,
        what: line(&title_of(seen)),
        words: format!("cannot be approved as things are. {missing}."),
        since: None,
        to: format!("/tasks/{}", seen.task.id),
        button: "Open",
    })
}

fn ended(seen: &Seen, shell: &Shell) -> Need {
    Need {
        icon: "s-failed",
        is_bad: true,
        what: line(&title_of(seen)),
        words: "failed, and nobody knows for certain what was done. Ended".to_owned(),
        since: seen.task.ended_at.map(|at| long(at, shell.now)),
        to: format!("/tasks/{}", seen.task.id),
        button: "Look",
    }
}

fn overdue(seen: &Seen, shell: &Shell) -> Option<Need> {
    let due = seen.task.due_at.filter(|due| *due < shell.now)?;
    Some(Need {
        icon: "clock",
        is_bad: false,
        what: line(&title_of(seen)),
        words: format!("should have been done by {} and is still in review. Late", clock(due, shell.now)),
        since: Some(long(due, shell.now)),
        to: format!("/tasks/{}", seen.task.id),
        button: "Open",
    })
}

async fn silent(app: &App, shell: &Shell) -> Result<Vec<Need>, HubError> {
    if shell.caller.require(Capability::AgentsRead).is_err() {
        return Ok(Vec::new());
    }
    let filter = AgentFilter { status: Some(AgentStatus::Offline), ..AgentFilter::default() };
    let found = hub::agents::list(&app.hub, &shell.caller, filter, AGENTS_LOOKED_AT).await?;
    let need = |seen: &hub::agents::Seen| {
        let heard = seen.agent.last_heartbeat?;
        Some(Need {
            icon: "offline",
            is_bad: seen.workload.active_tasks > 0,
            what: line(&seen.agent.name),
            words: "is offline. Last heard".to_owned(),
            since: Some(long(heard, shell.now)),
            to: format!("/agents?agent={}", seen.agent.id),
            button: "Look",
        })
    };
    Ok(found.iter().filter_map(need).collect())
}

//! What nobody is dealing with: a log that was tampered with, reviews that cannot end, ends that nobody has looked at, agents that fell silent.

use domain::agents::AgentStatus;
use domain::permissions::Capability;
use hub::tasks::{LOOKED_AT_MAX, LeftBehind, Seen, Stuck};
use hub::{AgentFilter, HubError};

use crate::App;
use crate::pages::audit::last_check;
use crate::pages::shell::Shell;
use crate::pages::show::{Markup, clock, grouped, line, long, plural};
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

/// What is shown of it, and how much there is.
pub(super) struct Needs {
    pub(super) shown: Vec<Need>,
    /// How many of which there are beside those that are shown, and how far was looked.
    pub(super) heading: Option<String>,
}

pub(super) async fn read(app: &App, shell: &Shell) -> Result<Needs, HubError> {
    let stuck = hub::tasks::stuck(&app.hub, &shell.caller, SHOWN).await?;
    let mut shown: Vec<Need> = tampered(app, shell).await?.into_iter().collect();
    shown.extend(stuck.unreachable.iter().filter_map(unreachable));
    shown.extend(stuck.failed.iter().map(|seen| ended(seen, shell)));
    shown.extend(stuck.overdue.iter().filter_map(|seen| overdue(seen, shell)));
    shown.extend(silent(app, shell).await?);
    let is_cut = shown.len() > SHOWN || stuck.unreachable_count > SHOWN || stuck.overdue_count > SHOWN;
    shown.truncate(SHOWN);
    Ok(Needs { shown, heading: heading(&stuck, is_cut) })
}

fn heading(stuck: &Stuck, is_cut: bool) -> Option<String> {
    let mut words = Vec::new();
    if is_cut {
        let lost = plural(stuck.unreachable_count, "task");
        words.push(format!("the first {SHOWN}; {lost} nobody can approve, {} late", stuck.overdue_count));
    }
    if stuck.is_cut_off {
        words.push(format!(
            "of what is in review, the {} there longest were looked at",
            grouped(LOOKED_AT_MAX)
        ));
    }
    (!words.is_empty()).then(|| words.join("; "))
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
    let missing = review.summary.missing.first().cloned().unwrap_or_default();
    seen.is_stuck().then(|| Need {
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
        words: format!("{}. Ended", left_behind(seen.left_behind())),
        since: seen.task.ended_at.map(|at| long(at, shell.now)),
        to: format!("/tasks/{}", seen.task.id),
        button: "Look",
    }
}

const fn left_behind(what: Option<LeftBehind>) -> &'static str {
    match what {
        Some(LeftBehind::Unknown) | None => "ended, and nobody knows how far it came",
        Some(LeftBehind::Untouched) => "failed, and what it began was left as it is",
        Some(LeftBehind::OnItsWayBack) => "failed, and is to be undone, which is not over",
        Some(LeftBehind::NotUndone) => "failed, and what it began was not undone",
        Some(LeftBehind::HalfUndone) => "failed, and nobody knows how far undoing it came",
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

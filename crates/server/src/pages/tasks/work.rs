//! Attempts to apply a task, what they wrote, and the locks it needs or holds.

use domain::executions::{
    AGENT_LOST, Execution, ExecutionResult, FORCE_RELEASED, LOCK_LOST, Outcome, Phase, Purpose, Rollback,
    TAIL_BYTES_MAX, TIMEOUT,
};
use domain::permissions::Capability;
use domain::tasks::TaskState;
use hub::locks::queue;
use hub::tasks::{Dossier, LeftBehind};

use crate::App;
use crate::pages::reading::ResourceShown;
use crate::pages::shell::Shell;
use crate::pages::show::{Face, Markup, ago, clock, grouped, line, lines, output, span, time};
use crate::problem::Problem;

/// One attempt.
pub(super) struct Attempt {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) agent: Markup,
    pub(super) is_running: bool,
    pub(super) result: &'static str,
    pub(super) class: &'static str,
    pub(super) times: Markup,
    pub(super) heartbeat: Markup,
    pub(super) deadline: String,
    /// How far the agent says it is.
    pub(super) progress: Option<Far>,
    pub(super) error: Option<Markup>,
    /// What the error means where it is the hub's word and not the agent's.
    pub(super) ended_by_hub: Option<&'static str>,
    /// Why what it began was not undone; and what that means where it is the hub's word.
    pub(super) not_undone: Option<(Markup, Option<&'static str>)>,
    pub(super) output: Vec<Markup>,
    pub(super) output_about: String,
    pub(super) locks: Vec<Taken>,
}

/// How far an agent says it is.
pub(super) struct Far {
    pub(super) percent: Option<i64>,
    pub(super) message: Option<Markup>,
}

/// A lock that an attempt began under.
pub(super) struct Taken {
    pub(super) key: Markup,
    pub(super) mode: &'static str,
    pub(super) fence: String,
}

/// Something the task needs.
pub(super) struct Lock {
    pub(super) name: Markup,
    pub(super) is_free: bool,
    pub(super) about: Markup,
}

pub(super) fn attempts(dossier: &Dossier, shell: &Shell) -> Vec<Attempt> {
    dossier.executions.iter().map(|execution| attempt(execution, dossier, shell)).collect()
}

fn attempt(execution: &Execution, dossier: &Dossier, shell: &Shell) -> Attempt {
    let named = dossier.names.get(&execution.agent_id);
    let face = Face {
        name: named.map_or_else(|| execution.agent_id.to_string(), |named| named.name.clone()),
        is_agent: true,
        is_me: false,
    };
    let (result, class) = result(execution);
    let kept = grouped(execution.output_size);
    let is_cut = execution.output_size > TAIL_BYTES_MAX as i64;
    Attempt {
        id: execution.id.to_string(),
        title: match execution.purpose {
            Purpose::Apply => format!("Attempt {}", execution.attempt),
            Purpose::Rollback => format!("Rollback of attempt {}", execution.attempt),
        },
        agent: face.who(),
        is_running: execution.ended_at.is_none(),
        result,
        class,
        times: times(execution, shell),
        heartbeat: ago(execution.last_heartbeat, shell.now),
        deadline: clock(execution.deadline_at, shell.now),
        progress: far(execution),
        error: execution.error.as_deref().map(lines),
        ended_by_hub: ended_by_hub(execution),
        not_undone: not_undone(execution),
        output: execution.output_tail.lines().map(output).collect(),
        output_about: match is_cut {
            true => format!("the end of {kept} bytes"),
            false => format!("{kept} bytes"),
        },
        locks: execution.locks.iter().map(taken).collect(),
    }
}

/// While it runs; what became of it says more than how far it was.
fn far(execution: &Execution) -> Option<Far> {
    let far =
        Far { percent: execution.progress_percent, message: execution.progress_message.as_deref().map(line) };
    let is_said = far.percent.is_some() || far.message.is_some();
    (execution.ended_at.is_none() && is_said).then_some(far)
}

fn result(execution: &Execution) -> (&'static str, &'static str) {
    match (execution.phase(), execution.result) {
        (Phase::RollingBack, _) => ("rolling back", " warn"),
        (Phase::Applying, _) => ("running", " run"),
        (Phase::Ended, Some(ExecutionResult::Success)) => ("succeeded", " ok"),
        (Phase::Ended, Some(ExecutionResult::Failure)) => (failed(execution), " bad"),
        (Phase::Ended, Some(ExecutionResult::Timeout)) => ("ran out of time", " bad"),
        (Phase::Ended, Some(ExecutionResult::Cancelled)) => ("ended by an admin", " bad"),
        (Phase::Ended, None) => ("ended", ""),
    }
}

const fn failed(execution: &Execution) -> &'static str {
    match execution.rollback {
        Rollback::None | Rollback::Asked | Rollback::Running => "failed",
        Rollback::Succeeded => "failed, undone",
        Rollback::Failed => "failed, not undone",
    }
}

/// Why a person has to look.
pub(super) const fn left_behind(what: LeftBehind) -> &'static str {
    match what {
        LeftBehind::Unknown => {
            "Nobody knows how far it came: it ended before its agent could say. Nothing was undone."
        }
        LeftBehind::Untouched => {
            "It failed, and what it began was left as it is. Whether that is undone, a person decides."
        }
        LeftBehind::OnItsWayBack => "It failed, and somebody asked for it to be undone. That is not over.",
        LeftBehind::NotUndone => {
            "What it began was not undone: undoing it failed too, and it is not tried again."
        }
        LeftBehind::HalfUndone => {
            "Nobody knows how far undoing it came: that ended before its agent could say, and it is not tried again."
        }
    }
}

/// Why the hub ended it, in words. What an agent reports is its own word, whatever it looks like: also where it was the
/// undoing that the hub ended.
fn ended_by_hub(execution: &Execution) -> Option<&'static str> {
    if execution.outcome != Some(Outcome::Unknown) || execution.not_undone().is_some() {
        return None;
    }
    match execution.error.as_deref()? {
        AGENT_LOST => Some("Nothing more was heard from the agent, so the hub ended the attempt."),
        TIMEOUT => Some("Its time was over, so the hub ended the attempt."),
        LOCK_LOST => Some("A lock that it needs was lost, so the hub ended the attempt."),
        FORCE_RELEASED => Some("An admin released a lock that it needs, which ended the attempt."),
        _ => None,
    }
}

/// Why it was not undone, and that in words where it was the hub that gave up.
fn not_undone(execution: &Execution) -> Option<(Markup, Option<&'static str>)> {
    let why = execution.not_undone()?;
    let words = match why.error {
        AGENT_LOST => Some("Nothing more was heard from the agent, so the hub ended the undoing."),
        TIMEOUT => Some("The time for undoing it was over, so the hub ended that."),
        LOCK_LOST => Some("A lock that undoing it needs was lost, so the hub ended that."),
        FORCE_RELEASED => Some("An admin released a lock that undoing it needs, which ended that."),
        _ => None,
    };
    Some((lines(why.error), words.filter(|_| why.is_by_hub)))
}

fn times(execution: &Execution, shell: &Shell) -> Markup {
    let began = clock(execution.created_at, shell.now);
    match execution.ended_at {
        Some(ended) => {
            let took = span(ended.since(execution.created_at));
            time(ended, &format!("{began} to {}, {took}", clock(ended, shell.now)))
        }
        None => time(execution.created_at, &format!("since {began}")),
    }
}

fn taken(lock: &domain::executions::LockTaken) -> Taken {
    Taken { key: line(&lock.key), mode: lock.mode.as_str(), fence: grouped(lock.fence) }
}

/// What the task needs, while it may still need it, and who has it now.
pub(super) async fn locks(
    app: &App,
    shell: &Shell,
    dossier: &Dossier,
    resources: &[ResourceShown],
) -> Result<Vec<Lock>, Problem> {
    let wants = matches!(dossier.seen.task.state, TaskState::Reviewing | TaskState::Approved);
    if !wants || !shell.caller.capabilities.contains(Capability::LocksRead) {
        return Ok(Vec::new());
    }
    let mut locks = Vec::with_capacity(resources.len());
    for resource in resources {
        let standing = queue(&app.hub, &shell.caller, &resource.key).await?;
        let mut about = Markup::default();
        match standing.holders.first() {
            None => about.raw(format_args!("{}, free", resource.mode)),
            Some(held) => {
                let until = clock(held.hold.expires_at, shell.now);
                about.raw(format_args!("{}, held {} until {until}", resource.mode, held.hold.mode.as_str()));
            }
        }
        if !standing.waiters.is_empty() {
            about.raw(format_args!(", {} in line", standing.waiters.len()));
        }
        let is_free = standing.holders.is_empty();
        locks.push(Lock { name: resource.name.clone(), is_free, about });
    }
    Ok(locks)
}

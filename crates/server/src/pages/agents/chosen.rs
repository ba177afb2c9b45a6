//! The agent that somebody looks at: what it is set to, and what it does now.

use std::collections::BTreeMap;

use domain::Id;
use domain::accounts::Account;
use domain::agents::AgentChange;
use domain::permissions::Capability;
use hub::agents::{self, Seen};
use hub::locks::Wanted;
use hub::{HubError, TaskFilter, tasks};
use serde_json::Value;
use uuid::Uuid;

use super::ChangeForm;
use super::cards::health;
use crate::App;
use crate::pages::lists::Names;
use crate::pages::shell::Shell;
use crate::pages::show::{Face, Markup, absolute, ago, code, grouped, line, pill_of};
use crate::pages::task_list::rows::title_of;

const TASKS_SHOWN: i64 = 5;
const LOCKS_SHOWN: usize = 8;

/// One agent in full.
pub(in crate::pages) struct Chosen {
    pub(in crate::pages) id: Uuid,
    pub(in crate::pages) face: Face,
    pub(in crate::pages) owner: Face,
    pub(in crate::pages) dot: &'static str,
    pub(in crate::pages) health: String,
    pub(in crate::pages) heard: Option<Markup>,
    /// What it said of itself, line by line.
    pub(in crate::pages) says: Option<Markup>,
    pub(in crate::pages) retired: Option<String>,
    pub(in crate::pages) may_change: bool,
    pub(in crate::pages) is_draining: bool,
    pub(in crate::pages) form: Values,
    /// For its owner and admins.
    pub(in crate::pages) config: Option<Markup>,
    pub(in crate::pages) active: String,
    pub(in crate::pages) tasks: Vec<(Uuid, Markup, Markup)>,
    pub(in crate::pages) locks: Vec<(Markup, String)>,
}

/// What the form begins with.
pub(in crate::pages) struct Values {
    pub(in crate::pages) version: String,
    pub(in crate::pages) description: String,
    pub(in crate::pages) model: String,
    pub(in crate::pages) role_name: String,
    pub(in crate::pages) max_tasks: i64,
    pub(in crate::pages) labels: String,
}

impl Chosen {
    pub(in crate::pages) async fn read(app: &App, shell: &Shell, id: Id<Account>) -> Result<Self, HubError> {
        let seen = agents::get(&app.hub, &shell.caller, id).await?;
        let names = Names::of(app, shell, [seen.agent.owner_id]).await?;
        let agent = &seen.agent;
        let (dot, health) = health(agent, seen.workload.active_tasks);
        let may_write = shell.caller.capabilities.contains(Capability::AgentsWrite);
        let config = seen.config().filter(|config| !config.is_empty());
        Ok(Self {
            id: agent.id.raw(),
            face: Face { name: agent.name.clone(), is_agent: true, is_me: false },
            owner: names.face(agent.owner_id),
            dot,
            health,
            heard: agent.last_heartbeat.map(|at| ago(at, shell.now)),
            says: agent
                .health
                .as_ref()
                .filter(|said| **said != serde_json::json!({}))
                .map(|said| code(said).lines),
            retired: agent.deactivated_at.map(absolute),
            may_change: may_write && seen.config().is_some() && agent.deactivated_at.is_none(),
            is_draining: agent.draining,
            form: values(&seen),
            config: config.map(|config| code(&Value::Object(config.clone())).lines),
            active: grouped(seen.workload.active_tasks),
            tasks: its_tasks(app, shell, id).await?,
            locks: its_locks(app, shell, id).await?,
        })
    }
}

pub(in crate::pages) fn values(seen: &Seen) -> Values {
    let agent = &seen.agent;
    let labels: Vec<String> = agent.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    Values {
        version: seen.etag(),
        description: agent.description.clone(),
        model: agent.model.clone().unwrap_or_default(),
        role_name: agent.role_name.clone().unwrap_or_default(),
        max_tasks: agent.max_tasks,
        labels: labels.join("\n"),
    }
}

async fn its_tasks(
    app: &App,
    shell: &Shell,
    id: Id<Account>,
) -> Result<Vec<(Uuid, Markup, Markup)>, HubError> {
    if shell.caller.require(Capability::TasksRead).is_err() {
        return Ok(Vec::new());
    }
    let filter = TaskFilter { author: Some(id), ..TaskFilter::default() };
    let found = tasks::list(&app.hub, &shell.caller, filter, TASKS_SHOWN).await?;
    let shown = |seen: &tasks::Seen| (seen.task.id.raw(), line(&title_of(seen)), pill_of(seen));
    Ok(found.iter().map(shown).collect())
}

async fn its_locks(app: &App, shell: &Shell, id: Id<Account>) -> Result<Vec<(Markup, String)>, HubError> {
    if shell.caller.require(Capability::LocksRead).is_err() {
        return Ok(Vec::new());
    }
    let wanted = Wanted { agent: Some(id), limit: LOCKS_SHOWN, ..Wanted::default() };
    let held = hub::locks::list(&app.hub, &shell.caller, wanted).await?;
    let fence = |fence: u64| grouped(i64::try_from(fence).unwrap_or(i64::MAX));
    Ok(held.iter().map(|held| (line(held.key.as_str()), fence(held.hold.fence))).collect())
}

/// What the form says; an empty field takes the word away.
pub(super) fn change(form: &ChangeForm) -> Result<AgentChange, String> {
    let word = |text: &str| Some(Some(text.trim().to_owned()).filter(|text| !text.is_empty()));
    Ok(AgentChange {
        description: Some(form.description.clone()),
        model: word(&form.model),
        role_name: word(&form.role_name),
        max_tasks: Some(whole(&form.max_tasks)?),
        labels: Some(labels(&form.labels)?),
        ..AgentChange::default()
    })
}

pub(super) fn whole(text: &str) -> Result<i64, String> {
    let number = text.trim().parse();
    number.map_err(|_| "Tasks at the same time must be a whole number. Nothing was saved.".to_owned())
}

/// `key=value`, one a line.
pub(super) fn labels(text: &str) -> Result<BTreeMap<String, String>, String> {
    let mut labels = BTreeMap::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let Some((key, value)) = line.split_once('=') else {
            return Err("Each label must read key=value, one a line. Nothing was saved.".to_owned());
        };
        if labels.insert(key.trim().to_owned(), value.trim().to_owned()).is_some() {
            return Err("A label is there twice. Nothing was saved.".to_owned());
        }
    }
    Ok(labels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_read_line_by_line() {
        let read = labels(" env=prod \r\n\nteam=a=b").unwrap();
        assert_eq!(
            read.into_iter().collect::<Vec<_>>(),
            [("env".into(), "prod".into()), ("team".into(), "a=b".into())]
        );
        assert!(labels("env").is_err() && labels("a=1\na=2").is_err());
        assert!(whole("two").is_err() && whole(" 3 ") == Ok(3));
    }
}

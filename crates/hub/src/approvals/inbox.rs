//! What waits for somebody, with all that lists say about it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use domain::Id;
use domain::accounts::Account;
use domain::approvals::{Approval, ApprovalStatus};
use domain::permissions::Capability;
use domain::projects::Project;
use domain::risk::RiskLevel;
use domain::tasks::thaw;
use records::approvals::{Filter, Order, list, place};
use records::{Tx, agents, task_dependencies};

use crate::tasks::{Seen, seen_of};
use crate::{Caller, Hub, HubError, settings};

/// Among how many requests is looked for those that somebody wants to see.
const SEARCHED_MAX: i64 = 1000;
/// How many of them are read at a time.
const SEARCHED_AT_ONCE: i64 = 200;

/// Which of the requests that wait are wanted; what is not said narrows nothing.
#[derive(Clone, Debug, Default)]
pub struct Sought {
    /// Words that all are in the description, the names of resources, the type, or the author's name.
    pub text: Option<String>,
    /// Only of this risk or a higher one.
    pub risk_from: Option<RiskLevel>,
    /// Only of this project.
    pub project: Option<Id<Project>>,
}

/// What waits for the caller.
#[derive(Clone, Debug)]
pub struct Inbox {
    /// In the order of the queue.
    pub waiting: Vec<Waiting>,
    /// Whether several may be answered at once.
    pub batches: bool,
    /// Whether more wait than were looked at.
    pub is_cut: bool,
}

/// One request that waits, with its task.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// The request.
    pub approval: Approval,
    /// Its task.
    pub task: Seen,
    /// How many tasks wait for that.
    pub blocks: i64,
    /// Whether its author is an agent.
    pub by_agent: bool,
}

impl Sought {
    fn is_all(&self) -> bool {
        self.text.is_none() && self.risk_from.is_none() && self.project.is_none()
    }

    fn means(&self, seen: &Seen) -> bool {
        let task = &seen.task;
        let is_risky = self.risk_from.is_none_or(|level| task.risk.level >= level);
        let is_there = self.project.is_none_or(|project| task.project_id == project);
        is_risky && is_there && self.text.as_deref().is_none_or(|words| says(seen, words))
    }
}

/// Whether every word is in what a row says about a task.
fn says(seen: &Seen, words: &str) -> bool {
    let mut said = seen.author_name.to_lowercase();
    if let Ok(config) = thaw(&seen.config) {
        for text in [&config.task_type, &config.description] {
            said.push('\n');
            said.push_str(&text.to_lowercase());
        }
        for resource in &config.resources {
            said.push('\n');
            said.push_str(&resource.name().to_lowercase());
        }
    }
    words.to_lowercase().split_whitespace().all(|word| said.contains(word))
}

/// The first requests that wait for the caller and are sought.
pub async fn inbox(hub: &Hub, caller: &Caller, sought: Sought, limit: i64) -> Result<Inbox, HubError> {
    caller.require(Capability::ApprovalsRead)?;
    caller.require(Capability::TasksRead)?;
    let batches = settings::of(hub, caller.credential.organization.id).await?.feature_batch_approvals;
    let input = (caller.clone(), sought, limit);
    let read =
        hub.records.read(input, |tx, (caller, sought, limit)| Box::pin(found(tx, caller, sought, *limit)));
    let (waiting, is_cut) = read.await?;
    Ok(Inbox { waiting, batches, is_cut })
}

/// The requests, and whether more wait than were looked at.
async fn found(
    tx: &mut Tx,
    caller: &Caller,
    sought: &Sought,
    limit: i64,
) -> Result<(Vec<Waiting>, bool), HubError> {
    let org = caller.credential.organization.id;
    let at_once = if sought.is_all() { limit } else { SEARCHED_AT_ONCE };
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    let (mut waiting, mut searched, mut after) = (Vec::new(), 0, None);
    let is_cut = loop {
        let filter = Filter {
            reviewer: Some(caller.credential.account.id),
            status: Some(ApprovalStatus::Pending),
            task: None,
            order: Order::Queue(after),
        };
        let requests = list(tx, org, &filter, at_once).await?;
        let read = i64::try_from(requests.len()).unwrap_or(i64::MAX);
        after = requests.last().map(place);
        searched += read;
        let found = meant(tx, caller, requests, sought).await?;
        waiting.extend(found.into_iter().take(most.saturating_sub(waiting.len())));
        if read < at_once || waiting.len() >= most {
            break false;
        }
        if searched >= SEARCHED_MAX {
            break true;
        }
    };
    Ok((waiting, is_cut))
}

/// Those of the requests that are sought, with what lists say about them.
async fn meant(
    tx: &mut Tx,
    caller: &Caller,
    requests: Vec<Approval>,
    sought: &Sought,
) -> Result<Vec<Waiting>, HubError> {
    let org = caller.credential.organization.id;
    // Somebody may be asked twice about one: for the review, and to sign an override.
    let shown = seen_of(tx, caller, requests.iter().map(|request| request.task_id).collect()).await?;
    let blocked = task_dependencies::blocked(tx, org, shown.keys().copied()).await?;
    let mut by_agents: BTreeMap<Id<Account>, bool> = BTreeMap::new();
    for author in shown.values().map(|seen| seen.task.author_id) {
        if let Entry::Vacant(unknown) = by_agents.entry(author) {
            unknown.insert(agents::get(tx, org, author).await?.is_some());
        }
    }
    let with_task = |approval: Approval| {
        let task = shown.get(&approval.task_id).filter(|seen| sought.means(seen))?.clone();
        let blocks = blocked.get(&approval.task_id).copied().unwrap_or(0);
        let by_agent = by_agents.get(&task.task.author_id).copied().unwrap_or(false);
        Some(Waiting { approval, task, blocks, by_agent })
    };
    Ok(requests.into_iter().filter_map(with_task).collect())
}

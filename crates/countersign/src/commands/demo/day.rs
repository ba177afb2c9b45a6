//! What happens in the demo, in order: a morning that is over, what waits for somebody now, and what comes while one looks.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::Context;
use client::Client;
use tokio::task::JoinSet;
use uuid::Uuid;
use wire::{
    Approval, ApprovalStatus, ApprovalsQuery, Approve, AttachPreview, CreateComment, CreateTask,
    DelegationConditions, DelegationForm, DelegationKind, Refuse, Task, TaskState,
};

use super::cast::{self, Cast, Player};
use super::script::{self, Proposal};
use super::workers;
use crate::commands::serve::say;

/// How often something new is proposed.
const MORE_EVERY: Duration = Duration::from_secs(20);
/// More would only bury what matters.
const MORE_WAITING_MAX: usize = 12;

/// Plays until somebody stops it.
pub(super) async fn play(admin: &Client) -> anyhow::Result<()> {
    let cast = cast::gather(admin).await.context("bringing everybody in")?;
    let mut agents = JoinSet::new();
    // The last one has not been heard of, as agents sometimes are.
    for agent in cast.agents.iter().filter(|agent| agent.name != "cost-scout") {
        agents.spawn(workers::live(agent.id, agent.client.clone()));
    }
    morning(&cast).await.context("the morning")?;
    for (name, purpose) in
        [("report-builder", "building the stock report"), ("release-pilot", "counting stock")]
    {
        agents.spawn(workers::take_turns(cast.agent(name)?.client.clone(), purpose));
    }
    let waiting = afternoon(&cast).await.context("the afternoon")?;
    say(&format!("\n{waiting} tasks wait, some of them for you. Agents apply what you approve.\n"))?;
    tokio::select! {
        ended = agents.join_next() => ended.context("there are agents")??,
        more = come_and_go(admin, &cast) => more,
    }
}

/// Has everything of the morning decided and applied.
async fn morning(cast: &Cast) -> anyhow::Result<()> {
    for proposal in script::morning() {
        let task = propose(cast, &proposal, &HashMap::new()).await?;
        match proposal.slug {
            "open-admin-port" => {
                let reason = "That is everybody, not the office. Name the office's range.";
                refuse(&cast.priya, &task, reason).await?;
            }
            "renew-certificate" => {
                approve(&cast.priya, &task).await?;
                ended(cast, &proposal, &task).await?;
            }
            _ => {
                approve(&cast.jonas, &task).await?;
                ended(cast, &proposal, &task).await?;
            }
        }
    }
    let stands_in = DelegationForm { delegate_to: Some(cast.mira.id), ..DelegationForm::default() };
    cast.jonas.client.create_delegation(&stands_in).await?;
    let names = DelegationConditions {
        resource_patterns: Some(vec!["dns:*".into()]),
        ..DelegationConditions::default()
    };
    let follows = DelegationForm {
        delegate_to: Some(cast.mira.id),
        kind: Some(DelegationKind::Follow),
        conditions: Some(names),
        ..DelegationForm::default()
    };
    cast.priya.client.create_delegation(&follows).await?;
    say("Jonas Lind leaves for the day; Mira Okafor stands in for him")
}

/// Waits until a task was applied, or could not be.
async fn ended(cast: &Cast, proposal: &Proposal, task: &Task) -> anyhow::Result<()> {
    let client = &cast.agent(proposal.agent)?.client;
    loop {
        let task = client.task(task.id).await?;
        if matches!(task.state, TaskState::Completed | TaskState::Failed) {
            let how =
                if task.state == TaskState::Completed { "was applied" } else { "failed, and was undone" };
            return say(&format!("{}: {how}", proposal.title()));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Proposes what waits for somebody, and has others say their part. How many wait.
async fn afternoon(cast: &Cast) -> anyhow::Result<usize> {
    let mut known = HashMap::new();
    for proposal in script::waiting() {
        let task = propose(cast, &proposal, &known).await?;
        known.insert(proposal.slug, task.id);
        match proposal.slug {
            "add-shipped-at" => {
                approve(&cast.mira, &task).await?;
                comment(
                    &cast.tom,
                    &task,
                    "The release after this one needs the column. Tonight would be good.",
                )
                .await?;
            }
            "drop-legacy-status" => {
                comment(&cast.mira, &task, "Does anybody still read it? I see one query a day.").await?;
            }
            "open-partner-range" => {
                comment(&cast.priya, &task, "A /16 is a lot for one warehouse. I would ask for their /28.")
                    .await?;
            }
            _ => {}
        }
    }
    Ok(known.len())
}

/// While somebody looks: small things are proposed, and some of them approved by others.
async fn come_and_go(admin: &Client, cast: &Cast) -> anyhow::Result<()> {
    for number in 0.. {
        tokio::time::sleep(MORE_EVERY).await;
        let query = ApprovalsQuery {
            reviewer: Some("me".to_owned()),
            status: Some(ApprovalStatus::Pending),
            ..ApprovalsQuery::default()
        };
        if admin.approvals(&query).await?.items.len() >= MORE_WAITING_MAX {
            continue;
        }
        let task = propose_again(cast, number).await?;
        if number % 2 == 0 {
            tokio::time::sleep(MORE_EVERY / 4).await;
            approve(&cast.mira, &task).await?;
        }
    }
    Ok(())
}

/// One of those that come all day long, done by an agent that lives.
async fn propose_again(cast: &Cast, number: usize) -> anyhow::Result<Task> {
    let proposal = Proposal { agent: "report-builder", ..script::another(number) };
    let worker = cast.agent(proposal.agent)?;
    let wanted = CreateTask {
        config: proposal.config.clone(),
        assignee: Some(worker.id),
        submit: Some(true),
        ..CreateTask::default()
    };
    let task = worker.client.create_task(&wanted).await?;
    told(&proposal, &task)?;
    Ok(task)
}

async fn propose(
    cast: &Cast,
    proposal: &Proposal,
    known: &HashMap<&'static str, Uuid>,
) -> anyhow::Result<Task> {
    let agent = cast.agent(proposal.agent)?;
    let after = proposal.after.iter().filter_map(|slug| known.get(slug)).copied().collect();
    let wanted = CreateTask {
        config: proposal.config.clone(),
        slug: Some(proposal.slug.to_owned()),
        path: Some(proposal.path.to_owned()),
        assignee: Some(agent.id),
        depends_on: Some(after),
        ..CreateTask::default()
    };
    let draft = agent.client.create_task(&wanted).await?;
    if !proposal.changes.is_empty() {
        let preview = AttachPreview { changes: proposal.preview(), ..AttachPreview::default() };
        agent.client.attach_preview(draft.id, &preview).await?;
    }
    let task = agent.client.submit_task(draft.id).await?;
    told(proposal, &task)?;
    Ok(task)
}

fn told(proposal: &Proposal, task: &Task) -> anyhow::Result<()> {
    let risk = task.risk.level.to_lowercase();
    say(&format!("{} proposes: {} ({risk} risk)", proposal.agent, proposal.title()))
}

/// The request about a task that this person may answer.
async fn request(who: &Player, task: &Task) -> anyhow::Result<Approval> {
    let query = ApprovalsQuery {
        reviewer: Some("me".to_owned()),
        status: Some(ApprovalStatus::Pending),
        task_id: Some(task.id),
        ..ApprovalsQuery::default()
    };
    let found = who.client.approvals(&query).await?.items.into_iter().next();
    found.with_context(|| format!("{} is not asked about {}", who.name, task.id))
}

async fn approve(who: &Player, task: &Task) -> anyhow::Result<()> {
    let asked = request(who, task).await?;
    let answer = Approve { content_hash: asked.content_hash.clone(), review_hash: None, reason: None };
    who.client.approve(asked.id, &answer).await?;
    say(&format!("{} approves it", who.name))
}

async fn refuse(who: &Player, task: &Task, reason: &str) -> anyhow::Result<()> {
    let asked = request(who, task).await?;
    let answer =
        Refuse { content_hash: asked.content_hash.clone(), review_hash: None, reason: reason.to_owned() };
    who.client.reject(asked.id, &answer).await?;
    say(&format!("{} rejects it: {reason}", who.name))
}

async fn comment(who: &Player, task: &Task, text: &str) -> anyhow::Result<()> {
    let said = CreateComment { body: text.to_owned() };
    who.client.comment_task(task.id, &said).await?;
    Ok(())
}

//! Everything that somebody reads before they decide on a task, as of one moment.

use std::collections::{BTreeMap, BTreeSet};

use domain::accounts::Account;
use domain::approvals::{Answer, Approval, ApprovalKind, ApprovalStatus};
use domain::audit::AuditEntry;
use domain::executions::Execution;
use domain::organizations::Organization;
use domain::permissions::Capability;
use domain::reviews::{Ballot, Case, Resolution, Seat, VoteRefusal, summary};
use domain::tasks::comments::Comment;
use domain::tasks::{Behind, Revision, Task, TaskState};
use domain::{Id, Timestamp};
use records::approvals::{self, Filter};
use records::{
    Tx, accounts, agents, executions, reviews as review_rows, task_comments, task_dependencies,
    task_revisions, tasks,
};

use super::overrides::{OVERRIDE_ASKED, SKIP_ASKED};
use super::standing::{Alarmed, alarmed};
use super::{Seen, behind, known, seen};
use crate::reviews::{candidates, load, of_task};
use crate::{Caller, Hub, HubError};

/// Comments that are shown with a task.
const COMMENTS_SHOWN: i64 = 100;
/// Attempts that are shown with it.
const EXECUTIONS_SHOWN: i64 = 20;
/// Tasks that wait for it and are named.
const DEPENDENTS_NAMED: usize = 10;
/// Requests of earlier rounds among which the last look is looked for.
const LOOKS: i64 = 50;

/// A task with all that belongs to a decision about it.
#[derive(Clone, Debug)]
pub struct Dossier {
    /// The task.
    pub seen: Seen,
    /// Every request of its current or last review, with what an answer counts for.
    pub seats: Vec<Seat>,
    /// What the caller is asked; none: nothing.
    pub mine: Option<Mine>,
    /// Whether the caller had a hand in it.
    pub is_own: bool,
    /// What the caller read last, where that was another revision.
    pub looked: Option<Looked>,
    /// How many tasks wait for it.
    pub blocks: usize,
    /// The first of them.
    pub dependents: Vec<Neighbour>,
    /// What it waits for and is not done.
    pub waits_for: Vec<Neighbour>,
    /// What was said, newest first.
    pub comments: Vec<Comment>,
    /// Attempts, newest first.
    pub executions: Vec<Execution>,
    /// Whoever is named in all of this.
    pub names: BTreeMap<Id<Account>, Named>,
    /// Who started the author, if that is an agent.
    pub started_by: Option<Id<Account>>,
    /// Which override another admin is asked to sign; none: none is.
    pub asked: Option<AskedFor>,
    /// Who was told that its review waits for nobody; nobody, where it does not.
    pub alarmed: Vec<Alarmed>,
}

/// An override that waits for its second signature.
#[derive(Clone, Debug)]
pub struct AskedFor {
    /// Who asked for it.
    pub by: Id<Account>,
    /// When.
    pub at: Timestamp,
    /// Why.
    pub reason: Option<String>,
    /// Which incident it is about.
    pub ticket: Option<String>,
    /// Whether it is about what an approved task waits for, and not about its review.
    pub is_about_skipping: bool,
}

/// What the caller is asked.
#[derive(Clone, Debug)]
pub struct Mine {
    /// The request.
    pub approval: Approval,
    /// What an approval would lead to, or why it would not be taken.
    pub may: Result<Prospect, VoteRefusal>,
    /// Who could decide in the caller's place.
    pub others: Vec<Id<Account>>,
    /// Who made the password or key that the caller came with, where the answer is refused for that alone: it would be
    /// taken from the same person with one of their own.
    pub not_with: Option<Id<Account>>,
}

/// Whoever reads, as the one who would answer.
struct Voter<'c> {
    id: Id<Account>,
    behind: &'c Behind,
    /// Whoever else made what a person came with.
    minter: Option<Id<Account>>,
    /// The request that is asked about.
    request: Option<Id<Approval>>,
}

/// What an approval by the caller would lead to, if it came now.
#[derive(Clone, Debug)]
pub struct Prospect {
    /// How the review would end; none: it would go on.
    pub resolution: Option<Resolution>,
    /// How it would end if the caller said no instead.
    pub after_no: Option<Resolution>,
    /// What would still be missing.
    pub missing: Vec<String>,
}

/// A revision that the caller read in an earlier round.
#[derive(Clone, Debug)]
pub struct Looked {
    /// It.
    pub revision: Revision,
    /// When.
    pub at: Timestamp,
}

/// A task that waits for another, or is waited for.
#[derive(Clone, Debug)]
pub struct Neighbour {
    /// Its id.
    pub id: Id<Task>,
    /// The bytes of its config.
    pub config: Vec<u8>,
    /// Where it stands.
    pub state: TaskState,
}

/// Somebody.
#[derive(Clone, Debug)]
pub struct Named {
    /// What people call them.
    pub name: String,
    /// Whether it is a program.
    pub is_program: bool,
}

/// The dossier of a task, as it is now. Whoever is asked twice, to review it and to sign an override, is shown the request
/// that is named, or else the first one that is open.
pub async fn dossier(
    hub: &Hub,
    caller: &Caller,
    id: Id<Task>,
    request: Option<Id<Approval>>,
) -> Result<Dossier, HubError> {
    caller.require(Capability::TasksRead)?;
    caller.require(Capability::ApprovalsRead)?;
    let input = (caller.clone(), id, request, hub.clock.now());
    let read = hub
        .records
        .read(input, |tx, (caller, id, request, now)| Box::pin(whole(tx, caller, (*id, *request), *now)));
    read.await
}

async fn whole(
    tx: &mut Tx,
    caller: &Caller,
    (id, request): (Id<Task>, Option<Id<Approval>>),
    now: Timestamp,
) -> Result<Dossier, HubError> {
    let org = caller.credential.organization.id;
    let task = known(tx, org, id).await?;
    let seen = seen(tx, caller, task.clone()).await?;
    let case = match of_task(tx, &task).await? {
        Some(review) => Some(load(tx, task.clone(), review, (false, now)).await?),
        None => None,
    };
    let me = caller.credential.account.id;
    let behind = behind(tx, &caller.credential).await?;
    let revision = task_revisions::get(tx, org, id, task.revision).await?;
    let is_own = revision.is_some_and(|revision| revision.provenance.meets(&behind));
    let mine = match &case {
        Some(case) => {
            let minter = Some(caller.credential.means.minted_by());
            let minter = minter.filter(|minter| *minter != me && caller.credential.agent.is_none());
            mine(tx, case, &Voter { id: me, behind: &behind, minter, request }, now).await?
        }
        None => None,
    };
    let waiting = task_dependencies::dependents(tx, org, id).await?;
    let mut dossier = Dossier {
        seats: case.map(|case| case.seats).unwrap_or_default(),
        mine,
        is_own,
        looked: looked(tx, &task, me).await?,
        blocks: waiting.len(),
        dependents: neighbours(tx, org, waiting.iter().copied().take(DEPENDENTS_NAMED)).await?,
        waits_for: neighbours(tx, org, seen.blocked_by().into_iter().map(|by| by.task_id)).await?,
        comments: task_comments::list(tx, org, id, None, COMMENTS_SHOWN).await?,
        executions: executions::list(tx, (org, id), None, EXECUTIONS_SHOWN).await?,
        names: BTreeMap::new(),
        started_by: agents::get(tx, org, task.author_id).await?.map(|agent| agent.owner_id),
        asked: None,
        alarmed: Vec::new(),
        seen,
    };
    dossier.asked = asked(tx, &dossier).await?;
    dossier.alarmed = alarmed(tx, org, &dossier).await?;
    dossier.names = names(tx, &dossier).await?;
    Ok(dossier)
}

/// The caller's request, the one that is named or an open one first, and what would come of an answer: asked of the very
/// rules that would take it.
async fn mine(tx: &mut Tx, case: &Case, voter: &Voter<'_>, now: Timestamp) -> Result<Option<Mine>, HubError> {
    let own = case.seats.iter().filter(|seat| seat.approval.reviewer_id == voter.id);
    let own = own.min_by_key(|Seat { approval, .. }| {
        (voter.request != Some(approval.id), approval.status != ApprovalStatus::Pending, approval.id)
    });
    let Some(seat) = own else { return Ok(None) };
    let approval = seat.approval.clone();
    let ballot = Ballot {
        approval_id: approval.id,
        answer: Answer::Approve,
        reason: None,
        content_hash: case.review.content_hash,
        review_hash: Some(case.review.review_hash),
        voter: voter.id,
        behind: voter.behind.clone(),
    };
    let may = case.vote(&ballot, now).map(|counted| {
        let mut after = case.clone();
        after.note(&counted);
        let missing = summary(&after.review, &after.seats, &after.provenance).missing;
        let refusal = Ballot { answer: Answer::Reject, ..ballot.clone() };
        let after_no = case.vote(&refusal, now).ok().and_then(|counted| counted.resolution);
        Prospect { resolution: counted.resolution, after_no, missing }
    });
    let by_own = || Ballot { behind: Behind::act(voter.id, &[], voter.id), ..ballot.clone() };
    let not_with = voter.minter.filter(|_| may.is_err() && case.vote(&by_own(), now).is_ok());
    let others = match may {
        Ok(_) => stand_ins(tx, case, (&approval, voter), now).await?,
        Err(_) => Vec::new(),
    };
    Ok(Some(Mine { approval, may, others, not_with }))
}

/// Whom the request could be passed on to.
async fn stand_ins(
    tx: &mut Tx,
    case: &Case,
    (approval, voter): (&Approval, &Voter<'_>),
    now: Timestamp,
) -> Result<Vec<Id<Account>>, HubError> {
    let quorums = case.review.policies.iter().map(|policy| &policy.quorum);
    let mut others = candidates(tx, case.task.org_id, quorums).await?;
    others.retain(|other| {
        let takes = case.pass_on(approval.id, (voter.id, voter.behind), Some(other), now);
        other.account_id != voter.id && takes.is_ok()
    });
    Ok(others.into_iter().map(|other| other.account_id).collect())
}

/// What the caller read in an earlier round, if the task is another now.
async fn looked(tx: &mut Tx, task: &Task, me: Id<Account>) -> Result<Option<Looked>, HubError> {
    let filter = Filter { reviewer: Some(me), task: Some(task.id), ..Filter::default() };
    let mut seen = Vec::new();
    for request in approvals::list(tx, task.org_id, &filter, LOOKS).await? {
        let Some(at) = request.acknowledged_at else { continue };
        let review = review_rows::get(tx, task.org_id, request.review_id).await?;
        seen.extend(review.map(|review| (at, review.revision)));
    }
    let Some((at, number)) = seen.into_iter().filter(|(_, number)| *number < task.revision).max() else {
        return Ok(None);
    };
    let revision = task_revisions::get(tx, task.org_id, task.id, number).await?;
    Ok(revision.map(|revision| Looked { revision, at }))
}

/// Which override waits for a second admin. What the first one said of it is on record, and nowhere else.
async fn asked(tx: &mut Tx, dossier: &Dossier) -> Result<Option<AskedFor>, HubError> {
    let open =
        dossier.seats.iter().map(|seat| &seat.approval).find(|request| {
            request.kind == ApprovalKind::Override && request.status == ApprovalStatus::Pending
        });
    let Some(request) = open else { return Ok(None) };
    let is_about_skipping = request.is_about_skipping();
    let action = if is_about_skipping { SKIP_ASKED } else { OVERRIDE_ASKED };
    let task = &dossier.seen.task;
    let body = records::audit::rows::latest(tx, task.org_id, &task.id.to_string(), action).await?;
    let Some(entry) = body.as_deref().and_then(AuditEntry::from_body) else { return Ok(None) };
    Ok(Some(AskedFor {
        by: entry.actor,
        at: entry.occurred_at,
        reason: entry.reason,
        ticket: entry.ticket_ref,
        is_about_skipping,
    }))
}

async fn neighbours(
    tx: &mut Tx,
    org: Id<Organization>,
    named: impl IntoIterator<Item = Id<Task>>,
) -> Result<Vec<Neighbour>, HubError> {
    let named: Vec<Id<Task>> = named.into_iter().collect();
    if named.is_empty() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for current in task_revisions::current(tx, org, &named).await? {
        let task = tasks::get(tx, org, current.task_id).await?;
        found.extend(task.map(|task| Neighbour { id: task.id, config: current.config, state: task.state }));
    }
    Ok(found)
}

/// What people call everybody who is named.
async fn names(tx: &mut Tx, dossier: &Dossier) -> Result<BTreeMap<Id<Account>, Named>, HubError> {
    let mut wanted = BTreeSet::from([dossier.seen.task.author_id]);
    for seat in &dossier.seats {
        let approval = &seat.approval;
        wanted.insert(approval.reviewer_id);
        wanted.extend(approval.delegated_to);
        wanted.extend(approval.delegation_chain.iter().copied());
        wanted.extend(approval.response.as_ref().map(|response| response.by));
    }
    wanted.extend(dossier.mine.iter().flat_map(|mine| mine.others.iter().copied().chain(mine.not_with)));
    wanted.extend(dossier.comments.iter().map(|comment| comment.author_id));
    wanted.extend(dossier.executions.iter().map(|execution| execution.agent_id));
    wanted.extend(dossier.started_by);
    wanted.extend(dossier.asked.as_ref().map(|asked| asked.by));
    wanted.extend(dossier.alarmed.iter().map(|alarmed| alarmed.account));
    wanted.extend(dossier.seen.review.as_ref().and_then(|seen| seen.review.resolved_by));
    wanted.extend(dossier.seen.task.assignee);
    let mut names = BTreeMap::new();
    for id in wanted {
        if let Some(account) = accounts::get(tx, id).await? {
            let is_program = !account.access_level.is_person();
            names.insert(id, Named { name: account.display_name, is_program });
        }
    }
    Ok(names)
}

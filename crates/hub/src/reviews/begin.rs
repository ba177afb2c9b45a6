//! Beginning a review: risk, policies, people; or none of them, where every policy lets the task pass.

use std::time::Duration;

use domain::approvals::Approval;
use domain::policies::{Author, Matched, Question};
use domain::reviews::{Ending, Opening, Request, Resolution, Review, Terms, Times, due_at, end, open, panel};
use domain::risk::Risk;
use domain::settings::Settings;
use domain::tasks::{Actor, Move, Revision, Task, TaskConfig, TaskState};
use domain::{Id, Timestamp};
use records::{Tx, approvals, grants, reviews, task_dependencies, tasks};
use serde_json::{Map, Value, json};

use super::people;
use crate::act::Act;
use crate::tasks::{announce, announce_move, config_value, record, refused, risk};
use crate::{HubError, rules, settings};

/// What is to be reviewed.
pub(crate) struct Matter<'a> {
    /// The task as it stands in the records.
    pub(crate) stored: &'a Task,
    /// The task as it will be when the review begins.
    pub(crate) task: Task,
    /// The revision to be decided on.
    pub(crate) revision: &'a Revision,
    /// What it says.
    pub(crate) config: &'a TaskConfig,
    /// How the task comes into review.
    pub(crate) by: (Move, Actor),
}

/// Begins a review. Gives the task as it is then: REVIEWING, or APPROVED where nobody needs to be asked.
pub(crate) async fn begin<T>(tx: &mut Tx, act: &Act<T>, matter: Matter<'_>) -> Result<Task, HubError> {
    let settings = settings::load(tx, act.org()).await?;
    let judged = judge(tx, act, &matter, &settings).await?;
    let opening = Opening { id: act.hub.ids.id(), policies: judged.policies, risk: judged.risk, at: act.now };
    let (wanted, actor) = matter.by;
    let (task, review) = open(&matter.task, wanted, actor, &opening).map_err(refused)?;
    let task = Task { risk: Risk { auto_approvable: judged.passes, ..task.risk.clone() }, ..task };
    if judged.passes {
        return pass(tx, act, &matter, (task, review), (judged.details, &settings)).await;
    }
    tasks::save(tx, matter.stored, &task).await?;
    reviews::insert(tx, &review).await?;
    transition(tx, act, "task:review_began", (matter.task.state, &task), judged.details).await?;
    let candidates = people::candidates(tx, act.org(), &review.policies).await?;
    let asked = panel(&review.policies, &candidates, &matter.revision.provenance);
    for person in &asked {
        let request = Request {
            id: act.hub.ids.id(),
            reviewer: person.reviewer,
            serves: person.serves.clone(),
            joined: false,
            due_at: due(&review.policies, &person.serves, &settings, act.now),
        };
        ask(tx, act, &review.request(&task, request, act.now)).await?;
    }
    if asked.is_empty() {
        announce(tx, act, "approval:nobody_told", &task).await?;
    }
    Ok(task)
}

/// Until when somebody who serves these policies should answer.
pub(crate) fn due(policies: &[Matched], serves: &[usize], settings: &Settings, now: Timestamp) -> Timestamp {
    let times = Times { usual: settings.approval_default_timeout, longest: settings.approval_max_timeout };
    due_at(policies, serves, times, now)
}

/// Writes a request, and tells of it.
pub(crate) async fn ask<T>(tx: &mut Tx, act: &Act<T>, approval: &Approval) -> Result<(), HubError> {
    approvals::insert(tx, approval).await?;
    crate::approvals::announce(tx, act, "approval:requested", approval).await
}

struct Judged {
    risk: Risk,
    policies: Vec<Matched>,
    passes: bool,
    details: Map<String, Value>,
}

async fn judge<T>(
    tx: &mut Tx,
    act: &Act<T>,
    matter: &Matter<'_>,
    settings: &Settings,
) -> Result<Judged, HubError> {
    let rules = rules::load(tx, &act.hub, act.org()).await?;
    let dependents = task_dependencies::dependents(tx, act.org(), matter.task.id).await?;
    let asked = risk::Assessed {
        config: matter.config,
        preview: matter.task.preview.as_ref(),
        catalogue: rules.catalogue(),
        dependents: dependents.len(),
        thresholds: settings.risk_thresholds,
        now: act.now,
    };
    let risk = risk::of(tx, act.org(), &asked).await?;
    let author = matter.task.author_id;
    let author = Author::of(author, people::one(tx, act.org(), author).await?.as_ref());
    let config = config_value(matter.revision)?;
    let question = Question {
        thresholds: settings.risk_thresholds,
        task_type: &matter.config.task_type,
        resources: &matter.config.resources,
        risk: &risk,
        previewed_by_hub: matter.task.effect_hash.is_some(),
        config: &config,
        author: &author,
    };
    let policies = rules.matching(&question);
    let auto = rules.auto_approval(&policies, &question, settings.feature_auto_approve_low_risk);
    let versions: Vec<Value> = policies
        .iter()
        .map(|policy| {
            json!({"policy_id": policy.policy_id.to_string(), "version": policy.version, "because": policy.because})
        })
        .collect();
    let mut details = Map::new();
    details.insert("policies".into(), versions.into());
    details.insert("risk_score".into(), risk.score.into());
    details.insert("content_hash".into(), matter.task.content_hash.to_string().into());
    Ok(Judged { risk, policies, passes: auto.is_ok(), details })
}

/// Every policy lets it pass: the review begins and ends in one, and says so.
async fn pass<T>(
    tx: &mut Tx,
    act: &Act<T>,
    matter: &Matter<'_>,
    (task, review): (Task, Review),
    (why, settings): (Map<String, Value>, &Settings),
) -> Result<Task, HubError> {
    let ending = Ending { resolution: Resolution::Auto, by: None, actor: Actor::HUB, at: act.now };
    let terms = terms(act.hub.ids.id(), matter.config, settings);
    let ended = end(&task, &review, ending, terms).map_err(refused)?;
    tasks::save(tx, matter.stored, &ended.task).await?;
    reviews::insert(tx, &ended.review).await?;
    transition(tx, act, "task:review_began", (matter.task.state, &task), why).await?;
    if let Some(grant) = &ended.grant {
        grants::insert(tx, grant).await?;
    }
    let mut details = Map::new();
    details.insert("resolution".into(), Resolution::Auto.as_str().into());
    details.insert("content_hash".into(), task.content_hash.to_string().into());
    transition(tx, act, "task:approved", (task.state, &ended.task), details).await?;
    announce(tx, act, "task:approved", &ended.task).await?;
    Ok(ended.task)
}

/// What a Grant for this config is made of.
pub(super) fn terms(id: Id<domain::grants::Grant>, config: &TaskConfig, settings: &Settings) -> Terms {
    let validity = Duration::from_secs(settings.approval_validity.into());
    Terms { id, attempts: config.attempts(), validity }
}

/// One step of the task's life, on record and told.
pub(crate) async fn transition<T>(
    tx: &mut Tx,
    act: &Act<T>,
    action: &str,
    (from, task): (TaskState, &Task),
    details: Map<String, Value>,
) -> Result<(), HubError> {
    record(tx, act, action, (Some(from), task), details).await?;
    announce_move(tx, act, (from, task)).await
}

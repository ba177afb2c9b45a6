//! What a review would be: risk, policies, people; or none of them, where every policy lets the task pass. Nothing is
//! written here, so that a simulation says what happens and not something like it.

use domain::Timestamp;
use domain::approvals::Approval;
use domain::policies::{Author, Matched, Question};
use domain::reviews::{Opening, Request, Review, Seat, Summary, Times, due_at, open, panel, summary};
use domain::risk::Risk;
use domain::settings::Settings;
use domain::tasks::{Actor, Move, Revision, Task, TaskConfig};
use records::{Tx, task_dependencies};
use serde_json::{Map, Value, json};

use super::people;
use crate::act::Deed;
use crate::tasks::{config_value, refused, risk};
use crate::{HubError, rules};

/// What is to be reviewed.
pub(crate) struct Matter<'a> {
    /// The task as it will be when the review begins.
    pub(crate) task: Task,
    /// The revision to be decided on.
    pub(crate) revision: &'a Revision,
    /// What it says.
    pub(crate) config: &'a TaskConfig,
    /// How the task comes into review.
    pub(crate) by: (Move, Actor),
}

/// A review that could begin.
pub(crate) struct Plan {
    /// The task as it is then.
    pub(crate) task: Task,
    /// The review.
    pub(crate) review: Review,
    /// Who is asked; nobody where it passes by itself.
    pub(crate) requests: Vec<Approval>,
    /// Why it does not pass by itself, if it does not.
    pub(crate) asks_because: Vec<String>,
}

impl Plan {
    /// Whether nobody needs to be asked.
    pub(crate) fn passes(&self) -> bool {
        self.task.risk.auto_approvable
    }

    /// How the review stands as it begins.
    pub(crate) fn summary(&self, revision: &Revision) -> Summary {
        let seat =
            |approval: &Approval| Seat { counts_for: approval.serves.clone(), approval: approval.clone() };
        let seats: Vec<Seat> = self.requests.iter().map(seat).collect();
        summary(&self.review, &seats, &revision.provenance)
    }

    /// What it was decided by, for the audit.
    pub(crate) fn details(&self) -> Map<String, Value> {
        let version = |policy: &Matched| json!({"policy_id": policy.policy_id.to_string(), "version": policy.version, "because": policy.because});
        let versions: Vec<Value> = self.review.policies.iter().map(version).collect();
        let mut details = Map::new();
        details.insert("policies".into(), versions.into());
        details.insert("risk_score".into(), self.review.risk_score.into());
        details.insert("content_hash".into(), self.review.content_hash.to_string().into());
        details
    }
}

/// What happens if the matter comes into review now.
pub(crate) async fn plan(
    tx: &mut Tx,
    act: &impl Deed,
    matter: &Matter<'_>,
    settings: &Settings,
) -> Result<Plan, HubError> {
    let (risk, policies, auto) = judge(tx, act, matter, settings).await?;
    let risk = Risk { auto_approvable: auto.is_ok(), ..risk };
    let opening = Opening { id: act.hub().ids.id(), policies, risk, at: act.now() };
    let (wanted, actor) = matter.by;
    let (task, review) = open(&matter.task, wanted, actor, &opening).map_err(refused)?;
    let requests = match auto.is_ok() {
        true => Vec::new(),
        false => requests(tx, act, (matter, settings), (&task, &review)).await?,
    };
    Ok(Plan { task, review, requests, asks_because: auto.err().unwrap_or_default() })
}

type Judged = (Risk, Vec<Matched>, Result<(), Vec<String>>);

async fn judge(
    tx: &mut Tx,
    act: &impl Deed,
    matter: &Matter<'_>,
    settings: &Settings,
) -> Result<Judged, HubError> {
    let rules = rules::load(tx, act.hub(), act.org()).await?;
    let dependents = task_dependencies::dependents(tx, act.org(), matter.task.id).await?;
    let asked = risk::Assessed {
        config: matter.config,
        preview: matter.task.preview.as_ref(),
        catalogue: rules.catalogue(),
        dependents: dependents.len(),
        thresholds: settings.risk_thresholds,
        now: act.now(),
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
    Ok((risk, policies, auto))
}

async fn requests(
    tx: &mut Tx,
    act: &impl Deed,
    (matter, settings): (&Matter<'_>, &Settings),
    (task, review): (&Task, &Review),
) -> Result<Vec<Approval>, HubError> {
    let candidates = people::candidates(tx, act.org(), &review.policies).await?;
    let asked = panel(&review.policies, &candidates, &matter.revision.provenance);
    let request = |person: domain::reviews::Asked| {
        let due_at = due(&review.policies, &person.serves, settings, act.now());
        let id = act.hub().ids.id();
        let request = Request { id, reviewer: person.reviewer, serves: person.serves, joined: false, due_at };
        review.request(task, request, act.now())
    };
    Ok(asked.into_iter().map(request).collect())
}

/// Until when somebody who serves these policies should answer.
pub(crate) fn due(policies: &[Matched], serves: &[usize], settings: &Settings, now: Timestamp) -> Timestamp {
    let times = Times { usual: settings.approval_default_timeout, longest: settings.approval_max_timeout };
    due_at(policies, serves, times, now)
}

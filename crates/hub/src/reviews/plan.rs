//! What a review would be: risk, policies, people; or none of them, where every policy lets the task pass. Nothing is
//! written here, so that a simulation says what happens and not something like it.

use domain::Id;
use domain::accounts::Account;
use domain::approvals::Approval;
use domain::delegations::Matter as About;
use domain::policies::{Author, Ineligible, Matched, Question};
use domain::reviews::{
    Opening, Request, Review, Routed, Seat, Summary, Times, left_out, open, panel, routed, summary,
};
use domain::risk::Risk;
use domain::settings::Settings;
use domain::tasks::{Actor, Move, Revision, Task, TaskConfig};
use records::{Tx, task_dependencies};
use serde_json::{Map, Value, json};

use super::people;
use crate::act::Deed;
use crate::policies::zones;
use crate::tasks::{config_value, refused, risk};
use crate::{HubError, delegations, rules};

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
    /// For which of the policies an answer to each counts, in the same order.
    answers: Vec<Vec<usize>>,
    /// Delegations that led nowhere, for the record.
    astray: Map<String, Value>,
    /// Why it does not pass by itself, if it does not.
    pub(crate) asks_because: Vec<String>,
    /// Whom the policies mean and do not ask, each with the reason.
    pub(crate) left_out: Vec<(Id<Account>, Ineligible)>,
}

impl Plan {
    /// Whether nobody needs to be asked.
    pub(crate) fn passes(&self) -> bool {
        self.task.risk.auto_approvable
    }

    /// How the review stands as it begins.
    pub(crate) fn summary(&self, revision: &Revision) -> Summary {
        let seat =
            |(approval, answers): (&Approval, &Vec<usize>)| Seat::plain(approval.clone(), answers.clone());
        let seats: Vec<Seat> = self.requests.iter().zip(&self.answers).map(seat).collect();
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
        details.insert("asked".into(), self.requests.len().into());
        details.extend(self.astray.clone());
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
    let times = times(settings);
    let opening = Opening { id: act.hub().ids.id(), policies, risk, times, at: act.now() };
    let (wanted, actor) = matter.by;
    let (task, review) = open(&matter.task, wanted, actor, &opening).map_err(refused)?;
    let mut plan = Plan {
        task,
        review,
        requests: Vec::new(),
        answers: Vec::new(),
        astray: Map::new(),
        asks_because: Vec::new(),
        left_out: Vec::new(),
    };
    if let Err(because) = auto {
        plan.asks_because = because;
        place(tx, act, matter, &mut plan).await?;
    }
    Ok(plan)
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
        now: (act.now(), zones::local),
    };
    let policies = rules.matching(&question);
    let auto = rules.auto_approval(&policies, &question, settings.feature_auto_approve_low_risk);
    Ok((risk, policies, auto))
}

/// Who is asked: whom the policies mean, and where their delegations lead.
async fn place(tx: &mut Tx, act: &impl Deed, matter: &Matter<'_>, plan: &mut Plan) -> Result<(), HubError> {
    let quorums = plan.review.policies.iter().map(|policy| &policy.quorum);
    let candidates = people::candidates(tx, act.org(), quorums).await?;
    let provenance = &matter.revision.provenance;
    let asked = panel(&plan.review.policies, &candidates, provenance);
    plan.left_out = left_out(&plan.review.policies, &candidates, provenance);
    let book = delegations::book(tx, act.org(), asked.iter().map(|asked| asked.reviewer)).await?;
    let able = delegations::stand_ins(tx, act.org(), &book).await?;
    let about = About::new(&matter.config.task_type, &matter.config.resources, plan.review.risk_score);
    let routed = routed(asked, &book, &about, (provenance, act.now()), |who| able.contains(&who));
    plan.astray = astray(&routed);
    for placed in routed.placed {
        let answers = if placed.passed_on.is_some() { &placed.serves } else { &placed.answers };
        let due_at = plan.review.due_at(answers);
        let id = act.hub().ids.id();
        let request = Request { id, reviewer: placed.reviewer, serves: placed.serves, joined: false, due_at };
        let mut request = plan.review.request(&plan.task, request, act.now());
        request.routing.follows = placed.follows;
        request.delegation_chain = placed.through;
        if let Some(chain) = &placed.passed_on {
            request = request.passed_on(chain, act.now());
        }
        plan.requests.push(request);
        plan.answers.push(placed.answers);
    }
    Ok(())
}

/// Delegations that led in a circle, or to whoever had a hand in the task.
fn astray(routed: &Routed) -> Map<String, Value> {
    let mut astray = Map::new();
    let name = |id: &Id<Account>| id.to_string();
    if !routed.circles.is_empty() {
        let circles: Vec<Vec<String>> =
            routed.circles.iter().map(|circle| circle.iter().map(name).collect()).collect();
        astray.insert("delegation_circles".into(), json!(circles));
    }
    if !routed.void.is_empty() {
        let void = routed.void.iter().map(|(of, by)| json!({"reviewer_id": name(of), "by": name(by)}));
        astray.insert("void_delegations".into(), void.collect());
    }
    astray
}

/// How long people have.
pub(super) fn times(settings: &Settings) -> Times {
    Times { usual: settings.approval_default_timeout, longest: settings.approval_max_timeout }
}

//! What policies do: to a task that is here, as its review has it, and to one that nobody has proposed.

use domain::approvals::ApprovalKind;
use domain::policies::Matched;
use domain::reviews::PolicyTally;
use domain::tasks::TaskState;
use domain::{Id, json};
use hub::approvals::Seen as Request;
use hub::reviews::ReviewSeen;
use hub::tasks::{self, NewTask};
use hub::{ApprovalFilter, ApprovalOrder, HubError};
use uuid::Uuid;

use crate::App;
use crate::pages::shell::Shell;
use crate::pages::show::{Markup, line, pill, plural, risk};
use crate::pages::task_list::rows::title_of;

const REQUESTS_SHOWN: i64 = 50;
const LEFT_OUT_SHOWN: usize = 12;

/// Why a task is asked about, and whom.
pub(super) struct Explained {
    pub(super) id: Uuid,
    pub(super) title: Markup,
    pub(super) review: Option<Answer>,
}

/// What a review is made of.
pub(in crate::pages) struct Answer {
    pub(in crate::pages) policies: Vec<Applies>,
    pub(in crate::pages) people: Vec<Markup>,
    /// How many of them must say yes, policy by policy.
    pub(in crate::pages) required: Vec<u32>,
    pub(in crate::pages) is_reachable: bool,
    pub(in crate::pages) missing: Vec<String>,
}

pub(in crate::pages) struct Applies {
    pub(in crate::pages) name: Markup,
    pub(in crate::pages) because: Vec<Markup>,
    pub(in crate::pages) needs: String,
}

/// What would happen to a task.
pub(in crate::pages) struct Simulated {
    pub(in crate::pages) state: Markup,
    pub(in crate::pages) risk: Markup,
    pub(in crate::pages) answer: Answer,
    pub(in crate::pages) passes: bool,
    pub(in crate::pages) asks_because: Vec<Markup>,
    /// Whom the policies mean and do not ask, and why.
    pub(in crate::pages) left_out: Vec<(Markup, String)>,
    /// How many more of these there are.
    pub(in crate::pages) more_left_out: usize,
}

fn answer(review: &ReviewSeen, requests: &[Request]) -> Answer {
    let applies = |(policy, tally): (&Matched, &PolicyTally)| {
        let mut of = policy.quorum.required_roles.clone();
        if !policy.quorum.reviewers.is_empty() || of.is_empty() {
            of.push("those it names".to_owned());
        }
        Applies {
            name: line(&format!("{} v{}", policy.name, policy.version)),
            because: policy.because.iter().map(|why| line(why)).collect(),
            needs: domain::rendering::plain(&format!("{} of {}", tally.required, of.join(" or "))),
        }
    };
    let pairs = review.review.policies.iter().zip(&review.summary.tallies);
    Answer {
        policies: pairs.map(applies).collect(),
        required: review.summary.tallies.iter().map(|tally| tally.required).collect(),
        people: requests.iter().map(|request| line(&request.reviewer_name)).collect(),
        is_reachable: review.summary.reachable,
        missing: review.summary.missing.clone(),
    }
}

/// The task of this id; none where nobody asked.
pub(super) async fn task(app: &App, shell: &Shell, text: &str) -> Result<Option<Explained>, HubError> {
    if text.is_empty() {
        return Ok(None);
    }
    let id = Uuid::parse_str(text).map_err(|_| HubError::field("/task", "must be the id of a task"))?;
    let seen = tasks::get(&app.hub, &shell.caller, Id::new(id)).await?;
    let review = match &seen.review {
        None => None,
        Some(review) => {
            let filter = ApprovalFilter {
                task: Some(seen.task.id),
                order: ApprovalOrder::Age(None),
                ..ApprovalFilter::default()
            };
            let requests = hub::approvals::list(&app.hub, &shell.caller, filter, REQUESTS_SHOWN).await?;
            let is_of_review = |one: &Request| {
                one.approval.review_id == review.review.id && one.approval.kind == ApprovalKind::Review
            };
            let of_review: Vec<Request> = requests.into_iter().filter(is_of_review).collect();
            Some(answer(review, &of_review))
        }
    };
    Ok(Some(Explained { id, title: line(&title_of(&seen)), review }))
}

/// What would happen to a task with this config.
pub(super) async fn simulate(app: &App, shell: &Shell, text: &str) -> Result<Simulated, HubError> {
    let value = json::parse(text.as_bytes())
        .map_err(|error| HubError::field("/config", format!("must be JSON: {error}")))?;
    let config = value.as_object().cloned();
    let config = config.ok_or_else(|| HubError::field("/config", "must be a JSON object"))?;
    let wanted = NewTask {
        config: serde_json::Value::Object(config),
        metadata: serde_json::Map::new(),
        project_id: None,
        slug: None,
        path: None,
        assignee: None,
        due_at: None,
        depends_on: Vec::new(),
        submit: true,
    };
    Ok(simulated(&tasks::simulate(&app.hub, &shell.caller, wanted).await?))
}

/// What the hub says would happen.
pub(in crate::pages) fn simulated(found: &tasks::Simulated) -> Simulated {
    Simulated {
        state: pill(found.state),
        risk: risk(found.risk.level, found.shows_score.then_some(found.risk.score)),
        answer: answer(&found.review, &found.requests),
        passes: found.state == TaskState::Approved,
        asks_because: found.asks_because.iter().map(|why| line(why)).collect(),
        left_out: found
            .left_out
            .iter()
            .take(LEFT_OUT_SHOWN)
            .map(|(name, why)| (line(name), why.to_string()))
            .collect(),
        more_left_out: found.left_out.len().saturating_sub(LEFT_OUT_SHOWN),
    }
}

impl Answer {
    pub(in crate::pages) fn asked(&self) -> String {
        plural(self.people.len(), "person").replace("persons", "people")
    }

    /// How many of those who are asked must say yes.
    pub(in crate::pages) fn must_sign(&self) -> String {
        let asked = self.people.len();
        match (asked, self.required.as_slice()) {
            (0, _) => "Nobody is asked".to_owned(),
            (1, _) => "The one person who is asked must sign".to_owned(),
            (_, [required]) if usize::try_from(*required) == Ok(asked) => {
                format!("All {} who are asked must sign", self.asked())
            }
            (_, [1]) => format!("One of {} must sign", self.asked()),
            (_, [required]) => format!("{required} of {} must sign", self.asked()),
            (_, several) => {
                format!("{} are asked, and each of {} policies needs its own", self.asked(), several.len())
            }
        }
    }
}

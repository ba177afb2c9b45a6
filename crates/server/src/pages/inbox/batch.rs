//! Several requests answered at once: listed one by one, all taken or none.

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::Response;
use domain::Id;
use domain::approvals::{Answer, ApprovalKind, ApprovalStatus};
use domain::risk::RiskLevel;
use domain::tasks::TaskState;
use hub::approvals::{self, Answered, Batch, Vote};
use hub::tasks::{self, Dossier, Mine};
use uuid::Uuid;
use wire::Code;

use super::asking::{Asking, reads_first};
use super::{Pane, pairs, shown};
use crate::App;
use crate::pages::decisions::{hash, reason};
use crate::pages::form::Filled;
use crate::pages::lead_to;
use crate::pages::reading::{description, title};
use crate::pages::shell::{Shell, Toast};
use crate::pages::show::{HashShown, Markup, clock, line, plural, risk};
use crate::problem::Problem;

/// Tasks that somebody can read before they tick one box.
pub(super) const LISTED_MAX: usize = 50;

/// Tasks that are named when they were signed.
const NAMED_MAX: usize = 5;

/// The list that is signed.
pub(super) struct Listed {
    pub(super) tasks: Vec<Item>,
    /// Those that were not opened in full, in this revision.
    pub(super) unopened: usize,
    /// Those that were asked for and cannot be in a batch: answered, of high risk, or somebody else's.
    pub(super) left_out: usize,
}

/// One task of it.
pub(super) struct Item {
    pub(super) approval_id: String,
    pub(super) title: Markup,
    pub(super) author: Markup,
    pub(super) risk: Markup,
    pub(super) hash: HashShown,
    pub(super) review_hash: String,
    pub(super) happens: Markup,
    pub(super) yours: String,
    pub(super) opened: Option<String>,
    /// The way to read it, with the others still ticked.
    pub(super) to: String,
    /// The way to the same list without it.
    pub(super) without: String,
}

impl Listed {
    pub(super) fn count(&self) -> String {
        plural(self.tasks.len(), "task")
    }

    pub(super) fn unopened_words(&self) -> String {
        format!("Open {} first", plural(self.unopened, "task"))
    }
}

/// The list of what would be signed.
pub(crate) async fn show(
    State(app): State<App>,
    shell: Shell,
    query: RawQuery,
) -> Result<Response<Body>, Problem> {
    let ids = ids(&pairs(query)?)?;
    let mut listed = Listed { tasks: Vec::new(), unopened: 0, left_out: 0 };
    for id in &ids {
        match ready(&app, &shell, *id).await? {
            Some(dossier) => listed.tasks.extend(item(&dossier, &ids, &shell)),
            None => listed.left_out += 1,
        }
    }
    listed.unopened = listed.tasks.iter().filter(|task| task.opened.is_none()).count();
    shown(&app, &shell, &Asking::default(), (Pane::Batch(listed), &ids)).await
}

/// Which requests are named.
fn ids(pairs: &[(String, String)]) -> Result<Vec<Uuid>, Problem> {
    let named = pairs.iter().filter(|(name, _)| name == "approval_ids");
    let mut ids = Vec::new();
    for (_, value) in named {
        let id: Uuid = value.parse().map_err(|_| Problem::field("/approval_ids", "is not an id"))?;
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    match ids.len() {
        0 => Err(Problem::field("/approval_ids", "names nothing; select at least one task")),
        1..=LISTED_MAX => Ok(ids),
        _ => Err(Problem::field("/approval_ids", format!("at most {LISTED_MAX} tasks are signed at once"))),
    }
}

/// The dossier of a request that may be answered together with others: the reader's, open, and of no high risk.
async fn ready(app: &App, shell: &Shell, id: Uuid) -> Result<Option<Dossier>, Problem> {
    let seen = approvals::get(&app.hub, &shell.caller, Id::new(id)).await?;
    let dossier =
        tasks::dossier(&app.hub, &shell.caller, seen.approval.task_id, Some(seen.approval.id)).await?;
    let is_low = matches!(dossier.seen.task.risk.level, RiskLevel::Low | RiskLevel::Medium);
    let is_ready = dossier.mine.as_ref().is_some_and(|mine| is_open(mine, id));
    Ok(Some(dossier).filter(|_| is_low && is_ready))
}

fn is_open(mine: &Mine, id: Uuid) -> bool {
    let approval = &mine.approval;
    approval.id.raw() == id
        && approval.kind == ApprovalKind::Review
        && approval.status == ApprovalStatus::Pending
        && mine.may.is_ok()
}

fn item(dossier: &Dossier, ids: &[Uuid], shell: &Shell) -> Option<Item> {
    let (task, mine) = (&dossier.seen.task, dossier.mine.as_ref()?);
    let review = &dossier.seen.review.as_ref()?;
    let needed: u32 = review.summary.tallies.iter().map(|tally| tally.required).sum();
    let is_last = mine.may.as_ref().is_ok_and(|prospect| prospect.resolution.is_some());
    let others = ids.iter().filter(|id| **id != mine.approval.id.raw());
    let without: Vec<String> = others.map(|id| format!("approval_ids={id}")).collect();
    Some(Item {
        approval_id: mine.approval.id.to_string(),
        title: title(&dossier.seen.config),
        author: line(&dossier.seen.author_name),
        risk: risk(task.risk.level, Some(task.risk.score)),
        hash: HashShown::of(task.content_hash),
        review_hash: review.review.review_hash.to_string(),
        happens: happens(dossier),
        yours: match is_last {
            true => format!("last of {needed}"),
            false => format!("one of {needed}"),
        },
        opened: mine.approval.acknowledged_at.map(|at| clock(at, shell.now)),
        to: reads_first(mine.approval.id.raw(), ids).to_string(),
        without: match without.is_empty() {
            true => "/".to_owned(),
            false => format!("/approvals/batch?{}", without.join("&")),
        },
    })
}

/// What it does, in a line: how many changes its preview has, and what it touches.
fn happens(dossier: &Dossier) -> Markup {
    let preview = dossier.seen.task.preview.as_ref();
    let changes = preview.and_then(|preview| preview.get("changes")?.as_array().map(Vec::len));
    let mut words = match changes {
        Some(count) => format!("{}, the author says. ", plural(count, "change")),
        None => String::new(),
    };
    if let Ok(config) = domain::tasks::thaw(&dossier.seen.config) {
        let names: Vec<String> = config.resources.iter().map(domain::tasks::Resource::name).collect();
        words.push_str(&match names.is_empty() {
            true => "Names nothing it touches.".to_owned(),
            false => format!("Touches {}.", names.join(", ")),
        });
    }
    line(&words)
}

/// Answers all that is listed, or nothing.
pub(crate) async fn sign(
    State(app): State<App>,
    shell: Shell,
    Filled(fields): Filled<Vec<(String, String)>>,
) -> Result<Response<Body>, Problem> {
    let ids = ids(&fields)?;
    let field = |name: &str| fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    let answer = match field("action") {
        Some("approve") if field("read").is_none() => {
            return Err(Problem::field("/read", "say that you have read what you sign"));
        }
        Some("approve") => Answer::Approve,
        Some("reject") => Answer::Reject,
        _ => return Err(Problem::field("/action", "is approve or reject")),
    };
    let reason = reason(field("reason").unwrap_or_default(), answer)?;
    let mut votes = Vec::with_capacity(ids.len());
    for id in &ids {
        may_sign(&app, &shell, *id, answer).await?;
        let sent = |name: &str| {
            let name = format!("{name}.{id}");
            let found = field(&name).ok_or_else(|| Problem::field(format!("/{name}"), "is missing"))?;
            hash(&name, found)
        };
        votes.push(Vote {
            approval_id: Id::new(*id),
            answer,
            reason: reason.clone(),
            content_hash: sent("content_hash")?,
            review_hash: Some(sent("review_hash")?),
        });
    }
    let batch = Batch { votes, skip_validation: false, apply_immediately: false };
    approvals::batch(&app.hub, &shell.caller, batch, None).await?;
    let first = ids.first().map(|id| format!("/?done={id}"));
    Ok(lead_to(first.as_deref().unwrap_or("/")))
}

/// What was answered together: how many, which, and what follows.
pub(super) fn told(together: &[&Answered]) -> Option<Toast> {
    let response = together.first()?.approval.response.as_ref()?;
    let done = match response.action {
        Answer::Approve => "Approved",
        Answer::Reject => "Rejected",
        Answer::RequestChanges => "Changes requested",
    };
    let titles: Vec<String> =
        together.iter().map(|answered| description(&answered.task.config)).take(NAMED_MAX).collect();
    let rest = together.len() - titles.len();
    let others = if rest == 0 { String::new() } else { format!(" and {rest} more") };
    let open = together.iter().filter(|answered| answered.task.task.state == TaskState::Reviewing).count();
    let follows = match (response.action, open) {
        (Answer::Approve, 0) => "Agents may apply them.".to_owned(),
        (_, 0) => "Nothing runs.".to_owned(),
        (_, open) => format!("The review of {open} goes on."),
    };
    let words = format!("{}: {}{others}. {follows}", plural(together.len(), "task"), titles.join("; "));
    Some(Toast { done, words: line(&words), link: Some("/?view=done".to_owned()) })
}

/// High risk is signed one by one, and nothing is approved here that was not opened in full, in this revision.
async fn may_sign(app: &App, shell: &Shell, id: Uuid, answer: Answer) -> Result<(), Problem> {
    let Some(dossier) = ready(app, shell, id).await? else {
        let detail =
            format!("{id} cannot be answered in a batch: it is over, somebody else's, or of high risk");
        return Err(Problem::new(Code::BatchRefused, detail));
    };
    let opened = dossier.mine.as_ref().is_some_and(|mine| mine.approval.acknowledged_at.is_some());
    if answer == Answer::Approve && !opened {
        let detail = format!("{id} was not opened in full, in this revision; nothing was signed");
        return Err(Problem::new(Code::BatchRefused, detail));
    }
    Ok(())
}

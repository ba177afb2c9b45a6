//! Requests that wait for the reader.

use domain::approvals::{ApprovalKind, Priority};
use domain::risk::RiskLevel;
use domain::tasks::thaw;
use hub::approvals::{self, Inbox, Waiting};
use uuid::Uuid;

use super::asking::Asking;
use super::{ROWS_SHOWN, Rows};
use crate::App;
use crate::pages::reading::{Due, described, due};
use crate::pages::shell::Shell;
use crate::pages::show::{Markup, line, long, resource_icon, risk, seats, strip, whole};
use crate::problem::Problem;

const STRIP_BARS: usize = 16;
const MORE: &str = "More wait behind these. They come up as you answer.";
const CUT: &str = "Only the first 1,000 that wait for you were looked at.";

/// One request.
pub(super) struct Row {
    pub(super) id: String,
    pub(super) to: String,
    pub(super) title: Markup,
    pub(super) plain_title: String,
    /// The title where the row shows only its beginning.
    pub(super) whole: Option<String>,
    pub(super) risk: Markup,
    pub(super) urgent: bool,
    /// Why it stands above what is riskier.
    pub(super) is_raised: bool,
    pub(super) is_override: bool,
    pub(super) age: Markup,
    pub(super) author: Markup,
    pub(super) author_icon: &'static str,
    pub(super) resource: Option<(Markup, &'static str)>,
    pub(super) strip: Markup,
    pub(super) seats: Markup,
    pub(super) unreachable: bool,
    pub(super) due: Option<Due>,
    pub(super) blocks: i64,
    pub(super) opened: bool,
    pub(super) batchable: bool,
    pub(super) current: bool,
    pub(super) picked: bool,
}

/// The rows, what is said below them, and whether several may be signed at once.
pub(super) async fn rows(
    app: &App,
    shell: &Shell,
    asking: &Asking,
    (current, is_batch): (&[Uuid], bool),
) -> Result<(Rows, Option<&'static str>, bool), Problem> {
    let inbox = approvals::inbox(&app.hub, &shell.caller, asking.sought()?, ROWS_SHOWN + 1).await?;
    let Inbox { mut waiting, batches, is_cut } = inbox;
    let has_more = waiting.len() > ROWS_SHOWN as usize;
    waiting.truncate(ROWS_SHOWN as usize);
    let picked = asking.picked()?;
    let rows = waiting.iter().map(|waiting| {
        let mut row = row(waiting, shell);
        let id = waiting.approval.id.raw();
        let is_named = current.contains(&id);
        row.current = is_named && !is_batch;
        row.picked = is_named && is_batch || picked.contains(&id);
        row.batchable &= batches;
        row.to = asking.address().with("open", &row.id).to_string();
        row
    });
    let more = if has_more { Some(MORE) } else { is_cut.then_some(CUT) };
    Ok((Rows::Waiting(rows.collect()), more, batches))
}

fn row(waiting: &Waiting, shell: &Shell) -> Row {
    let (approval, task) = (&waiting.approval, &waiting.task.task);
    let config = thaw(&waiting.task.config).ok();
    let description = described(config.as_ref(), &waiting.task.config);
    let first = config.as_ref().and_then(|config| config.resources.first());
    let tallies = waiting.task.review.as_ref().map(|seen| &seen.summary);
    let given = tallies.map_or(0, |all| all.tallies.iter().map(|one| one.approved.min(one.required)).sum());
    let needed = tallies.map_or(0, |all| all.tallies.iter().map(|one| one.required).sum());
    Row {
        id: approval.id.to_string(),
        to: String::new(),
        title: line(&description),
        plain_title: domain::rendering::plain(&description),
        whole: whole(&description),
        risk: risk(task.risk.level, Some(task.risk.score)),
        urgent: approval.priority == Priority::Urgent,
        is_raised: approval.priority == Priority::High,
        is_override: approval.kind == ApprovalKind::Override,
        age: long(approval.created_at, shell.now),
        author: line(&waiting.task.author_name),
        author_icon: if waiting.by_agent { "agent" } else { "user" },
        resource: first.map(|resource| (line(&resource.id), resource_icon(&resource.kind))),
        strip: strip(task.content_hash, STRIP_BARS),
        seats: seats(given, needed),
        unreachable: tallies.is_some_and(|all| !all.reachable),
        due: approval.due_at.map(|at| due(at, shell.now)),
        blocks: waiting.blocks,
        opened: approval.acknowledged_at.is_some(),
        batchable: may_be_batched(waiting),
        current: false,
        picked: false,
    }
}

/// High risk is signed one by one, and so is skipping a review.
fn may_be_batched(waiting: &Waiting) -> bool {
    let is_low = matches!(waiting.task.task.risk.level, RiskLevel::Low | RiskLevel::Medium);
    is_low && waiting.approval.kind == ApprovalKind::Review
}

//! What the reader has answered, and what became of it.

use domain::approvals::{Answer, ApprovalKind, ApprovalStatus};
use hub::approvals::{self, Answered};
use uuid::Uuid;

use super::asking::View;
use crate::App;
use crate::pages::lists::Names;
use crate::pages::reading::description;
use crate::pages::shell::Shell;
use crate::pages::show::{Markup, ago, line, lines, pill, whole};
use crate::problem::Problem;

const DONE_SHOWN: i64 = 100;

/// One answer.
pub(super) struct Row {
    pub(super) id: String,
    pub(super) to: String,
    pub(super) title: Markup,
    pub(super) whole: Option<String>,
    pub(super) icon: &'static str,
    pub(super) answer: &'static str,
    pub(super) at: Markup,
    pub(super) author: Markup,
    pub(super) author_icon: &'static str,
    pub(super) state: Markup,
    pub(super) reason: Option<Markup>,
    /// Why it no longer counts.
    pub(super) void: Option<&'static str>,
    pub(super) current: bool,
}

/// The latest answers, the newest first.
pub(super) async fn rows(app: &App, shell: &Shell, current: &[Uuid]) -> Result<Vec<Row>, Problem> {
    let found = approvals::answered(&app.hub, &shell.caller, DONE_SHOWN).await?;
    let names = Names::of(app, shell, found.iter().map(|answered| answered.task.task.author_id)).await?;
    Ok(found.iter().filter_map(|answered| row(answered, &names, (shell, current))).collect())
}

fn row(answered: &Answered, names: &Names, (shell, current): (&Shell, &[Uuid])) -> Option<Row> {
    let (approval, task) = (&answered.approval, &answered.task);
    let response = approval.response.as_ref()?;
    let (answer, icon) = match (approval.kind, response.action) {
        (ApprovalKind::Override, Answer::Approve) => ("You signed the override", "bolt"),
        (_, Answer::Approve) => ("You approved", "check"),
        (_, Answer::Reject) => ("You rejected", "x"),
        (_, Answer::RequestChanges) => ("You requested changes", "edit"),
    };
    let words = description(&task.config);
    Some(Row {
        id: approval.id.to_string(),
        to: View::Done.address().with("open", approval.id).to_string(),
        title: line(&words),
        whole: whole(&words),
        icon,
        answer,
        at: ago(response.at, shell.now),
        author: line(&task.author_name),
        author_icon: names.face(task.task.author_id).symbol(),
        state: pill(task.task.state),
        reason: response.reason.as_deref().map(lines),
        void: (approval.status == ApprovalStatus::Superseded).then_some("void since it was edited"),
        current: current.contains(&approval.id.raw()),
    })
}

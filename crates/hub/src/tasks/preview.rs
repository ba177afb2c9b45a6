//! Attaching what the author says a task would change. Nothing is run for it.

use domain::Id;
use domain::permissions::Capability;
use domain::tasks::preview::attached;
use domain::tasks::{Move, Task};
use records::{Tx, task_dependencies, tasks};
use serde_json::{Map, Value, json};

use super::change::{current_config, current_revision};
use super::risk::{self, Assessed};
use super::{Seen, announce, edges, invalid, locked, record, require, seen, writer};
use crate::act::Act;
use crate::{Caller, Hub, HubError, etag, rules, settings};

struct Attach {
    task: Id<Task>,
    preview: Value,
    if_match: Option<String>,
    thresholds: [u32; 3],
}

/// Attaches the author's preview to a draft, in place of one it may have. The risk is assessed anew.
pub async fn attach_preview(
    hub: &Hub,
    caller: &Caller,
    task: Id<Task>,
    sent: &Value,
    if_match: Option<String>,
) -> Result<Seen, HubError> {
    caller.require(Capability::TasksWrite)?;
    let preview = attached(sent).map_err(invalid)?;
    let thresholds = settings::of(hub, caller.credential.organization.id).await?.risk_thresholds;
    let input = Act::new(hub, caller, Attach { task, preview, if_match, thresholds });
    hub.records.write(input, |tx, act| Box::pin(unit(tx, act))).await
}

async fn unit(tx: &mut Tx, act: &Act<Attach>) -> Result<Seen, HubError> {
    let before = locked(tx, act, act.input.task).await?;
    let current = writer(tx, act).await?;
    require(&current, &before, Move::AttachPreview)?;
    etag::require(act.input.if_match.as_deref(), &super::etag(&before))?;
    if before.preview.as_ref() == Some(&act.input.preview) {
        return seen(tx, &act.caller, before).await;
    }
    let revision = current_revision(tx, &before).await?;
    let rules = rules::load(tx, &act.hub, act.org()).await?;
    let asked = Assessed {
        config: &current_config(&revision)?,
        preview: Some(&act.input.preview),
        catalogue: rules.catalogue(),
        dependents: task_dependencies::dependents(tx, act.org(), before.id).await?.len(),
        thresholds: act.input.thresholds,
        now: act.now,
    };
    let risk = risk::of(tx, act.org(), &asked).await?;
    let waits = edges::is_waiting(tx, act, before.id).await?;
    let described = Task { preview: Some(act.input.preview.clone()), risk, ..before.clone() };
    let after = described.next_version(waits, act.now);
    tasks::save(tx, &before, &after).await?;
    let hash = domain::canonical::Sha256Hash::of_value(&act.input.preview).to_string();
    let details = Map::from_iter([("preview_hash".to_owned(), json!(hash))]);
    record(tx, act, "task:preview_attached", (Some(before.state), &after), details).await?;
    announce(tx, act, "task:updated", &after).await?;
    seen(tx, &act.caller, after).await
}

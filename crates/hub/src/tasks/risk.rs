//! How dangerous a task is, from what the organization knows.

use domain::organizations::Organization;
use domain::resource_catalogue::ResourceCatalogue;
use domain::risk::{Preview, Risk, RiskInputs, assess};
use domain::tasks::{Resource, TaskConfig};
use domain::{Id, Timestamp};
use records::{Tx, execution_history};
use serde_json::Value;

use crate::HubError;

/// What is looked at beside what the organization knows.
pub(crate) struct Assessed<'a> {
    pub(crate) config: &'a TaskConfig,
    pub(crate) preview: Option<&'a Value>,
    pub(crate) catalogue: &'a ResourceCatalogue,
    pub(crate) dependents: usize,
    pub(crate) thresholds: [u32; 3],
    pub(crate) now: Timestamp,
}

/// The risk, as of now.
pub(crate) async fn of(tx: &mut Tx, org: Id<Organization>, asked: &Assessed<'_>) -> Result<Risk, HubError> {
    let config = asked.config;
    let names: Vec<String> = config.resources.iter().map(Resource::name).collect();
    let history = execution_history::of(tx, org, &config.task_type, &names).await?;
    Ok(assess(&RiskInputs {
        resources: &config.resources,
        declared: config.declared_risk,
        preview: asked.preview.and_then(previewed),
        catalogue: asked.catalogue,
        dependents: u64::try_from(asked.dependents).unwrap_or(u64::MAX),
        history,
        thresholds: asked.thresholds,
        now: asked.now,
    }))
}

fn previewed(preview: &Value) -> Option<Preview<'_>> {
    let changes = preview.get("changes")?.as_array()?;
    Some(Preview { changes, by_hub: preview.get("made_by")?.as_str()? == "hub" })
}

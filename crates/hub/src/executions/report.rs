//! What an agent says about its attempt.

use domain::Id;
use domain::executions::{Execution, Report, fits_details};
use domain::permissions::Capability;
use records::Tx;
use serde_json::{Map, Value};

use super::output::written;
use super::settle::{let_go, write};
use super::{over, reported};
use crate::act::Act;
use crate::agents::note_alive;
use crate::faults::reached;
use crate::idempotency::{Once, Outcome, write_once};
use crate::{Caller, Hub, HubError};

/// Why something did not work.
#[derive(Clone, Debug)]
pub struct Said {
    /// What went wrong.
    pub error: String,
    /// What else there is to say.
    pub details: Option<Map<String, Value>>,
}

struct Input {
    id: Id<Execution>,
    output: Option<String>,
    report: Report,
}

/// The work is done; or, where it was undone, that is done.
pub async fn complete(
    hub: &Hub,
    caller: &Caller,
    id: Id<Execution>,
    output: Option<String>,
    once: Option<Once<Execution>>,
) -> Result<Outcome<Execution>, HubError> {
    report(hub, caller, Input { id, output, report: Report::Completed }, once).await
}

/// The work did not succeed; or, where it was undone, that did not.
pub async fn fail(
    hub: &Hub,
    caller: &Caller,
    id: Id<Execution>,
    said: Said,
    once: Option<Once<Execution>>,
) -> Result<Outcome<Execution>, HubError> {
    if said.details.as_ref().is_some_and(|details| !fits_details(details)) {
        return Err(HubError::field("/error_details", "must have at most 65536 bytes as JSON"));
    }
    let report_said = Report::Failed { error: said.error, details: said.details.map(Value::Object) };
    report(hub, caller, Input { id, output: None, report: report_said }, once).await
}

async fn report(
    hub: &Hub,
    caller: &Caller,
    input: Input,
    once: Option<Once<Execution>>,
) -> Result<Outcome<Execution>, HubError> {
    caller.require(Capability::ExecutionsWrite)?;
    let act = Act::new(hub, caller, input);
    let noted = write_once(hub, once, act, |tx, act| Box::pin(unit(tx, act))).await?;
    reached("report:noted");
    if let Outcome::Fresh(execution) = &noted {
        let_go(hub, execution).await;
    }
    reached("report:answering");
    Ok(noted)
}

async fn unit(tx: &mut Tx, act: &Act<Input>) -> Result<Execution, HubError> {
    let (task, mut execution, agent) = reported(tx, act, act.input.id).await?;
    execution.require_running().map_err(over)?;
    if let Some(text) = &act.input.output {
        execution = written(tx, act, &execution, ("/output", text)).await?;
    }
    note_alive(tx, act, &agent).await?;
    write(tx, act, (&task, &execution), &act.input.report).await
}

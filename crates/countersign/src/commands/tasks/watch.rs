//! Following a task to its end: where it stands, what it waits for, and what its attempts write.

use std::io::{Write, stderr};
use std::time::Duration;

use client::{Client, ClientError};
use uuid::Uuid;
use wire::{Execution, LockQueueQuery, Task, TaskState};

use super::super::executions::{Printed, how_far, is_at_work};
use super::show::{one_line, word};

/// How often it is looked at.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// What was last said, so that nothing is said twice.
#[derive(Default)]
struct Told {
    standing: String,
    printed: Option<Printed>,
}

/// The task when it is at its end. Output goes to stdout, talk to stderr. A hub that is restarted or busy is asked again.
pub(super) async fn to_end(client: &Client, id: Uuid) -> anyhow::Result<Task> {
    let mut told = Told::default();
    loop {
        match client.task(id).await {
            Ok(task) => {
                told.stands(standing(client, &task).await)?;
                if let Some(execution) = &task.execution {
                    told.wrote(client, execution).await?;
                }
                if is_over(&task) {
                    return Ok(task);
                }
            }
            Err(error) if error.passes() => {}
            Err(error) => return Err(error.into()),
        }
        tokio::time::sleep(LOOK_INTERVAL).await;
    }
}

fn is_over(task: &Task) -> bool {
    let has_ended = matches!(
        task.state,
        TaskState::Completed | TaskState::Rejected | TaskState::Cancelled | TaskState::Failed
    );
    has_ended && task.execution.as_ref().is_none_or(|execution| !is_at_work(execution))
}

impl Told {
    fn stands(&mut self, standing: String) -> anyhow::Result<()> {
        if self.standing != standing {
            writeln!(stderr(), "{standing}")?;
            self.standing = standing;
        }
        Ok(())
    }

    /// Prints what the newest attempt has written since.
    async fn wrote(&mut self, client: &Client, execution: &Execution) -> anyhow::Result<()> {
        let known = self.printed.take().filter(|printed| printed.execution == execution.id);
        let mut printed = known.unwrap_or_else(|| Printed::of(execution.id));
        let answer = printed.print(client).await;
        self.printed = Some(printed);
        match answer.as_ref().err().and_then(|error| error.downcast_ref::<ClientError>()) {
            Some(error) if error.passes() => Ok(()),
            _ => answer.map(drop),
        }
    }
}

/// Where the task stands, and what is in its way.
async fn standing(client: &Client, task: &Task) -> String {
    let mut text = word(&task.state);
    if let Some(execution) = task.execution.as_ref().filter(|execution| is_at_work(execution)) {
        text += &format!(": attempt {}, {}", execution.attempt, word(&execution.phase));
        text.extend(execution.progress.as_ref().map(|progress| format!(", {}", how_far(progress))));
        return text;
    }
    let missing = task.review.iter().flat_map(|review| &review.missing).map(|missing| one_line(missing));
    let prerequisites =
        task.blocked_by.iter().map(|other| format!("task {} is {}", other.task_id, word(&other.state)));
    let mut reasons: Vec<String> = match task.state {
        TaskState::Reviewing => missing.collect(),
        TaskState::Approved => prerequisites.collect(),
        _ => Vec::new(),
    };
    if task.state == TaskState::Approved {
        reasons.extend(held(client, task).await);
    }
    let resolution = task.review.as_ref().and_then(|review| review.resolution.as_deref());
    if task.state == TaskState::Rejected && resolution == Some("timeout") {
        text += ": nobody answered in time (timeout)";
    }
    if !reasons.is_empty() {
        text += &format!(": waits ({})", reasons.join("; "));
    }
    text
}

/// Which of the things it touches somebody else holds. Who cannot look says nothing about it.
async fn held(client: &Client, task: &Task) -> Vec<String> {
    let mut held = Vec::new();
    for resource in task.config["resources"].as_array().into_iter().flatten() {
        let text = |name: &str| resource[name].as_str().unwrap_or_default();
        let key = format!("resource:{}:{}", text("type"), text("id"));
        let Ok(queue) = client.lock_queue(&LockQueueQuery { key: key.clone() }).await else { continue };
        let purpose = |lock: &wire::Lock| lock.purpose.as_deref().map(one_line).unwrap_or_default();
        let holders = queue.holders.iter();
        held.extend(holders.map(|lock| {
            one_line(&format!("{key} is held by {} {}", lock.agent_id, purpose(lock))).trim_end().to_owned()
        }));
    }
    held
}

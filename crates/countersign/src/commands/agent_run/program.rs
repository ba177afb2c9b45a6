//! The program of an agent, from its start to its end.

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};

use anyhow::bail;
use client::Claim;
use domain::canonical::{Sha256Hash, canonical};
use serde_json::{Map, Value, json};
use wire::{ClaimedTask, FailExecution};

use super::super::process_group::ProcessGroup;
use super::output::Output;

/// What the program must not learn: it is trusted with the work, not with acting as the agent.
const OWN_SECRETS: [&str; 1] = ["COUNTERSIGN_API_KEY"];

/// How it ended.
pub(super) enum Ended {
    /// It says that it is done.
    Done,
    /// It says that it failed.
    Failed(FailExecution),
    /// It was ended before it could say; why.
    Given(String),
}

pub(super) struct Program {
    group: ProcessGroup,
    output: Output,
    /// How it ended, once it has.
    status: Option<ExitStatus>,
}

impl Program {
    pub(super) fn start(program: &str, args: &[String], claim: &Claim) -> anyhow::Result<Self> {
        let task = claim.task();
        let config = canonical(&task.config);
        if Sha256Hash::of(&config).to_string() != task.content_hash {
            bail!("what the hub sent is not what was approved: its hash is not {}", task.content_hash);
        }
        let mut command = Command::new(program);
        command.args(args).envs(environment(task, claim.is_rollback()));
        OWN_SECRETS.iter().for_each(|name| {
            command.env_remove(name);
        });
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let (group, pipes) = ProcessGroup::start(&mut command)?;
        if let Some(mut stdin) = pipes.stdin {
            // A program that does not read it all is free not to.
            tokio::task::spawn_blocking(move || drop(stdin.write_all(&config)));
        }
        let output = Output::of(claim.writer(), pipes.stdout, pipes.stderr);
        Ok(Self { group, output, status: None })
    }

    /// How it ends by itself. May be dropped and begun again.
    pub(super) async fn ended(&mut self) -> anyhow::Result<Ended> {
        let status = match self.status {
            Some(status) => status,
            None => *self.status.insert((&mut self.group.ended).await??),
        };
        self.output.finish().await;
        Ok(if status.success() { Ended::Done } else { Ended::Failed(failure(status)) })
    }

    /// Ends it, with all that it has started.
    pub(super) async fn give_up(mut self, why: String) -> anyhow::Result<Ended> {
        if self.status.is_none() {
            self.group.end().await?;
        }
        Ok(Ended::Given(why))
    }
}

fn environment(task: &ClaimedTask, is_rollback: bool) -> Vec<(&'static str, String)> {
    let tokens: Map<String, Value> =
        task.locks.iter().map(|lock| (lock.key.clone(), lock.fencing_token.into())).collect();
    let largest = task.locks.iter().map(|lock| lock.fencing_token).max().unwrap_or(0);
    vec![
        ("COUNTERSIGN_PURPOSE", if is_rollback { "rollback" } else { "apply" }.to_owned()),
        ("COUNTERSIGN_TASK_ID", task.task_id.to_string()),
        ("COUNTERSIGN_EXECUTION_ID", task.execution_id.to_string()),
        ("COUNTERSIGN_ATTEMPT", task.grant.attempt.to_string()),
        ("COUNTERSIGN_CONTENT_HASH", task.content_hash.clone()),
        ("COUNTERSIGN_FENCING_TOKEN", largest.to_string()),
        ("COUNTERSIGN_FENCING_TOKENS", Value::Object(tokens).to_string()),
    ]
}

fn failure(status: ExitStatus) -> FailExecution {
    let details = json!({"exit_code": status.code(), "signal": status.signal()});
    let error = match (status.code(), status.signal()) {
        (Some(code), _) => format!("the program ended with exit code {code}"),
        (None, Some(signal)) => format!("the program was ended by signal {signal}"),
        (None, None) => "the program did not end well".to_owned(),
    };
    FailExecution { error, error_details: details.as_object().cloned() }
}

//! What an agent, an author or an admin does when the hub is killed, what came before, and how they go on.

use client::{AcquiredLock, Client, ClientError};
use serde_json::{Value, json};
use uuid::Uuid;
use wire::{
    AcquireLock, AppendOutput, ClaimTask, CompleteExecution, FailExecution, ForceReleaseLock, GiveReason,
    LockQueueQuery, ReleaseLock, TaskState,
};

use super::cases::Case;
use crate::support::{Crew, Served, touching, until};

/// How long an agent waits for a task: locks of nobody have to end first.
const WAIT_SECONDS: u32 = 40;
const OUTPUT: &str = "some\n";

/// What is being done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Scene {
    /// An agent claims a task, and asks again.
    Claim,
    /// An agent claims a task, and never asks again.
    ClaimForgotten,
    /// An agent waits for a task that is cancelled.
    ClaimRefused,
    /// An agent claims what somebody asked to have undone.
    ClaimRollback,
    Heartbeat,
    Output,
    Complete,
    /// An attempt fails that may be repeated.
    FailForAnother,
    /// An attempt fails that its agent undoes.
    FailToUndo,
    /// An attempt was undone.
    Undo,
    AskRollback,
    ForceRelease,
    /// A heartbeat comes so late that the locks are gone.
    LockLost,
    /// An agent is silent for too long.
    Lost,
    /// Nobody answers, and there is a next level.
    Escalation,
    /// Nobody answers, and nobody is left to be asked.
    Timeout,
}

impl Scene {
    /// What it is called in the table.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Claim => "claim, asked again",
            Self::ClaimForgotten => "claim, never asked again",
            Self::ClaimRefused => "claim of a task that was cancelled meanwhile",
            Self::ClaimRollback => "claim of a rollback, asked again",
            Self::Heartbeat => "heartbeat",
            Self::Output => "output",
            Self::Complete => "complete",
            Self::FailForAnother => "fail, another attempt left",
            Self::FailToUndo => "fail, to be undone by its agent",
            Self::Undo => "complete, of the undoing",
            Self::AskRollback => "rollback, asked for by a person",
            Self::ForceRelease => "force-release of its key",
            Self::LockLost => "heartbeat after its locks ended",
            Self::Lost => "recovery of a lost agent",
            Self::Escalation => "escalation to the next level",
            Self::Timeout => "timeout after the last level",
        }
    }

    fn config(self) -> Value {
        match self {
            Self::ClaimForgotten | Self::FailForAnother | Self::LockLost | Self::Lost => {
                json!({"idempotent": true, "max_retries": 1})
            }
            Self::FailToUndo | Self::Undo => json!({"rollback_strategy": "automatic"}),
            Self::AskRollback | Self::ClaimRollback => json!({"rollback_strategy": "manual"}),
            _ => json!({}),
        }
    }
}

/// A case with its task.
pub(super) struct Play<'a> {
    pub(super) case: &'a Case,
    crew: &'a Crew,
    number: usize,
    pub(super) task: Uuid,
    /// Its attempt, once there is one.
    attempt: Option<Uuid>,
}

fn done() -> CompleteExecution {
    CompleteExecution::default()
}

fn failed() -> FailExecution {
    FailExecution { error: "a bad day".into(), error_details: None }
}

impl<'a> Play<'a> {
    /// Everything that comes before the moment the case is about.
    pub(super) async fn prepare(served: &Served, crew: &'a Crew, (number, case): (usize, &'a Case)) -> Self {
        let databases = ["a", "b"].map(|name| format!("case{number}-{name}"));
        let task = served.client(&crew.author).create_task(&touching(&databases, case.scene.config())).await;
        let mut play = Self { case, crew, number, task: task.unwrap().id, attempt: None };
        let agent = play.agent(served);
        match case.scene {
            Scene::Claim | Scene::ClaimForgotten | Scene::ClaimRefused => {}
            Scene::Undo => {
                let attempt = play.claimed(&agent, "before").await;
                agent.fail_execution(attempt, &failed(), None).await.unwrap();
            }
            Scene::AskRollback | Scene::ClaimRollback => {
                let attempt = play.claimed(&agent, "before").await;
                agent.fail_execution(attempt, &failed(), None).await.unwrap();
                if case.scene == Scene::ClaimRollback {
                    play.ask_rollback(served).await.unwrap();
                }
            }
            _ => drop(play.claimed(&agent, "before").await),
        }
        play
    }

    fn agent(&self, served: &Served) -> Client {
        served.client(&self.crew.agents[0].key)
    }

    /// The name of a request of this case that is sent again.
    fn key(&self, what: &str) -> String {
        format!("case{}-{what}", self.number)
    }

    fn lock_key(&self) -> String {
        format!("resource:db:case{}-a", self.number)
    }

    /// The keys of all locks its attempts take.
    pub(super) fn lock_keys(&self) -> [String; 3] {
        let resource = |name: &str| format!("resource:db:case{}-{name}", self.number);
        [resource("a"), resource("b"), format!("task:{}", self.task)]
    }

    async fn claim(&self, agent: &Client, what: &str) -> Result<Uuid, ClientError> {
        let wanted = ClaimTask { agent_id: self.crew.agents[0].id, wait_seconds: Some(WAIT_SECONDS) };
        let claimed = agent.claim_task(self.task, &wanted, Some(&self.key(what))).await?;
        Ok(claimed.execution_id)
    }

    async fn claimed(&mut self, agent: &Client, what: &str) -> Uuid {
        let attempt = self.claim(agent, what).await.unwrap();
        self.attempt = Some(attempt);
        attempt
    }

    async fn ask_rollback(&self, served: &Served) -> Result<(), ClientError> {
        let why = GiveReason { reason: "it broke".into() };
        let author = served.client(&self.crew.author);
        author.roll_back_execution(self.attempt.unwrap(), &why).await.map(drop)
    }

    /// The request in the middle of which the hub is killed.
    pub(super) async fn trip(&self, served: &Served) {
        let agent = self.agent(served);
        let attempt = self.attempt.unwrap_or_default();
        let unanswered = match self.case.scene {
            Scene::Claim | Scene::ClaimForgotten | Scene::ClaimRollback => {
                self.claim(&agent, "claim").await.map(drop)
            }
            Scene::ClaimRefused => self.claim_cancelled(served, &agent).await,
            Scene::Heartbeat | Scene::LockLost => agent.heartbeat_execution(attempt).await.map(drop),
            Scene::Output => self.append(&agent).await,
            Scene::Complete | Scene::Undo => {
                agent.complete_execution(attempt, &done(), Some(&self.key("report"))).await.map(drop)
            }
            Scene::FailForAnother | Scene::FailToUndo => {
                agent.fail_execution(attempt, &failed(), Some(&self.key("report"))).await.map(drop)
            }
            Scene::AskRollback => self.ask_rollback(served).await,
            Scene::ForceRelease => self.force_release(served).await,
            Scene::Lost | Scene::Escalation | Scene::Timeout => return,
        };
        let answer = unanswered.expect_err("an answer of a hub that was killed");
        assert!(!matches!(answer, ClientError::Problem(_)), "{}: {answer:?}", self.case.point);
    }

    async fn append(&self, agent: &Client) -> Result<(), ClientError> {
        let output = AppendOutput { text: OUTPUT.into(), offset: Some(0), progress: None };
        agent.append_output(self.attempt.unwrap(), &output).await.map(drop)
    }

    async fn force_release(&self, served: &Served) -> Result<(), ClientError> {
        let ending = ForceReleaseLock { key: self.lock_key(), reason: "it hangs".into() };
        served.admin().force_release_lock(&ending).await.map(drop)
    }

    /// Waits for a lock that somebody has until the task is cancelled, and gets the lock then.
    async fn claim_cancelled(&self, served: &Served, agent: &Client) -> Result<(), ClientError> {
        let wanted: AcquireLock = serde_json::from_value(json!({"key": self.lock_key()})).unwrap();
        let AcquiredLock::Lock(lock) = agent.acquire_lock(&wanted).await.unwrap() else { panic!("in line") };
        let (claimed, _) = tokio::join!(self.claim(agent, "claim"), async {
            let query = LockQueueQuery { key: self.lock_key() };
            until("it waits", async || !agent.lock_queue(&query).await.unwrap().waiters.is_empty()).await;
            let why = GiveReason { reason: "not today".into() };
            served.client(&self.crew.author).cancel_task(self.task, &why).await.unwrap();
            // The hub may be killed before it answers.
            drop(agent.release_lock(&ReleaseLock { lock_id: lock.lock_id, agent_id: None }).await);
        });
        claimed.map(drop)
    }

    /// What they do when the hub is back.
    pub(super) async fn go_on(&mut self, served: &Served) {
        let agent = self.agent(served);
        match self.case.scene {
            Scene::ClaimRefused | Scene::Escalation | Scene::Timeout => {}
            Scene::Claim | Scene::ClaimRollback => {
                let attempt = self.claimed(&agent, "claim").await;
                agent.complete_execution(attempt, &done(), None).await.unwrap();
            }
            Scene::Heartbeat => {
                agent.heartbeat_execution(self.attempt.unwrap()).await.expect("its locks outlive the hub");
                agent.complete_execution(self.attempt.unwrap(), &done(), None).await.unwrap();
            }
            Scene::Output => {
                // Refused if it is there already: then it was only the answer that was lost.
                drop(self.append(&agent).await);
                let ended = agent.complete_execution(self.attempt.unwrap(), &done(), None).await.unwrap();
                assert_eq!(ended.output, OUTPUT, "{}", self.case.point);
            }
            Scene::Complete | Scene::Undo => {
                let key = self.key("report");
                agent.complete_execution(self.attempt.unwrap(), &done(), Some(&key)).await.unwrap();
            }
            Scene::FailToUndo => {
                let key = self.key("report");
                agent.fail_execution(self.attempt.unwrap(), &failed(), Some(&key)).await.unwrap();
                agent.complete_execution(self.attempt.unwrap(), &done(), None).await.unwrap();
            }
            Scene::AskRollback => {
                // Refused if somebody has asked already: then it was only the answer that was lost.
                drop(self.ask_rollback(served).await);
                let undoing = self.claimed(&agent, "undo").await;
                agent.complete_execution(undoing, &done(), None).await.unwrap();
            }
            Scene::ForceRelease => self.force_release(served).await.unwrap(),
            Scene::ClaimForgotten | Scene::FailForAnother | Scene::LockLost | Scene::Lost => {
                self.try_again(served, &agent).await;
            }
        }
    }

    /// Another attempt, after the first has ended: by a report that is repeated, or because nobody reports.
    async fn try_again(&mut self, served: &Served, agent: &Client) {
        match self.case.scene {
            Scene::FailForAnother => {
                let key = self.key("report");
                agent.fail_execution(self.attempt.unwrap(), &failed(), Some(&key)).await.unwrap();
            }
            // Refused, whether it finds out itself or is told.
            Scene::LockLost => drop(agent.heartbeat_execution(self.attempt.unwrap()).await.unwrap_err()),
            _ => {}
        }
        until("the end of the first attempt", async || {
            served.admin().task(self.task).await.unwrap().state == TaskState::Approved
        })
        .await;
        let attempt = self.claimed(agent, "again").await;
        agent.complete_execution(attempt, &done(), None).await.unwrap();
    }
}

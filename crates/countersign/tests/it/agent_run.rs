//! `agent run`, `task watch --to-end` and `execution`: any program applies what was approved, and people look on.

use std::path::Path;

use rustix::process::Signal;
use serde_json::{Value, json};
use uuid::Uuid;
use wire::{
    AgentStatus, AgentsQuery, ApprovalsQuery, Approve, ClaimTask, CreateTask, ExecutionResult,
    ForceReleaseLock, Progress, RollbackStatus, Settings, TaskState,
};

use crate::support::{Home, Kind, PATIENCE, Process, Ran, Served, until};

/// Somebody who proposes, somebody who approves, and an agent of the first.
struct Crew {
    author: String,
    reviewer: String,
    agent: String,
}

fn ran(home: &Home, served: &Served, key: &str, args: &[&str]) -> Ran {
    Process::start(home.command_as(&served.url, key, args)).ended(PATIENCE)
}

/// A member with a key that nobody else made: what an admin mints counts as that admin.
fn join(home: &Home, served: &Served, name: &str, role: &str) -> String {
    let email = format!("{name}@example.org");
    home.as_admin(served, &["account", "create", &email, "--name", name, "--role", role]).done();
    let first = home.as_admin(served, &["key", "mint", "first", "--account", &email]).done();
    ran(home, served, first.trim(), &["key", "mint", "own"]).done().trim().to_owned()
}

impl Crew {
    async fn on(home: &Home, served: &Served) -> Self {
        let author = join(home, served, "ann", "author");
        let reviewer = join(home, served, "bob", "reviewer");
        ran(home, served, &author, &["agent", "create", "worker"]).done();
        let agent = ran(home, served, &author, &["agent", "key", "worker"]).done().trim().to_owned();
        // Short, so that a lost claim shows soon.
        let settings = json!({"lock:heartbeat_interval": 1, "lock:default_ttl": 3});
        served.admin().patch_settings(&Settings(settings.as_object().cloned().unwrap())).await.unwrap();
        Self { author, reviewer, agent }
    }

    /// An approved task with these members of its config.
    async fn approved(&self, served: &Served, more: Value) -> Uuid {
        let mut config = json!({"type": "t", "description": "d", "rollback_strategy": "none",
                                "resources": [{"type": "db", "id": "prod"}]});
        config.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        let wanted = CreateTask { config, submit: Some(true), ..CreateTask::default() };
        let task = served.client(&self.author).create_task(&wanted).await.unwrap();
        let reviewer = served.client(&self.reviewer);
        let mine = ApprovalsQuery {
            reviewer: Some("me".into()),
            task_id: Some(task.id),
            ..ApprovalsQuery::default()
        };
        let request = reviewer.approvals(&mine).await.unwrap().items[0].id;
        let yes = Approve { content_hash: task.content_hash, review_hash: None, reason: None };
        reviewer.approve(request, &yes).await.unwrap();
        task.id
    }

    fn run(&self, home: &Home, served: &Served, more: &[&str], script: &str) -> Process {
        let args = [&["agent", "run", "--exec", "sh"], more, &["--", "-c", script]].concat();
        Process::start(home.command_as(&served.url, &self.agent, &args))
    }
}

async fn state(served: &Served, task: Uuid) -> TaskState {
    served.admin().task(task).await.unwrap().state
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_applies_what_was_approved_and_people_look_on() {
    let home = Home::on(Kind::Sqlite);
    let served = home.serve().await;
    let crew = Crew::on(&home, &served).await;
    let task = crew.approved(&served, json!({"parameters": {"greeting": "na\u{ef}ve"}})).await;
    let id = task.to_string();
    let args = ["task", "watch", &id, "--to-end"];
    let mut watch = Process::start(home.command_as(&served.url, &crew.author, &args));
    let script = "cat; echo; env | grep ^COUNTERSIGN_ | sort; echo oops >&2";
    let ended = crew.run(&home, &served, &["--once"], script).ended(PATIENCE);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let done = served.admin().task(task).await.unwrap();
    assert_eq!(done.state, TaskState::Completed);
    let execution = done.execution.unwrap();
    let execution_id = execution.id.to_string();
    let output = home.as_admin(&served, &["execution", "output", &execution_id]).done();
    assert!(output.contains("oops\n"), "what it complains about is output too: {output}");
    // It comes by a pipe of its own, so it may stand anywhere.
    let said = output.replacen("oops\n", "", 1);
    let (config, rest) = said.split_once('\n').unwrap();
    assert_eq!(serde_json::from_str::<Value>(config).unwrap(), done.config, "{output}");
    for line in ["COUNTERSIGN_PURPOSE=apply", &format!("COUNTERSIGN_TASK_ID={id}")] {
        assert!(rest.lines().any(|found| found == line), "{line} is not in {rest}");
    }
    let tokens = rest.lines().find_map(|line| line.strip_prefix("COUNTERSIGN_FENCING_TOKENS=")).unwrap();
    let tokens: Value = serde_json::from_str(tokens).unwrap();
    assert!(tokens["resource:db:prod"].as_u64().unwrap() > 0, "{tokens}");
    assert!(!output.contains("csk_"), "the program does not learn the agent's key");
    let watched = watch.ended(PATIENCE);
    assert_eq!(watched.code, Some(0), "{watched:?}");
    assert!(watched.out.contains("COUNTERSIGN_PURPOSE=apply"), "{watched:?}");
    assert!(watched.out.contains(&format!("task {id} is COMPLETED")), "{watched:?}");
    let shown = home.as_admin(&served, &["execution", "show", &execution_id]).done();
    assert!(shown.contains("success") && shown.contains("resource:db:prod"), "{shown}");
    assert!(home.as_admin(&served, &["execution", "list", &id]).done().contains(&execution_id));
    served.stop();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_fails_undoes_its_work() {
    let home = Home::on(Kind::Sqlite);
    let served = home.serve().await;
    let crew = Crew::on(&home, &served).await;
    let task = crew.approved(&served, json!({"rollback_strategy": "automatic"})).await;
    let script = "echo $COUNTERSIGN_PURPOSE; [ $COUNTERSIGN_PURPOSE = rollback ]";
    let ended = crew.run(&home, &served, &["--once"], script).ended(PATIENCE);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.err.contains("exit code 1"), "{ended:?}");
    let failed = served.admin().task(task).await.unwrap();
    let execution = failed.execution.unwrap();
    assert_eq!((failed.state, execution.rollback), (TaskState::Failed, RollbackStatus::Succeeded));
    assert_eq!(execution.result, Some(ExecutionResult::Failure));
    assert_eq!(execution.output, "apply\nrollback\n");
    let watch = home.as_admin(&served, &["task", "watch", &task.to_string(), "--to-end"]);
    assert_eq!(watch.code, Some(1), "{watch:?}");
    served.stop();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_undone_by_hand_is_handed_out_again() {
    let home = Home::on(Kind::Sqlite);
    let served = home.serve().await;
    let crew = Crew::on(&home, &served).await;
    let task = crew.approved(&served, json!({"rollback_strategy": "manual"})).await;
    let script = "[ $COUNTERSIGN_PURPOSE = rollback ]";
    assert_eq!(crew.run(&home, &served, &["--once"], script).ended(PATIENCE).code, Some(1));
    let execution = served.admin().task(task).await.unwrap().execution.unwrap().id.to_string();
    let undo = ["execution", "rollback", &execution, "--reason", "it broke"];
    assert!(ran(&home, &served, &crew.author, &undo).done().contains("asked"));
    // A task that is undone was not done.
    assert_eq!(crew.run(&home, &served, &["--once"], script).ended(PATIENCE).code, Some(1));
    let undone = served.admin().execution(execution.parse().unwrap()).await.unwrap();
    assert_eq!(undone.rollback, RollbackStatus::Succeeded);
    served.stop();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_whose_claim_is_lost_ends_with_all_it_started() {
    let home = Home::on(Kind::Sqlite);
    let served = home.serve().await;
    let crew = Crew::on(&home, &served).await;
    let task = crew.approved(&served, json!({})).await;
    let note = home.beside("child");
    let script = format!("sleep 300 & echo $! > {}; wait", note.display());
    let mut agent = crew.run(&home, &served, &[], &script);
    until("the program", async || std::fs::read_to_string(&note).is_ok_and(|text| text.ends_with('\n')))
        .await;
    let child = format!("/proc/{}", std::fs::read_to_string(&note).unwrap().trim());
    assert!(Path::new(&child).exists());
    let ending = ForceReleaseLock { key: "resource:db:prod".into(), reason: "a test".into() };
    served.admin().force_release_lock(&ending).await.unwrap();
    agent.err_until("that it was given up", |err| err.contains("was given up"));
    until("the end of its child", async || !Path::new(&child).exists()).await;
    assert_eq!(state(&served, task).await, TaskState::Failed);
    agent.signal(Signal::TERM);
    assert_eq!(agent.ended(PATIENCE).code, Some(0), "it goes on until somebody wants it to end");
    served.stop();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_watches_sees_how_far_it_is() {
    let home = Home::on(Kind::Sqlite);
    let served = home.serve().await;
    let crew = Crew::on(&home, &served).await;
    let task = crew.approved(&served, json!({})).await;
    let agent = served.client(&crew.agent);
    let claim = ClaimTask { agent_id: agent.me().await.unwrap().account.id, wait_seconds: None };
    let claim = agent.claim(task, &claim, None).await.unwrap();
    let progress = Progress { percent: Some(40), message: Some("copying".into()) };
    claim.writer().progress(progress).await.unwrap();
    let id = task.to_string();
    let args = ["task", "watch", &id, "--to-end"];
    let mut watch = Process::start(home.command_as(&served.url, &crew.author, &args));
    watch.err_until("how far it is", |err| err.contains("attempt 1, applying, 40 %: copying"));
    let execution = claim.task().execution_id.to_string();
    let shown = home.as_admin(&served, &["execution", "show", &execution]).done();
    assert!(shown.contains("40 %: copying"), "{shown}");
    claim.complete(None).await.unwrap();
    assert_eq!(watch.ended(PATIENCE).code, Some(0));
    served.stop();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_stops_an_agent_lets_its_work_end() {
    let home = Home::on(Kind::Sqlite);
    let served = home.serve().await;
    let crew = Crew::on(&home, &served).await;
    let first = crew.approved(&served, json!({})).await;
    let note = home.beside("go-on");
    let script = format!("while [ ! -e {} ]; do sleep 0.05; done; echo finished", note.display());
    let mut agent = crew.run(&home, &served, &[], &script);
    until("the work", async || state(&served, first).await == TaskState::Applying).await;
    let second = crew.approved(&served, json!({"resources": []})).await;
    agent.signal(Signal::TERM);
    agent.err_until("that it has heard", |err| err.contains("taking no further task"));
    std::fs::write(&note, "").unwrap();
    let ended = agent.ended(PATIENCE);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(state(&served, first).await, TaskState::Completed);
    assert_eq!(state(&served, second).await, TaskState::Approved, "nobody took it");
    served.stop();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_waits_for_a_hub_that_is_away() {
    let home = Home::on(Kind::Sqlite);
    let served = home.serve().await;
    let crew = Crew::on(&home, &served).await;
    let mut agent = crew.run(&home, &served, &["--once"], "echo done");
    until("the agent is there", async || {
        let agents = served.admin().agents(&AgentsQuery::default()).await.unwrap().items;
        agents.iter().any(|agent| agent.status == AgentStatus::Active)
    })
    .await;
    let listen = served.listen().to_owned();
    served.stop();
    agent.err_until("that the hub is away", |err| err.contains("no work"));
    let served = home.serve_at(&listen).await;
    let task = crew.approved(&served, json!({})).await;
    assert_eq!(agent.ended(PATIENCE).code, Some(0));
    assert_eq!(state(&served, task).await, TaskState::Completed);
    served.stop();
    let nobody = Process::start(home.command_as(
        "http://127.0.0.1:9",
        &crew.agent,
        &["agent", "run", "--exec", "true"],
    ));
    nobody_there(nobody);
}

/// Without a hub from the beginning there is nothing to wait for.
fn nobody_there(mut agent: Process) {
    agent.ended(PATIENCE).assert_refused(5, &["cannot reach the hub"]);
}

//! Many agents on tasks that are in each other's way, while agents and the hub are killed all the time. The agents are
//! `agent run`, each a process of its own, and what they start writes down that it was started and holds a file lock on
//! everything it touches: so it is not the hub that says whether two worked on one thing.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use client::{Client, ClientError};
use serde_json::json;
use testkit::scaled;
use tokio::task::JoinSet;
use uuid::Uuid;
use wire::{
    ClaimTask, ClaimedTask, CompleteExecution, CreateTask, FailExecution, LocksQuery, TaskState, TasksQuery,
};

use crate::support::{
    Crew, Hired, Home, Kind, Served, assert_attempts_are_whole, chance, let_last, touching, until,
};

const AGENTS: usize = 50;
const TASKS: usize = 2_000;
const THINGS: usize = 50;
/// Of fewer tasks each has as much to go through.
const AN_AGENT_IS_KILLED_EVERY: Duration = Duration::from_millis(200);
const THE_HUB_LIVES: Duration = Duration::from_secs(10);
/// How long locks and leases last. An agent is lost after five more seconds, which must be less than a hub lives.
const LEASE_SECONDS: u32 = 2;
/// A moment is noted before the unit that it belongs to waits for its turn.
const NOTED_EARLY: i64 = 2_000_000;
/// Agents that name the task they want, and send no heartbeats.
const PUSHING: usize = 2;
const PATIENCE: Duration = Duration::from_secs(1_200);

/// Notes its start, holds what it touches, and takes its time: now and then for longer than its locks last without an
/// agent, and for less than until its attempt is taken for lost.
const WORK: &str = r#"
config=$(cat)
echo "$COUNTERSIGN_EXECUTION_ID $COUNTERSIGN_PURPOSE" >> "$1/starts"
at=3
for thing in $(echo "$COUNTERSIGN_FENCING_TOKENS" | grep -o 'thing-[0-9]*'); do
    eval "exec $at>> \"$1/$thing\""
    flock --nonblock $at || echo "$thing $COUNTERSIGN_EXECUTION_ID" >> "$1/overlaps"
    at=$((at + 1))
done
case "$config" in *'"pace":"slow"'*) sleep 3 ;; *) sleep 0.02 ;; esac
case "$config" in *'"ends":"badly"'*) [ "$COUNTERSIGN_PURPOSE" = rollback ] ;; esac
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_task_ends_once_whoever_is_killed_on_sqlite() {
    endure(&Home::on(Kind::Sqlite).env("COUNTERSIGN_LOG", "info")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_task_ends_once_whoever_is_killed_on_postgres() {
    endure(&Home::on(Kind::Postgres).env("COUNTERSIGN_LOG", "info")).await;
}

async fn endure(home: &Home) {
    let notes = home.beside("notes");
    std::fs::create_dir(&notes).unwrap();
    let mut served = home.serve().await;
    let crew = Crew::hire(home, &served, scaled(AGENTS).max(10) + PUSHING, 20).await;
    let (pushing, pulling) = crew.agents.split_at(PUSHING);
    let_last(&served, LEASE_SECONDS, 1).await;
    let mut proposing = JoinSet::new();
    proposing.spawn(propose_all(served.client(&crew.author)));
    let mut pushers = JoinSet::new();
    for agent in pushing {
        pushers.spawn(push(served.client(&agent.key), agent.id, notes.clone()));
    }
    let mut fleet = Fleet::new(home, &served, pulling, &notes);
    let (began, mut up_since) = (Instant::now(), Instant::now());
    while !proposing.is_empty() || fleet.losses.hubs == 0 || is_anything_open(home).await {
        assert!(began.elapsed() < PATIENCE, "it does not end: {:?}", fleet.losses);
        tokio::time::sleep(AN_AGENT_IS_KILLED_EVERY.mul_f64(TASKS as f64 / scaled(TASKS) as f64)).await;
        fleet.kill_one();
        fleet.complete();
        if up_since.elapsed() >= THE_HUB_LIVES {
            served = killed_and_back(home, served).await;
            up_since = Instant::now();
            fleet.losses.hubs += 1;
        }
        while let Some(proposed) = proposing.try_join_next() {
            proposed.unwrap();
        }
    }
    let losses = fleet.end();
    assert!(losses.agents > 3, "hardly anybody was killed: {losses:?}");
    assert_once(home, &notes).await;
    assert_nothing_is_left(home, served).await;
}

async fn killed_and_back(home: &Home, mut served: Served) -> Served {
    served.process.kill();
    assert_attempts_are_whole(home).await;
    home.forget_crash().await;
    let listen = served.listen().to_owned();
    home.serve_at(&listen).await
}

/// A task on one thing or two. Some are slow, some fail, some of these are undone, and some may be tried again.
fn task(number: usize) -> CreateTask {
    let things: Vec<String> = touched(number).map(|thing| format!("thing-{thing}")).collect();
    let pace = if number.is_multiple_of(40) { "slow" } else { "fast" };
    let ends = if number.is_multiple_of(7) { "badly" } else { "well" };
    let again = !number.is_multiple_of(3);
    let undoing = if number.is_multiple_of(2) { "automatic" } else { "none" };
    let more = json!({
        "parameters": {"pace": pace, "ends": ends}, "rollback_strategy": undoing,
        "idempotent": again, "max_retries": usize::from(again),
    });
    CreateTask { slug: Some(format!("task-{number}")), ..touching(&things, more) }
}

fn touched(number: usize) -> impl Iterator<Item = usize> {
    let things = scaled(THINGS).max(20);
    let other = (number + 1 + number / things % (things - 1)) % things;
    [number % things].into_iter().chain(number.is_multiple_of(4).then_some(other))
}

/// Proposes every task, each until the hub has it.
async fn propose_all(author: Client) {
    for number in 0..scaled(TASKS) {
        loop {
            match author.create_task(&task(number)).await {
                Ok(_) => break,
                // It was made, and the answer lost.
                Err(ClientError::Problem(problem)) if problem.detail.contains("slug") => break,
                // Too many wait already, or the hub was killed.
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    }
}

/// Claims tasks by their ids, which nobody has looked at whether they are free, and works on them in silence: what keeps
/// these from meeting others is the gate.
async fn push(client: Client, agent: Uuid, notes: PathBuf) {
    let waiting = TasksQuery { state: Some(TaskState::Approved), limit: Some(20), ..TasksQuery::default() };
    loop {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let Ok(page) = client.tasks(&waiting).await else { continue };
        let Some(task) = page.items.get(chance(page.items.len().max(1))) else { continue };
        let wanted = ClaimTask { agent_id: agent, wait_seconds: None };
        let Ok(claimed) = client.claim_task(task.id, &wanted, None).await else { continue };
        let execution = claimed.execution_id;
        let notes = notes.clone();
        let is_done = tokio::task::spawn_blocking(move || worked(&claimed, &notes)).await.unwrap();
        if is_done {
            drop(client.complete_execution(execution, &CompleteExecution::default(), None).await);
        } else {
            let error = FailExecution { error: "it ended badly".into(), error_details: None };
            drop(client.fail_execution(execution, &error, None).await);
        }
    }
}

/// Does what `agent run` would have done. Whether it worked.
fn worked(claimed: &ClaimedTask, notes: &Path) -> bool {
    let tokens: Vec<&str> = claimed.locks.iter().map(|lock| lock.key.as_str()).collect();
    let mut program = Command::new("sh");
    program.args(["-c", WORK, "work"]).arg(notes);
    program.env("COUNTERSIGN_EXECUTION_ID", claimed.execution_id.to_string());
    program.env("COUNTERSIGN_PURPOSE", "apply").env("COUNTERSIGN_FENCING_TOKENS", tokens.join(" "));
    program.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut program = program.spawn().unwrap();
    program.stdin.take().unwrap().write_all(claimed.config.to_string().as_bytes()).unwrap();
    program.wait().unwrap().success()
}

async fn is_anything_open(home: &Home) -> bool {
    let open = "SELECT id FROM tasks WHERE state NOT IN ('COMPLETED', 'FAILED') LIMIT 1";
    !home.sql(open).await.is_empty()
}

/// Who was killed.
#[derive(Clone, Copy, Default, Debug)]
struct Losses {
    agents: usize,
    hubs: usize,
}

/// `agent run` for every agent. They end with this.
struct Fleet<'a> {
    home: &'a Home,
    url: String,
    agents: &'a [Hired],
    notes: PathBuf,
    running: Vec<Child>,
    losses: Losses,
}

impl<'a> Fleet<'a> {
    fn new(home: &'a Home, served: &Served, agents: &'a [Hired], notes: &Path) -> Self {
        let mut fleet = Self {
            home,
            url: served.url.clone(),
            agents,
            notes: notes.to_owned(),
            running: Vec::new(),
            losses: Losses::default(),
        };
        fleet.running = agents.iter().map(|agent| fleet.start(agent)).collect();
        fleet
    }

    fn start(&self, agent: &Hired) -> Child {
        let notes = self.notes.display().to_string();
        let args = ["agent", "run", "--exec", "sh", "--", "-c", WORK, "work", &notes];
        let mut command = self.home.command_as(&self.url, &agent.key, &args);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// The agent alone: what it has started goes on, with nobody to report.
    fn kill_one(&mut self) {
        let which = chance(self.running.len());
        self.running[which].kill().unwrap();
        self.losses.agents += 1;
    }

    /// Starts those anew that are gone: killed, or without a hub when they began.
    fn complete(&mut self) {
        for which in 0..self.running.len() {
            if self.running[which].try_wait().unwrap().is_some() {
                self.running[which] = self.start(&self.agents[which]);
            }
        }
    }

    fn end(self) -> Losses {
        self.losses
    }
}

impl Drop for Fleet<'_> {
    fn drop(&mut self) {
        for agent in &mut self.running {
            drop(agent.kill());
            drop(agent.wait());
        }
    }
}

fn lines(file: &Path) -> Vec<String> {
    std::fs::read_to_string(file).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// No attempt started twice, every start is one the hub knows, and no two worked on one thing.
async fn assert_once(home: &Home, notes: &Path) {
    let starts = lines(&notes.join("starts"));
    let different: BTreeSet<&String> = starts.iter().collect();
    assert_eq!(starts.len(), different.len(), "an attempt started twice");
    let known = home.sql("SELECT CAST(id AS TEXT) FROM executions").await;
    let known: BTreeSet<&str> = known.iter().map(|row| row[0].as_str()).collect();
    let started: BTreeSet<&str> = starts.iter().map(|line| line.split(' ').next().unwrap()).collect();
    assert!(started.is_subset(&known), "started, and not on record");
    assert!(
        started.len() * 2 > known.len(),
        "hardly anything was started: {} of {}",
        started.len(),
        known.len()
    );
    assert_eq!(lines(&notes.join("overlaps")), Vec::<String>::new(), "two worked on one thing");
    let attempts = "SELECT t.slug, e.created_at, e.ended_at FROM executions e JOIN tasks t ON t.id = e.task_id \
                    ORDER BY e.created_at";
    let micros = "CAST(EXTRACT(EPOCH FROM e.created_at) * 1000000 AS BIGINT)";
    let attempts = match home.database_url {
        Some(_) => attempts.replacen("e.created_at", micros, 1).replacen(
            "e.ended_at",
            &micros.replace("created", "ended"),
            1,
        ),
        None => attempts.to_owned(),
    };
    let mut last_end: BTreeMap<usize, i64> = BTreeMap::new();
    for row in home.sql(&attempts).await {
        let number: usize = row[0].trim_start_matches("task-").parse().unwrap();
        let [begun, ended]: [i64; 2] = [&row[1], &row[2]].map(|moment| moment.parse().unwrap());
        for thing in touched(number) {
            let before = last_end.insert(thing, ended).unwrap_or(0);
            assert!(begun + NOTED_EARLY >= before, "two attempts on thing-{thing} at once: {row:?}");
        }
    }
}

async fn assert_nothing_is_left(home: &Home, served: Served) {
    assert_attempts_are_whole(home).await;
    let tasks = home.sql("SELECT count(*) FROM tasks").await;
    assert_eq!(tasks[0][0], scaled(TASKS).to_string(), "every task was proposed once");
    for (rows, what) in [
        ("SELECT resource FROM resource_claims WHERE exclusive_by IS NOT NULL OR shared_count > 0", "claims"),
        ("SELECT CAST(id AS TEXT) FROM executions WHERE ended_at IS NULL", "attempts"),
    ] {
        let left = home.sql(rows).await;
        assert!(left.is_empty(), "{what} are left: {left:?}");
    }
    let admin = served.admin();
    // Locks of those who were killed on the way to an attempt end by themselves.
    until("no lock is left", async || admin.locks(&LocksQuery::default()).await.unwrap().items.is_empty())
        .await;
    let graph = admin.lock_graph().await.unwrap();
    assert!(graph.edges.is_empty(), "somebody is in line: {graph:?}");
    served.stop();
    home.verified(&[]);
}

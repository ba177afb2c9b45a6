//! `countersign lock`: who has the right to attempt something, and who waits for it.

use clap::{Args, Subcommand};
use client::AcquiredLock;
use uuid::Uuid;
use wire::{
    AcquireLock, ForceReleaseLock, Lock, LockEdge, LockMode, LockQueueQuery, LocksQuery, QueuedLock,
    ReleaseLock,
};

use super::answer::{SHOWN_DEFAULT, done, pages, show, show_all, show_one};
use super::lock_run::{self, Run};
use crate::cli::{ClientFlags, block_on};
use crate::exit::Exit;
use crate::terminal::Table;

pub(crate) const EXAMPLES: &str = "\
Examples:
  countersign lock run resource:database:prod -- psql -f change.sql     hold the lock around a command
  countersign lock acquire resource:service:api --ttl 120 --json | jq -r .lock_id
  countersign lock queue resource:database:prod                         who holds it, who waits";

const ACQUIRE_EXAMPLES: &str = "\
Examples:
  countersign lock acquire resource:database:prod --wait 30
  countersign lock acquire resource:database:prod --queue               leave a ticket

A lock ends by itself unless it is renewed: for work that takes a while use `lock run`.";
const RELEASE_EXAMPLES: &str = "Example: countersign lock release 0197a000-0000-7000-8000-000000000000";
const LIST_EXAMPLES: &str = "Example: countersign lock list --type database --json";
const QUEUE_EXAMPLES: &str = "Example: countersign lock queue resource:database:prod";
const GRAPH_EXAMPLES: &str = "Example: countersign lock graph --json";
const FORCE_EXAMPLES: &str =
    "Example: countersign lock force-release resource:database:prod --reason 'its holder is gone'";

#[derive(Args)]
pub(crate) struct Locks {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Take a lock
    #[command(after_help = ACQUIRE_EXAMPLES)]
    Acquire(Acquire),
    /// Give a lock back
    #[command(after_help = RELEASE_EXAMPLES)]
    Release(Release),
    /// Show locks, newest first
    #[command(after_help = LIST_EXAMPLES)]
    List(List),
    /// Show who holds a key and who waits for it
    #[command(after_help = QUEUE_EXAMPLES)]
    Queue(One),
    /// Show who waits for whom
    #[command(after_help = GRAPH_EXAMPLES)]
    Graph(ClientFlags),
    /// End whatever holds a key, on record
    #[command(after_help = FORCE_EXAMPLES)]
    ForceRelease(Force),
    /// Hold locks around a command
    #[command(after_help = lock_run::EXAMPLES)]
    Run(Run),
}

#[derive(Args)]
struct Acquire {
    /// What to lock, such as resource:database:prod
    key: String,
    /// Share it with others who share
    #[arg(long)]
    shared: bool,
    /// The agent it is for, if not you
    #[arg(long, value_name = "ID")]
    agent: Option<Uuid>,
    /// The piece of work it is for
    #[arg(long)]
    owner: Option<String>,
    /// How long it lives without a heartbeat
    #[arg(long, value_name = "SECONDS")]
    ttl: Option<u32>,
    /// How long to wait for it
    #[arg(long, value_name = "SECONDS", conflicts_with = "queue")]
    wait: Option<u32>,
    /// Leave a ticket if it is held
    #[arg(long)]
    queue: bool,
    /// What it is for
    #[arg(long)]
    purpose: Option<String>,
    #[command(flatten)]
    client: ClientFlags,
}

#[derive(Args)]
struct Release {
    /// The lock's id
    lock: Uuid,
    /// The agent that holds it, if not you
    #[arg(long, value_name = "ID")]
    agent: Option<Uuid>,
    #[command(flatten)]
    client: ClientFlags,
}

#[derive(Args)]
struct List {
    /// Only those of this agent
    #[arg(long, value_name = "ID")]
    agent: Option<Uuid>,
    /// Only those of resources of this type
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<String>,
    /// How many at most
    #[arg(long, default_value_t = SHOWN_DEFAULT)]
    limit: usize,
    #[command(flatten)]
    client: ClientFlags,
}

#[derive(Args)]
struct One {
    /// The key
    key: String,
    #[command(flatten)]
    client: ClientFlags,
}

#[derive(Args)]
struct Force {
    /// The key
    key: String,
    /// Why, for the record
    #[arg(long)]
    reason: String,
    #[command(flatten)]
    client: ClientFlags,
}

pub(crate) fn run(locks: Locks) -> anyhow::Result<Exit> {
    match locks.action {
        Action::Acquire(acquire) => block_on(acquired(&acquire)),
        Action::Release(release) => block_on(released(&release)),
        Action::List(list) => block_on(listed(&list)),
        Action::Queue(one) => block_on(queue(&one)),
        Action::Graph(client) => block_on(graph(&client)),
        Action::ForceRelease(force) => block_on(force_released(&force)),
        Action::Run(run) => lock_run::run(&run),
    }
}

async fn acquired(acquire: &Acquire) -> anyhow::Result<Exit> {
    let request = AcquireLock {
        key: acquire.key.clone(),
        mode: if acquire.shared { LockMode::Shared } else { LockMode::Exclusive },
        agent_id: acquire.agent,
        owner: acquire.owner.clone(),
        ttl_seconds: acquire.ttl,
        wait_seconds: acquire.wait,
        queue: acquire.queue.then_some(true),
        purpose: acquire.purpose.clone(),
        ..AcquireLock::default()
    };
    let json = acquire.client.json;
    match acquire.client.client()?.acquire_lock(&request).await? {
        AcquiredLock::Lock(lock) => show_one(&lock, json, lines),
        AcquiredLock::Queued(queued) => show_one(&queued, json, |QueuedLock { ticket_id, position }| {
            vec![("ticket", ticket_id.to_string()), ("position", position.to_string())]
        }),
    }
}

fn lines(lock: &Lock) -> Vec<(&'static str, String)> {
    vec![
        ("lock", lock.lock_id.to_string()),
        ("key", lock.key.clone()),
        ("mode", mode(lock.mode).to_owned()),
        ("fencing token", lock.fencing_token.to_string()),
        ("expires", lock.expires_at.clone()),
    ]
}

fn mode(mode: LockMode) -> &'static str {
    match mode {
        LockMode::Exclusive => "exclusive",
        LockMode::Shared => "shared",
    }
}

async fn released(release: &Release) -> anyhow::Result<Exit> {
    let request = ReleaseLock { lock_id: release.lock, agent_id: release.agent };
    release.client.client()?.release_lock(&request).await?;
    done(release.client.json, &format!("released {}", release.lock))
}

async fn listed(list: &List) -> anyhow::Result<Exit> {
    let client = list.client.client()?;
    let locks = pages(list.limit, async |cursor| {
        let query = LocksQuery {
            agent_id: list.agent,
            resource_type: list.kind.clone(),
            limit: Some(200),
            cursor,
            ..LocksQuery::default()
        };
        client.locks(&query).await
    });
    show_all(&locks.await?, list.client.json, table)
}

fn table(locks: &[Lock]) -> Table {
    let mut table = Table::new(["KEY", "MODE", "AGENT", "OWNER", "SINCE", "EXPIRES", "LOCK"]);
    for lock in locks {
        table.row([
            &lock.key,
            mode(lock.mode),
            &lock.agent_id.to_string(),
            &lock.owner,
            &lock.acquired_at,
            &lock.expires_at,
            &lock.lock_id.to_string(),
        ]);
    }
    table
}

async fn queue(one: &One) -> anyhow::Result<Exit> {
    let query = LockQueueQuery { key: one.key.clone() };
    let queue = one.client.client()?.lock_queue(&query).await?;
    show(one.client.json, &queue, || {
        let mut table = Table::new(["PLACE", "MODE", "AGENT", "OWNER", "SINCE"]);
        for lock in &queue.holders {
            table.row(["holds", mode(lock.mode), &lock.agent_id.to_string(), &lock.owner, &lock.acquired_at]);
        }
        for waiter in &queue.waiters {
            let (place, agent) = (waiter.position.to_string(), waiter.agent_id.to_string());
            table.row([&place, mode(waiter.mode), &agent, &waiter.owner, &waiter.requested_at]);
        }
        table
    })
}

async fn graph(flags: &ClientFlags) -> anyhow::Result<Exit> {
    let graph = flags.client()?.lock_graph().await?;
    show(flags.json, &graph, || {
        let mut table = Table::new(["WAITS", "OWNER", "FOR", "BEHIND", "OWNER"]);
        for LockEdge { waiter, key, blocker } in &graph.edges {
            let (who, whom) = (waiter.agent_id.to_string(), blocker.agent_id.to_string());
            table.row([&who, &waiter.owner, key, &whom, &blocker.owner]);
        }
        table
    })
}

async fn force_released(force: &Force) -> anyhow::Result<Exit> {
    let request = ForceReleaseLock { key: force.key.clone(), reason: force.reason.clone() };
    let ended = force.client.client()?.force_release_lock(&request).await?;
    show(force.client.json, &ended, || table(&ended.locks))
}

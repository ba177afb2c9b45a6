//! Somebody sets the clock of the machine while locks are held: nothing ends early, and nothing lives longer.
//!
//! The program runs with `shift.c` before the C library, so that what it sees of the clock on the wall is what the
//! test wants, and every other clock is the real one.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use client::{AcquiredLock, Client, ClientError};
use domain::Timestamp;
use hub::clock::{Clock, SystemClock};
use tokio::task::JoinHandle;
use uuid::Uuid;
use wire::{
    AcquireLock, HeartbeatLock, Lock, LockQueue, LockQueueQuery, LockTicket, ReleaseLock, TicketStatus,
    ValidateLock,
};

use crate::support::{Home, Kind, until};

const HOUR: i64 = 3600;
/// Of what ends while it is watched, and of those who wait in vain.
const SHORT: Duration = Duration::from_secs(4);
/// Of what is renewed all the time; shorter than a test.
const RENEWED: Duration = Duration::from_secs(10);
const LONG: Duration = Duration::from_secs(300);
/// How late something may be on a machine that is busy building; an hour is far more.
const LATE: Duration = Duration::from_secs(20);
/// The engine counts whole milliseconds.
const COUNTED: Duration = Duration::from_millis(1);
/// Between the hub's look at the clock and ours.
const LOOKED: Duration = Duration::from_secs(60);

/// The clock on the wall, as one program sees it.
struct WallClock {
    file: File,
    shift: i64,
    /// The most it was moved in the run of the hub: in one run its clock never goes back.
    highest: i64,
}

impl WallClock {
    /// Sets it right, and has what runs at home look at it.
    fn hang(home: Home) -> (Self, Home) {
        let (library, file) = (home.beside("shift.so"), home.beside("shift"));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/wall_clock/shift.c");
        let mut compiler = Command::new("cc");
        compiler.args(["-Wall", "-Wextra", "-Werror", "-O2", "-shared", "-fPIC", "-o"]);
        let compiled = compiler.arg(&library).arg(source).output().expect("this test needs a C compiler");
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        let clock = Self { file: File::create(&file).unwrap(), shift: 0, highest: 0 };
        clock.file.write_all_at(&0_i64.to_ne_bytes(), 0).unwrap();
        let home = home.env("WALL_CLOCK_SHIFT", file.to_str().unwrap());
        (clock, home.env("LD_PRELOAD", library.to_str().unwrap()))
    }

    /// Somebody sets it, forward or back.
    fn jump(&mut self, seconds: i64) {
        self.shift += seconds;
        self.highest = self.highest.max(self.shift);
        self.file.write_all_at(&self.shift.to_ne_bytes(), 0).unwrap();
    }

    /// The hub was started anew, and has never seen another time.
    fn forget(&mut self) {
        self.highest = self.shift;
    }

    /// The hub has seen this on its clock just now: so it is ours that it looks at.
    #[track_caller]
    fn assert_seen(&self, time: Timestamp) {
        let real = SystemClock::default().now().micros();
        let moved = Duration::from_micros((time.micros() - real - self.highest * 1_000_000).unsigned_abs());
        assert!(moved < LOOKED, "{time} with the clock moved by {} s", self.highest);
    }
}

/// Something that was asked for, and when: not before `asked`, not after `answered`.
struct Timed<T> {
    asked: Instant,
    got: T,
    answered: Instant,
}

/// Between these two its time began.
fn assert_took(begun: (Instant, Instant), ended: Instant, wanted: Duration, what: &str) {
    assert!(ended + COUNTED >= begun.0 + wanted, "{what}: over after {:?} at most", ended - begun.0);
    assert!(ended <= begun.1 + wanted + LATE, "{what}: over after {:?} at least", ended - begun.1);
}

fn wanted(name: &str, owner: &str, ttl: Duration) -> AcquireLock {
    AcquireLock {
        key: format!("resource:wall:{name}"),
        owner: Some(owner.to_owned()),
        ttl_seconds: Some(u32::try_from(ttl.as_secs()).unwrap()),
        ..AcquireLock::default()
    }
}

async fn take(client: &Client, request: AcquireLock) -> Result<Timed<Lock>, ClientError> {
    let asked = Instant::now();
    match client.acquire_lock(&request).await? {
        AcquiredLock::Lock(got) => Ok(Timed { asked, got, answered: Instant::now() }),
        AcquiredLock::Queued(queued) => panic!("an unasked ticket: {queued:?}"),
    }
}

/// Waits for a lock with a connection.
fn waits(client: &Client, request: AcquireLock, wait: Duration) -> JoinHandle<(Instant, Instant, String)> {
    let (client, wait_seconds) = (client.clone(), Some(u32::try_from(wait.as_secs()).unwrap()));
    let request = AcquireLock { wait_seconds, ..request };
    #[expect(clippy::disallowed_methods, reason = "there is no lifecycle in a test, and it is waited for")]
    tokio::spawn(async move {
        let asked = Instant::now();
        let came = match take(&client, request).await {
            Ok(_) => "granted".to_owned(),
            Err(ClientError::Problem(problem)) => problem.code.clone(),
            Err(error) => panic!("{error}"),
        };
        (asked, Instant::now(), came)
    })
}

async fn ticket(client: &Client, request: AcquireLock) -> Uuid {
    let request = AcquireLock { queue: Some(true), ..request };
    match client.acquire_lock(&request).await.unwrap() {
        AcquiredLock::Queued(queued) => queued.ticket_id,
        AcquiredLock::Lock(lock) => panic!("it should be held: {lock:?}"),
    }
}

async fn beat(client: &Client, lock: &Lock) -> Timestamp {
    let beat = HeartbeatLock { lock_id: lock.lock_id, agent_id: None, timestamp: None, ttl_extension: None };
    client.heartbeat_lock(&beat).await.expect("it is renewed in time").expires_at.parse().unwrap()
}

async fn is_current(client: &Client, lock: &Lock) -> bool {
    let request = ValidateLock { key: lock.key.clone(), fencing_token: lock.fencing_token };
    client.validate_lock(&request).await.unwrap().current
}

async fn line(client: &Client, name: &str) -> LockQueue {
    client.lock_queue(&LockQueueQuery { key: format!("resource:wall:{name}") }).await.unwrap()
}

async fn looked_at(client: &Client, id: Uuid) -> LockTicket {
    client.lock_ticket(id).await.unwrap()
}

/// What is held, and stood for, all the time.
struct Lasting {
    long: Lock,
    first: Uuid,
    renewed: Lock,
}

impl Lasting {
    async fn begin(client: &Client) -> Self {
        let long = take(client, wanted("long", "holder", LONG)).await.unwrap().got;
        let first = ticket(client, wanted("long", "first", LONG)).await;
        let renewed = take(client, wanted("renewed", "holder", RENEWED)).await.unwrap().got;
        Self { long, first, renewed }
    }

    /// All of it is as it was, and can be worked with.
    async fn assert_lasts(&self, client: &Client, clock: &WallClock) {
        assert!(is_current(client, &self.long).await && is_current(client, &self.renewed).await);
        let ticket = looked_at(client, self.first).await;
        assert_eq!((ticket.status, ticket.position), (TicketStatus::Waiting, Some(1)), "{ticket:?}");
        clock.assert_seen(beat(client, &self.renewed).await.minus(RENEWED));
    }
}

/// While the clock jumps, one lock ends by itself, one who waits gives up, and the rest goes on.
async fn assert_untouched(client: &Client, clock: &mut WallClock, lasting: &Lasting, jump: i64) {
    let short = take(client, wanted("short", "holder", SHORT)).await.unwrap();
    let next = waits(client, wanted("short", "next", Duration::from_secs(1)), LATE + 2 * SHORT);
    let in_vain = waits(client, wanted("long", "in vain", LONG), SHORT);
    until("both stand in line", async || {
        line(client, "short").await.waiters.len() == 1 && line(client, "long").await.waiters.len() == 2
    })
    .await;
    clock.jump(jump);
    let witness = take(client, wanted("witness", &jump.to_string(), Duration::from_secs(1))).await.unwrap();
    clock.assert_seen(witness.got.acquired_at.parse().unwrap());
    while !next.is_finished() || !in_vain.is_finished() {
        lasting.assert_lasts(client, clock).await;
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    let (_, granted, came) = next.await.unwrap();
    assert_eq!(came, "granted");
    assert_took((short.asked, short.answered), granted, SHORT, "a lock that nobody renews");
    assert!(!is_current(client, &short.got).await);
    let (asked, gave_up, came) = in_vain.await.unwrap();
    assert_eq!(came, "LOCK_WAIT_TIMEOUT");
    assert_took((asked, asked), gave_up, SHORT, "a wait");
    let freed = async || {
        line(client, "short").await.holders.is_empty() && line(client, "witness").await.holders.is_empty()
    };
    until("those who took it for a moment are gone", freed).await;
}

async fn assert_jumps_change_nothing(home: Home) {
    let (mut clock, home) = WallClock::hang(home);
    let served = home.serve().await;
    let client = served.admin();
    let lasting = Lasting::begin(&client).await;
    clock.assert_seen(lasting.long.acquired_at.parse().unwrap());
    for jump in [HOUR, -HOUR, -HOUR] {
        assert_untouched(&client, &mut clock, &lasting, jump).await;
    }
    served.stop();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_is_set_ends_and_prolongs_no_lock() {
    assert_jumps_change_nothing(Home::on(Kind::Sqlite)).await;
}

/// Here the right to write at all is a lease, and a hub whose clock is not the database's is not ready. It still answers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_is_set_ends_and_prolongs_no_lock_on_postgres() {
    assert_jumps_change_nothing(Home::on(Kind::Postgres)).await;
}

/// What was held gets its whole time anew and not more, whatever the wall says; whoever waits has its place.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_is_set_while_the_hub_is_down_ends_and_prolongs_no_lock() {
    let (mut clock, home) = WallClock::hang(Home::on(Kind::Sqlite));
    let mut served = home.serve().await;
    let lasting = Lasting::begin(&served.admin()).await;
    for jump in [HOUR, -HOUR, -HOUR] {
        let client = served.admin();
        let short = take(&client, wanted("short", "holder", SHORT)).await.unwrap();
        let next = ticket(&client, wanted("short", "next", LONG)).await;
        lasting.assert_lasts(&client, &clock).await;
        served.process.kill();
        clock.jump(jump);
        clock.forget();
        let started = Instant::now();
        served = home.serve().await;
        let (client, ready) = (served.admin(), Instant::now());
        let held = line(&client, "long").await.holders;
        assert_eq!((held.len(), held[0].fencing_token), (1, lasting.long.fencing_token), "{held:?}");
        clock.assert_seen(held[0].expires_at.parse::<Timestamp>().unwrap().minus(LONG));
        let mut granted = None;
        until("the next one has it", async || {
            lasting.assert_lasts(&client, &clock).await;
            let ticket = looked_at(&client, next).await;
            granted = ticket.lock;
            ticket.status != TicketStatus::Waiting
        })
        .await;
        assert_took((started, ready), Instant::now(), SHORT, "a lock of before the crash");
        let granted = granted.expect("a lock");
        assert!(granted.fencing_token > short.got.fencing_token);
        assert!(!is_current(&client, &short.got).await);
        let release = ReleaseLock { lock_id: granted.lock_id, agent_id: None };
        client.release_lock(&release).await.unwrap();
    }
    served.stop();
}

/// The lease is a time on the wall. It keeps a second server away while the clock stands, and nobody once it has ended.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_is_set_back_prolongs_no_lease() {
    let (mut clock, home) = WallClock::hang(Home::on(Kind::Postgres));
    let mut served = home.serve().await;
    let held = take(&served.admin(), wanted("long", "holder", LONG)).await.unwrap().got;
    let behind = ticket(&served.admin(), wanted("long", "behind", LONG)).await;
    clock.jump(HOUR);
    let ahead = "SELECT 1 FROM instances WHERE lease_until > clock_timestamp() + interval '50 minutes'";
    until("the lease is renewed by the moved clock", async || !home.sql(ahead).await.is_empty()).await;
    clock.jump(-HOUR);
    let keys = home.data.join("keys").display().to_string();
    let second = Home::with(home.database_url.clone()).env("COUNTERSIGN_KEYS_DIR", &keys);
    second.refused().assert_refused(1, &["another server uses this database"]);
    beat(&served.admin(), &held).await;
    served.process.kill();
    served = home.serve().await;
    let client = served.admin();
    assert!(is_current(&client, &held).await);
    beat(&client, &held).await;
    assert_eq!(looked_at(&client, behind).await.status, TicketStatus::Waiting);
    served.stop();
}

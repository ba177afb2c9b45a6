//! What the hub can do: use cases that load, decide and commit in one unit; background work.
//!
//! A use case is a free function that takes the [`Hub`] and the [`Caller`]. It calls `records.write`, and inside the
//! unit nothing but the transaction is awaited. To add one: a file in its noun's folder, its error enum, its tests.
//!
//! **Invariant:** whatever a unit decides, it writes with its audit row, in the same transaction.
//! **Invariant:** time and ids come from the ports [`clock::Clock`] and [`ids::Ids`].

mod act;
pub mod agents;
pub mod approvals;
pub mod archives;
pub mod audit;
pub mod blobs;
pub mod caller;
pub mod clock;
pub mod delegations;
pub mod desk;
pub mod error;
pub mod etag;
pub mod events;
pub mod executions;
pub mod faults;
pub mod health;
pub mod idempotency;
pub mod identity;
pub mod ids;
pub mod instance;
pub mod jobs;
pub mod keys;
pub mod lifecycle;
pub mod locks;
pub mod notifications;
pub mod outgoing;
pub mod policies;
pub mod projects;
pub mod resource_catalogue;
pub mod reviews;
pub mod rules;
pub mod settings;
pub mod standalone_grants;
pub mod tasks;
pub mod webhooks;
pub mod workspaces;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use coordination::bus::Bus;
use coordination::crowds::Crowds;
use coordination::hints::Hints;
use coordination::limits::Limits;
use coordination::reservations::Reservations;
use coordination::stamped::StampedCache;
use coordination::tail::Tail;
use coordination::turns::Turns;
use coordination::wake::Wakers;
use domain::accounts::Account;
use domain::idempotency::Slot;
use domain::organizations::Organization;
use domain::policies::RuleSet;
use domain::settings::Settings;
use domain::tasks::Task;
use domain::{Id, Timestamp};
use records::Db;
use tokio::sync::{Notify, Semaphore, watch};
use uuid::Uuid;

pub use caller::{Caller, Origin};
pub use coordination::cache::{ExactCache, Moment};
pub use error::{Failed, HubError};
// The server names these in its one match of errors; it does not depend on the records.
pub use records::Error as RecordsError;
pub use records::accounts::Called;
pub use records::agents::Filter as AgentFilter;
pub use records::approvals::{Day as AnsweredDay, Filter as ApprovalFilter, Order as ApprovalOrder};
pub use records::audit::checks::AuditCheck;
pub use records::audit::rows::Filter as AuditFilter;
pub use records::directory::{After as MemberPlace, Wanted as WantedMembers};
pub use records::organizations::Filter as OrganizationFilter;
pub use records::task_revisions::Listed as ListedRevision;
pub use records::tasks::{Filter as TaskFilter, Which as WhichTasks};
pub use records::webhooks::After as WebhookPlace;

use clock::Clock;
use events::follow::Told;
use identity::attempts::Attempts;
use identity::credential::Credential;
use identity::oidc::Provider;
use identity::passwords::Hashing;
use ids::Ids;
use keys::HubKeys;
use lifecycle::Lifecycle;
use outgoing::Outgoing;

/// Credentials kept in memory; a miss costs four point reads.
const CREDENTIALS_CACHED_MAX: usize = 160_000;
const SETTINGS_CACHED_MAX: usize = 16_000;
/// Organizations whose rules are ready; each may have a hundred policies.
const RULE_SETS_CACHED_MAX: usize = 2_000;
/// Requests of one account that wait for something at once (DECISIONS 38).
const WAITING_PER_ACCOUNT_MAX: usize = 200;
/// Sockets and streams of one account at once.
const FOLLOWERS_PER_ACCOUNT_MAX: usize = 200;
/// Events at the end of the log that are kept ready for those who follow it; whoever is further behind reads the records.
const TAIL_EVENTS_MAX: usize = 4096;
/// Followers that ask at once whether they may still.
const RECHECKS_AT_ONCE: usize = 4;
/// Endpoints that are sent something at once; each is a small task that mostly waits.
const DELIVERIES_AT_ONCE: usize = 1024;
/// Where another process may change what we cached, an entry lives this long at most.
const SHARED_CACHE_AGE_MAX: Duration = Duration::from_secs(1);

/// Everything a use case needs. Cheap to clone.
#[derive(Clone)]
pub struct Hub {
    /// The truth.
    pub records: Db,
    /// What is shared in this process.
    pub coordination: Arc<Coordination>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// New ids.
    pub ids: Arc<dyn Ids>,
    /// What the operator decided, checked.
    pub config: Arc<Config>,
    /// Background work and its end.
    pub lifecycle: Lifecycle,
}

/// What the operator decided, checked.
pub struct Config {
    /// Requests a minute and account; 0 = no limit.
    pub rate_limit: u32,
    /// Requests a minute and address before login; 0 = no limit.
    pub anonymous_rate_limit: u32,
    /// Locks asked for a minute and agent; 0 = no limit.
    pub lock_rate_limit: u32,
    /// Bytes of blobs an organization may keep.
    pub blob_quota_bytes: i64,
    /// The hub's own keys.
    pub keys: HubKeys,
    /// Where people may log in besides here.
    pub oidc: Option<Provider>,
    /// Standalone grants.
    pub grants: standalone_grants::Settings,
    /// How others' addresses are called.
    pub outgoing: Outgoing,
    /// How events of other servers are noticed.
    pub events: events::Settings,
}

/// What is shared in this process.
pub struct Coordination {
    pub(crate) credentials: ExactCache<[u8; 32], Credential>,
    pub(crate) settings: ExactCache<Id<Organization>, Settings>,
    pub(crate) rules: StampedCache<Id<Organization>, Uuid, RuleSet>,
    pub(crate) turns: Turns<Slot>,
    pub(crate) checks: Turns<Id<Organization>>,
    pub(crate) waiting: Crowds<Id<Account>>,
    pub(crate) news: Wakers<Id<Organization>>,
    /// The same, for agents: something may have become free to begin.
    pub(crate) work: Wakers<Id<Organization>>,
    /// Tasks that an agent is about to begin. The gate decides; this spares the others the way there.
    pub(crate) beginning: Reservations<Id<Task>>,
    /// Since when agents can be heard.
    pub(crate) listening_since: OnceLock<Timestamp>,
    /// Held where several processes could share the records without coordinating.
    pub lease: OnceLock<instance::Lease>,
    /// Requests by account.
    pub account_limits: Limits<Id<Account>>,
    /// Requests by address, before login.
    pub address_limits: Limits<std::net::IpAddr>,
    /// Attempts to log in that did not turn out well.
    pub(crate) attempts: Attempts,
    /// Where passwords are hashed, few at a time.
    pub hashing: Hashing,
    /// Where policies are held against the past, few at a time.
    pub(crate) backtests: policies::backtest::Turns,
    /// The engine of locks, once it is open.
    pub(crate) locks: OnceLock<locks::Engine>,
    /// Locks asked for, by agent.
    pub(crate) lock_limits: Limits<Id<Account>>,
    /// Standalone grants: their store, and the state of its cleanup.
    pub(crate) grants: standalone_grants::Service,
    /// Events that are not in the log.
    pub live: Bus<Arc<Told>>,
    /// The end of the log, for those who follow it.
    pub(crate) tail: Tail<Told>,
    /// Who follows the log, by account.
    pub(crate) followers: Crowds<Id<Account>>,
    /// And all of them.
    pub(crate) all_followers: Crowds<()>,
    /// Who of them is asking anew whether they may; few at a time, so that others are served in between.
    pub(crate) rechecks: Semaphore,
    /// Where other servers are told that there is something to look for.
    pub(crate) hints: Option<Arc<Hints>>,
    /// How far the log was told.
    pub(crate) head: watch::Sender<i64>,
    /// Told when a job is to run at once.
    pub(crate) hurry: Notify,
    /// Deliveries to webhooks at once.
    pub(crate) deliveries: Arc<Semaphore>,
}

impl Hub {
    /// Puts the parts together; nothing runs yet.
    #[must_use]
    pub fn new(records: Db, clock: Arc<dyn Clock>, ids: Arc<dyn Ids>, config: Config) -> Self {
        let coordination = Coordination {
            credentials: ExactCache::new(CREDENTIALS_CACHED_MAX),
            settings: ExactCache::new(SETTINGS_CACHED_MAX),
            rules: StampedCache::new(RULE_SETS_CACHED_MAX),
            turns: Turns::default(),
            checks: Turns::default(),
            waiting: Crowds::new(WAITING_PER_ACCOUNT_MAX),
            news: Wakers::default(),
            work: Wakers::default(),
            beginning: Reservations::default(),
            listening_since: OnceLock::new(),
            lease: OnceLock::new(),
            account_limits: Limits::new(config.rate_limit),
            address_limits: Limits::new(config.anonymous_rate_limit),
            attempts: Attempts::default(),
            hashing: Hashing::default(),
            backtests: policies::backtest::Turns::default(),
            locks: OnceLock::new(),
            lock_limits: Limits::new(config.lock_rate_limit),
            grants: standalone_grants::Service::new(&records, &config.grants),
            live: Bus::default(),
            tail: Tail::new(TAIL_EVENTS_MAX),
            followers: Crowds::new(FOLLOWERS_PER_ACCOUNT_MAX),
            all_followers: Crowds::new(usize::MAX),
            rechecks: Semaphore::new(RECHECKS_AT_ONCE),
            hints: events::hints_of(&config.events, &records, &*ids),
            head: watch::Sender::new(0),
            hurry: Notify::new(),
            deliveries: Arc::new(Semaphore::new(DELIVERIES_AT_ONCE)),
        };
        Self {
            records,
            coordination: Arc::new(coordination),
            clock,
            ids,
            config: Arc::new(config),
            lifecycle: Lifecycle::default(),
        }
    }

    /// Where a cache stands in time. Entries end by age as well unless no other process can change the records: it has
    /// the file (SQLite) or holds the lease (PostgreSQL). Whoever loses the lease believes nothing older than a second.
    pub(crate) fn moment(&self, epoch: u64) -> Moment {
        let now = self.clock.now();
        Moment { epoch, now, max_age: (!self.is_alone(now)).then_some(SHARED_CACHE_AGE_MAX) }
    }

    /// Where what was answered from records and locks stands in time: it is still true in a moment of the same epoch, but for
    /// what the time on the wall changes. None where another process may change what was answered.
    #[must_use]
    pub fn standstill(&self) -> Option<Moment> {
        let now = self.clock.now();
        // Both only grow, so their sum is the same only where both are.
        let epoch = self.records.signals().changes_epoch().wrapping_add(locks::changes(self));
        self.is_alone(now).then_some(Moment { epoch, now, max_age: None })
    }

    /// Whether no other process can be at work on the records.
    pub(crate) fn is_alone(&self, now: Timestamp) -> bool {
        match self.records.engine() {
            records::Engine::Sqlite => true,
            records::Engine::Postgres => {
                self.coordination.lease.get().is_some_and(|lease| lease.is_valid(now))
            }
        }
    }

    /// Starts the background work: sequencer, sealer, jobs, locks, a first look at the provider of logins.
    pub fn start(&self) {
        self.coordination.listening_since.get_or_init(|| self.clock.now());
        events::feed::start(self);
        audit::sealer::start(self);
        standalone_grants::start(self);
        jobs::runner::start(self);
        identity::oidc_flows::get_ready(self);
        locks::start(self);
        webhooks::dispatch::start(self);
    }

    /// Ends the background work, seals what is not yet sealed, closes the records.
    pub async fn stop(&self) {
        self.lifecycle.stop().await;
        if let Err(error) = audit::sealer::seal_all(self).await {
            tracing::error!("the last audit rows stay unsealed until the next start: {error}");
        }
        self.records.close().await;
    }
}

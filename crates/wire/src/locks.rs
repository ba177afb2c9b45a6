//! Locks, lines and tickets.

use garde::Validate;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::page::{CURSOR_CHARS_MAX, LIMIT_MAX};
use crate::patch::not_null;

/// The longest key.
pub const KEY_BYTES_MAX: usize = 330;
/// The longest wait with an open connection.
pub const WAIT_SECONDS_MAX: u32 = 60;

/// Whether others may hold a key too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LockMode {
    /// Alone.
    #[default]
    Exclusive,
    /// With others who share.
    Shared,
}

/// A lock that is held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Lock {
    /// One per acquisition; heartbeat and release need it.
    pub lock_id: Uuid,
    /// What is locked.
    pub key: String,
    /// Alone or with others.
    pub mode: LockMode,
    /// Who holds it.
    pub agent_id: Uuid,
    /// Which piece of the agent's work.
    pub owner: String,
    /// Greater than that of every earlier holder of the key.
    pub fencing_token: u64,
    /// When it was granted.
    #[schema(format = DateTime)]
    pub acquired_at: String,
    /// When it ends unless it is renewed. For display: it ends by the hub's monotonic clock.
    #[schema(format = DateTime)]
    pub expires_at: String,
    /// How long it lives without a heartbeat.
    pub ttl_seconds: u32,
    /// How often its holder has renewed it.
    pub heartbeat_count: u32,
    /// What it is for.
    #[schema(required)]
    pub purpose: Option<String>,
}

/// Asks for a lock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AcquireLock {
    /// `resource:<type>:<id>`. `task:` keys belong to the hub.
    #[garde(length(bytes, min = 1, max = KEY_BYTES_MAX))]
    #[schema(min_length = 1, max_length = 330)]
    pub key: String,
    /// Alone (default) or with others who share.
    #[garde(skip)]
    #[serde(default)]
    pub mode: LockMode,
    /// The agent it is for (default: the caller). Only the agent itself and its owner may say so.
    #[garde(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<Uuid>,
    /// The piece of the agent's work it is for (default: the agent's id). Different ones wait for each other.
    #[garde(skip)]
    #[schema(min_length = 1, max_length = 128)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The same one again means the same request: its answer is the same lock.
    #[garde(skip)]
    #[schema(min_length = 1, max_length = 128)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// How long it lives without a heartbeat: 1 to `lock:max_ttl` (default `lock:default_ttl`).
    #[garde(skip)]
    #[schema(minimum = 1)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_seconds: Option<u32>,
    /// How long to wait for it (default 0).
    #[garde(inner(range(max = WAIT_SECONDS_MAX)))]
    #[schema(maximum = 60)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_seconds: Option<u32>,
    /// What it is for, shown to others.
    #[garde(skip)]
    #[schema(min_length = 1, max_length = 512)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
    /// Informational: the line is strictly first come, first served.
    #[garde(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    /// Whether to leave a ticket where the key is held, instead of waiting.
    #[garde(skip)]
    #[schema(nullable = false)]
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    pub queue: Option<bool>,
}

/// One of several keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WantedKey {
    /// `resource:<type>:<id>`.
    #[garde(length(bytes, min = 1, max = KEY_BYTES_MAX))]
    #[schema(min_length = 1, max_length = 330)]
    pub key: String,
    /// Alone (default) or with others who share.
    #[garde(skip)]
    #[serde(default)]
    pub mode: LockMode,
}

/// Asks for several locks: all or none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AcquireLocks {
    /// At most 128; the same key twice counts once.
    #[garde(length(min = 1, max = 128), dive)]
    #[schema(min_items = 1, max_items = 128)]
    pub keys: Vec<WantedKey>,
    /// The agent it is for (default: the caller). Only the agent itself and its owner may say so.
    #[garde(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<Uuid>,
    /// The piece of the agent's work it is for (default: the agent's id). Different ones wait for each other.
    #[garde(skip)]
    #[schema(min_length = 1, max_length = 128)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The same one again means the same request: its answer is the same lock.
    #[garde(skip)]
    #[schema(min_length = 1, max_length = 128)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// How long it lives without a heartbeat: 1 to `lock:max_ttl` (default `lock:default_ttl`).
    #[garde(skip)]
    #[schema(minimum = 1)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_seconds: Option<u32>,
    /// How long to wait for it (default 0).
    #[garde(inner(range(max = WAIT_SECONDS_MAX)))]
    #[schema(maximum = 60)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_seconds: Option<u32>,
    /// What it is for, shown to others.
    #[garde(skip)]
    #[schema(min_length = 1, max_length = 512)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
    /// Informational: the line is strictly first come, first served.
    #[garde(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
}

/// Several locks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Locks {
    /// By key.
    pub locks: Vec<Lock>,
}

/// A place in line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QueuedLock {
    /// Ask for it at `/locks/tickets/{ticket_id}`.
    pub ticket_id: Uuid,
    /// The first is 1.
    pub position: u32,
}

/// What became of a ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TicketStatus {
    /// In line.
    Waiting,
    /// It is a lock.
    Granted,
    /// Its time in the line is over, or the lock it got has ended.
    Expired,
    /// It was taken out of the line.
    Cancelled,
}

/// A ticket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LockTicket {
    /// Which.
    pub ticket_id: Uuid,
    /// For what.
    pub key: String,
    /// What became of it.
    pub status: TicketStatus,
    /// Its place, while it waits; the first is 1.
    #[schema(required)]
    pub position: Option<u32>,
    /// The lock, once it is granted.
    #[schema(required)]
    pub lock: Option<Lock>,
}

/// Says that the holder of a lock is alive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HeartbeatLock {
    /// Which lock.
    #[garde(skip)]
    pub lock_id: Uuid,
    /// Who holds it (default: the caller).
    #[garde(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<Uuid>,
    /// When it was sent, by the sender's clock; nothing depends on it.
    #[garde(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<f64>,
    /// How long it lives from now on, 1 to `lock:max_ttl` (default: as before).
    #[garde(skip)]
    #[schema(minimum = 1)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_extension: Option<u32>,
}

/// What a holder is told when it was heard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LockHeard {
    /// When the lock ends unless it is renewed again.
    #[schema(format = DateTime)]
    pub expires_at: String,
    /// How often it was renewed.
    pub heartbeat_count: u32,
}

/// Gives a lock back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReleaseLock {
    /// Which lock.
    #[garde(skip)]
    pub lock_id: Uuid,
    /// Who holds it (default: the caller).
    #[garde(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<Uuid>,
}

/// It was given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LockReleased {
    /// Always true.
    pub released: bool,
}

/// Asks whether a fencing token is that of a present holder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ValidateLock {
    /// The key.
    #[garde(length(bytes, min = 1, max = KEY_BYTES_MAX))]
    #[schema(min_length = 1, max_length = 330)]
    pub key: String,
    /// The token.
    #[garde(skip)]
    pub fencing_token: u64,
}

/// Whether it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LockValidity {
    /// Whether a lock with this token is held now.
    pub current: bool,
}

/// Ends whatever holds a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ForceReleaseLock {
    /// The key.
    #[garde(length(bytes, min = 1, max = KEY_BYTES_MAX))]
    #[schema(min_length = 1, max_length = 330)]
    pub key: String,
    /// Why, for the record.
    #[garde(length(chars, min = 1, max = 1000))]
    #[schema(min_length = 1, max_length = 1000)]
    pub reason: String,
}

/// Which locks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LocksQuery {
    /// Only those of this agent.
    #[garde(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<Uuid>,
    /// Only those of resources of this type.
    #[garde(inner(length(bytes, min = 1, max = 64)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_type: Option<String>,
    /// Only those of this key.
    #[garde(inner(length(bytes, min = 1, max = KEY_BYTES_MAX)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// How many items at most (default 50).
    #[garde(inner(range(min = 1, max = LIMIT_MAX)))]
    #[param(minimum = 1, maximum = 200)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// `next_cursor` of the page before.
    #[garde(inner(length(bytes, min = 1, max = CURSOR_CHARS_MAX)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// Which line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LockQueueQuery {
    /// The key.
    #[garde(length(bytes, min = 1, max = KEY_BYTES_MAX))]
    pub key: String,
}

/// Somebody in line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LockWaiter {
    /// The first is 1.
    pub position: u32,
    /// Who waits.
    pub agent_id: Uuid,
    /// Which piece of its work.
    pub owner: String,
    /// For what.
    pub mode: LockMode,
    /// Since when.
    #[schema(format = DateTime)]
    pub requested_at: String,
    /// Informational.
    #[schema(required)]
    pub priority: Option<i32>,
    /// What it is for.
    #[schema(required)]
    pub purpose: Option<String>,
    /// Its ticket, if it waits with one.
    #[schema(required)]
    pub ticket_id: Option<Uuid>,
}

/// One key: who holds it, who waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LockQueue {
    /// The key.
    pub key: String,
    /// Who holds it.
    pub holders: Vec<Lock>,
    /// Who waits, in order.
    pub waiters: Vec<LockWaiter>,
}

/// A piece of an agent's work.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
pub struct LockOwner {
    /// The agent.
    pub agent_id: Uuid,
    /// Which piece.
    pub owner: String,
}

/// One owner waits for another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LockEdge {
    /// Who waits.
    pub waiter: LockOwner,
    /// For which key.
    pub key: String,
    /// Who holds it, or stands before the waiter.
    pub blocker: LockOwner,
}

/// Who waits for whom.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LockGraph {
    /// Everybody who waits or is waited for.
    pub nodes: Vec<LockOwner>,
    /// Every wait.
    pub edges: Vec<LockEdge>,
    /// Those that wait for themselves; there are none while `feature:deadlock_detection` is on.
    pub cycles: Vec<Vec<LockEdge>>,
}

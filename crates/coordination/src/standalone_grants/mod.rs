//! Where standalone grants are kept, beside the row that every grant has in the records.
//!
//! A store never decides by itself that a token may be used: the records do (DECISIONS 33), so that losing a store, or
//! getting an old copy of it back, never makes a token good again. What it does not have cannot be used.

pub mod in_memory;
pub mod in_redis;
mod record;

use std::pin::Pin;

use domain::canonical::Sha256Hash;
use domain::organizations::Organization;
use domain::standalone_grants::{GrantCounts, GrantRefusal, GrantStatus, StandaloneGrant, StoreKind};
use domain::{Id, Timestamp};

pub use crate::redis_server::Options;
pub use in_memory::InMemory;
pub use in_redis::InRedis;

/// The organization whose things keep their bare names in Redis.
const DEFAULT_SLUG: &str = "default";

/// Whose grants are meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tenant {
    /// The organization.
    pub id: Id<Organization>,
    /// Whether its keys are named as if it were the only one.
    pub is_default: bool,
}

impl Tenant {
    /// This organization.
    #[must_use]
    pub fn of(organization: &Organization) -> Self {
        Self { id: organization.id, is_default: organization.slug == DEFAULT_SLUG }
    }
}

/// The store did not do it: it cannot be reached, or it refuses.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the store of grants did not answer as it must: {0}")]
pub struct StoreError(pub String);

/// What a store answers.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// Somebody uses a token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Use {
    /// The hash of the token.
    pub token_hash: Sha256Hash,
    /// What for.
    pub ir_hash: String,
    /// Who, in their own words.
    pub by: String,
    /// When.
    pub now: Timestamp,
}

/// A place for grants. What has expired is not there any more, whether or not it was cleared away.
pub trait Store: Send + Sync {
    /// Which one it is.
    fn kind(&self) -> StoreKind;

    /// Where it is, for the log, where that is not this process.
    fn place(&self) -> Option<&str> {
        None
    }

    /// Keeps a new grant until it ends. False if there is one of that id.
    fn create<'a>(&'a self, tenant: Tenant, grant: &'a StandaloneGrant, now: Timestamp) -> Answer<'a, bool>;

    /// The grant.
    fn get(
        &self,
        tenant: Tenant,
        id: Id<StandaloneGrant>,
        now: Timestamp,
    ) -> Answer<'_, Option<StandaloneGrant>>;

    /// Keeps what became of a grant, as long as it was kept before. False if it is gone, or if it would make a grant
    /// pending that was not.
    fn update<'a>(&'a self, tenant: Tenant, grant: &'a StandaloneGrant) -> Answer<'a, bool>;

    /// Drops the grant. False if it was not there.
    fn delete(&self, tenant: Tenant, id: Id<StandaloneGrant>) -> Answer<'_, bool>;

    /// The grant of a token.
    fn find_by_token_hash(
        &self,
        tenant: Tenant,
        token_hash: Sha256Hash,
        now: Timestamp,
    ) -> Answer<'_, Option<StandaloneGrant>>;

    /// The tenant's grants, newest first; those of one status where asked.
    fn list_by_tenant(
        &self,
        tenant: Tenant,
        status: Option<GrantStatus>,
        limit: usize,
        now: Timestamp,
    ) -> Answer<'_, Vec<StandaloneGrant>>;

    /// How many of each it knows of.
    fn count_by_status(&self, tenant: Tenant, now: Timestamp) -> Answer<'_, GrantCounts>;

    /// Uses a token: at once, and once.
    fn consume<'a>(
        &'a self,
        tenant: Tenant,
        used: &'a Use,
    ) -> Answer<'a, Result<StandaloneGrant, GrantRefusal>>;

    /// Clears away what is left of grants that are gone; which they were.
    fn cleanup_expired_indices(&self, tenant: Tenant, now: Timestamp)
    -> Answer<'_, Vec<Id<StandaloneGrant>>>;

    /// Whether it works.
    fn health_check(&self) -> Answer<'_, bool>;
}

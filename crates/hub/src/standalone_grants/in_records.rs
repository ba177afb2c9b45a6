//! The records as a store of grants, for those who want no other.
//!
//! Units of the service write the same rows together with what is on record about them; what is here by itself is for
//! reading, and so that the records keep the contract that every store keeps.

use domain::canonical::Sha256Hash;
use domain::standalone_grants::{GrantCounts, GrantRefusal, GrantStatus, StandaloneGrant, StoreKind};
use domain::{Id, Timestamp};
use records::{Db, Error, Tx, standalone_grants};

use super::{Answer, Store, StoreError, Tenant, Use, rows};
use crate::HubError;

/// Grants cleared away in one unit.
const CLEARED_AT_ONCE: i64 = 100;

/// The store.
pub struct InRecords(pub Db);

fn failed(error: Error) -> StoreError {
    StoreError(error.to_string())
}

fn is_there(grant: &StandaloneGrant, now: Timestamp) -> bool {
    now < grant.expires_at
}

impl InRecords {
    async fn read<T, F>(&self, look: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'t> Fn(&'t mut Tx) -> records::Unit<'t, T, Error> + Send + Sync + 'static,
    {
        self.0.read(look, |tx, look| look(tx)).await.map_err(failed)
    }

    async fn write<T, F>(&self, change: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'t> Fn(&'t mut Tx) -> records::Unit<'t, T, Error> + Send + Sync + 'static,
    {
        self.0.write(change, |tx, change| change(tx)).await.map_err(failed)
    }

    async fn use_token(
        &self,
        tenant: Tenant,
        used: Use,
    ) -> Result<Result<StandaloneGrant, GrantRefusal>, StoreError> {
        let now = used.now;
        let done = self.0.write((tenant, used), |tx, (tenant, used)| {
            Box::pin(async move {
                let known = standalone_grants::by_token_locked(tx, tenant.id, used.token_hash).await?;
                let known = known.ok_or(HubError::Grant(GrantRefusal::Unknown))?;
                let grant = known.consumed(&used.ir_hash, &used.by, used.now).map_err(HubError::Grant)?;
                rows::used(tx, &grant, used.now).await?;
                Ok::<_, HubError>(grant)
            })
        });
        match done.await {
            Ok(grant) => Ok(Ok(grant)),
            Err(HubError::Grant(refusal)) => Ok(Err(refusal)),
            Err(HubError::Records(Error::Duplicate { .. })) => Ok(Err(GrantRefusal::AlreadyConsumed(now))),
            Err(error) => Err(StoreError(error.to_string())),
        }
    }

    async fn clear(&self, tenant: Tenant, now: Timestamp) -> Result<Vec<Id<StandaloneGrant>>, StoreError> {
        let mut cleared = Vec::new();
        loop {
            let overdue = standalone_grants::overdue(&self.0, tenant.id, now, CLEARED_AT_ONCE);
            let ids: Vec<_> = overdue.await.map_err(failed)?.iter().map(|grant| grant.id).collect();
            if ids.is_empty() {
                return Ok(cleared);
            }
            let ended = self.0.write((tenant, ids, now), |tx, (tenant, ids, now)| {
                Box::pin(rows::ended(tx, tenant.id, ids, *now))
            });
            cleared.extend(ended.await.map_err(failed)?.iter().map(|grant| grant.id));
        }
    }
}

impl Store for InRecords {
    fn kind(&self) -> StoreKind {
        StoreKind::Records
    }

    fn create<'a>(&'a self, tenant: Tenant, grant: &'a StandaloneGrant, _: Timestamp) -> Answer<'a, bool> {
        let grant = grant.clone();
        Box::pin(self.write(move |tx| {
            let grant = grant.clone();
            Box::pin(async move {
                let is_new = standalone_grants::get_locked(tx, tenant.id, grant.id).await?.is_none();
                if is_new {
                    rows::made(tx, &grant).await?;
                }
                Ok(is_new)
            })
        }))
    }

    fn get(
        &self,
        tenant: Tenant,
        id: Id<StandaloneGrant>,
        now: Timestamp,
    ) -> Answer<'_, Option<StandaloneGrant>> {
        Box::pin(async move {
            let found = self.read(move |tx| Box::pin(standalone_grants::get(tx, tenant.id, id))).await?;
            Ok(found.filter(|grant| is_there(grant, now)))
        })
    }

    fn update<'a>(&'a self, tenant: Tenant, grant: &'a StandaloneGrant) -> Answer<'a, bool> {
        let grant = grant.clone();
        Box::pin(self.write(move |tx| {
            let grant = grant.clone();
            Box::pin(async move {
                let known = standalone_grants::get_locked(tx, tenant.id, grant.id).await?;
                match known.map(|known| (known.status, grant.status)) {
                    None => return Ok(false),
                    Some((before, after)) if before == after => standalone_grants::change(tx, &grant).await?,
                    Some((GrantStatus::Pending, GrantStatus::Consumed)) => {
                        rows::used(tx, &grant, grant.updated_at).await?;
                    }
                    Some((GrantStatus::Pending, _)) => {
                        rows::ended(tx, tenant.id, &[grant.id], grant.updated_at).await?;
                    }
                    Some(_) => return Ok(false),
                }
                Ok(true)
            })
        }))
    }

    fn delete(&self, tenant: Tenant, id: Id<StandaloneGrant>) -> Answer<'_, bool> {
        Box::pin(self.write(move |tx| {
            Box::pin(async move {
                let Some(grant) = standalone_grants::get_locked(tx, tenant.id, id).await? else {
                    return Ok(false);
                };
                standalone_grants::remove(tx, &grant).await?;
                let minus = match grant.status {
                    GrantStatus::Pending => GrantCounts { pending: -1, ..GrantCounts::default() },
                    GrantStatus::Consumed => GrantCounts { consumed: -1, ..GrantCounts::default() },
                    GrantStatus::Expired => GrantCounts { expired: -1, ..GrantCounts::default() },
                };
                let now = grant.updated_at;
                standalone_grants::count(tx, tenant.id, grant.shard(), minus, now).await?;
                Ok(true)
            })
        }))
    }

    fn find_by_token_hash(
        &self,
        tenant: Tenant,
        token_hash: Sha256Hash,
        now: Timestamp,
    ) -> Answer<'_, Option<StandaloneGrant>> {
        Box::pin(async move {
            let found =
                self.read(move |tx| Box::pin(standalone_grants::by_token(tx, tenant.id, token_hash))).await?;
            Ok(found.filter(|grant| is_there(grant, now)))
        })
    }

    fn list_by_tenant(
        &self,
        tenant: Tenant,
        status: Option<GrantStatus>,
        limit: usize,
        now: Timestamp,
    ) -> Answer<'_, Vec<StandaloneGrant>> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        Box::pin(self.read(move |tx| Box::pin(standalone_grants::list(tx, tenant.id, status, now, limit))))
    }

    fn count_by_status(&self, tenant: Tenant, now: Timestamp) -> Answer<'_, GrantCounts> {
        Box::pin(self.read(move |tx| Box::pin(standalone_grants::counts(tx, tenant.id, now))))
    }

    fn consume<'a>(
        &'a self,
        tenant: Tenant,
        used: &'a Use,
    ) -> Answer<'a, Result<StandaloneGrant, GrantRefusal>> {
        Box::pin(self.use_token(tenant, used.clone()))
    }

    fn cleanup_expired_indices(
        &self,
        tenant: Tenant,
        now: Timestamp,
    ) -> Answer<'_, Vec<Id<StandaloneGrant>>> {
        Box::pin(self.clear(tenant, now))
    }

    fn health_check(&self) -> Answer<'_, bool> {
        Box::pin(
            async move { records::instances::database_clock(&self.0).await.map(|_| true).map_err(failed) },
        )
    }
}

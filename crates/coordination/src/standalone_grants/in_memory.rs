//! Grants in the memory of this process: gone when it ends.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use domain::canonical::Sha256Hash;
use domain::organizations::Organization;
use domain::standalone_grants::{GrantCounts, GrantRefusal, GrantStatus, StandaloneGrant, StoreKind};
use domain::{Id, Timestamp};

use super::{Answer, Store, Tenant, Use};

/// The store.
#[derive(Default)]
pub struct InMemory {
    kept: Mutex<Kept>,
}

type TokenIndex = HashMap<(Id<Organization>, [u8; 32]), Id<StandaloneGrant>>;

#[derive(Default)]
struct Kept {
    approvals: HashMap<Id<StandaloneGrant>, StandaloneGrant>,
    token_index: TokenIndex,
}

impl Kept {
    fn get(&self, tenant: Tenant, id: Id<StandaloneGrant>) -> Option<&StandaloneGrant> {
        self.approvals.get(&id).filter(|grant| grant.org_id == tenant.id)
    }

    fn by_token(&self, tenant: Tenant, token_hash: Sha256Hash) -> Option<&StandaloneGrant> {
        self.get(tenant, *self.token_index.get(&(tenant.id, token_hash.0))?)
    }

    fn of(&self, tenant: Tenant) -> impl Iterator<Item = &StandaloneGrant> {
        self.approvals.values().filter(move |grant| grant.org_id == tenant.id)
    }

    fn put(&mut self, grant: StandaloneGrant) {
        self.token_index.insert((grant.org_id, grant.token_hash.0), grant.id);
        self.approvals.insert(grant.id, grant);
    }

    fn drop_one(&mut self, tenant: Tenant, id: Id<StandaloneGrant>) -> bool {
        let Some(grant) = self.get(tenant, id).cloned() else { return false };
        self.token_index.remove(&(grant.org_id, grant.token_hash.0));
        self.approvals.remove(&id).is_some()
    }
}

/// Whether its time is not over: a token that was used is forgotten with the others.
fn is_there(grant: &&StandaloneGrant, now: Timestamp) -> bool {
    now < grant.expires_at
}

impl InMemory {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is known at once, as an answer.
fn at_once<'a, T: Send + 'a>(value: T) -> Answer<'a, T> {
    Box::pin(std::future::ready(Ok(value)))
}

impl Store for InMemory {
    fn kind(&self) -> StoreKind {
        StoreKind::Memory
    }

    fn create<'a>(&'a self, tenant: Tenant, grant: &'a StandaloneGrant, now: Timestamp) -> Answer<'a, bool> {
        let mut kept = self.kept();
        let is_new = kept.get(tenant, grant.id).is_none() && is_there(&grant, now);
        if is_new {
            kept.put(grant.clone());
        }
        at_once(is_new)
    }

    fn get(
        &self,
        tenant: Tenant,
        id: Id<StandaloneGrant>,
        now: Timestamp,
    ) -> Answer<'_, Option<StandaloneGrant>> {
        at_once(self.kept().get(tenant, id).filter(|grant| is_there(grant, now)).cloned())
    }

    fn update<'a>(&'a self, tenant: Tenant, grant: &'a StandaloneGrant) -> Answer<'a, bool> {
        let mut kept = self.kept();
        let may = kept.get(tenant, grant.id).is_some_and(|known| {
            known.status == GrantStatus::Pending || grant.status != GrantStatus::Pending
        });
        if may {
            kept.put(grant.clone());
        }
        at_once(may)
    }

    fn delete(&self, tenant: Tenant, id: Id<StandaloneGrant>) -> Answer<'_, bool> {
        at_once(self.kept().drop_one(tenant, id))
    }

    fn find_by_token_hash(
        &self,
        tenant: Tenant,
        token_hash: Sha256Hash,
        now: Timestamp,
    ) -> Answer<'_, Option<StandaloneGrant>> {
        at_once(self.kept().by_token(tenant, token_hash).filter(|grant| is_there(grant, now)).cloned())
    }

    fn list_by_tenant(
        &self,
        tenant: Tenant,
        status: Option<GrantStatus>,
        limit: usize,
        now: Timestamp,
    ) -> Answer<'_, Vec<StandaloneGrant>> {
        let wanted = |grant: &&StandaloneGrant| status.is_none_or(|status| grant.status == status);
        let kept = self.kept();
        let mut found: Vec<StandaloneGrant> =
            kept.of(tenant).filter(|grant| is_there(grant, now)).filter(wanted).cloned().collect();
        found.sort_by_key(|grant| std::cmp::Reverse((grant.created_at, grant.id)));
        found.truncate(limit);
        at_once(found)
    }

    fn count_by_status(&self, tenant: Tenant, now: Timestamp) -> Answer<'_, GrantCounts> {
        let mut counts = GrantCounts::default();
        for grant in self.kept().of(tenant) {
            match grant.status_at(now) {
                GrantStatus::Pending => counts.pending += 1,
                GrantStatus::Consumed => counts.consumed += 1,
                GrantStatus::Expired => counts.expired += 1,
            }
        }
        at_once(counts)
    }

    fn consume<'a>(
        &'a self,
        tenant: Tenant,
        used: &'a Use,
    ) -> Answer<'a, Result<StandaloneGrant, GrantRefusal>> {
        let mut kept = self.kept();
        let known = kept.by_token(tenant, used.token_hash).ok_or(GrantRefusal::Unknown);
        let done = known.and_then(|grant| grant.consumed(&used.ir_hash, &used.by, used.now));
        if let Ok(grant) = &done {
            kept.put(grant.clone());
        }
        at_once(done)
    }

    fn cleanup_expired_indices(
        &self,
        tenant: Tenant,
        now: Timestamp,
    ) -> Answer<'_, Vec<Id<StandaloneGrant>>> {
        let mut kept = self.kept();
        let gone: Vec<_> =
            kept.of(tenant).filter(|grant| !is_there(grant, now)).map(|grant| grant.id).collect();
        for id in &gone {
            kept.drop_one(tenant, *id);
        }
        at_once(gone)
    }

    fn health_check(&self) -> Answer<'_, bool> {
        at_once(true)
    }
}

//! Grants in Redis, under the names of S002 (REQUIREMENTS X-52). What has expired is dropped by Redis itself.
//!
//! A script touches one key, so that it works wherever the keys of a grant are.

use std::fmt;

use ::redis::aio::{ConnectionManager, ConnectionManagerConfig};
use ::redis::{Client, ConnectionAddr, Pipeline, RedisError, Script, cmd, pipe};
use domain::canonical::Sha256Hash;
use domain::standalone_grants::{GrantCounts, GrantRefusal, GrantStatus, StandaloneGrant, StoreKind};
use domain::{Id, Timestamp};

use super::record::{digits, read, written};
use super::{Answer, Store, StoreError, Tenant, Use};
use crate::redis_server::{ANSWER_WITHIN, CONNECT_WITHIN, Options};

/// How often a lost connection is tried anew before a request is told; the next request tries again.
const RECONNECT_TRIES: usize = 1;
/// References looked at in one go.
const LOOKED_AT_ONCE: usize = 500;

/// Checks and uses in one step. Times are texts of one length, so that they compare as what they mean.
const CONSUME: &str = r"
local text = redis.call('GET', KEYS[1])
if not text then return {'unknown', ''} end
local record = cjson.decode(text)
if record.tenant_id ~= ARGV[1] or record.token_hash ~= ARGV[2] then return {'unknown', ''} end
if record.status == 'consumed' then return {'consumed', record.consumed_at} end
if record.status ~= 'pending' or record.expires_at <= ARGV[4] then return {'expired', record.expires_at} end
if record.ir_hash ~= ARGV[3] then return {'hash', ''} end
record.status = 'consumed'
record.consumed_at = ARGV[4]
record.updated_at = ARGV[4]
record.consumed_by = ARGV[5]
text = cjson.encode(record)
redis.call('SET', KEYS[1], text, 'KEEPTTL')
return {'used', text}";

/// A grant that is not pending never becomes so again, in whatever order changes arrive.
const UPDATE: &str = r"
local text = redis.call('GET', KEYS[1])
if not text then return 0 end
if cjson.decode(text).status ~= 'pending' and ARGV[2] == 'pending' then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'KEEPTTL')
return 1";

/// The store.
pub struct InRedis {
    connection: ConnectionManager,
    /// Its address, without what opens it.
    place: String,
    keys: Keys,
    consume: Script,
    update: Script,
}

impl fmt::Debug for InRedis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InRedis")
    }
}

impl From<RedisError> for StoreError {
    fn from(error: RedisError) -> Self {
        Self(error.to_string())
    }
}

/// Where a client connects to.
fn place(client: &Client) -> String {
    let info = client.get_connection_info();
    let scheme = if matches!(info.addr(), ConnectionAddr::TcpTls { .. }) { "rediss" } else { "redis" };
    format!("{scheme}://{}/{}", info.addr(), info.redis_settings().db())
}

/// The names of keys.
#[derive(Clone, Debug)]
struct Keys {
    prefix: String,
}

impl Keys {
    fn of(&self, tenant: Tenant) -> String {
        match tenant.is_default {
            true => format!("{}approval:", self.prefix),
            false => format!("{}o:{}:approval:", self.prefix, tenant.id),
        }
    }

    fn record(&self, tenant: Tenant, id: impl fmt::Display) -> String {
        format!("{}token:{{{id}}}", self.of(tenant))
    }

    fn token(&self, tenant: Tenant, hash: Sha256Hash) -> String {
        format!("{}token_hash:{{{}}}", self.of(tenant), digits(hash))
    }

    fn tenant(&self, tenant: Tenant) -> String {
        format!("{}tenant:{{{}}}", self.of(tenant), tenant.id)
    }
}

impl InRedis {
    /// Connects, and makes sure that somebody answers.
    ///
    /// # Errors
    /// The address is no address of a Redis, or nobody answers there.
    pub async fn open(options: &Options) -> Result<Self, StoreError> {
        let config = ConnectionManagerConfig::new()
            .set_connection_timeout(Some(CONNECT_WITHIN))
            .set_response_timeout(Some(ANSWER_WITHIN))
            .set_number_of_retries(RECONNECT_TRIES);
        let client = Client::open(options.url.as_str())?;
        let place = place(&client);
        let connection = ConnectionManager::new_with_config(client, config).await?;
        let keys = Keys { prefix: options.key_prefix.clone() };
        let store =
            Self { connection, place, keys, consume: Script::new(CONSUME), update: Script::new(UPDATE) };
        match store.ping().await? {
            true => Ok(store),
            false => Err(StoreError("it does not answer PING with PONG".into())),
        }
    }

    /// Connections of the manager are one: cloning shares it.
    fn connection(&self) -> ConnectionManager {
        self.connection.clone()
    }

    async fn ping(&self) -> Result<bool, StoreError> {
        let answer: String = cmd("PING").query_async(&mut self.connection()).await?;
        Ok(answer == "PONG")
    }

    async fn text(&self, key: &str) -> Result<Option<String>, StoreError> {
        Ok(cmd("GET").arg(key).query_async(&mut self.connection()).await?)
    }

    async fn one(
        &self,
        tenant: Tenant,
        id: impl fmt::Display,
        now: Timestamp,
    ) -> Result<Option<StandaloneGrant>, StoreError> {
        let text = self.text(&self.keys.record(tenant, id)).await?;
        let grant = text.as_deref().map(read).transpose()?;
        Ok(grant.filter(|grant| grant.org_id == tenant.id && now < grant.expires_at))
    }

    /// All three keys or none.
    async fn put(&self, tenant: Tenant, grant: &StandaloneGrant, now: Timestamp) -> Result<bool, StoreError> {
        let left = u64::try_from(grant.expires_at.since(now).as_millis()).unwrap_or(u64::MAX);
        if left == 0 {
            return Ok(false);
        }
        let id = grant.id.to_string();
        let mut whole = pipe();
        whole.atomic();
        whole.cmd("SET").arg(self.keys.record(tenant, &id)).arg(written(grant));
        whole.arg("NX").arg("PX").arg(left);
        whole.cmd("SET").arg(self.keys.token(tenant, grant.token_hash)).arg(&id).arg("PX").arg(left);
        whole.cmd("SADD").arg(self.keys.tenant(tenant)).arg(&id);
        let (set, _, _): (Option<String>, String, i64) = whole.query_async(&mut self.connection()).await?;
        Ok(set.is_some())
    }

    async fn drop_one(&self, tenant: Tenant, id: Id<StandaloneGrant>) -> Result<bool, StoreError> {
        let record = self.keys.record(tenant, id);
        let known = self.text(&record).await?.as_deref().map(read).transpose()?;
        let mut whole = pipe();
        whole.atomic();
        whole.cmd("DEL").arg(&record);
        whole.cmd("SREM").arg(self.keys.tenant(tenant)).arg(id.to_string()).ignore();
        if let Some(grant) = known {
            whole.cmd("DEL").arg(self.keys.token(tenant, grant.token_hash)).ignore();
        }
        let (dropped,): (i64,) = whole.query_async(&mut self.connection()).await?;
        Ok(dropped == 1)
    }

    /// The ids that the tenant's set has, and the record of each, if there is one.
    async fn all(&self, tenant: Tenant) -> Result<Vec<(String, Option<String>)>, StoreError> {
        let key = self.keys.tenant(tenant);
        let ids: Vec<String> = cmd("SMEMBERS").arg(key).query_async(&mut self.connection()).await?;
        let mut all = Vec::with_capacity(ids.len());
        for some in ids.chunks(LOOKED_AT_ONCE) {
            let mut asked = pipe();
            for id in some {
                asked.cmd("GET").arg(self.keys.record(tenant, id));
            }
            let texts: Vec<Option<String>> = asked.query_async(&mut self.connection()).await?;
            all.extend(some.iter().cloned().zip(texts));
        }
        Ok(all)
    }

    async fn use_token(
        &self,
        tenant: Tenant,
        used: &Use,
    ) -> Result<Result<StandaloneGrant, GrantRefusal>, StoreError> {
        let Some(id) = self.text(&self.keys.token(tenant, used.token_hash)).await? else {
            return Ok(Err(GrantRefusal::Unknown));
        };
        let mut script = self.consume.key(self.keys.record(tenant, id));
        script.arg(tenant.id.to_string()).arg(digits(used.token_hash)).arg(&used.ir_hash);
        script.arg(used.now.to_string()).arg(&used.by);
        let (outcome, text): (String, String) = script.invoke_async(&mut self.connection()).await?;
        let time = || text.parse::<Timestamp>().map_err(|_| StoreError("a time in Redis is damaged".into()));
        Ok(match outcome.as_str() {
            "used" => Ok(read(&text)?),
            "consumed" => Err(GrantRefusal::AlreadyConsumed(time()?)),
            "expired" => Err(GrantRefusal::Expired(time()?)),
            "hash" => Err(GrantRefusal::HashMismatch),
            _ => Err(GrantRefusal::Unknown),
        })
    }

    /// Takes from the tenant's set what has no record any more, a page of the set at a time.
    async fn sweep(&self, tenant: Tenant) -> Result<Vec<Id<StandaloneGrant>>, StoreError> {
        let key = self.keys.tenant(tenant);
        let mut gone = Vec::new();
        let mut cursor = "0".to_owned();
        loop {
            let mut scan = cmd("SSCAN");
            scan.arg(&key).arg(&cursor).arg("COUNT").arg(LOOKED_AT_ONCE);
            let (next, ids): (String, Vec<String>) = scan.query_async(&mut self.connection()).await?;
            gone.extend(self.sweep_page(tenant, &key, &ids).await?);
            cursor = next;
            if cursor == "0" {
                return Ok(gone);
            }
        }
    }

    async fn sweep_page(
        &self,
        tenant: Tenant,
        key: &str,
        ids: &[String],
    ) -> Result<Vec<Id<StandaloneGrant>>, StoreError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut asked = Pipeline::with_capacity(ids.len());
        for id in ids {
            asked.cmd("EXISTS").arg(self.keys.record(tenant, id));
        }
        let there: Vec<i64> = asked.query_async(&mut self.connection()).await?;
        let gone: Vec<&String> =
            ids.iter().zip(there).filter(|(_, there)| *there == 0).map(|(id, _)| id).collect();
        if !gone.is_empty() {
            cmd("SREM").arg(key).arg(&gone).exec_async(&mut self.connection()).await?;
        }
        Ok(gone.into_iter().filter_map(|id| id.parse().ok()).collect())
    }
}

impl Store for InRedis {
    fn kind(&self) -> StoreKind {
        StoreKind::Redis
    }

    fn place(&self) -> Option<&str> {
        Some(&self.place)
    }

    fn create<'a>(&'a self, tenant: Tenant, grant: &'a StandaloneGrant, now: Timestamp) -> Answer<'a, bool> {
        Box::pin(self.put(tenant, grant, now))
    }

    fn get(
        &self,
        tenant: Tenant,
        id: Id<StandaloneGrant>,
        now: Timestamp,
    ) -> Answer<'_, Option<StandaloneGrant>> {
        Box::pin(self.one(tenant, id, now))
    }

    fn update<'a>(&'a self, tenant: Tenant, grant: &'a StandaloneGrant) -> Answer<'a, bool> {
        Box::pin(async move {
            let mut script = self.update.key(self.keys.record(tenant, grant.id));
            script.arg(written(grant)).arg(grant.status.as_str());
            let changed: i64 = script.invoke_async(&mut self.connection()).await?;
            Ok(changed == 1)
        })
    }

    fn delete(&self, tenant: Tenant, id: Id<StandaloneGrant>) -> Answer<'_, bool> {
        Box::pin(self.drop_one(tenant, id))
    }

    fn find_by_token_hash(
        &self,
        tenant: Tenant,
        token_hash: Sha256Hash,
        now: Timestamp,
    ) -> Answer<'_, Option<StandaloneGrant>> {
        Box::pin(async move {
            match self.text(&self.keys.token(tenant, token_hash)).await? {
                Some(id) => self.one(tenant, id, now).await,
                None => Ok(None),
            }
        })
    }

    fn list_by_tenant(
        &self,
        tenant: Tenant,
        status: Option<GrantStatus>,
        limit: usize,
        now: Timestamp,
    ) -> Answer<'_, Vec<StandaloneGrant>> {
        Box::pin(async move {
            let mut found = Vec::new();
            for (_, text) in self.all(tenant).await? {
                let grant = text.as_deref().map(read).transpose()?;
                let wanted = |grant: &StandaloneGrant| {
                    now < grant.expires_at && status.is_none_or(|status| grant.status == status)
                };
                found.extend(grant.filter(wanted));
            }
            found.sort_by_key(|grant| std::cmp::Reverse((grant.created_at, grant.id)));
            found.truncate(limit);
            Ok(found)
        })
    }

    fn count_by_status(&self, tenant: Tenant, now: Timestamp) -> Answer<'_, GrantCounts> {
        Box::pin(async move {
            let mut counts = GrantCounts::default();
            for (_, text) in self.all(tenant).await? {
                let status = text.as_deref().map(read).transpose()?.map(|grant| grant.status_at(now));
                match status.unwrap_or(GrantStatus::Expired) {
                    GrantStatus::Pending => counts.pending += 1,
                    GrantStatus::Consumed => counts.consumed += 1,
                    GrantStatus::Expired => counts.expired += 1,
                }
            }
            Ok(counts)
        })
    }

    fn consume<'a>(
        &'a self,
        tenant: Tenant,
        used: &'a Use,
    ) -> Answer<'a, Result<StandaloneGrant, GrantRefusal>> {
        Box::pin(self.use_token(tenant, used))
    }

    fn cleanup_expired_indices(&self, tenant: Tenant, _: Timestamp) -> Answer<'_, Vec<Id<StandaloneGrant>>> {
        Box::pin(self.sweep(tenant))
    }

    fn health_check(&self) -> Answer<'_, bool> {
        Box::pin(self.ping())
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    /// REQUIREMENTS X-52, and DESIGN's rule for organizations besides the first.
    #[test]
    fn keys_have_the_names_that_others_read() {
        let keys = Keys { prefix: "ade:".into() };
        let id = Uuid::from_u128(7);
        let mut tenant = Tenant { id: Id::new(id), is_default: true };
        let hash = Sha256Hash::of(b"");
        let digits = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(keys.record(tenant, id), format!("ade:approval:token:{{{id}}}"));
        assert_eq!(keys.token(tenant, hash), format!("ade:approval:token_hash:{{{digits}}}"));
        assert_eq!(keys.tenant(tenant), format!("ade:approval:tenant:{{{id}}}"));
        tenant.is_default = false;
        assert_eq!(keys.record(tenant, id), format!("ade:o:{id}:approval:token:{{{id}}}"));
        assert_eq!(keys.tenant(tenant), format!("ade:o:{id}:approval:tenant:{{{id}}}"));
    }
}

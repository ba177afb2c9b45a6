//! What every store of standalone grants must keep: the tests that S002 names (TEST-01 to TEST-07, TEST-11 to TEST-13),
//! and that a token is used once. Each takes grants of its own, so one store can serve them all.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ::hub::ids::{Ids, SystemIds};
use coordination::standalone_grants::{Store, Tenant, Use};
use domain::canonical::Sha256Hash;
use domain::standalone_grants::{GrantCounts, GrantRefusal, GrantStatus, StandaloneGrant};
use domain::{Id, Timestamp};
use tokio::task::JoinSet;

const HOUR: Duration = Duration::from_secs(3600);
/// How long Redis may take to drop what has expired, and how often we look.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK_INTERVAL: Duration = Duration::from_millis(5);
/// Who use one token at once.
pub const CROWD: usize = 64;

/// A store, and two organizations that share it.
pub struct Ground {
    /// The store.
    pub store: Arc<dyn Store>,
    /// Whose grants the tests make.
    pub ours: Tenant,
    /// Who must not see them.
    pub other: Tenant,
    /// When it is.
    pub now: Timestamp,
}

impl Ground {
    fn grant(&self, lives: Duration) -> StandaloneGrant {
        let raw = SystemIds.fresh();
        StandaloneGrant {
            id: Id::new(raw),
            org_id: self.ours.id,
            store: self.store.kind(),
            ir_hash: format!("sha256:{raw}"),
            token_hash: Sha256Hash::of(raw.as_bytes()),
            status: GrantStatus::Pending,
            expires_at: self.now.plus(lives),
            consumed_at: None,
            created_by: "Zoë / \"ci\" \\".into(),
            consumed_by: None,
            acknowledged_at: None,
            acknowledged_by: None,
            created_at: self.now,
            updated_at: self.now,
        }
    }

    async fn created(&self, lives: Duration) -> StandaloneGrant {
        let grant = self.grant(lives);
        assert!(self.store.create(self.ours, &grant, self.now).await.expect("create"));
        grant
    }

    async fn get(&self, grant: &StandaloneGrant) -> Option<StandaloneGrant> {
        self.store.get(self.ours, grant.id, self.now).await.expect("get")
    }

    fn use_of(&self, grant: &StandaloneGrant, by: &str) -> Use {
        let (token_hash, ir_hash) = (grant.token_hash, grant.ir_hash.clone());
        Use { token_hash, ir_hash, by: by.to_owned(), now: self.now }
    }

    async fn consume(&self, used: &Use) -> Result<StandaloneGrant, GrantRefusal> {
        self.store.consume(self.ours, used).await.expect("consume")
    }

    async fn counts(&self) -> GrantCounts {
        self.store.count_by_status(self.ours, self.now).await.expect("counts")
    }
}

/// All of it.
pub async fn keeps_the_contract(ground: &Ground) {
    creates_and_retrieves(ground).await;
    finds_by_token_hash(ground).await;
    updates(ground).await;
    deletes(ground).await;
    lists_by_tenant(ground).await;
    counts_by_status(ground).await;
    cleans_up_what_has_expired(ground).await;
    is_healthy(ground).await;
    does_not_retrieve_what_has_expired(ground).await;
    refuses_what_may_not_be_used(ground).await;
    keeps_tenants_apart(ground).await;
}

/// `test_redis_store_create_and_retrieve`
async fn creates_and_retrieves(ground: &Ground) {
    let grant = ground.created(HOUR).await;
    assert_eq!(ground.get(&grant).await, Some(grant.clone()));
    let again = ground.store.create(ground.ours, &grant, ground.now).await.expect("create");
    assert!(!again, "there is one of that id");
    assert_eq!(ground.get(&ground.grant(HOUR)).await, None);
}

/// `test_redis_store_find_by_token_hash`
async fn finds_by_token_hash(ground: &Ground) {
    let grant = ground.created(HOUR).await;
    let find = async |hash| ground.store.find_by_token_hash(ground.ours, hash, ground.now).await;
    assert_eq!(find(grant.token_hash).await, Ok(Some(grant)));
    assert_eq!(find(Sha256Hash::of(b"nobody's")).await, Ok(None));
}

/// `test_redis_store_update`
async fn updates(ground: &Ground) {
    let grant = ground.created(HOUR).await;
    let update = async |grant: &StandaloneGrant| ground.store.update(ground.ours, grant).await;
    let seen = grant.acknowledged("ada", ground.now).expect("in time");
    assert_eq!(update(&seen).await, Ok(true));
    assert_eq!(ground.get(&grant).await, Some(seen.clone()));
    let used = seen.consumed(&grant.ir_hash, "ci", ground.now).expect("pending");
    assert_eq!(update(&used).await, Ok(true));
    assert_eq!(ground.get(&grant).await, Some(used.clone()));
    assert_eq!(update(&seen).await, Ok(false), "what was used is never pending again");
    assert_eq!(ground.get(&grant).await, Some(used));
    assert_eq!(update(&ground.grant(HOUR)).await, Ok(false), "nothing is made by an update");
}

/// `test_redis_store_delete`
async fn deletes(ground: &Ground) {
    let grant = ground.created(HOUR).await;
    assert_eq!(ground.store.delete(ground.ours, grant.id).await, Ok(true));
    assert_eq!(ground.get(&grant).await, None);
    let found = ground.store.find_by_token_hash(ground.ours, grant.token_hash, ground.now).await;
    assert_eq!(found, Ok(None));
    assert_eq!(ground.consume(&ground.use_of(&grant, "ci")).await, Err(GrantRefusal::Unknown));
    assert_eq!(ground.store.delete(ground.ours, grant.id).await, Ok(false));
}

/// `test_redis_store_list_by_tenant`
async fn lists_by_tenant(ground: &Ground) {
    let (older, newer) = (ground.created(HOUR).await, ground.created(HOUR).await);
    ground.consume(&ground.use_of(&older, "ci")).await.expect("used");
    let list = async |status, limit| -> Vec<Id<StandaloneGrant>> {
        let found = ground.store.list_by_tenant(ground.ours, status, limit, ground.now).await;
        found.expect("a list").iter().map(|grant| grant.id).collect()
    };
    let (all, pending) = (list(None, 1000).await, list(Some(GrantStatus::Pending), 1000).await);
    let place = |list: &[_], grant: &StandaloneGrant| list.iter().position(|id| *id == grant.id);
    assert!(place(&all, &newer).expect("listed") < place(&all, &older).expect("listed"), "newest first");
    assert!(place(&pending, &newer).is_some() && place(&pending, &older).is_none());
    assert!(list(Some(GrantStatus::Consumed), 1000).await.contains(&older.id));
    assert_eq!(list(None, 1).await, [newer.id]);
    let others = ground.store.list_by_tenant(ground.other, None, 1000, ground.now).await;
    assert_eq!(others, Ok(Vec::new()));
}

/// `test_redis_store_count_by_status`
async fn counts_by_status(ground: &Ground) {
    let before = ground.counts().await;
    let (used, _pending) = (ground.created(HOUR).await, ground.created(HOUR).await);
    ground.created(HOUR).await;
    ground.consume(&ground.use_of(&used, "ci")).await.expect("used");
    let expected = before.plus(GrantCounts { pending: 2, consumed: 1, expired: 0 });
    assert_eq!(ground.counts().await, expected);
}

/// `test_cleanup_worker_expired_indices`
async fn cleans_up_what_has_expired(ground: &Ground) {
    let (short, long) = (ground.created(Duration::from_millis(20)).await, ground.created(HOUR).await);
    let later = ground.now.plus(Duration::from_millis(20));
    let deadline = Instant::now() + PATIENCE;
    let mut cleaned = Vec::new();
    // Redis counts real time.
    while !cleaned.contains(&short.id) {
        assert!(Instant::now() < deadline, "what has expired is not cleared away");
        cleaned = ground.store.cleanup_expired_indices(ground.ours, later).await.expect("cleanup");
        tokio::time::sleep(LOOK_INTERVAL).await;
    }
    assert!(!cleaned.contains(&long.id));
    let again = ground.store.cleanup_expired_indices(ground.ours, later).await;
    assert_eq!(again, Ok(Vec::new()), "once");
    assert_eq!(ground.get(&long).await, Some(long));
}

/// `test_redis_health_check`
async fn is_healthy(ground: &Ground) {
    assert_eq!(ground.store.health_check().await, Ok(true));
}

/// `test_redis_store_expired_approval_not_retrieved`
async fn does_not_retrieve_what_has_expired(ground: &Ground) {
    let grant = ground.created(HOUR).await;
    let (last, end) = (grant.expires_at.minus(Duration::from_micros(1)), grant.expires_at);
    for (now, is_there) in [(last, true), (end, false)] {
        let got = ground.store.get(ground.ours, grant.id, now).await.expect("get");
        let found = ground.store.find_by_token_hash(ground.ours, grant.token_hash, now).await.expect("find");
        let listed = ground.store.list_by_tenant(ground.ours, None, 1000, now).await.expect("list");
        let is_listed = listed.iter().any(|other| other.id == grant.id);
        assert_eq!((got.is_some(), found.is_some(), is_listed), (is_there, is_there, is_there), "at {now}");
    }
}

/// `test_approval_ttl_enforcement`, and the other reasons.
async fn refuses_what_may_not_be_used(ground: &Ground) {
    let grant = ground.created(HOUR).await;
    let good = ground.use_of(&grant, "ci");
    let late = Use { now: grant.expires_at, ..good.clone() };
    assert_eq!(ground.consume(&late).await, Err(GrantRefusal::Expired(grant.expires_at)));
    let other_hash = Use { ir_hash: "sha256:other".into(), ..good.clone() };
    assert_eq!(ground.consume(&other_hash).await, Err(GrantRefusal::HashMismatch));
    let nobodys = Use { token_hash: Sha256Hash::of(b"nobody's"), ..good.clone() };
    assert_eq!(ground.consume(&nobodys).await, Err(GrantRefusal::Unknown));
    assert_eq!(ground.get(&grant).await, Some(grant.clone()), "refusals change nothing");
    let used = grant.consumed(&grant.ir_hash, "ci", ground.now).expect("pending");
    let done = ground.consume(&good).await.expect("used");
    assert_eq!(
        (done.status, done.consumed_at, done.consumed_by),
        (used.status, used.consumed_at, used.consumed_by)
    );
    assert_eq!(ground.consume(&good).await, Err(GrantRefusal::AlreadyConsumed(ground.now)));
}

async fn keeps_tenants_apart(ground: &Ground) {
    let grant = ground.created(HOUR).await;
    let (store, other, now) = (&ground.store, ground.other, ground.now);
    assert_eq!(store.get(other, grant.id, now).await, Ok(None));
    assert_eq!(store.find_by_token_hash(other, grant.token_hash, now).await, Ok(None));
    assert_eq!(store.consume(other, &ground.use_of(&grant, "x")).await, Ok(Err(GrantRefusal::Unknown)));
    assert_eq!(store.update(other, &grant).await, Ok(false));
    assert_eq!(store.delete(other, grant.id).await, Ok(false));
    assert_eq!(store.count_by_status(other, now).await, Ok(GrantCounts::default()));
    assert_eq!(ground.get(&grant).await, Some(grant));
}

/// Many use one token at once, in each of these rounds: one of them does.
pub async fn is_used_once(ground: &Ground, rounds: usize) {
    for round in 0..rounds {
        let grant = ground.created(HOUR).await;
        let mut crowd: JoinSet<Result<StandaloneGrant, GrantRefusal>> = JoinSet::new();
        for one in 0..CROWD {
            let (store, tenant) = (Arc::clone(&ground.store), ground.ours);
            let used = ground.use_of(&grant, &format!("consumer {one}"));
            crowd.spawn(async move { store.consume(tenant, &used).await.expect("consume") });
        }
        let answers = crowd.join_all().await;
        let winners: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().ok()).collect();
        assert_eq!(winners.len(), 1, "round {round}");
        let is_refusal = |refusal: &GrantRefusal| matches!(refusal, GrantRefusal::AlreadyConsumed(_));
        assert!(answers.iter().filter_map(|answer| answer.as_ref().err()).all(is_refusal), "round {round}");
        let kept = ground.get(&grant).await.expect("it is there until it ends");
        assert_eq!(kept.consumed_by, winners[0].consumed_by, "round {round}");
    }
}

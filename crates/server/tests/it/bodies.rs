//! Random bodies on every route that writes: a clear answer each time, and what is refused changes nothing.

use serde_json::Value;
use testkit::{TestHub, on_each_engine, scaled};

use crate::backdoor::Backdoor;
use crate::forms::{Write, with_body, write, writes};
use crate::random::{Random, body};
use crate::support::{Answer, expect, send};

/// Bodies for each route, at full scale.
const BODIES: usize = 10_000;
/// Bodies for each route that has no test of its own here.
const BODIES_ANYWHERE: usize = 500;
/// What requests left on record; in a long run the hub's own jobs leave something too.
const ON_RECORD: &str = "audit_logs WHERE key_id IS NOT NULL";
/// Requests under way at once.
const AT_ONCE: usize = 16;
const SEED: u64 = 2026;

/// Codes that a body can be refused with.
const REFUSALS: &[(u16, &str)] = &[
    (400, "MALFORMED_BODY"),
    (400, "DUPLICATE_KEY"),
    // A password that is not right.
    (401, "UNAUTHENTICATED"),
    (403, "FORBIDDEN"),
    (409, "CONFLICT"),
    (409, "INVALID_STATE"),
    // The same key again, or a lock that is somebody else's.
    (409, "ALREADY_HELD"),
    (409, "LOCK_EXPIRED"),
    (409, "NOT_HOLDER"),
    (423, "LOCK_HELD"),
    (423, "LOCK_WAIT_TIMEOUT"),
    (422, "VALIDATION_FAILED"),
    // An agent that is none, a task that somebody has begun, an attempt that is over.
    (404, "NOT_FOUND"),
    (409, "NOT_APPROVED"),
    (409, "AGENT_AT_CAPACITY"),
    (409, "ATTEMPT_ENDED"),
    // Another hash than the one that was read, and a second answer to what the first settled.
    (409, "STALE_CONTENT"),
    (409, "ALREADY_RESOLVED"),
    // Another organization, token or hash than the right one, and a token that was used.
    (403, "TENANT_MISMATCH"),
    (403, "HASH_MISMATCH"),
    (404, "UNKNOWN_TOKEN"),
    (409, "ALREADY_CONSUMED"),
    // Another kind of action.
    (422, "EXECUTOR_DISABLED"),
    // Too many of them.
    (429, "TOO_MANY_OPEN"),
    (429, "RATE_LIMITED"),
];

fn seed(route: &str, number: usize) -> u64 {
    let route = route.bytes().fold(SEED, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    Random::new(route.wrapping_add(number as u64)).next()
}

/// Whether it was done; a refusal must be one of the known ones. What is taken is of the kind of a good body.
fn check(answer: &Answer, sent: &[u8], good: &str, seed: u64) -> bool {
    let shown = || format!("seed {seed}: {} got {}", String::from_utf8_lossy(sent), answer.text());
    if answer.status.is_success() {
        let value = serde_json::from_slice::<Value>(sent);
        let is_right =
            |value: Value| if good.starts_with('[') { value.is_array() } else { value.is_object() };
        assert!(sent.is_empty() || value.is_ok_and(is_right), "{}", shown());
        return true;
    }
    let problem = answer.any_problem();
    let found = (answer.status.as_u16(), problem["code"].as_str().unwrap());
    assert!(REFUSALS.contains(&found), "{}", shown());
    false
}

/// Sends the bodies, some at once. How many were accepted.
async fn send_bodies(hub: &TestHub, write: &Write, count: usize) -> usize {
    let Write { method, path, good, .. } = write;
    let mut accepted = 0;
    let numbers: Vec<usize> = (0..scaled(count)).collect();
    for batch in numbers.chunks(AT_ONCE) {
        let one = async |number: &usize| {
            let seed = seed(&format!("{method} {good}"), *number);
            let sent = body(&mut Random::new(seed), good);
            let answer = send(with_body(hub, method, path, sent.clone())).await;
            usize::from(check(&answer, &sent, good, seed))
        };
        accepted += futures_util::future::join_all(batch.iter().map(one)).await.iter().sum::<usize>();
    }
    accepted
}

#[tokio::test]
async fn random_keys() {
    on_each_engine(async |hub| {
        let write = write(&hub, "POST", "/api/v1/api-keys").await;
        let backdoor = Backdoor::open(&hub).await;
        let before = (backdoor.count("api_keys").await, backdoor.count(ON_RECORD).await);
        let accepted = send_bodies(&hub, &write, BODIES).await as u64;
        assert!(accepted > 0, "no body was good: the generator is too wild to test anything");
        assert!(accepted < scaled(BODIES) as u64 / 2, "most bodies were good: the generator is too tame");
        let after = (backdoor.count("api_keys").await, backdoor.count(ON_RECORD).await);
        assert_eq!(after, (before.0 + accepted, before.1 + accepted), "one row each for what was accepted");
    })
    .await;
}

/// However a body is mixed up, a token is used once, and a grant is made for each that is good.
#[tokio::test]
async fn random_grants() {
    on_each_engine(async |hub| {
        let create = write(&hub, "POST", "/api/ir/approvals").await;
        let consume = write(&hub, "POST", "/api/ir/approvals/consume").await;
        let backdoor = Backdoor::open(&hub).await;
        let before = (backdoor.count("standalone_grants").await, backdoor.count(ON_RECORD).await);
        let made = send_bodies(&hub, &create, BODIES).await as u64;
        assert!(made > 0 && made < scaled(BODIES) as u64 / 2, "{made}");
        let after = (backdoor.count("standalone_grants").await, backdoor.count(ON_RECORD).await);
        assert_eq!(after, (before.0 + made, before.1 + made));
        let used = send_bodies(&hub, &consume, BODIES).await as u64;
        assert!(used <= 1, "{used} used one token");
        assert_eq!(backdoor.count("consumed_tokens").await, used);
        assert_eq!(backdoor.count(ON_RECORD).await, after.1 + used);
    })
    .await;
}

/// One after the other, because two accepted changes may follow each other and the state must be known in between.
#[tokio::test]
async fn random_settings() {
    on_each_engine(async |hub| {
        let Write { method, path, good, .. } = write(&hub, "PATCH", "/api/v1/settings").await;
        let mut before = expect(hub.admin("GET", &path), 200).await;
        let mut accepted = 0;
        for number in 0..scaled(BODIES) {
            let seed = seed(&good, number);
            let sent = body(&mut Random::new(seed), &good);
            let answer = send(with_body(&hub, method, &path, sent.clone())).await;
            let done = check(&answer, &sent, &good, seed);
            let after = expect(hub.admin("GET", &path), 200).await;
            let expected = if done { &answer } else { &before };
            assert_eq!(after.json(), expected.json(), "seed {seed}: {}", String::from_utf8_lossy(&sent));
            assert_eq!(after.header("etag"), expected.header("etag"));
            accepted += usize::from(done);
            before = after;
        }
        assert!(accepted > 0 && accepted < scaled(BODIES) / 2, "{accepted}");
    })
    .await;
}

#[tokio::test]
async fn random_bodies_where_none_is_wanted() {
    on_each_engine(async |hub| {
        let rotate = write(&hub, "POST", "/api/v1/api-keys/{id}/rotate").await;
        let verify = write(&hub, "POST", "/api/v1/audit/verification").await;
        let backdoor = Backdoor::open(&hub).await;
        let before = backdoor.count(ON_RECORD).await;
        let accepted = send_bodies(&hub, &rotate, BODIES).await;
        // The first empty body rotates the key, and after that there is nothing left to rotate.
        assert_eq!(accepted, 1);
        assert_eq!(backdoor.count(ON_RECORD).await, before + 1);
        assert!(send_bodies(&hub, &verify, BODIES).await > 0);
        assert_eq!(backdoor.count(ON_RECORD).await, before + 1);
    })
    .await;
}

/// Every route that takes a body answers every body clearly.
#[tokio::test]
async fn random_bodies_anywhere() {
    on_each_engine(async |hub| {
        for write in writes(&hub).await {
            send_bodies(&hub, &write, BODIES_ANYWHERE).await;
        }
    })
    .await;
}

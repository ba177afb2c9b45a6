//! Whoever loses a right while many of their requests are under way: not one more passes, and nothing more is decided.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use futures_util::future::join_all;
use serde_json::{Value, json};
use testkit::{TestHub, on_each_engine, scaled};

use crate::backdoor::Backdoor;
use crate::support::{eventually, expect, get, send};
use crate::world::{fresh, id_in, set_status};

const TASKS: usize = 8;
/// How often each right is taken, at full scale.
const ROUNDS: usize = 30;
/// Decisions before it is taken.
const BEFORE: u64 = 20;
/// Requests each task makes after it was taken, to be sure.
const AFTER: usize = 3;

#[derive(Default)]
struct Stream {
    /// The answer that the right is gone has arrived.
    ended: AtomicBool,
    passed: AtomicU64,
}

/// Somebody with a right, and what stands in the records about its end.
struct Actor {
    key: String,
    key_id: String,
    account: String,
    org: String,
}

/// Decides again and again. What is asked after the end was told must be refused.
async fn decide(hub: &TestHub, key: &str, stream: &Stream) {
    let mut after = 0;
    while after < AFTER {
        let ended = stream.ended.load(Ordering::SeqCst);
        let body = json!({"email": format!("{}@example.org", fresh()), "display_name": "Fay"});
        let answer = send(hub.request("POST", "/api/v1/accounts").bearer_auth(key).json(&body)).await;
        match answer.status.as_u16() {
            201 => assert!(!ended, "a decision passed after its right was gone"),
            _ => assert!(matches!(answer.status.as_u16(), 401 | 403), "{}", answer.text()),
        }
        stream.passed.fetch_add(u64::from(answer.status.is_success()), Ordering::SeqCst);
        after += usize::from(ended);
    }
}

async fn actor(hub: &TestHub) -> Actor {
    let key = hub.member_with(&hub.admin_key, &fresh(), &["admin"]).await;
    let me = get(hub, &key, "/api/v1/me").await;
    let (account, org) = (id_in(&me["account"], "id"), id_in(&me["organization"], "id"));
    Actor { key, key_id: id_in(&me, "key_id"), account, org }
}

async fn end(hub: &TestHub, what: &str, actor: &Actor) -> &'static str {
    let Actor { key, key_id, account, org } = actor;
    let seat = format!("/api/v1/organizations/{org}/members/{account}");
    match what {
        "rotate" => {
            let rotate = format!("/api/v1/api-keys/{key_id}/rotate");
            expect(hub.request("POST", &rotate).bearer_auth(key), 201).await;
            "api_key:rotated"
        }
        "revoke" => {
            expect(hub.admin("DELETE", &format!("/api/v1/api-keys/{key_id}")), 204).await;
            "api_key:revoked"
        }
        "suspend" => {
            set_status(hub, &hub.admin_key, account, "suspended").await;
            "account:changed"
        }
        "remove" => {
            expect(hub.admin("DELETE", &seat), 204).await;
            "member:removed"
        }
        _ => {
            let body: Value = json!({"membership_level": "member"});
            expect(hub.admin("PATCH", &seat).json(&body), 200).await;
            "member:changed"
        }
    }
}

async fn ends_exactly(hub: &TestHub, backdoor: &Backdoor, what: &str) {
    let (actor, stream) = (actor(hub).await, Stream::default());
    let deciding = join_all((0..TASKS).map(|_| decide(hub, &actor.key, &stream)));
    let ending = async {
        eventually("some decisions", async || (stream.passed.load(Ordering::SeqCst) >= BEFORE).then_some(()))
            .await;
        let action = end(hub, what, &actor).await;
        let told_at = hub.hub.clock.now();
        stream.ended.store(true, Ordering::SeqCst);
        (action, told_at)
    };
    let (_, (action, told_at)) = tokio::join!(deciding, ending);
    let by_actor = format!("audit_logs WHERE owner_id = '{}'", actor.account);
    // A unit takes its time before it asks who decides: no row of a later time may be there.
    let late = match backdoor {
        Backdoor::Lite(_) => format!("{by_actor} AND created_at > {}", told_at.micros()),
        Backdoor::Pg { .. } => format!("{by_actor} AND created_at > '{told_at}'"),
    };
    assert_eq!(backdoor.count(&late).await, 0, "{what}: decided after the end was told");
    if let Backdoor::Lite(_) = backdoor {
        // One writer, so rows stand in the order of their commits.
        let [subject, id] = [("api_key", &actor.key_id), ("account", &actor.account)]
            .into_iter()
            .find(|(kind, _)| action.starts_with(kind) || *kind == "account")
            .map(|(kind, id)| [kind, id.as_str()])
            .unwrap();
        let last = format!(
            "SELECT MAX(rowid) FROM audit_logs
             WHERE action = '{action}' AND subject_type = '{subject}' AND subject_id = '{id}'"
        );
        let behind = format!("{by_actor} AND rowid > ({last})");
        assert_eq!(backdoor.count(&behind).await, 0, "{what}: committed after the end");
    }
    assert_eq!(
        backdoor.count(&format!("{by_actor} AND action = 'member:added'")).await,
        stream.passed.load(Ordering::SeqCst),
        "{what}: one row for each decision that was told"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_decided_after_the_right_to_is_gone() {
    on_each_engine(async |hub| {
        let backdoor = Backdoor::open(&hub).await;
        for _ in 0..scaled(ROUNDS) {
            for what in ["rotate", "revoke", "suspend", "remove", "demote"] {
                ends_exactly(&hub, &backdoor, what).await;
            }
        }
    })
    .await;
}

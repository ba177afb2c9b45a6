//! Who may begin what, and what keeps an attempt from beginning (promises 1 to 4).

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use testkit::{TestHub, on_each_engine};

use super::{Stage, assert_nothing_is_left, config, stage, with};
use crate::backdoor::Backdoor;
use crate::reviews::person;
use crate::support::{eventually, expect, get, id, mint, pointers, refused, send};

#[tokio::test]
async fn only_what_is_approved_begins() {
    on_each_engine(async |hub| {
        let stage = stage(&hub).await;
        let body = json!({"config": config("one"), "submit": true});
        let made = hub.request("POST", "/api/v1/tasks").bearer_auth(&stage.author).json(&body);
        let reviewed = expect(made, 201).await.json();
        let problem = refused(stage.claim(&hub, &reviewed), 409, "NOT_APPROVED").await;
        assert_eq!(problem["state"], "REVIEWING");
        let cancelled = stage.approved(&hub, config("one")).await;
        let path = format!("/api/v1/tasks/{}/cancel", id(&cancelled));
        expect(hub.request("POST", &path).bearer_auth(&stage.author).json(&json!({"reason": "x"})), 200)
            .await;
        refused(stage.claim(&hub, &cancelled), 409, "NOT_APPROVED").await;
        let withdrawn = stage.approved(&hub, config("one")).await;
        let path = format!("/api/v1/tasks/{}/withdraw-approval", id(&withdrawn));
        expect(hub.request("POST", &path).bearer_auth(&stage.reviewer).json(&json!({"reason": "x"})), 200)
            .await;
        refused(stage.claim(&hub, &withdrawn), 409, "NOT_APPROVED").await;
        expect(stage.next(&hub, 0), 204).await;
        assert_nothing_is_left(&hub).await;
    })
    .await;
}

/// A changed byte voids it: behind the hub's back, because no route changes what is approved.
#[tokio::test]
async fn a_task_edited_between_approval_and_claim_does_not_begin() {
    on_each_engine(async |hub| {
        let (stage, backdoor) = (stage(&hub).await, Backdoor::open(&hub).await);
        for change in [
            "UPDATE task_revisions SET config = (SELECT config FROM task_revisions WHERE task_id = '{other}') \
             WHERE task_id = '{task}'",
            "UPDATE tasks SET content_hash = (SELECT content_hash FROM tasks WHERE id = '{other}') WHERE id = '{task}'",
            "UPDATE grants SET content_hash = (SELECT content_hash FROM tasks WHERE id = '{other}') \
             WHERE task_id = '{task}'",
            "UPDATE grants SET revision = 2 WHERE task_id = '{task}'",
            "UPDATE approvals SET status = 'PENDING' WHERE task_id = '{task}' AND status = 'APPROVED'",
            "UPDATE grants SET attempts_started = attempts WHERE task_id = '{task}'",
        ] {
            let task = stage.approved(&hub, config("one")).await;
            let other = stage.approved(&hub, with(config("one"), json!({"description": "Drop it"}))).await;
            let text = change.replace("{task}", &id(&task)).replace("{other}", &id(&other));
            backdoor.change(&text).await;
            let answer = crate::support::send_any(stage.claim(&hub, &task)).await;
            // A Grant for a revision that does not exist is damage, and no reason to begin either.
            let is_refused = answer.status == 409 || change.contains("revision = 2") && answer.status == 500;
            assert!(is_refused, "{change}: {}", answer.text());
            assert_eq!(backdoor.count("executions").await, 0, "{change}");
            backdoor.change(&format!("UPDATE tasks SET state = 'CANCELLED' WHERE id = '{}'", id(&other))).await;
            backdoor.change(&format!("UPDATE tasks SET state = 'CANCELLED' WHERE id = '{}'", id(&task))).await;
        }
    })
    .await;
}

/// An edit under review and a claim of what was approved before: a new revision is another thing.
#[tokio::test]
async fn a_grant_that_grew_too_old_begins_nothing() {
    on_each_engine(async |hub| {
        let stage = stage(&hub).await;
        let task = stage.approved(&hub, config("one")).await;
        hub.clock.advance(std::time::Duration::from_secs(604_800));
        let answer = send(stage.claim(&hub, &task)).await;
        answer.problem(409, "NOT_APPROVED");
    })
    .await;
}

#[tokio::test]
async fn a_grant_is_used_once_however_many_come() {
    on_each_engine(async |hub| {
        let stage = stage(&hub).await;
        for _ in 0..testkit::scaled(50) {
            let task = stage.approved(&hub, config("one")).await;
            let answers = join_all((0..8).map(|_| send(stage.claim(&hub, &task)))).await;
            let begun: Vec<Value> =
                answers.iter().filter(|answer| answer.status == 200).map(|answer| answer.json()).collect();
            let [claimed] = begun.as_slice() else { panic!("{answers:?}") };
            for answer in answers.iter().filter(|answer| answer.status != 200) {
                assert!([409, 423].contains(&answer.status.as_u16()), "{}", answer.text());
            }
            expect(stage.says(&hub, claimed, "complete", json!({})), 200).await;
            refused(stage.claim(&hub, &task), 409, "NOT_APPROVED").await;
        }
        assert_nothing_is_left(&hub).await;
    })
    .await;
}

#[tokio::test]
async fn a_repeated_claim_gets_the_first_answer() {
    on_each_engine(async |hub| {
        let stage = stage(&hub).await;
        let task = stage.approved(&hub, config("one")).await;
        let keyed = || stage.claim(&hub, &task).header("idempotency-key", "once");
        let (first, second) = tokio::join!(expect(keyed(), 200), expect(keyed(), 200));
        assert_eq!(first.json(), second.json());
        assert_eq!(expect(keyed(), 200).await.json(), first.json());
        refused(stage.claim(&hub, &task), 409, "NOT_APPROVED").await;
        let other = stage.claim_waiting(&hub, &task, 1).header("idempotency-key", "once");
        refused(other, 422, "IDEMPOTENCY_MISMATCH").await;
        // What it was told is still true: one heartbeat keeps it.
        expect(stage.says(&hub, &first.json(), "heartbeat", json!({})), 200).await;
        expect(stage.says(&hub, &first.json(), "complete", json!({})), 200).await;
        stage.approved(&hub, config("two")).await;
        let next = || stage.next(&hub, 0).header("idempotency-key", "work");
        let begun = expect(next(), 200).await.json();
        assert_eq!(expect(next(), 200).await.json(), begun);
        expect(stage.says(&hub, &begun, "complete", json!({})), 200).await;
        // Whoever asks only now would begin what is over.
        refused(keyed(), 409, "ATTEMPT_ENDED").await;
        refused(next(), 409, "ATTEMPT_ENDED").await;
        assert_nothing_is_left(&hub).await;
    })
    .await;
}

/// Its answer was lost, and it asks again when its time is nearly over: it has all of it before it.
#[tokio::test]
async fn whoever_repeats_a_claim_is_heard() {
    on_each_engine(async |hub| {
        let stage = stage(&hub).await;
        let task = stage.approved(&hub, config("one")).await;
        let keyed = || stage.claim(&hub, &task).header("idempotency-key", "once");
        let first = expect(keyed(), 200).await.json();
        for _ in 0..3 {
            hub.clock.advance(Duration::from_secs(25));
            assert_eq!(expect(keyed(), 200).await.json(), first);
        }
        expect(stage.says(&hub, &first, "complete", json!({})), 200).await;
        assert_nothing_is_left(&hub).await;
    })
    .await;
}

/// A second agent with a key of its own.
pub(super) async fn another(hub: &TestHub, owner: &str, body: Value) -> (String, String) {
    let made = hub.request("POST", "/api/v1/agents").bearer_auth(owner).json(&body);
    let agent = id(&expect(made, 201).await.json());
    let key = mint(hub, owner, json!({"name": "its", "account_id": agent})).await.key;
    (agent, key)
}

#[tokio::test]
async fn an_agent_claims_for_itself_and_what_is_its_own() {
    on_each_engine(async |hub| {
        let stage = stage(&hub).await;
        let (rival, rival_key) = another(&hub, &stage.author, json!({"name": "rival"})).await;
        let task = stage.approved(&hub, config("one")).await;
        let as_other = |stage: &Stage, key: &str| {
            let body = json!({"agent_id": stage.agent});
            hub.request("POST", &format!("/api/v1/tasks/{}/claim", id(&task))).bearer_auth(key).json(&body)
        };
        refused(as_other(&stage, &rival_key), 403, "FORBIDDEN").await;
        let stranger = person(&hub, "kim", &["author"]).await;
        refused(as_other(&stage, &stranger), 403, "FORBIDDEN").await;
        refused(as_other(&stage, &stage.reviewer), 403, "FORBIDDEN").await;
        // Whoever is assigned, and nobody else.
        let assigned = stage.approved_as(&hub, json!({"config": config("two"), "assignee": rival})).await;
        refused(stage.claim(&hub, &assigned), 403, "FORBIDDEN").await;
        // The author of the agent may speak for it.
        let claimed = expect(as_other(&stage, &stage.author), 200).await.json();
        refused(super::says(&hub, &rival_key, &claimed, "complete", json!({})), 403, "FORBIDDEN").await;
        refused(super::says(&hub, &rival_key, &claimed, "heartbeat", json!({})), 403, "FORBIDDEN").await;
        refused(super::says(&hub, &stranger, &claimed, "output", json!({"text": "x"})), 403, "FORBIDDEN")
            .await;
        expect(stage.says(&hub, &claimed, "complete", json!({})), 200).await;
        let next = hub.request("POST", &format!("/api/v1/agents/{rival}/next"));
        let next = expect(next.bearer_auth(&rival_key).json(&json!({})), 200).await.json();
        assert_eq!(next["task_id"], assigned["id"]);
        expect(super::says(&hub, &rival_key, &next, "complete", json!({})), 200).await;
    })
    .await;
}

#[tokio::test]
async fn an_agent_that_has_enough_to_do_takes_no_more() {
    on_each_engine(async |hub| {
        let stage = stage(&hub).await;
        let path = format!("/api/v1/agents/{}", stage.agent);
        let one = hub.request("PATCH", &path).bearer_auth(&stage.author).json(&json!({"max_tasks": 1}));
        expect(one, 200).await;
        let (first, second) =
            (stage.approved(&hub, config("one")).await, stage.approved(&hub, config("two")).await);
        let claimed = expect(stage.claim(&hub, &first), 200).await.json();
        refused(stage.claim(&hub, &second), 409, "AGENT_AT_CAPACITY").await;
        expect(stage.next(&hub, 0), 204).await;
        let waits = tokio::join!(
            expect(stage.next(&hub, 20), 200),
            expect(stage.says(&hub, &claimed, "complete", json!({})), 200)
        );
        let claimed = waits.0.json();
        assert_eq!(claimed["task_id"], second["id"], "work that ends makes room");
        expect(hub.request("POST", &format!("{path}/drain")).bearer_auth(&stage.author), 200).await;
        let third = stage.approved(&hub, config("three")).await;
        refused(stage.claim(&hub, &third), 409, "AGENT_DRAINING").await;
        refused(stage.next(&hub, 0), 409, "AGENT_DRAINING").await;
        expect(stage.says(&hub, &claimed, "complete", json!({})), 200).await;
        assert_nothing_is_left(&hub).await;
    })
    .await;
}

#[tokio::test]
async fn what_is_locked_is_waited_for() {
    on_each_engine(async |hub| {
        let stage = stage(&hub).await;
        let task = stage.approved(&hub, config("one")).await;
        let lock = json!({"key": "resource:database:one", "ttl_seconds": 60});
        let lock = hub.request("POST", "/api/v1/locks/acquire").bearer_auth(&stage.reviewer).json(&lock);
        let lock = expect(lock, 200).await.json();
        let problem = refused(stage.claim(&hub, &task), 423, "LOCK_HELD").await;
        assert_eq!(problem["holders"][0]["lock_id"], lock["lock_id"]);
        expect(stage.next(&hub, 0), 204).await;
        let release = hub.request("POST", "/api/v1/locks/release").bearer_auth(&stage.reviewer);
        let (claimed, _) = tokio::join!(
            expect(stage.claim_waiting(&hub, &task, 20), 200),
            expect(release.json(&json!({"lock_id": lock["lock_id"]})), 200)
        );
        // Two tasks on one thing: the second waits for the first, whoever works.
        let second = stage.approved(&hub, config("one")).await;
        refused(stage.claim(&hub, &second), 423, "LOCK_HELD").await;
        expect(stage.says(&hub, &claimed.json(), "complete", json!({})), 200).await;
        let claimed = expect(stage.claim(&hub, &second), 200).await.json();
        expect(stage.says(&hub, &claimed, "complete", json!({})), 200).await;
        assert_nothing_is_left(&hub).await;
    })
    .await;
}

/// Somebody outside holds what the claim waits for, and waits for what the claim holds. The claim is the younger one: it
/// loses its locks and tries again; an attempt that has begun would not.
#[tokio::test]
async fn a_claim_that_closed_a_circle_is_tried_again() {
    on_each_engine(async |hub| {
        let stage = stage(&hub).await;
        let things = json!([{"type": "database", "id": "a"}, {"type": "database", "id": "b"}]);
        let task = stage.approved(&hub, with(config("a"), json!({"resources": things}))).await;
        let lock = |verb: &str, body: Value| {
            hub.request("POST", &format!("/api/v1/locks/{verb}")).bearer_auth(&stage.reviewer).json(&body)
        };
        let ask = |thing: &str| json!({"key": format!("resource:database:{thing}"), "wait_seconds": 20});
        let b = expect(lock("acquire", ask("b")), 200).await.json();
        let (claimed, ()) = tokio::join!(expect(stage.claim_waiting(&hub, &task, 40), 200), async {
            eventually("the claim's place in line", async || {
                let path = "/api/v1/locks/queue?key=resource:database:b";
                let queue = get(&hub, &stage.author, path).await;
                (queue["waiters"].as_array().map(Vec::len) == Some(1)).then_some(())
            })
            .await;
            let a = expect(lock("acquire", ask("a")), 200).await.json();
            for held in [&a, &b] {
                expect(lock("release", json!({"lock_id": held["lock_id"]})), 200).await;
            }
        });
        expect(stage.says(&hub, &claimed.json(), "complete", json!({})), 200).await;
        assert_nothing_is_left(&hub).await;
    })
    .await;
}

#[tokio::test]
async fn nobody_waits_in_the_name_of_an_attempt() {
    on_each_engine(async |hub| {
        let stage = stage(&hub).await;
        let task = stage.approved(&hub, config("one")).await;
        let claimed = expect(stage.claim(&hub, &task), 200).await.json();
        let lock = json!({"key": "resource:other:x", "owner": claimed["execution_id"]});
        let lock = hub.request("POST", "/api/v1/locks/acquire").bearer_auth(&stage.agent_key).json(&lock);
        refused(lock, 403, "FORBIDDEN").await;
        let own = get(&hub, &stage.author, "/api/v1/locks").await;
        assert_eq!(own["items"].as_array().unwrap().len(), 2);
    })
    .await;
}

#[tokio::test]
async fn bad_input_is_told_where() {
    on_each_engine(async |hub| {
        let stage = stage(&hub).await;
        let task = stage.approved(&hub, config("one")).await;
        let path = format!("/api/v1/tasks/{}/claim", id(&task));
        let ask = |body: Value| hub.request("POST", &path).bearer_auth(&stage.agent_key).json(&body);
        for (body, pointer) in [
            (json!({}), ""),
            (json!({"agent_id": "x"}), "/agent_id"),
            (json!({"agent_id": stage.agent, "wait_seconds": 51}), "/wait_seconds"),
        ] {
            let problem = refused(ask(body), 422, "VALIDATION_FAILED").await;
            assert_eq!(pointers(&problem), [pointer], "{problem}");
        }
        refused(ask(json!({"agent_id": "00000000-0000-7000-8000-000000000000"})), 404, "NOT_FOUND").await;
        let nowhere = "/api/v1/tasks/00000000-0000-7000-8000-000000000000/claim";
        let ask = hub
            .request("POST", nowhere)
            .bearer_auth(&stage.agent_key)
            .json(&json!({"agent_id": stage.agent}));
        refused(ask, 404, "NOT_FOUND").await;
    })
    .await;
}

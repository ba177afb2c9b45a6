//! What people are told: exactly those whom it concerns, in the unit of the change, once.

use serde_json::{Value, json};
use testkit::{TestHub, on_each_engine};

use crate::backdoor::Backdoor;
use crate::delegations::{Person, asks, proposes, somebody};
use crate::escalations::{HOUR, hourly, later, told};
use crate::support::{all_items, expect, get, id, items_by, pointers, refused};

/// What somebody was told about a task, the oldest first.
async fn kinds(hub: &TestHub, person: &Person, task: &Value) -> Vec<String> {
    let items = all_items(hub, &person.key, "/api/v1/notifications").await;
    let about = items.iter().rev().filter(|item| item["task_id"] == task["id"]);
    about.map(|item| item["kind"].as_str().unwrap().to_owned()).collect()
}

async fn assert_told(hub: &TestHub, task: &Value, wanted: &[(&Person, &[&str])]) {
    for (person, kinds_wanted) in wanted {
        assert_eq!(kinds(hub, person, task).await, **kinds_wanted, "{}", person.id);
    }
}

#[tokio::test]
async fn exactly_those_whom_it_concerns_are_told() {
    on_each_engine(async |hub| {
        let ann = somebody(&hub, "ann", &["author"]).await;
        let bob = somebody(&hub, "bob", &["reviewer"]).await;
        let carol = somebody(&hub, "carol", &["reviewer"]).await;
        let eve = somebody(&hub, "eve", &["author"]).await;
        let adm = somebody(&hub, "adm", &["admin"]).await;
        asks(&hub, &[&bob, &carol], json!({})).await;

        let approved = proposes(&hub, &ann, "a", "low").await;
        assert_told(
            &hub,
            &approved,
            &[(&ann, &[]), (&bob, &["review_requested"]), (&carol, &["review_requested"])],
        )
        .await;
        let comment = json!({"body": "why now?"});
        let path = format!("/api/v1/tasks/{}/comments", id(&approved));
        expect(bob.ask(&hub, "POST", &path).json(&comment), 201).await;
        let request = bob.waits(&hub, &approved, "PENDING").await;
        expect(bob.says(&hub, &request, "approve"), 200).await;
        assert_told(
            &hub,
            &approved,
            &[
                (&ann, &["task_commented", "task_approved"]),
                (&bob, &["review_requested"]),
                (&carol, &["review_requested", "task_commented", "request_closed"]),
                (&eve, &[]),
                (&adm, &[]),
            ],
        )
        .await;

        for (verb, kind) in [("reject", "task_rejected"), ("request-changes", "changes_requested")] {
            let task = proposes(&hub, &ann, "b", "low").await;
            let request = carol.waits(&hub, &task, "PENDING").await;
            expect(carol.says(&hub, &request, verb), 200).await;
            assert_told(
                &hub,
                &task,
                &[
                    (&ann, &[kind]),
                    (&bob, &["review_requested", "request_closed"]),
                    (&carol, &["review_requested"]),
                ],
            )
            .await;
        }

        let passed = proposes(&hub, &ann, "c", "low").await;
        let request = bob.waits(&hub, &passed, "PENDING").await;
        let to = json!({"to": adm.id});
        let path = format!("/api/v1/approvals/{}/delegate", id(&request));
        expect(bob.ask(&hub, "POST", &path).json(&to), 200).await;
        assert_told(&hub, &passed, &[(&bob, &["review_requested"]), (&adm, &["standing_in"]), (&ann, &[])])
            .await;
        let cancel = format!("/api/v1/tasks/{}/cancel", id(&passed));
        expect(adm.ask(&hub, "POST", &cancel).json(&json!({"reason": "no longer"})), 200).await;
        assert_told(&hub, &passed, &[(&ann, &["task_cancelled"]), (&adm, &["standing_in"]), (&eve, &[])])
            .await;

        let stranger = hub.tenant("elsewhere").await;
        assert!(all_items(&hub, &stranger, "/api/v1/notifications").await.is_empty());
        assert_matches_the_log(&hub).await;
    })
    .await;
}

/// Each row is of an event of the same organization, and nobody was told of one twice.
async fn assert_matches_the_log(hub: &TestHub) {
    let backdoor = Backdoor::open(hub).await;
    let rows = backdoor.count("notifications").await;
    assert!(rows > 0);
    let joined = "notifications n JOIN events e ON e.id = n.event_id AND e.org_id = n.org_id AND e.type = n.event_type";
    assert_eq!(backdoor.count(joined).await, rows);
    let distinct = "(SELECT DISTINCT account_id, event_id FROM notifications) AS told";
    assert_eq!(backdoor.count(distinct).await, rows);
    let own = "notifications WHERE actor_id = account_id";
    assert_eq!(backdoor.count(own).await, 0, "nobody is told what they did");
}

#[tokio::test]
async fn an_override_tells_the_admins_who_sign_and_the_author() {
    on_each_engine(async |hub| {
        let ann = somebody(&hub, "ann", &["author"]).await;
        let bob = somebody(&hub, "bob", &["reviewer"]).await;
        let [one, two] = [somebody(&hub, "one", &["admin"]).await, somebody(&hub, "two", &["admin"]).await];
        asks(&hub, &[&bob], json!({})).await;
        let task = proposes(&hub, &ann, "a", "low").await;
        let path = format!("/api/v1/tasks/{}/override", id(&task));
        let why = json!({"reason": "down", "incident_ticket": "INC-1"});
        expect(one.ask(&hub, "POST", &path).json(&why), 202).await;
        assert_told(&hub, &task, &[(&one, &[]), (&two, &["override_requested"]), (&ann, &[])]).await;
        let request = two.waits(&hub, &task, "PENDING").await;
        expect(two.says(&hub, &request, "approve"), 200).await;
        assert_told(
            &hub,
            &task,
            &[(&ann, &["task_overridden"]), (&bob, &["review_requested", "request_closed"])],
        )
        .await;
    })
    .await;
}

#[tokio::test]
async fn time_that_is_over_is_told_and_silence_is_an_event() {
    on_each_engine(async |hub| {
        let [ann, bob, carol] = crate::escalations::people(&hub, ["ann", "bob", "carol"]).await;
        let [on_call, gone] = [somebody(&hub, "duty", &[]).await, somebody(&hub, "gone", &[]).await];
        let adm = somebody(&hub, "adm", &["admin"]).await;
        hourly(&hub, &[&bob], &[&[&carol]], json!({"on_timeout": "park"})).await;
        let setting = json!({"approval:on_call": [on_call.id, gone.id]});
        expect(hub.admin("PATCH", "/api/v1/settings").json(&setting), 200).await;
        let path = format!("/api/v1/accounts/{}", gone.id.as_str().unwrap());
        expect(hub.admin("PATCH", &path).json(&json!({"status": "deactivated"})), 200).await;
        let task = proposes(&hub, &ann, "a", "low").await;
        later(&hub, HOUR).await;
        assert_told(
            &hub,
            &task,
            &[
                (&bob, &["review_requested", "request_closed"]),
                (&carol, &["review_requested"]),
                (&on_call, &["escalated"]),
                (&adm, &[]),
            ],
        )
        .await;
        let backdoor = Backdoor::open(&hub).await;
        let rows = format!("notifications WHERE account_id = '{}'", gone.id.as_str().unwrap());
        assert_eq!(backdoor.count(&rows).await, 0, "whoever may not act is told nothing");

        // Whoever is on call does not want to know, and nobody is left to ask: that is told to the admins.
        let mute = json!({"muted": ["escalated"]});
        expect(on_call.ask(&hub, "PUT", "/api/v1/notifications/preferences").json(&mute), 200).await;
        later(&hub, HOUR).await;
        told(&hub, "approval:nobody_told", &task, 1).await;
        assert_told(&hub, &task, &[(&adm, &["nobody_told"]), (&on_call, &["escalated"])]).await;
    })
    .await;
}

#[tokio::test]
async fn a_review_that_asks_nobody_is_told_to_admins_and_a_refusal_of_time_to_the_author() {
    on_each_engine(async |hub| {
        let [ann, bob] = crate::escalations::people(&hub, ["ann", "bob"]).await;
        let adm = somebody(&hub, "adm", &["admin"]).await;
        let dba =
            json!({"name": "dba", "required_roles": ["dba"], "timeout_seconds": 3600, "on_timeout": "deny"});
        expect(hub.admin("POST", "/api/v1/policies").json(&dba), 201).await;
        let task = proposes(&hub, &ann, "a", "low").await;
        told(&hub, "approval:nobody_told", &task, 1).await;
        assert_told(&hub, &task, &[(&adm, &["nobody_told"]), (&ann, &[]), (&bob, &[])]).await;
        later(&hub, HOUR).await;
        assert_told(&hub, &task, &[(&ann, &["task_timed_out"]), (&adm, &["nobody_told"])]).await;
    })
    .await;
}

/// A request that comes back to somebody who is suspended waits for nobody: that is an event, and the admins are told.
#[tokio::test]
async fn a_request_that_comes_back_to_nobody_is_told_to_admins() {
    on_each_engine(async |hub| {
        let ann = somebody(&hub, "ann", &["author"]).await;
        let adm = somebody(&hub, "adm", &["admin"]).await;
        let [alice, bob] =
            [somebody(&hub, "alice", &["reviewer"]).await, somebody(&hub, "bob", &["reviewer"]).await];
        let carol = somebody(&hub, "carol", &["reviewer"]).await;
        asks(&hub, &[&alice, &bob], json!({"timeout_seconds": 604_800})).await;
        let until = hub.hub.clock.now().plus(HOUR).to_string();
        for owner in [&alice, &bob] {
            owner.delegates(&hub, &carol, json!({"expires_at": until})).await;
        }
        let task = proposes(&hub, &ann, "a", "low").await;
        carol.waits(&hub, &task, "PENDING").await;
        let path = format!("/api/v1/accounts/{}", alice.id.as_str().unwrap());
        expect(hub.admin("PATCH", &path).json(&json!({"status": "suspended"})), 200).await;
        hub.clock.advance(HOUR * 2);
        bob.waits(&hub, &task, "PENDING").await;
        // Bob heard that his came back; of Alice's only the admins hear.
        told(&hub, "approval:nobody_told", &task, 1).await;
        assert_told(&hub, &task, &[(&adm, &["nobody_told"]), (&ann, &[])]).await;
        assert_matches_the_log(&hub).await;
    })
    .await;
}

#[tokio::test]
async fn what_one_was_told_is_received_once_and_read_once() {
    on_each_engine(async |hub| {
        let ann = somebody(&hub, "ann", &["author"]).await;
        let bob = somebody(&hub, "bob", &["reviewer"]).await;
        asks(&hub, &[&bob], json!({})).await;
        proposes(&hub, &ann, "a", "low").await;
        let backdoor = Backdoor::open(&hub).await;
        assert_eq!(backdoor.count("notifications WHERE delivered_at IS NULL").await, 1);
        let first = get(&hub, &bob.key, "/api/v1/notifications?unread=true").await["items"][0].clone();
        assert_eq!((&first["kind"], &first["read_at"]), (&json!("review_requested"), &Value::Null));
        hub.clock.advance(HOUR);
        let again = get(&hub, &bob.key, &format!("/api/v1/notifications/{}", id(&first))).await;
        assert_eq!(again["delivered_at"], first["delivered_at"], "the first time counts");
        let path = format!("/api/v1/notifications/{}/read", id(&first));
        refused(ann.ask(&hub, "POST", &path), 404, "NOT_FOUND").await;
        let read = expect(bob.ask(&hub, "POST", &path), 200).await.json();
        hub.clock.advance(HOUR);
        let twice = expect(bob.ask(&hub, "POST", &path), 200).await.json();
        assert!(!read["read_at"].is_null() && twice["read_at"] == read["read_at"], "{twice}");
        let unread = all_items(&hub, &bob.key, "/api/v1/notifications?unread=true").await;
        assert!(unread.is_empty(), "{unread:?}");
        assert_eq!(all_items(&hub, &bob.key, "/api/v1/notifications?unread=false").await.len(), 1);
        // With the events they are forgotten.
        hub.clock.advance(HOUR * 24 * 31);
        hub::events::forget::forget_old(&hub.hub).await.unwrap();
        assert_eq!(backdoor.count("notifications").await, 0);
    })
    .await;
}

#[tokio::test]
async fn what_is_read_and_what_is_not_are_one_list() {
    on_each_engine(async |hub| {
        let ann = somebody(&hub, "ann", &["author"]).await;
        let bob = somebody(&hub, "bob", &["reviewer"]).await;
        asks(&hub, &[&bob], json!({})).await;
        let mut tasks = Vec::new();
        for title in ["a", "b", "c", "d", "e", "f", "g"] {
            tasks.insert(0, proposes(&hub, &ann, title, "low").await["id"].clone());
            // Some at the same moment.
            hub.clock.advance(HOUR * u32::from("aceg".contains(title)));
        }
        let told = all_items(&hub, &bob.key, "/api/v1/notifications").await;
        let ids = |items: &[Value]| items.iter().map(id).collect::<Vec<_>>();
        assert!(told.iter().map(|item| &item["task_id"]).eq(&tasks), "newest first: {told:?}");
        for item in told.iter().skip(1).step_by(2) {
            let path = format!("/api/v1/notifications/{}/read", id(item));
            expect(bob.ask(&hub, "POST", &path), 200).await;
        }
        for limit in [1, 2, 3, 200] {
            let paged = items_by(&hub, &bob.key, "/api/v1/notifications", limit).await;
            assert_eq!(ids(&paged), ids(&told), "in pages of {limit}");
        }
    })
    .await;
}

#[tokio::test]
async fn what_asks_for_a_decision_cannot_be_muted_and_the_rest_can() {
    on_each_engine(async |hub| {
        let ann = somebody(&hub, "ann", &["author"]).await;
        let bob = somebody(&hub, "bob", &["reviewer"]).await;
        asks(&hub, &[&bob], json!({})).await;
        let path = "/api/v1/notifications/preferences";
        let before = expect(ann.ask(&hub, "GET", path), 200).await;
        assert_eq!((&before.json()["muted"], before.header("etag")), (&json!([]), Some("\"0\"")));
        for wrong in ["review_requested", "standing_in", "override_requested", "nonsense"] {
            let body = json!({"muted": ["task_failed", wrong]});
            let problem = refused(bob.ask(&hub, "PUT", path).json(&body), 422, "VALIDATION_FAILED").await;
            assert_eq!(pointers(&problem), ["/muted/1"], "{problem}");
        }
        let mute = json!({"muted": ["task_approved"]});
        let changed = expect(ann.ask(&hub, "PUT", path).json(&mute).header("if-match", "\"0\""), 200).await;
        assert_eq!(changed.json()["muted"], json!(["task_approved"]));
        let stale = ann.ask(&hub, "PUT", path).json(&json!({"muted": []})).header("if-match", "\"0\"");
        refused(stale, 412, "PRECONDITION_FAILED").await;
        let task = proposes(&hub, &ann, "a", "low").await;
        let request = bob.waits(&hub, &task, "PENDING").await;
        expect(bob.says(&hub, &request, "approve"), 200).await;
        assert_told(&hub, &task, &[(&ann, &[]), (&bob, &["review_requested"])]).await;
        expect(ann.ask(&hub, "PUT", path).json(&json!({"muted": []})), 200).await;
        let task = proposes(&hub, &ann, "a", "low").await;
        let request = bob.waits(&hub, &task, "PENDING").await;
        expect(bob.says(&hub, &request, "approve"), 200).await;
        assert_told(&hub, &task, &[(&ann, &["task_approved"])]).await;
    })
    .await;
}

#[tokio::test]
async fn two_answers_at_once_tell_the_author_once() {
    on_each_engine(async |hub| {
        let ann = somebody(&hub, "ann", &["author"]).await;
        let [bob, carol] =
            [somebody(&hub, "bob", &["reviewer"]).await, somebody(&hub, "carol", &["reviewer"]).await];
        asks(&hub, &[&bob, &carol], json!({})).await;
        let task = proposes(&hub, &ann, "a", "low").await;
        let one = bob.waits(&hub, &task, "PENDING").await;
        let other = carol.waits(&hub, &task, "PENDING").await;
        let answers = [bob.says(&hub, &one, "approve"), carol.says(&hub, &other, "approve")];
        let sent = futures_util::future::join_all(answers.map(crate::support::send)).await;
        let taken = sent.iter().filter(|answer| answer.status.as_u16() == 200).count();
        assert_eq!(taken, 1, "{sent:?}");
        assert_told(&hub, &task, &[(&ann, &["task_approved"])]).await;
        assert_matches_the_log(&hub).await;
    })
    .await;
}

use serde_json::{Value, json};
use uuid::Uuid;

use super::NotificationKind as Kind;
use super::*;
use crate::events::EventDraft;
use crate::subject::Subject;

const TASK: &str = "0197a000-0000-7000-8000-000000000001";
const BOB: &str = "0197a000-0000-7000-8000-000000000002";

fn event(event_type: &str, mut payload: Value) -> EventDraft {
    payload["task_id"] = json!(TASK);
    EventDraft {
        id: Id::new(Uuid::from_u128(7)),
        org: Some(Id::new(Uuid::from_u128(8))),
        event_type: event_type.into(),
        occurred_at: Timestamp::from_micros(1),
        actor: None,
        source: "system".into(),
        subject: Subject::new("task", TASK),
        payload,
    }
}

fn bob() -> Recipient {
    Recipient::Account(BOB.parse().unwrap())
}

#[test]
fn each_event_is_addressed_to_whom_it_concerns() {
    let to = json!({"reviewer_id": BOB});
    let cases = [
        (
            "approval:requested",
            json!({"reviewer_id": BOB, "kind": "review"}),
            vec![(bob(), Kind::ReviewRequested)],
        ),
        (
            "approval:requested",
            json!({"reviewer_id": BOB, "kind": "review", "in_place_of": [TASK]}),
            vec![(bob(), Kind::StandingIn)],
        ),
        (
            "approval:requested",
            json!({"reviewer_id": BOB, "kind": "override"}),
            vec![(bob(), Kind::OverrideRequested)],
        ),
        ("approval:delegated", to.clone(), vec![(bob(), Kind::RequestMoved)]),
        ("approval:reassigned", to.clone(), vec![(bob(), Kind::RequestMoved)]),
        ("approval:superseded", to.clone(), vec![(bob(), Kind::RequestClosed)]),
        ("approval:expired", to.clone(), vec![(bob(), Kind::RequestClosed)]),
        ("approval:escalated", json!({"to": [TASK], "on_call": [BOB]}), vec![(bob(), Kind::Escalated)]),
        ("approval:escalated", json!({"to": [BOB], "on_call": []}), vec![]),
        ("approval:nobody_told", json!({}), vec![(Recipient::Admins, Kind::NobodyTold)]),
        ("approval:approved", to.clone(), vec![]),
        ("approval:raised", json!({}), vec![]),
        ("task:approved", json!({"resolution": "quorum"}), vec![(Recipient::Author, Kind::TaskApproved)]),
        ("task:approved", json!({"resolution": "override"}), vec![(Recipient::Author, Kind::TaskOverridden)]),
        ("task:rejected", json!({"resolution": "rejected"}), vec![(Recipient::Author, Kind::TaskRejected)]),
        ("task:rejected", json!({"resolution": "timeout"}), vec![(Recipient::Author, Kind::TaskTimedOut)]),
        ("task:updated", json!({}), vec![]),
        (
            "task:updated",
            json!({"resolution": "changes_requested"}),
            vec![(Recipient::Author, Kind::ChangesRequested)],
        ),
        ("task:failed", json!({"needs_attention": false}), vec![(Recipient::Author, Kind::TaskFailed)]),
        (
            "task:failed",
            json!({"needs_attention": true}),
            vec![(Recipient::Author, Kind::NeedsAttention), (Recipient::Admins, Kind::NeedsAttention)],
        ),
        ("task:completed", json!({}), vec![(Recipient::Author, Kind::TaskCompleted)]),
        ("task:cancelled", json!({}), vec![(Recipient::Author, Kind::TaskCancelled)]),
        ("task:blocked", json!({}), vec![(Recipient::Author, Kind::TaskBlocked)]),
        (
            "task:commented",
            json!({}),
            vec![(Recipient::Author, Kind::TaskCommented), (Recipient::Reviewers, Kind::TaskCommented)],
        ),
        ("task:state_changed", json!({}), vec![]),
        ("lock:released", json!({}), vec![]),
    ];
    let mut told = std::collections::BTreeSet::new();
    for (event_type, payload, wanted) in cases {
        let found = addressed(&event(event_type, payload.clone()));
        assert_eq!(found, wanted, "{event_type} {payload}");
        told.extend(found.into_iter().map(|(_, kind)| kind));
    }
    assert_eq!(told.len(), Kind::ALL.len(), "every kind is told by some event: {told:?}");
}

#[test]
fn only_words_and_ids_are_told() {
    let said = json!({
        "approval_id": BOB, "reviewer_id": BOB, "due_at": null, "priority": "HIGH", "content_hash": "sha256:ff",
    });
    let about = about(&event("approval:requested", said)).unwrap();
    assert_eq!((about.task_id, about.approval_id), (TASK.parse().unwrap(), Some(BOB.parse().unwrap())));
    assert_eq!(Value::Object(about.facts), json!({"priority": "HIGH"}));
    let mut of_no_task = event("task:approved", json!({}));
    of_no_task.payload = json!({});
    assert_eq!(super::about(&of_no_task), None);
}

#[test]
fn what_asks_for_a_decision_cannot_be_muted() {
    let nothing = Preferences::none(Id::new(Uuid::nil()), Id::new(Uuid::nil()));
    let now = Timestamp::from_micros(5);
    for kind in Kind::ALL {
        let changed = nothing.changed(&[Kind::TaskCompleted, kind], now);
        assert_eq!(changed.is_err(), kind.asks(), "{kind:?}");
        if let Err(errors) = changed {
            assert_eq!(errors[0].pointer, "/muted/1");
        }
        assert_eq!(kind.as_str().parse(), Ok(kind));
    }
    let twice = nothing.changed(&[Kind::TaskFailed, Kind::TaskCompleted, Kind::TaskFailed], now).unwrap();
    assert_eq!(twice.muted, [Kind::TaskCompleted, Kind::TaskFailed]);
    assert_eq!((twice.version, twice.updated_at), (1, now));
    assert_eq!(twice.changed(&twice.muted, now).unwrap(), twice, "the same again is no change");
}

#[test]
fn reading_counts_once() {
    let told = Notification {
        id: Id::new(Uuid::nil()),
        org_id: Id::new(Uuid::nil()),
        account_id: Id::new(Uuid::nil()),
        kind: Kind::TaskApproved,
        task_id: Id::new(Uuid::nil()),
        approval_id: None,
        event_id: Id::new(Uuid::nil()),
        event_type: "task:approved".into(),
        event_seq: None,
        actor_id: None,
        facts: Map::new(),
        created_at: Timestamp::from_micros(1),
        delivered_at: None,
        read_at: None,
    };
    let read = told.read(Timestamp::from_micros(2));
    assert_eq!(
        (read.read_at, read.delivered_at),
        (Some(Timestamp::from_micros(2)), Some(Timestamp::from_micros(2)))
    );
    assert_eq!(read.read(Timestamp::from_micros(3)), read);
}

#[test]
fn whoever_may_not_act_or_does_not_want_to_know_is_told_only_what_is_asked_of_them() {
    for kind in Kind::ALL {
        assert!(kind.reaches(AccountStatus::Active, &[]), "{kind:?}");
        assert_eq!(kind.reaches(AccountStatus::Suspended, &[]), kind.asks(), "{kind:?}");
        assert_eq!(kind.reaches(AccountStatus::Active, &[kind]), kind.asks(), "{kind:?}");
    }
}

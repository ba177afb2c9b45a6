//! Promise 7: whatever changes something says on record who did it, with what, and from where.

use std::collections::BTreeSet;

use testkit::on_each_engine;

use crate::backdoor::Backdoor;
use crate::support::send;
use crate::world::{Column, DOORS, World};

/// What leaves no row, with the reason.
const UNRECORDED: &[(&str, &str)] = &[
    ("POST /api/v1/agents/{id}/heartbeat", "that it lives is no decision, and comes every few seconds"),
    ("POST /api/v1/executions/{id}/heartbeat", "the same; when one is missed, what follows is on record"),
    (
        "POST /api/v1/executions/{id}/output",
        "what an attempt writes is kept with it; how it ends is on record",
    ),
    ("POST /api/v1/auth/device", "nobody has answered the program yet; whoever does is on record"),
    ("POST /api/v1/notifications/{id}/read", "what one has read decides nothing, and is one's own"),
    ("POST /api/v1/agents/{id}/resume", "it was not draining, so nothing changes"),
    ("POST /api/v1/tasks/{id}/join-review", "whoever was asked has a request already, so nothing changes"),
    ("POST /api/v1/tasks/simulate", "what would happen has not"),
    ("POST /api/v1/policies/{id}/backtest", "what would have happened has not"),
    ("POST /api/ir/approvals/cleanup", "what has expired ended by itself, and the log tells of each"),
    ("POST /api/v1/audit/verification", "a check changes nothing"),
    ("POST /api/v1/locks/acquire", "a lock is no record; its engine's journal is its history"),
    ("POST /api/v1/locks/acquire-many", "the same"),
    ("POST /api/v1/locks/heartbeat", "the same"),
    ("POST /api/v1/locks/release", "the same"),
    ("POST /api/v1/locks/validate", "a question changes nothing"),
    ("DELETE /api/v1/locks/tickets/{ticket_id}", "a place in line is no record either"),
];

async fn rows(backdoor: &Backdoor) -> BTreeSet<String> {
    let all = "SELECT action || ' ' || CAST(id AS TEXT) FROM audit_logs";
    backdoor.column(all).await.into_iter().collect()
}

#[tokio::test]
async fn every_change_says_who_with_what_and_from_where() {
    on_each_engine(async |hub| {
        let mut world = World::new(&hub).await;
        let owner = world.visitor(Column::Instance).clone();
        for door in DOORS.iter().filter(|door| !door.is_read() && door.answer(Column::Instance) < 300) {
            let call = world.call(door).await;
            let before = rows(&world.backdoor).await;
            let answer = send(owner.ask(call)).await;
            assert_eq!(answer.status.as_u16(), door.answer(Column::Instance), "{door}: {}", answer.text());
            let made: Vec<String> = rows(&world.backdoor).await.difference(&before).cloned().collect();
            let reason = UNRECORDED.iter().find(|(name, _)| *name == door.to_string());
            assert_eq!(made.is_empty(), reason.is_some(), "{door} left {made:?}");
            for row in &made {
                let (action, id) = row.split_once(' ').unwrap();
                let complete = format!(
                    "audit_logs WHERE id = '{id}' AND ip IS NOT NULL AND service IS NOT NULL AND (key_id IS NOT NULL \
                     OR login_session_id IS NOT NULL)"
                );
                assert_eq!(world.backdoor.count(&complete).await, 1, "{action} of {door} hides where it came from");
            }
            world.things.used_up();
        }
    })
    .await;
}

//! Everybody else waits while rows are put under a seal, so what many did at once is sealed in parts.

use domain::audit::{AuditEntry, Chain};
use domain::subject::Subject;
use hub::audit::sealer::seal_all;
use hub::audit::verify::verify_now;
use hub::{Caller, Hub};
use records::audit::{rows, seals};
use testkit::on_each_engine;

const ROWS: usize = 600;
const ROWS_OF_A_SEAL_MAX: u64 = 256;

fn entry(hub: &Hub, caller: &Caller) -> AuditEntry {
    AuditEntry {
        id: hub.ids.id(),
        chain: Chain::Organization(caller.credential.organization.id),
        actor: caller.credential.account.id,
        key_id: None,
        login_session_id: None,
        session_id: None,
        action: "test:done".to_owned(),
        subject: Subject::new("test", "many"),
        from_state: None,
        to_state: None,
        occurred_at: hub.clock.now(),
        ip: None,
        user_agent: None,
        service: None,
        reason: None,
        ticket_ref: None,
        details: serde_json::Map::new(),
    }
}

#[tokio::test]
async fn what_many_did_at_once_is_under_several_seals_and_all_of_it() {
    on_each_engine(async |hub| {
        let (hub, caller) = (&hub.hub, hub.caller(&hub.admin_key).await);
        let chain = Chain::Organization(caller.credential.organization.id);
        // What was done until now is not counted.
        while seal_all(hub).await.unwrap() > 0 {}
        let before = seals::seals_down(&hub.records, chain, i64::MAX, 1).await.unwrap();
        let before = before.first().map_or(0, |seal| i64::try_from(seal.number).unwrap());
        let entries: Vec<AuditEntry> = (0..ROWS).map(|_| entry(hub, &caller)).collect();
        let append = hub.records.write(entries, |tx, entries| {
            Box::pin(async move {
                for entry in entries {
                    rows::append(tx, entry).await?;
                }
                Ok::<_, records::Error>(())
            })
        });
        append.await.unwrap();
        // The hub's own sealer may be at it too; whoever takes the last rows, all are under a seal then.
        while seals::unsealed_chains(&hub.records).await.unwrap().contains(&chain) {
            seal_all(hub).await.unwrap();
        }
        let made = seals::seals_up(&hub.records, chain, before, 100).await.unwrap();
        let counts: Vec<u64> = made.iter().map(|seal| seal.count).collect();
        assert_eq!(counts.iter().sum::<u64>(), ROWS as u64, "{counts:?}");
        assert!(counts.iter().all(|count| *count <= ROWS_OF_A_SEAL_MAX), "{counts:?}");
        let check = verify_now(hub, &caller).await.unwrap();
        assert!(check.ok, "{:?}", check.finding);
    })
    .await;
}

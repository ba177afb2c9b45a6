//! Who is told of a commit: everybody who waits for it, before the answer; nobody of what was refused.

use domain::Id;
use domain::accounts::{Account, AccountStatus};
use domain::audit::{AuditEntry, Chain};
use domain::events::EventDraft;
use domain::organizations::Organization;
use domain::subject::Subject;
use records::{Db, Error, Result, Tx, accounts, audit, events, settings};
use serde_json::json;
use uuid::Uuid;

use crate::people::tenant;
use crate::support::{Ground, NOW, on_both_engines, tx_add};

on_both_engines!(only_those_concerned_are_told, a_refused_unit_tells_nobody);

#[derive(Clone, Copy, Debug)]
enum Deed {
    Event,
    Audit,
    Identity,
    Settings,
    Nothing,
}

/// Counted as (events, audit, identity, settings).
type Told = (u64, u64, u64, u64);

fn told(db: &Db) -> Told {
    let signals = db.signals();
    let (events, audit) = (*signals.events.borrow(), *signals.audit.borrow());
    (events, audit, signals.identity_epoch(), signals.settings_epoch())
}

fn event(org: Id<Organization>) -> EventDraft {
    EventDraft {
        id: Id::new(Uuid::from_u128(1)),
        org: Some(org),
        event_type: "task:created".into(),
        occurred_at: NOW,
        actor: None,
        source: "test".into(),
        subject: Subject::new("task", 1),
        payload: json!({}),
    }
}

fn entry(org: Id<Organization>, actor: Id<Account>) -> AuditEntry {
    AuditEntry {
        id: Id::new(Uuid::from_u128(1)),
        chain: Chain::Organization(org),
        actor,
        key_id: None,
        login_session_id: None,
        session_id: None,
        action: "test".into(),
        subject: Subject::new("task", 1),
        from_state: None,
        to_state: None,
        occurred_at: NOW,
        ip: None,
        user_agent: None,
        service: None,
        reason: None,
        ticket_ref: None,
        details: serde_json::Map::new(),
    }
}

async fn perform(tx: &mut Tx, deed: Deed, (org, owner): (Id<Organization>, Id<Account>)) -> Result<()> {
    match deed {
        Deed::Event => events::append(tx, &event(org)).await,
        Deed::Audit => audit::rows::append(tx, &entry(org, owner)).await,
        Deed::Identity => {
            let account = accounts::get(tx, owner).await?.unwrap();
            let suspended = Account { status: AccountStatus::Suspended, ..account.clone() };
            accounts::update(tx, &account, &suspended).await
        }
        Deed::Settings => settings::set(tx, org, "x", Some(&json!(1)), NOW).await,
        Deed::Nothing => tx_add(tx, "thing", 1).await,
    }
}

const DEEDS: [(Deed, Told); 5] = [
    (Deed::Event, (1, 0, 0, 0)),
    (Deed::Audit, (0, 1, 0, 0)),
    (Deed::Identity, (0, 0, 1, 0)),
    (Deed::Settings, (0, 0, 0, 1)),
    (Deed::Nothing, (0, 0, 0, 0)),
];

async fn only_those_concerned_are_told(ground: Ground) {
    let tenant = tenant(&ground, 1).await;
    for (deed, expected) in DEEDS {
        let before = told(&ground.db);
        let done: Result<()> =
            ground.db.write(deed, move |tx, deed| Box::pin(perform(tx, *deed, tenant))).await;
        done.unwrap();
        let after = told(&ground.db);
        let news = (after.0 - before.0, after.1 - before.1, after.2 - before.2, after.3 - before.3);
        assert_eq!(news, expected, "{deed:?}");
    }
}

async fn a_refused_unit_tells_nobody(ground: Ground) {
    let tenant = tenant(&ground, 1).await;
    let before = told(&ground.db);
    for (deed, _) in DEEDS {
        let refused: Result<()> = ground
            .db
            .write(deed, move |tx, deed| {
                Box::pin(async move {
                    perform(tx, *deed, tenant).await?;
                    Err(Error::Misbehaved("refused"))
                })
            })
            .await;
        assert!(refused.is_err());
    }
    // A unit that follows on the same connection must not inherit what the refused ones had to tell.
    ground.add("a", 1).await.unwrap();
    assert_eq!(told(&ground.db), before);
}

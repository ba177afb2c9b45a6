//! The unit as the product would write it, on either engine.

use anyhow::Result;
use records::{Db, Tx, args, row, statement};

use super::{Decision, Store, link};

statement!(
    CAS = "UPDATE task SET state = $1, version = version + 1, updated_at = $2 WHERE id = $3 AND version = $4"
);
statement!(
    APPROVE = "INSERT INTO approval (id, task_id, actor, decision, comment, created_at) VALUES ($1, $2, $3, $4, $5, $6)"
);
statement!(HEAD: Head = "SELECT seq, hash FROM audit_head WHERE chain_id = $1", lock "FOR UPDATE");
statement!(
    AUDIT = "INSERT INTO audit (chain_id, seq, prev_hash, hash, action, entity_id, data, at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
);
statement!(SET_HEAD = "UPDATE audit_head SET seq = $1, hash = $2 WHERE chain_id = $3");
statement!(EVENT = "INSERT INTO event (id, topic, payload, created_at) VALUES ($1, $2, $3, $4)");

struct Head {
    seq: i64,
    hash: Vec<u8>,
}

row!(Head { seq, hash });

/// What both sides call the action.
pub(super) const ACTION: &str = "task.decided";

/// The texts above, for those who do the same by hand.
pub(super) struct Texts {
    pub(super) cas: &'static str,
    pub(super) approve: &'static str,
    pub(super) head: &'static str,
    pub(super) audit: &'static str,
    pub(super) set_head: &'static str,
    pub(super) event: &'static str,
}

impl Texts {
    /// With the text of the query for the engine, the only one that differs.
    pub(super) fn with_head(head: &'static str) -> Self {
        Self {
            cas: CAS.0.lite,
            approve: APPROVE.0.lite,
            head,
            audit: AUDIT.0.lite,
            set_head: SET_HEAD.0.lite,
            event: EVENT.0.lite,
        }
    }
}

#[derive(Clone)]
pub(crate) struct ThroughRecords(pub(crate) Db);

impl Store for ThroughRecords {
    async fn decide(&self, decision: Decision) -> Result<bool> {
        Ok(self.0.write(decision, |tx, decision| Box::pin(decide(tx, decision))).await?)
    }
}

async fn decide(tx: &mut Tx, decision: &Decision) -> records::Result<bool> {
    let Decision { task_id, chain, now, data, .. } = decision;
    let (chain, now) = (*chain, *now);
    let changed = tx.exec(&CAS, args![decision.state, now, task_id, decision.version]).await?;
    if changed == 0 {
        return Ok(false);
    }
    let approval =
        args![&decision.approval_id, task_id, &decision.actor, decision.verdict, None::<&str>, now];
    tx.push(&APPROVE, approval).await?;
    let head = tx.one(&HEAD, args![chain]).await?;
    let seq = head.seq + 1;
    let hash = link(&head.hash, seq, decision);
    tx.push(&AUDIT, args![chain, seq, &head.hash, &hash, ACTION, task_id, data, now]).await?;
    tx.push(&SET_HEAD, args![seq, &hash, chain]).await?;
    tx.push(&EVENT, args![&decision.event_id, ACTION, data, now]).await?;
    Ok(true)
}

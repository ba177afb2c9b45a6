//! Running processes, and what only one of them may hold at a time.

use domain::Timestamp;
use uuid::Uuid;

use crate::{Db, Result, Tx, args, row, statement};

/// A process and how long it may be believed to live.
#[derive(Clone)]
pub struct Instance {
    /// Made at its start.
    pub id: Uuid,
    /// `server` or `worker`.
    pub kind: String,
    /// Its name, for people.
    pub name: String,
    /// What only one may hold.
    pub slot: Option<String>,
    /// Until then it is believed to live.
    pub lease_until: Timestamp,
}
row!(Instance { id, kind, name, slot, lease_until });

statement!(
    TAKE_SLOT = "INSERT INTO instances (id, kind, name, slot, lease_until, created_at, updated_at) \
                 VALUES ($1, $2, $3, $4, $5, $6, $6) ON CONFLICT (slot) DO UPDATE SET id = excluded.id, \
                 kind = excluded.kind, name = excluded.name, lease_until = excluded.lease_until, \
                 created_at = excluded.created_at, updated_at = excluded.updated_at \
                 WHERE instances.lease_until <= $6 OR instances.id = excluded.id"
);
statement!(
    HOLDER: Instance = "SELECT id, kind, name, slot, lease_until FROM instances WHERE slot = $1"
);
statement!(FORGET = "DELETE FROM instances WHERE id = $1 AND lease_until = $2");
statement!(RELEASE = "DELETE FROM instances WHERE id = $1");

struct Clock {
    now: Timestamp,
}
row!(Clock { now });
statement!(
    DATABASE_CLOCK: Clock = lite "SELECT CAST(unixepoch('subsec') * 1000000 AS INTEGER) AS now",
                            pg "SELECT clock_timestamp() AS now"
);

/// Takes or renews the slot. False if another process holds it.
pub async fn take_slot(tx: &mut Tx, instance: &Instance, now: Timestamp) -> Result<bool> {
    let values = args![
        instance.id,
        &instance.kind,
        &instance.name,
        instance.slot.as_deref(),
        instance.lease_until,
        now
    ];
    Ok(tx.exec(&TAKE_SLOT, values).await? == 1)
}

/// Who holds the slot.
pub async fn holder(db: &Db, slot: &str) -> Result<Option<Instance>> {
    db.opt(&HOLDER, args![slot]).await
}

/// Ends the lease of a process that is gone, unless it has renewed it since it was seen like this.
pub async fn forget(tx: &mut Tx, seen: &Instance) -> Result<()> {
    tx.exec(&FORGET, args![seen.id, seen.lease_until]).await.map(drop)
}

/// Gives back what the process holds.
pub async fn release(tx: &mut Tx, id: Uuid) -> Result<()> {
    tx.exec(&RELEASE, args![id]).await.map(drop)
}

/// What the database's clock says.
pub async fn database_clock(db: &Db) -> Result<Timestamp> {
    let row = db.opt(&DATABASE_CLOCK, args![]).await?;
    row.map(|clock| clock.now).ok_or(crate::Error::Misbehaved("the database has no clock"))
}

//! The ordered, durable log that everything live is fed from.

use domain::events::{Event, EventDraft};
use domain::organizations::Organization;
use domain::{Id, Timestamp};

use crate::{Db, Result, Tx, args, row, statement};

/// Any number no other program on the database uses: "sequence" cut to 63 bits.
const SEQUENCER_LOCK: i64 = 0x7365_7175_656e_6365;
/// Events numbered in one go.
const NUMBERED_MAX: i64 = 1000;

/// Where an event stands and whom it concerns.
pub struct Numbered {
    /// Its number.
    pub seq: i64,
    /// Its organization; none for the instance's own.
    pub org_id: Option<Id<Organization>>,
    /// What it tells.
    pub event_type: String,
}
row!(Numbered { seq, org_id, event_type });

row!(Event { seq, id, org_id, event_type, occurred_at, actor, source, subject_type, subject_id, payload });

struct Seq {
    seq: Option<i64>,
}
row!(Seq { seq });

struct Got {
    got: bool,
}
row!(Got { got });

// SQLite has one writer, so the number is taken in the unit. On PostgreSQL units commit in any order: the sequencer
// numbers what is committed. The newest row is never deleted, so MAX never goes back.
statement!(
    APPEND = lite "INSERT INTO events (id, seq, org_id, type, actor_id, source, subject_type, subject_id, payload, \
                   created_at, updated_at) VALUES ($1, (SELECT COALESCE(MAX(seq), 0) + 1 FROM events), $2, $3, $4, \
                   $5, $6, $7, $8, $9, $9)",
             pg "INSERT INTO events (id, org_id, type, actor_id, source, subject_type, subject_id, payload, \
                 created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9)"
);
statement!(
    BE_SEQUENCER: Got = lite "SELECT 1 AS got WHERE $1 IS NOT NULL",
                        pg "SELECT pg_try_advisory_xact_lock($1) AS got"
);
statement!(
    NUMBER = "UPDATE events SET seq = numbered.seq, updated_at = $1 FROM (SELECT id, (SELECT COALESCE(MAX(seq), 0) \
              FROM events) + row_number() OVER (ORDER BY created_at, id) AS seq FROM events WHERE seq IS NULL \
              ORDER BY created_at, id LIMIT $2) AS numbered WHERE events.id = numbered.id"
);
statement!(
    NUMBERED: Numbered = "SELECT seq, org_id, type AS event_type FROM events WHERE seq > $1 ORDER BY seq LIMIT $2"
);
statement!(
    WHOLE: Event = "SELECT seq, id, org_id, type AS event_type, created_at AS occurred_at, actor_id AS actor, source, \
                    subject_type, subject_id, payload FROM events WHERE seq > $1 ORDER BY seq LIMIT $2"
);
statement!(
    PAGE: Event = "SELECT seq, id, org_id, type AS event_type, created_at AS occurred_at, actor_id AS actor, source, \
                   subject_type, subject_id, payload FROM events WHERE org_id = $1 AND seq > $2 ORDER BY seq LIMIT $3"
);
// Not `OR`: SQLite would sort everything after the number before it takes a page of it.
statement!(
    PAGE_WITH_INSTANCE: Event = "SELECT seq, id, org_id, type AS event_type, created_at AS occurred_at, \
                                 actor_id AS actor, source, subject_type, subject_id, payload FROM events \
                                 WHERE org_id = $1 AND seq > $2 UNION ALL \
                                 SELECT seq, id, org_id, type AS event_type, created_at AS occurred_at, \
                                 actor_id AS actor, source, subject_type, subject_id, payload FROM events \
                                 WHERE org_id IS NULL AND seq > $2 ORDER BY seq LIMIT $3"
);
statement!(ANY_UNNUMBERED: Got = "SELECT EXISTS (SELECT 1 FROM events WHERE seq IS NULL) AS got");
statement!(HEAD: Seq = "SELECT MAX(seq) AS seq FROM events");
statement!(GONE_THROUGH: Seq = "SELECT gone_through AS seq FROM event_horizons WHERE org_id = $1");
statement!(
    FORGET: Seq = "DELETE FROM events WHERE id IN (SELECT id FROM events WHERE org_id = $1 AND created_at < $2 \
                   AND seq < (SELECT MAX(seq) FROM events) ORDER BY seq LIMIT $3) RETURNING seq"
);
statement!(
    FORGET_INSTANCE: Seq = "DELETE FROM events WHERE id IN (SELECT id FROM events WHERE org_id IS NULL AND \
                   created_at < $1 AND seq < (SELECT MAX(seq) FROM events) ORDER BY seq LIMIT $2) RETURNING seq"
);
statement!(
    MOVE_HORIZON = "INSERT INTO event_horizons (org_id, gone_through, created_at, updated_at) \
                    VALUES ($1, $2, $3, $3) ON CONFLICT (org_id) DO UPDATE SET gone_through = excluded.gone_through, \
                    updated_at = excluded.updated_at WHERE event_horizons.gone_through < excluded.gone_through"
);

/// Appends an event in the unit of the change it tells of.
pub async fn append(tx: &mut Tx, event: &EventDraft) -> Result<()> {
    tx.wakes.events = true;
    tx.push(
        &APPEND,
        args![
            event.id,
            event.org,
            &event.event_type,
            event.actor,
            &event.source,
            &event.subject.kind,
            &event.subject.id,
            &event.payload,
            event.occurred_at,
        ],
    )
    .await
}

/// Numbers committed events, if no other server is doing it. How many.
pub async fn number(tx: &mut Tx, now: Timestamp) -> Result<u64> {
    let Got { got } = tx.one(&BE_SEQUENCER, args![SEQUENCER_LOCK]).await?;
    if !got {
        return Ok(0);
    }
    tx.exec(&NUMBER, args![now, NUMBERED_MAX]).await
}

/// The newest number, 0 if there is none.
pub async fn head(db: &Db) -> Result<i64> {
    Ok(db.opt(&HEAD, args![]).await?.and_then(|head| head.seq).unwrap_or(0))
}

/// The same within a unit.
pub async fn head_in(tx: &mut Tx) -> Result<i64> {
    Ok(tx.one(&HEAD, args![]).await?.seq.unwrap_or(0))
}

/// Whether the sequencer has something to do.
pub async fn any_unnumbered(db: &Db) -> Result<bool> {
    Ok(db.opt(&ANY_UNNUMBERED, args![]).await?.is_some_and(|row| row.got))
}

/// What came after a number, for waking those who wait.
pub async fn numbered(db: &Db, after: i64, limit: i64) -> Result<Vec<Numbered>> {
    db.all(&NUMBERED, args![after, limit]).await
}

/// The same with all they tell, for those who follow the log.
pub async fn whole(db: &Db, after: i64, limit: i64) -> Result<Vec<Event>> {
    db.all(&WHOLE, args![after, limit]).await
}

/// Whose events a page shows.
#[derive(Clone, Copy)]
pub struct Reader {
    /// The organization.
    pub org: Id<Organization>,
    /// Whether the instance's own events are shown too.
    pub with_instance: bool,
}

impl Reader {
    /// Whether an event is among those it is shown: what the pages select, said of one event.
    #[must_use]
    pub fn sees(self, event: &Event) -> bool {
        match event.org_id {
            Some(org) => org == self.org,
            None => self.with_instance,
        }
    }
}

/// A stretch of the log: the events of the organization, and how far the whole log reached when it was read.
pub struct Stretch {
    /// The events after the number asked for.
    pub events: Vec<Event>,
    /// The newest number of the whole log, 0 if it is empty.
    pub head: i64,
    /// Numbers up to this one are gone for this organization.
    pub gone_through: i64,
}

/// Reads a stretch in one snapshot.
pub async fn stretch(db: &Db, reader: Reader, after: i64, limit: i64) -> Result<Stretch> {
    db.read((reader, after, limit), |tx, &(reader, after, limit)| {
        Box::pin(async move {
            let head = head_in(tx).await?;
            let gone = tx.opt(&GONE_THROUGH, args![reader.org]).await?.and_then(|gone| gone.seq).unwrap_or(0);
            let page = if reader.with_instance { &PAGE_WITH_INSTANCE } else { &PAGE };
            let events = tx.all(page, args![reader.org, after, limit]).await?;
            Ok(Stretch { events, head, gone_through: gone })
        })
    })
    .await
}

/// Deletes a bounded number of the organization's events from before `cutoff`. How many.
pub async fn forget(tx: &mut Tx, org: Id<Organization>, cutoff: Timestamp, now: Timestamp) -> Result<usize> {
    let gone = tx.all(&FORGET, args![org, cutoff, NUMBERED_MAX]).await?;
    if let Some(through) = gone.iter().filter_map(|row| row.seq).max() {
        tx.push(&MOVE_HORIZON, args![org, through, now]).await?;
    }
    Ok(gone.len())
}

/// The same for the instance's own events, which have no horizon.
pub async fn forget_instance(tx: &mut Tx, cutoff: Timestamp) -> Result<usize> {
    Ok(tx.all(&FORGET_INSTANCE, args![cutoff, NUMBERED_MAX]).await?.len())
}

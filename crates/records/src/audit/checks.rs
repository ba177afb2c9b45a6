//! Reading everything back to verify it, and what the last check found.

use domain::audit::seal::Seal;
use domain::audit::{Chain, RowColumns, VerifyRow};
use domain::{Id, Timestamp};
use uuid::Uuid;

use crate::row::Columns;
use crate::{Db, Error, Result, Tx, args, row, statement};

struct StoredRow {
    id: Uuid,
    body: Vec<u8>,
    columns: RowColumns,
}

impl crate::row::FromRow for StoredRow {
    const COLUMNS: &'static [&'static str] = &[
        "id",
        "body",
        "owner_id",
        "key_id",
        "org_id",
        "session_id",
        "login_session_id",
        "action",
        "subject_type",
        "subject_id",
        "from_state",
        "to_state",
        "ip",
        "user_agent",
        "service",
        "reason",
        "ticket_ref",
        "created_at",
    ];

    fn from_row(row: &crate::row::Row<'_>) -> Result<Self> {
        let mut columns = row.columns();
        let id = columns.read("id")?;
        Self::rest(id, &mut columns).map_err(|error| match error {
            // Somebody may have changed it, and the row must be named then.
            Error::BadRow { column, reason } => {
                Error::BadRow { column, reason: format!("row {id} is damaged: {reason}") }
            }
            other => other,
        })
    }
}

impl StoredRow {
    fn rest(id: Uuid, columns: &mut Columns<'_>) -> Result<Self> {
        Ok(Self {
            id,
            body: columns.read("body")?,
            columns: RowColumns {
                owner_id: columns.read("owner_id")?,
                key_id: columns.read("key_id")?,
                org_id: columns.read("org_id")?,
                session_id: columns.read("session_id")?,
                login_session_id: columns.read("login_session_id")?,
                action: columns.read("action")?,
                subject_type: columns.read("subject_type")?,
                subject_id: columns.read("subject_id")?,
                from_state: columns.read("from_state")?,
                to_state: columns.read("to_state")?,
                ip: columns.read("ip")?,
                user_agent: columns.read("user_agent")?,
                service: columns.read("service")?,
                reason: columns.read("reason")?,
                ticket_ref: columns.read("ticket_ref")?,
                created_at: columns.read("created_at")?,
            },
        })
    }
}

statement!(
    ROWS_OF_SEAL: StoredRow = "SELECT id, body, owner_id, key_id, org_id, session_id, login_session_id, action, \
                               subject_type, subject_id, from_state, to_state, ip, user_agent, service, reason, \
                               ticket_ref, created_at FROM audit_logs WHERE chain = $1 AND seal_id = $2 \
                               ORDER BY created_at, id LIMIT $3"
);
statement!(
    UNSEALED_ROWS: StoredRow = "SELECT id, body, owner_id, key_id, org_id, session_id, login_session_id, action, \
                                subject_type, subject_id, from_state, to_state, ip, user_agent, service, reason, \
                                ticket_ref, created_at FROM audit_logs WHERE chain = $1 AND seal_id IS NULL AND \
                                (created_at, id) > ($2, $3) ORDER BY created_at, id LIMIT $4"
);

struct OfChain {
    chain: Chain,
}
row!(OfChain { chain });
statement!(CHAINS: OfChain = "SELECT chain FROM audit_logs UNION SELECT chain FROM audit_seals ORDER BY chain");

struct Orphan {
    id: Uuid,
}
row!(Orphan { id });
statement!(
    ROW_WITHOUT_SEAL: Orphan = "SELECT audit_logs.id FROM audit_logs WHERE chain = $1 AND \
                                seal_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM audit_seals WHERE \
                                audit_seals.id = audit_logs.seal_id AND audit_seals.chain = $1) LIMIT 1"
);

// What no body claims is written once, with the row or by its seal: anything else there came from somebody else.
struct Touched {
    id: Uuid,
    metadata_differs: bool,
}
row!(Touched { id, metadata_differs });
statement!(
    TOUCHED_OF_SEAL: Touched = "SELECT id, metadata <> '{}' AS metadata_differs FROM audit_logs WHERE chain = $1 AND \
                                seal_id = $2 AND (metadata <> '{}' OR updated_at <> $3) ORDER BY created_at, id LIMIT 1"
);
statement!(
    TOUCHED_UNSEALED: Touched = "SELECT id, metadata <> '{}' AS metadata_differs FROM audit_logs WHERE chain = $1 AND \
                                 seal_id IS NULL AND (metadata <> '{}' OR updated_at <> created_at) \
                                 ORDER BY created_at, id LIMIT 1"
);
struct TouchedSeal {
    id: Uuid,
    number: i64,
}
row!(TouchedSeal { id, number });
statement!(
    TOUCHED_SEAL: TouchedSeal = "SELECT id, number FROM audit_seals WHERE chain = $1 AND \
                                 (number < 1 OR updated_at <> created_at) ORDER BY number LIMIT 1"
);

/// The rows under a seal, in the order of its leaves; one more than `limit - 1` shows that there are too many.
pub async fn rows_of_seal(db: &Db, chain: Chain, seal: Id<Seal>, limit: i64) -> Result<Vec<VerifyRow>> {
    let rows = db.all(&ROWS_OF_SEAL, args![chain.uuid(), seal, limit]).await?;
    Ok(rows.into_iter().map(VerifyRow::from).collect())
}

/// Rows that no seal covers yet, behind a place.
pub async fn unsealed_rows(
    db: &Db,
    chain: Chain,
    after: (Timestamp, Uuid),
    limit: i64,
) -> Result<Vec<VerifyRow>> {
    let rows = db.all(&UNSEALED_ROWS, args![chain.uuid(), after.0, after.1, limit]).await?;
    Ok(rows.into_iter().map(VerifyRow::from).collect())
}

/// Every chain there is.
pub async fn chains(db: &Db) -> Result<Vec<Chain>> {
    Ok(db.all(&CHAINS, args![]).await?.into_iter().map(|row| row.chain).collect())
}

/// A row that claims a seal which does not exist.
pub async fn row_without_seal(db: &Db, chain: Chain) -> Result<Option<Uuid>> {
    Ok(db.opt(&ROW_WITHOUT_SEAL, args![chain.uuid()]).await?.map(|orphan| orphan.id))
}

/// A row under the seal of this time, or under none yet, of which something was changed that its body does not cover;
/// and which column.
pub async fn touched_row(
    db: &Db,
    chain: Chain,
    seal: Option<(Id<Seal>, Timestamp)>,
) -> Result<Option<(Uuid, &'static str)>> {
    let touched = match seal {
        Some((id, sealed_at)) => db.opt(&TOUCHED_OF_SEAL, args![chain.uuid(), id, sealed_at]).await?,
        None => db.opt(&TOUCHED_UNSEALED, args![chain.uuid()]).await?,
    };
    Ok(touched.map(|row| (row.id, if row.metadata_differs { "metadata" } else { "updated_at" })))
}

/// A seal that was moved in front of the chain, where nobody looks, or of which something was changed that its hash does
/// not cover; and which column.
pub async fn touched_seal(db: &Db, chain: Chain) -> Result<Option<(Uuid, &'static str)>> {
    let touched = db.opt(&TOUCHED_SEAL, args![chain.uuid()]).await?;
    Ok(touched.map(|seal| (seal.id, if seal.number < 1 { "number" } else { "updated_at" })))
}

impl From<StoredRow> for VerifyRow {
    fn from(row: StoredRow) -> Self {
        Self { id: row.id, body: row.body, columns: row.columns }
    }
}

/// What the last full check of a chain found.
#[derive(Clone)]
pub struct AuditCheck {
    /// Whether everything was as it was sealed.
    pub ok: bool,
    /// The first thing that was not.
    pub finding: Option<String>,
    /// Seals checked.
    pub seals: i64,
    /// Rows checked.
    pub rows: i64,
    /// Rows no seal covered yet.
    pub unsealed: i64,
    /// The newest seal's hash.
    pub head: Option<Vec<u8>>,
    /// When.
    pub updated_at: Timestamp,
}
row!(AuditCheck { ok, finding, seals, rows, unsealed, head, updated_at });

statement!(
    KEEP_CHECK = "INSERT INTO audit_checks (chain, ok, finding, seals, rows, unsealed, head, created_at, updated_at) \
                  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8) ON CONFLICT (chain) DO UPDATE SET ok = excluded.ok, \
                  finding = excluded.finding, seals = excluded.seals, rows = excluded.rows, \
                  unsealed = excluded.unsealed, head = excluded.head, updated_at = excluded.updated_at"
);
statement!(
    LAST_CHECK: AuditCheck = "SELECT ok, finding, seals, rows, unsealed, head, updated_at FROM audit_checks \
                              WHERE chain = $1"
);

/// Keeps what a check found.
pub async fn keep_check(tx: &mut Tx, chain: Chain, check: &AuditCheck) -> Result<()> {
    tx.push(
        &KEEP_CHECK,
        args![
            chain.uuid(),
            check.ok,
            check.finding.as_deref(),
            check.seals,
            check.rows,
            check.unsealed,
            check.head.as_ref(),
            check.updated_at
        ],
    )
    .await
}

/// What the last check found.
pub async fn last_check(db: &Db, chain: Chain) -> Result<Option<AuditCheck>> {
    db.opt(&LAST_CHECK, args![chain.uuid()]).await
}

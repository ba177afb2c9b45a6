//! Rows: appended with the change, listed, never changed.

use domain::audit::AuditEntry;
use domain::organizations::Organization;
use domain::{Id, Timestamp};
use serde_json::json;
use uuid::Uuid;

use crate::value::Value;
use crate::{Db, Result, Tx, args, row, statement};

statement!(
    APPEND = "INSERT INTO audit_logs (id, chain, org_id, owner_id, key_id, session_id, login_session_id, action, \
              subject_type, subject_id, from_state, to_state, ip, user_agent, service, reason, ticket_ref, body, \
              created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, \
              $17, $18, $19, $19)"
);

/// Appends a row in the unit of the change it tells of.
pub async fn append(tx: &mut Tx, entry: &AuditEntry) -> Result<()> {
    tx.wakes.audit = true;
    tx.push(
        &APPEND,
        args![
            entry.id,
            entry.chain.uuid(),
            entry.chain.organization(),
            entry.actor,
            entry.key_id,
            entry.session_id,
            entry.login_session_id.as_deref(),
            &entry.action,
            &entry.subject.kind,
            &entry.subject.id,
            entry.from_state.as_deref(),
            entry.to_state.as_deref(),
            entry.ip.as_deref(),
            entry.user_agent.as_deref(),
            entry.service.as_deref(),
            entry.reason.as_deref(),
            entry.ticket_ref.as_deref(),
            &entry.body(),
            entry.occurred_at,
        ],
    )
    .await
}

/// A row as lists show it: what was claimed, and under which seal.
pub struct Listed {
    /// The canonical bytes of everything claimed.
    pub body: Vec<u8>,
    /// Its seal.
    pub seal_id: Option<Uuid>,
    /// The seal's number.
    pub seal_number: Option<i64>,
    /// The seal's hash.
    pub seal_hash: Option<[u8; 32]>,
}
row!(Listed { body, seal_id, seal_number, seal_hash });

statement!(
    LIST: Listed = "SELECT audit_logs.body, audit_logs.seal_id, audit_seals.number AS seal_number, \
                    audit_seals.hash AS seal_hash FROM audit_logs LEFT JOIN audit_seals \
                    ON audit_seals.id = audit_logs.seal_id WHERE audit_logs.org_id = $1"
                   and ["audit_logs.owner_id = ?", ACTORS, "audit_logs.action = ?",
                        "audit_logs.subject_type = 'task' AND audit_logs.subject_id = ?", TASKS,
                        "audit_logs.session_id = ?", "audit_logs.key_id = ?", "audit_logs.created_at >= ?",
                        "audit_logs.created_at < ?", "(audit_logs.created_at, audit_logs.id) < (?, ?)"]
                   then "ORDER BY audit_logs.created_at DESC, audit_logs.id DESC LIMIT ?"
);
statement!(
    GET: Listed = "SELECT audit_logs.body, audit_logs.seal_id, audit_seals.number AS seal_number, \
                   audit_seals.hash AS seal_hash FROM audit_logs LEFT JOIN audit_seals \
                   ON audit_seals.id = audit_logs.seal_id WHERE audit_logs.org_id = $1 AND audit_logs.id = $2"
);

/// A row about one of several things.
pub struct About {
    /// The canonical bytes of everything claimed.
    pub body: Vec<u8>,
    /// Its seal.
    pub seal_id: Option<Uuid>,
}
row!(About { body, seal_id });
statement!(
    ABOUT: About =
        lite "SELECT body, seal_id FROM audit_logs WHERE NULLIF(org_id, NULL) = $1 AND \
              subject_id IN (SELECT value FROM json_each($2)) ORDER BY created_at, id LIMIT $3",
        pg "SELECT body, seal_id FROM audit_logs WHERE org_id = $1 AND \
            subject_id IN (SELECT value FROM jsonb_array_elements_text($2)) ORDER BY created_at, id LIMIT $3"
);

/// Rows of the organization about these things, the first first.
pub async fn about(
    tx: &mut Tx,
    org: Id<Organization>,
    subjects: &[String],
    limit: i64,
) -> Result<Vec<About>> {
    tx.all(&ABOUT, args![org, &json!(subjects), limit]).await
}

struct Body {
    body: Vec<u8>,
}
row!(Body { body });
statement!(
    LATEST: Body = "SELECT body FROM audit_logs WHERE NULLIF(org_id, NULL) = $1 AND subject_id = $2 \
                    AND NULLIF(action, NULL) = $3 ORDER BY created_at DESC, id DESC LIMIT 1"
);

/// The body of the newest row of the organization that says that this was done to a thing.
pub async fn latest(
    tx: &mut Tx,
    org: Id<Organization>,
    subject: &str,
    action: &str,
) -> Result<Option<Vec<u8>>> {
    Ok(tx.opt(&LATEST, args![org, subject, action]).await?.map(|row| row.body))
}

/// Among how many actors, or tasks, a list may look for rows.
pub const AMONG_MAX: usize = 8;
const ACTORS: &str = "audit_logs.owner_id IN (?, ?, ?, ?, ?, ?, ?, ?)";
const TASKS: &str = "audit_logs.subject_type = 'task' AND audit_logs.subject_id IN (?, ?, ?, ?, ?, ?, ?, ?)";

/// Which rows a list shows.
#[derive(Clone, Default)]
pub struct Filter {
    /// Who acted: one of these, at most [`AMONG_MAX`]; none: anybody.
    pub actors: Vec<Uuid>,
    /// What was done.
    pub action: Option<String>,
    /// About which task: one of these, at most [`AMONG_MAX`]; none: about anything.
    pub tasks: Vec<Uuid>,
    /// In which agent session.
    pub session_id: Option<Uuid>,
    /// With which key.
    pub key_id: Option<Uuid>,
    /// Not before.
    pub from: Option<Timestamp>,
    /// Before.
    pub to: Option<Timestamp>,
    /// Behind this row.
    pub after: Option<(Timestamp, Uuid)>,
}

/// Rows of the organization, newest first.
pub async fn list(db: &Db, org: Id<Organization>, filter: Filter, limit: i64) -> Result<Vec<Listed>> {
    let mut search = LIST.with(args![org]);
    let actors: Vec<Value<'static>> = filter.actors.iter().copied().map(Value::from).collect();
    let tasks: Vec<Value<'static>> = filter.tasks.iter().map(|id| Value::from(id.to_string())).collect();
    let one = "audit_logs.subject_type = 'task' AND audit_logs.subject_id = ?";
    for (values, one, several) in [(actors, "audit_logs.owner_id = ?", ACTORS), (tasks, one, TASKS)] {
        match values.as_slice() {
            [] => {}
            [only] => LIST.and(&mut search, one, std::slice::from_ref(only)),
            [first, ..] => LIST.and(&mut search, several, &padded(&values, first)),
        }
    }
    let clauses: [(&str, Option<Value<'static>>); 5] = [
        ("audit_logs.action = ?", filter.action.map(Value::from)),
        ("audit_logs.session_id = ?", filter.session_id.map(Value::from)),
        ("audit_logs.key_id = ?", filter.key_id.map(Value::from)),
        ("audit_logs.created_at >= ?", filter.from.map(Value::from)),
        ("audit_logs.created_at < ?", filter.to.map(Value::from)),
    ];
    for (clause, value) in clauses {
        if let Some(value) = value {
            LIST.and(&mut search, clause, &[value]);
        }
    }
    if let Some((created_at, id)) = filter.after {
        LIST.and(&mut search, "(audit_logs.created_at, audit_logs.id) < (?, ?)", args![created_at, id]);
    }
    db.found(LIST.finish(search, args![limit])).await
}

/// As many as the statement has places for; one of them stands in all that are left.
fn padded(values: &[Value<'static>], filler: &Value<'static>) -> Vec<Value<'static>> {
    assert!(values.len() <= AMONG_MAX, "callers take no more");
    values.iter().chain(std::iter::repeat(filler)).take(AMONG_MAX).cloned().collect()
}

/// One row of the organization.
pub async fn get(db: &Db, org: Id<Organization>, id: Uuid) -> Result<Option<Listed>> {
    db.opt(&GET, args![org, id]).await
}

//! The audit trail.

use axum::body::Body;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use domain::Timestamp;
use domain::audit::seal::Seal;
use domain::cursor::CursorKey;
use futures_util::stream;
use hub::audit::list::Row;
use hub::audit::{export as exporting, list as reading, verify as verifying};
use hub::{AuditCheck, AuditFilter};
use wire::{
    AuditProof, AuditQuery, AuditRow, AuditSeal, AuditVerification, Page, PageQuery, SealRef, Subject,
};

use super::page::{List, limits};
use crate::App;
use crate::extract::{Asked, PathId, Who};
use crate::json::Json;
use crate::problem::Problem;

/// Who did what, newest first. Addresses are shown to admins.
#[utoipa::path(get, path = "/api/v1/audit", operation_id = "list_audit_rows",
    tag = "audit", params(AuditQuery),
    responses((status = 200, description = "A page of rows", body = Page<AuditRow>)))]
pub(crate) async fn list(
    State(app): State<App>,
    Who(caller): Who,
    Asked(query): Asked<AuditQuery>,
) -> Result<Json<Page<AuditRow>>, Problem> {
    let list = List::new(&caller, "audit")
        .filtered("actor", query.actor)
        .filtered("action", query.action.as_ref())
        .filtered("task_id", query.task_id)
        .filtered("session_id", query.session_id)
        .filtered("key_id", query.key_id)
        .filtered("from", query.from.as_ref())
        .filtered("to", query.to.as_ref());
    let after = list.place(query.cursor.as_deref())?;
    let filter = AuditFilter {
        actors: query.actor.into_iter().collect(),
        action: query.action.clone(),
        tasks: query.task_id.into_iter().collect(),
        session_id: query.session_id,
        key_id: query.key_id,
        from: time("from", query.from.as_deref())?,
        to: time("to", query.to.as_deref())?,
        after,
    };
    let (limit, read) = limits(query.limit);
    let rows = reading::list(&app.hub, &caller, filter, read).await?;
    let place =
        |row: &Row| vec![CursorKey::Int(row.entry.occurred_at.micros()), CursorKey::Uuid(row.entry.id.raw())];
    Ok(Json(list.page(rows, limit, place, shown)))
}

fn time(name: &str, text: Option<&str>) -> Result<Option<Timestamp>, Problem> {
    let time = text.map(str::parse::<Timestamp>).transpose();
    time.map_err(|error| Problem::field(format!("/{name}"), error.to_string()))
}

/// One row.
#[utoipa::path(get, path = "/api/v1/audit/{id}", operation_id = "get_audit_row",
    tag = "audit", params(("id" = uuid::Uuid, Path)),
    responses((status = 200, description = "The row", body = AuditRow),
              (status = 404, description = "No such row", body = wire::Problem)))]
pub(crate) async fn get(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
) -> Result<Json<AuditRow>, Problem> {
    Ok(Json(shown(&reading::get(&app.hub, &caller, id.0).await?)))
}

/// The seals over the rows, newest first.
#[utoipa::path(get, path = "/api/v1/audit/seals", operation_id = "list_audit_seals",
    tag = "audit", params(PageQuery),
    responses((status = 200, description = "A page of seals", body = Page<AuditSeal>)))]
pub(crate) async fn seals(
    State(app): State<App>,
    Who(caller): Who,
    Asked(query): Asked<PageQuery>,
) -> Result<Json<Page<AuditSeal>>, Problem> {
    let list = List::new(&caller, "audit-seals");
    let before = match list.keys(query.cursor.as_deref())?.as_deref() {
        None => None,
        Some([CursorKey::Int(number)]) => Some(*number),
        Some(_) => return Err(Problem::field("/cursor", "not of this list")),
    };
    let (limit, read) = limits(query.limit);
    let seals = reading::list_seals(&app.hub, &caller, before, read).await?;
    let place = |seal: &Seal| vec![CursorKey::Int(i64::try_from(seal.number).unwrap_or(i64::MAX))];
    Ok(Json(list.page(seals, limit, place, shown_seal)))
}

/// The proof that a row is under a signed seal.
#[utoipa::path(get, path = "/api/v1/audit/{id}/proof", operation_id = "prove_audit_row",
    tag = "audit", params(("id" = uuid::Uuid, Path)),
    responses((status = 200, description = "The proof", body = AuditProof),
              (status = 403, description = "For admins", body = wire::Problem),
              (status = 404, description = "No such row", body = wire::Problem),
              (status = 409, description = "Not sealed yet", body = wire::Problem)))]
pub(crate) async fn proof(
    State(app): State<App>,
    Who(caller): Who,
    id: PathId,
) -> Result<Json<AuditProof>, Problem> {
    let proof = reading::prove(&app.hub, &caller, id.0).await?;
    Ok(Json(AuditProof {
        row_id: id.0,
        body: String::from_utf8_lossy(&proof.body).into_owned(),
        leaf: hex::encode(proof.leaf),
        index: proof.index,
        count: proof.seal.count,
        path: proof.path.iter().map(hex::encode).collect(),
        root: hex::encode(proof.seal.root),
        seal: shown_seal(&proof.seal),
        public_key: hex::encode(proof.public_key),
    }))
}

/// The whole chain as NDJSON; `countersign audit verify --export FILE` proves it.
#[utoipa::path(get, path = "/api/v1/audit/export", operation_id = "export_audit",
    tag = "audit",
    responses((status = 200, description = "NDJSON", content_type = "application/x-ndjson", body = String),
              (status = 403, description = "For admins", body = wire::Problem)))]
pub(crate) async fn export(State(app): State<App>, Who(caller): Who) -> Result<impl IntoResponse, Problem> {
    let pieces = exporting::export(&app.hub, &caller)?;
    let stream = stream::unfold(pieces, |mut pieces| async move { Some((pieces.recv().await?, pieces)) });
    Ok(([(CONTENT_TYPE, "application/x-ndjson")], Body::from_stream(stream)))
}

/// What the last full check found.
#[utoipa::path(get, path = "/api/v1/audit/verification", operation_id = "last_audit_verification",
    tag = "audit",
    responses((status = 200, description = "The last check", body = AuditVerification),
              (status = 404, description = "Never checked", body = wire::Problem)))]
pub(crate) async fn verification(
    State(app): State<App>,
    Who(caller): Who,
) -> Result<Json<AuditVerification>, Problem> {
    Ok(Json(shown_check(&verifying::last(&app.hub, &caller).await?)))
}

/// Checks the whole chain now.
#[utoipa::path(post, path = "/api/v1/audit/verification", operation_id = "verify_audit",
    tag = "audit",
    responses((status = 200, description = "What was found", body = AuditVerification),
              (status = 403, description = "For admins", body = wire::Problem),
              (status = 409, description = "A check is running already", body = wire::Problem)))]
pub(crate) async fn verify(
    State(app): State<App>,
    Who(caller): Who,
    _: crate::extract::NoInput,
) -> Result<Json<AuditVerification>, Problem> {
    Ok(Json(shown_check(&verifying::verify_now(&app.hub, &caller).await?)))
}

pub(super) fn shown(row: &Row) -> AuditRow {
    let entry = row.entry.clone();
    AuditRow {
        id: entry.id.raw(),
        actor: entry.actor.raw(),
        action: entry.action,
        from_state: entry.from_state,
        to_state: entry.to_state,
        occurred_at: entry.occurred_at.to_string(),
        ip: entry.ip,
        user_agent: entry.user_agent,
        service: entry.service,
        reason: entry.reason,
        ticket_ref: entry.ticket_ref,
        login_session_id: entry.login_session_id.and_then(|id| id.parse().ok()),
        session_id: entry.session_id,
        key_id: entry.key_id.map(domain::Id::raw),
        subject: Subject { kind: entry.subject.kind, id: entry.subject.id },
        details: entry.details,
        seal: row.seal.map(|(id, number, hash)| SealRef {
            id,
            number: u64::try_from(number).unwrap_or(0),
            hash: hex::encode(hash),
        }),
    }
}

fn shown_seal(seal: &Seal) -> AuditSeal {
    AuditSeal {
        id: seal.id.raw(),
        number: seal.number,
        count: seal.count,
        previous: hex::encode(seal.previous),
        root: hex::encode(seal.root),
        hash: hex::encode(seal.hash),
        signature: hex::encode(seal.signature),
        key_id: seal.key_id.clone(),
        sealed_at: seal.sealed_at.to_string(),
    }
}

fn shown_check(check: &AuditCheck) -> AuditVerification {
    let unsigned = |number: i64| u64::try_from(number).unwrap_or(0);
    AuditVerification {
        checked_at: check.updated_at.to_string(),
        ok: check.ok,
        finding: check.finding.clone(),
        seals: unsigned(check.seals),
        rows: unsigned(check.rows),
        unsealed: unsigned(check.unsealed),
        head: check.head.as_ref().map(hex::encode),
    }
}

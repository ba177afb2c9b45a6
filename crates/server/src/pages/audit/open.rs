//! The row that is open: everything it says, and the proof that it is what was sealed.

use domain::permissions::Capability;
use hub::HubError;
use hub::audit::list::{self, Proof, Row as Found};
use serde_json::Value;
use uuid::Uuid;

use super::rows::Known;
use crate::App;
use crate::pages::shell::Shell;
use crate::pages::show::{Markup, code, grouped, line};

/// What is shown of it.
pub(super) struct Open {
    pub(super) id: Uuid,
    pub(super) facts: Vec<(&'static str, Markup)>,
    pub(super) details: Option<Markup>,
    pub(super) proof: Proven,
}

/// Whether and how it is proven.
pub(super) enum Proven {
    /// Hashes from the row to the root, each with its name.
    Sealed {
        number: String,
        steps: Vec<(&'static str, String)>,
        index: String,
        count: String,
    },
    NotYet,
    /// The proof holds the row whole, addresses included.
    ForAdmins,
    /// It is not what was sealed.
    Broken,
}

/// Puts the row among those of the list where it is not there.
pub(super) async fn among(
    app: &App,
    shell: &Shell,
    id: Option<Uuid>,
    found: &mut Vec<Found>,
) -> Result<(), HubError> {
    if let Some(id) = id.filter(|id| !found.iter().any(|row| row.entry.id.raw() == *id)) {
        found.insert(0, list::get(&app.hub, &shell.caller, id).await?);
    }
    Ok(())
}

/// The row, which is among those of the list.
pub(super) async fn read(
    app: &App,
    shell: &Shell,
    id: Option<Uuid>,
    (found, known): (&[Found], &Known),
) -> Result<Option<Open>, HubError> {
    let row = id.and_then(|id| found.iter().find(|row| row.entry.id.raw() == id));
    let Some((id, row)) = id.zip(row) else { return Ok(None) };
    let (facts, details) = (facts(row, known), details(row));
    Ok(Some(Open { id, facts, details, proof: proven(app, shell, id).await? }))
}

/// An id in full, behind what it is called.
fn called(kind: &str, id: Uuid, known: &Known) -> Markup {
    let mut markup = known.name(kind, id).map(|name| line(&name)).unwrap_or_default();
    markup.raw(format_args!(" <span class=\"muted mono small wrap-any\">{id}</span>"));
    markup
}

fn subject(row: &Found, known: &Known) -> Markup {
    let subject = &row.entry.subject;
    let Ok(id) = Uuid::parse_str(&subject.id) else {
        return line(&format!("{} {}", subject.kind, subject.id));
    };
    let mut markup = line(&subject.kind.replace('_', " "));
    markup.raw(format_args!(" {}", called(&subject.kind, id, known)));
    markup
}

fn facts(row: &Found, known: &Known) -> Vec<(&'static str, Markup)> {
    let entry = &row.entry;
    let text = |text: &Option<String>| text.as_deref().map(line);
    let id = |id: Option<Uuid>| id.map(|id| line(&id.to_string()));
    let facts = [
        ("Reason", text(&entry.reason)),
        ("Ticket", text(&entry.ticket_ref)),
        ("About", Some(subject(row, known))),
        ("Actor", Some(called("account", entry.actor.raw(), known))),
        ("Key", entry.key_id.map(|key| called("api_key", key.raw(), known))),
        ("Sign-in", text(&entry.login_session_id)),
        ("Session", id(entry.session_id)),
        ("Address", text(&entry.ip)),
        ("Program", text(&entry.user_agent)),
        ("Part of the hub", text(&entry.service)),
    ];
    facts.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

fn details(row: &Found) -> Option<Markup> {
    let details = &row.entry.details;
    (!details.is_empty()).then(|| code(&Value::Object(details.clone())).lines)
}

async fn proven(app: &App, shell: &Shell, id: Uuid) -> Result<Proven, HubError> {
    if !shell.caller.capabilities.contains(Capability::AuditVerify) {
        return Ok(Proven::ForAdmins);
    }
    match list::prove(&app.hub, &shell.caller, id).await {
        Ok(proof) => Ok(steps(&proof)),
        Err(HubError::InvalidState { .. }) => Ok(Proven::NotYet),
        Err(HubError::Records(hub::RecordsError::BadRow { .. })) => Ok(Proven::Broken),
        Err(other) => Err(other),
    }
}

fn steps(proof: &Proof) -> Proven {
    let mut steps = vec![("row", hex::encode(proof.leaf))];
    steps.extend(proof.path.iter().map(|hash| ("beside", hex::encode(hash))));
    steps.push(("root", hex::encode(proof.seal.root)));
    steps.push(("before", hex::encode(proof.seal.previous)));
    steps.push(("seal", hex::encode(proof.seal.hash)));
    let number = |number: u64| grouped(i64::try_from(number).unwrap_or(i64::MAX));
    Proven::Sealed {
        number: number(proof.seal.number),
        steps,
        index: number(proof.index + 1),
        count: number(proof.seal.count),
    }
}

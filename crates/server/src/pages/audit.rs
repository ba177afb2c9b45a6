//! The audit log: whether it is whole first, because that is why the page exists; then the rows, each with its proof.

mod open;
mod rows;
mod sought;

use askama::Template;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use domain::Timestamp;
use domain::audit::Finding;
use domain::cursor::CursorKey;
use domain::permissions::Capability;
use garde::Validate;
use hub::audit::list::{self as reading, Row as Found};
use hub::audit::{names, verify};
use hub::{AuditCheck, AuditFilter, HubError};
use serde::Deserialize;
use uuid::Uuid;

use open::Open;
use open::Proven;
use rows::{Known, Row, row};
use sought::Sought;

use super::account::Nothing;
use super::form::Filled;
use super::lists::{Address, Chip, Names, denied, given};
use super::shell::Shell;
use super::show::{Markup, absolute, ago, filters, grouped, plural};
use super::{capitalised, lead_to, page};
use crate::App;
use crate::api::page::List;
use crate::extract::Asked;
use crate::problem::Problem;

const TEXT_BYTES_MAX: usize = 1000;
const ROWS_SHOWN: usize = 40;
/// Seals drawn as bars, the newest last.
const SEALS_DRAWN: i64 = 60;

#[derive(Deserialize, Validate, Default, Clone)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asking {
    #[garde(inner(length(bytes, max = TEXT_BYTES_MAX)))]
    actor: Option<String>,
    #[garde(inner(length(bytes, max = TEXT_BYTES_MAX)))]
    action: Option<String>,
    #[garde(inner(length(bytes, max = TEXT_BYTES_MAX)))]
    task: Option<String>,
    #[garde(inner(length(bytes, max = TEXT_BYTES_MAX)))]
    key: Option<String>,
    #[garde(inner(length(bytes, max = TEXT_BYTES_MAX)))]
    session: Option<String>,
    #[garde(inner(length(bytes, max = TEXT_BYTES_MAX)))]
    from: Option<String>,
    #[garde(inner(length(bytes, max = TEXT_BYTES_MAX)))]
    to: Option<String>,
    /// The row that is open.
    #[garde(inner(length(bytes, max = TEXT_BYTES_MAX)))]
    row: Option<String>,
    #[garde(inner(length(bytes, max = TEXT_BYTES_MAX)))]
    cursor: Option<String>,
}

#[derive(Template)]
#[template(path = "audit/list.html")]
struct AuditPage<'a> {
    shell: &'a Shell,
    check: Option<Check>,
    newest_seal: Option<String>,
    /// Whether the last check found each of them whole, the oldest first.
    seals: Vec<bool>,
    /// The seals that no check has seen, where one has seen others.
    unchecked: Option<String>,
    /// Whether rows wait for the next seal.
    is_sealing: bool,
    key_id: Option<String>,
    may_verify: bool,
    chips: Vec<Chip>,
    kept: Vec<(&'static str, String)>,
    rows: Vec<Row>,
    notes: Vec<String>,
    open: Option<Open>,
    older: Option<String>,
    newest: Option<String>,
}

/// What the last full check found.
struct Check {
    ok: bool,
    finding: Option<String>,
    /// The row that is wrong, where it can still be opened.
    row: Option<Uuid>,
    seals: String,
    rows: String,
    unsealed: String,
    at: String,
    ago: Markup,
    /// The newest seal it saw. They are numbered from one, without a gap: a chain with a gap is broken.
    last_seal: u64,
}

impl Check {
    /// Whether it found the seal of this number whole.
    fn covers(&self, number: u64) -> bool {
        self.ok && number <= self.last_seal
    }

    /// How many seals were made since, in words.
    fn unchecked(&self, newest: u64) -> Option<String> {
        let since = newest.checked_sub(self.last_seal).filter(|since| *since > 0 && self.ok)?;
        let be = if since == 1 { "is" } else { "are" };
        Some(format!("{} since {be} not checked", many(i64::try_from(since).unwrap_or(i64::MAX), "seal")))
    }
}

pub(crate) async fn show(
    State(app): State<App>,
    shell: Shell,
    Asked(asking): Asked<Asking>,
) -> Result<Response<Body>, Problem> {
    if let Some(denied) = denied(&shell, Capability::AuditRead, "Audit", "Rows of the audit log") {
        return Ok(denied);
    }
    let address = address(&asking);
    let names = (given(asking.actor.as_deref()), given(asking.task.as_deref()));
    let sought = sought::of(&app, &shell, names).await?;
    let (filter, list) = filter(&shell, &asking, &sought)?;
    let read = i64::try_from(ROWS_SHOWN + 1).unwrap_or(i64::MAX);
    let mut found = match sought.is_nothing {
        true => Vec::new(),
        false => reading::list(&app.hub, &shell.caller, filter, read).await?,
    };
    let next = next(&list, &found);
    found.truncate(ROWS_SHOWN);
    let id = uuid("row", asking.row.as_deref())?;
    open::among(&app, &shell, id, &mut found).await?;
    let known = known(&app, &shell, &found).await?;
    let opened = open::read(&app, &shell, id, (&found, &known)).await?;
    let seals = reading::list_seals(&app.hub, &shell.caller, None, SEALS_DRAWN).await?;
    let newest = seals.first();
    let check = last(&app, &shell).await?;
    let head = newest.map_or(0, |seal| seal.number);
    let is_checked = |number| check.as_ref().is_some_and(|check| check.covers(number));
    let template = AuditPage {
        unchecked: check.as_ref().and_then(|check| check.unchecked(head)),
        seals: seals.iter().rev().map(|seal| is_checked(seal.number)).collect(),
        check,
        newest_seal: newest.map(|seal| grouped(i64::try_from(seal.number).unwrap_or(i64::MAX))),
        key_id: newest.map(|seal| seal.key_id.clone()),
        is_sealing: found.first().is_some_and(|row| row.seal.is_none()),
        may_verify: shell.caller.capabilities.contains(Capability::AuditVerify),
        chips: chips(&address, &asking, |name, typed| sought.said(name, typed, &known)),
        kept: address.hidden(&["action", "actor", "task"]),
        rows: found.iter().map(|found| row(found, &known, &address)).collect(),
        notes: sought.notes,
        open: opened,
        older: next.map(|cursor| address.clone().with("cursor", cursor).to_string()),
        newest: asking.cursor.as_ref().map(|_| address.to_string()),
        shell: &shell,
    };
    Ok(page(StatusCode::OK, &template))
}

async fn known(app: &App, shell: &Shell, found: &[Found]) -> Result<Known, HubError> {
    let mut subjects = names::subjects(&app.hub, &shell.caller, found).await?;
    let accounts = std::mem::take(&mut subjects.accounts);
    Ok(Known { names: Names::known(shell, accounts), subjects })
}

/// Checks the whole chain, and shows what was found.
pub(crate) async fn verify_now(
    State(app): State<App>,
    shell: Shell,
    Filled(Nothing {}): Filled<Nothing>,
) -> Result<Response<Body>, Problem> {
    verify::verify_now(&app.hub, &shell.caller).await?;
    Ok(lead_to("/audit"))
}

/// What the last check of the whole chain found; none if there was none.
pub(super) async fn last_check(app: &App, shell: &Shell) -> Result<Option<AuditCheck>, HubError> {
    match verify::last(&app.hub, &shell.caller).await {
        Ok(check) => Ok(Some(check)),
        Err(HubError::NotFound(_)) => Ok(None),
        Err(other) => Err(other),
    }
}

async fn last(app: &App, shell: &Shell) -> Result<Option<Check>, HubError> {
    let Some(check) = last_check(app, shell).await? else { return Ok(None) };
    let row = match check.finding.as_deref().and_then(Finding::row_in) {
        Some(row) => reading::get(&app.hub, &shell.caller, row).await.is_ok().then_some(row),
        None => None,
    };
    Ok(Some(Check { row, ..checked(&check, shell.now) }))
}

fn many(count: i64, noun: &str) -> String {
    plural(usize::try_from(count).unwrap_or(0), noun)
}

fn checked(check: &AuditCheck, now: Timestamp) -> Check {
    Check {
        ok: check.ok,
        finding: check.finding.as_deref().map(capitalised),
        row: None,
        seals: many(check.seals, "seal"),
        rows: many(check.rows, "row"),
        unsealed: match check.unsealed {
            1 => "1 row was".to_owned(),
            more => format!("{} rows were", grouped(more)),
        },
        at: absolute(check.updated_at),
        ago: ago(check.updated_at, now),
        last_seal: u64::try_from(check.seals).unwrap_or_default(),
    }
}

fn next(list: &List<'_>, found: &[Found]) -> Option<String> {
    let place = |row: &&Found| {
        vec![CursorKey::Int(row.entry.occurred_at.micros()), CursorKey::Uuid(row.entry.id.raw())]
    };
    list.page(found.iter().collect(), ROWS_SHOWN, place, |_| ()).next_cursor
}

/// The filters, each by its name.
fn asked(asking: &Asking) -> [(&'static str, Option<&str>); 7] {
    [
        ("actor", given(asking.actor.as_deref())),
        ("action", given(asking.action.as_deref())),
        ("task", given(asking.task.as_deref())),
        ("key", given(asking.key.as_deref())),
        ("session", given(asking.session.as_deref())),
        ("from", given(asking.from.as_deref())),
        ("to", given(asking.to.as_deref())),
    ]
}

fn address(asking: &Asking) -> Address {
    asked(asking).into_iter().fold(Address::of("/audit"), |address, (name, value)| address.maybe(name, value))
}

fn chips(address: &Address, asking: &Asking, said: impl Fn(&str, &str) -> String) -> Vec<Chip> {
    let chip = |(name, value): (&'static str, Option<&str>)| {
        Some(Chip { name, value: said(name, value?), off: address.without(name).to_string() })
    };
    asked(asking).into_iter().filter_map(chip).collect()
}

fn uuid(name: &str, text: Option<&str>) -> Result<Option<Uuid>, Problem> {
    let id = given(text).map(Uuid::parse_str).transpose();
    id.map_err(|_| Problem::field(format!("/{name}"), "must be an id"))
}

/// A moment, or the beginning of a day.
fn moment(name: &str, text: Option<&str>) -> Result<Option<Timestamp>, Problem> {
    let Some(text) = given(text) else { return Ok(None) };
    let whole = if text.len() == 10 { format!("{text}T00:00:00Z") } else { text.to_owned() };
    let at = whole.parse::<Timestamp>();
    at.map(Some).map_err(|error| Problem::field(format!("/{name}"), error.to_string()))
}

fn filter<'s>(
    shell: &'s Shell,
    asking: &Asking,
    sought: &Sought,
) -> Result<(AuditFilter, List<'s>), Problem> {
    let mut list = List::new(&shell.caller, "pages/audit");
    for (name, value) in asked(asking) {
        list = list.filtered(name, value);
    }
    let filter = AuditFilter {
        actors: sought.actors.clone(),
        action: given(asking.action.as_deref()).map(str::to_owned),
        tasks: sought.tasks.clone(),
        session_id: uuid("session", asking.session.as_deref())?,
        key_id: uuid("key", asking.key.as_deref())?,
        from: moment("from", asking.from.as_deref())?,
        to: moment("to", asking.to.as_deref())?,
        after: list.place(given(asking.cursor.as_deref()))?,
    };
    Ok((filter, list))
}

//! Delegations: who decides for whom, and the form with which people say so for themselves.

mod ending;
mod fields;
mod rows;

use askama::Template;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use axum::routing::{get, post};
use domain::cursor::CursorKey;
use domain::delegations::Delegation;
use domain::permissions::Capability;
use domain::{Id, rendering};
use garde::Validate;
use hub::HubError;
use hub::delegations::{self, Filter};
use serde::Deserialize;
use uuid::Uuid;

use fields::{DelegationFields, PLACES};
use rows::{Row, row};

use super::account::Nothing;
use super::form::Filled;
use super::lists::{Address, Names, denied, given};
use super::shell::Shell;
use super::show::filters;
use super::wrong::{Wrong, wrong};
use super::{Page, lead_to, page};
use crate::App;
use crate::api::page::List;
use crate::extract::{Asked, PathId};
use crate::guard::Needs;
use crate::problem::Problem;

const HERE: &str = "/delegations";
const TEXT_BYTES_MAX: usize = 1000;
const ROWS_SHOWN: usize = 40;

/// The page and its forms.
pub(super) fn table() -> [Page; 5] {
    let page = |method, path, mount| Page { needs: Needs::Login, method, path, mount };
    [
        page("GET", "/delegations", get(show)),
        page("POST", "/delegations", post(create)),
        page("POST", "/delegations/{id}", post(change)),
        page("GET", "/delegations/{id}/end", get(ending::show)),
        page("POST", "/delegations/{id}/end", post(end)),
    ]
}

/// Which of them are looked at.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Default, Debug)]
#[serde(rename_all = "snake_case")]
enum View {
    #[default]
    Active,
    Mine,
    All,
}

impl View {
    const ALL: [(Self, &'static str, &'static str); 3] = [
        (Self::Active, "active", "Active"),
        (Self::Mine, "mine", "Yours"),
        (Self::All, "all", "All, also ended"),
    ];

    fn address(self) -> Address {
        let word = Self::ALL.into_iter().find(|(view, ..)| *view == self).map(|(_, word, _)| word);
        Address::of(HERE).maybe("view", word.filter(|_| self != Self::Active))
    }
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum Done {
    Made,
    Changed,
    Ended,
}

impl Done {
    const fn words(self) -> &'static str {
        match self {
            Self::Made => "Made and on record. What it covers goes that way from now on.",
            Self::Changed => "Changed and on record. What came by it and no longer would goes back.",
            Self::Ended => "Ended and on record. What came by it and is not answered goes back.",
        }
    }
}

#[derive(Deserialize, Validate, Default)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asking {
    #[serde(default)]
    #[garde(skip)]
    view: View,
    /// The form of a new one.
    #[garde(skip)]
    new: Option<String>,
    /// The one that is changed.
    #[garde(inner(length(bytes, max = TEXT_BYTES_MAX)))]
    change: Option<String>,
    #[garde(skip)]
    done: Option<Done>,
    #[garde(inner(length(bytes, max = TEXT_BYTES_MAX)))]
    cursor: Option<String>,
}

#[derive(Template)]
#[template(path = "delegations/delegations.html")]
struct DelegationsPage<'a> {
    shell: &'a Shell,
    views: Vec<Tab>,
    rows: Vec<Row>,
    older: Option<String>,
    newest: Option<String>,
    form: Option<Form>,
    done: Option<&'static str>,
}

struct Tab {
    to: String,
    name: &'static str,
    is_here: bool,
}

/// What somebody is about to say.
struct Form {
    /// The one that is changed; none for a new one.
    id: Option<Uuid>,
    typed: DelegationFields,
    wrong: Wrong,
    /// Everybody who may decide in the reader's place.
    people: Vec<(String, String)>,
}

pub(crate) async fn show(
    State(app): State<App>,
    shell: Shell,
    Asked(asking): Asked<Asking>,
) -> Result<Response<Body>, Problem> {
    if let Some(denied) = denied(&shell, Capability::ApprovalsRead, "Delegations", "Delegations") {
        return Ok(denied);
    }
    let changed = given(asking.change.as_deref()).map(str::parse::<Id<Delegation>>).transpose();
    let changed = changed.map_err(|_| Problem::field("/change", "must be the id of a delegation"))?;
    let form = match changed {
        Some(id) => {
            let current = delegations::get(&app.hub, &shell.caller, id).await?;
            let typed = DelegationFields::of(&current);
            current.may_be_changed_by(shell.caller.credential.account.id).then_some((
                Some(id),
                typed,
                Wrong::default(),
            ))
        }
        None => asking.new.is_some().then(|| (None, DelegationFields::blank(), Wrong::default())),
    };
    shown(&app, &shell, &asking, form).await
}

type Typed = (Option<Id<Delegation>>, DelegationFields, Wrong);

async fn shown(
    app: &App,
    shell: &Shell,
    asking: &Asking,
    typed: Option<Typed>,
) -> Result<Response<Body>, Problem> {
    let status = typed.as_ref().and_then(|(_, _, wrong)| wrong.status).unwrap_or(StatusCode::OK);
    let form = match typed.filter(|_| shell.may_decide()) {
        Some((id, typed, wrong)) => {
            Some(Form { id: id.map(Id::raw), typed, wrong, people: people(app, shell).await? })
        }
        None => None,
    };
    let (rows, next) = read(app, shell, asking).await?;
    let address = asking.view.address();
    let template = DelegationsPage {
        views: View::ALL
            .into_iter()
            .map(|(view, _, name)| Tab { to: view.address().to_string(), name, is_here: view == asking.view })
            .collect(),
        rows,
        older: next.map(|cursor| address.clone().with("cursor", cursor).to_string()),
        newest: asking.cursor.as_ref().map(|_| address.to_string()),
        form,
        done: asking.done.map(Done::words),
        shell,
    };
    Ok(page(status, &template))
}

async fn read(app: &App, shell: &Shell, asking: &Asking) -> Result<(Vec<Row>, Option<String>), Problem> {
    let me = shell.caller.credential.account.id;
    let owner = (asking.view == View::Mine).then_some(me);
    let active = (asking.view == View::Active).then_some(true);
    let list =
        List::new(&shell.caller, "pages/delegations").filtered("owner", owner).filtered("active", active);
    let after = list.place(given(asking.cursor.as_deref()))?.map(|(at, id)| (at, Id::new(id)));
    let limit = i64::try_from(ROWS_SHOWN + 1).unwrap_or(i64::MAX);
    let found = delegations::list(&app.hub, &shell.caller, Filter { owner, active, after }, limit).await?;
    let named = found.iter().flat_map(|one| [one.owner_id, one.delegate_to]);
    let names = Names::of(app, shell, named).await?;
    let place =
        |one: &Delegation| vec![CursorKey::Int(one.created_at.micros()), CursorKey::Uuid(one.id.raw())];
    let page = list.page(found, ROWS_SHOWN, place, |one| row(one, &names, shell));
    Ok((page.items, page.next_cursor))
}

/// Whom the form offers, by name.
async fn people(app: &App, shell: &Shell) -> Result<Vec<(String, String)>, HubError> {
    let ids = delegations::stand_ins_for(&app.hub, &shell.caller).await?;
    let names = Names::of(app, shell, ids.iter().copied()).await?;
    let mut named: Vec<(String, String)> =
        ids.iter().map(|id| (id.to_string(), rendering::plain(&names.name(*id)))).collect();
    named.sort_by(|(_, a), (_, b)| a.cmp(b));
    Ok(named)
}

fn done(word: &str) -> Response<Body> {
    lead_to(&Address::of(HERE).with("done", word).to_string())
}

pub(crate) async fn create(
    State(app): State<App>,
    shell: Shell,
    Filled(fields): Filled<DelegationFields>,
) -> Result<Response<Body>, Problem> {
    if let Some(denied) = may_not_delegate(&shell) {
        return Ok(denied);
    }
    let made = match fields.wanted(None) {
        Ok(wanted) => delegations::create(&app.hub, &shell.caller, wanted, None).await.map(|_| ()),
        Err(errors) => Err(HubError::Invalid(errors)),
    };
    match made {
        Ok(()) => Ok(done("made")),
        Err(error) => again(&app, &shell, (None, fields), error).await,
    }
}

pub(crate) async fn change(
    State(app): State<App>,
    shell: Shell,
    id: PathId,
    Filled(fields): Filled<DelegationFields>,
) -> Result<Response<Body>, Problem> {
    if let Some(denied) = may_not_delegate(&shell) {
        return Ok(denied);
    }
    let current = delegations::get(&app.hub, &shell.caller, id.id()).await?;
    let version = Some(format!("\"{}\"", fields.version));
    let changed = match fields.wanted(Some(&current)) {
        Ok(wanted) => {
            delegations::change(&app.hub, &shell.caller, id.id(), wanted, version).await.map(|_| ())
        }
        Err(errors) => Err(HubError::Invalid(errors)),
    };
    match changed {
        Ok(()) => Ok(done("changed")),
        Err(error) => again(&app, &shell, (Some(id.id()), fields), error).await,
    }
}

pub(crate) async fn end(
    State(app): State<App>,
    shell: Shell,
    id: PathId,
    Filled(Nothing {}): Filled<Nothing>,
) -> Result<Response<Body>, Problem> {
    if let Some(denied) = may_not_delegate(&shell) {
        return Ok(denied);
    }
    delegations::end(&app.hub, &shell.caller, id.id()).await?;
    Ok(done("ended"))
}

fn may_not_delegate(shell: &Shell) -> Option<Response<Body>> {
    denied(shell, Capability::ApprovalsDecide, "Delegations", "Delegations of one's own")
}

/// The page with what was typed, and what is wrong with it; what is not about that is a problem of its own.
async fn again(
    app: &App,
    shell: &Shell,
    (id, typed): (Option<Id<Delegation>>, DelegationFields),
    error: HubError,
) -> Result<Response<Body>, Problem> {
    let errors = match error {
        HubError::Invalid(errors) => errors,
        HubError::Conflict(words) => vec![wrong("", &words)],
        HubError::PreconditionFailed => {
            vec![wrong("", "it was changed elsewhere meanwhile; open it again to see how it stands")]
        }
        other => return Err(other.into()),
    };
    let wrong = Wrong::of(&errors, &PLACES);
    shown(app, shell, &Asking::default(), Some((id, typed, wrong))).await
}

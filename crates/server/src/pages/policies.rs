//! Policies: what there is, what one of them says, and three answers to "what does that do?": on a task that is here, on
//! one that is not, and on those of the last days.

mod backtest;
pub(super) mod explain;
mod form;
pub(super) mod off;
pub(super) mod words;

use askama::Template;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use domain::json::FieldError;
use domain::permissions::Capability;
use domain::policies::Policy;
use garde::Validate;
use hub::HubError;
use hub::policies::{self, Filter};
use serde::Deserialize;
use uuid::Uuid;

use backtest::Backtested;
use explain::{Explained, Simulated};
use form::{PLACES, PolicyFields, Values};
use words::{Entry, Told, beside_the_form, entry, named, named_in_line, told};

use super::form::Filled;
use super::lists::{Address, Names, denied, given};
use super::shell::Shell;
use super::show::{Markup, absolute, filters, line};
use super::wrong::Wrong;
use super::{capitalised, lead_to, page};
use crate::App;
use crate::extract::{Asked, PathId};
use crate::problem::Problem;

const TEXT_BYTES_MAX: usize = 1000;
/// All of them: an organization has at most so many in force.
const POLICIES_SHOWN: i64 = 200;

#[derive(Deserialize, Validate, Default, Clone)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asking {
    #[garde(inner(length(bytes, max = TEXT_BYTES_MAX)))]
    policy: Option<String>,
    /// A task to explain.
    #[garde(inner(length(bytes, max = TEXT_BYTES_MAX)))]
    task: Option<String>,
    #[garde(skip)]
    new: Option<String>,
    #[garde(skip)]
    done: Option<Done>,
}

/// What has just been done.
#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Done {
    Saved,
    Off,
}

impl Done {
    const fn words(self) -> &'static str {
        match self {
            Self::Saved => {
                "Saved and on record. Reviews that have begun keep the version they began with; what is handed in \
                 from now on uses this one."
            }
            Self::Off => {
                "Taken out of force, on record. Reviews that have begun keep it; what is handed in from now on is not \
                 held against it."
            }
        }
    }
}

#[derive(Template)]
#[template(path = "policies/policies.html")]
struct PoliciesPage<'a> {
    shell: &'a Shell,
    entries: Vec<Entry>,
    in_force: usize,
    /// How many of these can let a task pass that nobody signs.
    passing: usize,
    may_write: bool,
    done: Option<&'static str>,
    message: Option<Markup>,
    wrong: Wrong,
    chosen: Option<Chosen>,
    is_new: bool,
    values: Values,
    explained: Option<Explained>,
    task: String,
    config: String,
    simulated: Option<Simulated>,
    days: u32,
    backtested: Option<Backtested>,
}

/// The policy that somebody looks at.
struct Chosen {
    id: Uuid,
    name: Markup,
    version: i64,
    active: bool,
    is_default: bool,
    changed: String,
    /// All it says, for whoever only reads it.
    told: Vec<Told>,
    /// What decides and has no field in the form.
    beside_the_form: Vec<Told>,
}

/// What a page shows besides the policies.
#[derive(Default)]
struct Said {
    message: Option<String>,
    /// What is wrong with the fields of the form.
    wrong: Wrong,
    values: Option<Values>,
    simulated: Option<Simulated>,
    config: String,
    backtested: Option<Backtested>,
}

pub(crate) async fn show(
    State(app): State<App>,
    shell: Shell,
    Asked(asking): Asked<Asking>,
) -> Result<Response<Body>, Problem> {
    if let Some(denied) = denied(&shell, Capability::PoliciesRead, "Policies", "Policies") {
        return Ok(denied);
    }
    shown(&app, &shell, &asking, Said::default()).await
}

async fn shown(app: &App, shell: &Shell, asking: &Asking, said: Said) -> Result<Response<Body>, Problem> {
    let filter = Filter { name: None, active: None, after: None };
    let found = policies::list(&app.hub, &shell.caller, filter, POLICIES_SHOWN).await?;
    let asked = given(asking.policy.as_deref()).map(Uuid::parse_str).transpose();
    let asked = asked.map_err(|_| Problem::field("/policy", "must be the id of a policy"))?;
    let chosen = match asked {
        Some(id) => {
            Some(found.iter().find(|policy| policy.id.raw() == id).ok_or(HubError::NotFound("policy"))?)
        }
        None => found.iter().find(|policy| policy.is_default),
    };
    let is_new = asking.new.is_some();
    let chosen = chosen.filter(|_| !is_new);
    let task = given(asking.task.as_deref()).unwrap_or_default().to_owned();
    let ids = found.iter().flat_map(|policy| named_in_line(&policy.rules));
    let ids = ids.chain(chosen.iter().flat_map(|policy| named(&policy.rules)));
    let names = Names::of(app, shell, ids).await?;
    let in_force = || found.iter().filter(|policy| policy.active);
    let template = PoliciesPage {
        in_force: in_force().count(),
        passing: in_force().filter(|policy| policy.rules.auto_approve_if.is_some()).count(),
        entries: found.iter().map(|policy| entry(policy, chosen.map(|chosen| chosen.id), &names)).collect(),
        may_write: shell.caller.capabilities.contains(Capability::PoliciesWrite),
        done: asking.done.map(Done::words),
        is_new,
        values: said.values.unwrap_or_else(|| Values::of(chosen)),
        chosen: chosen.map(|policy| chosen_of(policy, &names)),
        explained: explain::task(app, shell, &task).await?,
        task,
        config: said.config,
        simulated: said.simulated,
        days: backtest::DAYS,
        backtested: said.backtested,
        message: said.message.as_deref().map(line).or_else(|| said.wrong.summary()),
        wrong: said.wrong,
        shell,
    };
    let status = if template.message.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    Ok(page(status, &template))
}

fn chosen_of(policy: &Policy, names: &Names) -> Chosen {
    Chosen {
        id: policy.id.raw(),
        name: line(&policy.name),
        version: policy.version,
        active: policy.active,
        is_default: policy.is_default,
        changed: absolute(policy.updated_at),
        told: told(&policy.rules, names),
        beside_the_form: beside_the_form(&policy.rules, names),
    }
}

pub(crate) async fn create(
    State(app): State<App>,
    shell: Shell,
    Filled(fields): Filled<PolicyFields>,
) -> Result<Response<Body>, Problem> {
    if let Some(denied) = may_not_write(&shell) {
        return Ok(denied);
    }
    let asking = Asking { new: Some("1".to_owned()), ..Asking::default() };
    let change = match fields.change() {
        Ok(change) => change,
        Err(errors) => return again(&app, &shell, &asking, (fields, Refused::Fields(errors))).await,
    };
    match policies::create(&app.hub, &shell.caller, change, None).await {
        Ok(hub::idempotency::Outcome::Fresh(policy)) => Ok(lead_to(&done(policy.id.raw()))),
        Ok(hub::idempotency::Outcome::Replayed(_)) => Ok(lead_to("/policies")),
        Err(error) => again(&app, &shell, &asking, (fields, Refused::of(error)?)).await,
    }
}

pub(crate) async fn change(
    State(app): State<App>,
    shell: Shell,
    id: PathId,
    Filled(fields): Filled<PolicyFields>,
) -> Result<Response<Body>, Problem> {
    if let Some(denied) = may_not_write(&shell) {
        return Ok(denied);
    }
    let asking = Asking { policy: Some(id.0.to_string()), ..Asking::default() };
    let change = match fields.change() {
        Ok(change) => change,
        Err(errors) => return again(&app, &shell, &asking, (fields, Refused::Fields(errors))).await,
    };
    let version = format!("\"{}\"", fields.version);
    match policies::change(&app.hub, &shell.caller, id.id(), change, Some(version)).await {
        Ok(policy) => Ok(lead_to(&done(policy.id.raw()))),
        Err(error) => again(&app, &shell, &asking, (fields, Refused::of(error)?)).await,
    }
}

fn may_not_write(shell: &Shell) -> Option<Response<Body>> {
    denied(shell, Capability::PoliciesWrite, "Policies", "Changes of policies")
}

/// Says what would have been different if the policy had said what is typed; nothing is saved.
pub(crate) async fn backtest(
    State(app): State<App>,
    shell: Shell,
    id: PathId,
    Filled(fields): Filled<PolicyFields>,
) -> Result<Response<Body>, Problem> {
    if let Some(denied) = may_not_write(&shell) {
        return Ok(denied);
    }
    let asking = Asking { policy: Some(id.0.to_string()), ..Asking::default() };
    let change = match fields.change() {
        Ok(change) => change,
        Err(errors) => return again(&app, &shell, &asking, (fields, Refused::Fields(errors))).await,
    };
    match backtest::run(&app, &shell, &id, change).await {
        Ok(found) => {
            let said = Said { values: Some(fields.into()), backtested: Some(found), ..Said::default() };
            shown(&app, &shell, &asking, said).await
        }
        Err(error) => again(&app, &shell, &asking, (fields, Refused::of(error)?)).await,
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SimulateForm {
    config: String,
}

/// Says what would happen to a task; nothing changes.
pub(crate) async fn simulate(
    State(app): State<App>,
    shell: Shell,
    Filled(form): Filled<SimulateForm>,
) -> Result<Response<Body>, Problem> {
    let said = match explain::simulate(&app, &shell, &form.config).await {
        Ok(simulated) => Said { simulated: Some(simulated), config: form.config, ..Said::default() },
        Err(error) => Said { message: Some(refusal(error)?), config: form.config, ..Said::default() },
    };
    shown(&app, &shell, &Asking::default(), said).await
}

fn done(id: Uuid) -> String {
    Address::of("/policies").with("policy", id).with("done", "saved").to_string()
}

async fn again(
    app: &App,
    shell: &Shell,
    asking: &Asking,
    (fields, refused): (PolicyFields, Refused),
) -> Result<Response<Body>, Problem> {
    let values = Some(fields.into());
    let said = match refused {
        Refused::Fields(errors) => Said { wrong: Wrong::of(&errors, &PLACES), values, ..Said::default() },
        Refused::Whole(words) => Said { message: Some(words), values, ..Said::default() },
    };
    shown(app, shell, asking, said).await
}

/// Why a policy was not saved.
enum Refused {
    /// What is wrong with which of its fields.
    Fields(Vec<FieldError>),
    /// What is wrong with all of it.
    Whole(String),
}

impl Refused {
    /// What the person can put right; anything else is a problem of its own.
    fn of(error: HubError) -> Result<Self, Problem> {
        match error {
            HubError::Invalid(mut errors) => {
                for error in &mut errors {
                    let place = error.pointer.strip_prefix("/draft").map(str::to_owned);
                    error.pointer = place.unwrap_or_else(|| std::mem::take(&mut error.pointer));
                }
                Ok(Self::Fields(errors))
            }
            other => refusal(other).map(Self::Whole),
        }
    }
}

/// What is wrong with what was typed, in words; anything else is a problem of its own.
fn refusal(error: HubError) -> Result<String, Problem> {
    match error {
        HubError::Invalid(errors) => {
            let words = errors.iter().map(|error| {
                let place = error.pointer.strip_prefix("/draft").unwrap_or(&error.pointer);
                let field = place.trim_start_matches('/').replace(['_', '/'], " ");
                capitalised(&format!("{field} {}", error.detail))
            });
            Ok(format!("{} Nothing was saved.", words.collect::<Vec<_>>().join(" ")))
        }
        HubError::Conflict(words) => Ok(format!("{} Nothing was saved.", capitalised(&words))),
        HubError::PreconditionFailed => {
            Ok("Somebody changed the policy while you did. Nothing was saved.".to_owned())
        }
        other => Err(other.into()),
    }
}

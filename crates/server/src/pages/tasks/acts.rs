//! What is done with a whole task: handing it in, which is a form of its page, and what asks for words, each on a page of
//! its own that says what will happen before it does.

use askama::Template;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use axum::routing::{MethodRouter, get, post};
use garde::Validate;
use hub::HubError;
use hub::idempotency::Outcome;
use hub::tasks::{self, Dossier, Offer, Seen, Urgency};
use serde::Deserialize;
use wire::{GiveReason, GiveUrgency};

use super::effects::{Words, words};
use super::{Trouble, refused as refused_on_its_page};
use crate::App;
use crate::extract::PathId;
use crate::guard::Needs;
use crate::pages::account::Nothing;
use crate::pages::form::Filled;
use crate::pages::reading::{title, waited_for};
use crate::pages::shell::Shell;
use crate::pages::show::{Markup, filters, pill_of};
use crate::pages::{Page, capitalised, lead_to, page};
use crate::problem::Problem;

#[derive(Template)]
#[template(path = "tasks/act.html")]
struct ActPage<'a> {
    shell: &'a Shell,
    id: String,
    address: String,
    title: Markup,
    pill: Markup,
    words: Words,
    /// Why it cannot be done; none: it can.
    closed: Option<String>,
    /// Whether that is because of who asks.
    denied: bool,
    asks_reason: bool,
    asks_ticket: bool,
    /// How many tasks wait for it, where they can wait for the new one.
    waiting: Option<String>,
    typed: ActForm,
    wrong: Wrong,
}

/// What is typed; which of it there is depends on what is done.
#[derive(Deserialize, Default, Clone)]
#[serde(deny_unknown_fields)]
pub(crate) struct ActForm {
    reason: Option<String>,
    incident_ticket: Option<String>,
    take_over_dependents: Option<String>,
}

impl ActForm {
    fn reason(&self) -> &str {
        self.reason.as_deref().unwrap_or_default()
    }

    fn ticket(&self) -> &str {
        self.incident_ticket.as_deref().unwrap_or_default()
    }

    /// Whether it has the fields of this form and no others.
    fn is_of(&self, offer: Offer) -> bool {
        self.reason.is_some() == asks_reason(offer)
            && self.incident_ticket.is_some() == asks_ticket(offer)
            && (self.take_over_dependents.is_none() || offer == Offer::Resubmit)
    }
}

/// What is wrong with what was typed, where it was typed; and what else was in the way.
#[derive(Default)]
struct Wrong {
    status: Option<StatusCode>,
    reason: Option<String>,
    ticket: Option<String>,
    all: Option<String>,
}

/// The pages and the forms.
pub(in crate::pages) fn table() -> Vec<Page> {
    let on = |method, path, mount| Page { needs: Needs::Login, method, path, mount };
    let asked = [
        ("/tasks/{id}/cancel", Offer::Cancel),
        ("/tasks/{id}/resubmit", Offer::Resubmit),
        ("/tasks/{id}/withdraw-approval", Offer::Withdraw),
        ("/tasks/{id}/override", Offer::Override),
        ("/tasks/{id}/force-apply", Offer::ForceApply),
        ("/tasks/{id}/rollback", Offer::Undo),
    ];
    let pages = asked
        .into_iter()
        .flat_map(|(path, offer)| [on("GET", path, shows(offer)), on("POST", path, takes(offer))]);
    pages.chain([on("POST", "/tasks/{id}/submit", post(submit))]).collect()
}

/// Where the page of it is; handing in has none, it is a form of the task's own page.
pub(super) fn address(offer: Offer, id: impl std::fmt::Display) -> String {
    let name = match offer {
        Offer::Submit => "submit",
        Offer::Cancel => "cancel",
        Offer::Resubmit => "resubmit",
        Offer::Withdraw => "withdraw-approval",
        Offer::Override => "override",
        Offer::ForceApply => "force-apply",
        Offer::Undo => "rollback",
    };
    format!("/tasks/{id}/{name}")
}

const fn asks_reason(offer: Offer) -> bool {
    !matches!(offer, Offer::Submit | Offer::Resubmit)
}

const fn asks_ticket(offer: Offer) -> bool {
    matches!(offer, Offer::Override | Offer::ForceApply)
}

fn shows(offer: Offer) -> MethodRouter<App> {
    get(move |State(app): State<App>, shell: Shell, id: PathId| async move {
        let dossier = tasks::dossier(&app.hub, &shell.caller, id.id(), None).await?;
        Ok::<_, Problem>(shown(&shell, &dossier, offer, (ActForm::default(), Wrong::default())))
    })
}

fn takes(offer: Offer) -> MethodRouter<App> {
    post(move |State(app): State<App>, shell: Shell, id: PathId, Filled(form): Filled<ActForm>| async move {
        if !form.is_of(offer) {
            return Err(Problem::field("", "the form is not the one of this page"));
        }
        match done(&app, &shell, &id, (offer, &form)).await {
            Ok(address) => Ok(lead_to(&address)),
            Err(error) if is_refusal(&error) => {
                let dossier = tasks::dossier(&app.hub, &shell.caller, id.id(), None).await?;
                let wrong = Wrong::of(error, &form);
                Ok(shown(&shell, &dossier, offer, (form, wrong)))
            }
            Err(other) => Err(other.into()),
        }
    })
}

/// Hands a draft in.
async fn submit(
    State(app): State<App>,
    shell: Shell,
    id: PathId,
    Filled(Nothing {}): Filled<Nothing>,
) -> Result<Response<Body>, Problem> {
    match tasks::submit(&app.hub, &shell.caller, id.id(), None).await {
        Ok(outcome) => Ok(lead_to(&after(&id, outcome))),
        Err(error) if is_refusal(&error) => {
            let (signed, typed) = (String::new(), String::new());
            let trouble = Trouble { what: "submission", error, request: None, signed, typed };
            refused_on_its_page(&app, shell, id.id(), trouble).await
        }
        Err(other) => Err(other.into()),
    }
}

async fn done(
    app: &App,
    shell: &Shell,
    id: &PathId,
    (offer, form): (Offer, &ActForm),
) -> Result<String, HubError> {
    let (hub, caller) = (&app.hub, &shell.caller);
    let done = match offer {
        Offer::Submit => tasks::submit(hub, caller, id.id(), None).await,
        Offer::Cancel => tasks::cancel(hub, caller, id.id(), reason(form)?, None).await,
        Offer::Withdraw => tasks::withdraw(hub, caller, id.id(), reason(form)?, None).await,
        Offer::Resubmit => {
            let takes_over = form.take_over_dependents.is_some();
            tasks::resubmit(hub, caller, id.id(), takes_over, None).await
        }
        Offer::Override => tasks::ask_override(hub, caller, urgency(id, form)?, None).await,
        Offer::ForceApply => tasks::force_apply(hub, caller, urgency(id, form)?, None).await,
        Offer::Undo => return undo(app, shell, id, reason(form)?).await,
    };
    Ok(after(id, done?))
}

/// Has the last attempt undone. Of a task that was never tried, whatever keeps that from being undone says so.
async fn undo(app: &App, shell: &Shell, id: &PathId, reason: String) -> Result<String, HubError> {
    let dossier = tasks::dossier(&app.hub, &shell.caller, id.id(), None).await?;
    dossier.may(&shell.caller, Offer::Undo)?;
    if let Some(last) = &dossier.seen.execution {
        hub::executions::ask_rollback(&app.hub, &shell.caller, last.id, reason, None).await?;
    }
    Ok(format!("/tasks/{}", id.0))
}

/// As it is kept: browsers end lines with both, and blank space alone is no reason.
fn said(text: &str) -> String {
    text.replace("\r\n", "\n").trim().to_owned()
}

fn reason(form: &ActForm) -> Result<String, HubError> {
    let given = GiveReason { reason: said(form.reason()) };
    checked(&given)?;
    Ok(given.reason)
}

fn urgency(id: &PathId, form: &ActForm) -> Result<Urgency, HubError> {
    let given = GiveUrgency { reason: said(form.reason()), incident_ticket: said(form.ticket()) };
    checked(&given)?;
    Ok(Urgency { id: id.id(), reason: given.reason, ticket: given.incident_ticket })
}

/// The same limits as on the wire.
fn checked(given: &impl Validate<Context = ()>) -> Result<(), HubError> {
    let Err(report) = given.validate() else { return Ok(()) };
    let wrong = wire::Problem::invalid(&report).errors.into_iter();
    let wrong = wrong.map(|error| domain::json::FieldError { pointer: error.pointer, detail: error.detail });
    Err(HubError::Invalid(wrong.collect()))
}

/// Whether it was not done because of what was typed, how the task stands, or who asks: then the form says so.
fn is_refusal(error: &HubError) -> bool {
    matches!(
        error,
        HubError::Invalid(_)
            | HubError::Forbidden(_)
            | HubError::InvalidState { .. }
            | HubError::Conflict(_)
            | HubError::SelfApproval(_)
            | HubError::NotYourReview(_)
            | HubError::AlreadyResolved { .. }
            | HubError::ExecutorDisabled(_)
            | HubError::TooManyOpen { .. }
    )
}

impl Wrong {
    fn of(error: HubError, form: &ActForm) -> Self {
        let problem = Problem::from(error);
        let mut wrong = Self { status: StatusCode::from_u16(problem.body.status).ok(), ..Self::default() };
        for error in &problem.body.errors {
            let words = capitalised(&error.detail);
            let or = |words: String, typed: &str, missing: &str| {
                Some(if said(typed).is_empty() { missing.to_owned() } else { words })
            };
            match error.pointer.as_str() {
                "/reason" => wrong.reason = or(words, form.reason(), "Say why."),
                "/incident_ticket" => wrong.ticket = or(words, form.ticket(), "Name the incident."),
                _ => wrong.all = Some(words),
            }
        }
        if problem.body.errors.is_empty() {
            wrong.all = Some(format!("{} Nothing changed.", capitalised(&problem.body.detail)));
        }
        wrong
    }
}

/// The task as it is now, or the new one.
fn after(id: &PathId, outcome: Outcome<Seen>) -> String {
    match outcome {
        Outcome::Fresh(seen) => format!("/tasks/{}", seen.task.id),
        Outcome::Replayed(_) => format!("/tasks/{}", id.0),
    }
}

fn shown(shell: &Shell, dossier: &Dossier, offer: Offer, (typed, wrong): (ActForm, Wrong)) -> Response<Body> {
    let task = &dossier.seen.task;
    let closed = dossier.may(&shell.caller, offer).err().map(Problem::from);
    let closed_status = closed.as_ref().and_then(|problem| StatusCode::from_u16(problem.body.status).ok());
    // Whoever only looks is in nobody's way: a page that is open learns like this that its task moved on.
    let looked_at = closed_status.filter(|status| *status != StatusCode::CONFLICT).unwrap_or(StatusCode::OK);
    let status = wrong.status.unwrap_or(looked_at);
    let is_first_look = wrong.status.is_none();
    let waits = offer == Offer::Resubmit && dossier.blocks > 0;
    let mut typed = typed;
    if is_first_look {
        typed.take_over_dependents = Some("on".to_owned());
    }
    let template = ActPage {
        shell,
        id: task.id.to_string(),
        address: address(offer, task.id),
        title: title(&dossier.seen.config),
        pill: pill_of(&dossier.seen),
        words: words(offer, dossier),
        denied: closed_status == Some(StatusCode::FORBIDDEN),
        closed: closed.map(|problem| capitalised(&problem.body.detail)),
        asks_reason: asks_reason(offer),
        asks_ticket: asks_ticket(offer),
        waiting: waits.then(|| waited_for(dossier.blocks)),
        typed,
        wrong,
    };
    page(status, &template)
}

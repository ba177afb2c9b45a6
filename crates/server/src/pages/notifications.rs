//! Of what one wants to be told. What asks for a decision is always told: somebody waits for the answer.

use askama::Template;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use domain::notifications::{NotificationKind as Kind, Preferences};
use garde::Validate;
use hub::HubError;
use hub::notifications;
use serde::Deserialize;

use super::form::Filled;
use super::inbox::said;
use super::shell::Shell;
use super::show::filters;
use super::{lead_to, page};
use crate::App;
use crate::extract::Asked;
use crate::problem::Problem;

const HERE: &str = "/account/notifications/preferences";

#[derive(Template)]
#[template(path = "notifications.html")]
struct PreferencesPage<'a> {
    shell: &'a Shell,
    /// Which preferences these are, so that nobody changes others.
    version: String,
    groups: [(&'static str, Vec<Choice>); 2],
    always: Vec<Choice>,
    is_saved: bool,
    message: Option<&'static str>,
}

/// One kind of thing, and whether it is told.
struct Choice {
    word: &'static str,
    icon: &'static str,
    name: &'static str,
    is_told: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Done {
    Saved,
}

#[derive(Deserialize, Validate)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asking {
    #[garde(skip)]
    done: Option<Done>,
}

/// What is ticked, of which preferences.
struct Ticked {
    version: String,
    told: Vec<Kind>,
}

pub(crate) async fn show(
    State(app): State<App>,
    shell: Shell,
    Asked(asking): Asked<Asking>,
) -> Result<Response<Body>, Problem> {
    let current = notifications::preferences(&app.hub, &shell.caller).await?;
    Ok(shown(&shell, &current, (asking.done.is_some(), None)))
}

pub(crate) async fn set(
    State(app): State<App>,
    shell: Shell,
    Filled(fields): Filled<Vec<(String, String)>>,
) -> Result<Response<Body>, Problem> {
    let ticked = ticked(&fields)?;
    let muted: Vec<Kind> =
        Kind::ALL.into_iter().filter(|kind| !kind.asks() && !ticked.told.contains(kind)).collect();
    let set =
        notifications::set_preferences(&app.hub, &shell.caller, muted.clone(), Some(ticked.version)).await;
    match set {
        Ok(_) => Ok(lead_to(&format!("{HERE}?done=saved"))),
        Err(HubError::PreconditionFailed) => {
            let current = notifications::preferences(&app.hub, &shell.caller).await?;
            let typed = Preferences { muted, ..current };
            let message = "You changed these elsewhere meanwhile. Nothing was saved; save again to have them like this.";
            Ok(shown(&shell, &typed, (false, Some(message))))
        }
        Err(other) => Err(other.into()),
    }
}

/// Every field once and known, kinds as often as they like.
fn ticked(fields: &[(String, String)]) -> Result<Ticked, Problem> {
    let mut version = None;
    let mut told = Vec::new();
    for (name, value) in fields {
        match name.as_str() {
            "version" if version.is_none() => version = Some(value.clone()),
            "told" => {
                let kind =
                    value.parse().map_err(|_| Problem::field("/told", "is no kind of notification"))?;
                told.push(kind);
            }
            _ => return Err(Problem::field(format!("/{name}"), "is not known, or is there twice")),
        }
    }
    let version = version.ok_or_else(|| Problem::field("/version", "is missing"))?;
    Ok(Ticked { version, told })
}

fn shown(
    shell: &Shell,
    preferences: &Preferences,
    (is_saved, message): (bool, Option<&'static str>),
) -> Response<Body> {
    let choice = |kind: Kind| {
        let (name, icon) = said(kind);
        let is_told = kind.asks() || !preferences.muted.contains(&kind);
        Choice { word: kind.as_str(), icon, name, is_told }
    };
    let of =
        |wanted: fn(Kind) -> bool| Kind::ALL.into_iter().filter(|kind| wanted(*kind)).map(choice).collect();
    let template = PreferencesPage {
        shell,
        version: notifications::etag(preferences),
        groups: [
            ("Of what you are asked", of(|kind| !kind.asks() && !is_of_own(kind))),
            ("Of your tasks", of(is_of_own)),
        ],
        always: of(Kind::asks),
        is_saved,
        message,
    };
    let status = if message.is_some() { StatusCode::PRECONDITION_FAILED } else { StatusCode::OK };
    page(status, &template)
}

/// Whether it tells whoever wrote a task what became of it.
const fn is_of_own(kind: Kind) -> bool {
    match kind {
        Kind::TaskApproved
        | Kind::TaskOverridden
        | Kind::TaskRejected
        | Kind::TaskTimedOut
        | Kind::ChangesRequested
        | Kind::TaskCompleted
        | Kind::TaskFailed
        | Kind::NeedsAttention
        | Kind::TaskCancelled
        | Kind::TaskBlocked
        | Kind::TaskCommented => true,
        Kind::ReviewRequested
        | Kind::StandingIn
        | Kind::OverrideRequested
        | Kind::RequestMoved
        | Kind::RequestClosed
        | Kind::Escalated
        | Kind::NobodyTold => false,
    }
}

//! The page where a person answers a program that wants a login.

use askama::Template;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, Response, StatusCode};
use domain::device_logins::{DeviceLogin, UserCode};
use garde::Validate;
use hub::identity::device_logins::{Reply, answer, look};
use hub::{Caller, HubError};
use serde::Deserialize;

use super::form::Filled;
use super::gate::Gate;
use super::show::filters;
use super::{lead_to, minute, page};
use crate::App;
use crate::extract::{Asked, Who};
use crate::problem::Problem;

#[derive(Template)]
#[template(path = "device.html")]
struct DevicePage<'a> {
    gate: &'a Gate,
    account: &'a str,
    organization: &'a str,
    view: View,
}

enum View {
    Enter { message: Option<String> },
    Asks { code: String, ip: String, user_agent: String, asked_at: String },
    Done { allowed: bool },
}

#[derive(Deserialize, Validate)]
#[serde(deny_unknown_fields)]
pub(crate) struct Meant {
    #[garde(skip)]
    code: Option<String>,
    #[garde(skip)]
    done: Option<Answer>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Allow,
    Deny,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnswerForm {
    code: String,
    answer: Answer,
}

pub(crate) async fn show(
    State(app): State<App>,
    gate: Gate,
    Who(caller): Who,
    Asked(meant): Asked<Meant>,
) -> Result<Response<Body>, Problem> {
    let view = match (meant.done, meant.code) {
        (Some(answer), _) => View::Done { allowed: matches!(answer, Answer::Allow) },
        (None, None) => View::Enter { message: None },
        (None, Some(code)) => match look(&app.hub, &caller, &code).await {
            Ok(device) => asks(&device),
            Err(error) => return not_meant(&gate, &caller, error),
        },
    };
    Ok(shown(&gate, &caller, StatusCode::OK, view))
}

pub(crate) async fn submit(
    State(app): State<App>,
    gate: Gate,
    Who(caller): Who,
    Filled(form): Filled<AnswerForm>,
) -> Result<Response<Body>, Problem> {
    let (reply, done) = match form.answer {
        Answer::Allow => (Reply::Allow, "/login/device?done=allow"),
        Answer::Deny => (Reply::Deny, "/login/device?done=deny"),
    };
    match answer(&app.hub, &caller, &form.code, reply).await {
        Ok(()) => Ok(lead_to(done)),
        Err(error) => not_meant(&gate, &caller, error),
    }
}

/// Asks for the code again where it was wrong.
fn not_meant(gate: &Gate, caller: &Caller, error: HubError) -> Result<Response<Body>, Problem> {
    let message = |text: &str| View::Enter { message: Some(text.to_owned()) };
    match error {
        HubError::NotFound(_) => {
            let text = "No program waits with this code. It may have expired, or been answered already.";
            Ok(shown(gate, caller, StatusCode::NOT_FOUND, message(text)))
        }
        HubError::TooMany { retry_after_seconds, .. } => {
            let text =
                format!("Too many wrong codes. Try again in {} min.", retry_after_seconds.div_ceil(60));
            let mut response = shown(gate, caller, StatusCode::TOO_MANY_REQUESTS, message(&text));
            response.headers_mut().insert("retry-after", HeaderValue::from(retry_after_seconds));
            Ok(response)
        }
        other => Err(other.into()),
    }
}

fn asks(device: &DeviceLogin) -> View {
    let code = device.user_code.parse().map_or(device.user_code.clone(), |code: UserCode| code.to_string());
    let unknown = || "unknown".to_owned();
    View::Asks {
        code,
        ip: device.ip.clone().unwrap_or_else(unknown),
        user_agent: device.user_agent.clone().unwrap_or_else(unknown),
        asked_at: minute(device.created_at),
    }
}

fn shown(gate: &Gate, caller: &Caller, status: StatusCode, view: View) -> Response<Body> {
    let credential = &caller.credential;
    let (account, organization) = (&credential.account.display_name, &credential.organization.name);
    page(status, &DevicePage { gate, account, organization, view })
}

//! Settings: health first, then accounts, keys, webhooks, and what the organization has set, by its name on the wire.

mod parts;

use askama::Template;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use domain::permissions::Capability;
use garde::Validate;
use hub::{HubError, settings};
use serde::Deserialize;
use serde_json::{Map, Value};

use parts::{AccountRow, HealthRow, KeyRow, Shared, WebhookRow};

use super::form::Filled;
use super::lists::denied;
use super::shell::Shell;
use super::show::{Markup, filters, line};
use super::{capitalised, lead_to, page};
use crate::App;
use crate::extract::Asked;
use crate::problem::Problem;

#[derive(Deserialize, Validate, Default)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asking {
    #[garde(skip)]
    done: Option<String>,
}

#[derive(Template)]
#[template(path = "settings/settings.html")]
struct SettingsPage<'a> {
    shell: &'a Shell,
    organization: Markup,
    slug: String,
    is_admin: bool,
    done: bool,
    message: Option<String>,
    version: &'static str,
    health: Vec<HealthRow>,
    accounts: Shared<AccountRow>,
    keys: Shared<KeyRow>,
    webhooks: Shared<WebhookRow>,
    /// None for those who may not see them.
    flags: Option<Vec<Flag>>,
    may_set: bool,
}

/// One setting.
struct Flag {
    name: String,
    value: String,
    /// For a switch: whether it is on.
    switch: Option<bool>,
}

pub(crate) async fn show(
    State(app): State<App>,
    shell: Shell,
    Asked(asking): Asked<Asking>,
) -> Result<Response<Body>, Problem> {
    shown(&app, &shell, asking.done.is_some(), None).await
}

async fn shown(
    app: &App,
    shell: &Shell,
    done: bool,
    message: Option<String>,
) -> Result<Response<Body>, Problem> {
    let credential = &shell.caller.credential;
    let flags = match shell.caller.capabilities.contains(Capability::SettingsRead) {
        true => Some(settings::get(&app.hub, &shell.caller).await?.to_json()),
        false => None,
    };
    let status = if message.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let template = SettingsPage {
        organization: line(&credential.organization.name),
        slug: credential.organization.slug.clone(),
        is_admin: credential.standing().is_org_admin(),
        done,
        message,
        version: env!("CARGO_PKG_VERSION"),
        health: parts::health(app, shell).await,
        accounts: parts::accounts(app, shell).await?,
        keys: parts::keys(app, shell).await?,
        webhooks: parts::webhooks(app, shell).await?,
        flags: flags.map(|all| all.into_iter().map(|(name, value)| flag(name, &value)).collect()),
        may_set: shell.caller.capabilities.contains(Capability::SettingsWrite),
        shell,
    };
    Ok(page(status, &template))
}

fn flag(name: String, value: &Value) -> Flag {
    let word = value.as_str();
    let switch = match word {
        Some("enabled") => Some(true),
        Some("disabled") => Some(false),
        _ => None,
    };
    Flag { name, value: word.map_or_else(|| value.to_string(), str::to_owned), switch }
}

/// One setting and what it shall be; empty goes back to what it is for everybody.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FlagForm {
    name: String,
    value: String,
}

pub(crate) async fn change(
    State(app): State<App>,
    shell: Shell,
    Filled(form): Filled<FlagForm>,
) -> Result<Response<Body>, Problem> {
    if let Some(denied) = denied(&shell, Capability::SettingsWrite, "Settings", "Changes of settings") {
        return Ok(denied);
    }
    let patch = Map::from_iter([(form.name.clone(), meant(&form.value))]);
    match settings::change(&app.hub, &shell.caller, patch, None).await {
        Ok(_) => Ok(lead_to("/settings?done=saved#flags")),
        Err(HubError::Invalid(errors)) => {
            let words = errors.iter().map(|error| {
                let name = error.pointer.trim_start_matches('/').replace("~1", "/");
                capitalised(&format!("{name} {}", error.detail))
            });
            let words = format!("{} Nothing was saved.", words.collect::<Vec<_>>().join(" "));
            shown(&app, &shell, false, Some(words)).await
        }
        Err(other) => Err(other.into()),
    }
}

/// A number, a list or a word, as it is typed.
fn meant(text: &str) -> Value {
    let text = text.trim();
    if text.is_empty() {
        return Value::Null;
    }
    domain::json::parse(text.as_bytes()).unwrap_or_else(|_| Value::String(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_typed_is_a_number_a_list_or_a_word() {
        assert_eq!(
            ["3600", "[25, 50, 75]", "enabled", "", "3e"].map(meant),
            [json!(3600), json!([25, 50, 75]), json!("enabled"), Value::Null, json!("3e")]
        );
    }
}

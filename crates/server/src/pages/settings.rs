//! Settings: health first, then accounts, keys, webhooks, and what the organization has set, in words and by its name on
//! the wire.

mod parts;
mod words;

use askama::Template;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use domain::Id;
use domain::permissions::Capability;
use garde::Validate;
use hub::{HubError, settings};
use serde::Deserialize;
use serde_json::{Map, Value};

use parts::{Accounts, HealthRow, KeyRow, Shared, WebhookRow};
use words::Form;

use super::form::Filled;
use super::lists::{Names, denied};
use super::shell::Shell;
use super::show::{Face, Markup, filters, line};
use super::{lead_to, page};
use crate::App;
use crate::extract::Asked;
use crate::problem::Problem;

const TEXT_BYTES_MAX: usize = 1000;

#[derive(Deserialize, Validate, Default)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asking {
    #[garde(skip)]
    done: Option<String>,
    /// Whom to show of the accounts: the beginning of a name, or of an email.
    #[garde(inner(length(bytes, max = TEXT_BYTES_MAX)))]
    who: Option<String>,
    /// Behind this one of them.
    #[garde(inner(length(bytes, max = TEXT_BYTES_MAX)))]
    cursor: Option<String>,
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
    accounts: Accounts,
    keys: Shared<KeyRow>,
    webhooks: Shared<WebhookRow>,
    /// None for those who may not see them.
    flags: Option<Vec<Flag>>,
    may_set: bool,
}

/// One setting.
struct Flag {
    name: String,
    title: String,
    about: &'static str,
    /// As people say it; where it was typed wrongly, as it was typed.
    value: String,
    /// What is typed where nothing is.
    hint: &'static str,
    /// Who is meant by ids; empty where none are.
    who: Vec<Face>,
    /// For a switch: whether it is on.
    switch: Option<bool>,
    /// What is wrong with what was typed.
    wrong: Option<String>,
}

/// What was typed and not taken.
struct Refused {
    name: String,
    typed: String,
    words: String,
}

pub(crate) async fn show(
    State(app): State<App>,
    shell: Shell,
    Asked(asking): Asked<Asking>,
) -> Result<Response<Body>, Problem> {
    shown(&app, &shell, &asking, None).await
}

async fn shown(
    app: &App,
    shell: &Shell,
    asking: &Asking,
    refused: Option<Refused>,
) -> Result<Response<Body>, Problem> {
    let credential = &shell.caller.credential;
    let status = if refused.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let template = SettingsPage {
        organization: line(&credential.organization.name),
        slug: credential.organization.slug.clone(),
        is_admin: credential.standing().is_org_admin(),
        done: asking.done.is_some(),
        message: refused.as_ref().map(|refused| format!("{} Nothing was saved.", refused.words)),
        version: env!("CARGO_PKG_VERSION"),
        health: parts::health(app, shell).await,
        accounts: parts::accounts(app, shell, asking).await?,
        keys: parts::keys(app, shell).await?,
        webhooks: parts::webhooks(app, shell).await?,
        flags: flags(app, shell, refused.as_ref()).await?,
        may_set: shell.caller.capabilities.contains(Capability::SettingsWrite),
        shell,
    };
    Ok(page(status, &template))
}

async fn flags(app: &App, shell: &Shell, refused: Option<&Refused>) -> Result<Option<Vec<Flag>>, HubError> {
    if !shell.caller.capabilities.contains(Capability::SettingsRead) {
        return Ok(None);
    }
    let settings = settings::get(&app.hub, &shell.caller).await?;
    let on_call = settings.approval_on_call.iter().copied().map(Id::new);
    let names = Names::of(app, shell, on_call).await?;
    let all = settings.to_json().into_iter();
    Ok(Some(all.map(|(name, value)| flag(name, &value, &names, refused)).collect()))
}

fn flag(name: String, value: &Value, names: &Names, refused: Option<&Refused>) -> Flag {
    let words = words::of(&name);
    let refused = refused.filter(|refused| refused.name == name);
    let is_accounts = words.is_some_and(|words| words.form == Form::Accounts);
    let ids = value.as_array().filter(|_| is_accounts).into_iter().flatten().filter_map(Value::as_str);
    Flag {
        title: words.map_or_else(|| name.clone(), |words| words.title.to_owned()),
        about: words.map_or("", |words| words.about),
        value: match refused {
            Some(refused) => refused.typed.clone(),
            None => words::said(words.map(|words| words.form), value),
        },
        hint: if is_accounts { "ids of accounts" } else { "the default" },
        who: ids.map(|id| names.face_of(id)).collect(),
        switch: match value.as_str() {
            Some("enabled") => Some(true),
            Some("disabled") => Some(false),
            _ => None,
        },
        wrong: refused.map(|refused| refused.words.clone()),
        name,
    }
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
    let known = words::of(&form.name).map(|words| words.form);
    let patch = Map::from_iter([(form.name.clone(), words::meant(known, &form.value))]);
    match settings::change(&app.hub, &shell.caller, patch, None).await {
        Ok(_) => Ok(lead_to("/settings?done=saved#flags")),
        Err(HubError::Invalid(errors)) => {
            let said = errors.iter().map(|error| {
                let name = error.pointer.trim_start_matches('/').replace("~1", "/");
                words::wrong(&name, &error.detail)
            });
            let words = said.collect::<Vec<_>>().join(" ");
            let refused = Refused { name: form.name, typed: form.value, words };
            shown(&app, &shell, &Asking::default(), Some(refused)).await
        }
        Err(other) => Err(other.into()),
    }
}

//! Taking a policy out of force. The page says what is not asked any more before it is done.

use askama::Template;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use domain::policies::Policy;
use hub::policies::{self, Filter};
use uuid::Uuid;

use super::words::{Told, named, told, who};
use super::{POLICIES_SHOWN, may_not_write};
use crate::App;
use crate::extract::PathId;
use crate::pages::account::Nothing;
use crate::pages::form::Filled;
use crate::pages::lists::{Address, Names};
use crate::pages::shell::Shell;
use crate::pages::show::{Markup, filters, line};
use crate::pages::{lead_to, page};
use crate::problem::Problem;

#[derive(Template)]
#[template(path = "policies/off.html")]
struct OffPage<'a> {
    shell: &'a Shell,
    id: Uuid,
    name: Markup,
    version: i64,
    /// Whether there is anything to take away.
    may_go: bool,
    is_default: bool,
    told: Vec<Told>,
    /// What it asks for as long as it is in force.
    who: String,
    /// What the default policy asks for, which stands in where no other applies.
    default: Option<(Markup, String)>,
}

pub(crate) async fn show(
    State(app): State<App>,
    shell: Shell,
    id: PathId,
) -> Result<Response<Body>, Problem> {
    if let Some(denied) = may_not_write(&shell) {
        return Ok(denied);
    }
    let policy = policies::get(&app.hub, &shell.caller, id.id(), None).await?;
    let filter = Filter { name: None, active: Some(true), after: None };
    let found = policies::list(&app.hub, &shell.caller, filter, POLICIES_SHOWN).await?;
    let default = found.iter().find(|policy| policy.is_default);
    let ids = [Some(&policy), default].into_iter().flatten().flat_map(|policy| named(&policy.rules));
    let names = Names::of(&app, &shell, ids).await?;
    let asks = |policy: &Policy| (line(&policy.name), who(&policy.rules, &names));
    let template = OffPage {
        id: policy.id.raw(),
        name: line(&policy.name),
        version: policy.version,
        may_go: policy.active && !policy.is_default,
        is_default: policy.is_default,
        told: told(&policy.rules, &names),
        who: who(&policy.rules, &names),
        default: default.map(asks),
        shell: &shell,
    };
    Ok(page(StatusCode::OK, &template))
}

pub(crate) async fn deactivate(
    State(app): State<App>,
    shell: Shell,
    id: PathId,
    Filled(Nothing {}): Filled<Nothing>,
) -> Result<Response<Body>, Problem> {
    if let Some(denied) = may_not_write(&shell) {
        return Ok(denied);
    }
    policies::deactivate(&app.hub, &shell.caller, id.id()).await?;
    Ok(lead_to(&Address::of("/policies").with("policy", id.0).with("done", "off").to_string()))
}

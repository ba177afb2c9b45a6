//! Ending what somebody else has said. The page says whose it is and what comes of it before it is done.

use askama::Template;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use hub::delegations;

use super::may_not_delegate;
use super::rows::{Row, row};
use crate::App;
use crate::extract::PathId;
use crate::pages::lists::Names;
use crate::pages::page;
use crate::pages::shell::Shell;
use crate::pages::show::filters;
use crate::problem::Problem;

#[derive(Template)]
#[template(path = "delegations/end.html")]
struct EndPage<'a> {
    shell: &'a Shell,
    row: Row,
    is_own: bool,
}

pub(super) async fn show(
    State(app): State<App>,
    shell: Shell,
    id: PathId,
) -> Result<Response<Body>, Problem> {
    if let Some(denied) = may_not_delegate(&shell) {
        return Ok(denied);
    }
    let one = delegations::get(&app.hub, &shell.caller, id.id()).await?;
    let names = Names::of(&app, &shell, [one.owner_id, one.delegate_to]).await?;
    let is_own = one.owner_id == shell.caller.credential.account.id;
    let template = EndPage { row: row(&one, &names, &shell), is_own, shell: &shell };
    Ok(page(StatusCode::OK, &template))
}

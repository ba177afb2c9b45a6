//! The organization's settings.

use axum::extract::State;
use axum::http::header::ETAG;
use axum::response::IntoResponse;
use domain::settings::Settings;
use serde_json::{Map, Value};

use crate::App;
use crate::extract::{Input, Terms, Who};
use crate::json::Json;
use crate::problem::Problem;

/// All settings of the organization.
#[utoipa::path(get, path = "/api/v1/settings", operation_id = "get_settings",
    tag = "settings",
    responses((status = 200, description = "All settings, with `ETag`", body = wire::Settings),
              (status = 403, description = "For admins", body = wire::Problem)))]
pub(crate) async fn get(State(app): State<App>, Who(caller): Who) -> Result<impl IntoResponse, Problem> {
    Ok(shown(&*hub::settings::get(&app.hub, &caller).await?))
}

/// Changes some settings; null goes back to the default.
#[utoipa::path(patch, path = "/api/v1/settings", operation_id = "change_settings",
    tag = "settings", request_body = wire::Settings,
    params(("If-Match" = Option<String>, Header, description = "Only if they are still those of this `ETag`")),
    responses((status = 200, description = "All settings, changed", body = wire::Settings),
              (status = 403, description = "For admins", body = wire::Problem),
              (status = 412, description = "They were changed since", body = wire::Problem),
              (status = 422, description = "A value is not valid; nothing was changed", body = wire::Problem)))]
pub(crate) async fn change(
    State(app): State<App>,
    Who(caller): Who,
    terms: Terms,
    input: Input<Map<String, Value>>,
) -> Result<impl IntoResponse, Problem> {
    let settings = hub::settings::change(&app.hub, &caller, input.value, terms.if_match).await?;
    Ok(shown(&settings))
}

fn shown(settings: &Settings) -> impl IntoResponse + use<> {
    ([(ETAG, hub::settings::etag(settings))], Json(wire::Settings(settings.to_json())))
}

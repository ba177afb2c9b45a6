//! Programs that ask for a login.

use axum::extract::State;
use domain::device_logins::{DEVICE_LASTS, POLL_INTERVAL};
use hub::identity::device_logins;
use wire::{DeviceLogin, DeviceToken, ExchangeDeviceCode};

use super::login_sessions::begun;
use crate::App;
use crate::extract::{Input, NoInput, Stranger};
use crate::json::Json;
use crate::problem::Problem;

/// Asks for a login that a person grants in a browser.
#[utoipa::path(post, path = "/api/v1/auth/device", operation_id = "ask_for_login",
    tag = "login", security(()),
    responses((status = 200, description = "Show the person link and code, then ask for the token", body = DeviceLogin),
              (status = 429, description = "Too many from your address", body = wire::Problem)))]
pub(crate) async fn ask(
    State(app): State<App>,
    Stranger(origin): Stranger,
    _: NoInput,
) -> Result<Json<DeviceLogin>, Problem> {
    let asked = device_logins::ask(&app.hub, &origin).await?;
    let seconds = |span: std::time::Duration| u32::try_from(span.as_secs()).unwrap_or(u32::MAX);
    Ok(Json(DeviceLogin {
        device_code: asked.secret.expose().to_owned(),
        user_code: asked.code.to_string(),
        url: format!("{}/login/device?code={}", app.options.public_url, asked.code),
        interval: seconds(POLL_INTERVAL),
        expires_in: seconds(DEVICE_LASTS),
    }))
}

/// Comes for the login, again and again until a person has answered. It is given once.
#[utoipa::path(post, path = "/api/v1/auth/device/token", operation_id = "exchange_device_code",
    tag = "login", security(()), request_body = ExchangeDeviceCode,
    responses((status = 200, description = "The login, with its token", body = DeviceToken),
              (status = 403, description = "The person said no", body = wire::Problem),
              (status = 404, description = "No such code", body = wire::Problem),
              (status = 409, description = "Nobody has answered yet", body = wire::Problem),
              (status = 410, description = "Too late, or given already", body = wire::Problem),
              (status = 429, description = "Asked too soon", body = wire::Problem)))]
pub(crate) async fn exchange(
    State(app): State<App>,
    Stranger(origin): Stranger,
    input: Input<ExchangeDeviceCode>,
) -> Result<Json<DeviceToken>, Problem> {
    let code = input.checked()?.value.device_code;
    let logged_in = device_logins::exchange(&app.hub, &code, &origin).await?;
    let token = logged_in.secret.expose().to_owned();
    Ok(Json(DeviceToken { logged_in: begun(&logged_in), token }))
}

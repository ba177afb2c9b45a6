//! One's own password.

use axum::extract::State;
use axum::http::StatusCode;
use hub::identity::passwords::{self, NewPassword};
use wire::SetPassword;

use crate::App;
use crate::extract::{Input, Who};
use crate::problem::Problem;

/// Sets your own password and ends your other logins. API keys stay.
#[utoipa::path(post, path = "/api/v1/auth/password", operation_id = "set_password",
    tag = "login", request_body = SetPassword,
    responses((status = 204, description = "It is set"),
              (status = 403, description = "A key with scopes, or no person", body = wire::Problem),
              (status = 422, description = "Not valid, or not your password", body = wire::Problem)))]
pub(crate) async fn set(
    State(app): State<App>,
    Who(caller): Who,
    input: Input<SetPassword>,
) -> Result<StatusCode, Problem> {
    let SetPassword { current_password, new_password } = input.checked()?.value;
    let wanted = NewPassword { current: current_password, new: new_password };
    passwords::set(&app.hub, &caller, wanted).await?;
    Ok(StatusCode::NO_CONTENT)
}

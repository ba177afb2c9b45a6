//! Paths and methods that do not exist.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::Response;
use wire::Code;

use crate::App;
use crate::pages::failed;
use crate::problem::Problem;

/// What programs are told of a path that does not exist; people are told in other words (`pages::failed`).
pub(crate) const NO_SUCH_PATH: &str = "there is no such path; /api/openapi.json lists all";

pub(crate) fn no_such_path() -> Problem {
    Problem::new(Code::NotFound, NO_SUCH_PATH)
}

pub(crate) async fn not_found(State(app): State<App>, request: Request) -> Response<Body> {
    failed::astray(&app, request, no_such_path()).await
}

pub(crate) async fn method_not_allowed(State(app): State<App>, request: Request) -> Response<Body> {
    let detail = "this path exists, but not with this method; /api/openapi.json lists all";
    failed::astray(&app, request, Problem::new(Code::MethodNotAllowed, detail)).await
}

//! The page of an error code, which every problem links to.

use axum::extract::Path;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::IntoResponse;
use wire::Code;

use crate::problem::Problem;

/// What an error code means and what to do about it.
#[utoipa::path(get, path = "/errors/{code}", operation_id = "error_page",
    tag = "instance", security(()),
    params(("code" = String, Path, description = "Such as `NOT_FOUND`")),
    responses((status = 200, description = "The page, in Markdown", content_type = "text/markdown", body = String),
              (status = 404, description = "There is no such code", body = wire::Problem)))]
pub(crate) async fn page(Path(code): Path<String>) -> Result<impl IntoResponse, Problem> {
    let code: Code = code.parse().map_err(|_| Problem::new(Code::NotFound, "there is no such error code"))?;
    Ok(([(CONTENT_TYPE, "text/markdown; charset=utf-8"), (CACHE_CONTROL, "no-cache")], code.page()))
}

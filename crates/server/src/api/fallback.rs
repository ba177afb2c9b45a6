//! Paths and methods that do not exist.

use wire::Code;

use crate::problem::Problem;

/// What programs are told of a path that does not exist; people are told in other words (`pages::render`).
pub(crate) const NO_SUCH_PATH: &str = "there is no such path; /api/openapi.json lists all";

pub(crate) async fn not_found() -> Problem {
    Problem::new(Code::NotFound, NO_SUCH_PATH)
}

pub(crate) async fn method_not_allowed() -> Problem {
    Problem::new(
        Code::MethodNotAllowed,
        "this path exists, but not with this method; /api/openapi.json lists all",
    )
}

//! Paths and methods that do not exist.

use wire::Code;

use crate::problem::Problem;

pub(crate) async fn not_found() -> Problem {
    Problem::new(Code::NotFound, "there is no such path; /api/openapi.json lists all")
}

pub(crate) async fn method_not_allowed() -> Problem {
    Problem::new(
        Code::MethodNotAllowed,
        "this path exists, but not with this method; /api/openapi.json lists all",
    )
}

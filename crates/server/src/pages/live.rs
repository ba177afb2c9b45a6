//! What tells an open page that it is no longer fresh.
//!
//! The page then asks for itself again, so that what is shown is always rendered by the page's own handler, for whoever
//! looks at it. A socket of rendered parts would render as often, once for each of them, and compress nothing.

use axum::body::Body;
use axum::extract::State;
use axum::http::Response;
use hub::events::follow::follow;
use wire::SocketQuery;

use crate::App;
use crate::extract::{Asked, Who};
use crate::feeds::{self, Tells, Upgrade};
use crate::problem::Problem;

pub(crate) async fn socket(
    State(app): State<App>,
    Who(caller): Who,
    Asked(query): Asked<SocketQuery>,
    upgrade: Upgrade,
) -> Result<Response<Body>, Problem> {
    let wanted = feeds::wanted(&app, query.since, query.types.as_deref())?;
    let follower = follow(&app.hub, &caller, wanted).await?;
    Ok(feeds::run_socket(&app, upgrade, follower, Tells::Places))
}

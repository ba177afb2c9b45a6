//! What the organization says about its resources.

use axum::extract::State;
use axum::response::IntoResponse;
use domain::resource_catalogue::ResourceCatalogue;
use wire::CatalogueRule;

use super::versioned;
use crate::App;
use crate::extract::{ListInput, Terms, Who};
use crate::problem::Problem;

/// The rules by which resources are rated, in order: the first that means a resource speaks for it.
#[utoipa::path(get, path = "/api/v1/resource-catalogue", operation_id = "get_resource_catalogue",
    tag = "policies",
    responses((status = 200, description = "The rules, with `ETag`", body = [CatalogueRule])))]
pub(crate) async fn get(State(app): State<App>, Who(caller): Who) -> Result<impl IntoResponse, Problem> {
    Ok(tagged(&hub::resource_catalogue::get(&app.hub, &caller).await?))
}

/// Replaces the rules, all of them.
#[utoipa::path(put, path = "/api/v1/resource-catalogue", operation_id = "replace_resource_catalogue",
    tag = "policies", request_body = [CatalogueRule],
    params(("If-Match" = Option<String>, Header, description = "Only if they are still those of this `ETag`")),
    responses((status = 200, description = "The rules", body = [CatalogueRule]),
              (status = 403, description = "For admins", body = wire::Problem),
              (status = 412, description = "They were changed since", body = wire::Problem),
              (status = 422, description = "Not valid", body = wire::Problem)))]
pub(crate) async fn replace(
    State(app): State<App>,
    Who(caller): Who,
    terms: Terms,
    ListInput(list): ListInput,
) -> Result<impl IntoResponse, Problem> {
    let catalogue = ResourceCatalogue::from_value(&list)?;
    Ok(tagged(&hub::resource_catalogue::replace(&app.hub, &caller, catalogue, terms.if_match).await?))
}

fn tagged(catalogue: &ResourceCatalogue) -> impl IntoResponse + use<> {
    let rules = catalogue.rules().iter().map(|rule| CatalogueRule {
        pattern: rule.pattern.as_str().to_owned(),
        criticality: rule.criticality,
        blast_radius: rule.blast_radius,
    });
    versioned(hub::resource_catalogue::etag(catalogue), rules.collect::<Vec<_>>())
}

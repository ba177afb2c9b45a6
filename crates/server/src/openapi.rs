//! The OpenAPI document, made from the routes themselves.

use axum::Router;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::map_response;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{ComponentsBuilder, Info, OpenApi, OpenApiBuilder, SecurityRequirement};
use utoipa_swagger_ui::{Config, SwaggerUi};

use crate::{App, api};

/// Swagger UI styles its page inline; its scripts are its own files.
const DOCS_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; \
     base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
);

/// What every document starts with; routes add themselves.
pub(crate) fn outline() -> OpenApi {
    let key = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
    let none: [&str; 0] = [];
    OpenApiBuilder::new()
        .info(Info::new("Countersign", env!("CARGO_PKG_VERSION")))
        .components(Some(ComponentsBuilder::new().security_scheme("api_key", key).build()))
        .security(Some([SecurityRequirement::new("api_key", none)]))
        .build()
}

/// The document, and the page that shows it where the operator wants that.
pub(crate) fn documents(api: OpenApi, docs: bool) -> Router<App> {
    let json = api.to_pretty_json().unwrap_or_default();
    let document = Router::new().route("/api/openapi.json", get(move || answer(json.clone())));
    if !docs {
        return document;
    }
    let page = SwaggerUi::new("/api/docs").config(Config::from("/api/openapi.json").validator_url("none"));
    document.merge(Router::from(page).layer(map_response(own_policy)))
}

async fn answer(json: String) -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-cache")], json)
}

async fn own_policy(mut response: Response) -> Response {
    // Swagger UI's own refusals have no form.
    if response.status() == StatusCode::NOT_FOUND {
        return api::fallback::no_such_path().into_response();
    }
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, DOCS_POLICY);
    response
}

//! What stands around the pages that have no frame: those before a login, and those of what went wrong.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::browser::Theme;
use crate::{App, Options};

/// What `gate.html` shows.
pub(crate) struct Gate {
    /// What people call the hub: its address without the scheme.
    host: String,
    theme: Option<Theme>,
}

impl Gate {
    pub(super) fn new(options: &Options, theme: Option<Theme>) -> Self {
        let url = &options.public_url;
        let host = url.split_once("://").map_or(url.as_str(), |(_, host)| host);
        Self { host: host.to_owned(), theme }
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// `light`, `dark`, or none where the system decides.
    pub(super) fn theme_word(&self) -> Option<&'static str> {
        self.theme.map(Theme::as_str)
    }
}

impl FromRequestParts<App> for Gate {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Infallible> {
        Ok(Self::new(&app.options, Theme::chosen(&app.options, &parts.headers)))
    }
}

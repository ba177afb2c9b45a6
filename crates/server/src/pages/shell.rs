//! What stands around every page: where one is, what waits, who one is. Built once per request from the login.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, Uri};
use domain::Timestamp;
use domain::organizations::Organization;
use domain::permissions::Capability;
use hub::desk::{Desk, desk};
use hub::identity::login_sessions;
use hub::{Caller, HubError};

use super::show::{Face, Markup, absolute, clock, counted, grouped};
use crate::App;
use crate::browser::Theme;
use crate::problem::Problem;

/// Everything that the frame of a page shows. A handler that takes one has a logged-in caller.
pub(crate) struct Shell {
    /// Who looks.
    pub(crate) caller: Caller,
    /// When the page is made; every relative time in it goes by this.
    pub(crate) now: Timestamp,
    /// What this request is called in the log.
    pub(crate) request_id: String,
    /// What has just happened, for the corner of the page.
    pub(crate) toasts: Vec<Toast>,
    places: Vec<Organization>,
    desk: Desk,
    theme: Option<Theme>,
    /// The first part of the path.
    section: String,
    /// The whole path, to come back to; for what only a form may be sent to, the page of its section.
    here: String,
}

/// What has just happened.
pub(crate) struct Toast {
    /// One word.
    pub(crate) done: &'static str,
    /// The rest.
    pub(crate) words: Markup,
    /// Where to look.
    pub(crate) link: Option<String>,
}

/// What the frame of a page takes from the request that asks for it.
pub(super) struct Request {
    id: String,
    theme: Option<Theme>,
    section: String,
    here: String,
}

impl Request {
    pub(super) fn of(app: &App, method: &Method, uri: &Uri, headers: &HeaderMap) -> Self {
        let path = uri.path();
        // Answering many at once is a page of the inbox.
        let section = path.split('/').nth(1).filter(|section| *section != "approvals");
        let section = section.unwrap_or_default().to_owned();
        let here = match *method == Method::GET {
            true => uri.path_and_query().map_or(path, |whole| whole.as_str()).to_owned(),
            false => format!("/{section}"),
        };
        let id = headers.get("x-request-id").and_then(|id| id.to_str().ok());
        let id = id.unwrap_or_default().to_owned();
        Self { id, theme: Theme::chosen(&app.options, headers), section, here }
    }

    pub(super) fn here(&self) -> &str {
        &self.here
    }

    /// Has forms about the page itself lead elsewhere: this one has no address to be opened by.
    pub(super) fn leads_back_to(&mut self, to: String) {
        self.here = to;
    }
}

impl FromRequestParts<App> for Shell {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let crate::extract::Who(caller) = crate::extract::Who::from_request_parts(parts, app).await?;
        Ok(Self::of(app, caller, Request::of(app, &parts.method, &parts.uri, &parts.headers)).await?)
    }
}

impl Shell {
    pub(super) async fn of(app: &App, caller: Caller, request: Request) -> Result<Self, HubError> {
        let now = app.hub.clock.now();
        let desk = desk(&app.hub, &caller).await?;
        let places = login_sessions::places(&app.hub, &caller).await?;
        let Request { id: request_id, theme, section, here } = request;
        Ok(Self { caller, now, request_id, toasts: Vec::new(), places, desk, theme, section, here })
    }

    /// The event up to which the page is true.
    pub(crate) fn seq(&self) -> i64 {
        self.desk.seq
    }

    /// Requests that wait for the person.
    pub(crate) fn requests(&self) -> i64 {
        self.desk.requests
    }

    /// Whether the person writes tasks.
    pub(super) fn may_propose(&self) -> bool {
        self.caller.capabilities.contains(Capability::TasksWrite)
    }

    /// Whether the person decides, and so may have others decide for them.
    pub(super) fn may_decide(&self) -> bool {
        self.caller.capabilities.contains(Capability::ApprovalsDecide)
    }

    /// Who looks, as a face.
    pub(crate) fn me(&self) -> Face {
        let name = self.caller.credential.account.display_name.clone();
        Face { name, is_agent: false, is_me: true }
    }

    /// What the section of a page is called in its address, to mark it in the navigation.
    pub(super) fn is_at(&self, section: &str) -> bool {
        self.section == section
    }

    pub(super) fn organization(&self) -> &str {
        &self.caller.credential.organization.name
    }

    pub(super) fn others(&self) -> impl Iterator<Item = &Organization> {
        let here = self.caller.credential.organization.id;
        self.places.iter().filter(move |place| place.id != here)
    }

    /// Of what the browser shows: `light`, `dark`, or none where the system decides.
    pub(super) fn theme_word(&self) -> Option<&'static str> {
        self.theme.map(Theme::as_str)
    }

    pub(super) fn next_theme(&self) -> &'static str {
        match self.theme {
            None => "light",
            Some(Theme::Light) => "dark",
            Some(Theme::Dark) => "system",
        }
    }

    pub(super) fn waiting(&self) -> String {
        counted(self.desk.requests)
    }

    pub(super) fn open_tasks(&self) -> String {
        counted(self.desk.open_tasks)
    }

    pub(super) fn agents(&self) -> String {
        counted(self.desk.agents)
    }

    pub(super) fn clock(&self) -> String {
        clock(self.now, self.now)
    }

    pub(super) fn date(&self) -> String {
        absolute(self.now)
    }

    pub(super) fn event(&self) -> String {
        grouped(self.desk.seq)
    }

    /// Where a form that is about the page itself leads back to; never to what only a form may be sent to.
    pub(super) fn here(&self) -> &str {
        &self.here
    }
}

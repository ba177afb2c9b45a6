//! What pages with lists have in common: filters that are plain query parameters, pages of rows, names, and what whoever
//! may not look is shown.

use std::collections::BTreeMap;

use askama::Template;
use axum::body::Body;
use axum::http::{Response, StatusCode};
use axum::routing::{get, post};
use domain::Id;
use domain::accounts::Account;
use domain::permissions::Capability;
use hub::identity::names::names;
use hub::{Called, HubError};

use super::shell::Shell;
use super::show::{Face, filters};
use super::{Page, agents, audit, locks, overview, page, plan, policies, settings, task_list};
use crate::App;
use crate::guard::Needs;

/// The pages with lists.
pub(super) fn table() -> Vec<Page> {
    let page = |method, path, mount| Page { needs: Needs::Login, method, path, mount };
    vec![
        page("GET", "/tasks", get(task_list::show)),
        page("GET", "/locks", get(locks::show)),
        page("GET", "/locks/release", get(locks::release::show)),
        page("POST", "/locks/release", post(locks::release::submit)),
        page("GET", "/agents", get(agents::show)),
        page("GET", "/agents/new", get(agents::wizard::begin)),
        page("POST", "/agents/new", post(agents::wizard::create)),
        page("GET", "/agents/{id}/setup", get(agents::wizard::show)),
        page("POST", "/agents/{id}/setup", post(agents::wizard::save)),
        page("POST", "/agents/{id}/key", post(agents::wizard::key)),
        page("POST", "/agents/{id}", post(agents::change)),
        page("POST", "/agents/{id}/drain", post(agents::drain)),
        page("POST", "/agents/{id}/resume", post(agents::resume)),
        page("GET", "/audit", get(audit::show)),
        page("POST", "/audit/verify", post(audit::verify_now)),
        page("GET", "/overview", get(overview::show)),
        page("GET", "/plan", get(plan::show)),
        page("GET", "/policies", get(policies::show)),
        page("POST", "/policies", post(policies::create)),
        page("POST", "/policies/simulate", post(policies::simulate)),
        page("POST", "/policies/{id}", post(policies::change)),
        page("POST", "/policies/{id}/backtest", post(policies::backtest)),
        page("GET", "/policies/{id}/deactivate", get(policies::off::show)),
        page("POST", "/policies/{id}/deactivate", post(policies::off::deactivate)),
        page("GET", "/settings", get(settings::show)),
        page("POST", "/settings", post(settings::change)),
    ]
}

/// The address of a page with filters in it.
#[derive(Clone, Debug)]
pub(super) struct Address {
    path: &'static str,
    pairs: Vec<(&'static str, String)>,
}

impl Address {
    pub(super) fn of(path: &'static str) -> Self {
        Self { path, pairs: Vec::new() }
    }

    /// With this parameter, instead of one of the same name.
    pub(super) fn with(mut self, name: &'static str, value: impl ToString) -> Self {
        self.pairs.retain(|(known, _)| *known != name);
        self.pairs.push((name, value.to_string()));
        self
    }

    /// The same where there is a value.
    pub(super) fn maybe(self, name: &'static str, value: Option<impl ToString>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    pub(super) fn without(&self, name: &str) -> Self {
        let mut other = self.clone();
        other.pairs.retain(|(known, _)| *known != name);
        other
    }

    /// Everything but the place in the list, for a form that adds a filter.
    pub(super) fn hidden(&self, but: &[&str]) -> Vec<(&'static str, String)> {
        self.pairs.iter().filter(|(name, _)| !but.contains(name)).cloned().collect()
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.path)?;
        for (place, (name, value)) in self.pairs.iter().enumerate() {
            write!(f, "{}{name}={}", if place == 0 { '?' } else { '&' }, encoded(value))?;
        }
        Ok(())
    }
}

/// As it stands in a query.
pub(super) fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => encoded.push(char::from(byte)),
            other => encoded.push_str(&format!("%{other:02X}")),
        }
    }
    encoded
}

/// A field of a filter's form: what is left empty was not asked for.
pub(super) fn given(text: Option<&str>) -> Option<&str> {
    text.map(str::trim).filter(|text| !text.is_empty())
}

/// A filter that is on, and the address without it.
pub(super) struct Chip {
    pub(super) name: &'static str,
    pub(super) value: String,
    pub(super) off: String,
}

/// Those a page names by their id.
pub(super) struct Names {
    known: BTreeMap<Id<Account>, Called>,
    me: Id<Account>,
}

impl Names {
    pub(super) async fn of(
        app: &App,
        shell: &Shell,
        ids: impl IntoIterator<Item = Id<Account>>,
    ) -> Result<Self, HubError> {
        Ok(Self::known(shell, names(&app.hub, &shell.caller, ids).await?))
    }

    /// Those whose names were read with something else.
    pub(super) fn known(shell: &Shell, known: BTreeMap<Id<Account>, Called>) -> Self {
        Self { known, me: shell.caller.credential.account.id }
    }

    pub(super) fn name(&self, id: Id<Account>) -> String {
        self.known_as(id).map_or_else(|| format!("account {id}"), str::to_owned)
    }

    /// The name; none: it is not known.
    pub(super) fn known_as(&self, id: Id<Account>) -> Option<&str> {
        self.known.get(&id).map(|called| called.name.as_str())
    }

    pub(super) fn face(&self, id: Id<Account>) -> Face {
        let is_agent = self.known.get(&id).is_some_and(|called| called.is_agent);
        Face { name: self.name(id), is_agent, is_me: id == self.me }
    }

    /// Whoever a text of the records names, where it names somebody.
    pub(super) fn face_of(&self, text: &str) -> Face {
        match text.parse() {
            Ok(id) => self.face(id),
            Err(_) => Face { name: text.to_owned(), is_agent: false, is_me: false },
        }
    }
}

#[derive(Template)]
#[template(path = "denied.html")]
struct DeniedPage<'a> {
    shell: &'a Shell,
    title: &'static str,
    what: &'static str,
    needs: &'static str,
}

/// What whoever may not look is shown; none for those who may.
pub(super) fn denied(
    shell: &Shell,
    needs: Capability,
    title: &'static str,
    what: &'static str,
) -> Option<Response<Body>> {
    if shell.caller.capabilities.contains(needs) {
        return None;
    }
    Some(page(StatusCode::FORBIDDEN, &DeniedPage { shell, title, what, needs: needs.as_str() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_holds_each_filter_once_and_nothing_ends_it() {
        let address = Address::of("/tasks").with("tag", "a&b=c#d").with("state", "DRAFT").with("tag", "é +");
        assert_eq!(address.to_string(), "/tasks?state=DRAFT&tag=%C3%A9%20%2B");
        assert_eq!(address.without("tag").to_string(), "/tasks?state=DRAFT");
        assert_eq!(address.maybe("x", None::<&str>).without("tag").without("state").to_string(), "/tasks");
        assert_eq!(encoded("\"><script>"), "%22%3E%3Cscript%3E");
    }

    #[test]
    fn an_empty_field_is_no_filter() {
        assert_eq!(
            [given(None), given(Some("")), given(Some(" ")), given(Some(" a "))],
            [None, None, None, Some("a")]
        );
    }
}

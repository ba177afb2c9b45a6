//! Which tasks somebody wants to see.

use domain::projects::Project;
use domain::risk::RiskLevel;
use domain::tasks::metadata::check_tag;
use domain::tasks::place::check_path_prefix;
use domain::tasks::{TaskState, TaskStatus, check_resource_id, check_resource_kind};
use domain::{Id, rendering};
use garde::Validate;
use hub::{Caller, TaskFilter};
use serde::Deserialize;
use uuid::Uuid;

use crate::App;
use crate::api::page::List;
use crate::api::tasks::account;
use crate::pages::lists::{Address, Chip, given};
use crate::problem::Problem;

const TEXT_BYTES_MAX: usize = 1000;

/// The query; what is empty was not asked for.
#[derive(Deserialize, Validate, Default, Clone)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asking {
    /// Something somebody typed: an id, `type:id`, or a tag.
    #[garde(inner(length(bytes, max = TEXT_BYTES_MAX)))]
    q: Option<String>,
    #[garde(inner(length(bytes, max = TEXT_BYTES_MAX)))]
    open: Option<String>,
    #[garde(inner(length(bytes, max = TEXT_BYTES_MAX)))]
    state: Option<String>,
    #[garde(inner(length(bytes, max = TEXT_BYTES_MAX)))]
    status: Option<String>,
    #[garde(inner(length(bytes, max = TEXT_BYTES_MAX)))]
    risk: Option<String>,
    #[garde(inner(length(bytes, max = TEXT_BYTES_MAX)))]
    author: Option<String>,
    #[garde(inner(length(bytes, max = TEXT_BYTES_MAX)))]
    assignee: Option<String>,
    #[garde(inner(length(bytes, max = TEXT_BYTES_MAX)))]
    resource: Option<String>,
    #[garde(inner(length(bytes, max = TEXT_BYTES_MAX)))]
    tag: Option<String>,
    #[garde(inner(length(bytes, max = TEXT_BYTES_MAX)))]
    project: Option<String>,
    #[garde(inner(length(bytes, max = TEXT_BYTES_MAX)))]
    path: Option<String>,
    #[garde(inner(length(bytes, max = TEXT_BYTES_MAX)))]
    cursor: Option<String>,
}

/// Every parameter but what was typed and the place in the list, by its name.
type Filters<'a> = [(&'static str, Option<&'a str>); 10];

impl Asking {
    fn filters(&self) -> Filters<'_> {
        [
            ("open", given(self.open.as_deref())),
            ("state", given(self.state.as_deref())),
            ("status", given(self.status.as_deref())),
            ("risk", given(self.risk.as_deref())),
            ("author", given(self.author.as_deref())),
            ("assignee", given(self.assignee.as_deref())),
            ("resource", given(self.resource.as_deref())),
            ("tag", given(self.tag.as_deref())),
            ("project", given(self.project.as_deref())),
            ("path", given(self.path.as_deref())),
        ]
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.filters().into_iter().find(|(known, _)| *known == name).and_then(|(_, value)| value)
    }

    pub(super) fn cursor(&self) -> Option<&str> {
        given(self.cursor.as_deref())
    }

    /// Where what was typed leads: to the task of this id, or to the list with a filter.
    pub(super) fn searched(&self) -> Result<Option<String>, Problem> {
        let Some(text) = given(self.q.as_deref()) else { return Ok(None) };
        if let Ok(id) = Uuid::parse_str(text) {
            return Ok(Some(format!("/tasks/{id}")));
        }
        let found = Self { q: None, cursor: None, ..self.clone() };
        let found = match text.contains(':') {
            true => Self { resource: Some(text.to_owned()), ..found },
            false => Self { tag: Some(text.trim_start_matches('#').to_owned()), ..found },
        };
        Ok(Some(found.address().to_string()))
    }

    /// What is not at its end, where nothing is asked for.
    pub(super) fn or_open(self) -> Self {
        let is_silent = self.filters().into_iter().all(|(_, value)| value.is_none());
        match is_silent {
            true => Self { open: Some("true".to_owned()), ..self },
            false => self,
        }
    }

    /// Whether this is exactly one of the views.
    pub(super) fn is_view(&self, parameter: &str, value: &str) -> bool {
        let on: Vec<(&str, &str)> = self
            .filters()
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .filter(|pair| *pair != ("open", "false"))
            .collect();
        match parameter.is_empty() {
            true => on.is_empty(),
            false => on == [(parameter, value)],
        }
    }

    /// Whether more narrows the list than a view.
    pub(super) fn is_narrowed(&self) -> bool {
        let narrowing = ["risk", "assignee", "resource", "tag", "project", "path", "state", "status"];
        narrowing.into_iter().any(|name| self.get(name).is_some())
    }

    pub(super) fn address(&self) -> Address {
        let mut address = Address::of("/tasks");
        for (name, value) in self.filters() {
            address = address.maybe(name, value);
        }
        address
    }

    pub(super) fn chips(&self, projects: &[Project]) -> Vec<Chip> {
        let address = self.address();
        let project = |id: &str| projects.iter().find(|project| project.id.to_string() == id);
        let chip = |(name, value): (&'static str, Option<&str>)| {
            let value = value?;
            let value = match name {
                "open" => return None,
                "project" => project(value).map_or(value, |project| &project.name),
                _ => value,
            };
            let off = address.without(name);
            // Without the last filter the list would fall back to what is open.
            let off = if off.hidden(&[]).is_empty() { off.with("open", "false") } else { off };
            Some(Chip { name, value: rendering::plain(value), off: off.to_string() })
        };
        self.filters().into_iter().filter_map(chip).collect()
    }

    /// What is asked of the hub, and the list that its cursors are of.
    pub(super) async fn filter<'c>(
        &self,
        app: &App,
        caller: &'c Caller,
    ) -> Result<(TaskFilter, List<'c>), Problem> {
        let mut filter = TaskFilter {
            state: self.word::<TaskState>("state")?,
            status: self.word::<TaskStatus>("status")?,
            open: self.is_open()?,
            risk_from: self.score(app, caller).await?,
            author: account(caller, "/author", self.get("author"))?,
            assignee: account(caller, "/assignee", self.get("assignee"))?,
            resource: self.resource()?,
            tag: self.get("tag").map(str::to_owned),
            project: self.project()?,
            path_prefix: self.get("path").map(str::to_owned),
            after: None,
        };
        if let Some(tag) = &filter.tag {
            check_tag(tag).map_err(|bad| Problem::field("/tag", bad.to_string()))?;
        }
        if let Some(prefix) = &filter.path_prefix {
            check_path_prefix(prefix).map_err(|bad| Problem::field("/path", bad.to_string()))?;
        }
        // A score alone leads along no index; what is open does.
        filter.open |= filter.risk_from.is_some() && filter.state.is_none() && filter.status.is_none();
        let mut list = List::new(caller, "pages/tasks");
        for (name, value) in self.filters() {
            list = list.filtered(name, value);
        }
        filter.after = list.place(self.cursor())?.map(|(at, id)| (at, Id::new(id)));
        Ok((filter, list))
    }

    fn word<T: std::str::FromStr>(&self, name: &'static str) -> Result<Option<T>, Problem>
    where
        T::Err: std::fmt::Display,
    {
        let word = self.get(name).map(str::parse::<T>).transpose();
        word.map_err(|error| Problem::field(format!("/{name}"), error.to_string()))
    }

    fn is_open(&self) -> Result<bool, Problem> {
        match self.get("open") {
            Some("true") => Ok(true),
            None | Some("false") => Ok(false),
            Some(_) => Err(Problem::field("/open", "must be true or false")),
        }
    }

    /// Where the level begins in this organization.
    async fn score(&self, app: &App, caller: &Caller) -> Result<Option<u32>, Problem> {
        let Some(level) = self.word::<RiskLevel>("risk")? else { return Ok(None) };
        let [medium, high, critical] =
            hub::settings::of(&app.hub, caller.credential.organization.id).await?.risk_thresholds;
        Ok(Some(match level {
            RiskLevel::Low => 0,
            RiskLevel::Medium => medium,
            RiskLevel::High => high,
            RiskLevel::Critical => critical,
        }))
    }

    fn resource(&self) -> Result<Option<String>, Problem> {
        let Some(text) = self.get("resource") else { return Ok(None) };
        let name = text.split_once(':').ok_or_else(|| Problem::field("/resource", "must read type:id"))?;
        let check = check_resource_kind(name.0).and_then(|()| check_resource_id(name.1));
        check.map_err(|bad| Problem::field("/resource", bad.to_string()))?;
        Ok(Some(text.to_owned()))
    }

    fn project(&self) -> Result<Option<Id<Project>>, Problem> {
        let id = self.get("project").map(Uuid::parse_str).transpose();
        let id = id.map_err(|_| Problem::field("/project", "must be the id of a project"))?;
        Ok(id.map(Id::new))
    }
}

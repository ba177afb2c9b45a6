//! Which of the views somebody wants to see, and what narrows it: plain query parameters.

use domain::permissions::Capability;
use domain::projects::Project;
use domain::risk::RiskLevel;
use domain::tasks::TaskState;
use domain::{Id, rendering};
use garde::Validate;
use hub::WhichTasks;
use hub::approvals::Sought;
use serde::Deserialize;
use uuid::Uuid;

use super::Filter;
use super::batch::LISTED_MAX;
use crate::App;
use crate::pages::lists::{Address, Chip, given};
use crate::pages::shell::Shell;
use crate::pages::show::counted;
use crate::problem::Problem;

const TEXT_BYTES_MAX: usize = 200;
/// An id and what separates it from the next.
const PICKED_BYTES_MAX: usize = LISTED_MAX * 37;
/// What is between two ids; it means nothing in a query.
const BETWEEN: &str = ".";

/// The query; what is empty was not asked for.
#[derive(Deserialize, Validate, Default)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asking {
    /// The request that is open.
    #[garde(skip)]
    pub(super) open: Option<Uuid>,
    /// The task that is open.
    #[garde(skip)]
    pub(super) task: Option<Uuid>,
    /// The request that was just answered.
    #[garde(skip)]
    pub(super) done: Option<Uuid>,
    #[garde(inner(length(bytes, max = TEXT_BYTES_MAX)))]
    view: Option<String>,
    /// Which requests come back ticked, so that whoever reads one of a batch first has not to select the others again.
    #[garde(inner(length(bytes, max = PICKED_BYTES_MAX)))]
    picked: Option<String>,
    #[garde(inner(length(bytes, max = TEXT_BYTES_MAX)))]
    q: Option<String>,
    #[garde(inner(length(bytes, max = TEXT_BYTES_MAX)))]
    risk: Option<String>,
    #[garde(inner(length(bytes, max = TEXT_BYTES_MAX)))]
    project: Option<String>,
}

/// What the list is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum View {
    Waiting,
    Own,
    Done,
    Told,
}

/// The way to a view.
pub(super) struct Tab {
    pub(super) name: &'static str,
    pub(super) to: String,
    pub(super) count: Option<String>,
    /// Whether what is counted waits for the reader.
    pub(super) is_hot: bool,
    pub(super) is_here: bool,
}

impl View {
    const ALL: [(Self, &'static str, Option<&'static str>); 4] = [
        (Self::Waiting, "Waiting for me", None),
        (Self::Own, "Mine, waiting", Some("mine")),
        (Self::Done, "Done", Some("done")),
        (Self::Told, "Told", Some("told")),
    ];

    pub(super) fn address(self) -> Address {
        let word = Self::ALL.iter().find(|(view, _, _)| *view == self).and_then(|(_, _, word)| *word);
        Address::of("/").maybe("view", word)
    }
}

/// The way to read one of those that are ticked.
pub(super) fn reads_first(open: Uuid, picked: &[Uuid]) -> Address {
    let ids: Vec<String> = picked.iter().map(Uuid::to_string).collect();
    Address::of("/").with("open", open).with("picked", ids.join(BETWEEN))
}

impl Asking {
    pub(super) fn view(&self) -> Result<View, Problem> {
        let word = given(self.view.as_deref());
        let known = View::ALL.iter().find(|(_, _, known)| *known == word);
        known.map(|(view, _, _)| *view).ok_or_else(|| Problem::field("/view", "must be mine, done or told"))
    }

    /// What narrows the list, by its name.
    fn filters(&self) -> [(&'static str, Option<&str>); 3] {
        [
            ("q", given(self.q.as_deref())),
            ("risk", given(self.risk.as_deref())),
            ("project", given(self.project.as_deref())),
        ]
    }

    pub(super) fn is_narrowed(&self) -> bool {
        self.filters().iter().any(|(_, value)| value.is_some())
    }

    /// The list as it is asked for, with nothing open.
    pub(super) fn address(&self) -> Address {
        let whole = Address::of("/").maybe("view", given(self.view.as_deref()));
        self.filters().into_iter().fold(whole, |address, (name, value)| address.maybe(name, value))
    }

    /// The list that one goes back to: what was ticked in it still is.
    pub(super) fn back(&self) -> Address {
        self.address().maybe("picked", given(self.picked.as_deref()))
    }

    /// What comes back ticked. It signs nothing, and what cannot be in a batch has no box.
    pub(super) fn picked(&self) -> Result<Vec<Uuid>, Problem> {
        let ids = given(self.picked.as_deref()).into_iter().flat_map(|ids| ids.split(BETWEEN));
        ids.map(|id| id.parse().map_err(|_| Problem::field("/picked", "must be the ids of requests")))
            .collect()
    }

    pub(super) fn sought(&self) -> Result<Sought, Problem> {
        let [(_, text), (_, risk), (_, project)] = self.filters();
        let level = risk.map(str::parse::<RiskLevel>).transpose();
        let id = project.map(Uuid::parse_str).transpose();
        Ok(Sought {
            text: text.map(str::to_owned),
            risk_from: level.map_err(|error| Problem::field("/risk", error.to_string()))?,
            project: id
                .map_err(|_| Problem::field("/project", "must be the id of a project"))?
                .map(Id::<Project>::new),
        })
    }

    pub(super) fn chips(&self, projects: &[Project]) -> Vec<Chip> {
        let address = self.address();
        let chip = |(name, value): (&'static str, Option<&str>)| {
            let (shown, value) = match (name, value?) {
                ("q", text) => ("words", text.to_owned()),
                ("risk", level) => ("risk", format!("{level} and up")),
                (_, id) => {
                    let known = projects.iter().find(|project| project.id.to_string() == id);
                    ("project", known.map_or_else(|| id.to_owned(), |project| project.name.clone()))
                }
            };
            Some(Chip {
                name: shown,
                value: rendering::plain(&value),
                off: address.without(name).to_string(),
            })
        };
        self.filters().into_iter().filter_map(chip).collect()
    }

    /// What the form begins with.
    pub(super) fn form(&self, projects: Vec<Project>) -> Filter {
        let [text, risk, project] = self.filters().map(|(_, value)| value.unwrap_or_default().to_owned());
        Filter { text, risk, project, projects }
    }

    pub(super) async fn tabs(&self, app: &App, shell: &Shell) -> Result<Vec<Tab>, Problem> {
        let here = self.view()?;
        let me = shell.caller.credential.account.id;
        let own = [WhichTasks::By(me, TaskState::Reviewing)];
        let own = hub::tasks::counts(&app.hub, &shell.caller, &own).await?.first().copied().unwrap_or(0);
        let unread = match shell.caller.capabilities.contains(Capability::EventsRead) {
            true => hub::notifications::unread(&app.hub, &shell.caller).await?,
            false => 0,
        };
        let tab = |(view, name, _): &(View, &'static str, Option<&'static str>)| {
            let count = match view {
                View::Waiting => shell.requests(),
                View::Own => own,
                View::Done => 0,
                View::Told => unread,
            };
            Tab {
                name,
                to: view.address().to_string(),
                count: (count > 0).then(|| counted(count)),
                is_hot: *view == View::Waiting,
                is_here: *view == here,
            }
        };
        Ok(View::ALL.iter().map(tab).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_has_one_address_and_filters_stay_in_it() {
        let asking = Asking { q: Some(" a&b ".into()), view: Some("".into()), ..Asking::default() };
        assert_eq!(asking.view().unwrap(), View::Waiting);
        assert_eq!(asking.address().to_string(), "/?q=a%26b");
        assert_eq!(View::Done.address().to_string(), "/?view=done");
        let picked = Asking { picked: Some(format!("{0}.{0}", Uuid::nil())), ..Asking::default() };
        assert_eq!(picked.picked().unwrap(), [Uuid::nil(), Uuid::nil()]);
        assert_eq!(picked.address().to_string(), "/");
        assert!(picked.back().to_string().starts_with("/?picked=00000000-"), "{}", picked.back());
        let wrong = Asking { picked: Some("a".into()), ..Asking::default() };
        assert!(wrong.picked().is_err());
        let wrong = Asking { view: Some("other".into()), ..Asking::default() };
        assert!(wrong.view().is_err());
        let wrong = Asking { risk: Some("VAST".into()), ..Asking::default() };
        assert!(wrong.sought().is_err());
    }
}

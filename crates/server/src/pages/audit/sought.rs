//! Whom and what the filters mean: an id, or what people call somebody and something.

use domain::accounts::Account;
use domain::rendering;
use domain::tasks::Task;
use hub::HubError;
use hub::audit::sought::{self, Fitting, TITLES_LOOKED_THROUGH};
use uuid::Uuid;

use super::rows::Known;
use crate::App;
use crate::pages::shell::Shell;

/// What the rows are looked for by.
pub(super) struct Sought {
    pub(super) actors: Vec<Uuid>,
    pub(super) tasks: Vec<Uuid>,
    /// Why there is nothing to look for, or not for all of it.
    pub(super) notes: Vec<String>,
    /// Whether nobody, or nothing, is called what was asked for.
    pub(super) is_nothing: bool,
}

pub(super) async fn of(
    app: &App,
    shell: &Shell,
    (actor, task): (Option<&str>, Option<&str>),
) -> Result<Sought, HubError> {
    let mut found = Sought { actors: Vec::new(), tasks: Vec::new(), notes: Vec::new(), is_nothing: false };
    if let Some(text) = actor {
        let fitting = match (text, Uuid::parse_str(text)) {
            ("me", _) => one::<Account>(shell.caller.credential.account.id.raw()),
            (_, Ok(id)) => one(id),
            _ => sought::actors(&app.hub, &shell.caller, text).await?,
        };
        found.note(&fitting, "accounts", text, "Nobody here has a name or an email that begins like");
        found.actors = fitting.ids.into_iter().map(domain::Id::raw).collect();
    }
    if let Some(text) = task {
        let fitting = match Uuid::parse_str(text) {
            Ok(id) => one::<Task>(id),
            Err(_) => sought::tasks(&app.hub, &shell.caller, text).await?,
        };
        let nothing = format!(
            "No task has this slug or path, and none of the newest {TITLES_LOOKED_THROUGH} has in its title"
        );
        found.note(&fitting, "tasks", text, &nothing);
        found.tasks = fitting.ids.into_iter().map(domain::Id::raw).collect();
    }
    Ok(found)
}

fn one<T>(id: Uuid) -> Fitting<T> {
    Fitting { ids: vec![domain::Id::new(id)], more: false }
}

impl Sought {
    fn note<T>(&mut self, fitting: &Fitting<T>, things: &str, text: &str, nothing: &str) {
        let text = rendering::plain(text);
        let count = fitting.ids.len();
        match (count, fitting.more) {
            (0, _) => {
                self.is_nothing = true;
                self.notes.push(format!("{nothing} \u{201c}{text}\u{201d}."));
            }
            (_, true) => {
                let many = format!("More than {count} {things} fit \u{201c}{text}\u{201d}.");
                self.notes
                    .push(format!("{many} These are the rows of the first {count}; say more to see others."));
            }
            _ => {}
        }
    }

    /// A filter as people say it: by the name, where it is one thing that is known.
    pub(super) fn said(&self, filter: &str, typed: &str, known: &Known) -> String {
        let name = match (filter, self.actors.as_slice(), self.tasks.as_slice()) {
            ("actor", [id], _) => known.account(domain::Id::new(*id)),
            ("task", _, [id]) => known.title(domain::Id::new(*id)),
            _ => None,
        };
        rendering::plain(name.as_deref().unwrap_or(typed))
    }
}

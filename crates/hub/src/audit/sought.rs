//! Whom and what somebody means who looks for rows by a name.

use std::collections::BTreeSet;

use domain::accounts::Account;
use domain::permissions::Capability;
use domain::tasks::{Task, is_called};
use domain::{Id, accounts::folded};
use records::audit::names::placed;
use records::audit::rows::AMONG_MAX;
use records::directory::{self, Wanted};
use records::tasks::{self, Filter};
use records::{Tx, accounts, task_revisions};

use crate::identity::bootstrap::SYSTEM_EMAIL;
use crate::{Caller, Hub, HubError};

/// Tasks, the newest first, among whose titles one is looked for.
pub const TITLES_LOOKED_THROUGH: i64 = 500;
/// What is read to know whether there are more.
const READ: usize = AMONG_MAX + 1;

/// Those that fit what was typed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fitting<T> {
    /// The first of them.
    pub ids: Vec<Id<T>>,
    /// Whether there are more.
    pub more: bool,
}

impl<T> Fitting<T> {
    fn of(ids: impl IntoIterator<Item = Id<T>>) -> Self {
        let mut found: Vec<Id<T>> = Vec::new();
        for id in ids {
            if !found.contains(&id) {
                found.push(id);
            }
        }
        let more = found.len() > AMONG_MAX;
        found.truncate(AMONG_MAX);
        Self { ids: found, more }
    }
}

/// The members whose e-mail, or name from the beginning of any word, begins like this; and the hub itself by its name.
pub async fn actors(hub: &Hub, caller: &Caller, text: &str) -> Result<Fitting<Account>, HubError> {
    caller.require(Capability::AuditRead)?;
    caller.require(Capability::AccountsRead)?;
    let org = caller.credential.organization.id;
    let limit = i64::try_from(READ).unwrap_or(i64::MAX);
    let found = directory::list(&hub.records, org, &Wanted::Called(text.to_owned()), None, limit).await?;
    let system = hub
        .records
        .read((), |tx, ()| {
            Box::pin(async move { Ok::<_, HubError>(accounts::by_email(tx, SYSTEM_EMAIL).await?) })
        })
        .await?;
    let system = system.filter(|system| folded(&system.display_name) == folded(text));
    let members = found.into_iter().map(|(member, _)| member.account.id);
    Ok(Fitting::of(system.map(|system| system.id).into_iter().chain(members)))
}

/// The tasks that have this slug or path, and those of the newest whose title holds it.
pub async fn tasks(hub: &Hub, caller: &Caller, text: &str) -> Result<Fitting<Task>, HubError> {
    caller.require(Capability::AuditRead)?;
    caller.require(Capability::TasksRead)?;
    let input = (caller.clone(), text.to_owned());
    hub.records.read(input, |tx, (caller, text)| Box::pin(fitting(tx, caller, text))).await
}

async fn fitting(tx: &mut Tx, caller: &Caller, text: &str) -> Result<Fitting<Task>, HubError> {
    let org = caller.credential.organization.id;
    let limit = i64::try_from(READ).unwrap_or(i64::MAX);
    let exactly = placed(tx, org, text, limit).await?;
    let newest = tasks::list(tx, org, &Filter::default(), TITLES_LOOKED_THROUGH).await?;
    let newest: Vec<Id<Task>> = newest.into_iter().map(|task| task.id).collect();
    let called: BTreeSet<Id<Task>> = match newest.is_empty() {
        true => BTreeSet::new(),
        false => {
            let current = task_revisions::current(tx, org, &newest).await?;
            current.into_iter().filter(|one| is_called(&one.config, text)).map(|one| one.task_id).collect()
        }
    };
    // Exactly that first, then the newest.
    Ok(Fitting::of(exactly.into_iter().chain(newest.into_iter().filter(|id| called.contains(id)))))
}

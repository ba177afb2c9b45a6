//! What is called how that rows of the log name by their id: looked up for a whole page at once.

use std::collections::{BTreeMap, BTreeSet};

use domain::Id;
use domain::accounts::Account;
use domain::approvals::Approval;
use domain::permissions::Capability;
use domain::tasks::Task;
use records::accounts::{self, Called};
use records::audit::names::named;
use records::{Tx, approvals, task_revisions};
use uuid::Uuid;

use super::list::Row;
use crate::{Caller, Hub, HubError};

/// What some rows are about, as people call it. What is not there any more, or not shown to the caller, is not in it.
#[derive(Default)]
pub struct Subjects {
    /// Accounts and agents.
    pub accounts: BTreeMap<Id<Account>, Called>,
    /// The bytes of the tasks' configs.
    pub tasks: BTreeMap<Id<Task>, Vec<u8>>,
    /// Which task each request is about, and whom it asks.
    pub approvals: BTreeMap<Id<Approval>, (Id<Task>, Id<Account>)>,
    /// The names of everything else that has one.
    pub names: BTreeMap<Uuid, String>,
}

struct Wanted {
    caller: Caller,
    accounts: BTreeSet<Id<Account>>,
    tasks: BTreeSet<Id<Task>>,
    approvals: Vec<Id<Approval>>,
    others: Vec<Uuid>,
}

/// What these rows are about. A few statements, however many rows there are.
pub async fn subjects(hub: &Hub, caller: &Caller, rows: &[Row]) -> Result<Subjects, HubError> {
    caller.require(Capability::AuditRead)?;
    let wanted = Wanted::of(caller, rows);
    hub.records.read(wanted, |tx, wanted| Box::pin(find(tx, wanted))).await
}

impl Wanted {
    fn of(caller: &Caller, rows: &[Row]) -> Self {
        let may = |capability| caller.capabilities.contains(capability);
        let mut wanted = Self {
            caller: caller.clone(),
            accounts: rows.iter().map(|row| row.entry.actor).collect(),
            tasks: BTreeSet::new(),
            approvals: Vec::new(),
            others: rows.iter().filter_map(|row| row.entry.key_id).map(Id::raw).collect(),
        };
        for subject in rows.iter().map(|row| &row.entry.subject) {
            let Ok(id) = Uuid::parse_str(&subject.id) else { continue };
            match subject.kind.as_str() {
                "account" | "agent" => _ = wanted.accounts.insert(Id::new(id)),
                "task" if may(Capability::TasksRead) => _ = wanted.tasks.insert(Id::new(id)),
                "approval" if may(Capability::ApprovalsRead) => wanted.approvals.push(Id::new(id)),
                "task" | "approval" => {}
                _ => wanted.others.push(id),
            }
        }
        wanted
    }
}

async fn find(tx: &mut Tx, wanted: &Wanted) -> Result<Subjects, HubError> {
    let credential = &wanted.caller.credential;
    let org = credential.organization.id;
    let mut found = Subjects::default();
    let (mut who, mut tasks) = (wanted.accounts.clone(), wanted.tasks.clone());
    if !wanted.approvals.is_empty() {
        for request in approvals::these(tx, org, &wanted.approvals).await? {
            found.approvals.insert(request.id, (request.task_id, request.reviewer_id));
            tasks.insert(request.task_id);
            who.insert(request.reviewer_id);
        }
    }
    let tasks: Vec<Id<Task>> = tasks.into_iter().collect();
    if !tasks.is_empty() && wanted.caller.capabilities.contains(Capability::TasksRead) {
        let current = task_revisions::current(tx, org, &tasks).await?;
        found.tasks = current.into_iter().map(|one| (one.task_id, one.config)).collect();
    }
    if !who.is_empty() {
        let who: Vec<Id<Account>> = who.into_iter().collect();
        let called = accounts::called(tx, org, &who).await?;
        found.accounts = called.into_iter().map(|called| (called.id, called)).collect();
    }
    if !wanted.others.is_empty() {
        // What others call their keys is for admins.
        let sees_keys = credential.standing().is_org_admin();
        let names = named(tx, org, &wanted.others).await?;
        let shown = names.into_iter().filter(|named| sees_keys || named.kind != "api_key");
        found.names = shown.map(|named| (named.id, named.name)).collect();
    }
    Ok(found)
}

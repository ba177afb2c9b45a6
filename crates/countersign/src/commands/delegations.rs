//! `countersign delegation`: who decides for whom.

use clap::{Args, Subcommand, ValueEnum};
use client::Client;
use uuid::Uuid;
use wire::{Delegation, DelegationConditions, DelegationForm, DelegationKind, DelegationsQuery};

use super::answer::{SHOWN_DEFAULT, account, done, expiry, pages, show_all, show_one, something};
use crate::cli::{ClientFlags, block_on};
use crate::exit::Exit;
use crate::terminal::Table;

pub(crate) const EXAMPLES: &str = "\
Examples:
  countersign delegation list
  countersign delegation create bob@example.org --type infrastructure --risk-above 50 --cascade
  countersign delegation create bob@example.org --from 2026-08-01T00:00:00Z --until 2026-08-15T00:00:00Z
  countersign delegation remove 0197a000-0000-7000-8000-000000000000";

const LIST_EXAMPLES: &str = "\
Examples:
  countersign delegation list                                  yours
  countersign delegation list --owner ada@example.org --active
  countersign delegation list --all --json | jq -r .items[].id";
const CREATE_EXAMPLES: &str = "\
Examples:
  countersign delegation create bob@example.org --resource 'database:prod-*'
      Bob is asked instead of you about tasks that touch nothing else
  countersign delegation create bob@example.org --from 2026-08-01T00:00:00Z --until 14d
      a leave: what waits for you moves to Bob when it begins, and comes back when it ends
  countersign delegation create bob@example.org --follow
      you are asked as before; when Bob approves, your approval is recorded as following his";
const SHOW_EXAMPLES: &str =
    "Example: countersign delegation show 0197a000-0000-7000-8000-000000000000 --json";
const CHANGE_EXAMPLES: &str = "\
Examples:
  countersign delegation change 0197a000-0000-7000-8000-000000000000 --until 2026-08-20T00:00:00Z
  countersign delegation change 0197a000-0000-7000-8000-000000000000 --everything --no-cascade";
const REMOVE_EXAMPLES: &str = "\
Example: countersign delegation remove 0197a000-0000-7000-8000-000000000000

It no longer holds; that it did stays on record. What came by it and is not answered goes back.";

#[derive(Args)]
pub(crate) struct Delegations {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Show delegations, the newest first
    #[command(after_help = LIST_EXAMPLES)]
    List(List),
    /// Have somebody else decide on what you are asked, or go before you
    #[command(after_help = CREATE_EXAMPLES)]
    Create(Create),
    /// Show one delegation
    #[command(after_help = SHOW_EXAMPLES)]
    Show(One),
    /// Change a delegation of yours
    #[command(after_help = CHANGE_EXAMPLES)]
    Change(Change),
    /// End a delegation
    #[command(after_help = REMOVE_EXAMPLES)]
    Remove(One),
}

#[derive(Args)]
struct List {
    #[command(flatten)]
    client: ClientFlags,
    /// Those of this account: me, an id, or an e-mail; yours without it
    #[arg(long, value_name = "ACCOUNT")]
    owner: Option<String>,
    /// Those of everybody
    #[arg(long, conflicts_with = "owner")]
    all: bool,
    /// Only those that are active
    #[arg(long)]
    active: bool,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = SHOWN_DEFAULT)]
    limit: usize,
}

#[derive(Args)]
struct One {
    #[command(flatten)]
    client: ClientFlags,
    /// The delegation's id
    delegation: Uuid,
}

/// On what, and how long.
#[derive(Args)]
struct Terms {
    /// Only tasks of this type; may be said several times
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<String>,
    /// Only tasks all of whose resources are like this, such as 'database:prod-*'; may be said several times
    #[arg(long = "resource", value_name = "PATTERN")]
    resources: Vec<String>,
    /// Only tasks with a higher score than this
    #[arg(long, value_name = "SCORE")]
    risk_above: Option<u32>,
    /// From when on: days such as 3d, or a time such as 2027-01-31T12:00:00Z
    #[arg(long, value_name = "TIME", value_parser = expiry)]
    from: Option<String>,
    /// Until when: days such as 30d, or a time
    #[arg(long, value_name = "TIME", value_parser = expiry)]
    until: Option<String>,
    /// The delegate's own delegations are followed
    #[arg(long)]
    cascade: bool,
}

#[derive(Args)]
struct Create {
    #[command(flatten)]
    client: ClientFlags,
    /// Who decides, or goes before: an id or an e-mail
    to: String,
    /// You stay asked; when they approve, your approval follows
    #[arg(long)]
    follow: bool,
    #[command(flatten)]
    terms: Terms,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    Transfer,
    Follow,
}

#[derive(Args)]
struct Change {
    #[command(flatten)]
    client: ClientFlags,
    /// The delegation's id
    delegation: Uuid,
    /// Somebody else decides: an id or an e-mail
    #[arg(long, value_name = "ACCOUNT")]
    to: Option<String>,
    /// What it does
    #[arg(long)]
    kind: Option<Kind>,
    #[command(flatten)]
    terms: Terms,
    /// On everything, whatever was said before
    #[arg(long, conflicts_with_all = ["types", "resources", "risk_above"])]
    everything: bool,
    /// The delegate's own delegations are not followed
    #[arg(long, conflicts_with = "cascade")]
    no_cascade: bool,
    /// Whether it holds at all
    #[arg(long, value_name = "BOOL")]
    active: Option<bool>,
}

pub(crate) fn run(command: Delegations) -> anyhow::Result<Exit> {
    block_on(async {
        match command.action {
            Action::List(list) => run_list(&list).await,
            Action::Create(create) => run_create(&create).await,
            Action::Show(one) => {
                show_one(&one.client.client()?.delegation(one.delegation).await?, one.client.json, lines)
            }
            Action::Change(change) => run_change(&change).await,
            Action::Remove(one) => {
                one.client.client()?.end_delegation(one.delegation).await?;
                done(one.client.json, &format!("ended delegation {}", one.delegation))
            }
        }
    })
}

async fn run_list(list: &List) -> anyhow::Result<Exit> {
    let client = list.client.client()?;
    let owner = match &list.owner {
        Some(named) => Some(account(&client, named).await?.to_string()),
        None => (!list.all).then(|| "me".to_owned()),
    };
    let query =
        DelegationsQuery { owner, active: list.active.then_some(true), ..DelegationsQuery::default() };
    let page = async |cursor| client.delegations(&DelegationsQuery { cursor, ..query.clone() }).await;
    show_all(&pages(list.limit, page).await?, list.client.json, table)
}

async fn run_create(create: &Create) -> anyhow::Result<Exit> {
    let client = create.client.client()?;
    let form = DelegationForm {
        delegate_to: Some(account(&client, &create.to).await?),
        kind: create.follow.then_some(DelegationKind::Follow),
        ..create.terms.form()
    };
    show_one(&client.create_delegation(&form).await?, create.client.json, lines)
}

async fn run_change(change: &Change) -> anyhow::Result<Exit> {
    let client = change.client.client()?;
    let form = something(wanted(&client, change).await?)?;
    show_one(&client.update_delegation(change.delegation, &form).await?, change.client.json, lines)
}

async fn wanted(client: &Client, change: &Change) -> anyhow::Result<DelegationForm> {
    let delegate_to = match &change.to {
        Some(named) => Some(account(client, named).await?),
        None => None,
    };
    let said = change.terms.form();
    Ok(DelegationForm {
        delegate_to,
        kind: change.kind.map(|kind| match kind {
            Kind::Transfer => DelegationKind::Transfer,
            Kind::Follow => DelegationKind::Follow,
        }),
        conditions: if change.everything { Some(DelegationConditions::default()) } else { said.conditions },
        cascade: if change.no_cascade { Some(false) } else { said.cascade },
        active: change.active,
        ..said
    })
}

impl Terms {
    fn form(&self) -> DelegationForm {
        let list = |items: &[String]| (!items.is_empty()).then(|| items.to_vec());
        let conditions = DelegationConditions {
            task_types: list(&self.types),
            resource_patterns: list(&self.resources),
            risk_above: self.risk_above,
        };
        DelegationForm {
            conditions: (conditions != DelegationConditions::default()).then_some(conditions),
            cascade: self.cascade.then_some(true),
            starts_at: self.from.clone().map(Some),
            expires_at: self.until.clone().map(Some),
            ..DelegationForm::default()
        }
    }
}

fn table(delegations: &[Delegation]) -> Table {
    let mut table = Table::new(["ID", "KIND", "STATE", "OWNER", "DELEGATE", "ON", "FROM", "UNTIL"]);
    for one in delegations {
        table.row([
            &one.id.to_string(),
            kind(one),
            state(one),
            &one.owner_id.to_string(),
            &one.delegate_to.to_string(),
            &scope(one),
            one.starts_at.as_deref().unwrap_or("-"),
            one.expires_at.as_deref().unwrap_or("-"),
        ]);
    }
    table
}

const fn kind(delegation: &Delegation) -> &'static str {
    match delegation.kind {
        DelegationKind::Transfer => "transfer",
        DelegationKind::Follow => "follow",
    }
}

const fn state(delegation: &Delegation) -> &'static str {
    if delegation.active { "active" } else { "ended" }
}

/// On what, in a few words.
fn scope(delegation: &Delegation) -> String {
    let said = &delegation.conditions;
    let mut scope: Vec<String> = said.task_types.iter().flatten().cloned().collect();
    scope.extend(said.resource_patterns.iter().flatten().cloned());
    scope.extend(said.risk_above.map(|risk| format!("risk > {risk}")));
    if scope.is_empty() { "everything".to_owned() } else { scope.join(", ") }
}

fn lines(delegation: &Delegation) -> Vec<(&'static str, String)> {
    let time = |at: &Option<String>| at.clone().unwrap_or_else(|| "-".to_owned());
    vec![
        ("delegation", delegation.id.to_string()),
        ("kind", kind(delegation).to_owned()),
        ("state", state(delegation).to_owned()),
        ("owner", delegation.owner_id.to_string()),
        ("delegate", delegation.delegate_to.to_string()),
        ("on", scope(delegation)),
        ("cascades", if delegation.cascade { "yes" } else { "no" }.to_owned()),
        ("from", time(&delegation.starts_at)),
        ("until", time(&delegation.expires_at)),
        ("version", delegation.version.to_string()),
    ]
}

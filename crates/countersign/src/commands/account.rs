//! `countersign account`: people and services.

use clap::{Args, Subcommand, ValueEnum};
use client::{Client, CreatedAccount};
use wire::{AccessLevel, AccountStatus, AccountsQuery, ChangeAccount, CreateAccount, Member};

use super::answer::{account, done, show, something};
use crate::cli::{ClientFlags, block_on};
use crate::exit::Exit;
use crate::terminal::Table;

pub(crate) const EXAMPLES: &str = "\
Examples:
  countersign account list lovelace
  countersign account create ada@example.org --name 'Ada Lovelace' --role author --role reviewer
  countersign account suspend ada@example.org
  countersign account update me --name 'Ada King'";

const LIST_EXAMPLES: &str = "\
Examples:
  countersign account list
  countersign account list ada          whose e-mail, or name from the beginning of any word, begins like this";

#[derive(Args)]
pub(crate) struct AccountCommand {
    #[command(flatten)]
    client: ClientFlags,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Show the members of the organization, by name
    #[command(after_help = LIST_EXAMPLES)]
    List {
        /// The beginning of a name or an e-mail
        query: Option<String>,
        /// At most so many (1 to 200)
        #[arg(long, default_value_t = 50)]
        limit: u32,
    },
    /// Show one account
    #[command(after_help = "Example: countersign account show ada@example.org")]
    Show {
        /// An e-mail, an id, or `me`
        account: String,
    },
    /// Make an account, or invite the one that has the e-mail
    #[command(
        after_help = "Example: countersign account create ada@example.org --name 'Ada Lovelace' --role author"
    )]
    Create(Create),
    /// Change name or addresses
    #[command(after_help = "Example: countersign account update me --name 'Ada King'")]
    Update(Update),
    /// Lock an account: its logins end and its keys open nothing, at once
    #[command(after_help = "Example: countersign account suspend ada@example.org")]
    Suspend {
        /// An e-mail or an id
        account: String,
    },
    /// Unlock an account
    #[command(after_help = "Example: countersign account reactivate ada@example.org")]
    Reactivate {
        /// An e-mail or an id
        account: String,
    },
    /// Shut an account down, your own for example
    #[command(after_help = "Example: countersign account deactivate me")]
    Deactivate {
        /// An e-mail, an id, or `me`
        account: String,
    },
}

#[derive(Args)]
struct Create {
    /// The e-mail
    email: String,
    /// The name people read
    #[arg(long)]
    name: String,
    /// A role, such as author, reviewer or dba; may be repeated
    #[arg(long = "role", value_name = "ROLE")]
    roles: Vec<String>,
    /// What kind of account
    #[arg(long, value_enum, default_value_t = Kind::User)]
    kind: Kind,
    /// Who decides in its place when it cannot
    #[arg(long, value_name = "ACCOUNT")]
    manager: Option<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    /// A person
    User,
    /// A program
    Service,
    /// A person who administers the whole instance
    Admin,
}

#[derive(Args)]
struct Update {
    /// An e-mail, an id, or `me`
    account: String,
    /// A new name
    #[arg(long)]
    name: Option<String>,
    /// A new e-mail
    #[arg(long)]
    email: Option<String>,
    /// The name in Gitea; empty removes it
    #[arg(long, value_name = "NAME")]
    gitea: Option<String>,
}

pub(crate) fn run(command: AccountCommand) -> anyhow::Result<Exit> {
    let client = command.client.client()?;
    let json = command.client.json;
    block_on(async {
        match command.action {
            Action::List { query, limit } => list(&client, json, query, limit).await,
            Action::Show { account: named } => {
                let id = account(&client, &named).await?;
                one(json, &client.account(id).await?)
            }
            Action::Create(wanted) => create(&client, json, wanted).await,
            Action::Update(wanted) => update(&client, json, wanted).await,
            Action::Suspend { account } => status(&client, json, &account, AccountStatus::Suspended).await,
            Action::Reactivate { account } => status(&client, json, &account, AccountStatus::Active).await,
            Action::Deactivate { account } => {
                status(&client, json, &account, AccountStatus::Deactivated).await
            }
        }
    })
}

async fn list(client: &Client, json: bool, query: Option<String>, limit: u32) -> anyhow::Result<Exit> {
    let query = AccountsQuery { query, limit: Some(limit), ..AccountsQuery::default() };
    let page = client.accounts(&query).await?;
    show(json, &page, || table(&page.items))
}

/// Members as a table; the commands about organizations show them too.
pub(super) fn table(members: &[Member]) -> Table {
    let mut table = Table::new(["NAME", "E-MAIL", "KIND", "STATUS", "ROLES", "ID"]);
    for member in members {
        let account = &member.account;
        table.row([
            &account.display_name,
            &account.email,
            kind(account.access_level),
            word(account.status),
            &member.roles.join(", "),
            &account.id.to_string(),
        ]);
    }
    table
}

fn kind(level: AccessLevel) -> &'static str {
    match level {
        AccessLevel::Admin => "instance admin",
        AccessLevel::User => "person",
        AccessLevel::Service => "service",
    }
}

fn word(status: AccountStatus) -> &'static str {
    match status {
        AccountStatus::Active => "active",
        AccountStatus::Suspended => "suspended",
        AccountStatus::Deactivated => "deactivated",
    }
}

fn one(json: bool, member: &Member) -> anyhow::Result<Exit> {
    show(json, member, || table(std::slice::from_ref(member)))
}

async fn create(client: &Client, json: bool, wanted: Create) -> anyhow::Result<Exit> {
    let manager_id = match &wanted.manager {
        Some(manager) => Some(account(client, manager).await?),
        None => None,
    };
    let request = CreateAccount {
        email: wanted.email,
        display_name: wanted.name,
        access_level: Some(match wanted.kind {
            Kind::User => AccessLevel::User,
            Kind::Service => AccessLevel::Service,
            Kind::Admin => AccessLevel::Admin,
        }),
        roles: wanted.roles,
        manager_id,
        password: None,
    };
    match client.create_account(&request).await? {
        CreatedAccount::Made(member) => one(json, &member),
        CreatedAccount::Invited(invited) if json => show(true, &invited, || Table::new([])),
        CreatedAccount::Invited(invited) => done(
            false,
            &format!(
                "somebody has this e-mail and was invited; they accept with: countersign org accept {}",
                invited.invitation_id
            ),
        ),
    }
}

async fn update(client: &Client, json: bool, wanted: Update) -> anyhow::Result<Exit> {
    let change = something(ChangeAccount {
        display_name: wanted.name,
        email: wanted.email,
        gitea_username: wanted.gitea.map(|name| Some(name).filter(|name| !name.is_empty())),
        ..ChangeAccount::default()
    })?;
    let id = account(client, &wanted.account).await?;
    one(json, &client.change_account(id, &change).await?)
}

async fn status(client: &Client, json: bool, named: &str, status: AccountStatus) -> anyhow::Result<Exit> {
    let id = account(client, named).await?;
    let change = ChangeAccount { status: Some(status), ..ChangeAccount::default() };
    one(json, &client.change_account(id, &change).await?)
}

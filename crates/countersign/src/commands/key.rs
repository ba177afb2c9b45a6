//! `countersign key`: API keys.

use std::io::{Write, stderr, stdout};

use clap::{Args, Subcommand};
use client::Client;
use uuid::Uuid;
use wire::{ApiKey, CreateApiKey, CreatedApiKey, PageQuery};

use super::answer::{account, done, expiry, organization, show};
use crate::cli::{ClientFlags, block_on};
use crate::exit::Exit;
use crate::terminal::Table;

pub(crate) const EXAMPLES: &str = "\
Examples:
  countersign key list
  countersign key mint ci --scope events:read --expires 30d
  countersign key mint first --account ada@example.org         enrols somebody who has no credential yet
  countersign key rotate 0197a2c4-7d1e-7000-8000-3f2a1b0c9d8e
  countersign key revoke 0197a2c4-7d1e-7000-8000-3f2a1b0c9d8e

A key is shown once, alone on stdout: KEY=$(countersign key mint ci)";

#[derive(Args)]
pub(crate) struct Key {
    #[command(flatten)]
    client: ClientFlags,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Show your keys and those of your agents; an admin sees the organization's
    #[command(after_help = "Example: countersign key list --json")]
    List,
    /// Mint a key and print it, once
    #[command(after_help = "Example: countersign key mint ci --scope events:read --expires 30d")]
    Mint(Mint),
    /// Replace a key by a new one with the same rights, and print that
    #[command(after_help = "Example: countersign key rotate 0197a2c4-7d1e-7000-8000-3f2a1b0c9d8e")]
    Rotate {
        /// Its id
        key: Uuid,
    },
    /// End a key at once
    #[command(after_help = "Example: countersign key revoke 0197a2c4-7d1e-7000-8000-3f2a1b0c9d8e")]
    Revoke {
        /// Its id
        key: Uuid,
    },
}

#[derive(Args)]
struct Mint {
    /// What it is for
    name: String,
    /// Limit it to this permission, such as events:read or tasks:*; may be repeated
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,
    /// When it ends: days such as 30d, or a time
    #[arg(long, value_parser = expiry, value_name = "WHEN")]
    expires: Option<String>,
    /// Whose it is; yours without it
    #[arg(long)]
    account: Option<String>,
    /// Where it acts; your organization without it
    #[arg(long, value_name = "ORGANIZATION")]
    org: Option<String>,
}

pub(crate) fn run(command: Key) -> anyhow::Result<Exit> {
    let client = command.client.client()?;
    let json = command.client.json;
    block_on(async {
        match command.action {
            Action::List => {
                let page = client.api_keys(&PageQuery { limit: Some(200), cursor: None }).await?;
                show(json, &page, || table(&page.items))
            }
            Action::Mint(wanted) => mint(&client, json, wanted).await,
            Action::Rotate { key } => given(json, &client.rotate_api_key(key).await?),
            Action::Revoke { key } => {
                client.revoke_api_key(key).await?;
                done(json, "the key has ended")
            }
        }
    })
}

async fn mint(client: &Client, json: bool, wanted: Mint) -> anyhow::Result<Exit> {
    let account_id = match &wanted.account {
        Some(named) => Some(account(client, named).await?),
        None => None,
    };
    let organization_id = match &wanted.org {
        Some(named) => Some(organization(client, Some(named)).await?),
        None => None,
    };
    let request = CreateApiKey {
        account_id,
        name: wanted.name,
        scopes: Some(wanted.scopes).filter(|scopes| !scopes.is_empty()),
        expires_at: wanted.expires,
        organization_id,
    };
    given(json, &client.create_api_key(&request).await?)
}

/// The key alone on stdout, so that a script can take it; what is worth knowing beside it on stderr.
pub(super) fn given(json: bool, created: &CreatedApiKey) -> anyhow::Result<Exit> {
    if json {
        return show(true, created, || Table::new([]));
    }
    let key = &created.api_key;
    let scopes = key.scopes.as_ref().map_or("everything the account may".to_owned(), |all| all.join(", "));
    writeln!(stderr(), "key {} ({}), for {scopes}. It is shown only now:", key.name, key.id)?;
    writeln!(stdout(), "{}", created.key.as_deref().unwrap_or_default())?;
    Ok(Exit::Done)
}

fn table(keys: &[ApiKey]) -> Table {
    let mut table = Table::new(["NAME", "BEGINS", "SCOPES", "STATE", "LAST USED", "ID"]);
    for key in keys {
        let state = match (&key.revoked_at, &key.expires_at) {
            (Some(_), _) if key.rotated_to_id.is_some() => "rotated".to_owned(),
            (Some(_), _) => "revoked".to_owned(),
            (None, Some(at)) => format!("until {at}"),
            (None, None) => "active".to_owned(),
        };
        table.row([
            &key.name,
            &key.prefix,
            &key.scopes.as_ref().map_or("all".to_owned(), |scopes| scopes.join(", ")),
            &state,
            key.last_used_at.as_deref().unwrap_or("never"),
            &key.id.to_string(),
        ]);
    }
    table
}

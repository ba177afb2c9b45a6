//! `countersign grant`: single-use tokens for a hash.

use std::io::{Write, stderr, stdin, stdout};

use anyhow::Context;
use clap::{Args, Subcommand};
use client::Client;
use uuid::Uuid;
use wire::{
    ConsumeGrant, CreateGrant, CreatedGrant, GrantStats, GrantStatsQuery, GrantStatus, PendingGrantsQuery,
    StandaloneGrant,
};

use super::answer::{show, show_all, show_one};
use crate::cli::{ClientFlags, block_on};
use crate::exit::Exit;
use crate::terminal::Table;

pub(crate) const EXAMPLES: &str = "\
Examples:
  TOKEN=$(countersign grant mint sha256:9f86d081884c7d65 --ttl 600)
  countersign grant consume sha256:9f86d081884c7d65 <<< \"$TOKEN\"
  countersign grant list
  countersign grant show 0197a2c4-7d1e-7000-8000-3f2a1b0c9d8e
  countersign grant stats

A token is shown once, alone on stdout, and works once. It is read from stdin, because every user of a machine can see
the arguments of its programs.";

const CONSUME_EXAMPLES: &str = "\
Example: countersign grant consume sha256:9f86d081884c7d65 --by ci <<< \"$TOKEN\"

The exit code is 0 if this command used the token, and 3 if the token may not be used: it was used before, it came too
late, it is for another hash, or nobody here has it.";

#[derive(Args)]
pub(crate) struct Grants {
    #[command(flatten)]
    client: ClientFlags,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Make a grant and print its token, once
    #[command(
        after_help = "Example: countersign grant mint sha256:9f86d081884c7d65 --ttl 600 --by escalation"
    )]
    Mint(Mint),
    /// Use a token that is read from stdin
    #[command(after_help = CONSUME_EXAMPLES)]
    Consume(Consume),
    /// Show grants that can be used, newest first
    #[command(after_help = "Example: countersign grant list --limit 1000 --json")]
    List {
        /// At most so many, up to 1000
        #[arg(long, default_value_t = wire::standalone_grants::PENDING_LIMIT_DEFAULT)]
        limit: u32,
    },
    /// Show a grant
    #[command(after_help = "Example: countersign grant show 0197a2c4-7d1e-7000-8000-3f2a1b0c9d8e")]
    Show {
        /// Its id
        grant: Uuid,
    },
    /// Show how many there are of each kind, and what the cleanup did
    #[command(after_help = "Example: countersign grant stats --json")]
    Stats,
}

#[derive(Args)]
struct Mint {
    /// What the token shall be good for
    hash: String,
    /// How many seconds it lives; the hub's default without it
    #[arg(long, value_name = "SECONDS")]
    ttl: Option<u32>,
    /// Who makes it, as shown to others; the audit trail names your account in any case
    #[arg(long, value_name = "LABEL")]
    by: Option<String>,
}

#[derive(Args)]
struct Consume {
    /// What it is used for: exactly what it was made for
    hash: String,
    /// Who uses it, as shown to others; the audit trail names your account in any case
    #[arg(long, value_name = "LABEL")]
    by: Option<String>,
}

pub(crate) fn run(command: Grants) -> anyhow::Result<Exit> {
    let client = command.client.client()?;
    let json = command.client.json;
    block_on(async {
        match command.action {
            Action::Mint(wanted) => mint(&client, json, wanted).await,
            Action::Consume(wanted) => consume(&client, json, wanted).await,
            Action::List { limit } => {
                let query = PendingGrantsQuery { tenant_id: tenant(&client).await?, limit: Some(limit) };
                show_all(&client.pending_grants(&query).await?.approvals, json, table)
            }
            Action::Show { grant } => show_one(&client.grant(grant).await?, json, lines),
            Action::Stats => {
                let query = GrantStatsQuery { tenant_id: tenant(&client).await? };
                show_one(&client.grant_stats(&query).await?, json, numbers)
            }
        }
    })
}

/// The organization that the key or login acts in, which is the only one whose grants it sees.
async fn tenant(client: &Client) -> anyhow::Result<String> {
    Ok(client.me().await?.organization.id.to_string())
}

async fn mint(client: &Client, json: bool, wanted: Mint) -> anyhow::Result<Exit> {
    let request = CreateGrant {
        tenant_id: tenant(client).await?,
        ir_hash: wanted.hash,
        ttl_seconds: wanted.ttl,
        created_by: wanted.by,
    };
    given(json, &client.create_grant(&request).await?)
}

/// The token alone on stdout, so that a script can take it; what is worth knowing beside it on stderr.
fn given(json: bool, created: &CreatedGrant) -> anyhow::Result<Exit> {
    if json {
        return show(true, created, || Table::new([]));
    }
    let (id, until) = (created.approval_id, &created.expires_at);
    writeln!(stderr(), "grant {id}, until {until}. Its token is shown only now:")?;
    writeln!(stdout(), "{}", created.token.as_deref().unwrap_or_default())?;
    Ok(Exit::Done)
}

async fn consume(client: &Client, json: bool, wanted: Consume) -> anyhow::Result<Exit> {
    let mut token = String::new();
    stdin().read_line(&mut token).context("the token cannot be read from stdin")?;
    let request = ConsumeGrant {
        token: token.trim().to_owned(),
        tenant_id: tenant(client).await?,
        ir_hash: wanted.hash,
        consumed_by: wanted.by,
    };
    show_one(&client.consume_grant(&request).await?, json, lines)
}

fn word(status: GrantStatus) -> &'static str {
    match status {
        GrantStatus::Pending => "pending",
        GrantStatus::Consumed => "consumed",
        GrantStatus::Expired => "expired",
    }
}

fn table(grants: &[StandaloneGrant]) -> Table {
    let mut table = Table::new(["ID", "HASH", "MADE BY", "MADE", "UNTIL", "SEEN BY"]);
    for grant in grants {
        table.row([
            &grant.approval_id.to_string(),
            &grant.ir_hash,
            &grant.created_by,
            &grant.created_at,
            &grant.expires_at,
            grant.acknowledged_by.as_deref().unwrap_or("-"),
        ]);
    }
    table
}

fn lines(grant: &StandaloneGrant) -> Vec<(&'static str, String)> {
    let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    vec![
        ("id", grant.approval_id.to_string()),
        ("status", word(grant.status).to_owned()),
        ("hash", grant.ir_hash.clone()),
        ("made by", grant.created_by.clone()),
        ("made", grant.created_at.clone()),
        ("until", grant.expires_at.clone()),
        ("used by", or_dash(&grant.consumed_by)),
        ("used", or_dash(&grant.consumed_at)),
        ("seen by", or_dash(&grant.acknowledged_by)),
        ("seen", or_dash(&grant.acknowledged_at)),
    ]
}

fn numbers(stats: &GrantStats) -> Vec<(&'static str, String)> {
    let mut lines = vec![
        ("pending", stats.by_status.pending.to_string()),
        ("consumed", stats.by_status.consumed.to_string()),
        ("expired", stats.by_status.expired.to_string()),
    ];
    if let Some(worker) = &stats.cleanup_worker {
        lines.push(("cleanups", worker.runs.to_string()));
        lines.push(("last cleanup", worker.last_run.clone().unwrap_or_else(|| "-".to_owned())));
        lines.push(("cleaned", worker.total_cleaned.to_string()));
    }
    lines
}

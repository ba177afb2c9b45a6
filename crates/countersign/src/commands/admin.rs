//! `countersign admin …`: what the operator does with the hub's data in hand, also while the hub runs.

use std::io::{Write, stdout};
use std::sync::Arc;

use clap::{Args, Subcommand};
use domain::login_links::LINK_LASTS;
use hub::identity::operator::{LinkFor, Operator};
use serde_json::json;

use crate::cli::block_on;
use crate::commands::serve::login_link;
use crate::config::{Config, ServerFlags, load};
use crate::exit::Exit;
use crate::open;
use crate::terminal::write_json;

pub(crate) const EXAMPLES: &str = "\
Examples:
  countersign admin login-link                          for the only admin of the hub
  countersign admin create-admin grace@example.org --name 'Grace Hopper'
  countersign admin rotate-keys                         new keys for secrets and seals; the hub must be stopped

All work on the hub's data, the first two also while it runs, and are on record in the audit trail.";

const LINK_EXAMPLES: &str = "\
Examples:
  countersign admin login-link --data /var/lib/countersign
  countersign admin login-link ada@example.org
  DATABASE_URL=postgres://hub@db/hub countersign admin login-link ada@example.org

The link works once, for 15 minutes. Whoever opens it can then set a password at /account.";

const ADMIN_EXAMPLES: &str = "\
Examples:
  countersign admin create-admin grace@example.org
  countersign admin create-admin grace@example.org --name 'Grace Hopper' --data /var/lib/countersign";

const ROTATE_EXAMPLES: &str = "\
Examples:
  countersign admin rotate-keys --data /var/lib/countersign

Stop the hub first. The old keys stay in their files: seals they signed are checked with them. Copy the keys directory to
every server that shares the database, and back it up.";

#[derive(Args)]
pub(crate) struct Admin {
    #[command(subcommand)]
    command: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Make a link that logs somebody in once
    #[command(after_help = LINK_EXAMPLES)]
    LoginLink {
        /// E-mail or id of the account; the only admin of the hub without it
        account: Option<String>,
        #[command(flatten)]
        server: ServerFlags,
        /// Answer in JSON
        #[arg(long)]
        json: bool,
    },
    /// Make another admin of the hub, and a link to log in with
    #[command(after_help = ADMIN_EXAMPLES)]
    CreateAdmin {
        /// The e-mail of the admin
        email: String,
        /// What people see; the e-mail without it
        #[arg(long)]
        name: Option<String>,
        #[command(flatten)]
        server: ServerFlags,
        /// Answer in JSON
        #[arg(long)]
        json: bool,
    },
    /// Give the hub new keys of its own for secrets and seals
    #[command(after_help = ROTATE_EXAMPLES)]
    RotateKeys {
        #[command(flatten)]
        server: ServerFlags,
        /// Answer in JSON
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(admin: Admin) -> anyhow::Result<Exit> {
    match admin.command {
        Action::LoginLink { account, server, json } => {
            let config = load(&server)?.config;
            let link = block_on(async {
                let operator = open::operator(&config).await?;
                let link = operator.login_link(account.as_deref()).await;
                operator.records.close().await;
                Ok(link?)
            })?;
            show(&config, &link, json)
        }
        Action::CreateAdmin { email, name, server, json } => {
            let config = load(&server)?.config;
            let link = block_on(async {
                let operator = open::operator(&config).await?;
                let link = operator.create_admin(&email, name.as_deref()).await;
                operator.records.close().await;
                Ok(link?)
            })?;
            show(&config, &link, json)
        }
        Action::RotateKeys { server, json } => {
            let config = load(&server)?.config;
            let ids = block_on(rotate(&config))?;
            if json {
                write_json(&mut stdout(), &json!({"keys": ids}))?;
            } else {
                writeln!(stdout(), "new keys: {}; start the hub again", ids.join(", "))?;
            }
            Ok(Exit::Done)
        }
    }
}

/// With the hub's place taken, so that none runs with the keys of before.
async fn rotate(config: &Config) -> anyhow::Result<Vec<String>> {
    let operator = open::operator(config).await?;
    operator.records.close().await;
    let opened = open::hub(config, false).await?;
    let hub = &opened.hub;
    let operator = Operator { records: hub.records.clone(), ids: Arc::clone(&hub.ids), now: hub.clock.now() };
    let ids = operator.rotate_keys(&config.keys_dir).await;
    hub.stop().await;
    Ok(ids?)
}

fn show(config: &Config, link: &LinkFor, json: bool) -> anyhow::Result<Exit> {
    let public_url = config.http.public_url.clone();
    let public_url = public_url.unwrap_or_else(|| format!("http://{}", config.http.listen));
    let url = login_link(&public_url, &link.secret);
    if json {
        let account = json!({"id": link.account.id.to_string(), "email": link.account.email});
        let answer = json!({"url": url, "account": account, "expires_in": LINK_LASTS.as_secs()});
        write_json(&mut stdout(), &answer)?;
    } else {
        writeln!(stdout(), "{url}")?;
    }
    Ok(Exit::Done)
}

//! `countersign admin …`: what the operator does with the hub's data in hand, also while the hub runs.

use std::io::{Write, stdout};

use clap::{Args, Subcommand};
use domain::login_links::LINK_LASTS;
use hub::identity::operator::LinkFor;
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

Both work on the hub's data, also while it runs, and are on record in the audit trail.";

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
    }
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

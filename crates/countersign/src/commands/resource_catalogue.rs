//! `countersign catalogue`: how much depends on which resource.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::Value;
use wire::CatalogueRule;

use super::answer::show;
use super::documents;
use crate::cli::{ClientFlags, Usage, block_on};
use crate::exit::Exit;
use crate::terminal::Table;

pub(crate) const EXAMPLES: &str = "\
Examples:
  countersign catalogue show
  countersign catalogue set -f catalogue.toml";

const SET_EXAMPLES: &str = "\
Examples:
  countersign catalogue set -f catalogue.json
  echo '[{\"pattern\": \"database:prod-*\", \"criticality\": 90}]' | countersign catalogue set -f -

In TOML (catalogue.toml) each rule is a [[rule]]; the first that means a resource speaks for it:
  [[rule]]
  pattern = 'database:prod-*'
  criticality = 90
  blast_radius = 20";

#[derive(Args)]
pub(crate) struct Catalogue {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Show the rules by which resources are rated
    #[command(after_help = "Example: countersign catalogue show --json")]
    Show {
        #[command(flatten)]
        client: ClientFlags,
    },
    /// Replace the rules, all of them, by those of a file
    #[command(after_help = SET_EXAMPLES)]
    Set {
        #[command(flatten)]
        client: ClientFlags,
        /// The file; - reads JSON from standard input
        #[arg(short, long, value_name = "FILE")]
        file: PathBuf,
    },
}

pub(crate) fn run(command: Catalogue) -> anyhow::Result<Exit> {
    let (rules, json) = block_on(async {
        Ok(match command.action {
            Action::Show { client } => (client.client()?.resource_catalogue().await?, client.json),
            Action::Set { client, file } => {
                let rules = wanted(documents::read(&file)?)?;
                (client.client()?.replace_resource_catalogue(&rules).await?, client.json)
            }
        })
    })?;
    show(json, &rules, || {
        let mut table = Table::new(["PATTERN", "CRITICALITY", "BLAST RADIUS"]);
        for rule in &rules {
            let radius = rule.blast_radius.map_or_else(|| "as any".to_owned(), |radius| radius.to_string());
            table.row([&rule.pattern, &rule.criticality.to_string(), &radius]);
        }
        table
    })
}

/// A list of rules; TOML has no list without a name.
fn wanted(value: Value) -> anyhow::Result<Vec<CatalogueRule>> {
    let list = value.get("rule").cloned().unwrap_or(value);
    Ok(serde_json::from_value(list).map_err(|error| Usage(format!("not a list of rules: {error}")))?)
}

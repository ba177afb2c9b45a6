//! `countersign config check`: every setting with its source.

use std::io::{Write, stdout};

use clap::Args;

use crate::config::{ServerFlags, load};
use crate::exit::Exit;
use crate::terminal::{Table, width, write_json};

pub(crate) const EXAMPLES: &str = "\
Examples:
  countersign config check
  countersign config check --config /etc/countersign.toml --json

Secrets are masked. The exit code is 2 if the hub would refuse to start.";

#[derive(Args)]
pub(crate) struct Check {
    #[command(flatten)]
    server: ServerFlags,
    /// Answer in JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(command: &Check) -> anyhow::Result<Exit> {
    let resolved = load(&command.server)?;
    if command.json {
        let settings: Vec<serde_json::Value> = resolved
            .shown
            .iter()
            .map(|one| serde_json::json!({"name": one.name, "value": one.value, "source": one.source.to_string()}))
            .collect();
        write_json(&mut stdout(), &settings)?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new(["SETTING", "VALUE", "SOURCE"]);
    for one in &resolved.shown {
        table.row([one.name, &one.value, &one.source.to_string()]);
    }
    write!(stdout(), "{}", table.render(width()))?;
    Ok(Exit::Done)
}

//! `countersign me`: who the login or key stands for.

use std::io::{Write, stdout};

use clap::Args;

use crate::cli::{ClientFlags, block_on};
use crate::exit::Exit;
use crate::terminal::{Table, width, write_json};

pub(crate) const EXAMPLES: &str = "\
Examples:
  countersign me
  countersign me --json";

#[derive(Args)]
pub(crate) struct Me {
    #[command(flatten)]
    client: ClientFlags,
}

pub(crate) fn run(command: &Me) -> anyhow::Result<Exit> {
    let client = command.client.client()?;
    let me = block_on(async { Ok(client.me().await?) })?;
    if command.client.json {
        write_json(&mut stdout(), &me)?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new(["", ""]);
    table.row(["account", &format!("{} <{}>", me.account.display_name, me.account.email)]);
    table.row(["organization", &me.organization.slug]);
    table.row(["roles", &me.roles.join(", ")]);
    table.row(["permissions", &me.permissions.join(", ")]);
    match (me.key_id, &me.login_session_id) {
        (None, Some(login)) => table.row(["login", login]),
        (key, _) => table.row(["key", &key.map(|id| id.to_string()).unwrap_or_default()]),
    }
    write!(stdout(), "{}", table.render(width()))?;
    Ok(Exit::Done)
}

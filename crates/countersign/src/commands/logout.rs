//! `countersign logout`: ends the kept login.

use std::io::{Write, stdout};

use clap::Args;
use client::{Client, ClientError};
use wire::Code;

use crate::cli::{ClientFlags, Usage, block_on};
use crate::exit::Exit;
use crate::saved_login;
use crate::terminal::write_json;

pub(crate) const EXAMPLES: &str = "\
Examples:
  countersign logout
  countersign logout --url https://hub.example.org";

#[derive(Args)]
pub(crate) struct Logout {
    #[command(flatten)]
    client: ClientFlags,
}

pub(crate) fn run(command: &Logout) -> anyhow::Result<Exit> {
    let url = command.client.stranger()?.base_url().to_string();
    let Some(token) = saved_login::token_for(&url)? else {
        return Err(Usage(format!("not logged in to {}", url.trim_end_matches('/'))).into());
    };
    let client = Client::new(&command.client.url, Some(&token))?;
    match block_on(async { Ok(client.log_out().await) })? {
        // One that has ended already is as good as one that ends now.
        Err(ClientError::Problem(problem)) if problem.known_code() == Some(Code::Unauthenticated) => {}
        ended => ended?,
    }
    saved_login::forget(&url)?;
    if command.client.json {
        write_json(&mut stdout(), &serde_json::json!({"url": url}))?;
    } else {
        writeln!(stdout(), "logged out of {}", url.trim_end_matches('/'))?;
    }
    Ok(Exit::Done)
}

//! `countersign events`: the log, once or as it grows.

use std::io::{IsTerminal, Write, stderr, stdout};
use std::time::Duration;

use clap::Args;
use client::Client;
use wire::{Event, EventsQuery};

use crate::cli::{ClientFlags, block_on};
use crate::exit::Exit;
use crate::terminal::{LineEnds, Table, shown, width, write_json_line};

pub(crate) const EXAMPLES: &str = "\
Examples:
  countersign events --types 'audit:*' --limit 20
  countersign events --follow --json | jq .type
  countersign events --follow --after 1042          continue where an earlier run ended";

const WAIT_SECONDS: u32 = 50;
const RECONNECT_MIN: Duration = Duration::from_millis(500);
const RECONNECT_MAX: Duration = Duration::from_secs(15);

#[derive(Args)]
pub(crate) struct Events {
    #[command(flatten)]
    client: ClientFlags,
    /// Only events after this number
    #[arg(long, value_name = "SEQ")]
    after: Option<i64>,
    /// Only these types, such as task:*,approval:requested
    #[arg(long, value_name = "TYPES")]
    types: Option<String>,
    /// At most so many (1 to 1000)
    #[arg(long, value_name = "N", default_value_t = 200)]
    limit: u32,
    /// Go on as events happen; reconnects by itself
    #[arg(long, short)]
    follow: bool,
}

pub(crate) fn run(command: &Events) -> anyhow::Result<Exit> {
    let client = command.client.client()?;
    block_on(async {
        if command.follow { follow(command, &client).await } else { once(command, &client).await }
    })
}

fn query(command: &Events, after: Option<i64>, wait_seconds: Option<u32>) -> EventsQuery {
    EventsQuery { after, types: command.types.clone(), limit: Some(command.limit), wait_seconds }
}

async fn once(command: &Events, client: &Client) -> anyhow::Result<Exit> {
    let found = client.events(&query(command, command.after, None)).await?;
    if command.client.json {
        for event in &found.items {
            write_json_line(&mut stdout(), event)?;
        }
        return Ok(Exit::Done);
    }
    let mut table = Table::new(["SEQ", "WHEN", "TYPE", "SUBJECT", "SOURCE"]);
    for event in &found.items {
        let subject = format!("{} {}", event.subject.kind, event.subject.id);
        table.row([&number(event), &event.occurred_at, &event.kind, &subject, &event.source]);
    }
    write!(stdout(), "{}", table.render(width()))?;
    Ok(Exit::Done)
}

fn number(event: &Event) -> String {
    event.seq.map_or_else(|| "live".to_owned(), |seq| seq.to_string())
}

async fn follow(command: &Events, client: &Client) -> anyhow::Result<Exit> {
    let mut after = command.after;
    let mut pause = RECONNECT_MIN;
    loop {
        match client.events(&query(command, after, Some(WAIT_SECONDS))).await {
            Ok(found) => {
                pause = RECONNECT_MIN;
                for event in &found.items {
                    print(command, event)?;
                }
                after = Some(found.last_seq);
            }
            Err(error) if error.passes() => {
                let at = after.map_or_else(String::new, |after| format!(" after {after}"));
                writeln!(stderr(), "{error}\ntrying again{at} in {:.1} s", pause.as_secs_f32())?;
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(RECONNECT_MAX);
            }
            Err(error) => return Err(error.into()),
        }
    }
}

fn print(command: &Events, event: &Event) -> anyhow::Result<()> {
    let mut out = stdout();
    if command.client.json {
        write_json_line(&mut out, event)?;
    } else {
        let subject = format!("{} {}", event.subject.kind, event.subject.id);
        let line = format!("{}  {}  {}  {subject}", number(event), event.occurred_at, event.kind);
        writeln!(out, "{}", shown(&line, out.is_terminal(), LineEnds::Escape))?;
    }
    Ok(out.flush()?)
}

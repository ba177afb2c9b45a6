//! `countersign archive`: what finished tasks left behind, and the proof that nobody changed it.

use std::fs;
use std::io::{Write, stdout};
use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, Subcommand};
use client::{Client, Export};
use domain::archives::verify::{Proven, verify};
use domain::audit::merkle::hash_from_hex;
use domain::canonical::Sha256Hash;
use ed25519_dalek::VerifyingKey;
use serde_json::{Value, json};
use uuid::Uuid;
use wire::{Archive, PageQuery};

use super::answer::{SHOWN_DEFAULT, pages, show_all};
use crate::cli::{ClientFlags, Usage, block_on};
use crate::exit::Exit;
use crate::terminal::{LineEnds, Table, shown, width, write_json_line};

pub(crate) const EXAMPLES: &str = "\
Examples:
  countersign archive list
  countersign archive show 0196304c-3c1f-7a52-8a44-2d1f8f6f1c3e
  countersign archive show --task 01962f0e-7b1c-7d43-9a51-3f1c1b2a4d5e --verify
  countersign archive show --file tasks.ndjson --verify      (needs no hub)";

const SHOW_EXAMPLES: &str = "\
Examples:
  countersign archive show 0196304c-3c1f-7a52-8a44-2d1f8f6f1c3e
  countersign archive show 0196304c-3c1f-7a52-8a44-2d1f8f6f1c3e --json > tasks.ndjson
  countersign archive show --file tasks.ndjson --verify --key 5a0c…      (needs no hub)

With --json the lines come as they were written. With --verify the exit code is 0 if every line is what the sealed
record says, and 1 if not. Without --key signatures are checked with the keys inside the archive; compare them with
those of `GET /api/v1/audit/{id}/proof`, or with an export of the trail.";

#[derive(Args)]
pub(crate) struct Archives {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Show archives, newest first
    #[command(after_help = "Example: countersign archive list --json")]
    List(List),
    /// Show the tasks in an archive, or prove them
    #[command(after_help = SHOW_EXAMPLES)]
    Show(Show),
}

#[derive(Args)]
struct List {
    #[command(flatten)]
    client: ClientFlags,
    /// At most so many
    #[arg(long, default_value_t = SHOWN_DEFAULT)]
    limit: usize,
}

#[derive(Args)]
struct Show {
    #[command(flatten)]
    client: ClientFlags,
    /// Which archive
    #[arg(required_unless_present_any = ["task", "file"], conflicts_with_all = ["task", "file"])]
    archive: Option<Uuid>,
    /// Only this task, wherever it is archived
    #[arg(long, value_name = "TASK ID", conflicts_with = "file")]
    task: Option<Uuid>,
    /// Read lines that were saved with --json, without a hub
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Prove each line
    #[arg(long)]
    verify: bool,
    /// Believe signatures of this key only, 64 hexadecimal digits; may be given several times
    #[arg(long, value_name = "PUBLIC KEY", requires = "verify")]
    key: Vec<String>,
}

pub(crate) fn run(command: Archives) -> anyhow::Result<Exit> {
    match command.action {
        Action::List(list) => run_list(&list),
        Action::Show(show) => run_show(&show),
    }
}

fn run_list(list: &List) -> anyhow::Result<Exit> {
    let client = list.client.client()?;
    let found: Vec<Archive> = block_on(pages(list.limit, async |cursor| {
        client.archives(&PageQuery { limit: None, cursor }).await
    }))?;
    show_all(&found, list.client.json, |found| {
        let mut table = Table::new(["ID", "WRITTEN", "TASKS", "APPROVALS", "BYTES", "ENDED FROM", "TO"]);
        for archive in found {
            table.row([
                &archive.id.to_string(),
                &archive.created_at,
                &archive.tasks.to_string(),
                &archive.approvals.to_string(),
                &archive.bytes.to_string(),
                &archive.first_ended_at,
                &archive.last_ended_at,
            ]);
        }
        table
    })
}

fn run_show(show: &Show) -> anyhow::Result<Exit> {
    let keys = show.key.iter().map(|text| public_key(text)).collect::<Result<Vec<_>, _>>()?;
    let bytes = match &show.file {
        Some(path) => fs::read(path).with_context(|| format!("cannot read {}", path.display()))?,
        None => fetched(show)?,
    };
    let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
    if show.verify {
        return prove(&lines, Some(keys.as_slice()).filter(|keys| !keys.is_empty()), show.client.json);
    }
    if show.client.json {
        stdout().write_all(&bytes)?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new(["TASK", "STATE", "ENDED", "TYPE", "DESCRIPTION"]);
    for line in lines {
        let line: Value = serde_json::from_slice(line).context("this is not a line of an archive")?;
        let text = |pointer: &str| line.pointer(pointer).and_then(Value::as_str).unwrap_or("-").to_owned();
        let revision = line["revisions"].as_array().and_then(|all| all.last()).cloned().unwrap_or_default();
        let description = revision["config"]["description"].as_str().unwrap_or("-").to_owned();
        table.row([
            &text("/task/id"),
            &text("/task/state"),
            &text("/task/ended_at"),
            &text("/task/task_type"),
            &description,
        ]);
    }
    write!(stdout(), "{}", table.render(width()))?;
    Ok(Exit::Done)
}

fn public_key(text: &str) -> Result<VerifyingKey, Usage> {
    let key = hash_from_hex(text).and_then(|bytes| VerifyingKey::from_bytes(&bytes).ok());
    key.ok_or_else(|| Usage("--key takes the 64 hexadecimal digits of an Ed25519 public key".into()))
}

/// What the hub has, whole: an archive is a few MiB.
fn fetched(show: &Show) -> anyhow::Result<Vec<u8>> {
    let client = show.client.client()?;
    block_on(async {
        if let Some(task) = show.task {
            return collected(client.archived_task(task).await?).await;
        }
        let id = show.archive.ok_or_else(|| Usage("say which archive, or --task".into()))?;
        whole(&client, id).await
    })
}

async fn whole(client: &Client, id: Uuid) -> anyhow::Result<Vec<u8>> {
    let archive = client.archive(id).await?;
    let bytes = collected(client.archive_content(id).await?).await?;
    if Sha256Hash::of(&bytes).to_string() != archive.sha256 {
        anyhow::bail!("the bytes of archive {id} are not those that were written: their hash is another");
    }
    Ok(bytes)
}

async fn collected(mut export: Export) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    while let Some(chunk) = export.chunk().await? {
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

fn prove(lines: &[&[u8]], keys: Option<&[VerifyingKey]>, json: bool) -> anyhow::Result<Exit> {
    let mut exit = Exit::Done;
    let mut signers = Vec::new();
    for (number, line) in (1..).zip(lines) {
        match verify(line, keys) {
            Ok(proven) => {
                signers.extend(proven.key_ids.iter().cloned());
                good(number, &proven, json)?;
            }
            Err(flaw) => {
                exit = Exit::Failed;
                bad(number, &flaw.to_string(), json)?;
            }
        }
    }
    if keys.is_none() && !json && !signers.is_empty() {
        signers.sort();
        signers.dedup();
        writeln!(
            stdout(),
            "note: signatures were checked with the keys inside the archive ({}); say --key to believe one only",
            signers.join(", ")
        )?;
    }
    Ok(exit)
}

fn good(number: u64, proven: &Proven, json: bool) -> anyhow::Result<()> {
    let Proven { task_id, rows, key_ids, keys_trusted } = proven;
    if json {
        let answer = json!({
            "ok": true, "line": number, "task_id": task_id, "rows": rows, "key_ids": key_ids,
            "keys_trusted": keys_trusted,
        });
        return Ok(write_json_line(&mut stdout(), &answer)?);
    }
    Ok(writeln!(stdout(), "ok: task {task_id}: {rows} rows of the audit trail prove it")?)
}

fn bad(number: u64, flaw: &str, json: bool) -> anyhow::Result<()> {
    if json {
        let answer = json!({"ok": false, "line": number, "finding": flaw});
        return Ok(write_json_line(&mut stdout(), &answer)?);
    }
    Ok(writeln!(stdout(), "BAD: line {number}: {}", shown(flaw, true, LineEnds::Escape))?)
}

//! `countersign audit`: who did what, and the proof that nobody rewrote it.

use std::fs::File;
use std::io::{BufRead, BufReader, Write, stdout};
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use domain::audit::export::ExportVerifier;
use domain::audit::merkle::hash_from_hex;
use domain::audit::{Finding, Hash, Report};
use hub::audit::verify::verify_chain;
use hub::keys::seal_keys;
use records::Db;
use records::audit::checks;
use wire::AuditQuery;

use crate::cli::{ClientFlags, Usage, block_on};
use crate::config::{Config, ServerFlags, load};
use crate::data_dir::{DataDir, database_in};
use crate::exit::Exit;
use crate::open;
use crate::terminal::{LineEnds, Table, shown, width, write_json, write_json_line};

pub(crate) const EXAMPLES: &str = "\
Examples:
  countersign audit list --action api_key:minted
  countersign audit export audit.ndjson
  countersign audit verify --export audit.ndjson
  countersign audit verify --data ./countersign-data --head 9f2c…    (the hub must be stopped)";

const LIST_EXAMPLES: &str = "\
Examples:
  countersign audit list --limit 10
  countersign audit list --action api_key:minted --json | jq .items[].subject.id";

const EXPORT_EXAMPLES: &str = "\
Examples:
  countersign audit export audit.ndjson
  countersign audit export | gzip > audit.ndjson.gz";

const VERIFY_EXAMPLES: &str = "\
Examples:
  countersign audit verify --export audit.ndjson
  countersign audit verify --data ./countersign-data                 (the hub must be stopped)
  countersign audit verify --data ./countersign-data --head 9f2c…    a hash the log or an event told earlier

The exit code is 0 if everything is as it was sealed, and 1 if not. What was cut off at the end only --head can tell.";

#[derive(Args)]
pub(crate) struct Audit {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Show rows, newest first
    #[command(after_help = LIST_EXAMPLES)]
    List(List),
    /// Write the organization's whole chain to a file
    #[command(after_help = EXPORT_EXAMPLES)]
    Export(Export),
    /// Prove a data directory or an export; names the first bad row
    #[command(after_help = VERIFY_EXAMPLES)]
    Verify(Verify),
}

#[derive(Args)]
struct List {
    #[command(flatten)]
    client: ClientFlags,
    /// Only this action, such as api_key:minted
    #[arg(long)]
    action: Option<String>,
    /// Only what this account did
    #[arg(long, value_name = "ACCOUNT ID")]
    actor: Option<uuid::Uuid>,
    /// At most so many (1 to 200)
    #[arg(long, default_value_t = 50)]
    limit: u32,
}

#[derive(Args)]
struct Export {
    #[command(flatten)]
    client: ClientFlags,
    /// The file to write; stdout without it
    file: Option<PathBuf>,
}

#[derive(Args)]
struct Verify {
    #[command(flatten)]
    server: ServerFlags,
    /// Verify this export instead of the hub's own data
    #[arg(long, value_name = "FILE", conflicts_with_all = ["data", "listen", "config"])]
    export: Option<PathBuf>,
    /// The chain must still contain this seal
    #[arg(long, value_name = "HASH")]
    head: Option<String>,
    /// Answer in JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(command: Audit) -> anyhow::Result<Exit> {
    match command.action {
        Action::List(list) => run_list(&list),
        Action::Export(export) => run_export(&export),
        Action::Verify(verify) => run_verify(&verify),
    }
}

fn run_list(list: &List) -> anyhow::Result<Exit> {
    let client = list.client.client()?;
    let query = AuditQuery {
        action: list.action.clone(),
        actor: list.actor,
        limit: Some(list.limit),
        ..AuditQuery::default()
    };
    let page = block_on(async { Ok(client.audit(&query).await?) })?;
    if list.client.json {
        write_json(&mut stdout(), &page)?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new(["WHEN", "ACTION", "SUBJECT", "ACTOR", "SEAL"]);
    for row in &page.items {
        let subject = format!("{} {}", row.subject.kind, row.subject.id);
        let seal = row.seal.as_ref().map_or_else(|| "-".to_owned(), |seal| seal.number.to_string());
        table.row([&row.occurred_at, &row.action, &subject, &row.actor.to_string(), &seal]);
    }
    write!(stdout(), "{}", table.render(width()))?;
    Ok(Exit::Done)
}

fn run_export(export: &Export) -> anyhow::Result<Exit> {
    let client = export.client.client()?;
    let mut out: Box<dyn Write> = match &export.file {
        Some(path) => {
            Box::new(File::create_new(path).with_context(|| format!("cannot write {}", path.display()))?)
        }
        None => Box::new(stdout()),
    };
    block_on(async {
        let mut chunks = client.audit_export().await?;
        while let Some(chunk) = chunks.chunk().await? {
            out.write_all(&chunk)?;
        }
        Ok(())
    })?;
    out.flush()?;
    Ok(Exit::Done)
}

fn run_verify(verify: &Verify) -> anyhow::Result<Exit> {
    let head = match &verify.head {
        Some(text) => Some(hash_from_hex(text).ok_or_else(|| Usage("--head takes 64 hex digits".into()))?),
        None => None,
    };
    let verdicts = match &verify.export {
        Some(path) => vec![verify_export(path, head)?],
        None => verify_data(&load(&verify.server)?.config, head)?,
    };
    let mut exit = Exit::Done;
    for verdict in &verdicts {
        report(verdict, verify.json)?;
        if verdict.is_err() {
            exit = Exit::Failed;
        }
    }
    Ok(exit)
}

fn verify_export(path: &PathBuf, head: Option<Hash>) -> anyhow::Result<Result<Report, Finding>> {
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut lines = BufReader::new(file);
    let mut verifier = ExportVerifier::new(None);
    if let Some(head) = head {
        verifier = verifier.with_head(head);
    }
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line)? > 0 {
        if let Err(finding) = verifier.line(&line) {
            return Ok(Err(finding));
        }
        line.clear();
    }
    Ok(verifier.finish())
}

fn verify_data(config: &Config, head: Option<Hash>) -> anyhow::Result<Vec<Result<Report, Finding>>> {
    let keys = seal_keys(&config.keys_dir)?;
    if keys.is_empty() {
        bail!("there is no seal.key in {}; verify an export instead", config.keys_dir.display());
    }
    if config.records.database_url.is_none() && !database_in(&config.data).exists() {
        bail!("there is no database in {}; say where with --data", config.data.display());
    }
    // Held to the end: a hub that starts now must not write under the verifier.
    let data = DataDir::take(&config.data)?;
    block_on(async {
        let db = match &config.records.database_url {
            None => Db::open_sqlite(&data.database())?,
            Some(_) => open::postgres(config)?,
        };
        let mut verdicts = Vec::new();
        let mut head_found = head.is_none();
        for chain in checks::chains(&db).await? {
            let unreadable = || format!("the chain {chain} cannot be read");
            let mut verdict = verify_chain(&db, chain, &keys, head).await.with_context(unreadable)?;
            if let Err(Finding::HeadNotFound { .. }) = verdict {
                // The seal may be of another chain of this hub.
                verdict = verify_chain(&db, chain, &keys, None).await.with_context(unreadable)?;
            } else {
                head_found |= verdict.is_ok();
            }
            verdicts.push(verdict);
        }
        if let Some(head) = head.filter(|_| !head_found) {
            verdicts.push(Err(Finding::HeadNotFound { head: hash_text(head) }));
        }
        db.close().await;
        Ok(verdicts)
    })
}

fn hash_text(hash: Hash) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn report(verdict: &Result<Report, Finding>, json: bool) -> anyhow::Result<()> {
    let mut out = stdout();
    match verdict {
        Ok(report) if json => write_json_line(
            &mut out,
            &serde_json::json!({
                "ok": true, "chain": report.chain.to_string(), "seals": report.seals, "rows": report.rows,
                "unsealed": report.unsealed, "head": report.head.map(hash_text), "keys_trusted": report.keys_trusted,
            }),
        )?,
        Ok(report) => {
            let head = report.head.map_or_else(|| "none".to_owned(), hash_text);
            writeln!(
                out,
                "ok: chain {}: {} rows under {} seals, {} not yet sealed, head {head}",
                report.chain,
                report.rows - report.unsealed,
                report.seals,
                report.unsealed
            )?;
            if !report.keys_trusted {
                writeln!(
                    out,
                    "note: signatures were checked with the keys inside the export; compare the head with one kept elsewhere (--head)"
                )?;
            }
        }
        Err(finding) if json => {
            write_json_line(&mut out, &serde_json::json!({"ok": false, "finding": finding.to_string()}))?;
        }
        Err(finding) => writeln!(out, "BAD: {}", shown(&finding.to_string(), true, LineEnds::Escape))?,
    }
    Ok(())
}

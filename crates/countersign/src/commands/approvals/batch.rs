//! Answering many requests at once.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write, stdout};
use std::str::FromStr;

use clap::{Args, ValueEnum};
use client::Client;
use uuid::Uuid;
use wire::{AnswerBatch, BatchAction, BatchOptions};

use super::decide::check;
use super::{read, table, with_task};
use crate::cli::{ClientFlags, Usage};
use crate::commands::answer::show_all;
use crate::exit::Exit;
use crate::terminal::ask;

pub(super) const EXAMPLES: &str = "\
Examples:
  countersign approval batch approve 0197a000-0000-7000-8000-000000000000 0197a000-0000-7000-8000-000000000001
      shows each of them whole, then asks once
  countersign approval batch reject 0197a000-0000-7000-8000-000000000000=sha256:… --reason 'not this week'
      what was read, as `approval show` printed it: ID=CONTENT_HASH or ID=CONTENT_HASH,REVIEW_HASH

All answers are taken, or none: if one task has changed since, nothing is answered and each that stands in the way is
named.";

#[derive(Args)]
pub(super) struct Batch {
    #[command(flatten)]
    client: ClientFlags,
    /// What to answer
    action: Said,
    /// The requests, each with the hashes of what you read; without them, it is shown and you are asked
    #[arg(value_name = "ID[=HASH[,HASH]]", required = true)]
    requests: Vec<Named>,
    /// Why
    #[arg(long)]
    reason: Option<String>,
    /// Put the tasks at the head of the queue; for admins
    #[arg(long)]
    apply_immediately: bool,
    /// Answer although a preview may be old; for admins
    #[arg(long)]
    skip_validation: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Said {
    Approve,
    Reject,
}

/// A request, and what was read of it.
#[derive(Clone)]
struct Named {
    id: Uuid,
    content_hash: Option<String>,
    review_hash: Option<String>,
}

impl FromStr for Named {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (id, hashes) = text.split_once('=').map_or((text, None), |(id, hashes)| (id, Some(hashes)));
        let both = hashes.map(|hashes| hashes.split_once(',').map_or((hashes, None), |(a, b)| (a, Some(b))));
        Ok(Self {
            id: id.parse()?,
            content_hash: both.map(|(content, _)| content.to_owned()),
            review_hash: both.and_then(|(_, review)| review).map(ToOwned::to_owned),
        })
    }
}

pub(super) async fn run(batch: Batch) -> anyhow::Result<Exit> {
    let client = batch.client.client()?;
    let requests = was_read(&client, &batch).await?;
    let hashes = |of: fn(&Named) -> Option<String>| -> BTreeMap<Uuid, String> {
        requests.iter().filter_map(|named| Some((named.id, of(named)?))).collect()
    };
    let review_hashes = hashes(|named| named.review_hash.clone());
    let options =
        BatchOptions { skip_validation: batch.skip_validation, apply_immediately: batch.apply_immediately };
    let wanted = AnswerBatch {
        approval_ids: requests.iter().map(|named| named.id).collect(),
        action: match batch.action {
            Said::Approve => BatchAction::Approve,
            Said::Reject => BatchAction::Reject,
        },
        reason: batch.reason,
        content_hashes: hashes(|named| named.content_hash.clone()),
        review_hashes: (!review_hashes.is_empty()).then_some(review_hashes),
        options: (options != BatchOptions::default()).then_some(options),
    };
    show_all(&client.answer_batch(&wanted).await?.items, batch.client.json, table)
}

/// What the person has read: what they say they have, or what they are shown now.
async fn was_read(client: &Client, batch: &Batch) -> anyhow::Result<Vec<Named>> {
    let mut requests = batch.requests.clone();
    if requests.iter().all(|named| named.content_hash.is_some()) {
        return Ok(requests);
    }
    if batch.client.json || !stdout().is_terminal() {
        let how = "nobody reads here: say ID=CONTENT_HASH as `countersign approval show` prints it, or run this on a \
                   terminal without --json";
        return Err(Usage(how.into()).into());
    }
    for named in requests.iter_mut().filter(|named| named.content_hash.is_none()) {
        let (request, task) = with_task(client, named.id).await?;
        check(&task)?;
        writeln!(stdout(), "{}", read(&request, &task))?;
        named.review_hash = task.review.and_then(|review| review.review_hash);
        named.content_hash = Some(task.content_hash);
    }
    stdout().flush()?;
    let verb = match batch.action {
        Said::Approve => "approve",
        Said::Reject => "reject",
    };
    let answer = ask(&format!("\nType yes to {verb} exactly these {}: ", requests.len()))?;
    anyhow::ensure!(answer.trim() == "yes", "nothing was answered");
    Ok(requests)
}

//! Answering: only to what was read, which the hashes say.

use std::io::{IsTerminal, Write, stdout};

use clap::Args;
use client::Client;
use domain::canonical::Sha256Hash;
use uuid::Uuid;
use wire::{Approve, Refuse, Task};

use super::{read, show_request, with_task};
use crate::cli::{ClientFlags, Usage};
use crate::exit::Exit;
use crate::terminal::ask;

pub(super) const APPROVE_EXAMPLES: &str = "\
Examples:
  countersign approval approve 0197a000-0000-7000-8000-000000000000            shows everything, then asks
  countersign approval approve 0197a000-0000-7000-8000-000000000000 \\
      --content-hash sha256:… --review-hash sha256:…                           what `approval show` printed

The answer counts for exactly what was read: if the task has changed since, it is refused.";
pub(super) const REJECT_EXAMPLES: &str = "\
Example: countersign approval reject 0197a000-0000-7000-8000-000000000000 --reason 'not on a Friday'";
pub(super) const CHANGES_EXAMPLES: &str = "\
Example: countersign approval request-changes 0197a000-0000-7000-8000-000000000000 --reason 'use CONCURRENTLY'";

/// What was read.
#[derive(Args)]
struct Hashes {
    /// The hash of what you read; without it, everything is shown and you are asked
    #[arg(long, value_name = "HASH")]
    content_hash: Option<String>,
    /// The hash of all that was shown with it
    #[arg(long, value_name = "HASH", requires = "content_hash")]
    review_hash: Option<String>,
}

#[derive(Args)]
pub(super) struct Approving {
    #[command(flatten)]
    client: ClientFlags,
    /// The request's id
    approval: Uuid,
    #[command(flatten)]
    hashes: Hashes,
    /// Why
    #[arg(long)]
    reason: Option<String>,
}

#[derive(Args)]
pub(super) struct Refusing {
    #[command(flatten)]
    client: ClientFlags,
    /// The request's id
    approval: Uuid,
    #[command(flatten)]
    hashes: Hashes,
    /// Why
    #[arg(long)]
    reason: String,
}

/// The hashes of what a person has read.
struct Read {
    content_hash: String,
    review_hash: Option<String>,
}

pub(super) async fn approve(approving: Approving) -> anyhow::Result<Exit> {
    let Approving { client: flags, approval, hashes, reason } = approving;
    let client = flags.client()?;
    let Read { content_hash, review_hash } = was_read(&client, &flags, (approval, hashes), "approve").await?;
    let answer = Approve { content_hash, review_hash, reason };
    show_request(&client.approve(approval, &answer).await?, flags.json)
}

pub(super) async fn reject(refusing: Refusing) -> anyhow::Result<Exit> {
    let Refusing { client: flags, approval, hashes, reason } = refusing;
    let client = flags.client()?;
    let Read { content_hash, review_hash } = was_read(&client, &flags, (approval, hashes), "reject").await?;
    let answer = Refuse { content_hash, review_hash, reason };
    show_request(&client.reject(approval, &answer).await?, flags.json)
}

pub(super) async fn request_changes(refusing: Refusing) -> anyhow::Result<Exit> {
    let Refusing { client: flags, approval, hashes, reason } = refusing;
    let client = flags.client()?;
    let Read { content_hash, review_hash } =
        was_read(&client, &flags, (approval, hashes), "request changes").await?;
    let answer = Refuse { content_hash, review_hash, reason };
    show_request(&client.request_changes(approval, &answer).await?, flags.json)
}

/// What the person has read: what they say they have, or what they are shown now.
async fn was_read(
    client: &Client,
    flags: &ClientFlags,
    (approval, hashes): (Uuid, Hashes),
    verb: &str,
) -> anyhow::Result<Read> {
    if let Some(content_hash) = hashes.content_hash {
        return Ok(Read { content_hash, review_hash: hashes.review_hash });
    }
    if flags.json || !stdout().is_terminal() {
        let how = "nobody reads here: say --content-hash (and --review-hash) as `countersign approval show` prints \
                   them, or run this on a terminal without --json";
        return Err(Usage(how.into()).into());
    }
    let (request, task) = with_task(client, approval).await?;
    check(&task)?;
    write!(stdout(), "{}", read(&request, &task))?;
    stdout().flush()?;
    let answer = ask(&format!("\nType yes to {verb} exactly this: "))?;
    anyhow::ensure!(answer.trim() == "yes", "nothing was answered");
    let review_hash = task.review.and_then(|review| review.review_hash);
    Ok(Read { content_hash: task.content_hash, review_hash })
}

/// What is shown must be what is signed.
pub(super) fn check(task: &Task) -> anyhow::Result<()> {
    let hash = Sha256Hash::of_value(&task.config).to_string();
    anyhow::ensure!(
        hash == task.content_hash,
        "the hub says that this task has the hash {}, and what it shows has {hash}; nothing was answered",
        task.content_hash
    );
    Ok(())
}

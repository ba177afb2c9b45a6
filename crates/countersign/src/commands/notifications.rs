//! `countersign notification`: what you were told.

use clap::{Args, Subcommand};
use uuid::Uuid;
use wire::{Notification, NotificationPreferences, NotificationsQuery, SetNotificationPreferences};

use super::answer::{SHOWN_DEFAULT, done, pages, show_all, show_one};
use crate::cli::{ClientFlags, block_on};
use crate::exit::Exit;
use crate::terminal::Table;

pub(crate) const EXAMPLES: &str = "\
Examples:
  countersign notification list --unread
  countersign notification read --all
  countersign notification preferences --mute task_completed";

const LIST_EXAMPLES: &str = "\
Examples:
  countersign notification list --unread
  countersign notification list --json | jq -r '.items[] | .kind + \" \" + .task_id'";
const READ_EXAMPLES: &str = "\
Examples:
  countersign notification read 0197a000-0000-7000-8000-000000000000
  countersign notification read --all";
const PREFERENCES_EXAMPLES: &str = "\
Examples:
  countersign notification preferences
  countersign notification preferences --mute task_completed --mute task_commented
  countersign notification preferences --unmute task_completed

What asks you for a decision cannot be muted.";

#[derive(Args)]
pub(crate) struct Notifications {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Show what you were told, the newest first
    #[command(after_help = LIST_EXAMPLES)]
    List(List),
    /// Say that you have read it
    #[command(after_help = READ_EXAMPLES)]
    Read(Read),
    /// Show or change what you are not told
    #[command(after_help = PREFERENCES_EXAMPLES)]
    Preferences(Preferences),
}

#[derive(Args)]
struct List {
    #[command(flatten)]
    client: ClientFlags,
    /// Only what you have not read
    #[arg(long)]
    unread: bool,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = SHOWN_DEFAULT)]
    limit: usize,
}

#[derive(Args)]
struct Read {
    #[command(flatten)]
    client: ClientFlags,
    /// Which ones
    #[arg(value_name = "ID", required_unless_present = "all")]
    notifications: Vec<Uuid>,
    /// All that you have not read
    #[arg(long, conflicts_with = "notifications")]
    all: bool,
}

#[derive(Args)]
struct Preferences {
    #[command(flatten)]
    client: ClientFlags,
    /// Do not tell me this; may be said several times
    #[arg(long, value_name = "KIND")]
    mute: Vec<String>,
    /// Tell me this again; may be said several times
    #[arg(long, value_name = "KIND")]
    unmute: Vec<String>,
}

pub(crate) fn run(command: Notifications) -> anyhow::Result<Exit> {
    block_on(async {
        match command.action {
            Action::List(list) => {
                show_all(&told(&list.client, list.unread, list.limit).await?, list.client.json, table)
            }
            Action::Read(read) => run_read(&read).await,
            Action::Preferences(preferences) => run_preferences(&preferences).await,
        }
    })
}

async fn told(flags: &ClientFlags, unread: bool, limit: usize) -> anyhow::Result<Vec<Notification>> {
    let client = flags.client()?;
    let query = NotificationsQuery { unread: unread.then_some(true), ..NotificationsQuery::default() };
    let page = async |cursor| client.notifications(&NotificationsQuery { cursor, ..query.clone() }).await;
    pages(limit, page).await
}

async fn run_read(read: &Read) -> anyhow::Result<Exit> {
    let client = read.client.client()?;
    let ids = match read.all {
        true => told(&read.client, true, usize::MAX).await?.into_iter().map(|one| one.id).collect(),
        false => read.notifications.clone(),
    };
    for id in &ids {
        client.read_notification(*id).await?;
    }
    done(read.client.json, &format!("read {}", ids.len()))
}

async fn run_preferences(wanted: &Preferences) -> anyhow::Result<Exit> {
    let client = wanted.client.client()?;
    let mut now = client.notification_preferences().await?;
    if !wanted.mute.is_empty() || !wanted.unmute.is_empty() {
        let mut muted = now.muted;
        muted.extend(wanted.mute.iter().cloned());
        muted.retain(|kind| !wanted.unmute.contains(kind));
        now = client.set_notification_preferences(&SetNotificationPreferences { muted }).await?;
    }
    show_one(&now, wanted.client.json, lines)
}

fn table(told: &[Notification]) -> Table {
    let mut table = Table::new(["ID", "TOLD", "READ", "KIND", "TASK"]);
    for one in told {
        let read = if one.read_at.is_some() { "yes" } else { "no" };
        table.row([&one.id.to_string(), &one.created_at, read, &one.kind, &one.task_id.to_string()]);
    }
    table
}

fn lines(preferences: &NotificationPreferences) -> Vec<(&'static str, String)> {
    vec![
        ("muted", preferences.muted.join(", ")),
        ("can be muted", preferences.mutable.join(", ")),
        ("always told", preferences.always.join(", ")),
    ]
}

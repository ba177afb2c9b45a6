//! `countersign webhook`: where an organization is told of its events.

use std::io::{Write, stderr, stdout};

use clap::{Args, Subcommand, ValueEnum};
use uuid::Uuid;
use wire::{
    CreateWebhook, CreatedWebhook, DeliveriesQuery, Delivery, DeliveryState, PageQuery, RotateWebhookSecret,
    UpdateWebhook, Webhook, WebhookFormat,
};

use super::answer::{SHOWN_DEFAULT, done, pages, show, show_all, show_one};
use crate::cli::{ClientFlags, block_on};
use crate::exit::Exit;
use crate::terminal::Table;

pub(crate) const EXAMPLES: &str = "\
Examples:
  countersign webhook create https://hooks.example.com/countersign --type 'task:*' --type approval:requested
  countersign webhook create https://hooks.slack.com/services/T0/B0/x --format slack
  countersign webhook test 0197a000-0000-7000-8000-000000000000
  countersign webhook deliveries 0197a000-0000-7000-8000-000000000000 --state parked";

const CREATE_EXAMPLES: &str = "\
Example: countersign webhook create https://hooks.example.com/countersign --type 'task:*' > secret

The secret goes to stdout, once; docs/webhooks.md says how a receiver verifies with it.";
const LIST_EXAMPLES: &str = "Example: countersign webhook list --json | jq -r .items[].url";
const SHOW_EXAMPLES: &str = "Example: countersign webhook show 0197a000-0000-7000-8000-000000000000";
const UPDATE_EXAMPLES: &str =
    "Example: countersign webhook update 0197a000-0000-7000-8000-000000000000 --active false";
const ROTATE_EXAMPLES: &str =
    "Example: countersign webhook rotate-secret 0197a000-0000-7000-8000-000000000000 --overlap 3600 > secret";
const DELETE_EXAMPLES: &str = "Example: countersign webhook delete 0197a000-0000-7000-8000-000000000000";
const TEST_EXAMPLES: &str = "Example: countersign webhook test 0197a000-0000-7000-8000-000000000000";
const DELIVERIES_EXAMPLES: &str =
    "Example: countersign webhook deliveries 0197a000-0000-7000-8000-000000000000 --state pending";
const REDELIVER_EXAMPLES: &str = "\
Example: countersign webhook redeliver 0197a000-0000-7000-8000-000000000000 0197a000-0000-7000-8000-000000000001";

#[derive(Args)]
pub(crate) struct Webhooks {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Show webhooks, newest first
    #[command(after_help = LIST_EXAMPLES)]
    List(List),
    /// Make a webhook and print its secret
    #[command(after_help = CREATE_EXAMPLES)]
    Create(Create),
    /// Show one webhook
    #[command(after_help = SHOW_EXAMPLES)]
    Show(One),
    /// Change where it is, what it wants, or whether anything is sent
    #[command(after_help = UPDATE_EXAMPLES)]
    Update(Update),
    /// Give it another secret and print that; the old one counts for a while
    #[command(after_help = ROTATE_EXAMPLES)]
    RotateSecret(Rotate),
    /// Delete it, with all that was or is to be sent there
    #[command(after_help = DELETE_EXAMPLES)]
    Delete(One),
    /// Send it something that nothing has happened for
    #[command(after_help = TEST_EXAMPLES)]
    Test(One),
    /// Show what was sent to it, newest first
    #[command(after_help = DELIVERIES_EXAMPLES)]
    Deliveries(Deliveries),
    /// Send a delivery again
    #[command(after_help = REDELIVER_EXAMPLES)]
    Redeliver(Redeliver),
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Standard,
    Slack,
}

impl From<Format> for WebhookFormat {
    fn from(format: Format) -> Self {
        match format {
            Format::Standard => Self::Standard,
            Format::Slack => Self::Slack,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum State {
    Pending,
    Delivered,
    Parked,
}

impl From<State> for DeliveryState {
    fn from(state: State) -> Self {
        match state {
            State::Pending => Self::Pending,
            State::Delivered => Self::Delivered,
            State::Parked => Self::Parked,
        }
    }
}

#[derive(Args)]
struct List {
    #[command(flatten)]
    client: ClientFlags,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = SHOWN_DEFAULT)]
    limit: usize,
}

#[derive(Args)]
struct One {
    #[command(flatten)]
    client: ClientFlags,
    /// The webhook
    id: Uuid,
}

#[derive(Args)]
struct Create {
    #[command(flatten)]
    client: ClientFlags,
    /// Where it is: http or https
    #[arg(value_name = "URL")]
    address: String,
    /// A type it wants, such as task:* (several times for several; default: all)
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<String>,
    /// What bodies look like
    #[arg(long, value_enum, default_value = "standard")]
    format: Format,
    /// Make it without sending anything yet
    #[arg(long)]
    inactive: bool,
}

#[derive(Args)]
struct Update {
    #[command(flatten)]
    client: ClientFlags,
    /// The webhook
    id: Uuid,
    /// Where it is
    #[arg(long, value_name = "URL")]
    address: Option<String>,
    /// A type it wants instead of those it wanted (several times for several)
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<String>,
    /// What bodies look like
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Whether anything is sent
    #[arg(long, value_name = "BOOL")]
    active: Option<bool>,
}

#[derive(Args)]
struct Rotate {
    #[command(flatten)]
    client: ClientFlags,
    /// The webhook
    id: Uuid,
    /// How many seconds the old secret counts too
    #[arg(long, value_name = "SECONDS")]
    overlap: Option<u32>,
}

#[derive(Args)]
struct Deliveries {
    #[command(flatten)]
    client: ClientFlags,
    /// The webhook
    id: Uuid,
    /// Only those that stand so
    #[arg(long, value_enum)]
    state: Option<State>,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = SHOWN_DEFAULT)]
    limit: usize,
}

#[derive(Args)]
struct Redeliver {
    #[command(flatten)]
    client: ClientFlags,
    /// The webhook
    id: Uuid,
    /// The delivery
    delivery: Uuid,
}

pub(crate) fn run(command: Webhooks) -> anyhow::Result<Exit> {
    block_on(async {
        match command.action {
            Action::List(list) => run_list(&list).await,
            Action::Create(create) => run_create(create).await,
            Action::Show(one) => {
                show_one(&one.client.client()?.webhook(one.id).await?, one.client.json, lines)
            }
            Action::Update(update) => run_update(update).await,
            Action::RotateSecret(rotate) => {
                let wanted = RotateWebhookSecret { overlap_seconds: rotate.overlap, secret: None };
                let rotated = rotate.client.client()?.rotate_webhook_secret(rotate.id, &wanted).await?;
                given(rotate.client.json, &rotated)
            }
            Action::Delete(one) => {
                one.client.client()?.delete_webhook(one.id).await?;
                done(one.client.json, &format!("deleted webhook {}", one.id))
            }
            Action::Test(one) => {
                show_one(&one.client.client()?.test_webhook(one.id).await?, one.client.json, sent)
            }
            Action::Deliveries(deliveries) => run_deliveries(&deliveries).await,
            Action::Redeliver(again) => {
                let delivery = again.client.client()?.redeliver(again.id, again.delivery).await?;
                show_one(&delivery, again.client.json, sent)
            }
        }
    })
}

async fn run_list(list: &List) -> anyhow::Result<Exit> {
    let client = list.client.client()?;
    let page = async |cursor| client.webhooks(&PageQuery { cursor, ..PageQuery::default() }).await;
    show_all(&pages(list.limit, page).await?, list.client.json, table)
}

async fn run_create(create: Create) -> anyhow::Result<Exit> {
    let wanted = CreateWebhook {
        url: create.address,
        types: (!create.types.is_empty()).then_some(create.types),
        secret: None,
        format: Some(create.format.into()),
        active: Some(!create.inactive),
    };
    given(create.client.json, &create.client.client()?.create_webhook(&wanted).await?)
}

async fn run_update(update: Update) -> anyhow::Result<Exit> {
    let change = UpdateWebhook {
        url: update.address,
        types: (!update.types.is_empty()).then_some(update.types),
        format: update.format.map(Into::into),
        active: update.active,
    };
    let changed = update.client.client()?.update_webhook(update.id, &change).await?;
    show_one(&changed, update.client.json, lines)
}

async fn run_deliveries(deliveries: &Deliveries) -> anyhow::Result<Exit> {
    let client = deliveries.client.client()?;
    let page = async |cursor| {
        let state = deliveries.state.map(Into::into);
        client.webhook_deliveries(deliveries.id, &DeliveriesQuery { state, cursor, limit: None }).await
    };
    show_all(&pages(deliveries.limit, page).await?, deliveries.client.json, deliveries_table)
}

/// The secret alone on stdout, so that a script can take it; what is worth knowing beside it on stderr.
fn given(json: bool, created: &CreatedWebhook) -> anyhow::Result<Exit> {
    if json {
        return show(true, created, || Table::new([]));
    }
    writeln!(stderr(), "webhook {}. Its secret is shown only now:", created.webhook.id)?;
    writeln!(stdout(), "{}", created.secret.as_deref().unwrap_or_default())?;
    Ok(Exit::Done)
}

fn wanted(webhook: &Webhook) -> String {
    if webhook.types.is_empty() { "everything".to_owned() } else { webhook.types.join(", ") }
}

const fn format(webhook: &Webhook) -> &'static str {
    match webhook.format {
        WebhookFormat::Standard => "standard",
        WebhookFormat::Slack => "slack",
    }
}

fn table(webhooks: &[Webhook]) -> Table {
    let mut table = Table::new(["URL", "TYPES", "FORMAT", "STATE", "ID"]);
    for webhook in webhooks {
        let state = if webhook.active { "active" } else { "inactive" };
        table.row([&webhook.url, &wanted(webhook), format(webhook), state, &webhook.id.to_string()]);
    }
    table
}

fn lines(webhook: &Webhook) -> Vec<(&'static str, String)> {
    vec![
        ("id", webhook.id.to_string()),
        ("url", webhook.url.clone()),
        ("types", wanted(webhook)),
        ("format", format(webhook).to_owned()),
        ("active", if webhook.active { "yes" } else { "no" }.to_owned()),
        ("old secret counts until", webhook.previous_secret_until.clone().unwrap_or_else(|| "-".to_owned())),
        ("created", webhook.created_at.clone()),
    ]
}

const fn state(delivery: &Delivery) -> &'static str {
    match delivery.state {
        DeliveryState::Pending => "pending",
        DeliveryState::Delivered => "delivered",
        DeliveryState::Parked => "parked",
    }
}

/// What came of it, in a few words.
fn outcome(delivery: &Delivery) -> String {
    match (&delivery.error, &delivery.response) {
        (Some(error), _) => error.clone(),
        (None, Some(response)) => response.status.to_string(),
        (None, None) => "-".to_owned(),
    }
}

fn deliveries_table(deliveries: &[Delivery]) -> Table {
    let mut table = Table::new(["TYPE", "STATE", "ATTEMPTS", "LAST", "OUTCOME", "ID"]);
    for delivery in deliveries {
        table.row([
            &delivery.event_type,
            state(delivery),
            &delivery.attempts.to_string(),
            delivery.last_attempt_at.as_deref().unwrap_or("never"),
            &outcome(delivery),
            &delivery.id.to_string(),
        ]);
    }
    table
}

fn sent(delivery: &Delivery) -> Vec<(&'static str, String)> {
    vec![
        ("id", delivery.id.to_string()),
        ("type", delivery.event_type.clone()),
        ("state", state(delivery).to_owned()),
        ("attempts", delivery.attempts.to_string()),
        ("outcome", outcome(delivery)),
    ]
}

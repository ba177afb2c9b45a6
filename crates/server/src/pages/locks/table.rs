//! Everything that is held, newest first.

use std::collections::BTreeMap;

use domain::cursor::CursorKey;
use domain::executions::Execution;
use domain::permissions::Capability;
use domain::tasks::Task;
use domain::{Id, rendering};
use hub::locks::{Graph, Held, Wanted};
use uuid::Uuid;

use super::{Asking, fence, left, lengths, piece, purpose};
use crate::App;
use crate::api::page::List;
use crate::pages::lists::{Address, Chip, Names, given};
use crate::pages::shell::Shell;
use crate::pages::show::{Face, Markup, line, long, plural};
use crate::problem::Problem;

const ROWS_SHOWN: usize = 50;
const SHORT_BYTES_MAX: usize = 40;

/// A page of locks.
pub(super) struct Table {
    pub(super) rows: Vec<Lock>,
    pub(super) older: Option<String>,
    pub(super) is_first: bool,
    /// Whether the reader may take locks from others.
    pub(super) may_release: bool,
    pub(super) is_narrowed: bool,
}

/// One lock.
pub(super) struct Lock {
    pub(super) id: Uuid,
    pub(super) key: Markup,
    /// Whether the key fits on a line of the table.
    pub(super) is_short: bool,
    pub(super) mode: &'static str,
    pub(super) who: Face,
    pub(super) piece: Option<Markup>,
    /// The attempt that holds it, by its task.
    pub(super) task: Option<Uuid>,
    pub(super) purpose: Option<Markup>,
    pub(super) fence: String,
    pub(super) held: Markup,
    pub(super) left: u64,
    pub(super) left_words: String,
    pub(super) in_line: Option<String>,
    pub(super) line: String,
    pub(super) release: String,
}

pub(super) fn chips(asking: &Asking) -> Vec<Chip> {
    let address = address(asking);
    let filters = [
        ("key", given(asking.key.as_deref())),
        ("resource_type", given(asking.resource_type.as_deref())),
        ("agent", given(asking.agent.as_deref())),
    ];
    let chip = |(name, value): (&'static str, Option<&str>)| {
        Some(Chip { name, value: rendering::plain(value?), off: address.without(name).to_string() })
    };
    filters.into_iter().filter_map(chip).collect()
}

fn address(asking: &Asking) -> Address {
    Address::of("/locks")
        .maybe("key", given(asking.key.as_deref()))
        .maybe("resource_type", given(asking.resource_type.as_deref()))
        .maybe("agent", given(asking.agent.as_deref()))
}

pub(super) async fn read(app: &App, shell: &Shell, asking: &Asking, graph: &Graph) -> Result<Table, Problem> {
    let agent = given(asking.agent.as_deref()).map(str::parse::<Uuid>).transpose();
    let agent = agent.map_err(|_| Problem::field("/agent", "must be the id of an agent"))?;
    let list = List::new(&shell.caller, "pages/locks")
        .filtered("agent", agent)
        .filtered("resource_type", given(asking.resource_type.as_deref()))
        .filtered("key", given(asking.key.as_deref()));
    let before = list.place(given(asking.cursor.as_deref()))?;
    let wanted = Wanted {
        agent: agent.map(Id::new),
        resource_type: given(asking.resource_type.as_deref()).map(str::to_owned),
        key: given(asking.key.as_deref()).map(str::to_owned),
        before: before.map(|(at, id)| (at, Id::new(id))),
        limit: ROWS_SHOWN + 1,
    };
    let found = hub::locks::list(&app.hub, &shell.caller, wanted).await?;
    let holders: Vec<_> = found.iter().map(|held| held.hold.owner.agent).collect();
    let names = Names::of(app, shell, holders).await?;
    let tasks = tasks(app, shell, &found).await;
    let lengths: BTreeMap<&str, usize> =
        lengths(graph).into_iter().map(|(key, count)| (key.as_str(), count)).collect();
    let place = |held: &&Held| {
        vec![CursorKey::Int(held.hold.acquired_at.micros()), CursorKey::Uuid(held.hold.id.raw())]
    };
    let next = list.page(found.iter().collect(), ROWS_SHOWN, place, |_| ()).next_cursor;
    let row = |held: &Held| row(held, &names, &tasks, &lengths, shell);
    Ok(Table {
        rows: found.iter().take(ROWS_SHOWN).map(row).collect(),
        older: next.map(|cursor| address(asking).with("cursor", cursor).to_string()),
        is_first: before.is_none(),
        may_release: shell.caller.capabilities.contains(Capability::LocksForceRelease),
        is_narrowed: !chips(asking).is_empty(),
    })
}

/// The tasks of those locks that attempts hold. Which are such locks is said by who owns them.
async fn tasks(app: &App, shell: &Shell, found: &[Held]) -> BTreeMap<Id<Execution>, Id<Task>> {
    let mut tasks = BTreeMap::new();
    for held in found {
        let Ok(id) = held.hold.owner.name.parse::<Id<Execution>>() else { continue };
        if tasks.contains_key(&id) {
            continue;
        }
        if let Ok(execution) = hub::executions::get(&app.hub, &shell.caller, id).await {
            tasks.insert(id, execution.task_id);
        }
    }
    tasks
}

fn row(
    held: &Held,
    names: &Names,
    tasks: &BTreeMap<Id<Execution>, Id<Task>>,
    lengths: &BTreeMap<&str, usize>,
    shell: &Shell,
) -> Lock {
    let hold = &held.hold;
    let (left, left_words) = left(hold.expires_at, hold.ttl_seconds, shell.now);
    let attempt = hold.owner.name.parse::<Id<Execution>>().ok();
    Lock {
        id: hold.id.raw(),
        key: line(held.key.as_str()),
        is_short: held.key.as_str().len() <= SHORT_BYTES_MAX,
        mode: hold.mode.as_str(),
        who: names.face(hold.owner.agent),
        piece: piece(&hold.owner),
        task: attempt.and_then(|id| tasks.get(&id)).map(|id| id.raw()),
        purpose: purpose(hold.about.as_deref()),
        fence: fence(hold.fence),
        held: long(hold.acquired_at, shell.now),
        left,
        left_words,
        in_line: lengths.get(held.key.as_str()).map(|count| plural(*count, "place")),
        line: Address::of("/locks").with("line", &held.key).to_string(),
        release: Address::of("/locks/release").with("key", &held.key).to_string(),
    }
}

//! Locks: the latest deadlock in words, who waits for whom, the longest line, everything that is held.

mod deadlock;
mod picture;
pub(crate) mod release;
mod table;

use std::collections::{BTreeMap, BTreeSet};

use askama::Template;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use domain::accounts::Account;
use domain::locks::{LockKey, Mode, Owner};
use domain::permissions::Capability;
use domain::{Id, Timestamp};
use garde::Validate;
use hub::HubError;
use hub::locks::{Graph, Standing};
use serde::Deserialize;

use deadlock::Deadlock;
use picture::Picture;
use table::Table;

use super::lists::{Address, Chip, Names, denied, given};
use super::page;
use super::shell::Shell;
use super::show::{Face, Markup, filters, grouped, line, long, plural, span};
use crate::App;
use crate::extract::Asked;
use crate::problem::Problem;

const TEXT_BYTES_MAX: usize = 1000;
/// Lines that are drawn, the longest first; the others are in the table.
const LINES_DRAWN: usize = 6;
/// Places of a line that are shown one by one.
const PLACES_SHOWN: usize = 12;

#[derive(Deserialize, Validate, Default, Clone)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asking {
    #[garde(inner(length(bytes, max = TEXT_BYTES_MAX)))]
    key: Option<String>,
    #[garde(inner(length(bytes, max = TEXT_BYTES_MAX)))]
    resource_type: Option<String>,
    #[garde(inner(length(bytes, max = TEXT_BYTES_MAX)))]
    agent: Option<String>,
    /// Of which key the line is shown.
    #[garde(inner(length(bytes, max = TEXT_BYTES_MAX)))]
    line: Option<String>,
    /// `then` for the picture of the latest deadlock.
    #[garde(inner(length(bytes, max = TEXT_BYTES_MAX)))]
    moment: Option<String>,
    #[garde(inner(length(bytes, max = TEXT_BYTES_MAX)))]
    cursor: Option<String>,
    #[garde(inner(length(bytes, max = TEXT_BYTES_MAX)))]
    released: Option<String>,
}

#[derive(Template)]
#[template(path = "locks/list.html")]
struct LocksPage<'a> {
    shell: &'a Shell,
    in_line: String,
    released: Option<Markup>,
    deadlock: Option<Deadlock>,
    picture: Option<Picture>,
    /// Whether the picture is of the deadlock.
    is_then: bool,
    then: String,
    now: String,
    shown_line: Option<LineShown>,
    chips: Vec<Chip>,
    table: Table,
}

/// One key's line.
struct LineShown {
    key: Markup,
    count: String,
    holders: Vec<Place>,
    waiters: Vec<Place>,
    more: Option<String>,
    /// What strict order means for those who share.
    neighbours: Option<String>,
}

struct Place {
    who: Face,
    piece: Option<Markup>,
    mode: &'static str,
    purpose: Option<Markup>,
    since: Markup,
    fence: Option<String>,
    place: usize,
}

pub(crate) async fn show(
    State(app): State<App>,
    shell: Shell,
    Asked(asking): Asked<Asking>,
) -> Result<Response<Body>, Problem> {
    if let Some(denied) = denied(&shell, Capability::LocksRead, "Locks", "Locks and their lines") {
        return Ok(denied);
    }
    let graph = hub::locks::graph(&app.hub, &shell.caller).await?;
    let lines = lines(&app, &shell, drawn(&graph, given(asking.line.as_deref()))).await?;
    let deadlock = deadlock::latest(&app, &shell).await?;
    let table = table::read(&app, &shell, &asking, &graph).await?;
    let is_then = match (given(asking.moment.as_deref()), &deadlock) {
        (Some("then"), Some(_)) => true,
        (None, Some(_)) => lines.is_empty(),
        _ => false,
    };
    let picture = match (&deadlock, is_then) {
        (Some(deadlock), true) => Some(deadlock.picture()),
        _ => picture::of_lines(&app, &shell, &lines, &graph).await?,
    };
    let shown_line = match lines.first() {
        Some((key, standing)) => Some(line_shown(&app, &shell, key, standing).await?),
        None => None,
    };
    let template = LocksPage {
        in_line: plural(waits(&graph), "place"),
        released: given(asking.released.as_deref()).map(line),
        picture,
        is_then,
        then: Address::of("/locks").with("moment", "then").to_string(),
        now: Address::of("/locks").with("moment", "now").to_string(),
        shown_line,
        chips: table::chips(&asking),
        deadlock,
        table,
        shell: &shell,
    };
    Ok(page(StatusCode::OK, &template))
}

/// How many places in lines there are.
fn waits(graph: &Graph) -> usize {
    let places: BTreeSet<(u64, &LockKey)> =
        graph.edges.iter().map(|edge| (edge.waiter.birth, &edge.key)).collect();
    places.len()
}

/// How many wait for each key.
fn lengths(graph: &Graph) -> BTreeMap<&LockKey, usize> {
    let mut waiting: BTreeMap<&LockKey, BTreeSet<u64>> = BTreeMap::new();
    for edge in &graph.edges {
        waiting.entry(&edge.key).or_default().insert(edge.waiter.birth);
    }
    waiting.into_iter().map(|(key, owners)| (key, owners.len())).collect()
}

/// The keys whose lines are drawn: the one that was asked for, those in a circle, then the longest.
fn drawn(graph: &Graph, asked: Option<&str>) -> Vec<LockKey> {
    let in_circle: BTreeSet<&LockKey> = graph.circles.iter().flatten().map(|edge| &edge.key).collect();
    let mut keys: Vec<(bool, bool, usize, &LockKey)> = lengths(graph)
        .into_iter()
        .map(|(key, count)| (asked == Some(key.as_str()), in_circle.contains(key), count, key))
        .collect();
    keys.sort_by(|a, b| (b.0, b.1, b.2, a.3).cmp(&(a.0, a.1, a.2, b.3)));
    keys.into_iter().take(LINES_DRAWN).map(|(_, _, _, key)| key.clone()).collect()
}

async fn lines(app: &App, shell: &Shell, keys: Vec<LockKey>) -> Result<Vec<(LockKey, Standing)>, HubError> {
    let mut lines = Vec::new();
    for key in keys {
        let standing = hub::locks::queue(&app.hub, &shell.caller, key.as_str()).await?;
        // It may have moved on since.
        if !standing.waiters.is_empty() {
            lines.push((key, standing));
        }
    }
    Ok(lines)
}

/// Those who hold a key and wait for it.
fn agents_of(standing: &Standing) -> Vec<Id<Account>> {
    let holders = standing.holders.iter().map(|held| held.hold.owner.agent);
    holders.chain(standing.waiters.iter().map(|waiter| waiter.owner.agent)).collect()
}

async fn line_shown(
    app: &App,
    shell: &Shell,
    key: &LockKey,
    standing: &Standing,
) -> Result<LineShown, HubError> {
    let names = Names::of(app, shell, agents_of(standing)).await?;
    let place = |owner: &Owner, mode: Mode, since: Timestamp, number: usize| Place {
        who: names.face(owner.agent),
        piece: piece(owner),
        mode: mode.as_str(),
        purpose: None,
        since: long(since, shell.now),
        fence: None,
        place: number,
    };
    let holders = standing.holders.iter().map(|held| Place {
        purpose: purpose(held.hold.about.as_deref()),
        fence: Some(fence(held.hold.fence)),
        ..place(&held.hold.owner, held.hold.mode, held.hold.acquired_at, 0)
    });
    let waiters = standing.waiters.iter().take(PLACES_SHOWN).enumerate().map(|(number, waiter)| Place {
        purpose: purpose(waiter.about.as_deref()),
        ..place(&waiter.owner, waiter.mode, waiter.asked_at, number + 1)
    });
    let more = standing.waiters.len().saturating_sub(PLACES_SHOWN);
    let sharing = standing.waiters.iter().take_while(|waiter| waiter.mode == Mode::Shared).count();
    Ok(LineShown {
        key: line(key.as_str()),
        count: grouped(i64::try_from(standing.waiters.len()).unwrap_or(i64::MAX)),
        holders: holders.collect(),
        waiters: waiters.collect(),
        more: (more > 0).then(|| plural(more, "more")),
        neighbours: (sharing > 1).then(|| format!("The first {sharing} share: they get it together.")),
    })
}

/// Which piece of an agent's work it is, where the agent said so.
fn piece(owner: &Owner) -> Option<Markup> {
    let is_said = *owner.name != *owner.agent.to_string() && uuid::Uuid::parse_str(&owner.name).is_err();
    is_said.then(|| line(&owner.name))
}

fn purpose(about: Option<&domain::locks::About>) -> Option<Markup> {
    about.and_then(|about| about.purpose.as_deref()).map(line)
}

/// A fencing token, whole.
fn fence(token: u64) -> String {
    grouped(i64::try_from(token).unwrap_or(i64::MAX))
}

/// How much of a lock's life is left, of a hundred, and in words.
fn left(expires_at: Timestamp, ttl_seconds: u32, now: Timestamp) -> (u64, String) {
    let left = expires_at.since(now);
    let whole = u64::from(ttl_seconds.max(1));
    ((left.as_secs() * 100 / whole).min(100), span(left))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_fence_is_shown_whole() {
        assert_eq!(fence((7 << 32) + 42), "30,064,771,114");
    }

    #[test]
    fn what_is_left_of_a_lock_never_leaves_the_bar() {
        let now = Timestamp::from_micros(1_773_847_800_000_000);
        assert_eq!(left(now.plus(Duration::from_secs(15)), 30, now), (50, "15 s".into()));
        assert_eq!(left(now.plus(Duration::from_secs(90)), 30, now), (100, "1 min".into()));
        assert_eq!(left(now.minus(Duration::from_secs(5)), 0, now), (0, "0 s".into()));
    }
}

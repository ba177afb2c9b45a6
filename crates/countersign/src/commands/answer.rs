//! What the commands that talk to the hub share: answers, pages, and people named by what one remembers of them.

use std::io::{Write, stdout};
use std::time::Duration;

use anyhow::bail;
use client::{Client, ClientError};
use domain::Timestamp;
use hub::clock::{Clock, SystemClock};
use serde::Serialize;
use uuid::Uuid;
use wire::{AccountsQuery, Member, OrganizationsQuery, Page};

use crate::cli::Usage;
use crate::exit::Exit;
use crate::terminal::{LineEnds, Table, shown, width, write_json};

/// Shows the answer: as JSON where asked, as a table otherwise.
pub(crate) fn show(
    json: bool,
    answer: &impl Serialize,
    table: impl FnOnce() -> Table,
) -> anyhow::Result<Exit> {
    if json {
        write_json(&mut stdout(), answer)?;
    } else {
        write!(stdout(), "{}", table().render(width()))?;
    }
    Ok(Exit::Done)
}

/// Says what was done, unless JSON was asked for and there is none.
pub(crate) fn done(json: bool, what: &str) -> anyhow::Result<Exit> {
    if !json {
        // It may name what a stranger has named.
        writeln!(stdout(), "{}", shown(what, true, LineEnds::Escape))?;
    }
    Ok(Exit::Done)
}

/// How many things `list` shows at most when nobody says.
pub(crate) const SHOWN_DEFAULT: usize = 200;

/// The things of a list, page by page, up to `most`. `page` reads the one behind a cursor.
pub(crate) async fn pages<T>(
    most: usize,
    mut page: impl AsyncFnMut(Option<String>) -> Result<Page<T>, ClientError>,
) -> anyhow::Result<Vec<T>> {
    let mut items = Vec::new();
    let mut cursor = None;
    loop {
        let Page { items: more, next_cursor } = page(cursor).await?;
        items.extend(more);
        cursor = next_cursor;
        if cursor.is_none() || items.len() >= most {
            items.truncate(most);
            return Ok(items);
        }
    }
}

/// The one thing of a list that is called so.
pub(crate) async fn only<T>(
    noun: &str,
    name: &str,
    found: impl Fn(&T) -> bool,
    page: impl AsyncFnMut(Option<String>) -> Result<Page<T>, ClientError>,
) -> anyhow::Result<T> {
    let mut matching: Vec<T> = pages(usize::MAX, page).await?.into_iter().filter(found).collect();
    match matching.len() {
        1 => Ok(matching.remove(0)),
        0 => bail!("there is no {noun} {name:?}; `list` shows those there are"),
        several => bail!("{several} are called {name:?}; say which by its id"),
    }
}

/// An id, if the text is one; otherwise it is a name.
pub(crate) fn as_id(text: &str) -> Option<Uuid> {
    Uuid::parse_str(text).ok()
}

/// Shows things: for programs as one list in JSON, for people as a table.
pub(crate) fn show_all<T: Serialize>(
    things: &[T],
    json: bool,
    table: impl FnOnce(&[T]) -> Table,
) -> anyhow::Result<Exit> {
    if json {
        write_json(&mut stdout(), &serde_json::json!({ "items": things }))?;
    } else {
        write!(stdout(), "{}", table(things).render(width()))?;
    }
    Ok(Exit::Done)
}

/// Shows one thing: for programs in JSON, for people what it says line by line.
pub(crate) fn show_one<T: Serialize>(
    thing: &T,
    json: bool,
    lines: impl FnOnce(&T) -> Vec<(&'static str, String)>,
) -> anyhow::Result<Exit> {
    if json {
        write_json(&mut stdout(), thing)?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new(["", ""]);
    for (name, value) in lines(thing) {
        table.row([name, &value]);
    }
    write!(stdout(), "{}", table.render(width()))?;
    Ok(Exit::Done)
}

/// The account somebody means: `me`, an id, or an e-mail.
pub(crate) async fn account(client: &Client, named: &str) -> anyhow::Result<Uuid> {
    if named == "me" {
        return Ok(client.me().await?.account.id);
    }
    if let Ok(id) = named.parse() {
        return Ok(id);
    }
    let query = AccountsQuery { query: Some(named.to_owned()), limit: Some(200), ..AccountsQuery::default() };
    let found = client.accounts(&query).await?.items;
    let exact = |member: &&Member| member.account.email.eq_ignore_ascii_case(named);
    match (found.iter().find(exact), found.as_slice()) {
        (Some(member), _) => Ok(member.account.id),
        (None, [only]) => Ok(only.account.id),
        (None, []) => {
            bail!("nobody in this organization is called {named}; `countersign account list` shows all")
        }
        (None, several) => bail!(
            "{} members are called {named}: say which by e-mail or id, such as {}",
            several.len(),
            several.iter().take(3).map(|member| member.account.email.as_str()).collect::<Vec<_>>().join(", ")
        ),
    }
}

/// The organization somebody means: an id, a slug, or the current one.
pub(crate) async fn organization(client: &Client, named: Option<&str>) -> anyhow::Result<Uuid> {
    let Some(named) = named else {
        return Ok(client.me().await?.organization.id);
    };
    if let Ok(id) = named.parse() {
        return Ok(id);
    }
    let query = OrganizationsQuery { slug: Some(named.to_owned()), ..OrganizationsQuery::default() };
    match client.organizations(&query).await?.items.first() {
        Some(found) => Ok(found.id),
        None => bail!("you belong to no organization {named}; `countersign org list` shows yours"),
    }
}

/// A time some days from now, or the time itself.
pub(crate) fn expiry(text: &str) -> Result<String, String> {
    if let Some(days) = text.strip_suffix('d').and_then(|days| days.parse::<u32>().ok()) {
        let span = Duration::from_secs(u64::from(days) * 86_400);
        return Ok(SystemClock::default().now().plus(span).to_string());
    }
    let at: Result<Timestamp, _> = text.parse();
    at.map(|at| at.to_string())
        .map_err(|_| "write days such as 30d, or a time such as 2027-01-31T12:00:00Z".to_owned())
}

/// Refuses a command that would change nothing.
pub(crate) fn something<T: PartialEq + Default>(change: T) -> anyhow::Result<T> {
    if change == T::default() {
        return Err(Usage("nothing to change: say what with a flag; --help shows them".into()).into());
    }
    Ok(change)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_days_or_a_time() {
        assert_eq!(expiry("2027-01-31T12:00:00Z").unwrap(), "2027-01-31T12:00:00.000000Z");
        let (day, week): (Timestamp, Timestamp) =
            (expiry("1d").unwrap().parse().unwrap(), expiry("7d").unwrap().parse().unwrap());
        assert_eq!(week.since(day).as_secs() / 86_400, 6);
        for bad in ["", "d", "-1d", "tomorrow", "2027-01-31"] {
            assert!(expiry(bad).is_err(), "{bad}");
        }
    }

    /// A list of the numbers below 25, ten on a page.
    async fn numbers(cursor: Option<String>) -> Result<Page<u32>, ClientError> {
        let from: u32 = cursor.map_or(0, |text| text.parse().unwrap());
        let to = (from + 10).min(25);
        Ok(Page { items: (from..to).collect(), next_cursor: (to < 25).then(|| to.to_string()) })
    }

    fn block<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
    }

    #[test]
    fn a_list_is_read_to_its_end_or_as_far_as_asked() {
        assert_eq!(block(pages(usize::MAX, numbers)).unwrap(), (0..25).collect::<Vec<_>>());
        assert_eq!(block(pages(12, numbers)).unwrap(), (0..12).collect::<Vec<_>>());
        assert_eq!(block(pages(10, numbers)).unwrap(), (0..10).collect::<Vec<_>>());
    }

    #[test]
    fn a_name_must_be_exactly_ones() {
        assert_eq!(block(only("number", "24", |number| *number == 24, numbers)).unwrap(), 24);
        let error = block(only("number", "x", |number| *number > 99, numbers)).unwrap_err();
        assert!(error.to_string().contains("there is no number \"x\""), "{error}");
        let error = block(only("number", "even", |number| number % 2 == 0, numbers)).unwrap_err();
        assert!(error.to_string().contains("13 are called \"even\""), "{error}");
    }
}

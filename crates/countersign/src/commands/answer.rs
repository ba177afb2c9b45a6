//! What the commands that talk to the hub share: answers, pages, and people named by what one remembers of them.

use std::io::{Write, stdout};
use std::time::Duration;

use anyhow::bail;
use client::Client;
use domain::Timestamp;
use hub::clock::{Clock, SystemClock};
use serde::Serialize;
use uuid::Uuid;
use wire::{AccountsQuery, Member, OrganizationsQuery};

use crate::cli::Usage;
use crate::exit::Exit;
use crate::terminal::{Table, width, write_json};

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
        writeln!(stdout(), "{what}")?;
    }
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
}

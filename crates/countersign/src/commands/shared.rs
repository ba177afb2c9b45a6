//! What the commands over lists and single things share: all pages, finding by name, tables or JSON.

use std::io::{Write, stdout};

use anyhow::bail;
use client::ClientError;
use serde::Serialize;
use uuid::Uuid;
use wire::Page;

use crate::exit::Exit;
use crate::terminal::{LineEnds, Table, shown, width, write_json};

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

/// Says that something is done; programs read it in the exit code.
pub(crate) fn done(json: bool, what: &str) -> anyhow::Result<Exit> {
    if !json {
        writeln!(stdout(), "{}", shown(what, true, LineEnds::Escape))?;
    }
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

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

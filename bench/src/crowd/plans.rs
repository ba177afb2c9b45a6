//! How the engines would search, as they say themselves.

use anyhow::{Context as _, Result};
use records::statement::registered;
use tokio::task::JoinSet;
use tokio_postgres::Client;

use crate::homes::Home;
use crate::progress;

/// The statement behind `GET /accounts?query=`.
const SEARCH: &str = "records::directory::SEARCH";
/// What only later pages ask for, and what the limit is then called.
const LATER_PAGE: &str = " AND (name, account_id) > ($5, $6)";

/// Tells whoever waits by what members are searched: by their primary key, and without sorting, or the
/// figures will be bad.
pub(crate) async fn say(home: &Home) -> Result<()> {
    let mut background = JoinSet::new();
    let plan = match home.client(&mut background).await? {
        Some(client) => of_postgres(&client).await?,
        None => of_sqlite(home)?,
    };
    for line in plan {
        progress(&format!("  plan: {line}"));
    }
    Ok(())
}

fn of_sqlite(home: &Home) -> Result<Vec<String>> {
    let connection = rusqlite::Connection::open(home.database_file())?;
    let mut explain = connection.prepare(&format!("EXPLAIN QUERY PLAN {}", first_page()?))?;
    let rows = explain.query_map((vec![0_u8; 16], &b"an"[..], &b"an\xff"[..], 2, 51), |row| row.get(3))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// As the product has it planned, for any values, with the time that a wide search takes.
async fn of_postgres(client: &Client) -> Result<Vec<String>> {
    client.batch_execute("SET plan_cache_mode = force_generic_plan").await?;
    client.batch_execute(&format!("PREPARE search AS {}", first_page()?)).await?;
    let org: String = client.query_one("SELECT id::text FROM organizations", &[]).await?.get(0);
    let search = format!("EXECUTE search ('{org}', 'a', 'a\\377', 1, 51)");
    let rows = client.query(&format!("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) {search}"), &[]).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// The text of the statement as the first page runs it.
fn first_page() -> Result<String> {
    let statement = registered().find(|known| known.name == SEARCH).context("the search has another name")?;
    let (text, _) = (statement.texts)();
    let (head, tail) = text.split_once(LATER_PAGE).context("the search has another form")?;
    Ok(format!("{head}{}", tail.replace("$7", "$5")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_search_is_the_one_the_product_runs() {
        let text = first_page().unwrap();
        assert!(text.contains("FROM directory_entries") && text.ends_with("LIMIT $5"), "{text}");
        assert!(!text.contains("$6"), "{text}");
    }
}

//! How the engines would search, as they say themselves.

use anyhow::{Context as _, Result};
use records::statement::registered;
use tokio::task::JoinSet;

use crate::homes::Home;
use crate::progress;

/// The statement behind `GET /accounts?query=`.
const SEARCH: &str = "records::member_names::SEARCH";
/// What only later pages ask for, and what the limit is then called.
const LATER_PAGE: &str = " AND (n.name, n.account_id) > ($4, $5)";

/// Tells whoever waits by what the members' names are searched: by their primary key, and without sorting, or the
/// figures will be bad.
pub(crate) async fn say(home: &Home) -> Result<()> {
    let mut background = JoinSet::new();
    let plan = match home.client(&mut background).await? {
        Some(client) => {
            // With values the planner can look at, and as it plans once it has stopped looking at them.
            let prepare = format!("PREPARE search AS {}", first_page()?);
            client.batch_execute(&prepare).await?;
            let mut plan = Vec::new();
            for mode in ["force_custom_plan", "force_generic_plan"] {
                client.batch_execute(&format!("SET plan_cache_mode = {mode}")).await?;
                let explain = "EXPLAIN (COSTS OFF) EXECUTE search ((SELECT id FROM organizations LIMIT 1), 'an', \
                               'an\\xff', 51)";
                let rows = client.query(explain, &[]).await?;
                plan.push(mode.to_owned());
                plan.extend(rows.iter().map(|row| row.get::<_, String>(0)));
            }
            plan
        }
        None => {
            let connection = rusqlite::Connection::open(home.database_file())?;
            let mut explain = connection.prepare(&format!("EXPLAIN QUERY PLAN {}", first_page()?))?;
            let rows =
                explain.query_map((vec![0_u8; 16], &b"an"[..], &b"an\xff"[..], 51), |row| row.get(3))?;
            rows.collect::<rusqlite::Result<Vec<String>>>()?
        }
    };
    for line in plan {
        progress(&format!("  plan: {line}"));
    }
    Ok(())
}

/// The text of the statement as the first page runs it.
fn first_page() -> Result<String> {
    let statement = registered().find(|known| known.name == SEARCH).context("the search has another name")?;
    let (text, _) = (statement.texts)();
    let (head, tail) = text.split_once(LATER_PAGE).context("the search has another form")?;
    Ok(format!("{head}{}", tail.replace("$6", "$4")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_search_is_the_one_the_product_runs() {
        let text = first_page().unwrap();
        assert!(text.contains("FROM member_names") && text.ends_with("LIMIT $4"), "{text}");
        assert!(!text.contains("$5"), "{text}");
    }
}

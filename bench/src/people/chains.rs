//! Finding out who decides: where one person delegated and where ten did, one after the other, among very many delegations.

use anyhow::{Result, ensure};
use rusqlite::Connection as File;
use serde_json::{Value, json};

use crate::figures::{Bar, Row, grouped, ratio};
use crate::homes::{Home, Homes};
use crate::http::{Connection, Request, load};
use crate::programs::Program;
use crate::review::CONNECTIONS;
use crate::review::cycle::touching;
use crate::review::team::{Bearer, bearer, call, text};
use crate::turns::{Side, taken};
use crate::{Bench, progress};

const OF_ONE_STEP_MAX: f64 = 1.3;
/// How many people the request goes through, and how many delegations there are in all.
const SHORT: (usize, u64) = (1, 100);
const LONG: (usize, u64) = (10, 10_000);

pub(super) fn measure(bench: &Bench, homes: &Homes<'_>) -> Result<Vec<Row>> {
    progress("  chains of delegations");
    let (short_home, short_ask) = delegated(bench, homes, SHORT)?;
    let (long_home, long_ask) = delegated(bench, homes, LONG)?;
    let (short, long) = (Program::at(&short_home, bench)?, Program::at(&long_home, bench)?);
    let side = |(steps, all): (usize, u64), ask: &Request, hub: &Program| {
        let (ask, target) = (ask.clone(), hub.target);
        let name = format!("who decides, {steps} deep of {} delegations", grouped(all as f64, 0));
        Side::new(name, move |turn| {
            let ask = ask.clone();
            let who = std::iter::repeat_n(move || ask.clone(), CONNECTIONS);
            bench.runtime.block_on(load(target, who, turn))
        })
    };
    let sides = [side(SHORT, &short_ask, &short), side(LONG, &long_ask, &long)];
    let [short, long] = taken(bench, sides)?;
    let of_short =
        |value: fn(&crate::closed_loop::Run) -> f64| ratio(&long.values(value), &short.values(value));
    let mut table = vec![
        Row::new(
            "SQLite, a chain of 10 over 10,000 delegations ÷ of 1 over 100: p50",
            of_short(|run| run.p50_micros),
            2,
        )
        .with_bar(Bar::AtMost(OF_ONE_STEP_MAX)),
        Row::new("the same: CPU", of_short(|run| run.cpu_micros), 2),
    ];
    table.extend(short.rows());
    table.extend(long.rows());
    Ok(table)
}

/// A hub where the one who is asked delegated to the next, and so on; and the question who decides on a task.
fn delegated(bench: &Bench, homes: &Homes<'_>, (steps, all): (usize, u64)) -> Result<(Home, Request)> {
    let home = homes.founded()?;
    let hub = Program::at(&home, bench)?;
    let admin = bearer(&home.admin_key()?);
    let task = touching("prod-db-01", "exclusive").to_string();
    let ask = bench.runtime.block_on(async {
        let mut connection = Connection::open(hub.target.address).await?;
        // Who gave somebody a role is not reviewed by them, so it is not the admin who proposes.
        let (_, author) = joined(&mut connection, &admin, ("author", "author")).await?;
        let ask = Request::post_as("/api/v1/tasks/simulate", &author, &task);
        let mut people = Vec::new();
        for number in 0..=steps {
            let name = format!("reviewer{number}");
            people.push(joined(&mut connection, &admin, (&name, "reviewer")).await?);
        }
        for pair in people.windows(2) {
            let said = json!({"delegate_to": pair[1].0, "cascade": true});
            post(&mut connection, "/api/v1/delegations", &pair[0].1, &said).await?;
        }
        let policy = json!({"name": "first", "reviewers": [people[0].0], "min_approvers": 1});
        post(&mut connection, "/api/v1/policies", &admin, &policy).await?;
        let simulated = call(&mut connection, &ask).await?;
        let names: Vec<&Value> =
            simulated["reviewers"].as_array().into_iter().flatten().map(|one| &one["reviewer_id"]).collect();
        let last = &people[steps].0;
        ensure!(names.iter().any(|name| *name == last), "{last} does not decide: {simulated}");
        anyhow::Ok(ask)
    })?;
    drop(hub);
    fill(&home, all.saturating_sub(steps as u64))?;
    Ok((home, ask))
}

/// Somebody with a key that nobody else made: their id, and what they show.
async fn joined(
    connection: &mut Connection,
    admin: &Bearer,
    (name, role): (&str, &str),
) -> Result<(String, Bearer)> {
    let body = json!({"email": format!("{name}@example.org"), "display_name": name, "roles": [role]});
    let id = text(&post(connection, "/api/v1/accounts", admin, &body).await?, "id")?;
    let first = json!({"name": "first", "account_id": id});
    let first = bearer(&text(&post(connection, "/api/v1/api-keys", admin, &first).await?, "key")?);
    let own = post(connection, "/api/v1/api-keys", &first, &json!({"name": "own"})).await?;
    Ok((id, bearer(&text(&own, "key")?)))
}

async fn post(connection: &mut Connection, path: &str, who: &Bearer, body: &Value) -> Result<Value> {
    call(connection, &Request::post_as(path, who, &body.to_string())).await
}

/// Copies the delegation that is there so many times, each of somebody else to somebody else.
fn fill(home: &Home, count: u64) -> Result<()> {
    let file = File::open(home.database_file())?;
    file.execute_batch("PRAGMA foreign_keys = OFF;")?;
    let mut columns = file.prepare("SELECT name FROM pragma_table_info('delegations')")?;
    let columns: Vec<String> = columns.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let value = |column: &String| match column.as_str() {
        id @ ("id" | "owner_id" | "delegate_to") => format!("printf('%08x', n.i + 1) || substr(s.{id}, 9)"),
        other => format!("s.{other}"),
    };
    let values: Vec<String> = columns.iter().map(value).collect();
    file.execute(
        &format!(
            "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < {count}) INSERT INTO \
             delegations ({}) SELECT {} FROM n, (SELECT * FROM delegations LIMIT 1) s",
            columns.join(", "),
            values.join(", "),
        ),
        [],
    )?;
    file.execute_batch("PRAGMA wal_checkpoint(TRUNCATE);")?;
    Ok(())
}

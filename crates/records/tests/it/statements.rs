//! Every statement of the program: what the compiler cannot check about SQL.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use records::Engine;
use records::statement::{Registered, registered};

use crate::support::Ground;

/// Statements over tenants' tables that do not ask for one organization, each with the reason. An entry that is
/// no longer needed fails the test.
const WITHOUT_ORGANIZATION: &[(&str, &str)] = &[
    ("agents::SILENT", "the hub looks for silent agents everywhere"),
    ("api_keys::BY_HASH", "the key is what tells the organization"),
    ("audit::checks::CHAINS", "the hub verifies every chain"),
    ("audit::seals::UNSEALED_CHAINS", "the hub seals every chain"),
    ("device_logins::BY_CODE", "whoever answers tells the organization"),
    ("device_logins::BY_CODE_LOCKED", "whoever answers tells the organization"),
    ("device_logins::BY_HASH_LOCKED", "the grant is what tells the organization"),
    ("device_logins::DENY", "nobody's organization, by id"),
    ("device_logins::FORGET", "the hub forgets everybody's old ones"),
    ("device_logins::GRANT", "the grant is what tells the organization"),
    ("device_logins::INSERT", "nobody has answered yet"),
    ("device_logins::POLLED", "the program's own row, by id"),
    ("device_logins::USE", "the program's own row, by id"),
    ("device_logins::VOID", "an account's own, wherever"),
    ("directory::DELETE", "an account is called the same everywhere"),
    ("directory::SET_ACCOUNT", "an account is the same everywhere"),
    ("directory::SET_HOME", "an account is at home once"),
    ("enrolments::ANY_OF", "a credential anywhere is a credential of the account"),
    ("enrolments::KEEP", "the hub forgets everybody's old logins"),
    ("events::ANY_UNNUMBERED", "there is one log, and one sequence over all of it"),
    ("events::FORGET_INSTANCE", "the instance's own events"),
    ("events::HEAD", "there is one log, and one sequence over all of it"),
    ("events::NUMBER", "there is one log, and one sequence over all of it"),
    ("events::NUMBERED", "wakes the readers of every organization"),
    ("events::WHOLE", "told to the followers of every organization, each of which is asked whom it concerns"),
    ("executions::OVERDUE", "the hub looks for lost agents everywhere"),
    ("grants::STALE", "the hub looks for old approvals everywhere"),
    ("idempotency::FORGET", "the hub forgets everybody's old answers"),
    ("invitations::RECEIVED", "who wants somebody is theirs to know"),
    ("login_sessions::BY_HASH", "the login is what tells the organization"),
    ("login_sessions::END", "a login is its account's, whichever organization it is in"),
    ("login_sessions::END_ALL", "a login is its account's, whichever organization it is in"),
    ("login_sessions::END_OTHERS", "a login is its account's, whichever organization it is in"),
    ("login_sessions::FORGET", "the hub forgets everybody's old logins"),
    ("login_sessions::GET", "a login is its account's, whichever organization it is in"),
    ("login_sessions::GET_LOCKED", "a login is its account's, whichever organization it is in"),
    ("login_sessions::GET_SHARED", "a login is its account's, whichever organization it is in"),
    ("login_sessions::LIST", "a login is its account's, whichever organization it is in"),
    ("login_sessions::SWITCH", "a login is its account's, whichever organization it is in"),
    ("login_sessions::TOUCH", "a login is its account's, whichever organization it is in"),
    ("login_sessions::OPEN_LOCKED", "a login is its account's, whichever organization it is in"),
    ("members::OF_ACCOUNT", "where somebody belongs is theirs to know"),
    ("members::OF_ACCOUNT_LOCKED", "an account is called the same everywhere"),
    ("reviews::DUE", "the hub looks for reviews whose time is over everywhere"),
    ("reviews::NEXT_LOOK", "the hub looks for reviews whose time is over everywhere"),
    ("rule_sets::MISSING", "the hub completes every organization from before"),
    ("webhook_deliveries::FORGET", "the hub forgets everybody's old ones"),
    ("webhooks::ACTIVE", "the log of all organizations is turned into deliveries, each to its own"),
    ("webhooks::BY_ID", "the job is what tells the endpoint, and that its organization"),
    ("organizations::LIST", "one's own organizations; an instance admin's are all"),
];

fn name(statement: &Registered) -> &str {
    statement.name.strip_prefix("records::").unwrap_or(statement.name)
}

/// The texts by engine, for what holds of each text by itself.
fn texts() -> impl Iterator<Item = (&'static str, String)> {
    registered().flat_map(|statement| {
        let (lite, pg) = (statement.texts)();
        [(name(statement), lite), (name(statement), pg)]
    })
}

/// How often the sources say `statement!`, so that none can be lost on the way into the register.
fn written(directory: &Path) -> usize {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries
        .map(|path| match path.is_dir() {
            true => written(&path),
            // The file that defines the macro names it in its own rules.
            false if path.ends_with("src/statement.rs") => 0,
            false => {
                let text = fs::read_to_string(&path).unwrap();
                text.lines().filter(|line| line.trim_start().starts_with("statement!(")).count()
            }
        })
        .sum()
}

#[test]
fn every_statement_is_registered_under_a_name_of_its_own() {
    let names: BTreeSet<&str> = registered().map(name).collect();
    let count = registered().count();
    assert!(0 < count);
    assert_eq!(names.len(), count, "two statements of one name");
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    assert_eq!(count, written(&sources), "a statement that is written but not registered is never checked");
}

/// The parameters in order of their first use.
fn parameters(text: &str) -> Vec<usize> {
    let mut found = Vec::new();
    for piece in text.split('$').skip(1) {
        let digits: String = piece.chars().take_while(char::is_ascii_digit).collect();
        let number = digits.parse().unwrap_or_else(|_| panic!("a dollar without a number: {text}"));
        if !found.contains(&number) {
            found.push(number);
        }
    }
    found
}

#[test]
fn parameters_are_numbered_in_order_of_first_use() {
    for (name, text) in texts() {
        // SQLite takes `$n` for a name and numbers names as they come.
        let parameters = parameters(&text);
        assert!(parameters.iter().copied().eq(1..=parameters.len()), "{name}: {parameters:?} in {text}");
        assert!(!text.contains('?'), "{name}: a question mark is left in {text}");
    }
}

/// What one engine says about a prepared statement.
#[derive(PartialEq, Debug)]
struct Prepared {
    parameters: usize,
    columns: Vec<String>,
}

fn prepare_lite(conn: &rusqlite::Connection, text: &str) -> rusqlite::Result<Prepared> {
    let statement = conn.prepare(text)?;
    let columns = statement.column_names().map(String::from).collect();
    Ok(Prepared { parameters: statement.parameter_count(), columns })
}

async fn prepare_pg(client: &tokio_postgres::Client, text: &str) -> Result<Prepared, tokio_postgres::Error> {
    let statement = client.prepare(text).await?;
    let columns = statement.columns().iter().map(|column| column.name().to_owned()).collect();
    Ok(Prepared { parameters: statement.params().len(), columns })
}

#[tokio::test]
async fn both_engines_prepare_every_statement_alike() {
    let (lite, pg) = (Ground::open(Engine::Sqlite).await, Ground::open(Engine::Postgres).await);
    let (conn, client) = (rusqlite::Connection::open(lite.file()).unwrap(), pg.connect().await);
    let mut problems = Vec::new();
    for statement in registered() {
        let name = name(statement);
        let (lite_text, pg_text) = (statement.texts)();
        let on_lite = match prepare_lite(&conn, &lite_text) {
            Ok(prepared) => prepared,
            Err(error) => {
                problems.push(format!("{name} on SQLite: {error}"));
                continue;
            }
        };
        let on_pg = match prepare_pg(&client, &pg_text).await {
            Ok(prepared) => prepared,
            Err(error) => {
                problems.push(format!("{name} on PostgreSQL: {:?}", error.as_db_error()));
                continue;
            }
        };
        let columns = statement.columns.unwrap_or_default();
        let expected = Prepared {
            parameters: parameters(&pg_text).len(),
            columns: columns.iter().map(|column| (*column).to_owned()).collect(),
        };
        for (engine, prepared) in [("SQLite", on_lite), ("PostgreSQL", on_pg)] {
            if prepared != expected {
                problems.push(format!("{name} on {engine}: {prepared:?} instead of {expected:?}"));
            }
        }
        if parameters(&lite_text).len() != expected.parameters {
            problems.push(format!("{name}: the engines' texts take different numbers of parameters"));
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
}

/// The lists of assignments of an UPDATE, or of what an INSERT does about a conflict.
fn assignments(text: &str) -> Vec<&str> {
    let is_update = text.starts_with("UPDATE ") || text.contains("DO UPDATE SET ");
    assert!(is_update || !text.contains(" SET "), "a SET where none is expected: {text}");
    let ends = [" WHERE ", " FROM ", " RETURNING "];
    let lists = text.split(" SET ").skip(1).map(|rest| {
        let end = ends.iter().filter_map(|word| rest.find(word)).min().unwrap_or(rest.len());
        &rest[..end]
    });
    lists.collect()
}

#[test]
fn every_change_sets_updated_at() {
    let mut updates = 0;
    for (name, text) in texts() {
        for list in assignments(&text) {
            updates += 1;
            let sets = list.split(',').any(|assignment| assignment.trim().starts_with("updated_at = "));
            assert!(sets, "{name} does not set updated_at: {text}");
        }
        if let Some(insert) = text.strip_prefix("INSERT INTO ") {
            let columns: Vec<&str> =
                insert[insert.find('(').unwrap() + 1..insert.find(')').unwrap()].split(", ").collect();
            let sets = ["created_at", "updated_at"].iter().all(|column| columns.contains(column));
            assert!(sets, "{name} does not set created_at and updated_at: {text}");
        }
    }
    assert!(0 < updates);
}

/// The words of a text, so that `events` is not found in `event_horizons`.
fn words(text: &str) -> Vec<&str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect()
}

/// Whether a statement keeps to one organization: it inserts it, or asks for it. A chain of audit rows is an
/// organization's, or the instance's, and as good as its id.
fn names_its_organization(text: &str) -> bool {
    if let Some(insert) = text.strip_prefix("INSERT INTO ") {
        return words(&insert[..insert.find(')').unwrap()]).contains(&"org_id");
    }
    let condition = text.split_once(" WHERE ").map_or("", |(_, condition)| condition);
    // The second is what no index is chosen for.
    ["org_id = $", "org_id, NULL) = $", "chain = $"].iter().any(|wanted| {
        let mut found = condition.match_indices(wanted).map(|(at, _)| &condition[..at]);
        // The end of a longer name, such as `home_org_id`, is another column.
        found.any(|before| !before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_'))
    })
}

#[tokio::test]
async fn every_statement_over_tenants_tables_names_the_organization() {
    let ground = Ground::open(Engine::Sqlite).await;
    let conn = rusqlite::Connection::open(ground.file()).unwrap();
    let owned = "SELECT name FROM sqlite_schema WHERE type = 'table' AND EXISTS (SELECT 1 FROM \
                 pragma_table_info(sqlite_schema.name) AS columns WHERE columns.name = 'org_id')";
    let mut owned = conn.prepare(owned).unwrap();
    let tables: Vec<String> = owned.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert!(tables.iter().any(|table| table == "api_keys"), "{tables:?}");
    let loose: BTreeSet<&str> = texts()
        .filter(|(_, text)| {
            let over_a_tenants_table =
                words(text).iter().any(|word| tables.iter().any(|table| table == word));
            over_a_tenants_table && !names_its_organization(text)
        })
        .map(|(name, _)| name)
        .collect();
    let excused: BTreeSet<&str> = WITHOUT_ORGANIZATION.iter().map(|(name, _)| *name).collect();
    let unexcused: Vec<_> = loose.difference(&excused).collect();
    assert!(unexcused.is_empty(), "these read or write every tenant's rows: {unexcused:?}");
    let unneeded: Vec<_> = excused.difference(&loose).collect();
    assert!(unneeded.is_empty(), "excused without need: {unneeded:?}");
}

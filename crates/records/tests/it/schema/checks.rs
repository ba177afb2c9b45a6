//! Lists of allowed words: the same on both engines, and none that SQLite makes a table of for every row.

use records::Engine;
use records::statement::registered;
use rusqlite::Connection;

use crate::support::Ground;

/// Tables that units write all the time, with the columns that hold one of more than two words.
const WORDS: [(&str, &[&str]); 7] = [
    ("tasks", &["state", "status"]),
    ("reviews", &["resolution"]),
    ("approvals", &["status", "priority", "response_action"]),
    ("grants", &["basis"]),
    ("executions", &["result", "rollback"]),
    ("standalone_grants", &["store", "status"]),
    ("webhook_deliveries", &["state"]),
];
/// PLAN-08 wants a list in the condition of `idx_tasks_active`: one table for each row that is made, and two for one
/// that changes.
const OF_ACTIVE_TASKS: usize = 2;

fn schema_of(conn: &Connection, table: &str) -> String {
    let text = "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?1";
    conn.query_row(text, [table], |row| row.get(0)).unwrap()
}

/// The condition on one column, as it stands in the text of its table.
fn condition(schema: &str, column: &str) -> String {
    let begin = format!("CHECK ({column} ");
    let at = schema.find(&begin).unwrap_or_else(|| panic!("{column} is not checked: {schema}"));
    let rest = &schema[at + "CHECK (".len()..];
    rest[..rest.find(')').unwrap()].to_owned()
}

fn words(condition: &str) -> Vec<&str> {
    condition.split('\'').skip(1).step_by(2).collect()
}

fn swapped(letter: char) -> char {
    if letter.is_ascii_uppercase() { letter.to_ascii_lowercase() } else { letter.to_ascii_uppercase() }
}

#[tokio::test]
async fn both_engines_allow_the_same_words() {
    let lite = Ground::open(Engine::Sqlite).await;
    let conn = Connection::open(lite.file()).unwrap();
    let ground = Ground::open(Engine::Postgres).await;
    let pg = ground.connect().await;
    for (table, columns) in WORDS {
        let schema = schema_of(&conn, table);
        for column in columns {
            let condition = condition(&schema, column);
            let text = "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE contype = 'c' AND conrelid = \
                        ($1::text)::regclass AND conname = $2";
            let theirs: String =
                pg.query_one(text, &[&table, &format!("{table}_{column}_check")]).await.unwrap().get(0);
            let allowed = words(&condition);
            assert_eq!(allowed, words(&theirs), "{table}.{column}");
            assert!(allowed.len() > 2, "{table}.{column}: {condition}");
            let allows = |word: &str| -> bool {
                let ask = format!("SELECT {condition} FROM (SELECT ?1 AS {column})");
                conn.query_row(&ask, [word], |row| row.get(0)).unwrap()
            };
            assert!(allowed.iter().all(|word| allows(word)), "{table}.{column}: {condition}");
            let other_case: String = allowed[0].chars().map(swapped).collect();
            assert!(!allows("other") && !allows(&other_case) && !allows(""), "{table}.{column}: {condition}");
        }
    }
}

#[tokio::test]
async fn no_row_is_checked_with_a_table_made_for_it() {
    let ground = Ground::open(Engine::Sqlite).await;
    let conn = Connection::open(ground.file()).unwrap();
    let mut looked_at = 0;
    for statement in registered() {
        let text = (statement.texts)().0;
        let is_of = |table: &&str| {
            text.starts_with(&format!("INSERT INTO {table} "))
                || text.starts_with(&format!("UPDATE {table} "))
        };
        let Some(table) = WORDS.iter().map(|(table, _)| *table).find(is_of) else { continue };
        // What a statement searches for may need one; what it writes may not.
        if text.contains("SELECT") || text.contains(" IN (") {
            continue;
        }
        let mut explain = conn.prepare(&format!("EXPLAIN {text}")).unwrap();
        let steps: Vec<String> =
            explain.raw_query().mapped(|row| row.get::<_, String>(1)).map(Result::unwrap).collect();
        let filled =
            steps.windows(2).filter(|pair| pair[0] == "OpenEphemeral" && pair[1] == "String8").count();
        let allowed = if table == "tasks" { OF_ACTIVE_TASKS } else { 0 };
        assert!(filled <= allowed, "{filled} tables for a row of {text}");
        looked_at += 1;
    }
    assert!(looked_at > 20, "{looked_at} statements");
}

//! What was sealed cannot be changed unnoticed, column by column; what may change does not break the proof.

use std::fs;

use rusqlite::Connection;

use crate::support::{Home, Kind, Rows, mint};

/// A place with some seals and keys, its hub stopped.
async fn sealed() -> Home {
    let home = Home::on(Kind::Sqlite);
    for round in 0..3 {
        let served = home.serve().await;
        for number in 0..2 {
            mint(&served.admin(), &format!("key {round} {number}")).await;
        }
        served.stop();
    }
    home.verified(&[]);
    home
}

/// Restores the database file after each change.
struct Bench<'a> {
    home: &'a Home,
    original: Vec<u8>,
}

impl<'a> Bench<'a> {
    fn new(home: &'a Home) -> Self {
        assert!(!home.data.join("countersign.db-wal").exists(), "a stopped hub leaves one file");
        Self { home, original: fs::read(home.database_file()).unwrap() }
    }

    /// Changes the file behind everybody's back, without the schema's protection.
    fn change(&self, sql: &str) -> usize {
        fs::write(self.home.database_file(), &self.original).unwrap();
        let conn = Connection::open(self.home.database_file()).unwrap();
        conn.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON;").unwrap();
        conn.execute(sql, []).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// The change is found, and what is wrong is named.
    fn assert_found(&self, sql: &str, names: &[&str]) {
        assert_eq!(self.change(sql), 1, "{sql}");
        let ran = self.home.run_on_data(&["audit", "verify"]);
        assert_eq!(ran.code, Some(1), "{sql}: {ran:?}");
        let said = format!("{}{}", ran.out, ran.err);
        assert!(names.iter().any(|name| said.contains(name)), "{sql}: none of {names:?} in {said}");
    }

    fn query(&self, sql: &str) -> Rows {
        fs::write(self.home.database_file(), &self.original).unwrap();
        crate::support::on_sqlite(&self.home.database_file(), sql)
    }

    fn columns(&self, table: &str) -> Vec<(String, String)> {
        let rows = self.query(&format!("SELECT name, type FROM pragma_table_info('{table}')"));
        rows.into_iter().map(|row| (row[0].clone(), row[1].clone())).collect()
    }
}

/// Another value of the same type and form, in SQL.
fn other_value(column: &str, kind: &str) -> String {
    match kind {
        "TEXT" if column.ends_with("_id") || column == "id" || column == "chain" => {
            "'00000000-0000-7000-8000-000000000000'".to_owned()
        }
        "TEXT" => format!("coalesce({column}, '') || 'x'"),
        "INTEGER" => format!("{column} + 1"),
        // Only the last byte.
        "BLOB" => format!(
            "CAST(substr({column}, 1, length({column}) - 1) || \
             CASE substr({column}, -1) WHEN x'00' THEN x'01' ELSE x'00' END AS BLOB)"
        ),
        other => panic!("{column} is a {other}"),
    }
}

#[tokio::test]
async fn a_change_in_any_column_of_any_row_is_found() {
    let home = sealed().await;
    let bench = Bench::new(&home);
    let rows = bench.query("SELECT id FROM audit_logs ORDER BY created_at, id");
    for (index, (column, kind)) in bench.columns("audit_logs").into_iter().enumerate() {
        // Each column in another row.
        let row = &rows[index % rows.len()][0];
        let value = other_value(&column, &kind);
        let names = [row.as_str(), "seal ", "00000000-0000-7000-8000-000000000000"];
        bench.assert_found(&format!("UPDATE audit_logs SET {column} = {value} WHERE id = '{row}'"), &names);
    }
    for row in &rows {
        let row = &row[0];
        let body = other_value("body", "BLOB");
        bench.assert_found(&format!("UPDATE audit_logs SET body = {body} WHERE id = '{row}'"), &[row]);
        bench.assert_found(&format!("DELETE FROM audit_logs WHERE id = '{row}'"), &["missing"]);
    }
}

#[tokio::test]
async fn a_change_in_any_column_of_any_seal_is_found() {
    let home = sealed().await;
    let bench = Bench::new(&home);
    let seals = bench.query("SELECT id, number FROM audit_seals");
    assert!(seals.len() > 3, "{seals:?}");
    for (column, kind) in bench.columns("audit_seals") {
        for seal in &seals {
            let (id, number) = (&seal[0], &seal[1]);
            let next = (number.parse::<u64>().unwrap() + 1).to_string();
            let names = [id.clone(), format!("seal {number}"), format!("seal {next}"), "row ".to_owned()];
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let values = match column.as_str() {
                // The next number may be taken, and one in front of the chain must not hide the seal.
                "number" => vec!["number + 100".to_owned(), "-number".to_owned(), "0".to_owned()],
                _ => vec![other_value(&column, &kind)],
            };
            for value in values {
                bench.assert_found(
                    &format!("UPDATE audit_seals SET {column} = {value} WHERE id = '{id}'"),
                    &names,
                );
            }
        }
    }
}

/// Not even something that nobody would write there keeps the verifier from naming the place.
#[tokio::test]
async fn a_value_without_form_is_found() {
    let home = sealed().await;
    let bench = Bench::new(&home);
    let row = &bench.query("SELECT id FROM audit_logs ORDER BY created_at DESC LIMIT 1")[0][0];
    for column in ["owner_id", "key_id", "org_id", "session_id", "seal_id"] {
        bench.assert_found(
            &format!("UPDATE audit_logs SET {column} = 'nobody' WHERE id = '{row}'"),
            &[row, "seal "],
        );
    }
    bench.assert_found(&format!("UPDATE audit_logs SET id = 'nobody' WHERE id = '{row}'"), &["column id"]);
    bench.assert_found(
        &format!("UPDATE audit_logs SET chain = 'nobody' WHERE id = '{row}'"),
        &["column chain"],
    );
    bench.assert_found(&format!("UPDATE audit_logs SET body = x'ff' WHERE id = '{row}'"), &[row]);
    for column in ["previous", "root", "hash", "signature", "leaves"] {
        for value in
            ["x''".to_owned(), format!("substr({column}, 2)"), format!("CAST({column} || x'00' AS BLOB)")]
        {
            let sql = format!("UPDATE audit_seals SET {column} = {value} WHERE number = 2");
            bench.assert_found(&sql, &["seal 2"]);
        }
    }
}

#[tokio::test]
async fn a_row_that_was_slipped_in_is_found() {
    let home = sealed().await;
    let bench = Bench::new(&home);
    let columns: Vec<String> = bench.columns("audit_logs").into_iter().map(|(name, _)| name).collect();
    let copied = |id: &str, others: &[(&str, &str)]| {
        let value = |column: &String| match others.iter().find(|(name, _)| name == column) {
            Some((_, value)) => (*value).to_owned(),
            None if column == "id" => format!("'{id}'"),
            None => column.clone(),
        };
        let values: Vec<String> = columns.iter().map(value).collect();
        format!(
            "INSERT INTO audit_logs ({}) SELECT {} FROM audit_logs ORDER BY created_at LIMIT 1",
            columns.join(", "),
            values.join(", ")
        )
    };
    let id = "00000000-0000-7000-8000-000000000000";
    // Of two rows with one body either may be the copy.
    bench.assert_found(&copied(id, &[]), &["was added to seal 1"]);
    bench.assert_found(&copied(id, &[("seal_id", "NULL")]), &[id]);
    bench.assert_found(&copied(id, &[("seal_id", "'00000000-0000-7000-8000-000000000001'")]), &[id]);
}

#[tokio::test]
async fn a_change_is_found_on_postgres_too() {
    let home = Home::on(Kind::Postgres);
    let served = home.serve().await;
    mint(&served.admin(), "key").await;
    served.stop();
    home.verified(&[]);
    let row = &home.sql("SELECT id FROM audit_logs ORDER BY created_at DESC LIMIT 1").await[0][0];
    let changes = [
        ("audit_logs", "reason", "'x'", "NULL"),
        ("audit_logs", "metadata", r#"'{"x":1}'"#, "'{}'"),
        (
            "audit_logs",
            "updated_at",
            "updated_at + interval '1 microsecond'",
            "updated_at - interval '1 microsecond'",
        ),
        ("audit_logs", "body", "overlay(body placing 'X' from 5)", "body"),
    ];
    for (table, column, changed, restored) in changes {
        home.sql(&format!("UPDATE {table} SET {column} = {changed} WHERE id = '{row}'")).await;
        let ran = home.run_on_data(&["audit", "verify"]);
        assert_eq!(ran.code, Some(1), "{column}: {ran:?}");
        assert!(ran.out.contains(row.as_str()), "{column}: {}", ran.out);
        home.sql(&format!("UPDATE {table} SET {column} = {restored} WHERE id = '{row}'")).await;
    }
}

#[tokio::test]
async fn a_deleted_key_breaks_nothing() {
    let home = sealed().await;
    let used = home.sql("SELECT count(DISTINCT key_id) FROM audit_logs WHERE key_id IS NOT NULL").await;
    assert_ne!(used, [["0"]]);
    let conn = Connection::open(home.database_file()).unwrap();
    conn.execute_batch("PRAGMA foreign_keys = ON; DELETE FROM api_keys;").unwrap();
    drop(conn);
    assert_eq!(home.sql("SELECT count(*) FROM audit_logs WHERE key_id IS NOT NULL").await, [["0"]]);
    home.verified(&[]);
}

/// What is left agrees with itself; only somebody who kept the last seal elsewhere can know.
#[tokio::test]
async fn a_tail_that_was_cut_off_is_found_by_a_head_kept_elsewhere() {
    let home = sealed().await;
    let reports = home.verified(&[]);
    let ours = reports.iter().find(|report| report["chain"] != "instance").unwrap();
    let (chain, head) = (ours["chain"].as_str().unwrap(), ours["head"].as_str().unwrap());
    home.verified(&["--head", head]);
    let last = home
        .sql(&format!("SELECT id FROM audit_seals WHERE chain = '{chain}' ORDER BY number DESC LIMIT 1"))
        .await;
    let last = &last[0][0];
    home.sql(&format!("DELETE FROM audit_logs WHERE seal_id = '{last}'")).await;
    home.sql(&format!("DELETE FROM audit_seals WHERE id = '{last}'")).await;
    home.verified(&[]);
    let ran = home.run_on_data(&["audit", "verify", "--head", head]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.out.contains(&format!("BAD: no seal of the chain has the hash {head}")), "{}", ran.out);
}

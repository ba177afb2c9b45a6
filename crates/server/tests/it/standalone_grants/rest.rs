//! The token is nowhere at rest: not in the database and its files, not in the dump or the log of Redis, not in the hub's log.

use std::path::Path;
use std::process::Command;

use serde_json::json;
use testkit::Engine;
use testkit::postgres::Postgres;
use testkit::watch::log;

use super::{Ground, HASH, in_redis, on_each_store};
use crate::backdoor::Backdoor;
use crate::support::{expect, refused};

/// Redis with its log, and with texts as they are: compressed ones would hide from us.
const AS_IT_IS: &[&str] = &["--appendonly", "yes", "--rdbcompression", "no"];

/// The first file below the directory that has this text in it. Servers write and drop files while we look.
fn found_in(directory: &Path, text: &str) -> Option<String> {
    let mut grep = Command::new("grep");
    let ran = grep.args(["-rlsaF", "--max-count=1", "-e", text]).arg(directory).output().unwrap();
    String::from_utf8_lossy(&ran.stdout).lines().next().map(str::to_owned)
}

/// Where the database of a hub keeps its files, its log of changes among them.
fn database_files(ground: &Ground) -> &Path {
    match ground.hub.hub.records.engine() {
        Engine::Sqlite => ground.hub.data.path(),
        Engine::Postgres => Postgres::shared().directory(),
    }
}

/// Every row of every table, as text.
async fn whole(backdoor: &Backdoor) -> String {
    let mut all = String::new();
    for table in backdoor.tables().await {
        let columns: Vec<String> = backdoor
            .columns(&table)
            .await
            .iter()
            .map(|column| match backdoor {
                // A blob may hold what is no text.
                Backdoor::Lite(_) => {
                    format!(
                        "CASE TYPEOF({column}) WHEN 'blob' THEN HEX({column}) ELSE COALESCE({column}, '') END"
                    )
                }
                Backdoor::Pg { .. } => format!("COALESCE(CAST({column} AS TEXT), '')"),
            })
            .collect();
        let rows = backdoor.column(&format!("SELECT {} FROM {table}", columns.join(" || ' ' || "))).await;
        all.push_str(&rows.join("\n"));
    }
    all
}

async fn leave_nothing(ground: &Ground) {
    let log = log();
    log.keep(true);
    let body = json!({"tenant_id": ground.org, "ir_hash": HASH});
    let create = || ground.create(&body).header("idempotency-key", "kept");
    let kept = expect(create(), 201).await.json();
    expect(create(), 201).await;
    let (used, pending) = (ground.mint().await, ground.mint().await);
    expect(ground.consume(&used.token).header("idempotency-key", "used"), 200).await;
    refused(ground.consume(&used.token), 409, "ALREADY_CONSUMED").await;
    log.keep(false);
    let tokens = [used.token.as_str(), &pending.token, kept["token"].as_str().unwrap()];
    let backdoor = Backdoor::open(&ground.hub).await;
    if let Backdoor::Pg { .. } = backdoor {
        backdoor.run("CHECKPOINT").await;
    }
    if let Some(redis) = &ground.redis {
        assert!(redis.ask("SAVE").starts_with("+OK"));
        for file in ["dump.rdb", "appendonlydir"] {
            let there = found_in(&redis.directory().join(file), &pending.id);
            assert!(there.is_some(), "we look where Redis writes: {file}");
        }
    }
    let (text, logged) = (whole(&backdoor).await, log.kept());
    assert!(text.contains(&used.id) && logged.contains("ir.approval_created"), "we look where things are");
    assert!(found_in(database_files(ground), HASH).is_some(), "we look where the database writes");
    for token in tokens {
        let (_, secret) = token.split_once('_').unwrap();
        assert!(!text.contains(secret), "a token is in the database");
        assert!(!logged.contains(secret), "a token is in the log");
        assert_eq!(found_in(database_files(ground), secret), None);
        assert_eq!(found_in(ground.hub.data.path(), secret), None);
        if let Some(redis) = &ground.redis {
            assert_eq!(found_in(redis.directory(), secret), None);
        }
    }
}

#[tokio::test]
async fn a_token_is_nowhere_at_rest() {
    on_each_store(async |ground| {
        if ground.redis.is_none() {
            leave_nothing(&ground).await;
        }
    })
    .await;
    for engine in [Engine::Sqlite, Engine::Postgres] {
        leave_nothing(&in_redis(engine, AS_IT_IS).await).await;
    }
}

//! The token is nowhere at rest: not in the database, not in Redis, not in the log.

use std::fs;
use std::path::Path;

use serde_json::json;
use testkit::watch::log;

use super::{HASH, on_each_store};
use crate::backdoor::Backdoor;
use crate::support::{expect, refused};

/// Whether a file below the directory has these bytes in it.
fn found_in(directory: &Path, bytes: &[u8]) -> Option<String> {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if let Some(found) = found_in(&path, bytes) {
                return Some(found);
            }
        // A file may go while we look, as logs of databases do.
        } else if let Ok(content) = fs::read(&path)
            && content.windows(bytes.len()).any(|window| window == bytes)
        {
            return Some(path.display().to_string());
        }
    }
    None
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

#[tokio::test]
async fn a_token_is_nowhere_at_rest() {
    let log = log();
    on_each_store(async |ground| {
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
        if let Some(redis) = &ground.redis {
            assert!(redis.ask("SAVE").starts_with("+OK"));
        }
        let (text, logged) = (whole(&Backdoor::open(&ground.hub).await).await, log.kept());
        assert!(
            text.contains(&used.id) && logged.contains("ir.approval_created"),
            "we look where things are"
        );
        for token in tokens {
            let (_, secret) = token.split_once('_').unwrap();
            assert!(!text.contains(secret), "a token is in the database");
            assert!(!logged.contains(secret), "a token is in the log");
            assert_eq!(found_in(ground.hub.data.path(), secret.as_bytes()), None);
            if let Some(redis) = &ground.redis {
                assert!(found_in(redis.directory(), pending.id.as_bytes()).is_some(), "the dump is there");
                assert_eq!(found_in(redis.directory(), secret.as_bytes()), None);
            }
        }
    })
    .await;
}

//! What must never be seen: no secret in any output or in the records; and a log that programs can read.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use testkit::reqwest::{Client, RequestBuilder};

use crate::support::{Home, Kind, Ran, Served, mint};

const PASSWORD: &str = "hunter2-is-a-password";

/// A request that nobody checks: what is wrong with it is the point.
fn request(served: &Served, method: &str, path: &str) -> RequestBuilder {
    let http = Client::builder().no_proxy().tls_certs_only([]).build().unwrap();
    http.request(method.parse().unwrap(), format!("{}{path}", served.url))
}

/// Uses a hub in every way it knows, rightly and wrongly; every secret that was on the way.
async fn used_in_every_way(served: &Served) -> Vec<String> {
    let admin = served.admin();
    let mut secrets = vec![served.admin_key().to_owned()];
    let key = mint(&admin, "first").await;
    served.client(&key.secret).me().await.unwrap();
    let rotated = served.client(&key.secret).rotate_api_key(key.id).await.unwrap();
    secrets.extend([key.secret.clone(), rotated.key.unwrap()]);
    admin.revoke_api_key(rotated.api_key.id).await.unwrap();
    for _ in 0..2 {
        let once = request(served, "POST", "/api/v1/api-keys").bearer_auth(served.admin_key());
        let once = once.header("idempotency-key", "once").json(&json!({"name": "repeated"}));
        let answer: Value =
            serde_json::from_slice(&once.send().await.unwrap().bytes().await.unwrap()).unwrap();
        secrets.extend(answer["key"].as_str().map(str::to_owned));
    }
    let secret = mint(&admin, "misplaced").await.secret;
    let misplaced = [
        request(served, "GET", "/api/v1/me").bearer_auth(format!("{secret}x")),
        request(served, "GET", "/api/v1/me").header("authorization", &secret),
        request(served, "GET", &format!("/api/v1/me?key={secret}")),
        request(served, "GET", &format!("/api/v1/api-keys/{secret}")).bearer_auth(served.admin_key()),
        request(served, "GET", &format!("/{secret}")),
        request(served, "POST", "/api/v1/api-keys")
            .bearer_auth(served.admin_key())
            .body(format!("{{\"{secret}\"")),
        request(served, "POST", "/api/v1/api-keys")
            .bearer_auth(served.admin_key())
            .json(&json!({"name": 1, &secret: 2})),
        request(served, "GET", "/api/v1/events").bearer_auth(served.admin_key()).query(&[("types", &secret)]),
        request(served, "GET", "/api/v1/me")
            .bearer_auth(served.admin_key())
            .header("user-agent", "curl")
            .header("cookie", &secret),
    ];
    for one in misplaced {
        one.send().await.unwrap();
    }
    secrets.push(secret);
    secrets
}

/// All files of a directory, the operator's own key files aside.
fn files(dir: &Path, found: &mut Vec<Vec<u8>>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if path.file_name().unwrap() != "keys" {
                files(&path, found);
            }
        } else if path.file_name().unwrap() != "admin.key" {
            found.push(fs::read(&path).unwrap());
        }
    }
}

/// Everything PostgreSQL keeps for the hub, as text; bytes as hexadecimal.
async fn all_rows(home: &Home) -> String {
    let tables = home.sql("SELECT tablename FROM pg_tables WHERE schemaname = 'countersign'").await;
    assert!(tables.len() > 10);
    let mut text = String::new();
    for table in tables {
        for row in home.sql(&format!("SELECT CAST(t AS TEXT) FROM {} t", table[0])).await {
            text.push_str(&row[0]);
        }
    }
    text
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle)
}

async fn nothing_is_shown(kind: Kind) {
    let mut home = Home::on(kind).env("COUNTERSIGN_LOG", "trace");
    // Whoever trusts everybody asks for no password, but is given one all the same.
    home.database_url =
        home.database_url.map(|url| url.replace("postgres@", &format!("postgres:{PASSWORD}@")));
    let served = home.serve().await;
    let mut secrets = used_in_every_way(&served).await;
    let mut commands = Vec::new();
    for args in [&["me"][..], &["events"], &["audit", "list", "--json"], &["audit", "export"]] {
        commands.push(home.as_admin(&served, args));
    }
    let mut kept = Vec::new();
    // Before the end, while the write-ahead log still holds everything, and after it.
    files(&home.data, &mut kept);
    let ran = served.stop();
    files(&home.data, &mut kept);
    if kind == Kind::Postgres {
        kept.push(all_rows(&home).await.into_bytes());
    }
    assert!(ran.err.lines().count() > 20, "a log at trace level has something to say: {}", ran.err);
    commands.push(ran);
    commands.push(home.run_on_data(&["config", "check", "--json"]));
    for name in ["seal.key", "secrets.key"] {
        let text = fs::read_to_string(home.key_file(name)).unwrap();
        secrets.push(text.trim().split_once(' ').unwrap().1.to_owned());
    }
    secrets.push(PASSWORD.to_owned());
    assert_eq!(secrets.len(), 8, "the replayed answer shows no secret");
    for (number, secret) in secrets.iter().enumerate() {
        let hexadecimal: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
        for Ran { out, err, .. } in &commands {
            assert!(!out.contains(secret) && !err.contains(secret), "secret {number} was shown");
        }
        for bytes in &kept {
            assert!(!contains(bytes, secret.as_bytes()), "secret {number} is in a file or table");
            assert!(!contains(bytes, hexadecimal.as_bytes()), "secret {number} is in a file or table");
        }
    }
}

#[tokio::test]
async fn no_secret_is_ever_shown_or_kept_on_sqlite() {
    nothing_is_shown(Kind::Sqlite).await;
}

#[tokio::test]
async fn no_secret_is_ever_shown_or_kept_on_postgres() {
    nothing_is_shown(Kind::Postgres).await;
}

#[tokio::test]
async fn a_log_for_programs_is_json_line_by_line() {
    let home = Home::on(Kind::Sqlite).env("COUNTERSIGN_LOG", "trace").env("COUNTERSIGN_LOG_FORMAT", "json");
    let served = home.serve().await;
    used_in_every_way(&served).await;
    let ran = served.stop();
    assert!(ran.err.lines().count() > 20, "{}", ran.err);
    for line in ran.err.lines() {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(
            line["timestamp"].is_string() && line["level"].is_string() && line["message"].is_string(),
            "{line}"
        );
    }
}

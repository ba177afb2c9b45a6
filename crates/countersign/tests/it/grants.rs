//! Standalone grants as operators and scripts meet them: settings, commands, and the page about them.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};
use testkit::redis::Redis;
use testkit::reqwest;

use crate::support::{Home, Kind, Served, assert_page_is_true, until};
use crate::tls::certificates;

const FAILED: i32 = 1;
const NOT_VALID: i32 = 2;
const REFUSED: i32 = 3;
const HASH: &str = "sha256:9f86d081884c7d65";

/// Runs a command as the admin with a token on its stdin: how it ended, and what it said.
fn consume(home: &Home, served: &Served, token: &str, hash: &str) -> (Option<i32>, String) {
    let mut command = home.command_as(&served.url, served.admin_key(), &["grant", "consume", hash, "--json"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    writeln!(child.stdin.take().unwrap(), "{token}").unwrap();
    let output = child.wait_with_output().unwrap();
    let said = if output.status.success() { output.stdout } else { output.stderr };
    (output.status.code(), String::from_utf8(said).unwrap())
}

fn mint(home: &Home, served: &Served) -> Value {
    let out =
        home.as_admin(served, &["grant", "mint", HASH, "--ttl", "600", "--by", "system", "--json"]).done();
    let made: Value = serde_json::from_str(&out).unwrap();
    testkit::watch::secret(made["token"].as_str().unwrap());
    made
}

fn stats(home: &Home, served: &Served) -> Value {
    serde_json::from_str(&home.as_admin(served, &["grant", "stats", "--json"]).done()).unwrap()
}

#[tokio::test]
async fn the_commands() {
    for kind in [Kind::Sqlite, Kind::Postgres] {
        let home = Home::on(kind);
        let served = home.serve().await;
        let made = mint(&home, &served);
        let (id, token) = (made["approval_id"].as_str().unwrap(), made["token"].as_str().unwrap());
        let listed: Value =
            serde_json::from_str(&home.as_admin(&served, &["grant", "list", "--json"]).done()).unwrap();
        assert_eq!(listed["items"][0]["approval_id"], json!(id));
        assert!(home.as_admin(&served, &["grant", "list"]).done().contains(HASH));
        let (code, said) = consume(&home, &served, token, "sha256:other");
        assert_eq!(code, Some(REFUSED), "{said}");
        let (code, said) = consume(&home, &served, token, HASH);
        assert_eq!(code, Some(0), "{said}");
        assert_eq!(serde_json::from_str::<Value>(&said).unwrap()["status"], "consumed");
        let (code, said) = consume(&home, &served, token, HASH);
        assert_eq!(code, Some(REFUSED), "{said}");
        assert!(said.contains("it works once"), "{said}");
        assert!(home.as_admin(&served, &["grant", "show", id]).done().contains("consumed"));
        assert_eq!(stats(&home, &served)["by_status"], json!({"pending": 0, "consumed": 1, "expired": 0}));
        served.stop();
    }
}

/// `test_feature_flag_store_selection`, and what survives a restart (TOKEN-01, COMPAT-06).
#[tokio::test]
async fn each_store_keeps_what_it_promises_over_a_restart() {
    let redis = Redis::start();
    for (store, survives) in [("records", true), ("redis", true), ("memory", false)] {
        redis.ask("FLUSHALL");
        let home = Home::on(Kind::Sqlite).env("APPROVAL_STORE", store).env("REDIS_URL", &redis.url());
        let served = home.serve().await;
        let chosen = chosen(store, redis.port());
        served.process.err_until(&chosen, |said| said.contains(&chosen));
        let token = mint(&home, &served)["token"].as_str().unwrap().to_owned();
        let in_redis = redis.ask("KEYS ade:approval:token:*").contains("token:{");
        assert_eq!(in_redis, store == "redis");
        served.stop();
        let served = home.serve().await;
        let (code, said) = consume(&home, &served, &token, HASH);
        assert_eq!(code, Some(if survives { 0 } else { REFUSED }), "{store}: {said}");
        served.stop();
    }
}

/// What was pending in a store that is no longer used ends; nobody can use it.
#[tokio::test]
async fn a_store_that_is_exchanged_begins_afresh() {
    let home = Home::on(Kind::Sqlite).env("APPROVAL_STORE", "memory");
    let served = home.serve().await;
    mint(&home, &served);
    served.stop();
    let home = home.env("APPROVAL_STORE", "records");
    let served = home.serve().await;
    let deadline = std::time::Instant::now() + crate::support::PATIENCE;
    while stats(&home, &served)["by_status"] != json!({"pending": 0, "consumed": 0, "expired": 1}) {
        assert!(std::time::Instant::now() < deadline, "{}", stats(&home, &served));
    }
    served.stop();
}

/// What the log says about the choice (TOKEN-33, CLEAN-07): where, and never with what it is opened.
fn chosen(store: &str, port: u16) -> String {
    let name = match store {
        "records" => "RecordsApprovalStore".to_owned(),
        "memory" => "InMemoryApprovalStore".to_owned(),
        _ => format!("RedisApprovalStore (url=redis://127.0.0.1:{port}/0)"),
    };
    format!("[ApprovalsService] Using {name}")
}

/// A port that nobody listens on.
fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// TLS to Redis is verified, or there is none.
#[tokio::test]
async fn a_redis_behind_tls() {
    let dir = certificates();
    let file = |name: &str| dir.path().join(name).display().to_string();
    let port = free_port();
    let redis = Redis::start_with(&[
        "--tls-port",
        &port.to_string(),
        "--tls-cert-file",
        &file("server.pem"),
        "--tls-key-file",
        &file("server.key"),
        "--tls-ca-cert-file",
        &file("ca.pem"),
        "--tls-auth-clients",
        "no",
    ]);
    let url = format!("rediss://127.0.0.1:{port}");
    let in_redis = |url: &str| Home::on(Kind::Sqlite).env("APPROVAL_STORE", "redis").env("REDIS_URL", url);
    let home = in_redis(&url).env("SSL_CERT_FILE", &file("ca.pem"));
    let served = home.serve().await;
    let said = format!("[ApprovalsService] Using RedisApprovalStore (url=rediss://127.0.0.1:{port}/0)");
    served.process.err_until(&said, |log| log.contains(&said));
    let token = mint(&home, &served)["token"].as_str().unwrap().to_owned();
    assert!(redis.ask("KEYS ade:approval:token:*").contains("token:{"));
    let (code, said) = consume(&home, &served, &token, HASH);
    assert_eq!(code, Some(0), "{said}");
    served.stop();
    // Who signed it is not known; not even where somebody asks to look away; and what is not TLS is no TLS.
    in_redis(&url).refused().assert_refused(FAILED, &["REDIS_URL", "certificate"]);
    let insecure = in_redis(&format!("{url}/#insecure")).env("SSL_CERT_FILE", &file("ca.pem"));
    insecure.refused().assert_refused(NOT_VALID, &["REDIS_URL"]);
    let plain =
        in_redis(&format!("rediss://127.0.0.1:{}", redis.port())).env("SSL_CERT_FILE", &file("ca.pem"));
    plain.refused().assert_refused(FAILED, &["REDIS_URL"]);
}

/// METRIC-10 to METRIC-12: exactly what happened in one process, as the metrics, the log and the statistics have it.
#[tokio::test]
async fn operators_can_count() {
    let redis = Redis::start();
    let home = Home::on(Kind::Sqlite).env("APPROVAL_STORE", "redis").env("REDIS_URL", &redis.url());
    let served = home.serve().await;
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let (url, key) = (served.url.clone(), served.admin_key().to_owned());
    let metrics = async || {
        let answer = http.get(format!("{url}/metrics")).bearer_auth(&key).send().await.unwrap();
        answer.text().await.unwrap()
    };
    let value = |text: &str, name: &str| -> Option<f64> {
        text.lines().find_map(|line| line.strip_prefix(&format!("countersign_{name} "))?.parse().ok())
    };
    let runs_before = value(&metrics().await, "grant_cleanup_runs_total").unwrap_or(0.0);
    let token = mint(&home, &served)["token"].as_str().unwrap().to_owned();
    mint(&home, &served);
    assert_eq!(consume(&home, &served, &token, HASH).0, Some(0));
    let short = home.as_admin(&served, &["grant", "mint", HASH, "--ttl", "1", "--json"]).done();
    let short: Value = serde_json::from_str(&short).unwrap();
    testkit::watch::secret(short["token"].as_str().unwrap());
    // Redis drops it by itself.
    let id = short["approval_id"].as_str().unwrap();
    until("the end of its record in Redis", async || {
        redis.ask(&format!("EXISTS ade:approval:token:{{{id}}}")).starts_with(":0")
    })
    .await;
    until("the end of its time", async || stats(&home, &served)["by_status"]["expired"] == json!(1)).await;
    let clean = http.post(format!("{url}/api/ir/approvals/cleanup")).bearer_auth(&key).json(&json!({}));
    assert!(clean.send().await.unwrap().status().is_success());
    let text = metrics().await;
    for (name, expected) in [
        ("grants_created_total", 3.0),
        ("grants_consumed_total", 1.0),
        ("grants_expired_total", 1.0),
        ("grant_cleanup_cleaned_total", 1.0),
        ("grant_store_healthy", 1.0),
    ] {
        assert_eq!(value(&text, name), Some(expected), "{name}");
    }
    assert!(value(&text, "grant_cleanup_runs_total").unwrap() > runs_before);
    assert_eq!(stats(&home, &served)["by_status"], json!({"pending": 1, "consumed": 1, "expired": 1}));
    let said = served.stop().err;
    let lines = |what: &str| said.matches(&format!("[Approvals] ir.approval_{what}: approval_id=")).count();
    assert_eq!((lines("created"), lines("consumed"), lines("expired")), (3, 1, 1), "{said}");
    assert!(said.contains("[ApprovalCleanupWorker] Started (interval=300s)"), "{said}");
}

#[test]
fn a_redis_that_cannot_be_used() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for url in [format!("redis://:hunter2@{free}"), format!("rediss://:hunter2@{free}")] {
        let home = Home::on(Kind::Sqlite).env("APPROVAL_STORE", "redis").env("REDIS_URL", &url);
        let ran = home.refused();
        ran.assert_refused(FAILED, &["Redis", "REDIS_URL", "APPROVAL_STORE=redis", "correct REDIS_URL"]);
        assert!(!ran.err.contains("hunter2"), "{}", ran.err);
    }
}

/// The page about grants says what works: its commands are run as they stand there.
#[tokio::test]
async fn the_page_about_grants_is_true() {
    let home = Home::on(Kind::Sqlite);
    let served = home.serve().await;
    let (url, key) = (served.url.clone(), served.admin_key().to_owned());
    let me = reqwest::Client::builder().no_proxy().build().unwrap();
    let me = me.get(format!("{url}/api/v1/me")).bearer_auth(&key).send().await.unwrap().text().await.unwrap();
    let me: Value = serde_json::from_str(&me).unwrap();
    let org = me["organization"]["slug"].as_str().unwrap();
    assert_page_is_true("grants.md", 9, &[("HUB", &url), ("KEY", &key), ("ORG", org)]);
    served.stop();
}

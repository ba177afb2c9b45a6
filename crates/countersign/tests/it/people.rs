//! `account`, `org`, `key` and `settings`: what an admin does on a first day.

use serde_json::Value;

use crate::support::{Home, Kind, PATIENCE, Process, Served};

fn json(home: &Home, served: &Served, args: &[&str]) -> Value {
    let out = home.as_admin(served, &[args, &["--json"]].concat()).done();
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{args:?}: {error}: {out}"))
}

/// A command of somebody else.
fn as_somebody(home: &Home, served: &Served, key: &str, args: &[&str]) -> crate::support::Ran {
    let mut command = home.command(args);
    command.env("COUNTERSIGN_URL", &served.url).env("COUNTERSIGN_API_KEY", key);
    Process::start(command).ended(PATIENCE)
}

async fn a_first_day(kind: Kind) {
    let home = Home::on(kind);
    let served = home.serve().await;
    let run = |args: &[&str]| home.as_admin(&served, args);
    let ada = ["account", "create", "ada@example.org", "--name", "Ada Lovelace", "--role", "author"];
    let ada = json(&home, &served, &ada);
    assert_eq!(ada["roles"], serde_json::json!(["author"]));
    run(&["account", "create", "ada.b@example.org", "--name", "Ada B"]).done();
    run(&["account", "create", "ada@example.org", "--name", "Again"]).assert_refused(1, &["CONFLICT"]);
    let table = run(&["account", "list", "love"]).done();
    assert!(table.contains("Ada Lovelace") && !table.contains("Ada B"), "{table}");
    run(&["account", "show", "ada"]).assert_refused(1, &["2 members are called ada"]);
    // Her first key enrols her; it stands alone on stdout.
    let key = run(&["key", "mint", "first", "--account", "ada@example.org"]).done();
    let key = key.trim();
    assert!(as_somebody(&home, &served, key, &["me"]).done().contains("ada@example.org"));
    run(&["key", "mint", "second", "--account", "ada@example.org"]).assert_refused(3, &["FORBIDDEN"]);
    let narrow = ["key", "mint", "ci", "--scope", "events:read", "--expires", "30d"];
    let narrow = as_somebody(&home, &served, key, &narrow).done();
    as_somebody(&home, &served, narrow.trim(), &["key", "list"]).assert_refused(3, &["keys:read"]);
    as_somebody(&home, &served, key, &["account", "update", "me", "--name", "Ada King"]).done();
    run(&["org", "set-member", "ada@example.org", "--role", "reviewer", "--role", "dba"]).done();
    assert!(run(&["org", "members", "king"]).done().contains("dba, reviewer"));
    run(&["account", "suspend", "ada@example.org"]).done();
    as_somebody(&home, &served, key, &["me"]).assert_refused(3, &["suspended"]);
    run(&["account", "reactivate", "ada@example.org"]).done();
    as_somebody(&home, &served, key, &["me"]).done();
    let made = json(&home, &served, &["org", "create", "Halden Payments", "--slug", "halden"]);
    let there = run(&["key", "mint", "there", "--org", "halden"]).done();
    assert!(as_somebody(&home, &served, there.trim(), &["me"]).done().contains("halden"));
    run(&["org", "archive", made["id"].as_str().unwrap()]).done();
    as_somebody(&home, &served, there.trim(), &["me"]).assert_refused(3, &["archived"]);
    assert_eq!(json(&home, &served, &["settings", "set", "lock:default_ttl=60"])["lock:default_ttl"], 60);
    assert_eq!(json(&home, &served, &["settings", "reset", "lock:default_ttl"])["lock:default_ttl"], 30);
    run(&["settings", "set", "lock:default_ttl"]).assert_refused(2, &["NAME=VALUE"]);
    run(&["account", "update", "me"]).assert_refused(2, &["nothing to change"]);
    served.stop();
}

#[tokio::test]
async fn on_sqlite() {
    a_first_day(Kind::Sqlite).await;
}

#[tokio::test]
async fn on_postgres() {
    a_first_day(Kind::Postgres).await;
}

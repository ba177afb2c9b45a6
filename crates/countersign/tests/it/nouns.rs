//! `project` and `agent`: made, found by name, changed, ended; tables for people, JSON for programs.

use serde_json::Value;

use crate::support::{Home, Kind, PATIENCE, Process, Served};

fn json(home: &Home, served: &Served, args: &[&str]) -> Value {
    let out = home.as_admin(served, &[args, &["--json"]].concat()).done();
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{args:?}: {error}: {out}"))
}

/// The words of the line that begins so.
fn line(table: &str, begins: &str) -> Vec<String> {
    let line = table.lines().find(|line| line.starts_with(begins));
    let line = line.unwrap_or_else(|| panic!("no line {begins:?} in:\n{table}"));
    line.split_whitespace().map(str::to_owned).collect()
}

async fn projects(kind: Kind) {
    let home = Home::on(kind);
    let served = home.serve().await;
    let run = |args: &[&str]| home.as_admin(&served, args);
    let made = json(&home, &served, &["project", "create", "payments", "--name", "Payments & co"]);
    assert_eq!((&made["slug"], &made["name"]), (&"payments".into(), &"Payments & co".into()));
    assert_eq!(line(&run(&["project", "create", "plain"]).done(), "project"), ["project", "plain"]);
    let table = run(&["project", "list"]).done();
    assert_eq!(line(&table, "SLUG"), ["SLUG", "NAME", "ID", "CREATED"]);
    assert_eq!(line(&table, "payments")[1..4], ["Payments", "&", "co"]);
    let listed = json(&home, &served, &["project", "list"]);
    assert_eq!(listed["items"].as_array().unwrap().len(), 3);
    assert_eq!(
        json(&home, &served, &["project", "list", "--limit", "2"])["items"].as_array().unwrap().len(),
        2
    );
    let by_id = made["id"].as_str().unwrap();
    for named in ["payments", by_id] {
        assert_eq!(json(&home, &served, &["project", "show", named]), made);
    }
    let renamed = json(&home, &served, &["project", "rename", "payments", "--slug", "billing"]);
    assert_eq!(renamed["id"], made["id"]);

    let add = ["project", "workspace", "add", "billing", "laptop", "/home/ada"];
    assert_eq!(json(&home, &served, &add)["path"], "/home/ada");
    let update = ["project", "workspace", "update", "billing", "laptop", "--path", "/srv"];
    assert_eq!(json(&home, &served, &update)["path"], "/srv");
    let table = run(&["project", "workspace", "list", "billing"]).done();
    assert_eq!(line(&table, "laptop")[1], "/srv");
    run(&["project", "workspace", "remove", "billing", "laptop"]).done();
    run(&["project", "workspace", "remove", "billing", "laptop"])
        .assert_refused(1, &["no workspace", "laptop"]);

    run(&["project", "create", "billing"]).assert_refused(1, &["CONFLICT", "`billing`"]);
    run(&["project", "rename", "billing"]).assert_refused(2, &["--name or --slug"]);
    run(&["project", "delete", "default"]).assert_refused(1, &["INVALID_STATE"]);
    run(&["project", "show", "nobody"]).assert_refused(1, &["no project", "nobody"]);
    assert_eq!(run(&["project", "delete", "billing"]).done(), "deleted project billing\n");
    run(&["project", "show", by_id]).assert_refused(1, &["NOT_FOUND"]);
    served.stop();
}

async fn agents(kind: Kind) {
    let home = Home::on(kind);
    let served = home.serve().await;
    let run = |args: &[&str]| home.as_admin(&served, args);
    let create = [
        "agent",
        "create",
        "deployer",
        "--label",
        "region=eu",
        "--label",
        "tier=1",
        "--max-tasks",
        "4",
        "--model",
        "m-1",
        "--config",
        r#"{"branch": "main"}"#,
    ];
    let made = json(&home, &served, &create);
    assert_eq!(made["labels"], serde_json::json!({"region": "eu", "tier": "1"}));
    assert_eq!((&made["max_tasks"], &made["config"]["branch"]), (&4.into(), &"main".into()));
    run(&["agent", "create", "idle"]).done();
    let table = run(&["agent", "list"]).done();
    assert_eq!(line(&table, "NAME")[..3], ["NAME", "STATUS", "TASKS"]);
    assert_eq!(line(&table, "deployer")[1..4], ["offline", "0/4", "never"]);
    let eu = json(&home, &served, &["agent", "list", "--label", "region=eu", "--status", "offline"]);
    assert_eq!(eu["items"].as_array().unwrap().len(), 1);
    let id = made["id"].as_str().unwrap();
    for named in ["deployer", id] {
        assert_eq!(json(&home, &served, &["agent", "show", named]), made);
    }

    // The key is all that is printed, once, and it is the agent's.
    let key = run(&["agent", "key", "deployer"]).done().trim().to_owned();
    let me = Process::start(home.command_as(&served.url, &key, &["me", "--json"])).ended(PATIENCE).done();
    let me: Value = serde_json::from_str(&me).unwrap();
    assert_eq!(me["account"]["id"], made["id"]);
    let narrow = json(&home, &served, &["agent", "key", "deployer", "--scope", "events:read", "--name", "n"]);
    assert_eq!((&narrow["scopes"], &narrow["name"]), (&serde_json::json!(["events:read"]), &"n".into()));

    assert_eq!(
        json(&home, &served, &["agent", "update", "deployer", "--max-tasks", "8", "--model", ""])["max_tasks"],
        8
    );
    assert_eq!(json(&home, &served, &["agent", "show", "deployer"])["model"], Value::Null);
    assert_eq!(
        json(&home, &served, &["agent", "update", "deployer", "--name", "shipper"])["name"],
        "shipper"
    );
    run(&["agent", "drain", "shipper"]).done();
    run(&["agent", "resume", "shipper"]).done();
    assert_eq!(run(&["agent", "deactivate", "shipper"]).done(), "deactivated agent shipper\n");
    Process::start(home.command_as(&served.url, &key, &["me"]))
        .ended(PATIENCE)
        .assert_refused(3, &["UNAUTHENTICATED"]);
    run(&["agent", "show", "shipper"]).assert_refused(1, &["no agent", "shipper"]);
    assert_eq!(line(&run(&["agent", "show", id]).done(), "status"), ["status", "deactivated"]);
    assert_eq!(line(&run(&["agent", "list", "--include-deactivated"]).done(), "shipper")[1], "deactivated");

    run(&["agent", "create", "idle"]).assert_refused(1, &["CONFLICT", "`idle`"]);
    run(&["agent", "create", "x", "--label", "nonsense"]).assert_refused(2, &["KEY=VALUE"]);
    run(&["agent", "create", "x", "--config", "[]"]).assert_refused(2, &["not a JSON object"]);
    run(&["agent", "create", "x", "--max-tasks", "0"])
        .assert_refused(1, &["/max_tasks", "VALIDATION_FAILED"]);
    run(&["agent", "update", "idle"]).assert_refused(2, &["say what to change"]);
    served.stop();
}

#[tokio::test]
async fn projects_on_sqlite() {
    projects(Kind::Sqlite).await;
}

#[tokio::test]
async fn projects_on_postgres() {
    projects(Kind::Postgres).await;
}

#[tokio::test]
async fn agents_on_sqlite() {
    agents(Kind::Sqlite).await;
}

#[tokio::test]
async fn agents_on_postgres() {
    agents(Kind::Postgres).await;
}

//! `task`: proposed from flags and files, shown with nothing hidden, compared, talked about, deleted.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Home, Kind};

const YAML: &str = "\
config:
  type: infrastructure
  description: |
    Add an index
    on orders
  parameters: {country: no, table: orders}
  resources: [{type: database, id: prod-db-01}]
metadata:
  team: payments
  tags: [db]
path: implementation/database
";

async fn tasks(kind: Kind) {
    let home = Home::on(kind);
    let served = home.serve().await;
    let run = |args: &[&str]| home.as_admin(&served, args);
    let json_of = |args: &[&str]| -> Value {
        let out = run(&[args, &["--json"]].concat()).done();
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{args:?}: {error}: {out}"))
    };
    let file = home.beside("change.yaml");
    fs::write(&file, YAML).unwrap();
    let create = [
        "task",
        "create",
        "--file",
        file.to_str().unwrap(),
        "--tag",
        "night",
        "--ticket",
        "OPS-7",
        "--resource",
        "cache:c@shared",
        "--priority",
        "70",
        "--assignee",
        "me",
    ];
    let made = json_of(&create);
    assert_eq!(made["config"]["parameters"], json!({"country": "no", "table": "orders"}));
    assert_eq!(made["config"]["resources"][1], json!({"type": "cache", "id": "c", "mode": "shared"}));
    assert_eq!(made["metadata"]["tags"], json!(["db", "night"]));
    assert_eq!((&made["config"]["priority"], &made["path"]), (&json!(70), &json!("implementation/database")));
    let hostile = json_of(&["task", "create", "--type", "t", "--description", "safe\u{202e} p\u{430}y"]);
    let id = |task: &Value| task["id"].as_str().unwrap().to_owned();
    let listed = json_of(&[
        "task",
        "list",
        "--resource",
        "database:prod-db-01",
        "--author",
        "me",
        "--project",
        "default",
    ]);
    assert_eq!(listed["items"], json!([made]));
    assert_eq!(json_of(&["task", "list", "--state", "draft", "--path", "impl"])["items"], json!([made]));
    let table = run(&["task", "list"]).done();
    assert!(table.contains("Add an index") && !table.contains('\u{202e}'), "{table}");
    let shown = run(&["task", "show", &id(&hostile)]).done();
    assert!(shown.contains("\"description\": \"safe\\u202e p\u{430}y\""), "{shown}");
    assert!(shown.contains("! config/description mixes letters of several scripts"), "{shown}");
    assert!(shown.contains(hostile["content_hash"].as_str().unwrap()), "{shown}");
    assert_eq!(run(&["task", "diff", &id(&made)]).done(), "revisions 1 and 1 do the same\n");
    run(&["task", "comment", &id(&made), "why?\u{1b}[2J"])
        .assert_refused(1, &["/body", "control characters"]);
    run(&["task", "comment", &id(&made), "why\u{200b}?"]).done();
    assert!(run(&["task", "comments", &id(&made)]).done().contains("why\\u200b?"));
    run(&["task", "create", "--type", "t"]).assert_refused(2, &["--type and --description"]);
    fs::write(&file, "config: {type: a, type: b}").unwrap();
    run(&create).assert_refused(2, &["change.yaml", "duplicated key"]);
    fs::write(&file, "config: {type: t, description: d, resorces: []}").unwrap();
    run(&create[..4]).assert_refused(1, &["/config/resorces", "VALIDATION_FAILED"]);
    assert_eq!(run(&["task", "delete", &id(&made)]).done(), format!("deleted task {}\n", id(&made)));
    run(&["task", "show", &id(&made)]).assert_refused(1, &["NOT_FOUND"]);
    served.stop();
}

#[tokio::test]
async fn tasks_on_sqlite() {
    tasks(Kind::Sqlite).await;
}

#[tokio::test]
async fn tasks_on_postgres() {
    tasks(Kind::Postgres).await;
}

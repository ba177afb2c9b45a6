//! `policy` and `catalogue`: applied from files, shown to people and programs.

use serde_json::{Value, json};

use crate::support::{Home, Kind, Served};

fn json(home: &Home, served: &Served, args: &[&str]) -> Value {
    let out = home.as_admin(served, &[args, &["--json"]].concat()).done();
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{args:?}: {error}: {out}"))
}

fn written(home: &Home, name: &str, text: &str) -> String {
    let path = home.beside(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

const DATABASES: &str = "\
name = 'databases'
resource_patterns = ['database:prod-*']
min_approvers = 2
required_roles = ['dba']
reviewers = ['me']
when = 'risk.score >= 50 || author.is_agent'
[auto_approve_if]
risk_below = 20
author_has_role = ['author']
resources_in_scope = ['database:stage-*']
";

async fn policies(kind: Kind) {
    let home = Home::on(kind);
    let served = home.serve().await;
    let run = |args: &[&str]| home.as_admin(&served, args);
    let file = written(&home, "databases.toml", DATABASES);
    let made = json(&home, &served, &["policy", "apply", "-f", &file]);
    assert_eq!((&made["version"], &made["min_approvers"]), (&json!(1), &json!(2)));
    let me = json(&home, &served, &["me"]);
    assert_eq!(made["reviewers"], json!([me["account"]["id"]]));
    assert_eq!(
        json(&home, &served, &["policy", "apply", "-f", &file]),
        made,
        "the same again changes nothing"
    );
    let change = written(&home, "change.json", r#"[{"name": "databases", "min_approvers": 3}]"#);
    let changed = json(&home, &served, &["policy", "apply", "-f", &change]);
    assert_eq!((&changed["version"], &changed["when"]), (&json!(2), &made["when"]), "the rest stays");
    assert_eq!(json(&home, &served, &["policy", "show", "databases"]), changed);
    assert_eq!(json(&home, &served, &["policy", "show", "databases", "--version", "1"]), made);
    let table = run(&["policy", "list"]).done();
    assert!(
        table.lines().any(|line| line.starts_with("databases") && line.contains("3 of dba, 1 person")),
        "{table}"
    );
    assert!(
        table.lines().any(|line| line.starts_with("default") && line.contains("reviewer, admin")),
        "{table}"
    );
    let shown = run(&["policy", "show", "databases"]).done();
    for words in ["risk.score >= 50", "risk below 20, author is author, only database:stage-*"] {
        assert!(shown.contains(words), "{shown}");
    }
    backtest(&home, &served);
    assert_eq!(run(&["policy", "deactivate", "databases"]).done(), "deactivated policy databases\n");
    let active = json(&home, &served, &["policy", "list", "--active"]);
    assert_eq!(active["items"].as_array().unwrap().len(), 1);
    run(&["policy", "deactivate", "default"]).assert_refused(1, &["INVALID_STATE"]);
    let bad = written(&home, "bad.json", r#"{"name": "b", "required_roles": ["dba"], "when": "risk >"}"#);
    run(&["policy", "apply", "-f", &bad]).assert_refused(1, &["/when", "VALIDATION_FAILED"]);
    let unknown = written(&home, "unknown.toml", "name = 'b'\nquorum = 1\n");
    run(&["policy", "apply", "-f", &unknown]).assert_refused(2, &["unknown.toml", "quorum"]);
    let nameless = written(&home, "nameless.json", "{}");
    run(&["policy", "apply", "-f", &nameless]).assert_refused(2, &["name"]);
    run(&["policy", "apply", "-f", "nowhere.json"]).assert_refused(1, &["nowhere.json"]);
    catalogue(&home, &served);
    served.stop();
}

/// What a draft would have changed; the policy itself stays as it is.
fn backtest(home: &Home, served: &Served) {
    let config = r#"{"config": {"type": "t", "description": "Add an index", "resources": [{"type": "database",
                     "id": "prod-1", "mode": "exclusive"}]}}"#;
    let file = written(home, "task.json", config);
    let task = json(home, served, &["task", "create", "-f", &file]);
    json(home, served, &["task", "submit", task["id"].as_str().unwrap()]);
    let before = json(home, served, &["policy", "show", "databases"]);
    let draft = written(home, "draft.yaml", "when: 'risk.score >= 0'\nreviewers: [me]\nmin_approvers: 1\n");
    let args = ["policy", "backtest", "databases", "--days", "7", "--file", &draft];
    let found = json(home, served, &args);
    assert_eq!((&found["looked_at"], &found["compared"]), (&json!(1), &json!("draft")));
    assert_eq!((&found["differing"], &found["differences"][0]["id"]), (&json!(1), &task["id"]));
    let text = home.as_admin(served, &args).done();
    for words in [
        "policy     databases v2 (before: as it stands; after: the draft)",
        "looked at  1 tasks handed in since",
        "as of now  people, roles, delegations, settings",
        "blocked: could ask nobody",
        "blocked, nobody to ask (databases)",
        "Add an index",
        task["id"].as_str().unwrap(),
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let alone = json(home, served, &["policy", "backtest", "databases"]);
    assert_eq!(alone["compared"], "absence");
    assert_eq!(json(home, served, &["policy", "show", "databases"]), before, "nothing was saved");
    let bad = written(home, "bad-draft.yaml", "when: 'risk >'\n");
    let run = |args: &[&str]| home.as_admin(served, &[&["policy", "backtest", "databases"], args].concat());
    run(&["--file", &bad]).assert_refused(1, &["/draft/when", "VALIDATION_FAILED"]);
    let unknown = written(home, "unknown-draft.yaml", "quorum: 1\n");
    run(&["--file", &unknown]).assert_refused(2, &["quorum"]);
    run(&["--days", "91"]).assert_refused(2, &["--days"]);
    home.as_admin(served, &["policy", "backtest", "default"]).assert_refused(1, &["/draft"]);
}

fn catalogue(home: &Home, served: &Served) {
    let rules = "[[rule]]\npattern = 'database:prod-*'\ncriticality = 90\nblast_radius = 20\n";
    let file = written(home, "catalogue.toml", rules);
    let set = json(home, served, &["catalogue", "set", "-f", &file]);
    assert_eq!(set, json!([{"pattern": "database:prod-*", "criticality": 90, "blast_radius": 20}]));
    assert_eq!(json(home, served, &["catalogue", "show"]), set);
    let table = home.as_admin(served, &["catalogue", "show"]).done();
    assert!(table.contains("database:prod-*"), "{table}");
    let bad = written(home, "bad-catalogue.json", r#"[{"pattern": "a b", "criticality": 1}]"#);
    home.as_admin(served, &["catalogue", "set", "-f", &bad]).assert_refused(1, &["/0/pattern"]);
    let none = written(home, "none.json", "{}");
    home.as_admin(served, &["catalogue", "set", "-f", &none]).assert_refused(2, &["not a list of rules"]);
}

#[tokio::test]
async fn policies_on_sqlite() {
    policies(Kind::Sqlite).await;
}

#[tokio::test]
async fn policies_on_postgres() {
    policies(Kind::Postgres).await;
}

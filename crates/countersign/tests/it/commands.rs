//! What the commands print and how they end.

use serde_json::Value;

use crate::support::{Home, Kind, PATIENCE, Process, Ran, Served, mint, until};

/// The exit codes scripts rely on.
const DONE: i32 = 0;
const FAILED: i32 = 1;
const USAGE: i32 = 2;
const REFUSED: i32 = 3;
const UNREACHABLE: i32 = 5;

fn run_as(home: &Home, url: &str, key: &str, args: &[&str]) -> Ran {
    Process::start(home.command_as(url, key, args)).ended(PATIENCE)
}

/// The words of the line that begins so.
fn line<'a>(table: &'a str, begins: &str) -> Vec<&'a str> {
    let line = table.lines().find(|line| line.starts_with(begins));
    line.unwrap_or_else(|| panic!("no line {begins:?} in:\n{table}")).split_whitespace().collect()
}

/// Waits until the first rows are sealed, so that there is an event.
async fn sealed(served: &Served) {
    let admin = served.admin();
    until("something is sealed", async || {
        let page = admin.audit(&wire::AuditQuery::default()).await.unwrap();
        page.items.iter().all(|row| row.seal.is_some())
    })
    .await;
}

async fn answers(kind: Kind) {
    let home = Home::on(kind);
    let served = home.serve().await;
    sealed(&served).await;
    let me = home.as_admin(&served, &["me"]).done();
    assert_eq!(line(&me, "account"), ["account", "admin", "<admin@countersign.invalid>"]);
    assert_eq!(line(&me, "organization"), ["organization", "default"]);
    let me: Value = serde_json::from_str(&home.as_admin(&served, &["me", "--json"]).done()).unwrap();
    assert_eq!(me["organization"]["slug"], "default");

    let events = home.as_admin(&served, &["events"]).done();
    assert_eq!(line(&events, "SEQ"), ["SEQ", "WHEN", "TYPE", "SUBJECT", "SOURCE"]);
    assert!(events.contains("audit:sealed"), "{events}");
    let events = home.as_admin(&served, &["events", "--json", "--types", "audit:*", "--limit", "1"]).done();
    let events: Vec<Value> = events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((events.len(), &events[0]["type"]), (1, &Value::from("audit:sealed")));

    let rows = home.as_admin(&served, &["audit", "list"]).done();
    assert_eq!(line(&rows, "WHEN"), ["WHEN", "ACTION", "SUBJECT", "ACTOR", "SEAL"]);
    assert!(rows.contains("organization:created"), "{rows}");
    let args = ["audit", "list", "--json", "--action", "api_key:minted"];
    let rows: Value = serde_json::from_str(&home.as_admin(&served, &args).done()).unwrap();
    assert_eq!(rows["items"].as_array().unwrap().len(), 1);
    served.stop();
}

#[tokio::test]
async fn they_answer_in_tables_and_in_json_on_sqlite() {
    answers(Kind::Sqlite).await;
}

#[tokio::test]
async fn they_answer_in_tables_and_in_json_on_postgres() {
    answers(Kind::Postgres).await;
}

#[tokio::test]
async fn exit_codes_say_how_it_went() {
    let home = Home::on(Kind::Sqlite);
    let served = home.serve().await;
    let key = served.admin_key().to_owned();
    let narrow = wire::CreateApiKey {
        name: "narrow".to_owned(),
        scopes: Some(vec!["events:read".to_owned()]),
        ..wire::CreateApiKey::default()
    };
    let narrow = served.admin().create_api_key(&narrow).await.unwrap().key.unwrap();
    let run = |key: &str, args: &[&str]| run_as(&home, &served.url, key, args);

    assert_eq!(run(&key, &["me"]).code, Some(DONE));
    assert_eq!(run(&key, &["--help"]).code, Some(DONE));
    assert_eq!(run(&key, &["--version"]).code, Some(DONE));
    run(&key, &["audit", "verify", "--export", "nowhere"]).assert_refused(FAILED, &["nowhere"]);
    run(&key, &["events", "--limit", "0"]).assert_refused(FAILED, &["limit", "VALIDATION_FAILED"]);
    run(&key, &["frobnicate"]).assert_refused(USAGE, &["frobnicate", "Usage:"]);
    run(&key, &["events", "--limit", "many"]).assert_refused(USAGE, &["--limit", "many"]);
    run(&key, &["audit", "verify", "--head", "zz"]).assert_refused(USAGE, &["64 hex digits"]);
    run("", &["me"]).assert_refused(USAGE, &["COUNTERSIGN_API_KEY", "admin.key"]);
    run("two words", &["me"]).assert_refused(USAGE, &["correct COUNTERSIGN_API_KEY"]);
    run_as(&home, "nonsense", &key, &["me"]).assert_refused(USAGE, &["correct COUNTERSIGN_URL"]);
    let bad = format!("csk_{}", "A".repeat(43));
    for args in [&["me"][..], &["events"], &["events", "--follow"], &["audit", "list"], &["audit", "export"]]
    {
        let ran = run(&bad, args);
        ran.assert_refused(REFUSED, &["UNAUTHENTICATED"]);
        assert!(!ran.err.contains(&bad), "{}", ran.err);
    }
    run(&narrow, &["audit", "list"]).assert_refused(REFUSED, &["FORBIDDEN"]);
    run(&narrow, &["events"]).done();
    let url = served.url.clone();
    served.stop();
    run_as(&home, &url, &key, &["me"])
        .assert_refused(UNREACHABLE, &["cannot reach the hub", "countersign serve"]);
}

#[tokio::test]
async fn a_reader_that_has_seen_enough_is_no_failure() {
    let home = Home::on(Kind::Sqlite);
    let served = home.serve().await;
    let mut command = std::process::Command::new("sh");
    command.args(["-c", r#""$0" config check; echo "exit $?" >&2"#, env!("CARGO_BIN_EXE_countersign")]);
    command.env_clear().stdout(closed_pipe());
    let ran = command.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&ran.stderr), "exit 0\n");
    served.stop();
}

/// A pipe whose other end is closed already, as with `| head -0`.
fn closed_pipe() -> std::io::PipeWriter {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer
}

#[tokio::test]
async fn text_from_strangers_cannot_steer_a_terminal() {
    let home = Home::on(Kind::Sqlite);
    let served = home.serve().await;
    mint(&served.admin(), "ordinary").await;
    sealed(&served).await;
    served.stop();
    // The interface refuses such names; a database that was written by somebody else may hold them.
    home.sql("UPDATE accounts SET display_name = 'evil' || char(27) || '[2J' || char(8238) WHERE email LIKE 'admin@%'").await;
    home.sql("UPDATE events SET source = 'evil' || char(27) || ']0;pwned' || char(7)").await;
    let body = r"replace(CAST(body AS TEXT), 'organization:created', 'evil\u001b[31m')";
    home.sql(&format!(
        "UPDATE audit_logs SET body = CAST({body} AS BLOB) WHERE action = 'organization:created'"
    ))
    .await;
    let served = home.serve().await;
    for args in [&["me"][..], &["events"], &["audit", "list"]] {
        let table = home.as_admin(&served, args).done();
        assert!(table.contains("evil\\u{1b}"), "{args:?}: {table}");
        assert!(
            table.chars().all(|c| c == '\n' || !countersign::terminal::is_treacherous(c)),
            "{args:?}: {table:?}"
        );
        let json = home.as_admin(&served, &[args, &["--json"]].concat()).done();
        assert!(json.contains("evil\\u001b"), "{args:?}: {json}");
        assert!(
            json.chars().all(|c| c == '\n' || !countersign::terminal::is_treacherous(c)),
            "{args:?}: {json:?}"
        );
    }
    served.stop();
}

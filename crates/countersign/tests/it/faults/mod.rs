//! The hub is killed at every place on the way of an attempt (`hub::faults`), on both engines: what the next server
//! finds, what it comes to, and that nothing is left. The table is also docs/faults.md; `COUNTERSIGN_BLESS=1` writes it.

mod cases;
mod scenes;
mod times;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use futures_util::future::join_all;
use hub::faults::POINTS;
use rustix::process::Signal;
use wire::LocksQuery;

use crate::support::{
    Crew, Home, Kind, PATIENCE, Process, Served, assert_attempts_are_whole, let_last, until,
};
use cases::{CASES, Case, SILENCES, TIMES};
use scenes::{Play, Scene};

/// No server lives for so long in between that anybody could be lost.
const LONG: u32 = 15;
const SHORT: u32 = 2;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_anywhere_on_sqlite() {
    every_case(&Home::on(Kind::Sqlite)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_anywhere_on_postgres() {
    every_case(&Home::on(Kind::Postgres)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_while_an_agent_is_lost_on_sqlite() {
    every_silence(Kind::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_while_an_agent_is_lost_on_postgres() {
    every_silence(Kind::Postgres).await;
}

/// One server prepares everything, one after the other is killed, and the last sees all of it to its end.
async fn every_case(home: &Home) {
    let served = home.serve().await;
    let crew = Crew::hire(home, &served, 1, 1000).await;
    let_last(&served, LONG, 5).await;
    let mut plays = Vec::new();
    for numbered in CASES.iter().enumerate() {
        plays.push(Play::prepare(&served, &crew, numbered).await);
    }
    served.stop();
    let mut before: Option<&Play<'_>> = None;
    for play in &plays {
        let mut served = home.serve_until(play.case.point).await;
        if let Some(before) = before.replace(play) {
            assert_found(home, &served, before).await;
        }
        play.trip(&served).await;
        assert_killed(&mut served.process, play.case).await;
        assert_attempts_are_whole(home).await;
        home.forget_crash().await;
    }
    let served = home.serve().await;
    assert_found(home, &served, before.unwrap()).await;
    // Whoever is lost now is lost soon.
    let_last(&served, SHORT, 1).await;
    join_all(plays.iter_mut().map(|play| play.go_on(&served))).await;
    assert_ended(home, served, &plays).await;
}

/// Side by side, because each takes its time.
async fn every_silence(kind: Kind) {
    let mut casts = Vec::new();
    for case in SILENCES {
        let home = Home::on(kind);
        let served = home.serve_until(case.point).await;
        let crew = Crew::hire(&home, &served, 1, 1000).await;
        let_last(&served, SHORT, 1).await;
        casts.push((case, home, served, crew));
    }
    join_all(casts.into_iter().map(|(case, home, served, crew)| silent(case, home, served, crew))).await;
}

async fn silent(case: &Case, home: Home, mut served: Served, crew: Crew) {
    let mut play = Play::prepare(&served, &crew, (0, case)).await;
    if case.scene == Scene::LockLost {
        // Told, and so on the disk: an end that was only due would be due again after the crash.
        until("the end of its locks", async || ends_told(&home, &play).await == 3).await;
    }
    play.trip(&served).await;
    assert_killed(&mut served.process, case).await;
    assert_attempts_are_whole(&home).await;
    home.forget_crash().await;
    let served = home.serve().await;
    assert_found(&home, &served, &play).await;
    play.go_on(&served).await;
    assert_ended(&home, served, &[play]).await;
}

fn title(case: &Case) -> String {
    format!("{} ({})", case.point, case.scene.name())
}

async fn assert_killed(process: &mut Process, case: &Case) {
    until("its end", async || process.has_ended()).await;
    let ran = process.ended(PATIENCE);
    assert_eq!(ran.signal, Some(Signal::KILL.as_raw()), "{}: {:?}", title(case), ran.code);
}

/// What the first server after the crash finds.
async fn assert_found(home: &Home, served: &Served, play: &Play<'_>) {
    let then = format!("{}; {}", found(home, play).await, locks(served, play).await);
    assert_eq!(then, play.case.then, "{}", title(play.case));
}

/// Everything is as it should be in the end, nothing is left, and all of it is proven.
async fn assert_ended(home: &Home, served: Served, plays: &[Play<'_>]) {
    for play in plays {
        let mut end = String::new();
        until("locks of nobody to end", async || {
            end = format!("{}; {}", found(home, play).await, locks(&served, play).await);
            end.ends_with("; 0 locks")
        })
        .await;
        assert_eq!(end, play.case.end, "{}", title(play.case));
    }
    assert_attempts_are_whole(home).await;
    let open = home.sql("SELECT CAST(id AS TEXT) FROM executions WHERE ended_at IS NULL").await;
    assert!(open.is_empty(), "attempts that have not ended: {open:?}");
    let graph = served.admin().lock_graph().await.unwrap();
    assert!(graph.edges.is_empty(), "somebody waits: {graph:?}");
    served.stop();
    home.verified(&[]);
}

/// What the records say of a case's task.
async fn found(home: &Home, play: &Play<'_>) -> String {
    let task = play.task;
    let state = home.sql(&format!("SELECT state, needs_attention FROM tasks WHERE id = '{task}'")).await;
    let attention = if matches!(state[0][1].as_str(), "1" | "t") { ", needs attention" } else { "" };
    let attempts = format!(
        "SELECT purpose, attempt, result, rollback FROM executions WHERE task_id = '{task}' ORDER BY id"
    );
    let attempts: Vec<String> = home.sql(&attempts).await.iter().map(|row| attempt(row)).collect();
    let attempts = if attempts.is_empty() { "no attempt".to_owned() } else { attempts.join(", ") };
    let [a, b, _] = play.lock_keys().map(|key| key.trim_start_matches("resource:").to_owned());
    let claims = format!(
        "SELECT resource FROM resource_claims WHERE exclusive_by IS NOT NULL AND resource IN ('{a}', '{b}')"
    );
    format!("{}{attention}; {attempts}; {} claims", state[0][0], home.sql(&claims).await.len())
}

fn attempt(row: &[String]) -> String {
    let ended = if row[2].is_empty() { "runs" } else { &row[2] };
    let undoing = match (row[0].as_str(), row[3].as_str()) {
        ("rollback", _) | (_, "none") => "",
        (_, "asked") => ", to be undone",
        (_, "running") => ", undoing it",
        (_, "succeeded") => ", undone",
        (_, other) => panic!("an unexpected rollback: {other}"),
    };
    format!("{} {} {ended}{undoing}", row[0], row[1])
}

/// How many ends of its locks the log tells of.
async fn ends_told(home: &Home, play: &Play<'_>) -> usize {
    let keys = play.lock_keys().map(|key| format!("'{key}'")).join(", ");
    let told =
        format!("SELECT subject_id FROM events WHERE type = 'lock:expired' AND subject_id IN ({keys})");
    home.sql(&told).await.iter().collect::<BTreeSet<_>>().len()
}

async fn locks(served: &Served, play: &Play<'_>) -> String {
    let mut count = 0;
    for key in play.lock_keys() {
        let query = LocksQuery { key: Some(key), ..LocksQuery::default() };
        count += served.admin().locks(&query).await.unwrap().items.len();
    }
    format!("{count} locks")
}

#[test]
fn every_place_is_tried_and_the_table_is_on_file() {
    let all = || CASES.iter().chain(SILENCES).chain(TIMES);
    let tried: BTreeSet<&str> = all().map(|case| case.point).collect();
    assert_eq!(tried, BTreeSet::from(POINTS), "a place without a case, or a case without a place");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/faults.md");
    let kept = std::fs::read_to_string(&file).unwrap();
    let (words, _) = kept.split_once("\n| killed at").expect("a table");
    let mut page = words.to_owned();
    page.push_str(
        "\n| killed at | in the middle of | the next server finds | it comes to |\n|---|---|---|---|\n",
    );
    for point in POINTS {
        for case in all().filter(|case| case.point == point) {
            let Case { then, end, .. } = case;
            writeln!(page, "| `{point}` | {} | {then} | {end} |", case.scene.name()).unwrap();
        }
    }
    if std::env::var_os("COUNTERSIGN_BLESS").is_some() {
        std::fs::write(&file, &page).unwrap();
    }
    let kept = std::fs::read_to_string(&file).unwrap();
    assert_eq!(page, kept, "docs/faults.md is out of date; COUNTERSIGN_BLESS=1 writes it anew");
}

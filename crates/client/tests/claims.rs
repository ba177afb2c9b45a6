//! A claim against a small server that answers as a hub does: kept while it is heard, lost when it is not.
#![expect(clippy::unwrap_used, reason = "the lints' exception for tests does not cover helpers")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::Response;
use axum::routing::any;
use client::{Claim, Client, Failed, Lost};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use uuid::Uuid;
use wire::{Code, FailExecution, NextTask, Problem};

/// What a server has heard, and how it answers.
#[derive(Default)]
struct Script {
    heartbeats: AtomicUsize,
    reports: AtomicUsize,
    written: AtomicUsize,
    /// Heartbeats are refused.
    ends: AtomicBool,
    /// Nothing is answered any more.
    hangs: AtomicBool,
    /// The first report is not answered well.
    stumbles: AtomicBool,
}

const TIME: &str = "2026-03-18T15:30:00.000000Z";

fn execution(phase: &str) -> Value {
    let id = Uuid::nil();
    json!({
        "id": id, "task_id": id, "purpose": "apply", "phase": phase, "grant_id": id, "attempt": 1, "retry_count": 0,
        "agent_id": id, "started_at": TIME, "last_heartbeat": TIME, "lease_until": TIME, "deadline_at": TIME,
        "completed_at": null, "result": "success", "outcome": "known", "rollback": "none", "error": null,
        "error_details": null, "output": "", "output_size": 0, "output_key": null, "progress": null, "locks": [],
    })
}

fn claimed() -> Value {
    let id = Uuid::nil();
    json!({
        "execution_id": id, "task_id": id, "purpose": "apply", "grant": {"id": id, "attempt": 1, "of": 1},
        "content_hash": "sha256:00", "config": {}, "locks": [], "heartbeat_interval_seconds": 1,
        "lease_until": TIME, "deadline_at": TIME,
    })
}

fn ok(body: &Value) -> Response<Body> {
    Response::builder().header("content-type", "application/json").body(body.to_string().into()).unwrap()
}

fn problem(code: Code) -> Response<Body> {
    let body = serde_json::to_vec(&Problem::new(code, "because")).unwrap();
    let response = Response::builder().status(code.status());
    response.header("content-type", "application/problem+json").body(body.into()).unwrap()
}

async fn answer(script: Arc<Script>, request: Request) -> Response<Body> {
    if script.hangs.load(Ordering::SeqCst) {
        std::future::pending::<()>().await;
    }
    let path = request.uri().path().to_owned();
    let verb = path.rsplit('/').next().unwrap();
    match verb {
        "next" => ok(&claimed()),
        "heartbeat" if script.ends.load(Ordering::SeqCst) => problem(Code::AttemptEnded),
        "heartbeat" => {
            script.heartbeats.fetch_add(1, Ordering::SeqCst);
            ok(&json!({"phase": "applying", "lease_until": TIME, "deadline_at": TIME,
                       "heartbeat_interval_seconds": 1}))
        }
        "complete" => {
            let before = script.reports.fetch_add(1, Ordering::SeqCst);
            assert_eq!(request.headers()["idempotency-key"], "done", "it may come twice");
            match script.stumbles.load(Ordering::SeqCst) && before == 0 {
                true => problem(Code::OutcomeUnknown),
                false => ok(&execution("ended")),
            }
        }
        "fail" => ok(&execution("rolling_back")),
        "output" => match script.written.fetch_add(1, Ordering::SeqCst) {
            0 => problem(Code::OutcomeUnknown),
            1 => problem(Code::Conflict),
            _ => ok(&json!({"output_size": 9})),
        },
        _ => ok(&execution("ended")),
    }
}

async fn hub() -> (Client, Arc<Script>) {
    let script = Arc::new(Script::default());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let told = Arc::clone(&script);
    let router = Router::new().fallback(any(async move |request: Request| answer(told, request).await));
    #[expect(clippy::disallowed_methods, reason = "it ends with the test's runtime")]
    tokio::spawn(async move { axum::serve(listener, router).await });
    (Client::new(&url, Some("csk_test_0123456789")).unwrap(), script)
}

async fn claim(client: &Client) -> Claim {
    client.next(Uuid::nil(), &NextTask::default(), None).await.unwrap().unwrap()
}

async fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_claim_is_kept_until_it_is_dropped() {
    let (client, script) = hub().await;
    let claim = claim(&client).await;
    until("two heartbeats", || script.heartbeats.load(Ordering::SeqCst) >= 2).await;
    assert_eq!(claim.work(async { 7 }).await, Ok(7));
    drop(claim);
    let heard = script.heartbeats.load(Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    assert!(script.heartbeats.load(Ordering::SeqCst) <= heard + 1, "one may have been on its way");
    assert_eq!(script.reports.load(Ordering::SeqCst), 0, "nothing is reported");
}

#[tokio::test]
async fn work_stops_when_the_hub_says_so() {
    let (client, script) = hub().await;
    let claim = claim(&client).await;
    script.ends.store(true, Ordering::SeqCst);
    let lost = claim.work(std::future::pending::<()>()).await.unwrap_err();
    assert!(matches!(lost, Lost::Ended(_)), "{lost}");
    assert_eq!(claim.work(async {}).await, Err(lost), "it stays lost");
}

#[tokio::test]
async fn work_stops_before_a_silent_hub_can_give_it_to_others() {
    let (client, script) = hub().await;
    let claim = claim(&client).await;
    until("a heartbeat", || script.heartbeats.load(Ordering::SeqCst) >= 1).await;
    script.hangs.store(true, Ordering::SeqCst);
    let since = Instant::now();
    let lost = claim.lost().await;
    assert!(matches!(lost, Lost::Silence(_)), "{lost}");
    assert!(since.elapsed() >= Duration::from_millis(800), "{:?}", since.elapsed());
}

#[tokio::test]
async fn a_report_whose_answer_was_lost_is_made_again() {
    let (client, script) = hub().await;
    let claim = claim(&client).await;
    script.stumbles.store(true, Ordering::SeqCst);
    let execution = claim.complete(None).await.unwrap();
    assert_eq!(execution.id, Uuid::nil());
    assert_eq!(script.reports.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_failure_may_have_to_be_undone_under_the_same_claim() {
    let (client, script) = hub().await;
    let claim = claim(&client).await;
    assert!(!claim.is_rollback());
    let report = FailExecution { error: "it broke".into(), error_details: None };
    let Failed::RollBack(undoing) = claim.fail(&report).await.unwrap() else { panic!("it is to be undone") };
    assert!(undoing.is_rollback());
    let heard = script.heartbeats.load(Ordering::SeqCst);
    until("heartbeats go on", || script.heartbeats.load(Ordering::SeqCst) > heard).await;
    drop(undoing);
}

#[tokio::test]
async fn output_is_not_written_twice() {
    let (client, script) = hub().await;
    let claim = claim(&client).await;
    let mut writer = claim.writer();
    assert!(writer.write("half").await.unwrap_err().passes(), "the answer was lost");
    writer.write("half").await.unwrap();
    writer.write(" of it").await.unwrap();
    assert_eq!(script.written.load(Ordering::SeqCst), 3);
}

//! `countersign webhook`, and the receiver of docs/webhooks.md.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::Value;
use testkit::receiver::{Received, Receiver};

use crate::support::{Home, Kind, until};

/// The script of the page, run on a message.
fn verifies(home: &Home, secret: &str, message: &Received, body: &[u8]) -> bool {
    let page = include_str!("../../../../docs/webhooks.md");
    let script = page.split_once("```sh\n").unwrap().1.split_once("```").unwrap().0;
    let path = home.beside("verify.sh");
    std::fs::write(&path, script).unwrap();
    let [id, time, signatures] =
        ["webhook-id", "webhook-timestamp", "webhook-signature"].map(|name| message.header(name));
    let mut verify = Command::new("sh")
        .arg(path)
        .args([secret, id, time, signatures])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    verify.stdin.take().unwrap().write_all(body).unwrap();
    verify.wait().unwrap().success()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_from_its_making_to_its_end() {
    let receiver = Receiver::start("127.0.0.1").await;
    let home = Home::on(Kind::Sqlite).env("COUNTERSIGN_ALLOW_PRIVATE", "127.0.0.1/32");
    let served = home.serve().await;
    let run = |args: &[&str]| home.as_admin(&served, args).done();
    let url = receiver.url();
    let made = run(&["webhook", "create", &url, "--type", "webhook:test"]);
    let secret = made.trim();
    assert!(secret.starts_with("whsec_"), "the secret alone is on stdout");
    let listed: Value = serde_json::from_str(&run(&["webhook", "list", "--json"])).unwrap();
    let id = listed["items"][0]["id"].as_str().unwrap().to_owned();
    run(&["webhook", "test", &id]);
    until("the message", async || !receiver.received().is_empty()).await;
    let message = &receiver.received()[0];
    assert!(verifies(&home, secret, message, &message.body));
    assert!(!verifies(&home, secret, message, b"{}"), "another body");
    assert!(!verifies(&home, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", message, &message.body));
    until("that it is on record", async || run(&["webhook", "deliveries", &id]).contains("delivered")).await;

    let rotated = run(&["webhook", "rotate-secret", &id, "--overlap", "60"]);
    let deliveries: Value = serde_json::from_str(&run(&["webhook", "deliveries", &id, "--json"])).unwrap();
    let delivery = deliveries["items"][0]["id"].as_str().unwrap();
    run(&["webhook", "redeliver", &id, delivery]);
    until("the message again", async || receiver.received().len() > 1).await;
    let again = &receiver.received()[1];
    assert_eq!(again.header("webhook-id"), message.header("webhook-id"));
    assert!(
        verifies(&home, secret, again, &again.body) && verifies(&home, rotated.trim(), again, &again.body)
    );

    assert!(run(&["webhook", "update", &id, "--active", "false"]).contains("no"));
    assert!(run(&["webhook", "show", &id]).contains(&url));
    home.as_admin(&served, &["webhook", "create", "http://10.0.0.1/"]).assert_refused(1, &["10.0.0.1"]);
    run(&["webhook", "delete", &id]);
    assert!(!run(&["webhook", "list"]).contains(&id));
    served.stop();
}

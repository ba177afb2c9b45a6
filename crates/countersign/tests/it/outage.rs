//! PostgreSQL dies and comes back while many write: clear answers meanwhile, recovery without anybody's help.

use std::time::Duration;

use client::Client;
use rustix::process::Signal;
use testkit::postgres::Postgres;
use testkit::scaled;
use wire::Code;

use crate::support::{AfterError, Home, Writers, assert_all_there, mint, until};

const OUTAGES: usize = 10;
const WRITERS: usize = 32;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_hub_outlives_its_database() {
    let mut postgres = Postgres::start();
    let home = Home::with(Some(postgres.url()));
    let served = home.serve().await;
    let stranger = Client::new(&served.url, None).unwrap();
    let mut writers = Writers::start(&served.admin(), WRITERS, AfterError::Again);
    for _ in 0..scaled(OUTAGES) {
        let (acknowledged, refused) = writers.counts();
        writers.acknowledged(acknowledged + 200).await;
        postgres.kill();
        until("the hub is not ready", async || !stranger.readyz().await.unwrap().ready).await;
        writers.refused(refused + 2 * WRITERS).await;
        stranger.healthz().await.expect("the process itself is well");
        postgres.start_again();
        until("the hub is ready", async || stranger.readyz().await.unwrap().ready).await;
        let (acknowledged, _) = writers.counts();
        writers.acknowledged(acknowledged + 200).await;
    }
    let written = writers.finish().await;
    let expected =
        [Code::OutcomeUnknown, Code::RecordsUnavailable].map(|code| format!("503 {}", code.as_str()));
    for code in written.problem_codes() {
        assert!(expected.contains(&code), "{code} must not be seen in an outage");
    }
    assert_all_there(&served, &served.admin(), &written.keys).await;
    home.assert_no_partial_unit().await;
    served.stop();
    let reports = home.verified(&[]);
    assert!(reports.iter().all(|report| report["unsealed"] == 0), "{reports:?}");
}

#[tokio::test]
async fn the_hub_can_be_stopped_without_its_database() {
    let mut postgres = Postgres::start();
    let home = Home::with(Some(postgres.url()));
    let mut served = home.serve().await;
    let kept = mint(&served.admin(), "kept").await;
    postgres.kill();
    served.process.signal(Signal::TERM);
    let ran = served.process.ended(Duration::from_secs(30));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    postgres.start_again();
    home.forget_crash().await;
    let served = home.serve().await;
    assert_all_there(&served, &served.admin(), &[kept]).await;
    served.stop();
    home.verified(&[]);
}

//! The end in good order, and the end at once.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use wire::EventsQuery;

use crate::support::{Home, Kind, PATIENCE, mint};

/// Far less than the 50 s a waiting request was asked to wait, or the 20 s a request in flight is given.
const AT_ONCE: Duration = Duration::from_secs(8);

async fn ends_in_good_order(kind: Kind) {
    let home = Home::on(kind);
    let mut served = home.serve().await;
    let admin = served.admin();
    let mut waiting = tokio::task::JoinSet::new();
    let waiter = served.admin();
    waiting.spawn(async move {
        let types = Some("task:*".to_owned());
        let query = EventsQuery { types, wait_seconds: Some(50), ..EventsQuery::default() };
        waiter.events(&query).await.map(|found| found.items.len())
    });
    // The waiter sets out with the first of these and waits when the last is committed, none of them sealed yet.
    for number in 0..5 {
        mint(&admin, &format!("last {number}")).await;
    }
    let began = Instant::now();
    served.process.signal(Signal::TERM);
    let answered = waiting.join_next().await.unwrap().unwrap();
    assert_eq!(answered.expect("a waiting request is answered like a timeout"), 0);
    let ran = served.process.ended(PATIENCE);
    assert!(began.elapsed() < AT_ONCE, "{:?}", began.elapsed());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let reports = home.verified(&[]);
    assert!(reports.iter().all(|report| report["unsealed"] == 0), "{reports:?}");
}

#[tokio::test]
async fn a_signal_ends_it_in_good_order_on_sqlite() {
    ends_in_good_order(Kind::Sqlite).await;
}

#[tokio::test]
async fn a_signal_ends_it_in_good_order_on_postgres() {
    ends_in_good_order(Kind::Postgres).await;
}

#[tokio::test]
async fn a_second_signal_ends_it_now() {
    let home = Home::on(Kind::Sqlite);
    let mut served = home.serve().await;
    // A request whose body never comes keeps the first signal waiting.
    let mut slow = TcpStream::connect(served.listen()).unwrap();
    let key = served.admin_key();
    write!(
        slow,
        "POST /api/v1/api-keys HTTP/1.1\r\nhost: hub\r\nauthorization: Bearer {key}\r\nexpect: 100-continue\r\n\
         content-type: application/json\r\ncontent-length: 100\r\n\r\n"
    )
    .unwrap();
    let mut answer = [0; 12];
    slow.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 100", "the hub waits for the body");
    served.process.signal(Signal::INT);
    served.process.err_until("that it stops", |log| log.contains("a second signal ends the process at once"));
    let began = Instant::now();
    served.process.signal(Signal::INT);
    let ran = served.process.ended(PATIENCE);
    assert!(began.elapsed() < AT_ONCE, "{:?}", began.elapsed());
    assert_eq!(ran.code, Some(130), "{ran:?}");
    home.serve().await.stop();
}

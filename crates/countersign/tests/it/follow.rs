//! `events --follow` over restarts of the hub: every event once, in order.

use serde_json::Value;
use wire::EventsQuery;

use crate::support::{Home, Kind, Process, Served, mint};

/// The numbers of the events a follower printed; a line that is still being written does not count.
fn numbers(out: &str) -> Vec<i64> {
    let whole = out.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let number = |line: &str| serde_json::from_str::<Value>(line).unwrap()["seq"].as_i64().unwrap();
    whole.lines().map(number).collect()
}

/// Makes something happen, and waits until the follower tells of it.
async fn something_happens(served: &Served, follower: &Process) {
    let told = numbers(&follower.out()).len();
    mint(&served.admin(), "news").await;
    follower.out_until("another event", |out| numbers(out).len() > told);
}

async fn follows(kind: Kind) {
    let home = Home::on(kind);
    let mut served = home.serve().await;
    let (url, listen) = (served.url.clone(), served.listen().to_owned());
    let key = served.admin_key().to_owned();
    let mut follower = Process::start(home.command_as(&url, &key, &["events", "--follow", "--json"]));
    something_happens(&served, &follower).await;

    // Stopped in good order: the last rows are sealed while nobody can be told.
    mint(&served.admin(), "last").await;
    served.stop();
    follower.err_until("that it tries again", |err| err.contains("trying again"));
    served = home.serve_at(&listen).await;
    something_happens(&served, &follower).await;

    // Killed in the middle of it.
    mint(&served.admin(), "last").await;
    served.process.kill();
    home.forget_crash().await;
    served = home.serve_at(&listen).await;
    something_happens(&served, &follower).await;

    let everything = EventsQuery { limit: Some(1000), ..EventsQuery::default() };
    let expected = served.admin().events(&everything).await.unwrap();
    let expected: Vec<i64> = expected.items.iter().map(|event| event.seq.unwrap()).collect();
    let out = follower.out_until("the last event", |out| numbers(out).last() >= expected.last());
    let told = numbers(&out);
    assert_eq!(told[..expected.len()], expected, "each once and in order");
    follower.signal(rustix::process::Signal::INT);
    follower.ended(crate::support::PATIENCE);

    // Another run continues where the first one ended.
    let middle = expected[expected.len() / 2];
    let args = ["events", "--json", "--after", &middle.to_string()];
    let rest = numbers(&home.as_admin(&served, &args).done());
    assert_eq!(rest[..1], expected[expected.len() / 2 + 1..][..1]);
    served.stop();
}

#[tokio::test]
async fn a_follower_survives_restarts_on_sqlite() {
    follows(Kind::Sqlite).await;
}

#[tokio::test]
async fn a_follower_survives_restarts_on_postgres() {
    follows(Kind::Postgres).await;
}

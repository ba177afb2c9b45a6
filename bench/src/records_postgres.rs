//! Units on PostgreSQL: what our layer costs.

use anyhow::Result;
use records::Db;
use testkit::postgres::Postgres;
use tokio_postgres::NoTls;

use crate::closed_loop::Run;
use crate::decisions::postgres_by_hand::PostgresByHand;
use crate::decisions::through_records::ThroughRecords;
use crate::decisions::{drive, rates, rows, schema};
use crate::figures::{Bar, Row, ratio};
use crate::{Bench, ROUNDS, progress};

const OF_BY_HAND_MIN: f64 = 0.85;

pub(crate) fn measure(bench: &Bench) -> Result<Vec<Row>> {
    let server = Postgres::start();
    let url = server.url();
    let (mut ours, mut by_hands) = (Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        let one = bench.runtime.block_on(through_records(bench, &url))?;
        let two = bench.runtime.block_on(by_hand(bench, &url))?;
        progress(&format!("  {round}: records {:.0}, by hand {:.0} units/s", one.per_second, two.per_second));
        ours.push(one);
        by_hands.push(two);
    }
    let of_by_hand = ratio(&rates(&ours), &rates(&by_hands));
    let mut table = vec![
        Row::new("PostgreSQL, `records` ÷ tokio-postgres by hand", of_by_hand, 2)
            .with_bar(Bar::AtLeast(OF_BY_HAND_MIN)),
    ];
    table.extend(rows("PostgreSQL, `records`", &ours));
    table.extend(rows("PostgreSQL, by hand", &by_hands));
    Ok(table)
}

async fn through_records(bench: &Bench, url: &str) -> Result<Run> {
    refill(url).await?;
    let db = Db::open_postgres(url, schema::SCHEMA)?;
    let run = drive(&ThroughRecords(db.clone()), bench.duration).await;
    db.close().await;
    run
}

async fn by_hand(bench: &Bench, url: &str) -> Result<Run> {
    refill(url).await?;
    let store = PostgresByHand::open(url)?;
    let run = drive(&store, bench.duration).await;
    store.close();
    run
}

/// Makes the tables anew: none may find what another has left.
async fn refill(url: &str) -> Result<()> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    let mut background = tokio::task::JoinSet::new();
    background.spawn(connection);
    schema::make_postgres(&client).await
}

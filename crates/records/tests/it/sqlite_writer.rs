//! SQLite's one writer: its queue, and the commits its units share.

use std::path::Path;
use std::sync::Arc;

use records::{Db, Engine, Error, Result};

use crate::support::{Gate, Ground, add, started, tx_add};

/// A unit that holds the writer until the gate is opened.
async fn hold(db: &Db, gate: &Arc<Gate>) -> Result<()> {
    db.write(Arc::clone(gate), |tx, gate| {
        Box::pin(async move {
            tx_add(tx, "held", 1).await?;
            gate.pass(tx.engine()).await;
            Ok(())
        })
    })
    .await
}

/// Queues units behind one that holds the writer, then lets them all run.
async fn queued(ground: &Ground, units: usize) -> Vec<Result<()>> {
    let ids: Vec<String> = (0..units).map(|n| format!("{n:05}")).collect();
    let adds = ids.iter().map(|id| add(&ground.db, id, 1)).collect();
    behind_another(ground, adds).await
}

/// The same with any units.
async fn behind_another(ground: &Ground, units: Vec<impl Future<Output = Result<()>>>) -> Vec<Result<()>> {
    let gate = Arc::new(Gate::default());
    let writes = async {
        gate.reached().await;
        let queued = started(units).await;
        gate.open();
        queued.await
    };
    let (held, answers) = tokio::join!(hold(&ground.db, &gate), writes);
    held.unwrap();
    answers
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_queue_refuses_and_recovers() {
    let ground = Ground::open(Engine::Sqlite).await;
    let answers = queued(&ground, 5000).await;
    let (mut kept, mut refused) = (0, 0);
    for answer in answers {
        match answer {
            Ok(()) => kept += 1,
            Err(Error::Overloaded) => refused += 1,
            Err(other) => panic!("{other:?}"),
        }
    }
    assert!(0 < refused, "a queue without a bound");
    assert!(4000 < kept, "a queue that is hardly one: {kept}");
    assert_eq!(ground.count().await, kept + 1);
    ground.add("after", 1).await.unwrap();
}

/// Adds two things; if the second is there already, neither.
async fn add_both(db: &Db, first: &str, second: &str) -> Result<()> {
    db.write((first.to_owned(), second.to_owned()), |tx, (first, second)| {
        Box::pin(async move {
            tx_add(tx, first, 1).await?;
            tx_add(tx, second, 1).await
        })
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_fails_late_is_undone_alone() {
    let ground = Ground::open(Engine::Sqlite).await;
    let names: Vec<[String; 2]> =
        (0..20).map(|n| [format!("a{n:02}"), format!("b{:02}", n - n % 4)]).collect();
    let units = names.iter().map(|[first, second]| add_both(&ground.db, first, second)).collect();
    let answers = behind_another(&ground, units).await;
    let mut expected = vec!["held".to_owned()];
    for (n, (answer, names)) in answers.into_iter().zip(&names).enumerate() {
        match answer {
            Ok(()) if n % 4 == 0 => expected.extend(names.clone()),
            Err(Error::Duplicate { .. }) if n % 4 != 0 => (),
            other => panic!("{n}: {other:?}"),
        }
    }
    expected.sort();
    assert_eq!(ground.ids().await, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn units_that_arrive_together_share_a_commit() {
    const UNITS: usize = 200;
    let ground = Ground::open(Engine::Sqlite).await;
    let before = Wal::read(&ground.file());
    for answer in queued(&ground, UNITS).await {
        answer.unwrap();
    }
    let after = Wal::read(&ground.file());
    assert_eq!(before.generation, after.generation, "a checkpoint began the file anew; make UNITS smaller");
    let commits = after.commits - before.commits;
    assert!(0 < commits && commits * 4 <= UNITS, "{commits} commits for {UNITS} units");
}

/// A lone unit does not wait for company: each of these is answered before the next begins.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lone_unit_has_a_commit_of_its_own() {
    let ground = Ground::open(Engine::Sqlite).await;
    let before = Wal::read(&ground.file());
    for n in 0..10 {
        ground.add(&n.to_string(), 1).await.unwrap();
    }
    assert_eq!(Wal::read(&ground.file()).commits, before.commits + 10);
}

/// What SQLite's write-ahead log says about commits (<https://www.sqlite.org/fileformat2.html#walformat>).
struct Wal {
    /// Changes when the file is begun anew.
    generation: Vec<u8>,
    /// Frames that end a commit.
    commits: usize,
}

impl Wal {
    const HEADER_BYTES: usize = 32;
    const FRAME_HEADER_BYTES: usize = 24;

    fn read(database: &Path) -> Self {
        let bytes = std::fs::read(database.with_extension("db-wal")).unwrap();
        let (header, frames) = bytes.split_at(Self::HEADER_BYTES);
        let page = u32::from_be_bytes(header[8..12].try_into().unwrap());
        let salt = &header[16..24];
        let frames = frames.chunks_exact(Self::FRAME_HEADER_BYTES + usize::try_from(page).unwrap());
        // Bytes 4 to 8 are the size of the database after the commit, and zero in a frame that ends none. A
        // frame with another salt is left over from before the file was begun anew.
        let commits = frames.take_while(|frame| &frame[8..16] == salt).filter(|frame| frame[4..8] != [0; 4]);
        Self { generation: header[12..24].to_vec(), commits: commits.count() }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_closed_database_is_one_file() {
    let ground = Ground::open(Engine::Sqlite).await;
    ground.db.close().await;
    for round in 0..200 {
        let db = Db::open_sqlite(&ground.file()).unwrap();
        add(&db, &format!("{round:05}"), 1).await.unwrap();
        db.close().await;
        let log = ground.file().with_extension("db-wal");
        assert!(!log.exists(), "in round {round} the log stayed behind");
    }
}

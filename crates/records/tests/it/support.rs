//! Ground to stand on: migrated records on either engine, a few tables to break, and ways to wait.

use std::future::poll_fn;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use domain::Timestamp;
use futures_util::future::join_all;
use records::statement::{Command, Query, Text};
use records::{Db, Engine, Result, args, migrate, row};
use tempfile::TempDir;
use testkit::postgres::Postgres;
use tokio::task::unconstrained;

/// The hour of every test that does not care.
pub(crate) const NOW: Timestamp = Timestamp::from_micros(1_773_847_800_000_000);
pub(crate) const SCHEMA: &str = "countersign";
/// Why a unit that swallowed an error is refused. Its other misbehaviours must not pass for it: a check of the
/// test that fails inside a unit is a panic, and that is one of them.
pub(crate) const WENT_ON: &str = "it went on after a failed statement";
/// How long anything may take on a machine that is busy building.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Tables of the suite's own: the contract must hold for any statement, and the product's tables cannot break
/// every rule.
const TABLES: [&str; 3] = [
    "CREATE TABLE things (id TEXT NOT NULL PRIMARY KEY, n @int NOT NULL CHECK (n >= 0), tag TEXT, parent TEXT \
     REFERENCES things (id) ON DELETE RESTRICT) @strict",
    "CREATE UNIQUE INDEX unq_things_tag ON things (tag)",
    "CREATE TABLE kinds (id @int NOT NULL PRIMARY KEY, a_uuid @uuid, a_time @ts, a_json @json, a_blob @blob, \
     a_bool @bool, an_int @int, a_text TEXT) @strict",
];
const SQLITE_TYPES: [(&str, &str); 7] = [
    ("@uuid", "TEXT"),
    ("@json", "TEXT"),
    ("@ts", "INTEGER"),
    ("@blob", "BLOB"),
    ("@bool", "INTEGER"),
    ("@int", "INTEGER"),
    ("@strict", "STRICT"),
];
const POSTGRES_TYPES: [(&str, &str); 7] = [
    ("@uuid", "UUID"),
    ("@json", "JSONB"),
    ("@ts", "TIMESTAMPTZ"),
    ("@blob", "BYTEA"),
    ("@bool", "BOOLEAN"),
    ("@int", "BIGINT"),
    ("@strict", ""),
];

// Not `statement!`: that would add them to the program's register, which another test reads.
pub(crate) static ADD: Command = Command(Text::same("INSERT INTO things (id, n) VALUES ($1, $2)"));
pub(crate) static ADD_TAGGED: Command =
    Command(Text::same("INSERT INTO things (id, n, tag) VALUES ($1, 0, $2)"));
pub(crate) static ADD_CHILD: Command =
    Command(Text::same("INSERT INTO things (id, n, parent) VALUES ($1, 0, $2)"));
pub(crate) static SET: Command = Command(Text::same("UPDATE things SET n = $1 WHERE id = $2"));
pub(crate) static STEP: Command = Command(Text::same("UPDATE things SET n = $1 WHERE id = $2 AND n = $3"));
pub(crate) static COUNT: Query<Count> = Query::new(Text::same("SELECT count(*) AS count FROM things"));
pub(crate) static IDS: Query<Thing> = Query::new(Text::same("SELECT id, n FROM things ORDER BY id"));
pub(crate) static GET: Query<Thing> = Query::new(Text::same("SELECT id, n FROM things WHERE id = $1"));

pub(crate) struct Count {
    pub(crate) count: i64,
}
row!(Count { count });

#[derive(PartialEq, Debug)]
pub(crate) struct Thing {
    pub(crate) id: String,
    pub(crate) n: i64,
}
row!(Thing { id, n });

/// Migrated, empty records, and where they are.
pub(crate) struct Ground {
    pub(crate) db: Db,
    pub(crate) engine: Engine,
    place: Place,
}

enum Place {
    Directory(TempDir),
    Schema { url: String, schema: String },
}

impl Ground {
    pub(crate) async fn open(engine: Engine) -> Self {
        testkit::watch::listen();
        match engine {
            Engine::Sqlite => Self::open_sqlite().await,
            Engine::Postgres => Self::open_schema().await,
        }
    }

    /// A schema of its own in a database that is shared: much cheaper to make than a database.
    async fn open_schema() -> Self {
        static URL: OnceLock<String> = OnceLock::new();
        static MADE: AtomicU32 = AtomicU32::new(0);
        let url = URL.get_or_init(|| Postgres::shared().fresh_database());
        let schema = format!("test_{}", MADE.fetch_add(1, Ordering::Relaxed));
        Self::open_place(url.clone(), schema).await
    }

    async fn open_sqlite() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("countersign.db");
        migrate::run_sqlite(&file, NOW).unwrap();
        let db = Db::open_sqlite(&file).unwrap();
        Self { db, engine: Engine::Sqlite, place: Place::Directory(directory) }.with_tables().await
    }

    /// A database of its own, for what concerns the whole of one (advisory locks, a server that dies).
    pub(crate) async fn open_database(server: &Postgres) -> Self {
        Self::open_place(server.fresh_database(), SCHEMA.to_owned()).await
    }

    async fn open_place(url: String, schema: String) -> Self {
        let db = Db::open_postgres(&url, &schema).unwrap();
        migrate::run_postgres(&db, &schema, NOW).await.unwrap();
        Self { db, engine: Engine::Postgres, place: Place::Schema { url, schema } }.with_tables().await
    }

    async fn with_tables(self) -> Self {
        self.behind_its_back(&self.rendered(&TABLES.join("; "))).await;
        self
    }

    /// The text of a migration as the engine understands it.
    pub(crate) fn rendered(&self, text: &str) -> String {
        let types = match self.engine {
            Engine::Sqlite => SQLITE_TYPES,
            Engine::Postgres => POSTGRES_TYPES,
        };
        types.iter().fold(text.to_owned(), |text, (token, ty)| text.replace(token, ty))
    }

    /// Applies what is left to apply; how much that was.
    pub(crate) async fn migrate(&self) -> usize {
        match &self.place {
            Place::Directory(_) => migrate::run_sqlite(&self.file(), NOW).unwrap(),
            Place::Schema { schema, .. } => migrate::run_postgres(&self.db, schema, NOW).await.unwrap(),
        }
    }

    /// Runs SQL on a connection the `Db` does not know of.
    pub(crate) async fn behind_its_back(&self, sql: &str) {
        match self.engine {
            Engine::Sqlite => rusqlite::Connection::open(self.file()).unwrap().execute_batch(sql).unwrap(),
            Engine::Postgres => self.connect().await.batch_execute(sql).await.unwrap(),
        }
    }

    /// Counts with SQL on a connection the `Db` does not know of.
    pub(crate) async fn count_behind_its_back(&self, sql: &str) -> i64 {
        match self.engine {
            Engine::Sqlite => {
                rusqlite::Connection::open(self.file()).unwrap().query_row(sql, [], |row| row.get(0)).unwrap()
            }
            Engine::Postgres => self.connect().await.query_one(sql, &[]).await.unwrap().get(0),
        }
    }

    /// The SQLite file.
    pub(crate) fn file(&self) -> PathBuf {
        match &self.place {
            Place::Directory(directory) => directory.path().join("countersign.db"),
            Place::Schema { url, .. } => panic!("{url} is no file"),
        }
    }

    /// A connection of the test's own to the PostgreSQL schema.
    pub(crate) async fn connect(&self) -> tokio_postgres::Client {
        match &self.place {
            Place::Schema { url, schema } => connect(url, schema).await,
            Place::Directory(directory) => panic!("{} is no server", directory.path().display()),
        }
    }

    pub(crate) async fn add(&self, id: &str, n: i64) -> Result<()> {
        add(&self.db, id, n).await
    }

    pub(crate) async fn count(&self) -> i64 {
        self.db.opt(&COUNT, args![]).await.unwrap().unwrap().count
    }

    pub(crate) async fn n_of(&self, id: &str) -> Option<i64> {
        self.db.opt(&GET, args![id]).await.unwrap().map(|thing| thing.n)
    }

    /// The ids of all things, in order.
    pub(crate) async fn ids(&self) -> Vec<String> {
        self.db.all(&IDS, args![]).await.unwrap().into_iter().map(|thing| thing.id).collect()
    }
}

pub(crate) async fn add(db: &Db, id: &str, n: i64) -> Result<()> {
    db.write((id.to_owned(), n), |tx, (id, n)| Box::pin(tx_add(tx, id, *n))).await
}

pub(crate) async fn tx_add(tx: &mut records::Tx, id: &str, n: i64) -> Result<()> {
    tx.exec(&ADD, args![id, n]).await.map(drop)
}

/// A connection that the records do not know of.
pub(crate) async fn connect(url: &str, schema: &str) -> tokio_postgres::Client {
    let mut config: tokio_postgres::Config = url.parse().unwrap();
    config.options(format!("-c search_path={schema}"));
    let (client, connection) = config.connect(tokio_postgres::NoTls).await.unwrap();
    #[expect(clippy::disallowed_methods, reason = "it ends with the test's runtime, or with its client")]
    drop(tokio::spawn(connection));
    client
}

/// Makes two tests of each function, one on each engine.
macro_rules! on_both_engines {
    ($($test:ident),* $(,)?) => {
        on_both_engines!(@ sqlite Sqlite: $($test),*);
        on_both_engines!(@ postgres Postgres: $($test),*);
    };
    (@ $module:ident $engine:ident: $($test:ident),*) => {
        mod $module {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $test() {
                    super::$test($crate::support::Ground::open(records::Engine::$engine).await).await;
                }
            )*
        }
    };
}
pub(crate) use on_both_engines;

/// A place in the middle of a unit where the test holds it. SQLite's units run on a thread of their own and may
/// await nothing else, so there the thread waits; on PostgreSQL the task does.
#[derive(Default)]
pub(crate) struct Gate {
    reached: AtomicBool,
    opened: AtomicBool,
}

impl Gate {
    /// Called by the unit: waits until the test opens the gate.
    pub(crate) async fn pass(&self, engine: Engine) {
        let began = Instant::now();
        self.reached.store(true, Ordering::Release);
        while !self.opened.load(Ordering::Acquire) {
            assert!(began.elapsed() < PATIENCE, "the gate stayed closed");
            match engine {
                Engine::Sqlite => std::thread::sleep(Duration::from_millis(1)),
                Engine::Postgres => tokio::time::sleep(Duration::from_millis(1)).await,
            }
        }
    }

    /// Waits until the unit stands at the gate.
    pub(crate) async fn reached(&self) {
        eventually("the unit stands at the gate", async || self.reached.load(Ordering::Acquire)).await;
    }

    pub(crate) fn open(&self) {
        self.opened.store(true, Ordering::Release);
    }
}

/// Starts units together: when this is done each has been polled, and on SQLite stands in the writer's queue.
pub(crate) async fn started<F: Future>(
    units: impl IntoIterator<Item = F>,
) -> impl Future<Output = Vec<F::Output>> {
    // Unconstrained, because tokio would else have the task pause after a hundred and some.
    let mut all = Box::pin(unconstrained(join_all(units)));
    let early = poll_fn(|context| Poll::Ready(all.as_mut().poll(context))).await;
    async move {
        match early {
            Poll::Ready(answers) => answers,
            Poll::Pending => all.await,
        }
    }
}

/// Waits for what must become true.
pub(crate) async fn eventually(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !is_so().await {
        assert!(began.elapsed() < PATIENCE, "in vain: {what}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// The error must be of this kind; a whole pattern in one line.
macro_rules! assert_error {
    ($result:expr, $pattern:pat $(if $condition:expr)?) => {
        match $result {
            Err($pattern) $(if $condition)? => {}
            Err(other) => panic!("expected {}, got {other:?}", stringify!($pattern)),
            Ok(_) => panic!("expected {}, got success", stringify!($pattern)),
        }
    };
}
pub(crate) use assert_error;

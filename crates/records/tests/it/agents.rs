//! Looking for silent agents costs what is silent, not what there is.

use records::Engine;
use records::statement::registered;

use crate::support::Ground;

fn text(engine: Engine) -> String {
    let silent = registered().find(|statement| statement.name == "records::agents::SILENT").unwrap();
    let (lite, pg) = (silent.texts)();
    if engine == Engine::Sqlite { lite } else { pg }
}

#[tokio::test]
async fn silence_is_looked_for_along_its_index_on_sqlite() {
    let ground = Ground::open(Engine::Sqlite).await;
    let conn = rusqlite::Connection::open(ground.file()).unwrap();
    let mut explain = conn.prepare(&format!("EXPLAIN QUERY PLAN {}", text(Engine::Sqlite))).unwrap();
    let plan: Vec<String> =
        explain.raw_query().mapped(|row| row.get::<_, String>(3)).map(Result::unwrap).collect();
    assert!(plan[0].contains("SEARCH agents USING INDEX idx_agents_heard"), "{plan:?}");
}

#[tokio::test]
async fn silence_is_looked_for_along_its_index_on_postgres() {
    let ground = Ground::open(Engine::Postgres).await;
    let client = ground.connect().await;
    // An empty table is read whole whatever its indexes are; what counts is what is possible.
    let ask = format!(
        "SET enable_seqscan = off; SET enable_bitmapscan = off; SET plan_cache_mode = force_generic_plan; \
         PREPARE silent AS {}; EXPLAIN EXECUTE silent(now(), now(), '0197a000-0000-7000-8000-000000000000', 5)",
        text(Engine::Postgres)
    );
    let plan = format!("{:?}", client.simple_query(&ask).await.unwrap());
    assert!(plan.contains("Index Scan using idx_agents_heard"), "{plan}");
}

//! Each filter of the list of tasks walks an index of its own: a page costs what it shows, not what there is.

use records::Engine;

use crate::support::Ground;

/// A filter as `records::tasks::list` asks, and the index that answers it.
const FILTERS: [(&str, &str); 9] = [
    ("", "idx_tasks_org_created"),
    ("AND t.state = 'DRAFT'", "idx_tasks_org_state"),
    ("AND t.status = 'pending'", "idx_tasks_status"),
    ("AND t.status IN ('pending', 'in-progress', 'blocked')", "idx_tasks_active"),
    ("AND t.status IN ('pending', 'in-progress', 'blocked') AND t.risk_score >= 50", "idx_tasks_active"),
    ("AND t.author_id = 'x'", "idx_tasks_author_id"),
    ("AND t.project_id = 'x'", "idx_tasks_project_id"),
    ("AND t.assignee = 'x'", "idx_tasks_assignee"),
    ("AND (t.path >= 'x' AND t.path < 'y')", "idx_tasks_path"),
];

#[tokio::test]
async fn every_filter_walks_its_index_on_sqlite() {
    let ground = Ground::open(Engine::Sqlite).await;
    let conn = rusqlite::Connection::open(ground.file()).unwrap();
    for (filter, index) in FILTERS {
        let sql = format!(
            "EXPLAIN QUERY PLAN SELECT t.id, t.risk FROM tasks t WHERE t.org_id = 'x' {filter} \
             ORDER BY t.created_at DESC, t.id DESC LIMIT 51"
        );
        let mut explain = conn.prepare(&sql).unwrap();
        let plan: Vec<String> =
            explain.raw_query().mapped(|row| row.get::<_, String>(3)).map(Result::unwrap).collect();
        assert!(plan[0].contains(&format!("SEARCH t USING INDEX {index} ")), "{filter}: {plan:?}");
        // Only what begins alike has to be sorted by time.
        assert_eq!(plan.len(), if index == "idx_tasks_path" { 2 } else { 1 }, "{filter}: {plan:?}");
    }
}

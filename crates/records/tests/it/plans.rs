//! How SQLite finds rows. It knows no statistics, so it may take all things of an organization for a few.

use records::Engine;
use records::statement::registered;

use crate::support::Ground;

/// Tables that grow with the work that is done, and what statements call them.
const GROWING: [&str; 16] = [
    "approvals",
    "audit_logs",
    "consumed_tokens",
    "events",
    "executions",
    "grants",
    "n",
    "notifications",
    "reviews",
    "standalone_grants",
    "t",
    "task_comments",
    "task_resources",
    "task_revisions",
    "task_tags",
    "tasks",
];

/// Statements that walk through all of an organization, each with the reason.
const WALKS: &[(&str, &str)] = &[(
    "audit::seals::UNSEALED_CHAINS",
    "the index it walks along holds only rows without a seal, which are soon none",
)];

fn plan(conn: &rusqlite::Connection, text: &str) -> Vec<String> {
    let mut explain = conn.prepare(&format!("EXPLAIN QUERY PLAN {text}")).unwrap();
    let nothing = vec![rusqlite::types::Null; explain.parameter_count()];
    let lines = explain.query_map(rusqlite::params_from_iter(nothing), |row| row.get(3)).unwrap();
    lines.map(Result::unwrap).collect()
}

/// Whether a line finds rows of a growing table by the organization alone, or by nothing.
fn is_wide(line: &str) -> bool {
    let table = line.split(' ').nth(1).unwrap_or_default();
    let by_organization = line.contains("(org_id=?)");
    let by_nothing = line.starts_with("SCAN ") && !line.contains("VIRTUAL TABLE");
    GROWING.contains(&table) && (by_organization || by_nothing)
}

#[tokio::test]
async fn whatever_names_one_thing_finds_it_without_looking_at_all() {
    let ground = Ground::open(Engine::Sqlite).await;
    let conn = rusqlite::Connection::open(ground.file()).unwrap();
    let mut problems = Vec::new();
    for statement in registered() {
        let text = (statement.texts)().0;
        let name = statement.name.strip_prefix("records::").unwrap_or(statement.name);
        // A page walks along an index from where the last one ended.
        let is_page = text.contains(" LIMIT ");
        let is_check = name.starts_with("audit::checks");
        if is_page || is_check || WALKS.iter().any(|(walk, _)| *walk == name) {
            continue;
        }
        let lines = plan(&conn, &text);
        if lines.iter().any(|line| is_wide(line)) {
            problems.push(format!("{name}: {lines:?}"));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Pages that are sorted after everything was looked at, each with the reason.
const SORTED: &[(&str, &str)] = &[
    (
        "approvals::LIST_BY_AGE",
        "those of one reviewer; an index for it alone would make every request dearer",
    ),
    ("audit::checks::ROWS_OF_SEAL", "a seal has a bounded number of rows"),
    ("audit::checks::TOUCHED_OF_SEAL", "a seal has a bounded number of rows"),
    ("audit::rows::ABOUT", "what happened to one thing"),
    ("audit::rows::LATEST", "what happened to one thing"),
    ("events::NUMBER", "those without a number, which are soon none"),
    ("grants::OF_TASK", "those of one task"),
    ("notifications::ALARMS", "what people were told of one task"),
    ("standalone_grants::LIST", "no route leads to it"),
];

#[tokio::test]
async fn a_page_is_read_in_the_order_of_an_index() {
    let ground = Ground::open(Engine::Sqlite).await;
    let conn = rusqlite::Connection::open(ground.file()).unwrap();
    let (mut problems, mut looked_at) = (Vec::new(), 0);
    for statement in registered() {
        let text = (statement.texts)().0;
        let name = statement.name.strip_prefix("records::").unwrap_or(statement.name);
        if !text.contains(" LIMIT ") {
            continue;
        }
        looked_at += 1;
        let lines = plan(&conn, &text);
        let grows = |line: &String| line.split(' ').nth(1).is_some_and(|table| GROWING.contains(&table));
        let is_sorted = lines.iter().any(|line| line.contains("TEMP B-TREE FOR ORDER BY"));
        let is_known = SORTED.iter().any(|(known, _)| *known == name);
        if lines.iter().any(grows) && is_sorted != is_known {
            problems.push(format!("{name}: {lines:?}"));
        }
    }
    assert!(looked_at > 10, "there are pages");
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[tokio::test]
async fn one_member_is_found_among_many() {
    let ground = Ground::open(Engine::Sqlite).await;
    let conn = rusqlite::Connection::open(ground.file()).unwrap();
    let statement =
        registered().find(|statement| statement.name == "records::directory::OF_ACCOUNTS").unwrap();
    let lines = plan(&conn, &(statement.texts)().0);
    assert!(lines[0].contains("idx_directory_entries_member (account_id=?"), "{lines:?}");
}

#[tokio::test]
async fn what_waits_is_counted_along_the_queue_and_no_further() {
    let ground = Ground::open(Engine::Sqlite).await;
    let conn = rusqlite::Connection::open(ground.file()).unwrap();
    let name = "records::approvals::stats::COUNT_WAITING";
    let text = (registered().find(|statement| statement.name == name).unwrap().texts)().0;
    let lines = plan(&conn, &text);
    let walk = "COVERING INDEX idx_approvals_queue (org_id=? AND reviewer_id=? AND status=?)";
    assert!(lines.iter().any(|line| line.contains(walk)), "{lines:?}");
}

#[tokio::test]
async fn a_queue_is_a_walk_along_its_index() {
    let ground = Ground::open(Engine::Sqlite).await;
    let conn = rusqlite::Connection::open(ground.file()).unwrap();
    let whole = "SELECT id FROM approvals WHERE org_id = $1";
    let tail = "ORDER BY queue_rank, queue_due, id LIMIT 50";
    for (clauses, index) in [
        ("AND reviewer_id = $2 AND status = $3", "idx_approvals_queue"),
        ("AND status = $2", "idx_approvals_org_queue"),
        ("AND status = $2 AND (queue_rank, queue_due, id) > ($3, $4, $5)", "idx_approvals_org_queue"),
    ] {
        let lines = plan(&conn, &format!("{whole} {clauses} {tail}"));
        assert!(lines.len() == 1 && lines[0].contains(index), "{clauses}: {lines:?}");
    }
}

#[tokio::test]
async fn a_chain_is_followed_from_person_to_person() {
    let ground = Ground::open(Engine::Sqlite).await;
    let conn = rusqlite::Connection::open(ground.file()).unwrap();
    let statement = registered().find(|statement| statement.name == "records::delegations::REACHED").unwrap();
    let lines = plan(&conn, &(statement.texts)().0);
    let by_person =
        lines.iter().filter(|line| line.contains("idx_delegations_active (org_id=? AND owner_id=?"));
    assert_eq!(by_person.count(), 2, "{lines:?}");
    let statement = registered().find(|statement| statement.name == "records::delegations::LIST").unwrap();
    let lines = plan(&conn, &(statement.texts)().0);
    assert!(lines.len() == 1 && lines[0].contains("idx_delegations_owner"), "{lines:?}");
}

#[tokio::test]
async fn work_is_found_along_its_queue() {
    let ground = Ground::open(Engine::Sqlite).await;
    let conn = rusqlite::Connection::open(ground.file()).unwrap();
    let statement = registered().find(|statement| statement.name == "records::tasks::queue::QUEUE").unwrap();
    let lines = plan(&conn, &(statement.texts)().0);
    assert!(lines[0].contains("idx_tasks_queue (org_id=? AND (queue_rank,approved_at,id)>"), "{lines:?}");
    assert!(!lines.iter().any(|line| line.contains("TEMP B-TREE")), "{lines:?}");
}

#[tokio::test]
async fn reviews_whose_time_is_over_are_found_by_it() {
    let ground = Ground::open(Engine::Sqlite).await;
    let conn = rusqlite::Connection::open(ground.file()).unwrap();
    for name in ["records::reviews::DUE", "records::reviews::NEXT_LOOK"] {
        let statement = registered().find(|statement| statement.name == name).unwrap();
        let lines = plan(&conn, &(statement.texts)().0);
        assert_eq!(lines.len(), 1, "nothing is sorted: {lines:?}");
        assert!(lines[0].contains("INDEX idx_reviews_next_look_at"), "{lines:?}");
    }
}

#[tokio::test]
async fn tasks_are_counted_along_their_index_and_no_further_than_asked() {
    let ground = Ground::open(Engine::Sqlite).await;
    let conn = rusqlite::Connection::open(ground.file()).unwrap();
    for (name, index) in [
        ("IN_STATE", "USING COVERING INDEX idx_tasks_org_state (org_id=? AND state=?)"),
        ("OF_STATUS", "USING COVERING INDEX idx_tasks_status (org_id=? AND status=?)"),
        ("NOT_ENDED", "USING COVERING INDEX idx_tasks_status (org_id=? AND status=?)"),
        ("OPEN_BY", "USING INDEX idx_tasks_author_open (org_id=? AND author_id=? AND ended_at=?)"),
    ] {
        let name = format!("records::tasks::counts::{name}");
        let statement = registered().find(|statement| statement.name == name).unwrap();
        let text = (statement.texts)().0;
        assert!(text.contains("LIMIT"), "{text}");
        let lines = plan(&conn, &text);
        assert!(lines.iter().any(|line| line.contains(index)), "{name}: {lines:?}");
    }
    let statement = registered().find(|statement| statement.name == "records::approvals::stats::BY_DAY");
    let lines = plan(&conn, &(statement.unwrap().texts)().0);
    assert!(
        lines[0].contains("idx_approvals_answers (org_id=? AND reviewer_id=? AND responded_at>?)"),
        "{lines:?}"
    );
}

#[tokio::test]
async fn what_waits_for_somebody_is_found_along_an_index() {
    let ground = Ground::open(Engine::Sqlite).await;
    let conn = rusqlite::Connection::open(ground.file()).unwrap();
    for (name, index) in [
        ("tasks::attention::LONGEST_IN_STATE", "INDEX idx_tasks_org_state (org_id=? AND state=?)"),
        ("tasks::attention::NEED_ATTENTION", "INDEX idx_tasks_needs_attention (org_id=?)"),
        ("tasks::counts::BY_LEVEL", "INDEX idx_tasks_org_state (org_id=? AND state=?)"),
        ("approvals::stats::HELD", "INDEX idx_approvals_org_queue (org_id=? AND status=?)"),
    ] {
        let statement = registered().find(|one| one.name == format!("records::{name}")).unwrap();
        let lines = plan(&conn, &(statement.texts)().0);
        assert!(lines.iter().any(|line| line.contains(index)), "{name}: {lines:?}");
        assert!(!lines.iter().any(|line| line.contains("FOR ORDER BY")), "{name}: {lines:?}");
    }
}

#[tokio::test]
async fn the_latest_answers_are_found_without_sorting_all() {
    let ground = Ground::open(Engine::Sqlite).await;
    let conn = rusqlite::Connection::open(ground.file()).unwrap();
    let name = "records::approvals::answered::ANSWERED";
    let statement = registered().find(|statement| statement.name == name).unwrap();
    let lines = plan(&conn, &(statement.texts)().0);
    assert!(lines[0].contains("INDEX idx_approvals_answers (org_id=? AND reviewer_id=?"), "{lines:?}");
    // Only answers of the very same moment, those of one batch, are put in order.
    assert!(lines.iter().skip(1).all(|line| line.contains("LAST TERM OF ORDER BY")), "{lines:?}");
}

#[tokio::test]
async fn what_somebody_was_told_is_a_walk_along_an_index() {
    let ground = Ground::open(Engine::Sqlite).await;
    let conn = rusqlite::Connection::open(ground.file()).unwrap();
    let mine = "SELECT n.id, e.seq FROM notifications n LEFT JOIN events e ON e.id = n.event_id \
                WHERE n.org_id = $1 AND n.account_id = $2";
    let tail = "ORDER BY n.created_at DESC, n.id DESC LIMIT 50";
    for (clauses, index) in [
        ("AND n.read_at IS NULL", "idx_notifications_unread"),
        ("AND n.read_at IS NOT NULL", "idx_notifications_read"),
        ("AND n.read_at IS NULL AND (n.created_at, n.id) < ($3, $4)", "idx_notifications_unread"),
        ("AND n.read_at IS NOT NULL AND (n.created_at, n.id) < ($3, $4)", "idx_notifications_read"),
    ] {
        let lines = plan(&conn, &format!("{mine} {clauses} {tail}"));
        let walk = format!("INDEX {index} (org_id=? AND account_id=?");
        assert!(lines.len() == 2 && lines[0].contains(&walk), "{clauses}: {lines:?}");
    }
    for (name, index) in [
        ("UNREAD", "INDEX idx_notifications_unread"),
        ("FORGET", "INDEX idx_notifications_created_at"),
        ("ALARMS", "INDEX idx_notifications_task_id"),
    ] {
        let name = format!("records::notifications::{name}");
        let statement = registered().find(|statement| statement.name == name).unwrap();
        let lines = plan(&conn, &(statement.texts)().0);
        assert!(lines.iter().any(|line| line.contains(index)), "{name}: {lines:?}");
    }
}

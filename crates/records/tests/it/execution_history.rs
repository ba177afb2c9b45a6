//! How executions ended so far.

use domain::risk::History;
use records::{Result, execution_history};

use crate::people::tenant;
use crate::support::{Ground, on_both_engines};

on_both_engines!(history_is_summed_over_the_resources);

async fn history_is_summed_over_the_resources(ground: Ground) {
    let (org, _) = tenant(&ground, 1).await;
    let at = match ground.engine {
        records::Engine::Sqlite => "1",
        records::Engine::Postgres => "now()",
    };
    for (task_type, resource, runs, failures) in
        [("t", "d:a", 5, 1), ("t", "d:b", 3, 3), ("t", "d:c", 100, 0), ("u", "d:a", 100, 0)]
    {
        ground
            .behind_its_back(&format!(
                "INSERT INTO execution_history (org_id, task_type, resource, runs, failures, created_at, updated_at) \
                 VALUES ('{org}', '{task_type}', '{resource}', {runs}, {failures}, {at}, {at})"
            ))
            .await;
    }
    for (resources, runs, failures) in [(vec!["d:a", "d:b", "d:x"], 8, 4), (vec![], 0, 0)] {
        let resources: Vec<String> = resources.into_iter().map(str::to_owned).collect();
        let input = (org, resources);
        let history: Result<History> = ground
            .db
            .read(input, |tx, (org, resources)| Box::pin(execution_history::of(tx, *org, "t", resources)))
            .await;
        assert_eq!(history.unwrap(), History { runs, failures });
    }
}

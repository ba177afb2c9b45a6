//! What is in a line, and what a changed one is found out by.

use domain::archives::verify::{Flaw, verify};
use domain::canonical::canonical_text;
use serde_json::{Value, json};
use testkit::on_each_engine;

use super::{RETENTION, after, lines, rejected};
use crate::backdoor::Backdoor;
use crate::executions::{config, says, stage, with};
use crate::support::{expect, on_each_engine_with, refused};

#[tokio::test]
async fn a_task_that_an_agent_is_to_work_on_waits() {
    // Room for what was written, or for the archive that has it in it, not for both.
    let little = |setup: &mut testkit::Setup| setup.blob_quota_bytes = 700_000;
    on_each_engine_with(little, async |hub| {
        let stage = stage(&hub).await;
        let task = stage.approved(&hub, with(config("db"), json!({"rollback_strategy": "manual"}))).await;
        let claimed = expect(stage.claim(&hub, &task), 200).await.json();
        // Longer than a chunk, and than the end of it that the execution shows.
        let output = "half of \u{e9}t\n".repeat(40_000);
        for part in [&output[..160_000], &output[160_000..320_000], &output[320_000..]] {
            expect(stage.says(&hub, &claimed, "output", json!({"text": part})), 200).await;
        }
        expect(stage.says(&hub, &claimed, "fail", json!({"error": "it broke"})), 200).await;
        let undo = says(&hub, &stage.author, &claimed, "rollback", json!({"reason": "it broke more"}));
        expect(undo, 202).await;
        let backdoor = Backdoor::open(&hub).await;
        let history = "execution_history WHERE runs = 1 AND failures = 1";
        assert_eq!(backdoor.count(history).await, 1);
        after(&hub, RETENTION).await;
        assert_eq!(stage.task(&hub, &task).await["state"], "FAILED", "an agent is to undo it");
        let undoing = expect(stage.claim(&hub, &task), 200).await.json();
        assert_eq!(undoing["purpose"], "rollback");
        expect(stage.says(&hub, &undoing, "complete", json!({})), 200).await;
        after(&hub, RETENTION).await;
        let line = lines(&hub, &hub.admin_key).await.remove(0);
        assert_eq!(line["executions"][0]["id"], claimed["execution_id"]);
        assert_eq!(line["executions"][0]["output"], output);
        assert_eq!(backdoor.count("blobs WHERE kind = 'output'").await, 0, "it is nowhere else");
        assert_eq!(line["executions"][1]["purpose"], "rollback");
        assert_eq!(line["grants"][0]["basis"], "quorum");
        assert_eq!(backdoor.count(history).await, 1, "what risk remembers stays");
        every_column_is_in(&backdoor, &line).await;
        refused(stage.claim(&hub, &task), 410, "TASK_ARCHIVED").await;
    })
    .await;
}

/// What a table says and its line does not, each with the reason.
const LEFT_OUT: &[(&str, &str)] = &[
    ("org_id", "the line says it once"),
    ("task_id", "the line says it once"),
    ("queue_rank", "of a request: made of its score"),
    ("queue_due", "made of due_at"),
    ("clocks", "of an open review: where it stood in time; what came of that is in its escalations"),
    ("next_look_at", "made of clocks"),
    ("risk_score", "said within the risk"),
    ("about_skipping", "of a request: whether its routing says what is skipped"),
    ("metadata", "of a part: nothing is ever written into it"),
    ("output_id", "what was there is in the line"),
    ("output_tail", "the end of what is in the line"),
    ("updated_at", "of what never changes: that of its making"),
];

/// A column that is added later must not be lost on the way.
async fn every_column_is_in(backdoor: &Backdoor, line: &Value) {
    for (table, part) in [
        ("tasks", &line["task"]),
        ("task_revisions", &line["revisions"][0]),
        ("reviews", &line["reviews"][0]),
        ("approvals", &line["approvals"][0]),
        ("grants", &line["grants"][0]),
        ("executions", &line["executions"][0]),
    ] {
        for column in backdoor.columns(table).await {
            let is_left_out = LEFT_OUT.iter().any(|(left_out, _)| *left_out == column);
            let is_said = part.get(&column).is_some();
            assert!(is_said || is_left_out, "{table}.{column} is not archived: {part}");
        }
    }
}

#[tokio::test]
async fn a_line_that_was_changed_is_found_out() {
    on_each_engine(async |hub| {
        rejected(&hub).await;
        after(&hub, RETENTION).await;
        let line = lines(&hub, &hub.admin_key).await.remove(0);
        let check = |change: &dyn Fn(&mut Value)| {
            let mut changed = line.clone();
            change(&mut changed);
            verify(canonical_text(&changed).as_bytes(), None)
        };
        assert!(check(&|_| ()).is_ok());
        assert!(matches!(
            check(&|line| line["revisions"][0]["config"]["description"] = json!("Drop the table")),
            Err(Flaw::ConfigChanged { number: 1 })
        ));
        assert!(matches!(
            check(&|line| line["task"]["state"] = json!("COMPLETED")),
            Err(Flaw::StateChanged { .. })
        ));
        let answered = line["approvals"].as_array().unwrap().iter();
        let answered = answered.clone().position(|one| one["response_action"] == "reject").unwrap();
        assert!(matches!(
            check(&move |line| line["approvals"][answered]["response_action"] = json!("approve")),
            Err(Flaw::AnswerChanged { .. })
        ));
    })
    .await;
}

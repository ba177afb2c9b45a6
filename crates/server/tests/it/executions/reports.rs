//! What an agent says about its attempt, and when that does not count any more.

use serde_json::json;
use testkit::on_each_engine;

use super::{assert_nothing_is_left, config, stage, with};
use crate::backdoor::Backdoor;
use crate::support::{all_items, expect, get, id, pointers, refused};

#[tokio::test]
async fn a_failure_is_tried_again_as_often_as_was_approved() {
    on_each_engine(async |hub| {
        let stage = stage(&hub).await;
        let twice =
            with(config("one"), json!({"idempotent": true, "max_retries": 1, "rollback_strategy": "manual"}));
        let task = stage.approved(&hub, twice).await;
        let first = expect(stage.claim(&hub, &task), 200).await.json();
        assert_eq!((&first["grant"]["attempt"], &first["grant"]["of"]), (&json!(1), &json!(2)));
        let said = json!({"error": "no disk", "error_details": {"free": 0}});
        let failed = expect(stage.says(&hub, &first, "fail", said), 200).await.json();
        assert_eq!((&failed["phase"], &failed["result"]), (&json!("ended"), &json!("failure")));
        assert_eq!((&failed["error"], &failed["error_details"]), (&json!("no disk"), &json!({"free": 0})));
        let now = stage.task(&hub, &task).await;
        assert_eq!((&now["state"], &now["needs_attention"]), (&json!("APPROVED"), &json!(false)));
        // Not before its hour.
        let backdoor = Backdoor::open(&hub).await;
        assert_eq!(backdoor.count("tasks WHERE not_before > updated_at").await, 1);
        let tomorrow = backdoor.a_day_after("updated_at");
        backdoor
            .change(&format!("UPDATE tasks SET not_before = {tomorrow} WHERE id = '{}'", id(&task)))
            .await;
        let problem = refused(stage.claim(&hub, &task), 409, "BLOCKED").await;
        assert!(problem["not_before"].is_string(), "{problem}");
        expect(stage.next(&hub, 0), 204).await;
        backdoor
            .change(&format!("UPDATE tasks SET not_before = updated_at WHERE id = '{}'", id(&task)))
            .await;
        let second = expect(stage.next(&hub, 20), 200).await.json();
        assert_eq!((&second["grant"]["attempt"], &second["task_id"]), (&json!(2), &task["id"]));
        expect(stage.says(&hub, &second, "fail", json!({"error": "again"})), 200).await;
        let now = stage.task(&hub, &task).await;
        assert_eq!((&now["state"], &now["needs_attention"]), (&json!("FAILED"), &json!(true)));
        assert_eq!((&now["execution"]["retry_count"], &now["status"]), (&json!(1), &json!("failed")));
        refused(stage.claim(&hub, &task), 409, "NOT_APPROVED").await;
        let all = all_items(&hub, &stage.author, &format!("/api/v1/tasks/{}/executions", id(&task))).await;
        let attempts: Vec<_> = all.iter().map(|one| one["attempt"].as_u64().unwrap()).collect();
        assert_eq!(attempts, [2, 1]);
        assert_nothing_is_left(&hub).await;
    })
    .await;
}

#[tokio::test]
async fn what_is_said_after_the_end_does_not_count() {
    on_each_engine(async |hub| {
        let stage = stage(&hub).await;
        let task = stage.approved(&hub, config("one")).await;
        let claimed = expect(stage.claim(&hub, &task), 200).await.json();
        expect(stage.says(&hub, &claimed, "complete", json!({})), 200).await;
        for (verb, body) in [
            ("complete", json!({})),
            ("fail", json!({"error": "no"})),
            ("heartbeat", json!({})),
            ("output", json!({"text": "x"})),
        ] {
            let problem = refused(stage.says(&hub, &claimed, verb, body), 409, "ATTEMPT_ENDED").await;
            assert_eq!(
                (&problem["result"], &problem["outcome"]),
                (&json!("success"), &json!("known")),
                "{verb}"
            );
        }
        assert_eq!(stage.execution(&hub, &claimed).await["output_size"], 0);
        assert_eq!(stage.task(&hub, &task).await["state"], "COMPLETED");
        // Unless it is the same report once more.
        let task = stage.approved(&hub, config("one")).await;
        let claimed = expect(stage.claim(&hub, &task), 200).await.json();
        let done = || stage.says(&hub, &claimed, "complete", json!({})).header("idempotency-key", "done");
        let first = expect(done(), 200).await.json();
        assert_eq!(expect(done(), 200).await.json(), first);
    })
    .await;
}

#[tokio::test]
async fn output_is_appended_and_read_from_anywhere() {
    on_each_engine(async |hub| {
        let stage = stage(&hub).await;
        let task = stage.approved(&hub, config("one")).await;
        let claimed = expect(stage.claim(&hub, &task), 200).await.json();
        let write = |text: String, offset: Option<u64>| {
            let body = match offset {
                Some(offset) => json!({"text": text, "offset": offset}),
                None => json!({"text": text}),
            };
            stage.says(&hub, &claimed, "output", body)
        };
        // Letters of two bytes, so that chunks end inside of one.
        let odd = format!("x{}", "ä".repeat(100_000));
        let mut whole = String::new();
        for _ in 0..3 {
            expect(write(odd.clone(), Some(whole.len() as u64)), 200).await;
            whole.push_str(&odd);
        }
        refused(write("twice".into(), Some(0)), 409, "CONFLICT").await;
        let path = format!("/api/v1/executions/{}/output", claimed["execution_id"].as_str().unwrap());
        let (mut read, mut after) = (String::new(), 0);
        while after < whole.len() as u64 {
            let part = get(&hub, &stage.reviewer, &format!("{path}?after={after}")).await;
            assert_eq!((&part["ended"], &part["output_size"]), (&json!(false), &json!(whole.len())));
            read.push_str(part["text"].as_str().unwrap());
            after = part["next_after"].as_u64().unwrap();
        }
        assert!(read == whole, "{} of {} bytes", read.len(), whole.len());
        assert_eq!(get(&hub, &stage.reviewer, &format!("{path}?after={after}")).await["text"], "");
        let inside = hub.request("GET", &format!("{path}?after=2")).bearer_auth(&stage.reviewer);
        assert_eq!(pointers(&refused(inside, 422, "VALIDATION_FAILED").await), ["/after"]);
        let shown = stage.execution(&hub, &claimed).await;
        assert!(whole.ends_with(shown["output"].as_str().unwrap()) && shown["output_key"].is_string());
        let too_long = write("x".repeat(256 * 1024 + 1), None);
        assert_eq!(pointers(&refused(too_long, 422, "VALIDATION_FAILED").await), ["/text"]);
        expect(stage.says(&hub, &claimed, "complete", json!({})), 200).await;
        assert_eq!(get(&hub, &stage.reviewer, &path).await["ended"], true);
    })
    .await;
}

#[tokio::test]
async fn an_agent_says_how_far_it_is() {
    on_each_engine(async |hub| {
        let stage = stage(&hub).await;
        let task = stage.approved(&hub, config("one")).await;
        let claimed = expect(stage.claim(&hub, &task), 200).await.json();
        let says = |progress| stage.says(&hub, &claimed, "output", json!({"text": "", "progress": progress}));
        assert_eq!(stage.execution(&hub, &claimed).await["progress"], json!(null));
        for progress in [
            json!({"percent": 0, "message": null}),
            json!({"percent": 40, "message": "copying"}),
            json!({"percent": null, "message": "checking"}),
            json!({"percent": 100, "message": null}),
        ] {
            expect(says(progress.clone()), 200).await;
            assert_eq!(stage.execution(&hub, &claimed).await["progress"], progress);
        }
        expect(stage.says(&hub, &claimed, "output", json!({"text": "more"})), 200).await;
        assert_eq!(stage.task(&hub, &task).await["execution"]["progress"]["percent"], 100, "it stays");
        for (wrong, pointer) in [
            (json!({"percent": 101}), "/progress/percent"),
            (json!({"percent": -1}), "/progress/percent"),
            (json!({"message": ""}), "/progress/message"),
            (json!({"message": "two\nlines"}), "/progress/message"),
            (json!({"message": "x".repeat(201)}), "/progress/message"),
            (json!({"colour": "red"}), "/progress/colour"),
        ] {
            let problem = refused(says(wrong.clone()), 422, "VALIDATION_FAILED").await;
            assert_eq!(pointers(&problem), [pointer], "{wrong}");
        }
        assert_eq!(stage.execution(&hub, &claimed).await["progress"]["percent"], 100, "nothing has changed");
        expect(stage.says(&hub, &claimed, "complete", json!({})), 200).await;
        refused(says(json!({"percent": 1})), 409, "ATTEMPT_ENDED").await;
    })
    .await;
}

#[tokio::test]
async fn an_attempt_has_so_much_output_and_no_more() {
    on_each_engine(async |hub| {
        let stage = stage(&hub).await;
        let task = stage.approved(&hub, config("one")).await;
        let claimed = expect(stage.claim(&hub, &task), 200).await.json();
        let much = "x".repeat(256 * 1024);
        for _ in 0..64 {
            expect(stage.says(&hub, &claimed, "output", json!({"text": much})), 200).await;
        }
        let more = stage.says(&hub, &claimed, "output", json!({"text": "x"}));
        assert_eq!(pointers(&refused(more, 422, "VALIDATION_FAILED").await), ["/text"]);
        let last = stage.says(&hub, &claimed, "complete", json!({"output": "x"}));
        assert_eq!(pointers(&refused(last, 422, "VALIDATION_FAILED").await), ["/output"]);
        expect(stage.says(&hub, &claimed, "complete", json!({})), 200).await;
    })
    .await;
}

/// The lock ran out in the middle of it: 409, the operation is over (EDGE-02).
#[tokio::test]
async fn an_attempt_that_lost_a_lock_is_over() {
    on_each_engine(async |hub| {
        let stage = stage(&hub).await;
        let again = with(config("one"), json!({"idempotent": true, "max_retries": 1}));
        for (config, state, looks) in [(config("one"), "FAILED", true), (again, "APPROVED", false)] {
            let task = stage.approved(&hub, config).await;
            let claimed = expect(stage.claim(&hub, &task), 200).await.json();
            let lost = json!({"lock_id": claimed["locks"][0]["lock_id"]});
            let lost = hub.request("POST", "/api/v1/locks/release").bearer_auth(&stage.agent_key).json(&lost);
            expect(lost, 200).await;
            refused(stage.says(&hub, &claimed, "heartbeat", json!({})), 409, "LOCK_EXPIRED").await;
            refused(stage.says(&hub, &claimed, "complete", json!({})), 409, "ATTEMPT_ENDED").await;
            let now = stage.task(&hub, &task).await;
            assert_eq!((&now["state"], &now["needs_attention"]), (&json!(state), &json!(looks)), "{now}");
            let ended = &now["execution"];
            assert_eq!((&ended["error"], &ended["outcome"]), (&json!("LOCK_LOST"), &json!("unknown")));
            assert_nothing_is_left(&hub).await;
        }
    })
    .await;
}

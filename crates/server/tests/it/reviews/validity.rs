//! How long a yes lasts.

use std::time::Duration;

use serde_json::json;
use testkit::on_each_engine;

use super::{answer, asked, person, submitted, task};
use crate::backdoor::Backdoor;
use crate::support::{all_items, eventually, expect, id};
use crate::ways_to_yes::assert_every_yes_was_said;

#[tokio::test]
async fn what_was_approved_too_long_ago_is_reviewed_anew() {
    on_each_engine(async |hub| {
        let validity = json!({"approval:validity": 3600});
        expect(hub.admin("PATCH", "/api/v1/settings").json(&validity), 200).await;
        let ann = person(&hub, "ann", &["author"]).await;
        let bob = person(&hub, "bob", &["reviewer"]).await;
        let approve =
            async |made| expect(answer(&hub, &bob, &asked(&hub, &bob, made).await, "approve"), 200).await;
        let old = submitted(&hub, &ann).await;
        approve(&old).await;
        hub.clock.advance(Duration::from_secs(3599));
        let young = submitted(&hub, &ann).await;
        approve(&young).await;
        assert_eq!(task(&hub, &ann, &old).await["state"], "APPROVED");
        hub.clock.advance(Duration::from_secs(61));
        let again = eventually("the old approval to be found", async || {
            Some(task(&hub, &ann, &old).await).filter(|now| now["state"] == "REVIEWING")
        })
        .await;
        assert_eq!(
            (&again["review"]["approved_count"], &again["revision"]),
            (&json!(0), &json!(1)),
            "{again}"
        );
        assert!(again["metadata"]["approved_at"].is_null(), "{again}");
        assert_eq!(task(&hub, &ann, &young).await["state"], "APPROVED", "an hour is not over");
        let rows = all_items(&hub, &hub.admin_key, &format!("/api/v1/tasks/{}/audit", id(&old))).await;
        let actions: Vec<&str> = rows.iter().take(2).map(|row| row["action"].as_str().unwrap()).collect();
        assert_eq!(actions, ["task:review_began", "task:approval_expired"]);
        assert!(rows.iter().take(2).all(|row| row["service"] == "system"), "{rows:?}");
        let backdoor = Backdoor::open(&hub).await;
        assert_every_yes_was_said(&backdoor, "an approval that grew too old").await;
        // The same people are asked, and can say yes again.
        let about = format!("/api/v1/approvals?reviewer=me&status=PENDING&task_id={}", id(&old));
        let requests = all_items(&hub, &bob, &about).await;
        expect(answer(&hub, &bob, &requests[0], "approve"), 200).await;
        assert_eq!(task(&hub, &ann, &old).await["state"], "APPROVED");
        assert_every_yes_was_said(&backdoor, "a second yes").await;
    })
    .await;
}

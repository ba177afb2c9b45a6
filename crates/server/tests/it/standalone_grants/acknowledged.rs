//! Saying that one has seen a grant: the last one counts, all are on record, and no token is good again by it.

use serde_json::{Value, json};
use testkit::reqwest::RequestBuilder;

use super::{APPROVALS, Ground, Minted, on_each_store};
use crate::support::{all_items, expect, refused};

impl Ground {
    fn acknowledge(&self, minted: &Minted, by: &str) -> RequestBuilder {
        let path = format!("{APPROVALS}/{}/acknowledge", minted.id);
        self.hub.admin("POST", &path).json(&json!({"acknowledged_by": by}))
    }

    /// The grant as it is told, and the same as its store has it.
    async fn stands(&self, minted: &Minted, status: &str, by: &str) {
        let grant = expect(self.get(&minted.id), 200).await.json();
        assert_eq!((&grant["status"], &grant["acknowledged_by"]), (&json!(status), &json!(by)));
        let Some(redis) = &self.redis else { return };
        let kept = redis.ask(&format!("GET ade:approval:token:{{{}}}", minted.id));
        for (name, value) in [("status", status), ("acknowledged_by", by)] {
            assert!(kept.contains(&format!("\"{name}\":\"{value}\"")), "{name} {value}: {kept}");
        }
    }
}

#[tokio::test]
async fn the_last_one_counts_and_all_are_on_record() {
    on_each_store(async |ground| {
        let minted = ground.mint().await;
        for by in ["ada", "ben"] {
            let seen = expect(ground.acknowledge(&minted, by), 200).await.json();
            assert_eq!(seen["acknowledged_by"], json!(by));
            ground.stands(&minted, "pending", by).await;
        }
        expect(ground.consume(&minted.token), 200).await;
        ground.stands(&minted, "consumed", "ben").await;
        expect(ground.acknowledge(&minted, "cy"), 200).await;
        ground.stands(&minted, "consumed", "cy").await;
        refused(ground.consume(&minted.token), 409, "ALREADY_CONSUMED").await;
        let path = "/api/v1/audit?action=grant:acknowledged";
        let rows = all_items(&ground.hub, &ground.hub.admin_key, path).await;
        let by: Vec<&Value> = rows.iter().map(|row| &row["details"]["acknowledged_by"]).collect();
        assert_eq!(by, ["cy", "ben", "ada"]);
    })
    .await;
}

//! Of what somebody wants to be told, on its page.

use serde_json::json;
use testkit::on_each_engine;

use super::{desk, form, leads, small};
use crate::support::{all_items, expect, id};

const PATH: &str = "/account/notifications/preferences";

#[tokio::test]
async fn what_is_not_ticked_is_not_told_and_what_asks_always_is() {
    on_each_engine(async |hub| {
        let desk = desk(&hub).await;
        for from in ["/account", "/?view=told"] {
            assert!(desk.page(from).await.contains(&format!("href=\"{PATH}\"")), "{from}");
        }
        let page = desk.page(PATH).await;
        assert_eq!(page.matches("name=\"told\"").count(), 15, "what asks has no box that is sent: {page}");
        assert_eq!(page.matches(" checked").count(), 15, "nothing is muted: {page}");
        let (action, fields) = form(&page, "preferences").unwrap();
        assert_eq!(action, PATH);
        let fields: Vec<(String, String)> =
            fields.into_iter().map(|(name, value)| (name, value.replace("&#34;", "\""))).collect();
        let ticked = |kinds: &[&str]| {
            let told = kinds.iter().map(|kind| ("told".to_owned(), (*kind).to_owned()));
            fields.iter().cloned().chain(told).collect::<Vec<_>>()
        };
        let to = leads(&desk.post(PATH, &ticked(&["task_failed", "escalated"])).await);
        let page = desk.page(&to).await;
        assert!(page.contains("Saved.") && page.matches(" checked").count() == 2, "{page}");
        let said =
            expect(desk.bob.on(hub.request("GET", "/api/v1/notifications/preferences")), 200).await.json();
        assert_eq!(said["muted"].as_array().unwrap().len(), 13, "{said}");
        assert!(!said["muted"].as_array().unwrap().contains(&json!("escalated")), "{said}");
        let rows =
            all_items(&hub, &hub.admin_key, "/api/v1/audit?action=notifications:preferences_set").await;
        assert_eq!(rows.len(), 1, "{rows:?}");
        // The page of before is of other preferences.
        let stale = desk.post(PATH, &ticked(&["task_completed"])).await;
        assert_eq!(stale.status.as_u16(), 412);
        let text = stale.text();
        assert!(
            text.contains("Nothing was saved") && text.contains("value=\"task_completed\" checked"),
            "{text}"
        );
        let after =
            expect(desk.bob.on(hub.request("GET", "/api/v1/notifications/preferences")), 200).await.json();
        assert_eq!(after["muted"], said["muted"]);
        for wrong in [ticked(&["nonsense"]), vec![], [ticked(&[]), ticked(&[])].concat()] {
            assert_eq!(desk.post(PATH, &wrong).await.status.as_u16(), 422, "{wrong:?}");
        }
        // Whatever is ticked, who is asked is told.
        let task = desk.submitted(small("Ask me")).await;
        let told = expect(desk.bob.on(hub.request("GET", "/api/v1/notifications")), 200).await.json();
        let told = told["items"].as_array().unwrap();
        assert!(told.iter().any(|one| one["task_id"] == json!(id(&task))), "{told:?}");
    })
    .await;
}

//! Lists, one page at a time.

use std::collections::HashSet;

use serde_json::{Value, json};
use testkit::{TestHub, on_each_engine};

use crate::support::{all_items, get, mint, pointers, refused};

const KEYS: usize = 120;

fn ids(page: &Value) -> Vec<String> {
    let items = page["items"].as_array().unwrap();
    items.iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
}

/// Mints keys and gives their ids, newest first.
async fn mint_many(hub: &TestHub) -> Vec<String> {
    let mut minted = Vec::new();
    for number in 0..KEYS {
        minted.push(mint(hub, &hub.admin_key, json!({"name": format!("key {number}")})).await.id);
    }
    minted.reverse();
    minted
}

#[tokio::test]
async fn every_key_is_listed_exactly_once() {
    on_each_engine(async |hub| {
        let mut expected = mint_many(&hub).await;
        let first = get(&hub, &hub.admin_key, "/api/v1/me").await["key_id"].as_str().unwrap().to_owned();
        expected.push(first);
        assert_eq!(
            get(&hub, &hub.admin_key, "/api/v1/api-keys").await["items"].as_array().unwrap().len(),
            50
        );
        for (limit, during) in [(50, false), (50, true), (1, false), (121, false), (200, true)] {
            let mut seen = Vec::new();
            let mut path = format!("/api/v1/api-keys?limit={limit}");
            loop {
                let page = get(&hub, &hub.admin_key, &path).await;
                seen.extend(ids(&page));
                if during {
                    // Newer than everything listed: it belongs before the first page, not into the next.
                    mint(&hub, &hub.admin_key, json!({"name": "meanwhile"})).await;
                }
                let Some(cursor) = page["next_cursor"].as_str() else { break };
                path = format!("/api/v1/api-keys?limit={limit}&cursor={cursor}");
            }
            assert_eq!(seen.iter().collect::<HashSet<_>>().len(), seen.len(), "twice on a page");
            let seen: Vec<String> = seen.into_iter().filter(|id| expected.contains(id)).collect();
            assert_eq!(seen, expected, "limit {limit}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_cursor_is_good_for_one_list_only() {
    on_each_engine(async |hub| {
        let theirs = hub.tenant("other").await;
        for name in ["a", "b", "c"] {
            mint(&hub, &hub.admin_key, json!({"name": name})).await;
            mint(&hub, &theirs, json!({"name": name})).await;
        }
        let page = get(&hub, &hub.admin_key, "/api/v1/audit?limit=1&action=api_key:minted").await;
        let cursor = page["next_cursor"].as_str().unwrap();
        let good = format!("/api/v1/audit?limit=2&action=api_key:minted&cursor={cursor}");
        assert_eq!(ids(&get(&hub, &hub.admin_key, &good).await).len(), 2, "the limit may change");
        let shortened = &cursor[..cursor.len() - 1];
        for path in [
            format!("/api/v1/audit?cursor={cursor}"),
            format!("/api/v1/audit?action=member:added&cursor={cursor}"),
            format!("/api/v1/audit?action=api_key:minted&from=2020-01-01T00:00:00Z&cursor={cursor}"),
            format!("/api/v1/api-keys?cursor={cursor}"),
            format!("/api/v1/audit/seals?cursor={cursor}"),
            format!("/api/v1/audit?action=api_key:minted&cursor={shortened}"),
            format!("/api/v1/audit?action=api_key:minted&cursor={}A", cursor),
        ] {
            let problem = refused(hub.admin("GET", &path), 422, "VALIDATION_FAILED").await;
            assert_eq!(pointers(&problem), ["/cursor"], "{path}");
        }
        let request = hub.request("GET", &good).bearer_auth(&theirs);
        assert_eq!(pointers(&refused(request, 422, "VALIDATION_FAILED").await), ["/cursor"]);
    })
    .await;
}

/// Many rows at one time of the clock are told apart by their ids.
#[tokio::test]
async fn audit_rows_are_listed_newest_first_and_once() {
    on_each_engine(async |hub| {
        for number in 0..30 {
            mint(&hub, &hub.admin_key, json!({"name": format!("key {number}")})).await;
        }
        let whole = all_items(&hub, &hub.admin_key, "/api/v1/audit").await;
        let mut paged = Vec::new();
        let mut path = "/api/v1/audit?limit=7".to_owned();
        loop {
            let page = get(&hub, &hub.admin_key, &path).await;
            paged.extend(ids(&page));
            let Some(cursor) = page["next_cursor"].as_str() else { break };
            path = format!("/api/v1/audit?limit=7&cursor={cursor}");
        }
        let whole_ids: Vec<&str> = whole.iter().map(|row| row["id"].as_str().unwrap()).collect();
        assert_eq!(paged, whole_ids);
        let times: Vec<&str> = whole.iter().map(|row| row["occurred_at"].as_str().unwrap()).collect();
        assert!(times.is_sorted_by(|newer, older| newer >= older), "{times:?}");
    })
    .await;
}

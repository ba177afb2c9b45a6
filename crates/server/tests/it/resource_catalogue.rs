//! The resource catalogue: replaced whole, read by everybody, each tenant its own.

use serde_json::json;
use testkit::on_each_engine;

use crate::backdoor::Backdoor;
use crate::support::{all_items, expect, get, pointers, refused};

const PATH: &str = "/api/v1/resource-catalogue";

#[tokio::test]
async fn a_catalogue_is_replaced_whole() {
    on_each_engine(async |hub| {
        let empty = expect(hub.admin("GET", PATH), 200).await;
        assert_eq!(empty.json(), json!([]));
        let rules = json!([
            {"pattern": "database:prod-*", "criticality": 90, "blast_radius": 20},
            {"pattern": "*", "criticality": 30},
        ]);
        let put = expect(hub.admin("PUT", PATH).json(&rules), 200).await;
        assert_eq!(put.json(), rules);
        assert_ne!(put.header("etag"), empty.header("etag"));
        let read = expect(hub.admin("GET", PATH), 200).await;
        assert_eq!((read.json(), read.header("etag")), (rules.clone(), put.header("etag")));
        let backdoor = Backdoor::open(&hub).await;
        let rows = backdoor.count("audit_logs").await;
        expect(hub.admin("PUT", PATH).json(&rules), 200).await;
        assert_eq!(backdoor.count("audit_logs").await, rows, "the same again changes nothing");
        let stale = hub.admin("PUT", PATH).header("if-match", empty.header("etag").unwrap()).json(&json!([]));
        refused(stale, 412, "PRECONDITION_FAILED").await;
        let current = hub.admin("PUT", PATH).header("if-match", put.header("etag").unwrap()).json(&json!([]));
        assert_eq!(expect(current, 200).await.json(), json!([]));
        let record = all_items(&hub, &hub.admin_key, "/api/v1/audit?action=resource_catalogue:changed").await;
        assert_eq!(record.len(), 2);
        assert_eq!(record[1]["details"]["rules"], json!({"from": [], "to": rules}));
    })
    .await;
}

#[tokio::test]
async fn what_is_wrong_is_named_by_place_and_changes_nothing() {
    on_each_engine(async |hub| {
        let good = json!([{"pattern": "a", "criticality": 1}]);
        expect(hub.admin("PUT", PATH).json(&good), 200).await;
        let long = "x".repeat(64 * 1024);
        for (body, found) in [
            (json!({}), vec![""]),
            (json!([{"pattern": "a", "criticality": 101}]), vec!["/0/criticality"]),
            (json!([{"pattern": "a"}, {"criticality": 1}]), vec!["/0/criticality", "/1/pattern"]),
            (json!([{"pattern": long, "criticality": 1}]), vec!["/0/pattern"]),
            (json!([{"pattern": "a\u{202e}", "criticality": 1}]), vec!["/0/pattern"]),
            (json!([{"pattern": "a\u{1b}[2K", "criticality": 1}]), vec!["/0/pattern"]),
            (json!([{"pattern": "a", "criticality": 1, "owner": "me"}]), vec!["/0/owner"]),
        ] {
            let problem = refused(hub.admin("PUT", PATH).json(&body), 422, "VALIDATION_FAILED").await;
            assert_eq!(pointers(&problem), found);
        }
        assert_eq!(get(&hub, &hub.admin_key, PATH).await, good);
    })
    .await;
}

#[tokio::test]
async fn each_tenant_has_its_own() {
    on_each_engine(async |hub| {
        let theirs = hub.tenant("theirs").await;
        expect(hub.admin("PUT", PATH).json(&json!([{"pattern": "a", "criticality": 1}])), 200).await;
        assert_eq!(get(&hub, &theirs, PATH).await, json!([]));
        let member = hub.member(&hub.admin_key, "reader").await;
        assert_eq!(get(&hub, &member, PATH).await[0]["pattern"], "a");
        let request = hub.request("PUT", PATH).bearer_auth(&member).json(&json!([]));
        refused(request, 403, "FORBIDDEN").await;
    })
    .await;
}

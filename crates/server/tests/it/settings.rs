//! Settings: versioned, checked together, audited, never stale.

use futures_util::future::join_all;
use serde_json::{Value, json};
use testkit::reqwest::RequestBuilder;
use testkit::{TestHub, on_each_engine};

use crate::support::{all_items, expect, get, pointers, refused};

const PATH: &str = "/api/v1/settings";

fn patch(hub: &TestHub, body: &Value) -> RequestBuilder {
    hub.admin("PATCH", PATH).json(body)
}

async fn etag(hub: &TestHub) -> String {
    expect(hub.admin("GET", PATH), 200).await.header("etag").unwrap().to_owned()
}

#[tokio::test]
async fn the_defaults_are_those_of_the_documents() {
    on_each_engine(async |hub| {
        let settings = get(&hub, &hub.admin_key, PATH).await;
        let expected = json!({
            "lock:default_ttl": 30, "lock:max_ttl": 300, "lock:heartbeat_interval": 10, "lock:max_queue_depth": 100,
            "approval:default_timeout": 172_800, "approval:max_timeout": 604_800, "approval:validity": 604_800,
            "approval:on_call": [], "events:retention": 2_592_000, "task:retention": 7_776_000,
            "task:default_timeout": 3600, "risk:thresholds": [25, 50, 75],
            "feature:auto_approve_low_risk": "disabled", "feature:deadlock_detection": "enabled",
            "feature:batch_approvals": "enabled",
        });
        assert_eq!(settings, expected);
    })
    .await;
}

#[tokio::test]
async fn if_match_guards_against_changes_one_has_not_seen() {
    on_each_engine(async |hub| {
        let first = etag(&hub).await;
        assert!(first.starts_with('"') && first.ends_with('"'), "a strong tag: {first}");
        let change = |ttl: u32, tag: &str| {
            patch(&hub, &json!({"lock:default_ttl": ttl})).header("if-match", tag.to_owned())
        };
        let changed = expect(change(31, &first), 200).await;
        let second = changed.header("etag").unwrap().to_owned();
        assert_ne!(second, first);
        assert_eq!(etag(&hub).await, second);
        refused(change(32, &first), 412, "PRECONDITION_FAILED").await;
        refused(change(32, "\"nonsense\""), 412, "PRECONDITION_FAILED").await;
        refused(change(32, &format!("W/{second}")), 412, "PRECONDITION_FAILED").await;
        assert_eq!(get(&hub, &hub.admin_key, PATH).await["lock:default_ttl"], 31);
        // Any of several, and any at all.
        expect(change(33, &format!("{first}, {second}")), 200).await;
        expect(change(34, "*"), 200).await;
        // The same settings are the same version, however they came about.
        expect(patch(&hub, &json!({"lock:default_ttl": null})), 200).await;
        assert_eq!(etag(&hub).await, first);
        let twice = change(35, &first).header("if-match", &first);
        refused(twice, 400, "BAD_REQUEST").await;
    })
    .await;
}

/// Everybody read the same version, so exactly one of them gets through.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_guarded_changes_one_wins() {
    on_each_engine(async |hub| {
        // Several rounds, because the first only opens the connections to the database.
        for round in 1..=10 {
            let tag = etag(&hub).await;
            let changes = (0..16).map(|number| {
                let body = json!({"lock:max_queue_depth": 200 * round + number});
                patch(&hub, &body).header("if-match", &tag).send()
            });
            let statuses: Vec<u16> =
                join_all(changes).await.into_iter().map(|answer| answer.unwrap().status().as_u16()).collect();
            assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
            assert_eq!(statuses.iter().filter(|status| **status == 412).count(), 15, "{statuses:?}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_changes_of_different_settings_all_survive() {
    on_each_engine(async |hub| {
        for round in 1..=5_u32 {
            let wanted = [
                json!({"lock:max_ttl": 300 + round}),
                json!({"lock:max_queue_depth": 100 + round}),
                json!({"task:default_timeout": 3600 + round}),
                json!({"risk:thresholds": [20 + round, 50 + round, 80 + round]}),
                json!({"feature:batch_approvals": if round % 2 == 1 { "disabled" } else { "enabled" }}),
                json!({"events:retention": 2_000_000 + round, "task:retention": 5_000_000 + round}),
            ];
            join_all(wanted.iter().map(|body| expect(patch(&hub, body), 200))).await;
            let settings = get(&hub, &hub.admin_key, PATH).await;
            for (name, value) in wanted.iter().flat_map(|body| body.as_object().unwrap()) {
                assert_eq!(settings[name], *value, "round {round}: {name}");
            }
        }
    })
    .await;
}

#[tokio::test]
async fn settings_are_checked_together_and_all_or_nothing() {
    on_each_engine(async |hub| {
        let before = get(&hub, &hub.admin_key, PATH).await;
        let cases = [
            (json!({"lock:default_ttl": 301}), "/lock:default_ttl"),
            (json!({"lock:max_ttl": 29}), "/lock:max_ttl"),
            (json!({"lock:heartbeat_interval": 16}), "/lock:heartbeat_interval"),
            (json!({"approval:max_timeout": 10}), "/approval:max_timeout"),
            (json!({"lock:max_queue_depth": 5, "lock:default_ttl": 301}), "/lock:default_ttl"),
        ];
        for (body, pointer) in cases {
            let problem = refused(patch(&hub, &body), 422, "VALIDATION_FAILED").await;
            assert_eq!(pointers(&problem), [pointer], "{problem}");
            assert_eq!(get(&hub, &hub.admin_key, PATH).await, before);
        }
        // Together they agree.
        expect(patch(&hub, &json!({"lock:default_ttl": 301, "lock:max_ttl": 302})), 200).await;
        // Going back to the default alone would not.
        let problem = refused(patch(&hub, &json!({"lock:max_ttl": null})), 422, "VALIDATION_FAILED").await;
        assert_eq!(pointers(&problem), ["/lock:max_ttl"]);
        expect(patch(&hub, &json!({"lock:max_ttl": null, "lock:default_ttl": null})), 200).await;
        assert_eq!(get(&hub, &hub.admin_key, PATH).await, before);
    })
    .await;
}

#[tokio::test]
async fn a_change_is_on_record_with_what_was_before() {
    on_each_engine(async |hub| {
        let rows = async || all_items(&hub, &hub.admin_key, "/api/v1/audit?action=settings:changed").await;
        let body =
            json!({"lock:max_ttl": 301, "lock:max_queue_depth": 100, "feature:batch_approvals": "disabled"});
        expect(patch(&hub, &body), 200).await;
        let found = rows().await;
        assert_eq!(found.len(), 1);
        // What stayed as it was is no change.
        let details = json!({
            "lock:max_ttl": {"from": 300, "to": 301},
            "feature:batch_approvals": {"from": "enabled", "to": "disabled"},
        });
        assert_eq!(found[0]["details"], details);
        let me = get(&hub, &hub.admin_key, "/api/v1/me").await;
        assert_eq!(found[0]["actor"], me["account"]["id"]);
        assert_eq!(found[0]["key_id"], me["key_id"]);
        assert_eq!(found[0]["subject"], json!({"type": "organization", "id": me["organization"]["id"]}));
        expect(patch(&hub, &json!({})), 200).await;
        expect(patch(&hub, &json!({"lock:max_ttl": 301})), 200).await;
        assert_eq!(rows().await.len(), 1, "nothing changed, so nothing is on record");
        expect(patch(&hub, &json!({"lock:max_ttl": null})), 200).await;
        let newest = rows().await.remove(0);
        assert_eq!(newest["details"], json!({"lock:max_ttl": {"from": 301, "to": 300}}));
    })
    .await;
}

/// The cache is exact: whoever was told of a change reads it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_next_read_always_shows_the_change() {
    on_each_engine(async |hub| {
        let theirs = hub.tenant("other").await;
        let other = get(&hub, &theirs, PATH).await;
        for ttl in 301..401 {
            // Readers keep the cache busy while it changes.
            let reads = join_all((0..4).map(|_| expect(hub.admin("GET", PATH), 200)));
            let (_, changed) = tokio::join!(reads, expect(patch(&hub, &json!({"lock:max_ttl": ttl})), 200));
            assert_eq!(changed.json()["lock:max_ttl"], ttl);
            assert_eq!(get(&hub, &hub.admin_key, PATH).await["lock:max_ttl"], ttl);
        }
        assert_eq!(get(&hub, &theirs, PATH).await, other, "another tenant's settings are its own");
    })
    .await;
}

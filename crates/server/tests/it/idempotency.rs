//! The same request twice is one request (DECISIONS 17).

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use futures_util::future::join_all;
use hub::keys::HubKeys;
use hub::outgoing::{ANSWER_WITHIN, Outgoing, SystemNames};
use hub::{Config, Hub};
use serde_json::{Value, json};
use testkit::reqwest::RequestBuilder;
use testkit::{TestHub, on_each_engine};
use tower::ServiceExt;

use crate::backdoor::Backdoor;
use crate::support::{all_items, expect, get, mint, minted, refused, send};

const KEYS: &str = "/api/v1/api-keys";

fn mint_once(hub: &TestHub, with: &str, slot: &str, body: &Value) -> RequestBuilder {
    hub.request("POST", KEYS).bearer_auth(with).header("idempotency-key", slot).json(body)
}

/// An answer that was given before: everything but the secret.
fn assert_replayed(first: &Value, again: &Value) {
    let mut expected = first.clone();
    expected["key"] = json!(null);
    expected["replayed"] = json!(true);
    assert_eq!(*again, expected);
}

#[tokio::test]
async fn the_same_request_gets_the_same_answer_once() {
    on_each_engine(async |hub| {
        let backdoor = Backdoor::open(&hub).await;
        let before = backdoor.count("api_keys").await;
        let body = json!({"name": "once", "scopes": ["events:read"]});
        let first = expect(mint_once(&hub, &hub.admin_key, "a", &body), 201).await;
        assert!(minted(&first).key.starts_with("csk_"));
        assert_eq!(first.json().get("replayed"), None);
        for _ in 0..3 {
            let again = expect(mint_once(&hub, &hub.admin_key, "a", &body), 201).await;
            assert_replayed(&first.json(), &again.json());
            assert_eq!(again.header("location"), first.header("location"));
            assert_eq!(again.header("content-type"), Some("application/json"));
        }
        let other = json!({"name": "once"});
        let request = mint_once(&hub, &hub.admin_key, "a", &other);
        refused(request, 422, "IDEMPOTENCY_MISMATCH").await;
        // The same value in other bytes is another body.
        let spaced = r#"{"name": "once",  "scopes": ["events:read"]}"#;
        let request = hub.admin("POST", KEYS).header("idempotency-key", "a");
        let request = request.header("content-type", "application/json").body(spaced);
        refused(request, 422, "IDEMPOTENCY_MISMATCH").await;
        assert_eq!(backdoor.count("api_keys").await, before + 1);
        let rows = all_items(&hub, &hub.admin_key, "/api/v1/audit?action=api_key:minted").await;
        let ours = rows.iter().filter(|row| row["details"]["name"] == "once").count();
        assert_eq!(ours, 1);
        // Nothing that is kept holds the secret.
        let kept = backdoor.read_bytes("body", "FROM idempotency_keys").await;
        assert!(!String::from_utf8(kept).unwrap().contains(&minted(&first).key));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_at_once_are_one() {
    on_each_engine(async |hub| {
        let backdoor = Backdoor::open(&hub).await;
        let before = backdoor.count("api_keys").await;
        let body = json!({"name": "crowd"});
        let requests = (0..64).map(|_| expect(mint_once(&hub, &hub.admin_key, "crowd", &body), 201));
        let answers: Vec<Value> = join_all(requests).await.iter().map(|answer| answer.json()).collect();
        let fresh: Vec<&Value> = answers.iter().filter(|answer| answer["key"].is_string()).collect();
        assert_eq!(fresh.len(), 1, "exactly one answer shows the key");
        for answer in answers.iter().filter(|answer| answer["key"].is_null()) {
            assert_replayed(fresh[0], answer);
        }
        assert_eq!(backdoor.count("api_keys").await, before + 1);
    })
    .await;
}

/// A second server over the same records: it shares nothing with the first but the database.
async fn second_server(hub: &TestHub) -> Router {
    let keys =
        HubKeys::open(&hub.data.path().join("keys"), &hub.hub.records, hub.hub.clock.now()).await.unwrap();
    let config = Config {
        rate_limit: 0,
        anonymous_rate_limit: 0,
        lock_rate_limit: 0,
        blob_quota_bytes: 0,
        keys,
        oidc: None,
        grants: hub::standalone_grants::Settings::default(),
        outgoing: Outgoing::new(Vec::new(), Arc::new(SystemNames), ANSWER_WITHIN),
        events: hub::events::Settings::default(),
    };
    let (clock, ids) = (Arc::clone(&hub.hub.clock), Arc::clone(&hub.hub.ids));
    let second = Hub::new(hub.hub.records.clone(), clock, ids, config);
    let options = server::Options { docs: false, ..server::Options::local(([127, 0, 0, 1], 0).into()) };
    server::router(second, options)
}

async fn ask_second(router: Router, key: &str, body: &Value) -> Value {
    let request = Request::post(KEYS)
        .header("authorization", format!("Bearer {key}"))
        .header("content-type", "application/json")
        .header("idempotency-key", "both")
        .body(Body::from(body.to_string()))
        .unwrap();
    let response = router.oneshot(request).await.unwrap();
    assert_eq!(response.status(), 201);
    serde_json::from_slice(&to_bytes(response.into_body(), usize::MAX).await.unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_servers_over_one_database_mint_one_key() {
    on_each_engine(async |hub| {
        let router = second_server(&hub).await;
        let backdoor = Backdoor::open(&hub).await;
        let before = backdoor.count("api_keys").await;
        let body = json!({"name": "both"});
        let first = join_all(
            (0..16).map(async |_| expect(mint_once(&hub, &hub.admin_key, "both", &body), 201).await.json()),
        );
        let second = join_all((0..16).map(|_| ask_second(router.clone(), &hub.admin_key, &body)));
        let (mut answers, others) = tokio::join!(first, second);
        answers.extend(others);
        assert_eq!(answers.iter().filter(|answer| answer["key"].is_string()).count(), 1);
        assert!(answers.iter().all(|answer| answer["id"] == answers[0]["id"]), "{answers:?}");
        assert_eq!(backdoor.count("api_keys").await, before + 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rotation_is_repeated_too() {
    on_each_engine(async |hub| {
        let old = mint(&hub, &hub.admin_key, json!({"name": "to rotate"})).await;
        let path = format!("{KEYS}/{}/rotate", old.id);
        let rotate = |slot: &str| hub.admin("POST", &path).header("idempotency-key", slot.to_owned());
        let answers = join_all((0..16).map(|_| expect(rotate("r"), 201))).await;
        let shown = answers.iter().filter(|answer| answer.json()["key"].is_string()).count();
        assert_eq!(shown, 1);
        let ids: Vec<Value> = answers.iter().map(|answer| answer.json()["id"].clone()).collect();
        assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
        // Without the key of the first request it is a request of its own, and the old key has ended.
        refused(rotate("other"), 409, "INVALID_STATE").await;
        refused(hub.admin("POST", &path), 409, "INVALID_STATE").await;
    })
    .await;
}

#[tokio::test]
async fn refusals_are_worked_out_again() {
    on_each_engine(async |hub| {
        let bad = json!({"name": "ci", "scopes": ["nonsense:read"]});
        refused(mint_once(&hub, &hub.admin_key, "slot", &bad), 422, "VALIDATION_FAILED").await;
        // Refused inside the unit, after the slot was taken in it.
        let nobody = json!({"name": "ci", "account_id": "0197a000-0000-7000-8000-000000000000"});
        refused(mint_once(&hub, &hub.admin_key, "slot", &nobody), 422, "VALIDATION_FAILED").await;
        assert_eq!(Backdoor::open(&hub).await.count("idempotency_keys").await, 0);
        let good = json!({"name": "ci"});
        assert!(expect(mint_once(&hub, &hub.admin_key, "slot", &good), 201).await.json()["key"].is_string());
    })
    .await;
}

#[tokio::test]
async fn a_slot_belongs_to_account_organization_and_path() {
    on_each_engine(async |hub| {
        let body = json!({"name": "mine"});
        let ann = hub.member(&hub.admin_key, "ann").await;
        let theirs = hub.tenant("other").await;
        let mut ids = Vec::new();
        for key in [&hub.admin_key, &ann, &theirs] {
            let fresh = expect(mint_once(&hub, key, "same", &body), 201).await.json();
            assert!(fresh["key"].is_string(), "{fresh}");
            ids.push(fresh["id"].as_str().unwrap().to_owned());
        }
        // Another path of the same account.
        let path = format!("{KEYS}/{}/rotate", ids[0]);
        let rotated = expect(hub.admin("POST", &path).header("idempotency-key", "same"), 201).await.json();
        assert!(rotated["key"].is_string());
        // Another key of the same account is the same caller.
        let second = mint(&hub, &hub.admin_key, json!({"name": "second"})).await;
        let again = expect(mint_once(&hub, &second.key, "same", &body), 201).await.json();
        assert_eq!((&again["replayed"], &again["id"]), (&json!(true), &json!(ids[0])));
        // The same account in another organization is not.
        let elsewhere = key_elsewhere(&hub, &theirs).await;
        let fresh = expect(mint_once(&hub, &elsewhere, "same", &body), 201).await.json();
        assert!(fresh["key"].is_string(), "{fresh}");
        assert_ne!(fresh["organization_id"], again["organization_id"]);
    })
    .await;
}

/// A key of the admin's account that acts in the tenant's organization.
async fn key_elsewhere(hub: &TestHub, tenant: &str) -> String {
    let account = get(hub, &hub.admin_key, "/api/v1/me").await["account"]["id"].clone();
    let organization = get(hub, tenant, "/api/v1/me").await["organization"]["id"].clone();
    let [account, org] = [&account, &organization].map(|id| id.as_str().unwrap());
    hub.seat(account.parse().unwrap(), org.parse().unwrap()).await;
    mint(hub, &hub.admin_key, json!({"name": "elsewhere", "organization_id": organization})).await.key
}

#[tokio::test]
async fn an_answer_is_kept_for_a_day() {
    on_each_engine(async |hub| {
        let body = json!({"name": "daily"});
        let first = expect(mint_once(&hub, &hub.admin_key, "day", &body), 201).await.json();
        hub.clock.advance(Duration::from_secs(24 * 3600 - 60));
        let again = expect(mint_once(&hub, &hub.admin_key, "day", &body), 201).await.json();
        assert_replayed(&first, &again);
        hub.clock.advance(Duration::from_secs(61));
        let later = expect(mint_once(&hub, &hub.admin_key, "day", &body), 201).await.json();
        assert!(later["key"].is_string() && later["id"] != first["id"], "{later}");
        // From then on the later one is what is repeated.
        let again = expect(mint_once(&hub, &hub.admin_key, "day", &body), 201).await.json();
        assert_replayed(&later, &again);
    })
    .await;
}

#[tokio::test]
async fn a_malformed_key_is_refused() {
    on_each_engine(async |hub| {
        let backdoor = Backdoor::open(&hub).await;
        let before = backdoor.count("api_keys").await;
        let body = json!({"name": "never"});
        for slot in ["", "é", &"x".repeat(129), "a\tb"] {
            refused(mint_once(&hub, &hub.admin_key, slot, &body), 400, "BAD_REQUEST").await;
        }
        let twice = mint_once(&hub, &hub.admin_key, "a", &body).header("idempotency-key", "b");
        refused(twice, 400, "BAD_REQUEST").await;
        assert_eq!(backdoor.count("api_keys").await, before);
        let longest = "~".repeat(128);
        expect(mint_once(&hub, &hub.admin_key, &longest, &body), 201).await;
    })
    .await;
}

/// A key that is revoked meanwhile gets nothing repeated either.
#[tokio::test]
async fn a_revoked_key_gets_no_replay() {
    on_each_engine(async |hub| {
        let key = mint(&hub, &hub.admin_key, json!({"name": "short life"})).await;
        let body = json!({"name": "child"});
        expect(mint_once(&hub, &key.key, "c", &body), 201).await;
        expect(hub.admin("DELETE", &format!("{KEYS}/{}", key.id)), 204).await;
        send(mint_once(&hub, &key.key, "c", &body)).await.problem(401, "UNAUTHENTICATED");
    })
    .await;
}

//! Who may make and use grants (DECISIONS 33).

use serde_json::{Value, json};
use testkit::TestHub;

use super::{APPROVALS, Ground, HASH, on_each_store};
use crate::support::{author, expect, id, make, mint, refused};

impl Ground {
    fn create_as(&self, key: &str) -> testkit::reqwest::RequestBuilder {
        let body = json!({"tenant_id": self.org, "ir_hash": HASH});
        self.hub.request("POST", APPROVALS).bearer_auth(key).json(&body)
    }
}

async fn service(hub: &TestHub, name: &str) -> String {
    let email = format!("{name}@default.example");
    let body = json!({"email": email, "display_name": name, "access_level": "service"});
    id(&make(hub, &hub.admin_key, "/api/v1/accounts", body).await)
}

async fn key(hub: &TestHub, with: &str, body: Value) -> String {
    mint(hub, with, body).await.key
}

#[tokio::test]
async fn who_may_mint() {
    on_each_store(async |ground| {
        let hub = &ground.hub;
        let admin = &hub.admin_key;
        let named = ["grants:mint", "keys:write"];
        let account = service(hub, "escalator").await;
        let entrusted = key(hub, admin, json!({"name": "e", "account_id": account, "scopes": named})).await;
        expect(ground.create_as(&entrusted), 201).await;
        // What it mints itself is its own word.
        let own = key(hub, &entrusted, json!({"name": "own", "scopes": ["grants:mint"]})).await;
        refused(ground.create_as(&own), 403, "FORBIDDEN").await;
        let account = service(hub, "other").await;
        let silent = key(hub, admin, json!({"name": "s", "account_id": account})).await;
        refused(ground.create_as(&silent), 403, "FORBIDDEN").await;
        // A person's key is as good as the person.
        let member = hub.member(admin, "mia").await;
        refused(ground.create_as(&member), 403, "FORBIDDEN").await;
        // An agent never.
        let ann = author(hub, "ann").await;
        let agent = id(&make(hub, &ann.key, "/api/v1/agents", json!({"name": "builder"})).await);
        let scopes = ["grants:mint", "grants:consume"];
        let agents = key(hub, &ann.key, json!({"name": "a", "account_id": agent, "scopes": scopes})).await;
        refused(ground.create_as(&agents), 403, "FORBIDDEN").await;
        // But it may use what it was given.
        let minted = ground.mint().await;
        let body = json!({"token": minted.token, "tenant_id": ground.org, "ir_hash": HASH});
        let consume = hub.request("POST", &format!("{APPROVALS}/consume")).bearer_auth(&agents);
        expect(consume.json(&body), 200).await;
        // Scopes narrow an admin too.
        let narrow = key(hub, admin, json!({"name": "n", "scopes": ["grants:consume"]})).await;
        refused(ground.create_as(&narrow), 403, "FORBIDDEN").await;
    })
    .await;
}

/// Each scope opens its own doors: looking at grants is not using them, and using them is not making them.
#[tokio::test]
async fn a_key_does_no_more_than_its_scope_says() {
    on_each_store(async |ground| {
        let (hub, minted) = (&ground.hub, ground.mint().await);
        let scoped =
            async |scope: &str| key(hub, &hub.admin_key, json!({"name": scope, "scopes": [scope]})).await;
        let (reads, uses, mints) =
            (scoped("grants:read").await, scoped("grants:consume").await, scoped("grants:mint").await);
        let post = |key: &str, path: &str, body: &Value| {
            hub.request("POST", &format!("{APPROVALS}/{path}")).bearer_auth(key).json(body)
        };
        let body = json!({"token": minted.token, "tenant_id": ground.org, "ir_hash": HASH});
        let (seen, acknowledge) = (json!({"acknowledged_by": "x"}), format!("{}/acknowledge", minted.id));
        for key in [&reads, &mints] {
            refused(post(key, "consume", &body), 403, "FORBIDDEN").await;
            refused(post(key, &acknowledge, &seen), 403, "FORBIDDEN").await;
        }
        for key in [&reads, &uses] {
            refused(ground.create_as(key), 403, "FORBIDDEN").await;
            refused(post(key, "cleanup", &json!({})), 403, "FORBIDDEN").await;
        }
        for key in [&uses, &mints] {
            let path = format!("{APPROVALS}/{}", minted.id);
            refused(hub.request("GET", &path).bearer_auth(key), 403, "FORBIDDEN").await;
        }
        assert_eq!(ground.counts().await, (1, 0, 0), "nothing was used, nothing was made");
        expect(post(&uses, &acknowledge, &seen), 200).await;
        expect(post(&uses, "consume", &body), 200).await;
        expect(ground.create_as(&mints), 201).await;
    })
    .await;
}

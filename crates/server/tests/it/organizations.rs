//! Organizations: made, named and archived by instance admins.

use serde_json::json;
use testkit::on_each_engine;

use crate::support::{all_items, expect, get, mint, refused};

const PATH: &str = "/api/v1/organizations";

#[tokio::test]
async fn an_instance_admin_makes_and_archives_them() {
    on_each_engine(async |hub| {
        let body = json!({"name": "Halden Payments", "slug": "halden"});
        let made = expect(hub.admin("POST", PATH).json(&body), 201).await.json();
        refused(hub.admin("POST", PATH).json(&body), 409, "CONFLICT").await;
        let same_name = json!({"name": "Halden Payments", "slug": "other"});
        refused(hub.admin("POST", PATH).json(&same_name), 409, "CONFLICT").await;
        let owner = hub.tenant("acme").await;
        let body = json!({"name": "Mine", "slug": "mine"});
        refused(hub.request("POST", PATH).bearer_auth(&owner).json(&body), 403, "FORBIDDEN").await;
        // Who made it owns it, and acts in it with a key of it.
        let there = mint(&hub, &hub.admin_key, json!({"name": "there", "organization_id": made["id"]})).await;
        let me = get(&hub, &there.key, "/api/v1/me").await;
        assert_eq!((&me["organization"]["slug"], &me["roles"]), (&json!("halden"), &json!(["admin"])));
        let ask = || hub.request("GET", "/api/v1/me").bearer_auth(&there.key);
        let path = format!("{PATH}/{}", made["id"].as_str().unwrap());
        let set = |archived: bool| hub.admin("PATCH", &path).json(&json!({"archived": archived}));
        let inside = hub.request("PATCH", &path).bearer_auth(&there.key).json(&json!({"archived": true}));
        refused(inside, 409, "INVALID_STATE").await;
        let archived = expect(set(true), 200).await.json();
        assert!(archived["archived_at"].is_string());
        refused(ask(), 401, "UNAUTHENTICATED").await;
        expect(set(false), 200).await;
        expect(ask(), 200).await;
    })
    .await;
}

#[tokio::test]
async fn a_tenant_sees_its_own_and_tries_no_names() {
    on_each_engine(async |hub| {
        let (acme, other) = (hub.tenant("acme").await, hub.tenant("other").await);
        let own = all_items(&hub, &acme, PATH).await;
        assert_eq!(own.len(), 1);
        assert_eq!(all_items(&hub, &acme, &format!("{PATH}?slug=other")).await.len(), 0);
        assert_eq!(all_items(&hub, &hub.admin_key, PATH).await.len(), 3);
        let id = own[0]["id"].as_str().unwrap();
        let path = format!("{PATH}/{id}");
        let change = |body| hub.request("PATCH", &path).bearer_auth(&acme).json(&body);
        // A name that is taken would tell of another tenant.
        for body in [json!({"name": "other"}), json!({"slug": "other"}), json!({"slug": "free"})] {
            refused(change(body), 403, "FORBIDDEN").await;
        }
        expect(change(json!({"gitea_org_name": "acme-dev"})), 200).await;
        assert_eq!(all_items(&hub, &acme, &format!("{PATH}?gitea_org_name=acme-dev")).await.len(), 1);
        for (method, tail) in
            [("GET", ""), ("PATCH", ""), ("GET", "/members"), ("POST", "/transfer-ownership")]
        {
            let request = hub.request(method, &format!("{path}{tail}")).bearer_auth(&other);
            let request = match method {
                "GET" => request,
                "PATCH" => request.json(&json!({"gitea_org_name": "x"})),
                _ => request.json(&json!({"account_id": id})),
            };
            refused(request, 404, "NOT_FOUND").await;
        }
        expect(hub.admin("PATCH", &path).json(&json!({"name": "Acme, renamed", "slug": "acme2"})), 200).await;
        assert_eq!(get(&hub, &acme, &path).await["slug"], "acme2");
    })
    .await;
}

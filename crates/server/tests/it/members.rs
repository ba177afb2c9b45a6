//! Members, ownership, invitations, and what leaving ends.

use serde_json::{Value, json};
use testkit::reqwest::RequestBuilder;
use testkit::{TestHub, on_each_engine};

use crate::support::{all_items, expect, get, mint, pointers, refused, send};

struct Person {
    key: String,
    id: String,
}

async fn person(hub: &TestHub, key: String) -> Person {
    let id = get(hub, &key, "/api/v1/me").await["account"]["id"].as_str().unwrap().to_owned();
    Person { key, id }
}

async fn org(hub: &TestHub, key: &str) -> String {
    get(hub, key, "/api/v1/me").await["organization"]["id"].as_str().unwrap().to_owned()
}

async fn member(hub: &TestHub, method: &str, with: &str, who: &Person) -> RequestBuilder {
    let path = format!("/api/v1/organizations/{}/members/{}", org(hub, with).await, who.id);
    hub.request(method, &path).bearer_auth(with)
}

#[tokio::test]
async fn roles_say_who_gave_them_and_count_at_once() {
    on_each_engine(async |hub| {
        let admin = &hub.admin_key;
        let bob = person(&hub, hub.member(admin, "bob").await).await;
        let permissions = async || get(&hub, &bob.key, "/api/v1/me").await["permissions"].clone();
        assert!(!permissions().await.as_array().unwrap().contains(&json!("tasks:write")));
        let change = async |body: Value| member(&hub, "PATCH", admin, &bob).await.json(&body);
        let changed = expect(change(json!({"roles": ["author", "dba"]})).await, 200).await.json();
        assert_eq!(
            (&changed["roles"], &changed["membership_level"]),
            (&json!(["author", "dba"]), &json!("member"))
        );
        assert!(permissions().await.as_array().unwrap().contains(&json!("tasks:write")));
        let changed = expect(change(json!({"roles": ["admin", "dba"]})).await, 200).await.json();
        assert_eq!(
            (&changed["roles"], &changed["membership_level"]),
            (&json!(["admin", "dba"]), &json!("admin"))
        );
        // Bob is an admin now; what he gives himself is on record as his own gift and opens nothing.
        let own =
            expect(member(&hub, "PATCH", &bob.key, &bob).await.json(&json!({"roles": ["author"]})), 200)
                .await;
        assert_eq!(own.json()["role_grants"], json!([{"role": "author", "granted_by": bob.id}]));
        assert!(!permissions().await.as_array().unwrap().contains(&json!("tasks:write")));
        refused(member(&hub, "PATCH", &bob.key, &bob).await.json(&json!({"roles": []})), 403, "FORBIDDEN")
            .await;
        for (body, pointer) in [
            (json!({"membership_level": "owner"}), "/membership_level"),
            (json!({"roles": ["system"]}), "/roles/0"),
            (json!({"roles": null}), "/roles"),
            (json!({"manager_id": bob.id}), "/manager_id"),
            (json!({"manager_id": "0197a000-0000-7000-8000-000000000000"}), "/manager_id"),
        ] {
            let problem = refused(change(body).await, 422, "VALIDATION_FAILED").await;
            assert_eq!(pointers(&problem), [pointer], "{problem}");
        }
    })
    .await;
}

#[tokio::test]
async fn ownership_is_handed_over_whole() {
    on_each_engine(async |hub| {
        let owner = person(&hub, hub.tenant("acme").await).await;
        let heir = person(&hub, hub.member(&owner.key, "heir").await).await;
        let id = org(&hub, &owner.key).await;
        let path = format!("/api/v1/organizations/{id}/transfer-ownership");
        let hand = |with: &str, to: &str| {
            hub.request("POST", &path).bearer_auth(with).json(&json!({"account_id": to}))
        };
        refused(hand(&heir.key, &heir.id), 403, "FORBIDDEN").await;
        refused(hand(&owner.key, "0197a000-0000-7000-8000-000000000000"), 422, "VALIDATION_FAILED").await;
        // The owner can neither leave nor be made less.
        refused(member(&hub, "DELETE", &owner.key, &owner).await, 409, "INVALID_STATE").await;
        let less =
            member(&hub, "PATCH", &owner.key, &owner).await.json(&json!({"membership_level": "member"}));
        refused(less, 409, "INVALID_STATE").await;
        let handed = expect(hand(&owner.key, &heir.id), 200).await.json();
        assert_eq!(handed["owner_id"], json!(heir.id));
        let level = async |who: &Person| {
            expect(member(&hub, "GET", &heir.key, who).await, 200).await.json()["membership_level"].clone()
        };
        assert_eq!((level(&owner).await, level(&heir).await), (json!("admin"), json!("owner")));
        refused(hand(&owner.key, &owner.id), 403, "FORBIDDEN").await;
        // Two at once: one owner is left, whoever it is.
        let both = [hand(&heir.key, &owner.id), hand(&heir.key, &owner.id)].map(send);
        futures_util::future::join_all(both).await;
        let members = all_items(&hub, &owner.key, "/api/v1/accounts").await;
        let owners = members.iter().filter(|member| member["membership_level"] == "owner").count();
        assert_eq!(owners, 1);
    })
    .await;
}

#[tokio::test]
async fn leaving_ends_keys_here_and_returning_brings_none_back() {
    on_each_engine(async |hub| {
        let admin = &hub.admin_key;
        let bob = person(&hub, hub.member(admin, "bob").await).await;
        let ann = person(&hub, hub.member(admin, "ann").await).await;
        refused(member(&hub, "DELETE", &ann.key, &bob).await, 403, "FORBIDDEN").await;
        expect(member(&hub, "DELETE", admin, &bob).await, 204).await;
        let ask = || hub.request("GET", "/api/v1/me").bearer_auth(&bob.key);
        refused(ask(), 401, "UNAUTHENTICATED").await;
        refused(member(&hub, "GET", admin, &bob).await, 404, "NOT_FOUND").await;
        // At home here, so the admin still sees and adds the account; the key stays dead.
        let account = get(&hub, admin, &format!("/api/v1/accounts/{}", bob.id)).await;
        assert_eq!((&account["membership_level"], &account["at_home"]), (&json!(null), &json!(true)));
        let path = format!("/api/v1/organizations/{}/members", org(&hub, admin).await);
        let again = || hub.admin("POST", &path).json(&json!({"account_id": bob.id, "roles": ["author"]}));
        assert_eq!(expect(again(), 201).await.json()["roles"], json!(["author"]));
        refused(again(), 409, "CONFLICT").await;
        refused(ask(), 401, "UNAUTHENTICATED").await;
        let body = json!({"name": "as Bob", "account_id": bob.id});
        refused(hub.admin("POST", "/api/v1/api-keys").json(&body), 403, "FORBIDDEN").await;
        expect(member(&hub, "DELETE", &ann.key, &ann).await, 204).await;
    })
    .await;
}

#[tokio::test]
async fn who_is_at_home_elsewhere_is_asked() {
    on_each_engine(async |hub| {
        let acme = person(&hub, hub.tenant("acme").await).await;
        let bob = person(&hub, hub.member(&hub.admin_key, "bob").await).await;
        let email = get(&hub, &bob.key, "/api/v1/me").await["account"]["email"].clone();
        let body = json!({"email": email, "display_name": "Bob", "roles": ["dba"]});
        let invite = || hub.request("POST", "/api/v1/accounts").bearer_auth(&acme.key).json(&body);
        let invited = expect(invite(), 202).await.json();
        assert_eq!(expect(invite(), 202).await.json(), invited, "one invitation, renewed");
        let path = format!("/api/v1/invitations/{}", invited["invitation_id"].as_str().unwrap());
        // An instance admin is told that the account exists.
        let body = json!({"email": "owner@acme.example", "display_name": "Owner"});
        refused(hub.admin("POST", "/api/v1/accounts").json(&body), 409, "CONFLICT").await;
        // Until he accepts, nobody there sees him; somebody else sees no invitation.
        assert_eq!(all_items(&hub, &acme.key, "/api/v1/accounts").await.len(), 1);
        refused(hub.admin("GET", &path), 404, "NOT_FOUND").await;
        let seen = get(&hub, &acme.key, &path).await;
        assert_eq!((&seen["account_id"], &seen["status"]), (&json!(null), &json!("open")));
        let received = all_items(&hub, &bob.key, "/api/v1/invitations").await;
        assert_eq!(received[0]["organization_slug"], "acme");
        let act = |with: &str, what: &str| hub.request("POST", &format!("{path}/{what}")).bearer_auth(with);
        refused(act(&acme.key, "accept"), 404, "NOT_FOUND").await;
        assert_eq!(expect(act(&bob.key, "accept"), 200).await.json()["status"], "accepted");
        refused(act(&bob.key, "accept"), 409, "INVALID_STATE").await;
        let members = all_items(&hub, &acme.key, "/api/v1/accounts?query=bob").await;
        assert_eq!((&members[0]["roles"], &members[0]["at_home"]), (&json!(["dba"]), &json!(false)));
        assert_eq!(members[0]["role_grants"][0]["granted_by"], json!(acme.id));
        // Only the membership is theirs: neither name nor status nor a credential.
        let account = format!("/api/v1/accounts/{}", bob.id);
        let change =
            hub.request("PATCH", &account).bearer_auth(&acme.key).json(&json!({"status": "suspended"}));
        refused(change, 403, "FORBIDDEN").await;
        let key = json!({"name": "as Bob", "account_id": bob.id});
        refused(hub.request("POST", "/api/v1/api-keys").bearer_auth(&acme.key).json(&key), 403, "FORBIDDEN")
            .await;
        // Bob himself gets a key that acts there.
        let there =
            mint(&hub, &bob.key, json!({"name": "there", "organization_id": seen["organization_id"]})).await;
        assert_eq!(get(&hub, &there.key, "/api/v1/me").await["organization"]["slug"], "acme");
        let slugs: Vec<_> = all_items(&hub, &bob.key, "/api/v1/organizations").await;
        assert_eq!(slugs.len(), 2);
    })
    .await;
}

#[tokio::test]
async fn an_invitation_ends_by_answer_time_or_the_fall_of_who_sent_it() {
    on_each_engine(async |hub| {
        let acme = person(&hub, hub.tenant("acme").await).await;
        let second = person(&hub, hub.member_with(&acme.key, "second", &["admin"]).await).await;
        let bob = person(&hub, hub.member(&hub.admin_key, "bob").await).await;
        let email = get(&hub, &bob.key, "/api/v1/me").await["account"]["email"].clone();
        let invite = async |with: &str| {
            let body = json!({"email": email, "display_name": "Bob"});
            let request = hub.request("POST", "/api/v1/accounts").bearer_auth(with).json(&body);
            let id = expect(request, 202).await.json()["invitation_id"].as_str().unwrap().to_owned();
            format!("/api/v1/invitations/{id}")
        };
        let answer =
            |path: &str, what: &str| hub.request("POST", &format!("{path}/{what}")).bearer_auth(&bob.key);
        let path = invite(&acme.key).await;
        assert_eq!(expect(answer(&path, "decline"), 200).await.json()["status"], "declined");
        refused(answer(&path, "accept"), 409, "INVALID_STATE").await;
        let path = invite(&acme.key).await;
        expect(hub.request("DELETE", &path).bearer_auth(&acme.key), 200).await;
        refused(answer(&path, "accept"), 409, "INVALID_STATE").await;
        let path = invite(&second.key).await;
        expect(member(&hub, "PATCH", &acme.key, &second).await.json(&json!({"roles": []})), 200).await;
        refused(answer(&path, "accept"), 409, "INVALID_STATE").await;
        let path = invite(&acme.key).await;
        hub.clock.advance(std::time::Duration::from_secs(7 * 24 * 3600));
        refused(answer(&path, "accept"), 409, "INVALID_STATE").await;
        assert_eq!(all_items(&hub, &acme.key, "/api/v1/accounts").await.len(), 2);
    })
    .await;
}

//! Accounts: made at home, changed by those who may, found by name.

use serde_json::{Value, json};
use testkit::{TestHub, on_each_engine};

use crate::support::{all_items, expect, get, items_by, mint, pointers, refused, send};

const PATH: &str = "/api/v1/accounts";

async fn create(hub: &TestHub, with: &str, body: Value) -> Value {
    expect(hub.request("POST", PATH).bearer_auth(with).json(&body), 201).await.json()
}

fn person(name: &str) -> Value {
    json!({"email": format!("{}@example.org", name.to_lowercase().replace(' ', ".")), "display_name": name})
}

fn patch(hub: &TestHub, with: &str, id: &Value, body: Value) -> testkit::reqwest::RequestBuilder {
    let path = format!("{PATH}/{}", id.as_str().unwrap());
    hub.request("PATCH", &path).bearer_auth(with).json(&body)
}

#[tokio::test]
async fn an_account_is_at_home_where_it_was_made() {
    on_each_engine(async |hub| {
        let admin = hub.admin_key.clone();
        let boss = create(&hub, &admin, person("The Boss")).await;
        let body = json!({"email": "Ada@Example.ORG", "display_name": "Ada Lovelace",
            "roles": ["reviewer", "author", "author"], "manager_id": boss["id"]});
        let answer = expect(hub.admin("POST", PATH).json(&body), 201).await;
        let ada = answer.json();
        let place = format!("{PATH}/{}", ada["id"].as_str().unwrap());
        assert_eq!(answer.header("location"), Some(place.as_str()));
        assert_eq!(ada["email"], "ada@example.org");
        assert_eq!((&ada["access_level"], &ada["status"]), (&json!("user"), &json!("active")));
        assert_eq!((&ada["membership_level"], &ada["at_home"]), (&json!("member"), &json!(true)));
        assert_eq!(ada["roles"], json!(["author", "reviewer"]));
        let me = get(&hub, &admin, "/api/v1/me").await;
        assert_eq!(ada["role_grants"][0], json!({"role": "author", "granted_by": me["account"]["id"]}));
        assert_eq!(ada["manager_id"], boss["id"]);
        assert_eq!(get(&hub, &admin, &place).await, ada);
        // `admin` among the roles is the level, and whoever is admin may do what admins do.
        let body = json!({"email": "eve@example.org", "display_name": "Eve", "roles": ["admin"]});
        let eve = create(&hub, &admin, body).await;
        assert_eq!((&eve["membership_level"], &eve["roles"]), (&json!("admin"), &json!(["admin"])));
        let eves = mint(&hub, &admin, json!({"name": "first", "account_id": eve["id"]})).await.key;
        create(&hub, &eves, person("Made By Eve")).await;
        let body = json!({"email": "x@example.org", "display_name": "X", "access_level": "admin"});
        refused(hub.request("POST", PATH).bearer_auth(&eves).json(&body), 403, "FORBIDDEN").await;
    })
    .await;
}

#[tokio::test]
async fn what_is_wrong_is_named() {
    on_each_engine(async |hub| {
        let nobody = json!("0197a000-0000-7000-8000-000000000000");
        let good = json!({"email": "a@example.org", "display_name": "A"});
        let with = |field: &str, value: Value| {
            let mut body = good.clone();
            body[field] = value;
            body
        };
        for (body, pointer) in [
            (json!({"email": "a@example.org"}), ""),
            (with("email", json!("no address")), "/email"),
            (with("email", json!("x@countersign.invalid")), "/email"),
            (with("display_name", json!(" ")), "/display_name"),
            (with("display_name", json!("a\u{1b}[2K")), "/display_name"),
            (with("display_name", json!("x".repeat(201))), "/display_name"),
            (with("access_level", json!("root")), "/access_level"),
            (with("access_level", json!(null)), "/access_level"),
            (with("roles", json!(["author", "owner"])), "/roles/1"),
            (with("roles", json!(["Not A Role"])), "/roles/0"),
            (with("roles", json!(vec!["r"; 51])), "/roles"),
            (with("manager_id", nobody), "/manager_id"),
            (with("nickname", json!("a")), "/nickname"),
        ] {
            let problem = refused(hub.admin("POST", PATH).json(&body), 422, "VALIDATION_FAILED").await;
            assert_eq!(pointers(&problem), [pointer], "{body}: {problem}");
        }
        create(&hub, &hub.admin_key, good.clone()).await;
        refused(hub.admin("POST", PATH).json(&good), 409, "CONFLICT").await;
    })
    .await;
}

#[tokio::test]
async fn a_suspension_ends_everything_at_once_and_can_be_lifted() {
    on_each_engine(async |hub| {
        let bob = hub.member(&hub.admin_key, "bob").await;
        let id = get(&hub, &bob, "/api/v1/me").await["account"]["id"].clone();
        let ask = || hub.request("GET", "/api/v1/me").bearer_auth(&bob);
        for (status, works) in
            [("suspended", false), ("active", true), ("deactivated", false), ("active", true)]
        {
            let changed = expect(patch(&hub, &hub.admin_key, &id, json!({"status": status})), 200).await;
            assert_eq!(changed.json()["status"], status);
            assert_eq!(send(ask()).await.status.is_success(), works, "{status}");
        }
        // On record with both states, by whom.
        let rows = all_items(&hub, &hub.admin_key, "/api/v1/audit?action=account:changed").await;
        let states: Vec<_> =
            rows.iter().map(|row| (row["from_state"].clone(), row["to_state"].clone())).collect();
        assert_eq!(states[0], (json!("deactivated"), json!("active")));
        assert_eq!(states.len(), 4);
        // Nobody locks themselves, everybody may leave.
        refused(patch(&hub, &bob, &id, json!({"status": "suspended"})), 403, "FORBIDDEN").await;
        expect(patch(&hub, &bob, &id, json!({"status": "deactivated"})), 200).await;
        refused(ask(), 401, "UNAUTHENTICATED").await;
    })
    .await;
}

#[tokio::test]
async fn who_may_change_whom() {
    on_each_engine(async |hub| {
        let admin = hub.member_with(&hub.admin_key, "admin", &["admin"]).await;
        let [ann, bob] = [hub.member(&admin, "ann").await, hub.member(&admin, "bob").await];
        let id = async |key: &str| get(&hub, key, "/api/v1/me").await["account"]["id"].clone();
        let (anns, operators) = (id(&ann).await, id(&hub.admin_key).await);
        let name = || json!({"display_name": "Renamed"});
        expect(patch(&hub, &ann, &anns, name()), 200).await;
        expect(patch(&hub, &admin, &anns, name()), 200).await;
        refused(patch(&hub, &bob, &anns, name()), 403, "FORBIDDEN").await;
        refused(patch(&hub, &admin, &operators, name()), 403, "FORBIDDEN").await;
        refused(patch(&hub, &admin, &operators, json!({"status": "suspended"})), 403, "FORBIDDEN").await;
        refused(patch(&hub, &admin, &anns, json!({"access_level": "admin"})), 403, "FORBIDDEN").await;
        expect(patch(&hub, &hub.admin_key, &anns, json!({"access_level": "admin"})), 200).await;
        expect(patch(&hub, &hub.admin_key, &anns, json!({"access_level": "user"})), 200).await;
        // Somebody must be left who can.
        let problem = refused(
            patch(&hub, &hub.admin_key, &operators, json!({"access_level": "user"})),
            403,
            "FORBIDDEN",
        );
        assert!(problem.await["detail"].as_str().unwrap().contains("last active instance admin"));
        // An address that is taken stays whose it is.
        let taken = get(&hub, &bob, "/api/v1/me").await["account"]["email"].clone();
        refused(patch(&hub, &ann, &anns, json!({"email": taken})), 409, "CONFLICT").await;
        // The hub's own account is nobody's, not even an instance admin's.
        let rows = all_items(&hub, &hub.admin_key, "/api/v1/audit?action=organization:created").await;
        let system = rows[0]["actor"]["id"].clone();
        let system = if system.is_null() { rows[0]["actor"].clone() } else { system };
        refused(patch(&hub, &hub.admin_key, &system, name()), 404, "NOT_FOUND").await;
    })
    .await;
}

#[tokio::test]
async fn a_change_one_has_not_seen_is_not_overwritten() {
    on_each_engine(async |hub| {
        let ada = create(&hub, &hub.admin_key, person("Ada")).await;
        let path = format!("{PATH}/{}", ada["id"].as_str().unwrap());
        let tag = expect(hub.admin("GET", &path), 200).await.header("etag").unwrap().to_owned();
        let change = |name: &str| {
            hub.admin("PATCH", &path).header("if-match", &tag).json(&json!({"display_name": name}))
        };
        let first = expect(change("First"), 200).await;
        assert_ne!(first.header("etag"), Some(tag.as_str()));
        refused(change("Second"), 412, "PRECONDITION_FAILED").await;
        assert_eq!(get(&hub, &hub.admin_key, &path).await["display_name"], "First");
        // Null removes what can be removed, and is refused where something must be.
        expect(hub.admin("PATCH", &path).json(&json!({"gitea_username": "ada"})), 200).await;
        let found = all_items(&hub, &hub.admin_key, &format!("{PATH}?gitea_username=ada")).await;
        assert_eq!(found.len(), 1);
        let gone = expect(hub.admin("PATCH", &path).json(&json!({"gitea_username": null})), 200).await;
        assert_eq!(gone.json()["gitea_username"], json!(null));
        refused(hub.admin("PATCH", &path).json(&json!({"display_name": null})), 422, "VALIDATION_FAILED")
            .await;
    })
    .await;
}

fn names(found: &[Value]) -> Vec<&str> {
    found.iter().map(|member| member["display_name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn people_are_found_by_any_word_of_their_name() {
    on_each_engine(async |hub| {
        let admin = &hub.admin_key;
        for name in ["Ada King Lovelace", "Grace Hopper", "Ada Ada", "Zoë Öz", "Lovelock James"] {
            create(&hub, admin, person(name)).await;
        }
        let find = async |query: &str| {
            let path = format!("{PATH}?query={query}");
            let found = all_items(&hub, admin, &path).await;
            assert_eq!(items_by(&hub, admin, &path, 1).await, found, "page by page");
            found
        };
        assert_eq!(names(&find("ada").await), ["Ada Ada", "Ada King Lovelace"], "each once, by name");
        assert_eq!(names(&find("ADA%20%20king").await), ["Ada King Lovelace"]);
        assert_eq!(names(&find("love").await), ["Ada King Lovelace", "Lovelock James"]);
        assert_eq!(names(&find("grace.hopper@").await), ["Grace Hopper"]);
        assert_eq!(names(&find("%C3%B6").await), ["Zoë Öz"]);
        assert_eq!(names(&find("opper").await), [""; 0], "not from the middle of a word");
        for odd in ["%25", "_", "'", "%5C", "*", "a%00"] {
            assert_eq!(names(&find(odd).await), [""; 0], "{odd} is no pattern");
        }
        let all = items_by(&hub, admin, PATH, 2).await;
        let mut sorted = names(&all);
        sorted.sort_by_key(|name| name.to_lowercase());
        assert_eq!(names(&all), sorted, "by name");
        assert_eq!(all.len(), 6);
        // A new name is found at once, the old one no more.
        let grace = find("grace").await[0]["id"].clone();
        expect(patch(&hub, admin, &grace, json!({"display_name": "Amazing Grace"})), 200).await;
        assert_eq!(names(&find("amazing").await), ["Amazing Grace"]);
        assert_eq!(names(&find("hopper").await), [""; 0]);
    })
    .await;
}

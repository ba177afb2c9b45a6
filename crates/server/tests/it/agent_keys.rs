//! Keys of agents: who mints them, what they may do, and who must be there to answer for it.

use hub::HubError;
use hub::agents::NewAgent;
use serde_json::{Value, json};
use testkit::reqwest::RequestBuilder;
use testkit::{TestHub, on_each_engine};

use crate::agents::{agent, one, patch};
use crate::backdoor::Backdoor;
use crate::support::{all_items, author, expect, get, id, mint, person, refused};
use crate::world::set_status;

const KEYS: &str = "/api/v1/api-keys";

fn mint_for(hub: &TestHub, who: &str, agent: &Value) -> RequestBuilder {
    hub.request("POST", KEYS).bearer_auth(who).json(&json!({"name": "k", "account_id": agent["id"]}))
}

fn me(hub: &TestHub, key: &str) -> RequestBuilder {
    hub.request("GET", "/api/v1/me").bearer_auth(key)
}

async fn key_of(hub: &TestHub, owner: &str, agent: &Value) -> String {
    mint(hub, owner, json!({"name": "k", "account_id": agent["id"]})).await.key
}

/// Tells the hub that identities changed, after a row was changed behind its back.
async fn stir(hub: &TestHub) {
    let other = mint(hub, &hub.admin_key, json!({"name": "bystander"})).await;
    expect(hub.admin("DELETE", &format!("{KEYS}/{}", other.id)), 204).await;
}

#[tokio::test]
async fn the_owner_mints_and_an_admin_only_the_first() {
    on_each_engine(async |hub| {
        let (ann, bob) = (author(&hub, "ann").await, author(&hub, "bob").await);
        let (first, second) = (agent(&hub, &ann.key, "a").await, agent(&hub, &ann.key, "b").await);
        let admin = person(&hub, &hub.admin_key, "adm", &["admin"]).await;
        refused(mint_for(&hub, &bob.key, &first), 403, "FORBIDDEN").await;
        expect(mint_for(&hub, &admin.key, &first), 201).await;
        refused(mint_for(&hub, &admin.key, &first), 403, "FORBIDDEN").await;
        for _ in 0..2 {
            expect(mint_for(&hub, &ann.key, &first), 201).await;
        }
        expect(mint_for(&hub, &ann.key, &second), 201).await;
        refused(mint_for(&hub, &admin.key, &second), 403, "FORBIDDEN").await;
    })
    .await;
}

#[tokio::test]
async fn its_keys_may_do_little_unless_the_owner_says_so() {
    on_each_engine(async |hub| {
        let ann = author(&hub, "ann").await;
        let agent = agent(&hub, &ann.key, "a").await;
        let minted = mint(&hub, &ann.key, json!({"name": "k", "account_id": agent["id"]})).await;
        assert_eq!(minted.body["scopes"], json!(["events:read", "executions:*", "locks:*", "tasks:*"]));
        let may = get(&hub, &minted.key, "/api/v1/me").await["permissions"].clone();
        let expected = json!([
            "events:read",
            "executions:read",
            "executions:write",
            "locks:read",
            "locks:write",
            "tasks:read",
            "tasks:write"
        ]);
        assert_eq!(may, expected);
        // Not one more key, not even for itself.
        for body in [json!({"name": "more"}), json!({"name": "more", "account_id": agent["id"]})] {
            let request = hub.request("POST", KEYS).bearer_auth(&minted.key).json(&body);
            refused(request, 403, "FORBIDDEN").await;
        }
        let rotate = hub.request("POST", &format!("{KEYS}/{}/rotate", minted.id)).bearer_auth(&minted.key);
        refused(rotate, 403, "FORBIDDEN").await;
        refused(
            hub.request("POST", "/api/v1/agents").bearer_auth(&minted.key).json(&json!({"name": "b"})),
            403,
            "FORBIDDEN",
        )
        .await;
    })
    .await;
}

#[tokio::test]
async fn the_owner_sees_rotates_and_revokes_them() {
    on_each_engine(async |hub| {
        let (ann, bob) = (author(&hub, "ann").await, author(&hub, "bob").await);
        let agent = agent(&hub, &ann.key, "a").await;
        let minted = mint(&hub, &ann.key, json!({"name": "k", "account_id": agent["id"]})).await;
        let path = format!("{KEYS}/{}", minted.id);
        let of_agent = async |who: &str| {
            let keys = all_items(&hub, who, KEYS).await;
            keys.iter().filter(|key| key["account_id"] == agent["id"]).count()
        };
        assert_eq!((of_agent(&ann.key).await, of_agent(&bob.key).await), (1, 0));
        for (method, tail) in [("GET", ""), ("DELETE", ""), ("POST", "/rotate")] {
            let request = hub.request(method, &format!("{path}{tail}")).bearer_auth(&bob.key);
            refused(request, 404, "NOT_FOUND").await;
        }
        let rotate = hub.request("POST", &format!("{path}/rotate")).bearer_auth(&ann.key);
        let rotated = crate::support::minted(&expect(rotate, 201).await);
        refused(me(&hub, &minted.key), 401, "UNAUTHENTICATED").await;
        assert_eq!(get(&hub, &rotated.key, "/api/v1/me").await["account"]["id"], agent["id"]);
        let revoke = hub.request("DELETE", &format!("{KEYS}/{}", rotated.id)).bearer_auth(&ann.key);
        expect(revoke, 204).await;
        refused(me(&hub, &rotated.key), 401, "UNAUTHENTICATED").await;
    })
    .await;
}

/// What a request that was let in before may still decide: nothing.
async fn assert_nothing_commits(hub: &TestHub, in_flight: &hub::Caller, agent: &Value) {
    let heard = hub::agents::heartbeat(&hub.hub, in_flight, id(agent).parse().unwrap(), None).await;
    assert!(matches!(heard.err().unwrap(), HubError::Unauthenticated(_)));
    let drained = hub::agents::drain(&hub.hub, in_flight, id(agent).parse().unwrap()).await;
    assert!(matches!(drained.err().unwrap(), HubError::Unauthenticated(_)));
}

#[tokio::test]
async fn without_an_owner_who_may_act_an_agent_may_not_either() {
    on_each_engine(async |hub| {
        for how in ["suspended", "departed"] {
            let ann = author(&hub, &format!("ann-{how}")).await;
            let agent = agent(&hub, &ann.key, how).await;
            let key = key_of(&hub, &ann.key, &agent).await;
            expect(me(&hub, &key), 200).await;
            let in_flight = hub.caller(&key).await;
            if how == "suspended" {
                set_status(&hub, &hub.admin_key, &ann.id, "suspended").await;
            } else {
                let leave = format!("DELETE FROM organization_members WHERE account_id = '{}'", ann.id);
                Backdoor::open(&hub).await.change(&leave).await;
                stir(&hub).await;
            }
            let problem = refused(me(&hub, &key), 401, "UNAUTHENTICATED").await;
            assert!(problem["detail"].as_str().unwrap().contains("answers for this agent"), "{problem}");
            assert_nothing_commits(&hub, &in_flight, &agent).await;
            // An admin finds it somebody else, and it goes on at once with the key it has.
            let bob = author(&hub, &format!("bob-{how}")).await;
            expect(patch(&hub, &hub.admin_key, &agent, &json!({"owner_id": bob.id})), 200).await;
            expect(me(&hub, &key), 200).await;
            expect(mint_for(&hub, &bob.key, &agent), 201).await;
        }
    })
    .await;
}

#[tokio::test]
async fn all_owners_up_the_line_must_be_there() {
    on_each_engine(async |hub| {
        let ann = author(&hub, "ann").await;
        let upper = agent(&hub, &ann.key, "upper").await;
        let lower = agent(&hub, &hub.admin_key, "lower").await;
        let key = key_of(&hub, &hub.admin_key, &lower).await;
        expect(patch(&hub, &hub.admin_key, &lower, &json!({"owner_id": upper["id"]})), 200).await;
        expect(me(&hub, &key), 200).await;
        let in_flight = hub.caller(&key).await;
        set_status(&hub, &hub.admin_key, &ann.id, "suspended").await;
        refused(me(&hub, &key), 401, "UNAUTHENTICATED").await;
        assert_nothing_commits(&hub, &in_flight, &lower).await;
        expect(
            patch(
                &hub,
                &hub.admin_key,
                &upper,
                &json!({"owner_id": get(&hub, &hub.admin_key, "/api/v1/me").await["account"]["id"]}),
            ),
            200,
        )
        .await;
        expect(me(&hub, &key), 200).await;
        expect(hub.admin("DELETE", &one(&upper)), 204).await;
        refused(me(&hub, &key), 401, "UNAUTHENTICATED").await;
    })
    .await;
}

#[tokio::test]
async fn a_retired_agent_decides_nothing_more_and_gets_no_key() {
    on_each_engine(async |hub| {
        let ann = author(&hub, "ann").await;
        let agent = agent(&hub, &ann.key, "a").await;
        let key = key_of(&hub, &ann.key, &agent).await;
        let in_flight = hub.caller(&key).await;
        expect(hub.request("DELETE", &one(&agent)).bearer_auth(&ann.key), 204).await;
        refused(me(&hub, &key), 401, "UNAUTHENTICATED").await;
        assert_nothing_commits(&hub, &in_flight, &agent).await;
        let problem = refused(mint_for(&hub, &ann.key, &agent), 409, "INVALID_STATE").await;
        assert_eq!(problem["state"], "deactivated");
    })
    .await;
}

/// An agent that may make agents stands in the line itself, and the line has an end.
#[tokio::test]
async fn the_line_of_owners_has_an_end() {
    on_each_engine(async |hub| {
        let mut owner = hub.admin_key.clone();
        for number in 0..9 {
            let caller = hub.caller(&owner).await;
            let wanted = NewAgent {
                name: format!("agent {number}"),
                description: String::new(),
                model: None,
                role_name: None,
                max_tasks: 1,
                labels: std::collections::BTreeMap::new(),
                config: serde_json::Map::new(),
            };
            let made = hub::agents::create(&hub.hub, &caller, wanted, None).await;
            if number == 8 {
                let Err(refusal) = made else { panic!("nine agents in a line") };
                assert!(matches!(refusal, HubError::Forbidden(_)), "{refusal}");
                break;
            }
            let agents = get(&hub, &hub.admin_key, "/api/v1/agents?limit=1").await;
            let agent = agents["items"][0].clone();
            // No route gives an agent the role yet.
            let grant = format!(
                "INSERT INTO role_grants (id, org_id, account_id, role, granted_by, created_at, updated_at) \
                 SELECT '{}', org_id, account_id, 'author', (SELECT owner_id FROM organizations LIMIT 1), created_at, \
                 updated_at FROM organization_members WHERE account_id = '{}'",
                hub.hub.ids.fresh(),
                id(&agent)
            );
            let backdoor = Backdoor::open(&hub).await;
            backdoor.change(&grant).await;
            let listed = format!(
                "UPDATE directory_entries SET roles = 'author=' || (SELECT CAST(owner_id AS TEXT) FROM organizations \
                 LIMIT 1) WHERE account_id = '{}'",
                id(&agent)
            );
            backdoor.run(&listed).await;
            let body = json!({"name": "k", "account_id": agent["id"], "scopes": ["agents:*", "keys:*"]});
            owner = mint(&hub, &owner, body).await.key;
        }
    })
    .await;
}

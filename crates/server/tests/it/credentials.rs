//! Nobody obtains a credential that acts as another person (DECISIONS 20), by whatever route and in whatever order.

use serde_json::{Value, json};
use testkit::reqwest::RequestBuilder;
use testkit::{TestHub, on_each_engine};

use crate::support::{Answer, expect, get, mint, send};
use crate::world::document::Document;
use crate::world::things::with_ids;
use crate::world::{Column, DOORS, Door, Visitor, World, fresh, id_in, request, rows, set_status};

/// How a secret ends: 32 random bytes in base64url.
const RANDOM_CHARS: usize = 43;

/// Whatever in an answer could be a credential, wherever it stands.
fn secrets_in(answer: &Answer) -> Vec<String> {
    let headers = answer.headers.values().filter_map(|value| value.to_str().ok());
    let texts = headers.map(str::to_owned).chain([answer.text()]);
    let is_random = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    texts
        .flat_map(|text| {
            let found = text.match_indices("cs").filter_map(|(at, _)| {
                let end = at + 4 + RANDOM_CHARS;
                let secret = text.get(at..end)?;
                let (mark, random) = secret.split_at_checked(4)?;
                let is_secret = mark.ends_with('_') && random.bytes().all(is_random);
                is_secret.then(|| secret.to_owned())
            });
            found.collect::<Vec<_>>()
        })
        .collect()
}

/// Somebody whose credential others would like to have.
struct Victim {
    what: &'static str,
    account: String,
    email: String,
    /// A key, or the id of nothing.
    key: String,
    /// Whether an admin may give it its first credential.
    is_new: bool,
}

const NOTHING: &str = "0197a000-0000-7000-8000-000000000000";

async fn made(hub: &TestHub, what: &'static str, level: &str) -> Victim {
    let email = format!("{}@example.org", fresh());
    let body = json!({"email": email, "display_name": "Vic", "access_level": level});
    let account = expect(hub.admin("POST", "/api/v1/accounts").json(&body), 201).await.json();
    Victim { what, account: id_in(&account, "id"), email, key: NOTHING.to_owned(), is_new: true }
}

/// Gives it its first key, as enrolment does.
async fn enrolled(hub: &TestHub, victim: Victim) -> Victim {
    let body = json!({"name": "first", "account_id": victim.account});
    let key = mint(hub, &hub.admin_key, body).await.id;
    Victim { key, is_new: false, ..victim }
}

async fn victims(world: &World<'_>) -> Vec<Victim> {
    let hub = world.hub;
    let with_password = made(hub, "somebody with a password", "user").await;
    rows::password(&world.backdoor, &with_password.account).await;
    let owner_key = hub.member_with(&hub.admin_key, &fresh(), &["author"]).await;
    let agent = rows::agent(hub, &world.backdoor, &owner_key, &fresh()).await;
    let agents_key = mint(hub, &owner_key, json!({"name": "agent", "account_id": agent})).await.id;
    let (what, email) = ("somebody's agent", format!("{agent}@agents.example"));
    vec![
        enrolled(hub, made(hub, "a person with a key", "user").await).await,
        made(hub, "a person without any", "user").await,
        Victim { is_new: false, ..with_password },
        Victim { what, account: agent, email, key: agents_key, is_new: false },
        enrolled(hub, made(hub, "an instance admin", "admin").await).await,
    ]
}

/// Calls of a route with the victim in every place where one can stand.
async fn aimed(
    world: &mut World<'_>,
    door: &Door,
    document: &Document,
    victim: &Victim,
) -> Vec<RequestBuilder> {
    let mut ids = Vec::new();
    for name in door.names {
        ids.push(match *name {
            "$member" => victim.account.clone(),
            "$key" => victim.key.clone(),
            other => world.things.get(other).await,
        });
    }
    let path = with_ids(door, &ids);
    let right = world.things.fill(door.body).await;
    if right.is_empty() {
        return vec![request(world.hub, door.method, &path, "")];
    }
    let right: Value = serde_json::from_str(&right).unwrap();
    if !right.is_object() {
        return vec![request(world.hub, door.method, &path, &right.to_string())];
    }
    let org = world.things.get("$org").await;
    let mut full = right.clone();
    for field in document.id_fields(door) {
        full[&field] = if field == "organization_id" { json!(org) } else { json!(victim.account) };
    }
    if full.get("email").is_some() {
        full["email"] = json!(victim.email);
    }
    let mut bodies = vec![right.clone(), full.clone()];
    // Without a limit too: what the right body limits, the thief would not.
    full.as_object_mut().unwrap().remove("scopes");
    // One's own manager is nobody: such a body would be refused for that.
    full.as_object_mut().unwrap().remove("manager_id");
    bodies.push(full);
    bodies.dedup();
    let calls = bodies.iter().map(|body| request(world.hub, door.method, &path, &body.to_string()));
    calls.collect()
}

/// Asks who the secret is. It must be nobody but whom the visitor may be.
async fn check(world: &World<'_>, visitor: &Visitor, victim: &Victim, answer: &Answer, what: &str) -> bool {
    let mut enrols = false;
    for secret in secrets_in(answer) {
        let me = send(world.hub.request("GET", "/api/v1/me").bearer_auth(&secret)).await;
        if me.status.as_u16() == 401 {
            continue;
        }
        let me = me.json();
        let account = id_in(&me["account"], "id");
        if account == visitor.account {
            continue;
        }
        let owned = format!("agents WHERE id = '{account}' AND owner_id = '{}'", visitor.account);
        if world.backdoor.count(&owned).await == 1 {
            continue;
        }
        let may_enrol = matches!(visitor.column, Some(Column::Admin | Column::Instance));
        assert!(may_enrol && victim.is_new && account == victim.account, "{what} got a key of {account}");
        let key =
            get(world.hub, &world.admin_key, &format!("/api/v1/api-keys/{}", id_in(&me, "key_id"))).await;
        assert_eq!(key["minted_by"], json!(visitor.account), "{what}: who enrolled stands in the key");
        enrols = true;
    }
    enrols
}

async fn refused_again(world: &World<'_>, visitor: &Visitor, victim: &Victim) {
    let body = json!({"name": "second", "account_id": victim.account}).to_string();
    let again = request(world.hub, "POST", "/api/v1/api-keys", &body);
    send(visitor.ask(again)).await.problem(403, "FORBIDDEN");
}

#[tokio::test]
async fn no_route_gives_anybody_a_credential_of_another() {
    on_each_engine(async |hub| {
        let mut world = World::new(&hub).await;
        let document = Document::of(&hub).await;
        let living = world.visitors.iter().filter(|visitor| visitor.column.is_some());
        let visitors: Vec<Visitor> = living.cloned().collect();
        let mut enrolments = 0;
        let mut all = victims(&world).await;
        // Whoever has the password is the person, as far as anybody can tell.
        for door in DOORS.iter().filter(|door| door.path != "/api/v1/auth/login") {
            // What only reads is asked about one: whom it names does not matter to whether a secret is shown.
            let aimed_at = if door.is_read() { 1 } else { all.len() };
            for visitor in &visitors {
                let mut used_up = false;
                for victim in all.iter_mut().take(aimed_at) {
                    for call in aimed(&mut world, door, &document, victim).await {
                        let answer = send(visitor.ask(call)).await;
                        let what = format!("{} at {door} with {}", visitor.name, victim.what);
                        if check(&world, visitor, victim, &answer, &what).await {
                            victim.is_new = false;
                            enrolments += 1;
                            refused_again(&world, visitor, victim).await;
                        }
                        used_up |= answer.status.is_success() && !door.is_read();
                    }
                }
                if used_up {
                    world.things.used_up();
                    all = victims(&world).await;
                }
            }
        }
        assert!(enrolments >= 2, "nobody was enrolled, so the calls were not what they should be");
    })
    .await;
}

/// Everything an admin can do to somebody, and then the attempts again.
#[tokio::test]
async fn no_detour_leads_to_a_credential_of_another() {
    on_each_engine(async |hub| {
        let world = World::new(&hub).await;
        let admin = &world.admin_key;
        let ask = |method: &str, path: String, body: Value| {
            hub.request(method, &path).bearer_auth(admin).json(&body)
        };
        let victim = enrolled(&hub, made(&hub, "a person", "user").await).await;
        let org = id_in(&get(&hub, admin, "/api/v1/me").await["organization"], "id");
        let (account, seats) = (&victim.account, format!("/api/v1/organizations/{org}/members"));
        let tries = async |after: &str| {
            for key in [admin, &hub.admin_key] {
                let body = json!({"name": "theirs", "account_id": account});
                let mint = hub.request("POST", "/api/v1/api-keys").bearer_auth(key).json(&body);
                let answer = send(mint).await;
                assert!(
                    matches!(answer.status.as_u16(), 403 | 422),
                    "minted after {after}: {}",
                    answer.status
                );
                let rotate = format!("/api/v1/api-keys/{}/rotate", victim.key);
                let answer = send(hub.request("POST", &rotate).bearer_auth(key)).await;
                assert!(
                    matches!(answer.status.as_u16(), 403 | 409),
                    "rotated after {after}: {}",
                    answer.status
                );
            }
        };
        tries("nothing").await;
        let path = format!("/api/v1/accounts/{account}");
        expect(ask("PATCH", path, json!({"email": format!("{}@example.org", fresh())})), 200).await;
        tries("another e-mail").await;
        for status in ["suspended", "active", "deactivated", "active"] {
            set_status(&hub, admin, account, status).await;
            tries(status).await;
        }
        expect(hub.admin("DELETE", &format!("/api/v1/api-keys/{}", victim.key)), 204).await;
        tries("the end of the key").await;
        expect(ask("DELETE", format!("{seats}/{account}"), json!({})), 204).await;
        tries("the removal").await;
        expect(ask("POST", seats.clone(), json!({"account_id": account})), 201).await;
        tries("the return").await;
        expect(ask("PATCH", format!("{seats}/{account}"), json!({"membership_level": "admin"})), 200).await;
        tries("the promotion").await;
        let hand_over = format!("/api/v1/organizations/{org}/transfer-ownership");
        expect(hub.admin("POST", &hand_over).json(&json!({"account_id": account})), 200).await;
        tries("the transfer").await;
    })
    .await;
}

/// Whoever is a guest in an organization is not its admins' to enrol: a key of theirs would mint others for home.
#[tokio::test]
async fn only_home_enrols() {
    on_each_engine(async |hub| {
        let world = World::new(&hub).await;
        let home = hub.tenant("home").await;
        for has_password in [true, false] {
            let body = json!({"email": format!("{}@example.org", fresh()), "display_name": "Gus"});
            let made = expect(hub.request("POST", "/api/v1/accounts").bearer_auth(&home).json(&body), 201);
            let account = id_in(&made.await.json(), "id");
            if has_password {
                rows::password(&world.backdoor, &account).await;
            }
            let org = id_in(&get(&hub, &hub.admin_key, "/api/v1/me").await["organization"], "id");
            let seats = format!("/api/v1/organizations/{org}/members");
            expect(hub.admin("POST", &seats).json(&json!({"account_id": account})), 201).await;
            let body = json!({"name": "first", "account_id": account});
            for key in [&world.admin_key, &hub.admin_key] {
                let mint = hub.request("POST", "/api/v1/api-keys").bearer_auth(key).json(&body);
                send(mint).await.problem(403, "FORBIDDEN");
            }
            let status = if has_password { 403 } else { 201 };
            let at_home = hub.request("POST", "/api/v1/api-keys").bearer_auth(&home).json(&body);
            assert_eq!(send(at_home).await.status.as_u16(), status);
        }
    })
    .await;
}

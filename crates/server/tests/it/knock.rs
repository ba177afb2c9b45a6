//! Every route, knocked on by everybody who may not enter, and by everybody who may.

use std::time::Duration;

use serde_json::json;
use server::routes::listed;
use testkit::oidc::with_provider;
use testkit::on_each_engine;

use crate::backdoor::Backdoor;
use crate::support::{Answer, all_items, expect, get, mint, send};
use crate::world::doors::{dead, keeps_to};
use crate::world::pages::{Gets, PAGES};
use crate::world::{DOORS, Door, Visitor, World};

#[test]
fn every_route_has_its_row_and_keeps_to_what_it_needs() {
    let routes: Vec<_> = listed().into_iter().filter(|route| !route.is_page).collect();
    for route in &routes {
        let door = DOORS.iter().find(|door| door.is(route));
        let door = door.unwrap_or_else(|| panic!("{} {} has no row in DOORS", route.method, route.path));
        assert!(keeps_to(route.needs, door), "{door} does not keep to {:?}", route.needs);
        let parameters = route.path.matches('{').count();
        assert_eq!(door.names.len(), parameters, "{door} must name what its path names");
        let writes = !["GET", "DELETE"].contains(&door.method);
        assert_eq!(door.takes_body(), writes, "{door} needs a body that is right, at least {{}}");
    }
    assert_eq!(routes.len(), DOORS.len(), "DOORS has rows for routes that are gone, or two for one");
}

/// Those who were refused since the records were last looked at, and how they looked then.
struct Refused {
    look: String,
    before: Vec<String>,
    names: Vec<&'static str>,
}

impl Refused {
    async fn start(backdoor: &Backdoor) -> Self {
        let look = backdoor.tally().await;
        let before = backdoor.column(&look).await;
        Self { look, before, names: Vec::new() }
    }

    /// Nothing has changed since. They are looked at together, because looking takes longer than asking.
    async fn check(&mut self, backdoor: &Backdoor, door: &Door) {
        if !self.names.is_empty() {
            let after = backdoor.column(&self.look).await;
            assert_eq!(self.before, after, "{door}: refused, and yet it changed something: {:?}", self.names);
            self.names.clear();
        }
    }

    /// Something is about to change, or has.
    async fn look_again(&mut self, backdoor: &Backdoor) {
        self.before = backdoor.column(&self.look).await;
    }
}

async fn knock(world: &mut World<'_>, door: &Door, visitors: &[Visitor], dead: u16, refused: &mut Refused) {
    // Made before anybody is looked at.
    world.things.call(door).await;
    refused.look_again(&world.backdoor).await;
    for visitor in visitors {
        let Some(wanted) = door.answer_to(visitor, dead) else { continue };
        if wanted < 400 {
            refused.check(&world.backdoor, door).await;
        }
        let request = world.call(door).await;
        let answer = send(visitor.ask(request)).await;
        let who = format!("{} at {door}", visitor.name);
        assert_eq!(answer.status.as_u16(), wanted, "{who}: {}", answer.text());
        if wanted >= 400 {
            answer.any_problem();
            refused.names.push(visitor.name);
        } else if !door.is_read() {
            world.things.used_up();
            world.things.call(door).await;
            refused.look_again(&world.backdoor).await;
        }
    }
    refused.check(&world.backdoor, door).await;
}

#[tokio::test]
async fn everybody_gets_exactly_what_the_route_needs() {
    on_each_engine(async |hub| {
        let mut world = World::new(&hub).await;
        let visitors = world.visitors.clone();
        let mut refused = Refused::start(&world.backdoor).await;
        let routes = listed();
        for door in DOORS {
            let route = routes.iter().find(|route| door.is(route)).unwrap();
            knock(&mut world, door, &visitors, dead(route.needs, door), &mut refused).await;
        }
    })
    .await;
}

#[test]
fn every_page_has_its_row() {
    let pages: Vec<_> = listed().into_iter().filter(|route| route.is_page).collect();
    for page in &pages {
        assert!(PAGES.iter().any(|door| door.is(page)), "{} {} has no row in PAGES", page.method, page.path);
    }
    assert_eq!(pages.len(), PAGES.len(), "PAGES has rows for pages that are gone, or two for one");
}

fn check_page(answer: &Answer, wanted: Gets, who: &str) {
    let found = (answer.status.as_u16(), answer.header("location").unwrap_or_default());
    match wanted {
        Gets::Opened(status) => {
            let is_sent_away = status == 303 && found.1.starts_with("/login");
            assert!(found.0 == status && !is_sent_away, "{who}: {found:?} {}", answer.text());
        }
        Gets::SentToLogin => assert!(found.0 == 303 && found.1.starts_with("/login"), "{who}: {found:?}"),
        Gets::WrongKind => assert_eq!(found, (409, ""), "{who}: {}", answer.text()),
    }
    if wanted != Gets::Opened(303) {
        let sets = answer.headers.get_all("set-cookie").iter().map(|set| set.to_str().unwrap());
        assert!(!sets.into_iter().any(|set| set.starts_with("cs=")), "{who} was logged in");
    }
}

#[tokio::test]
async fn every_page_opens_to_whom_it_is_for() {
    with_provider(async |hub, _| {
        let mut world = World::new(&hub).await;
        let visitors = world.visitors.clone();
        let mut refused = Refused::start(&world.backdoor).await;
        let routes = listed();
        for page in PAGES {
            let needs = routes.iter().find(|route| page.is(route)).unwrap().needs;
            let form = world.things.fill(page.form).await;
            let form = if form == "=" { String::new() } else { form };
            for visitor in &visitors {
                let Some(wanted) = page.answer_to(needs, visitor) else { continue };
                let who = format!("{} at {} {}", visitor.name, page.method, page.path);
                let request = hub.request(page.method, page.asks);
                let request = match page.method {
                    "GET" => request,
                    _ => {
                        request.header("content-type", "application/x-www-form-urlencoded").body(form.clone())
                    }
                };
                refused.look_again(&world.backdoor).await;
                check_page(&send(visitor.ask(request)).await, wanted, &who);
                if !matches!(wanted, Gets::Opened(_)) {
                    assert_eq!(
                        refused.before,
                        world.backdoor.column(&refused.look).await,
                        "{who}: changed something"
                    );
                }
                if page.path.ends_with("/callback") {
                    hub.clock.advance(Duration::from_secs(1800));
                }
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_key_ends_at_its_hour() {
    on_each_engine(async |hub| {
        let at = hub.hub.clock.now().plus(Duration::from_secs(3600)).to_string();
        let key = mint(&hub, &hub.admin_key, json!({"name": "for an hour", "expires_at": at})).await;
        let ask = || hub.request("GET", "/api/v1/me").bearer_auth(&key.key);
        hub.clock.advance(Duration::from_secs(3000));
        expect(ask(), 200).await;
        hub.clock.advance(Duration::from_secs(600));
        let problem = send(ask()).await.problem(401, "UNAUTHENTICATED");
        assert_eq!(problem["detail"], "this API key has expired");
        let path = format!("/api/v1/api-keys/{}/rotate", key.id);
        let problem = send(hub.admin("POST", &path)).await.problem(409, "INVALID_STATE");
        assert_eq!(problem["state"], "ended");
    })
    .await;
}

#[tokio::test]
async fn a_member_sees_no_keys_of_others() {
    on_each_engine(async |hub| {
        let [ann, bob] = [hub.member(&hub.admin_key, "ann").await, hub.member(&hub.admin_key, "bob").await];
        let bobs = get(&hub, &bob, "/api/v1/me").await["key_id"].as_str().unwrap().to_owned();
        for (method, tail) in [("GET", ""), ("DELETE", ""), ("POST", "/rotate")] {
            let path = format!("/api/v1/api-keys/{bobs}{tail}");
            send(hub.request(method, &path).bearer_auth(&ann)).await.problem(404, "NOT_FOUND");
        }
        let listed = all_items(&hub, &ann, "/api/v1/api-keys").await;
        assert_eq!(listed.len(), 1, "{listed:?}");
        // The admin sees it and may end it, but not obtain one that acts as Bob.
        let path = format!("/api/v1/api-keys/{bobs}");
        expect(hub.admin("GET", &path), 200).await;
        send(hub.admin("POST", &format!("{path}/rotate"))).await.problem(403, "FORBIDDEN");
        let account = get(&hub, &bob, "/api/v1/me").await["account"]["id"].clone();
        let body = json!({"name": "as Bob", "account_id": account});
        send(hub.admin("POST", "/api/v1/api-keys").json(&body)).await.problem(403, "FORBIDDEN");
        expect(hub.admin("DELETE", &path), 204).await;
        send(hub.request("GET", "/api/v1/me").bearer_auth(&bob)).await.problem(401, "UNAUTHENTICATED");
    })
    .await;
}

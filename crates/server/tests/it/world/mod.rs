//! An organization with everybody who may come to its door.
//!
//! `doors` is the one table of routes and answers, `pages` that of the pages, `things` and `reviews` make what calls name,
//! `rows` writes what no route makes yet, `document` reads from the hub's own description which fields are ids. To test
//! a new route, add its row to `DOORS`, or `PAGES`; a new kind of thing gets a name in `things`. Everything else follows.

pub(crate) mod document;
pub(crate) mod doors;
pub(crate) mod pages;
mod reviews;
pub(crate) mod rows;
pub(crate) mod things;

use serde_json::{Value, json};
use testkit::TestHub;
use testkit::reqwest::RequestBuilder;

pub(crate) use doors::{Column, DOORS, Door};
pub(crate) use things::{Things, fresh, id_in};

use crate::backdoor::Backdoor;
use crate::support::{expect, get, mint};

/// What a visitor shows at the door.
#[derive(Clone)]
enum Shows {
    Nothing,
    Header(String),
    Cookie(String),
}

/// Somebody at the door.
#[derive(Clone)]
pub(crate) struct Visitor {
    pub(crate) name: &'static str,
    /// Whose column of the table says what they get; none for what opens nothing.
    pub(crate) column: Option<Column>,
    /// Who they are; empty for strangers and dead credentials.
    pub(crate) account: String,
    shows: Shows,
}

impl Visitor {
    /// The request with what the visitor shows, from elsewhere.
    pub(crate) fn ask(&self, request: RequestBuilder) -> RequestBuilder {
        let request = request.header("x-forwarded-for", "203.0.113.9");
        match &self.shows {
            Shows::Nothing => request,
            Shows::Header(value) => request.header("authorization", value),
            Shows::Cookie(token) => request.header("cookie", format!("cs={token}")),
        }
    }

    /// Whether this is somebody who logged in.
    pub(crate) fn is_login(&self) -> bool {
        match &self.shows {
            Shows::Nothing => false,
            Shows::Header(value) => value.starts_with("Bearer css_") && self.column.is_some(),
            Shows::Cookie(_) => true,
        }
    }

    /// Somebody who has this key.
    pub(crate) async fn with_key(hub: &TestHub, name: &'static str, column: Column, key: &str) -> Self {
        let account = id_in(&get(hub, key, "/api/v1/me").await["account"], "id");
        Self { name, column: Some(column), account, shows: Shows::Header(format!("Bearer {key}")) }
    }

    /// The same person, logged in: once as a program shows it, once as a browser does.
    pub(crate) async fn logged_in(&self, backdoor: &Backdoor, org: &str) -> [Self; 2] {
        let token = rows::login(backdoor, org, &self.account).await;
        let header = Shows::Header(format!("Bearer {token}"));
        [("a login", header), ("a login's cookie", Shows::Cookie(token))].map(|(name, shows)| Self {
            name,
            shows,
            ..self.clone()
        })
    }
}

fn dead(name: &'static str, authorization: &str) -> Visitor {
    let shows = Shows::Header(authorization.to_owned());
    Visitor { name, column: None, account: String::new(), shows }
}

/// Organization `default`, everybody who may knock, and its things.
pub(crate) struct World<'h> {
    pub(crate) hub: &'h TestHub,
    pub(crate) backdoor: Backdoor,
    pub(crate) visitors: Vec<Visitor>,
    pub(crate) things: Things<'h>,
    /// The key of the admin who does not run the instance.
    pub(crate) admin_key: String,
}

impl<'h> World<'h> {
    pub(crate) async fn new(hub: &'h TestHub) -> Self {
        let owner = &hub.admin_key;
        let backdoor = Backdoor::open(hub).await;
        let admin_key = hub.member_with(owner, "olga", &["admin"]).await;
        let author_key = hub.member_with(owner, "ann", &["author"]).await;
        let other_key = hub.tenant("other").await;
        let things = Things::of(hub, owner, &admin_key);
        // Each organization has a check of its own, and a read of it needs one.
        for key in [owner, &other_key] {
            expect(hub.request("POST", "/api/v1/audit/verification").bearer_auth(key), 200).await;
        }
        let agent = rows::agent(hub, &backdoor, &author_key, "builder").await;
        let agent = mint(hub, &author_key, json!({"name": "agent", "account_id": agent})).await;
        let narrow = mint(hub, owner, json!({"name": "narrow", "scopes": ["events:read"]})).await;
        let living = [
            ("a narrow key", Column::Narrow, narrow.key),
            ("an agent", Column::Agent, agent.key),
            ("a member", Column::Member, hub.member(owner, "mia").await),
            ("an author", Column::Author, author_key),
            ("a reviewer", Column::Reviewer, hub.member_with(owner, "rob", &["reviewer"]).await),
            ("an admin", Column::Admin, admin_key.clone()),
            ("the instance's admin", Column::Instance, owner.clone()),
            ("another tenant", Column::Other, other_key),
        ];
        let (shows, account) = (Shows::Nothing, String::new());
        let mut visitors =
            vec![Visitor { name: "a stranger", column: Some(Column::Stranger), account, shows }];
        visitors.extend(those_that_open_nothing(hub, &backdoor).await);
        for (name, column, key) in living {
            visitors.push(Visitor::with_key(hub, name, column, &key).await);
        }
        let mut world = Self { hub, backdoor, visitors, things, admin_key };
        let org = world.things.get("$org").await;
        for column in [Column::Member, Column::Admin] {
            let logins = world.visitor(column).logged_in(&world.backdoor, &org).await;
            world.visitors.extend(logins);
        }
        world
    }

    /// The visitor of a column who comes with a key.
    pub(crate) fn visitor(&self, column: Column) -> &Visitor {
        self.visitors.iter().find(|visitor| visitor.column == Some(column)).unwrap()
    }

    /// A right call of the route, made by nobody yet.
    pub(crate) async fn call(&mut self, door: &Door) -> RequestBuilder {
        let (path, body) = self.things.call(door).await;
        request(self.hub, door.method, &path, &body)
    }
}

/// A request with a JSON body, or without one.
pub(crate) fn request(hub: &TestHub, method: &str, path: &str, body: &str) -> RequestBuilder {
    let request = hub.request(method, path);
    match body.is_empty() {
        true => request,
        false => request.header("content-type", "application/json").body(body.to_owned()),
    }
}

/// Suspends an account or lets it act again, as an admin does.
pub(crate) async fn set_status(hub: &TestHub, admin: &str, account: &str, status: &str) -> Value {
    let path = format!("/api/v1/accounts/{account}");
    let change = hub.request("PATCH", &path).bearer_auth(admin).json(&json!({"status": status}));
    expect(change, 200).await.json()
}

/// Credentials that open nothing, however they look.
async fn those_that_open_nothing(hub: &TestHub, backdoor: &Backdoor) -> Vec<Visitor> {
    let admin = &hub.admin_key;
    let revoked = mint(hub, admin, json!({"name": "revoked"})).await;
    expect(hub.admin("DELETE", &format!("/api/v1/api-keys/{}", revoked.id)), 204).await;
    let rotated = mint(hub, admin, json!({"name": "rotated"})).await;
    expect(hub.admin("POST", &format!("/api/v1/api-keys/{}/rotate", rotated.id)), 201).await;
    let expired = mint(hub, admin, json!({"name": "expired"})).await;
    let end = format!("UPDATE api_keys SET expires_at = created_at WHERE id = '{}'", expired.id);
    backdoor.change(&end).await;
    let suspended = hub.member(admin, "sus").await;
    let account = id_in(&get(hub, &suspended, "/api/v1/me").await["account"], "id");
    set_status(hub, admin, &account, "suspended").await;
    let removed = hub.member(admin, "rem").await;
    let me = get(hub, &removed, "/api/v1/me").await;
    let (org, account) = (id_in(&me["organization"], "id"), id_in(&me["account"], "id"));
    let path = format!("/api/v1/organizations/{org}/members/{account}");
    expect(hub.admin("DELETE", &path), 204).await;
    let nobodys = "csk_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    let key = |name, key: &str| dead(name, &format!("Bearer {key}"));
    vec![
        dead("a scheme we do not know", "Basic Y3NrOg=="),
        dead("no key behind the scheme", "Bearer "),
        key("a text that is no key", "csk_nope"),
        key("a key nobody has", nobodys),
        key("a login nobody has", &nobodys.replace("csk_", "css_")),
        key("a revoked key", &revoked.key),
        key("a rotated key", &rotated.key),
        key("an expired key", &expired.key),
        key("a suspended account", &suspended),
        key("somebody who was removed", &removed),
    ]
}

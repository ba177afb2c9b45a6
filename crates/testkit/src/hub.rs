//! A whole hub in the test's process, over HTTP on a free loopback port, on either engine.

mod templates;
mod twins;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ::hub::clock::Clock;
use ::hub::identity::accounts::{self, Created, Wanted};
use ::hub::identity::authenticate::authenticate;
use ::hub::identity::founding::{Maker, NewAccount, found};
use ::hub::identity::{api_keys, bootstrap};
use ::hub::ids::{SystemIds, secret};
use ::hub::keys::HubKeys;
use ::hub::outgoing::{Names, Outgoing, SystemNames};
use ::hub::{Caller, Config, Hub, Origin};
use axum::Router;
use axum::body::{Body, HttpBody as _, to_bytes};
use axum::extract::Request;
use axum::http::header::AUTHORIZATION;
use axum::middleware::{map_request, map_response};
use axum::response::Response;
use domain::Id;
use domain::accounts::{AccessLevel, Account};
use domain::events::EventDraft;
use domain::members::Seat;
use domain::organizations::{Membership, MembershipLevel, Organization};
use domain::secrets::SecretKind;
use domain::subject::Subject;
use records::{Db, Engine, migrate};
use server::{FeedTimes, Options};
use tokio::net::TcpListener;

use crate::clock::TestClock;
use crate::directory;
use crate::oidc::OidcProvider;
use crate::watch::{self, Data};

const SCHEMA: &str = "countersign";
/// More than any test writes that does not ask for less.
const BLOB_QUOTA_BYTES: i64 = 1 << 30;
/// Many hubs are started, and few take many locks.
const LOCK_LOG_BYTES: u64 = 64 << 10;
/// Events appended in one unit.
const EVENTS_AT_ONCE: usize = 1000;

/// What a test may want different.
#[derive(Clone)]
pub struct Setup {
    /// Which engine keeps the records.
    pub engine: Engine,
    /// Requests a minute and account; 0 = no limit.
    pub rate_limit: u32,
    /// Requests a minute and address before login; 0 = no limit.
    pub anonymous_rate_limit: u32,
    /// Where people may log in besides here.
    pub provider: Option<Arc<OidcProvider>>,
    /// Locks asked for a minute and agent; 0 = no limit.
    pub lock_rate_limit: u32,
    /// Bytes of outputs and archives an organization may keep.
    pub blob_quota_bytes: i64,
    /// Where standalone grants are kept; none for the records.
    pub grant_store: Option<Arc<dyn ::hub::standalone_grants::Store>>,
    /// How patient sockets and streams are.
    pub feeds: FeedTimes,
    /// Connections at once.
    pub connections_max: usize,
    /// Where names lead that others have the hub call; `127.0.0.1` alone may be called.
    pub names: Arc<dyn Names>,
    /// How long whoever is called may take.
    pub called_within: Duration,
    /// How it notices what another server over the same records appends.
    pub events: ::hub::events::Settings,
}

impl Setup {
    /// No limits, so that a test may hurry.
    #[must_use]
    pub fn on(engine: Engine) -> Self {
        Self {
            engine,
            rate_limit: 0,
            anonymous_rate_limit: 0,
            lock_rate_limit: 0,
            provider: None,
            blob_quota_bytes: BLOB_QUOTA_BYTES,
            grant_store: None,
            feeds: FeedTimes::default(),
            connections_max: 10_000,
            names: Arc::new(SystemNames),
            called_within: Duration::from_secs(30),
            events: ::hub::events::Settings::default(),
        }
    }
}

/// A running hub. Everything goes with it when it is dropped.
pub struct TestHub {
    /// The hub itself.
    pub hub: Hub,
    /// Its clock.
    pub clock: Arc<TestClock>,
    /// The key of the admin of organization `default`, who is also instance admin.
    pub admin_key: String,
    /// The token of the link that logs the admin in, once.
    pub admin_link: String,
    /// Its data directory.
    pub data: Data,
    address: SocketAddr,
    http: reqwest::Client,
    database_url: Option<String>,
    setup: Setup,
}

/// Runs the test on SQLite, then on PostgreSQL. Whatever it did, the directory must be true at its end.
pub async fn on_each_engine(test: impl AsyncFn(TestHub)) {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let hub = TestHub::start(Setup::on(engine)).await;
        let records = hub.hub.records.clone();
        test(hub).await;
        directory::assert_true(&records).await;
    }
}

impl TestHub {
    /// Starts a hub with an empty database.
    pub async fn start(setup: Setup) -> Self {
        let clock = Arc::new(TestClock::default());
        let data = Data::make();
        let database_url = match setup.engine {
            Engine::Sqlite => None,
            Engine::Postgres => Some(templates::postgres_database().await),
        };
        watch::listen();
        if let Some(provider) = &setup.provider {
            provider.set_clock(Arc::clone(&clock) as Arc<dyn Clock>);
        }
        let records = migrated(database_url.as_deref(), data.path(), &*clock).await;
        let hub = assemble(records, &setup, data.path(), &clock).await;
        let handed =
            bootstrap::bootstrap(&hub, data.path()).await.expect("bootstrap").expect("a new database");
        let admin_link = handed.link.expose().to_owned();
        let admin_key = std::fs::read_to_string(handed.key_file).expect("the admin's key").trim().to_owned();
        ::hub::locks::open(&hub, &data.path().join("locks"), LOCK_LOG_BYTES).await.expect("locks");
        hub.start();
        let address = serve(&hub, &setup, "127.0.0.1:0").await;
        // Without a provider even a client for http:// cannot be built; a second call changes nothing.
        drop(rustls::crypto::ring::default_provider().install_default());
        let http = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .expect("an HTTP client");
        Self { hub, clock, admin_key, admin_link, data, address, http, database_url, setup }
    }

    /// Where it listens.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A request to a path, without credentials.
    pub fn request(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        let method = method.parse().expect("a method");
        self.http.request(method, format!("{}{path}", self.url()))
    }

    /// A request of the admin.
    pub fn admin(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        self.request(method, path).bearer_auth(&self.admin_key)
    }

    /// The caller behind a key, for calling use cases directly.
    pub async fn caller(&self, key: &str) -> Caller {
        let origin = Origin { service: "test".into(), ..Origin::default() };
        authenticate(&self.hub, key, origin).await.expect("a valid key")
    }

    /// Makes another organization; its owner's key.
    pub async fn tenant(&self, slug: &str) -> String {
        let owner = person(&format!("owner@{slug}.example")).made(&*self.hub.ids, self.hub.clock.now());
        let secret = secret(SecretKind::ApiKey).expect("a secret");
        let input = (slug.to_owned(), owner, secret.clone(), Arc::clone(&self.hub.ids));
        let founded = self.hub.records.write(input, |tx, (slug, owner, secret, ids)| {
            let now = owner.created_at;
            let maker = Maker { ids: &**ids, actor: owner.id, service: "founding", now, caller: None };
            Box::pin(found(tx, maker, slug, owner, secret))
        });
        founded.await.expect("a tenant");
        confided(secret.expose())
    }

    /// Adds a plain member to the organization of an admin's key; the member's key.
    pub async fn member(&self, admin_key: &str, name: &str) -> String {
        self.seated(admin_key, name, Seat::of(MembershipLevel::Member)).await
    }

    /// Adds a member with roles, `admin` among them for an admin; the member's key.
    pub async fn member_with(&self, admin_key: &str, name: &str, roles: &[&str]) -> String {
        let roles: Vec<String> = roles.iter().map(|role| (*role).to_owned()).collect();
        let seat = Seat::asked(MembershipLevel::Member, &roles, None).expect("roles that can be given");
        self.seated(admin_key, name, seat).await
    }

    async fn seated(&self, admin_key: &str, name: &str, seat: Seat) -> String {
        let admin = self.caller(admin_key).await;
        let email = format!("{name}@{}.example", admin.credential.organization.slug);
        let wanted = Wanted { account: person(&email), seat, password: None };
        let created = accounts::create(&self.hub, &admin, wanted, None).await.expect("a member");
        let ::hub::idempotency::Outcome::Fresh(Created::Account(member)) = created else {
            panic!("{email} exists already");
        };
        let wanted = api_keys::NewKey {
            owner: Some(member.account.id),
            org: None,
            name: "first".into(),
            scopes: None,
            expires_at: None,
        };
        match api_keys::mint(&self.hub, &admin, wanted, None).await.expect("a first key") {
            ::hub::idempotency::Outcome::Fresh(minted) => confided(minted.secret.expose()),
            ::hub::idempotency::Outcome::Replayed(_) => panic!("a mint without a key cannot be replayed"),
        }
    }

    /// Makes an account a member of any organization, which nobody has decided and no audit row tells.
    pub async fn seat(&self, account: Id<Account>, org: Id<Organization>) {
        let now = self.hub.clock.now();
        let membership = Membership {
            id: Id::new(self.hub.ids.fresh()),
            org_id: org,
            account_id: account,
            membership_level: MembershipLevel::Member,
            manager_id: None,
            created_at: now,
            updated_at: now,
        };
        let seated = self.hub.records.write(membership, |tx, membership| {
            Box::pin(async move {
                let account = records::accounts::get(tx, membership.account_id).await?;
                records::members::insert(tx, membership, &account.expect("an account")).await
            })
        });
        seated.await.expect("a seat");
    }

    /// Appends many events to the log of a key's organization, as many changes would.
    pub async fn append_events(&self, key: &str, event_type: &'static str, count: usize) {
        let org = self.caller(key).await.credential.organization.id;
        for _ in 0..count.div_ceil(EVENTS_AT_ONCE) {
            let input = (self.hub.clone(), org, event_type);
            let written = self.hub.records.write(input, |tx, (hub, org, event_type)| {
                Box::pin(async move {
                    for _ in 0..EVENTS_AT_ONCE {
                        records::events::append(tx, &event(hub, *org, event_type)).await?;
                    }
                    Ok::<_, records::Error>(())
                })
            });
            written.await.expect("events");
        }
    }

    /// Stops it as a signal would and starts it again, on the same data and at the same address.
    pub async fn restart(&mut self) {
        self.hub.stop().await;
        let records = migrated(self.database_url.as_deref(), self.data.path(), &*self.clock).await;
        self.hub = assemble(records, &self.setup, self.data.path(), &self.clock).await;
        ::hub::locks::open(&self.hub, &self.data.path().join("locks"), LOCK_LOG_BYTES).await.expect("locks");
        self.hub.start();
        serve(&self.hub, &self.setup, &self.address.to_string()).await;
    }

    /// Stops it as a signal would, and waits.
    pub async fn stop(self) {
        self.hub.stop().await;
    }
}

impl Drop for TestHub {
    fn drop(&mut self) {
        self.hub.lifecycle.announce_stop();
    }
}

fn event(hub: &Hub, org: Id<Organization>, event_type: &str) -> EventDraft {
    EventDraft {
        id: hub.ids.id(),
        org: Some(org),
        event_type: event_type.to_owned(),
        occurred_at: hub.clock.now(),
        actor: None,
        source: "test".into(),
        subject: Subject::new("test", "x".repeat(100)),
        payload: serde_json::json!({}),
    }
}

fn person(email: &str) -> NewAccount {
    NewAccount { email: email.into(), display_name: email.into(), access_level: AccessLevel::User }
}

/// Empty, migrated records on the engine.
pub async fn open_records(engine: Engine, data: &Path, clock: &dyn Clock) -> Db {
    watch::listen();
    match engine {
        Engine::Sqlite => migrated(None, data, clock).await,
        Engine::Postgres => migrated(Some(&templates::postgres_database().await), data, clock).await,
    }
}

async fn migrated(database_url: Option<&str>, data: &Path, clock: &dyn Clock) -> Db {
    match database_url {
        None => {
            let path = data.join("countersign.db");
            templates::provide_sqlite_file(&path);
            migrate::run_sqlite(&path, clock.now()).expect("migrations");
            Db::open_sqlite(&path).expect("the database")
        }
        Some(url) => {
            let db = Db::open_postgres(url, SCHEMA).expect("a pool");
            migrate::run_postgres(&db, SCHEMA, clock.now()).await.expect("migrations");
            db
        }
    }
}

async fn assemble(records: Db, setup: &Setup, data: &Path, clock: &Arc<TestClock>) -> Hub {
    let keys = HubKeys::open(&data.join("keys"), &records, clock.now()).await.expect("keys");
    let config = Config {
        rate_limit: setup.rate_limit,
        anonymous_rate_limit: setup.anonymous_rate_limit,
        lock_rate_limit: setup.lock_rate_limit,
        blob_quota_bytes: setup.blob_quota_bytes,
        keys,
        oidc: setup.provider.as_ref().map(|provider| provider.client()),
        grants: ::hub::standalone_grants::Settings {
            apart: setup.grant_store.clone(),
            ..::hub::standalone_grants::Settings::default()
        },
        outgoing: Outgoing::new(
            vec!["127.0.0.1/32".parse().expect("a network")],
            Arc::clone(&setup.names),
            setup.called_within,
        ),
        events: setup.events.clone(),
    };
    Hub::new(records, Arc::clone(clock) as Arc<dyn Clock>, Arc::new(SystemIds), config)
}

async fn serve(hub: &Hub, setup: &Setup, listen: &str) -> SocketAddr {
    let listener = TcpListener::bind(listen).await.expect("a free port");
    let address = listener.local_addr().expect("its address");
    hub.config.outgoing.listens_on(address);
    let (serving, connections_max) = (hub.clone(), setup.connections_max);
    let options = Options { feeds: setup.feeds, connections_max, ..Options::local(address) };
    let router = watched(server::router(hub.clone(), options));
    hub.lifecycle.spawn_connection(async move {
        server::listen::serve(listener, router, &serving, connections_max).await;
    });
    address
}

/// A secret on its way to a test.
fn confided(secret: &str) -> String {
    watch::secret(secret);
    secret.to_owned()
}

/// Notes each secret that comes to the hub's door or leaves through it, so that no test can forget to.
fn watched(router: Router) -> Router {
    if !watch::is_on() {
        return router;
    }
    let coming = map_request(async |request: Request| {
        for value in request.headers().get_all(AUTHORIZATION) {
            watch::secrets_in(value.as_bytes());
        }
        request
    });
    router.layer(map_response(leaving)).layer(coming)
}

async fn leaving(response: Response) -> Response {
    // A stream has no size; a secret is never part of one.
    let Some(size) = response.body().size_hint().exact().and_then(|size| usize::try_from(size).ok()) else {
        return response;
    };
    let (parts, body) = response.into_parts();
    let bytes = to_bytes(body, size).await.expect("a body of the size it said");
    watch::secrets_in(&bytes);
    watch::webhook_secrets_in(&String::from_utf8_lossy(&bytes));
    Response::from_parts(parts, Body::from(bytes))
}

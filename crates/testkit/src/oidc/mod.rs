//! A small provider of logins on loopback, with keys of its own. It does what OpenID Connect asks, strictly, and what it
//! forbids, on demand.
//!
//! It runs on a thread of its own, so that a program under test can use it as well as a hub in the test's process.

mod keys;
mod routes;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hub::clock::{Clock, SystemClock};
use hub::identity::oidc::{ClientSecret, Issuer, Provider, Settings};
use records::Engine;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{Setup, TestHub};
use keys::Keys;
pub use keys::Signing;

/// Who the hub is to the provider; the colon must not end up in the wrong half of a header.
pub const CLIENT_ID: &str = "hub:test";
const CLIENT_SECRET: &str = "SecretOfTheHubAtTheProvider0123:%+/ &=";

/// Who is logged in at the provider.
#[derive(Clone, Debug)]
pub struct Person {
    /// Who they are there, for ever.
    pub subject: String,
    /// Their address.
    pub email: String,
    /// What the provider says about whether the address is theirs.
    pub email_verified: Value,
}

impl Person {
    /// Somebody with a verified address.
    #[must_use]
    pub fn of(subject: &str, email: &str) -> Self {
        Self { subject: subject.into(), email: email.into(), email_verified: true.into() }
    }
}

/// A place that can misbehave.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Endpoint {
    /// The document about the provider.
    Discovery,
    /// Its keys.
    Keys,
    /// Where codes are exchanged.
    Token,
}

/// How a place misbehaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Conduct {
    /// It answers with this status, and JSON.
    Status(u16),
    /// It sends the hub elsewhere.
    Redirect,
    /// Its answer never ends.
    Huge,
    /// It never answers.
    Silent,
    /// It answers something that is no JSON.
    Prose,
}

type Alter = Box<dyn Fn(&mut Value) + Send>;

/// What a test may change while it runs.
struct State {
    person: Option<Person>,
    keys: Keys,
    signing: Signing,
    claims: Option<Alter>,
    document: Option<Alter>,
    conduct: HashMap<Endpoint, Conduct>,
    names_itself: Option<String>,
    checks_verifier: bool,
    codes: HashMap<String, routes::Grant>,
    asked: HashMap<Endpoint, usize>,
    clock: Arc<dyn Clock>,
}

struct Shared {
    state: Mutex<State>,
    url: String,
    has_secret: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A running provider. It ends when this is dropped.
pub struct OidcProvider {
    shared: Arc<Shared>,
    stop: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

impl OidcProvider {
    /// Starts one that gives the hub a secret.
    #[must_use]
    pub fn start() -> Arc<Self> {
        Self::start_with(true)
    }

    /// Starts one to which the hub is a public client.
    #[must_use]
    pub fn start_public() -> Arc<Self> {
        Self::start_with(false)
    }

    fn start_with(has_secret: bool) -> Arc<Self> {
        crate::watch::secret(CLIENT_SECRET);
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        listener.set_nonblocking(true).expect("a socket");
        let address: SocketAddr = listener.local_addr().expect("its address");
        let state = State {
            person: None,
            keys: Keys::make(1),
            signing: Signing::Rs256,
            claims: None,
            document: None,
            conduct: HashMap::new(),
            names_itself: None,
            checks_verifier: true,
            codes: HashMap::new(),
            asked: HashMap::new(),
            clock: Arc::new(SystemClock::default()),
        };
        let shared =
            Arc::new(Shared { state: Mutex::new(state), url: format!("http://{address}/id"), has_secret });
        let stop = CancellationToken::new();
        let (serving, stopping) = (Arc::clone(&shared), stop.clone());
        let thread = std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
                tokio::select! {
                    served = axum::serve(listener, routes::router(serving)).into_future() => served.expect("served"),
                    () = stopping.cancelled() => {}
                }
            });
        });
        Arc::new(Self { shared, stop, thread: Some(thread) })
    }

    /// Its name and address.
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.shared.url
    }

    /// What the hub's operator writes down.
    #[must_use]
    pub fn settings(&self) -> Settings {
        Settings {
            issuer: Issuer::parse(self.issuer()).expect("an address on loopback"),
            client_id: CLIENT_ID.into(),
            client_secret: self.client_secret().map(ClientSecret::new),
            name: "Test ID".into(),
            scopes: "openid email profile".into(),
        }
    }

    /// The hub's password there.
    #[must_use]
    pub fn client_secret(&self) -> Option<&'static str> {
        self.shared.has_secret.then_some(CLIENT_SECRET)
    }

    /// The hub's side of it.
    #[must_use]
    pub fn client(&self) -> Provider {
        Provider::new(self.settings()).expect("an HTTP client")
    }

    /// From now on this person is logged in at the provider; nobody refuses what the hub asks for.
    pub fn log_in(&self, person: Person) {
        self.shared.state().person = Some(person);
    }

    /// From now on nobody is logged in there, and whoever comes says no.
    pub fn log_out(&self) {
        self.shared.state().person = None;
    }

    /// Takes the time from here.
    pub fn set_clock(&self, clock: Arc<dyn Clock>) {
        self.shared.state().clock = clock;
    }

    /// Signs like this from now on.
    pub fn sign(&self, signing: Signing) {
        self.shared.state().signing = signing;
    }

    /// Has new keys from now on, and publishes only those.
    pub fn rotate_keys(&self) {
        let mut state = self.shared.state();
        state.keys = state.keys.next();
    }

    /// Changes the claims of every token from now on.
    pub fn alter_claims(&self, alter: impl Fn(&mut Value) + Send + 'static) {
        self.shared.state().claims = Some(Box::new(alter));
    }

    /// Changes what it says about itself from now on.
    pub fn alter_document(&self, alter: impl Fn(&mut Value) + Send + 'static) {
        self.shared.state().document = Some(Box::new(alter));
    }

    /// Names this issuer in its answers to browsers.
    pub fn name_itself(&self, issuer: &str) {
        self.shared.state().names_itself = Some(issuer.to_owned());
    }

    /// Gives a token for a code whoever brings it, from now on.
    pub fn trust_everybody(&self) {
        self.shared.state().checks_verifier = false;
    }

    /// Misbehaves at one place from now on.
    pub fn misbehave(&self, endpoint: Endpoint, conduct: Conduct) {
        self.shared.state().conduct.insert(endpoint, conduct);
    }

    /// Does everything right again, with the keys it has.
    pub fn behave(&self) {
        let mut state = self.shared.state();
        state.conduct.clear();
        (state.claims, state.document, state.names_itself) = (None, None, None);
        (state.signing, state.checks_verifier) = (Signing::Rs256, true);
    }

    /// How often a place was asked.
    #[must_use]
    pub fn asked(&self, endpoint: Endpoint) -> usize {
        self.shared.state().asked.get(&endpoint).copied().unwrap_or(0)
    }
}

/// Runs the test on each engine, with a provider that the hub knows.
pub async fn with_provider(test: impl AsyncFn(TestHub, Arc<OidcProvider>)) {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let provider = OidcProvider::start();
        let setup = Setup { provider: Some(Arc::clone(&provider)), ..Setup::on(engine) };
        test(TestHub::start(setup).await, provider).await;
    }
}

impl Drop for OidcProvider {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

fn base64url(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

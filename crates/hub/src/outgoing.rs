//! Calling addresses that others have named, without being led where they could not go themselves (DECISIONS 36).
//!
//! **Invariant:** what is connected to is an address that was checked: a name is resolved once, here, and the connection
//! goes to what that gave. No proxy, no redirect, no connection that was opened for an earlier call.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use domain::webhooks::{Attempt, RESPONSE_BYTES_MAX, URL_CHARS_MAX, is_public};
use ipnet::IpNet;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::HeaderMap;
use reqwest::redirect::Policy;
use reqwest::{Client, Response, Url};
use tokio::time::timeout;

use crate::HubError;

const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// A whole call.
pub const ANSWER_WITHIN: Duration = Duration::from_secs(30);
/// The status is the answer; what is said beside it is only worth a moment.
const BODY_WITHIN: Duration = Duration::from_secs(2);

/// The addresses of a name.
pub type Lookup = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Where names lead, as a port.
pub trait Names: Send + Sync {
    /// Looks a name up.
    fn lookup(&self, name: &str) -> Lookup;
}

/// The names the operating system knows.
pub struct SystemNames;

impl Names for SystemNames {
    fn lookup(&self, name: &str) -> Lookup {
        let place = (name.to_owned(), 0);
        Box::pin(
            async move { Ok(tokio::net::lookup_host(place).await?.map(|address| address.ip()).collect()) },
        )
    }
}

/// Calls others.
pub struct Outgoing {
    allowed: Arc<[IpNet]>,
    names: Arc<dyn Names>,
    within: Duration,
    own: OnceLock<SocketAddr>,
    client: OnceLock<Client>,
    /// For addresses with the hub's own port.
    careful_client: OnceLock<Client>,
}

impl Outgoing {
    /// With the networks that the operator allows besides the open internet.
    #[must_use]
    pub fn new(allowed: Vec<IpNet>, names: Arc<dyn Names>, within: Duration) -> Self {
        let (client, careful_client) = (OnceLock::new(), OnceLock::new());
        Self { allowed: allowed.into(), names, within, own: OnceLock::new(), client, careful_client }
    }

    /// Where the hub itself listens, which it does not call.
    pub fn listens_on(&self, address: SocketAddr) {
        // Told once; the first is right.
        self.own.set(address).ok();
    }

    /// An address somebody wants to be called at.
    ///
    /// # Errors
    /// It is none, or one that is not called.
    pub fn address(&self, text: &str) -> Result<Url, HubError> {
        let wrong = |detail: &str| HubError::field("/url", detail);
        if text.len() > URL_CHARS_MAX {
            return Err(wrong("must have at most 2048 characters"));
        }
        let url = Url::parse(text).map_err(|error| wrong(&format!("not a URL ({error})")))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
            return Err(wrong("must begin with http:// or https:// and a host"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong("must not hold a user name or password"));
        }
        if url.fragment().is_some() {
            return Err(wrong("must not have a fragment, which nobody would be sent"));
        }
        match self.refused_literal(&url) {
            Some(refused) => Err(HubError::AddressNotAllowed(refused.to_string())),
            None => Ok(url),
        }
    }

    /// Sends a body, once, and hears what the other side says to it.
    pub(crate) async fn post(&self, url: Url, headers: HeaderMap, body: Vec<u8>) -> Attempt {
        let began = Instant::now();
        let attempt = match self.refused_literal(&url) {
            Some(refused) => failed(refused.to_string()),
            None => match timeout(self.within, self.sent(url, headers, body)).await {
                Ok(attempt) => attempt,
                Err(_) => failed(format!("no answer within {} s", self.within.as_secs_f32())),
            },
        };
        Attempt { took: began.elapsed(), ..attempt }
    }

    async fn sent(&self, url: Url, headers: HeaderMap, body: Vec<u8>) -> Attempt {
        let client = match self.client_for(&url) {
            Ok(client) => client,
            Err(error) => return failed(explained(&error)),
        };
        match client.post(url).headers(headers).body(body).send().await {
            Ok(response) => heard(response).await,
            Err(error) => failed(explained(&error.without_url())),
        }
    }

    /// An address that is written out is never looked up, so it is judged here.
    fn refused_literal(&self, url: &Url) -> Option<NotAllowed> {
        let host = url.host_str()?.trim_start_matches('[').trim_end_matches(']');
        let address = host.parse::<IpAddr>().ok()?;
        self.rule(url).check(address).err()
    }

    fn rule(&self, url: &Url) -> Rule {
        let own = self.own.get().filter(|own| url.port_or_known_default() == Some(own.port()));
        Rule { allowed: Arc::clone(&self.allowed), own: own.map(|own| own.ip()) }
    }

    fn client_for(&self, url: &Url) -> Result<Client, reqwest::Error> {
        let rule = self.rule(url);
        let kept = if rule.own.is_some() { &self.careful_client } else { &self.client };
        if let Some(client) = kept.get() {
            return Ok(client.clone());
        }
        let client = client(Checked { names: Arc::clone(&self.names), rule: Arc::new(rule) })?;
        Ok(kept.get_or_init(|| client).clone())
    }
}

fn client(resolver: Checked) -> Result<Client, reqwest::Error> {
    // It fails when a provider of cryptography is installed already, which serves just as well.
    rustls::crypto::ring::default_provider().install_default().ok();
    let resolver = Arc::new(resolver);
    let builder = || {
        Client::builder()
            .user_agent(concat!("countersign/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_WITHIN)
            .redirect(Policy::none())
            .no_proxy()
            .pool_max_idle_per_host(0)
            .dns_resolver(Arc::clone(&resolver))
    };
    // reqwest refuses to build on a system without root certificates, which plain HTTP does not need.
    builder().build().or_else(|_| builder().tls_certs_only([]).build())
}

fn failed(error: String) -> Attempt {
    Attempt { error: Some(error), ..Attempt::default() }
}

async fn heard(mut response: Response) -> Attempt {
    let status = response.status();
    let mut bytes = Vec::new();
    let reading = async {
        while let Ok(Some(chunk)) = response.chunk().await {
            bytes.extend_from_slice(&chunk);
            if bytes.len() >= RESPONSE_BYTES_MAX {
                break;
            }
        }
    };
    // Whoever trickles has said what counts already.
    timeout(BODY_WITHIN, reading).await.ok();
    bytes.truncate(RESPONSE_BYTES_MAX);
    let body = String::from_utf8_lossy(&bytes).replace('\0', "\u{fffd}");
    let error = match status.as_u16() {
        200..=299 => None,
        300..=399 => Some("it answered with a redirect, which is not followed".to_owned()),
        other => Some(format!("it answered {other}")),
    };
    Attempt { status: Some(status.as_u16()), body: Some(body), error, ..Attempt::default() }
}

/// The error with its causes: the outermost says no more than that sending failed.
fn explained(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// What may be called.
struct Rule {
    allowed: Arc<[IpNet]>,
    /// The hub's own address, where the port is its own too.
    own: Option<IpAddr>,
}

/// An address that is not called.
#[derive(Clone, Copy, Debug)]
enum NotAllowed {
    Private(IpAddr),
    Own(IpAddr),
}

impl fmt::Display for NotAllowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Private(address) => {
                write!(f, "{address} is not a public address, and not in COUNTERSIGN_ALLOW_PRIVATE")
            }
            Self::Own(address) => write!(f, "{address} is the hub itself"),
        }
    }
}

impl Error for NotAllowed {}

impl Rule {
    fn check(&self, address: IpAddr) -> Result<(), NotAllowed> {
        if let Some(own) = self.own
            && (own == address || own.is_unspecified() && address.is_loopback() || address.is_unspecified())
        {
            return Err(NotAllowed::Own(address));
        }
        if is_public(address) || self.allowed.iter().any(|network| network.contains(&address)) {
            return Ok(());
        }
        Err(NotAllowed::Private(address))
    }
}

/// Looks names up and hands on what was checked, all of it or nothing.
struct Checked {
    names: Arc<dyn Names>,
    rule: Arc<Rule>,
}

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let (lookup, rule) = (self.names.lookup(name.as_str()), Arc::clone(&self.rule));
        Box::pin(async move {
            let addresses = lookup.await?;
            for address in &addresses {
                rule.check(*address)?;
            }
            let addresses: Addrs = Box::new(addresses.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(addresses)
        })
    }
}

//! The table of the settings: one entry each, and nothing about a setting is said anywhere else.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;

use hub::identity::oidc::{ClientSecret, Issuer};

use super::connection::{ConnectionUrl, MASK, masked};
use super::{ApprovalStore, LogFormat, parse};

/// One setting: its names, what it may be, and how to read it.
pub(super) struct Setting<T> {
    /// In the file, in texts, and as a flag where it has one.
    pub(super) name: &'static str,
    /// In the environment.
    pub(super) env: &'static str,
    /// What counts when nobody says anything.
    pub(super) default: Option<&'static str>,
    /// What to write, with an example; completes "write …".
    pub(super) expects: &'static str,
    /// What the file may hold for it.
    pub(super) shape: Shape,
    /// The value as it may be shown to people.
    pub(super) show: fn(&str) -> String,
    /// The value, or the reason why it is none.
    pub(super) parse: fn(&str) -> Result<T, String>,
}

/// What kind of TOML value a setting is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// A string.
    Text,
    /// An integer.
    Number,
    /// An array of strings, or one string with commas.
    List,
}

type Parse<T> = fn(&str) -> Result<T, String>;

impl<T> Setting<T> {
    const fn new(name: &'static str, env: &'static str, expects: &'static str, parse: Parse<T>) -> Self {
        Self { name, env, default: None, expects, shape: Shape::Text, show: str::to_owned, parse }
    }

    const fn or(self, default: &'static str) -> Self {
        Self { default: Some(default), ..self }
    }

    const fn number(self) -> Self {
        Self { shape: Shape::Number, ..self }
    }

    const fn list(self) -> Self {
        Self { shape: Shape::List, ..self }
    }

    /// An address that may hold a password.
    const fn secret(self) -> Self {
        Self { show: masked, ..self }
    }

    /// Nothing of it may be shown.
    const fn hidden(self) -> Self {
        Self { show: |_| MASK.to_owned(), ..self }
    }
}

pub(super) const DATA: Setting<PathBuf> =
    Setting::new("data", "COUNTERSIGN_DATA", "a directory such as ./countersign-data", parse::path)
        .or("./countersign-data");

/// Its default is `keys` in the data directory.
pub(super) const KEYS_DIR: Setting<PathBuf> = Setting::new(
    "keys_dir",
    "COUNTERSIGN_KEYS_DIR",
    "the directory of the key files, such as /etc/countersign/keys",
    parse::path,
);

pub(super) const DATABASE_URL: Setting<ConnectionUrl> = Setting::new(
    "database_url",
    "DATABASE_URL",
    "the address of a PostgreSQL such as postgres://user:password@host:5432/name, or leave it out to use SQLite",
    parse::database_url,
)
.secret();

pub(super) const PG_SCHEMA: Setting<String> = Setting::new(
    "pg_schema",
    "COUNTERSIGN_PG_SCHEMA",
    "the name of a schema such as countersign",
    parse::schema,
)
.or("countersign");

pub(super) const REDIS_URL: Setting<ConnectionUrl> = Setting::new(
    "redis_url",
    "REDIS_URL",
    "the address of a Redis such as redis://:password@host:6379/0, or leave it out to do without",
    parse::redis_url,
)
.secret();

pub(super) const REDIS_KEY_PREFIX: Setting<String> =
    Setting::new("redis_key_prefix", "REDIS_KEY_PREFIX", "a short prefix such as ade:", parse::key_prefix)
        .or("ade:");

pub(super) const LISTEN: Setting<SocketAddr> = Setting::new(
    "listen",
    "COUNTERSIGN_LISTEN",
    "an IP address and port such as 127.0.0.1:8000 or [::1]:8000",
    parse::address,
)
.or("127.0.0.1:8000");

pub(super) const PUBLIC_URL: Setting<String> = Setting::new(
    "public_url",
    "COUNTERSIGN_PUBLIC_URL",
    "the address people type, such as https://hub.example.com, with nothing after the host",
    parse::public_url,
);

pub(super) const TRUSTED_PROXIES: Setting<Vec<IpNet>> = Setting::new(
    "trusted_proxies",
    "COUNTERSIGN_TRUSTED_PROXIES",
    "networks separated by commas such as 10.0.0.0/8,192.0.2.7/32, or leave it out to trust none",
    parse::networks,
)
.list();

pub(super) const ALLOW_PRIVATE: Setting<Vec<IpNet>> = Setting::new(
    "allow_private",
    "COUNTERSIGN_ALLOW_PRIVATE",
    "private networks the hub may call, separated by commas such as 10.1.2.0/24, or leave it out to call public \
     addresses only",
    parse::networks,
)
.list();

pub(super) const MAX_CONNECTIONS: Setting<u32> = Setting::new(
    "max_connections",
    "COUNTERSIGN_MAX_CONNECTIONS",
    "a whole number from 1 to 1000000 such as 20000",
    parse::number::<1, 1_000_000>,
)
.or("20000")
.number();

pub(super) const RATE_LIMIT: Setting<u32> = Setting::new(
    "rate_limit",
    "COUNTERSIGN_RATE_LIMIT",
    "requests per minute and account such as 6000, or 0 for no limit",
    parse::number::<0, 1_000_000_000>,
)
.or("6000")
.number();

pub(super) const LOCK_RATE_LIMIT: Setting<u32> = Setting::new(
    "lock_rate_limit",
    "COUNTERSIGN_LOCK_RATE_LIMIT",
    "lock attempts per minute and agent such as 60000, or 0 for no limit",
    parse::number::<0, 1_000_000_000>,
)
.or("60000")
.number();

pub(super) const DOCS: Setting<bool> =
    Setting::new("docs", "COUNTERSIGN_DOCS", "on or off", parse::on_off).or("on");

pub(super) const LOG_FORMAT: Setting<LogFormat> =
    Setting::new("log_format", "COUNTERSIGN_LOG_FORMAT", "pretty or json", parse::log_format).or("pretty");

pub(super) const LOG_LEVEL: Setting<String> = Setting::new(
    "log_level",
    "COUNTERSIGN_LOG",
    "off, error, warn, info, debug or trace, or pairs such as info,hub=debug",
    parse::log_level,
)
.or("info");

pub(super) const APPROVAL_STORE: Setting<ApprovalStore> =
    Setting::new("approval_store", "APPROVAL_STORE", "records, memory or redis", parse::approval_store)
        .or("records");

pub(super) const APPROVAL_CLEANUP_INTERVAL: Setting<Duration> = Setting::new(
    "approval_cleanup_interval",
    "APPROVAL_CLEANUP_INTERVAL",
    "seconds from 1 to 86400 such as 300",
    parse::seconds::<1, 86_400>,
)
.or("300")
.number();

pub(super) const APPROVAL_DEFAULT_TTL: Setting<Duration> = Setting::new(
    "approval_default_ttl",
    "APPROVAL_DEFAULT_TTL",
    "seconds from 1 to 604800 such as 3600",
    parse::seconds::<1, 604_800>,
)
.or("3600")
.number();

pub(super) const OIDC_ISSUER: Setting<Issuer> = Setting::new(
    "oidc_issuer",
    "COUNTERSIGN_OIDC_ISSUER",
    "the issuer of an OpenID Connect provider exactly as it calls itself, such as https://id.example.com/realms/staff, \
     or leave out everything about oidc to do without",
    Issuer::parse,
)
.secret();

pub(super) const OIDC_CLIENT_ID: Setting<String> = Setting::new(
    "oidc_client_id",
    "COUNTERSIGN_OIDC_CLIENT_ID",
    "the client id the provider gave this hub, such as countersign",
    parse::visible,
);

pub(super) const OIDC_CLIENT_SECRET: Setting<ClientSecret> = Setting::new(
    "oidc_client_secret",
    "COUNTERSIGN_OIDC_CLIENT_SECRET",
    "the client secret the provider gave this hub, or leave it out if the hub is a public client there",
    parse::client_secret,
)
.hidden();

/// Its default is the host of the issuer.
pub(super) const OIDC_NAME: Setting<String> = Setting::new(
    "oidc_name",
    "COUNTERSIGN_OIDC_NAME",
    "what people call the provider, in at most 60 characters, such as Example ID",
    parse::label,
);

/// Its default counts only where there is a provider.
pub(super) const OIDC_SCOPES: Setting<String> = Setting::new(
    "oidc_scopes",
    "COUNTERSIGN_OIDC_SCOPES",
    "scopes separated by single spaces, openid among them, such as openid email profile",
    parse::scopes,
);

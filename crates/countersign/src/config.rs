//! The configuration of a server: each setting from its flag, else the environment, else the file, else its default.
//!
//! To add a setting: an entry in `setting.rs`, a field here, and a line that reads it. What no line here reads is
//! unknown, and unknown keys and variables refuse to start. Nothing here touches the process: environment and files
//! come in as arguments.
//!
//! Paths that are not absolute count from the directory the process was started in, wherever they are written.

mod connection;
mod environment;
mod file;
mod flags;
mod parse;
mod problem;
mod setting;
mod suggest;
#[cfg(test)]
mod tests;
mod values;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use hub::identity::oidc::{Issuer, Settings};
use ipnet::IpNet;

pub use connection::ConnectionUrl;
pub use environment::Environment;
pub use file::ReadFile;
pub use flags::ServerFlags;
pub use problem::{ConfigProblem, ConfigProblems, Shown, Source};

use file::File;
use values::Values;

/// The checked configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The directory that holds everything the hub keeps.
    pub data: PathBuf,
    /// The directory of the hub's own keys.
    pub keys_dir: PathBuf,
    /// Where the records are.
    pub records: RecordsConfig,
    /// Where Redis is.
    pub redis: RedisConfig,
    /// How the hub is reached.
    pub http: HttpConfig,
    /// What it says about its work.
    pub log: LogConfig,
    /// Standalone grants.
    pub approvals: ApprovalsConfig,
    /// Where people may log in besides here.
    pub oidc: Option<Settings>,
    /// Networks besides the open internet that others may have the hub call.
    pub allow_private: Vec<IpNet>,
}

/// Where the records are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordsConfig {
    /// PostgreSQL; `None` means SQLite in the data directory.
    pub database_url: Option<ConnectionUrl>,
    /// The schema of the tables in PostgreSQL. Never needs quotes in SQL.
    pub pg_schema: String,
}

/// Where Redis is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedisConfig {
    /// Redis; `None` means to do without.
    pub url: Option<ConnectionUrl>,
    /// What every key begins with.
    pub key_prefix: String,
}

/// How the hub is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpConfig {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The origin people reach it at; always there when `listen` is not loopback.
    pub public_url: Option<String>,
    /// The proxies whose `X-Forwarded-*` headers count.
    pub trusted_proxies: Vec<IpNet>,
    /// How many connections may be open.
    pub max_connections: u32,
    /// Requests per minute and account; 0 means no limit.
    pub rate_limit: u32,
    /// Lock attempts per minute and agent; 0 means no limit.
    pub lock_rate_limit: u32,
    /// Whether `/api/docs` is served.
    pub docs: bool,
}

/// What the hub says about its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogConfig {
    /// For people or for programs.
    pub format: LogFormat,
    /// A level, or `target=level` pairs separated by commas.
    pub level: String,
}

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Pretty,
    /// One JSON object per line.
    Json,
}

/// Standalone grants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalsConfig {
    /// Where they are kept.
    pub store: ApprovalStore,
    /// How often expired ones are cleared away.
    pub cleanup_interval: Duration,
    /// How long one lives when nobody says.
    pub default_ttl: Duration,
}

/// Where standalone grants are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalStore {
    /// In SQL.
    Records,
    /// In this process.
    Memory,
    /// In Redis.
    Redis,
}

/// A valid configuration, and how it came about.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The configuration.
    pub config: Config,
    /// Each setting with its source, passwords masked, for `config check`.
    pub shown: Vec<Shown>,
}

/// Works out the configuration of this process.
pub fn load(flags: &ServerFlags) -> Result<Resolved, ConfigProblems> {
    resolve(flags, &Environment::of_process(), &|path| std::fs::read_to_string(path))
}

/// Works out the configuration, or everything that is wrong with it.
pub fn resolve(
    flags: &ServerFlags,
    env: &Environment,
    read: ReadFile<'_>,
) -> Result<Resolved, ConfigProblems> {
    let (file, problems) = match File::load(flags, env, read) {
        Ok(file) => (file, Vec::new()),
        Err(problem) => (File::default(), vec![*problem]),
    };
    let mut values = Values { flags, env, file, shown: Vec::new(), problems, asked: Vec::new() };
    let config = Config::read(&mut values);
    values.refuse_unknown();
    match config {
        Some(config) if values.problems.is_empty() => Ok(Resolved { config, shown: values.shown }),
        _ => Err(ConfigProblems(values.problems)),
    }
}

// Each `read` first asks for all its values and only then gives up, so that every problem is reported.

impl Config {
    fn read(values: &mut Values<'_>) -> Option<Self> {
        let data = values.get(&setting::DATA);
        let beside_data = data.as_ref().map(|data| data.join("keys").display().to_string());
        let keys_dir = values.get_or(&setting::KEYS_DIR, beside_data.as_deref());
        let records = RecordsConfig::read(values);
        let redis = RedisConfig::read(values);
        let http = HttpConfig::read(values);
        let log = LogConfig::read(values);
        let approvals = ApprovalsConfig::read(values, redis.as_ref());
        let oidc = oidc(values);
        let allow_private = values.get(&setting::ALLOW_PRIVATE);
        Some(Self {
            data: data?,
            keys_dir: keys_dir?,
            records: records?,
            redis: redis?,
            http: http?,
            log: log?,
            approvals: approvals?,
            oidc,
            allow_private: allow_private.unwrap_or_default(),
        })
    }
}

impl RecordsConfig {
    fn read(values: &mut Values<'_>) -> Option<Self> {
        let database_url = values.get(&setting::DATABASE_URL);
        let pg_schema = values.get(&setting::PG_SCHEMA);
        Some(Self { database_url, pg_schema: pg_schema? })
    }
}

impl RedisConfig {
    fn read(values: &mut Values<'_>) -> Option<Self> {
        let url = values.get(&setting::REDIS_URL);
        let key_prefix = values.get(&setting::REDIS_KEY_PREFIX);
        Some(Self { url, key_prefix: key_prefix? })
    }
}

impl HttpConfig {
    fn read(values: &mut Values<'_>) -> Option<Self> {
        let listen = values.get(&setting::LISTEN);
        let public_url = values.get(&setting::PUBLIC_URL);
        let trusted_proxies = values.get(&setting::TRUSTED_PROXIES);
        let max_connections = values.get(&setting::MAX_CONNECTIONS);
        let rate_limit = values.get(&setting::RATE_LIMIT);
        let lock_rate_limit = values.get(&setting::LOCK_RATE_LIMIT);
        let docs = values.get(&setting::DOCS);
        // Others can come in, so links and the check of browsers' origins need the name others use.
        if let Some(listen) = listen.filter(|listen| !listen.ip().is_loopback())
            && public_url.is_none()
        {
            values.refuse(
                &setting::PUBLIC_URL,
                format!("it is required because listen is {listen}, not loopback"),
            );
        }
        Some(Self {
            listen: listen?,
            public_url,
            trusted_proxies: trusted_proxies.unwrap_or_default(),
            max_connections: max_connections?,
            rate_limit: rate_limit?,
            lock_rate_limit: lock_rate_limit?,
            docs: docs?,
        })
    }
}

impl HttpConfig {
    /// Whether people reach the hub on its own machine without TLS: only then may a login travel in the clear.
    pub(crate) fn is_plain_and_local(&self) -> bool {
        let has_tls = self.public_url.as_ref().is_some_and(|url| url.starts_with("https://"));
        self.listen.ip().is_loopback() && !has_tls
    }
}

impl LogConfig {
    fn read(values: &mut Values<'_>) -> Option<Self> {
        let format = values.get(&setting::LOG_FORMAT);
        let level = values.get(&setting::LOG_LEVEL);
        Some(Self { format: format?, level: level? })
    }
}

impl ApprovalsConfig {
    fn read(values: &mut Values<'_>, redis: Option<&RedisConfig>) -> Option<Self> {
        let store = values.get(&setting::APPROVAL_STORE);
        let cleanup_interval = values.get(&setting::APPROVAL_CLEANUP_INTERVAL);
        let default_ttl = values.get(&setting::APPROVAL_DEFAULT_TTL);
        if store == Some(ApprovalStore::Redis) && redis.is_some_and(|redis| redis.url.is_none()) {
            values.refuse(&setting::REDIS_URL, "it is required because approval_store is redis".to_owned());
        }
        Some(Self { store: store?, cleanup_interval: cleanup_interval?, default_ttl: default_ttl? })
    }
}

/// What the hub asks a provider for when nobody says.
const USUAL_SCOPES: &str = "openid email profile";

/// The provider of logins, if there is one. Half of one is a mistake, and is refused.
fn oidc(values: &mut Values<'_>) -> Option<Settings> {
    let issuer = values.get(&setting::OIDC_ISSUER);
    let client_id = values.get(&setting::OIDC_CLIENT_ID);
    let client_secret = values.get(&setting::OIDC_CLIENT_SECRET);
    let name = values.get_or(&setting::OIDC_NAME, issuer.as_ref().map(Issuer::host));
    let scopes = values.get_or(&setting::OIDC_SCOPES, issuer.as_ref().map(|_| USUAL_SCOPES));
    let alone = [
        client_id.as_ref().map(|_| setting::OIDC_CLIENT_ID.name),
        client_secret.as_ref().map(|_| setting::OIDC_CLIENT_SECRET.name),
        name.as_ref().map(|_| setting::OIDC_NAME.name),
        scopes.as_ref().map(|_| setting::OIDC_SCOPES.name),
    ];
    match (&issuer, &client_id, alone.into_iter().flatten().next()) {
        (Some(_), None, _) => {
            values.refuse(&setting::OIDC_CLIENT_ID, "it is required because oidc_issuer is set".to_owned());
        }
        (None, _, Some(other)) => {
            values.refuse(&setting::OIDC_ISSUER, format!("it is required because {other} is set"));
        }
        _ => {}
    }
    Some(Settings { issuer: issuer?, client_id: client_id?, client_secret, name: name?, scopes: scopes? })
}

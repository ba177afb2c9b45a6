//! `countersign serve`: the hub, whole, in one process.

use std::io::Write;
use std::net::SocketAddr;

use anyhow::Context;
use clap::Args;
use domain::secrets::Secret;
use hub::lifecycle::Lifecycle;
use records::Engine;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use server::{FeedTimes, Options};
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::config::{self, ApprovalStore, Config, ServerFlags};
use crate::exit::Exit;
use crate::logging;
use crate::open::{self, Opened};

pub(crate) const EXAMPLES: &str = "\
Examples:
  countersign serve
  countersign serve --data /var/lib/countersign --listen 127.0.0.1:9000
  DATABASE_URL=postgres://hub@db/hub countersign serve --migrate

Settings come from flags, the environment and countersign.toml; `countersign config check` shows all of them.";

/// Files a connection may need beside its socket, and what the process needs anyway.
pub(crate) const SPARE_FILES: u64 = 512;
const INTERRUPTED_TWICE: i32 = 130;

#[derive(Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    server: ServerFlags,
    /// Bring PostgreSQL to this program's schema first (SQLite is always migrated, after a copy)
    #[arg(long)]
    migrate: bool,
}

pub(crate) fn run(serve: &Serve) -> anyhow::Result<Exit> {
    let config = config::load(&serve.server)?.config;
    logging::start(&config.log);
    raise_file_limit(u64::from(config.http.max_connections) + SPARE_FILES);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(serve_until_told(&config, serve.migrate))?;
    Ok(Exit::Done)
}

async fn serve_until_told(config: &Config, may_migrate: bool) -> anyhow::Result<()> {
    let started = start(config, may_migrate).await?;
    let address = started.address;
    say(&first_line(config, started.hub(), &address.to_string()))?;
    if let Some(first) = &started.opened.first_start {
        say(&format!(
            "first start: the admin's API key is in {path}\nlog in as the admin, once, within 15 min: {link}\n\
             try: COUNTERSIGN_URL=http://{address} COUNTERSIGN_API_KEY=$(cat {path}) countersign me",
            path = first.key_file.display(),
            link = login_link(&started.public_url, &first.link)
        ))?;
    }
    started.serve(config).await;
    say("stopped")
}

/// A hub that works, at an address that nobody is answered at yet.
pub(crate) struct Started {
    listener: TcpListener,
    pub(crate) address: SocketAddr,
    pub(crate) public_url: String,
    pub(crate) opened: Opened,
}

/// Starts a hub; a signal will stop it.
pub(crate) async fn start(config: &Config, may_migrate: bool) -> anyhow::Result<Started> {
    let address = config.http.listen;
    // Before anything is opened: a second start on the same address must not touch the data.
    let listener = TcpListener::bind(address)
        .await
        .with_context(|| format!("cannot listen on {address}; choose another address with --listen"))?;
    let address = listener.local_addr()?;
    server::telemetry::metrics();
    let opened = open::hub(config, may_migrate).await?;
    opened.hub.config.outgoing.listens_on(address);
    opened.hub.start();
    stop_on_signals(opened.hub.lifecycle.clone())?;
    let public_url = config.http.public_url.clone().unwrap_or_else(|| format!("http://{address}"));
    Ok(Started { listener, address, public_url, opened })
}

impl Started {
    pub(crate) fn hub(&self) -> &hub::Hub {
        &self.opened.hub
    }

    /// Answers until the hub is told to stop, and stops it.
    pub(crate) async fn serve(self, config: &Config) {
        let Self { listener, public_url, opened, .. } = self;
        let connections_max = config.http.max_connections as usize;
        let options = Options {
            trusted_proxies: config.http.trusted_proxies.clone(),
            docs: config.http.docs,
            connections_max,
            public_url,
            secure_cookies: !config.http.is_plain_and_local(),
            feeds: FeedTimes::default(),
        };
        let router = server::router(opened.hub.clone(), options);
        server::listen::serve(listener, router, &opened.hub, connections_max).await;
        opened.hub.stop().await;
    }
}

/// What a person opens to log in once.
pub(crate) fn login_link(public_url: &str, secret: &Secret) -> String {
    format!("{}/login/once?token={}", public_url.trim_end_matches('/'), secret.expose())
}

fn first_line(config: &Config, hub: &hub::Hub, address: &str) -> String {
    let coordination = match (&config.redis.url, hub.records.engine()) {
        // Said aloud, because whoever sets REDIS_URL expects more of it.
        (Some(_), Engine::Postgres) => {
            "local (REDIS_URL tells other servers of events, and no more in this release)"
        }
        (Some(_), Engine::Sqlite) => "local (REDIS_URL does not carry coordination in this release)",
        (None, _) => "local",
    };
    let grants = match config.approvals.store {
        ApprovalStore::Records => "",
        ApprovalStore::Memory => ", grants in memory",
        ApprovalStore::Redis => ", grants in redis",
    };
    let records = hub.records.engine();
    let version = env!("CARGO_PKG_VERSION");
    format!(
        "countersign {version}: records {records}, coordination {coordination}{grants}, listening on http://{address}"
    )
}

/// The first lines of output are data: tools wait for them. A closed stdout is no reason not to serve.
pub(crate) fn say(text: &str) -> anyhow::Result<()> {
    let mut stdout = std::io::stdout();
    drop(writeln!(stdout, "{text}").and_then(|()| stdout.flush()));
    Ok(())
}

/// The first signal ends in good order, the second now.
fn stop_on_signals(lifecycle: Lifecycle) -> anyhow::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    lifecycle.clone().spawn_connection(async move {
        next(&mut interrupt, &mut terminate).await;
        tracing::info!("stopping; a second signal ends the process at once");
        lifecycle.announce_stop();
        next(&mut interrupt, &mut terminate).await;
        std::process::exit(INTERRUPTED_TWICE);
    });
    Ok(())
}

async fn next(interrupt: &mut Signal, terminate: &mut Signal) {
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}

pub(crate) fn raise_file_limit(wanted: u64) {
    let limit = getrlimit(Resource::Nofile);
    let reachable = limit.maximum.map_or(wanted, |maximum| wanted.min(maximum));
    if limit.current.is_none_or(|current| current >= reachable) {
        return;
    }
    let raised = Rlimit { current: Some(reachable), maximum: limit.maximum };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!("the limit of open files stays at {:?}: {error}", limit.current);
    }
}

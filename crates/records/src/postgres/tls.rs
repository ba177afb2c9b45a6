//! TLS to PostgreSQL, with the certificates this machine trusts (`SSL_CERT_FILE` adds others).

use std::net::IpAddr;
use std::sync::Arc;

use deadpool_postgres::{Manager, ManagerConfig};
use rustls::ClientConfig;
use rustls::crypto::ring;
use rustls_platform_verifier::BuilderVerifierExt;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::{Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::{Error, Result};

/// A manager that speaks TLS where the URL asks for it, and where it does not but the server is elsewhere.
///
/// A certificate is always verified. On this machine plain is the default: a distribution's server answers with a
/// certificate nobody signed, and what it would hide cannot be overheard.
pub(super) fn manager(config: Config, pooling: ManagerConfig) -> Result<Manager> {
    let plain = match config.get_ssl_mode() {
        SslMode::Disable => true,
        SslMode::Prefer => is_local(&config),
        _ => false,
    };
    if plain {
        return Ok(Manager::from_config(config, NoTls, pooling));
    }
    let refused =
        |error: rustls::Error| Error::Refused(format!("TLS to PostgreSQL cannot be set up: {error}"));
    let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(BuilderVerifierExt::with_platform_verifier)
        .map_err(refused)?
        .with_no_client_auth();
    Ok(Manager::from_config(config, MakeRustlsConnect::new(tls), pooling))
}

fn is_local(config: &Config) -> bool {
    config.get_hosts().iter().all(|host| match host {
        Host::Tcp(name) => name == "localhost" || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback()),
        Host::Unix(_) => true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_known_by_its_names() {
        for (url, local) in [
            ("postgres://hub@localhost/hub", true),
            ("postgres://hub@127.0.0.1/hub", true),
            ("postgres://hub@[::1]/hub", true),
            ("postgres://hub@db.example/hub", false),
            ("postgres://hub@10.0.0.1/hub", false),
            ("postgres://hub@localhost,db.example/hub", false),
        ] {
            assert_eq!(is_local(&url.parse().unwrap()), local, "{url}");
        }
    }
}

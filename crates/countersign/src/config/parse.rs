//! From text to values. An error is the reason; what to write instead is told by the setting.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use client::Url;
use hub::identity::oidc::ClientSecret;
use ipnet::IpNet;
use tracing_subscriber::filter::LevelFilter;

use super::connection::ConnectionUrl;
use super::{ApprovalStore, LogFormat};

/// PostgreSQL cuts longer names off.
const SCHEMA_CHARS_MAX: usize = 63;
const PREFIX_CHARS_MAX: usize = 64;
const LABEL_CHARS_MAX: usize = 60;
const VISIBLE_CHARS_MAX: usize = 1024;

pub(super) fn path(text: &str) -> Result<PathBuf, String> {
    if text.contains('\0') { Err("a path cannot hold NUL".to_owned()) } else { Ok(PathBuf::from(text)) }
}

pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "not an IP address with a port".to_owned())
}

pub(super) fn database_url(text: &str) -> Result<ConnectionUrl, String> {
    ConnectionUrl::parse(text, &["postgres", "postgresql"])
}

pub(super) fn redis_url(text: &str) -> Result<ConnectionUrl, String> {
    ConnectionUrl::parse(text, &["redis", "rediss"])
}

/// A prefix stands before the braces that tell Redis Cluster where a key lives, so it must not hold any.
pub(super) fn key_prefix(text: &str) -> Result<String, String> {
    let fits = text.len() <= PREFIX_CHARS_MAX
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b":._-".contains(&byte));
    if fits { Ok(text.to_owned()) } else { Err("not 1 to 64 of A-Z a-z 0-9 : . _ -".to_owned()) }
}

/// The name goes into SQL as it is, so it is one that never needs quotes.
pub(super) fn schema(text: &str) -> Result<String, String> {
    let fits = text.len() <= SCHEMA_CHARS_MAX
        && text.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    if !fits {
        return Err("not 1 to 63 of a-z 0-9 _, beginning with a letter or _".to_owned());
    }
    if text.starts_with("pg_") {
        return Err("PostgreSQL keeps names that begin with pg_ for itself".to_owned());
    }
    Ok(text.to_owned())
}

/// The origin, spelled as browsers spell it, because it is compared with what they send.
pub(super) fn public_url(text: &str) -> Result<String, String> {
    let url = Url::parse(text).map_err(|error| format!("not a URL ({error})"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("the scheme is {}, not http or https", url.scheme()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("it holds a user name or password".to_owned());
    }
    if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
        return Err("something follows the host".to_owned());
    }
    Ok(url.origin().ascii_serialization())
}

/// Printable ASCII, as ids and secrets of OAuth are.
pub(super) fn visible(text: &str) -> Result<String, String> {
    let fits = text.len() <= VISIBLE_CHARS_MAX && text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    if fits { Ok(text.to_owned()) } else { Err("not 1 to 1024 printable ASCII characters".to_owned()) }
}

pub(super) fn client_secret(text: &str) -> Result<ClientSecret, String> {
    visible(text).map(|text| ClientSecret::new(&text))
}

/// A short text for a button.
pub(super) fn label(text: &str) -> Result<String, String> {
    let fits = text.chars().count() <= LABEL_CHARS_MAX && !text.chars().any(char::is_control);
    if fits && text.trim() == text {
        Ok(text.to_owned())
    } else {
        Err("not 1 to 60 plain characters".to_owned())
    }
}

pub(super) fn scopes(text: &str) -> Result<String, String> {
    // The characters RFC 6749 allows in a scope.
    let is_scope = |scope: &str| {
        !scope.is_empty()
            && scope.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\')
    };
    match visible(text)?.split(' ').all(is_scope) {
        true if text.split(' ').any(|scope| scope == "openid") => Ok(text.to_owned()),
        true => Err("without openid the provider says nothing about who logged in".to_owned()),
        false => Err("not scopes separated by single spaces".to_owned()),
    }
}

pub(super) fn networks(text: &str) -> Result<Vec<IpNet>, String> {
    text.split(',').map(|part| network(part.trim())).collect()
}

fn network(text: &str) -> Result<IpNet, String> {
    let net: IpNet = text.parse().map_err(|_| format!("{text:?} is not a network such as 10.0.0.0/8"))?;
    if net.prefix_len() == 0 {
        return Err(format!("{text} is everybody, who could then claim any address"));
    }
    if net.addr() != net.network() {
        return Err(format!("{text} has bits after its prefix (the network is {})", net.trunc()));
    }
    Ok(net)
}

/// A whole number within bounds.
pub(super) fn number<const MIN: u32, const MAX: u32>(text: &str) -> Result<u32, String> {
    // `parse` takes a plus sign, which nobody means.
    let number = text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()));
    match number {
        Some(number) if (MIN..=MAX).contains(&number) => Ok(number),
        Some(_) => Err(format!("not within {MIN} to {MAX}")),
        None => Err("not a whole number, or far too large".to_owned()),
    }
}

/// A number of seconds within bounds.
pub(super) fn seconds<const MIN: u32, const MAX: u32>(text: &str) -> Result<Duration, String> {
    number::<MIN, MAX>(text).map(|seconds| Duration::from_secs(seconds.into()))
}

pub(super) fn on_off(text: &str) -> Result<bool, String> {
    one_of(text, &[("on", true), ("off", false)])
}

pub(super) fn log_format(text: &str) -> Result<LogFormat, String> {
    one_of(text, &[("pretty", LogFormat::Pretty), ("json", LogFormat::Json)])
}

pub(super) fn approval_store(text: &str) -> Result<ApprovalStore, String> {
    let stores = [
        ("records", ApprovalStore::Records),
        ("memory", ApprovalStore::Memory),
        ("redis", ApprovalStore::Redis),
    ];
    one_of(text, &stores)
}

fn one_of<T: Copy>(text: &str, choices: &[(&str, T)]) -> Result<T, String> {
    let found = choices.iter().find(|(name, _)| *name == text);
    found.map(|(_, value)| *value).ok_or_else(|| "not one of the choices".to_owned())
}

/// A level, or `target=level` pairs separated by commas. The filter itself would take a misspelt level for the name
/// of a target and then log nothing, so each level is looked at.
pub(super) fn log_level(text: &str) -> Result<String, String> {
    for part in text.split(',') {
        let (target, level) = part.split_once('=').unwrap_or(("all", part));
        let is_target =
            !target.is_empty() && target.bytes().all(|b| b.is_ascii_alphanumeric() || b"_:".contains(&b));
        if !is_target || level.parse::<LevelFilter>().is_err() || level.is_empty() {
            return Err(format!("{part:?} is neither a level nor target=level"));
        }
    }
    Ok(text.to_owned())
}

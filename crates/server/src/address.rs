//! Whose request it is: the client's address, seen through trusted proxies only.

use std::net::IpAddr;

use axum::http::header::{FORWARDED, HeaderMap, HeaderName};
use ipnet::IpNet;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The client's address, and whether it is this machine beyond doubt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Client {
    /// The nearest address that is not a trusted proxy.
    pub ip: IpAddr,
    /// The connection comes from this machine and nobody claims to forward it.
    pub is_local: bool,
}

/// Reads `X-Forwarded-For` from the right as long as the proxies are trusted.
#[must_use]
pub fn client(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> Client {
    let peer = peer.to_canonical();
    let forwarded = headers.contains_key(FORWARDED_FOR) || headers.contains_key(FORWARDED);
    let is_trusted = |ip: &IpAddr| trusted.iter().any(|net| net.contains(ip));
    let mut ip = peer;
    if is_trusted(&peer) {
        let hops: Vec<&str> = headers
            .get_all(FORWARDED_FOR)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .map(str::trim)
            .collect();
        for hop in hops.iter().rev() {
            let Ok(hop) = hop.parse::<IpAddr>() else { break };
            ip = hop.to_canonical();
            if !is_trusted(&ip) {
                break;
            }
        }
    }
    // A proxy on this machine that nobody declared must not make the whole world local.
    Client { ip, is_local: peer.is_loopback() && !forwarded }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(peer: &str, forwarded: Option<&str>, trusted: &[&str], expected: (&str, bool)) {
        let mut headers = HeaderMap::new();
        if let Some(value) = forwarded {
            headers.insert("x-forwarded-for", value.parse().unwrap());
        }
        let trusted: Vec<IpNet> = trusted.iter().map(|net| net.parse().unwrap()).collect();
        let found = client(peer.parse().unwrap(), &headers, &trusted);
        assert_eq!((found.ip.to_string().as_str(), found.is_local), expected, "{peer} {forwarded:?}");
    }

    #[test]
    fn only_trusted_proxies_may_say_who_asks() {
        check("127.0.0.1", None, &[], ("127.0.0.1", true));
        check("::ffff:127.0.0.1", None, &[], ("127.0.0.1", true));
        check("127.0.0.1", Some("203.0.113.9"), &[], ("127.0.0.1", false));
        check("127.0.0.1", Some("203.0.113.9"), &["127.0.0.0/8"], ("203.0.113.9", false));
        check("198.51.100.7", Some("127.0.0.1"), &[], ("198.51.100.7", false));
        check("10.0.0.1", Some("1.2.3.4, 203.0.113.9, 10.0.0.2"), &["10.0.0.0/8"], ("203.0.113.9", false));
        check("10.0.0.1", Some("nonsense"), &["10.0.0.0/8"], ("10.0.0.1", false));
    }
}

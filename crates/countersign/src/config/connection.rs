//! Addresses of databases, which hold passwords.

use std::fmt;

/// What is shown instead of a secret.
pub(super) const MASK: &str = "****";

/// The address of a database. `Debug` and `Display` mask its password.
#[derive(Clone, PartialEq, Eq)]
pub struct ConnectionUrl(String);

impl ConnectionUrl {
    /// The address with its password, for the driver only.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// An address with one of these schemes.
    pub(super) fn parse(text: &str, schemes: &[&str]) -> Result<Self, String> {
        let parts = Parts::of(text).ok_or(
            "not an address of the form scheme://user:password@host:port/name (special characters in the password \
             are written %40 for @, %2F for /, %23 for #, %3F for ?)",
        )?;
        if !schemes.contains(&parts.scheme) {
            return Err(format!("the scheme is {}, not {}", parts.scheme, schemes.join(" or ")));
        }
        // PostgreSQL's socket directory is named by the parameter `host`.
        if parts.hosts.is_empty() && !parts.query.is_some_and(|query| query.contains("host=")) {
            return Err("the host is missing".to_owned());
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for ConnectionUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&masked(&self.0))
    }
}

impl fmt::Debug for ConnectionUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ConnectionUrl({self})")
    }
}

/// The address without what may be secret. What cannot be taken apart with certainty is masked altogether.
pub(super) fn masked(text: &str) -> String {
    let Some(parts) = Parts::of(text) else { return MASK.to_owned() };
    let login = match (parts.user, parts.password) {
        ("", None) => String::new(),
        (user, None) => format!("{user}@"),
        (user, Some(_)) => format!("{user}:{MASK}@"),
    };
    let query = parts.query.map(|query| format!("?{}", masked_query(query))).unwrap_or_default();
    format!("{}://{login}{}{}{query}", parts.scheme, parts.hosts, parts.path)
}

/// Drivers take passwords as parameters, too, so only the one parameter is shown that people need to see.
fn masked_query(query: &str) -> String {
    let masked = query.split('&').map(|pair| match pair.split_once('=') {
        Some(("sslmode", _)) => pair.to_owned(),
        Some((name, _)) => format!("{name}={MASK}"),
        None => MASK.to_owned(),
    });
    masked.collect::<Vec<_>>().join("&")
}

struct Parts<'a> {
    scheme: &'a str,
    user: &'a str,
    password: Option<&'a str>,
    /// One host with its port, or several separated by commas, which a general URL parser would refuse.
    hosts: &'a str,
    path: &'a str,
    query: Option<&'a str>,
}

impl<'a> Parts<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        let is_scheme = scheme.starts_with(|c: char| c.is_ascii_lowercase())
            && scheme.bytes().all(|byte| byte.is_ascii_lowercase() || b"0123456789+".contains(&byte));
        let is_clean = rest.chars().all(|c| !c.is_whitespace() && !c.is_control());
        let (authority, tail) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        // An @ or # out of place is most likely part of a password that is not percent-encoded.
        if !is_scheme || !is_clean || tail.contains(['@', '#']) || authority.matches('@').count() > 1 {
            return None;
        }
        let (login, hosts) = authority.split_once('@').unwrap_or(("", authority));
        let (user, password) = match login.split_once(':') {
            Some((user, password)) => (user, Some(password)),
            None => (login, None),
        };
        let (path, query) = match tail.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (tail, None),
        };
        Some(Self { scheme, user, password, hosts, path, query })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_masked() {
        let cases = [
            ("postgres://me:hush@db:5432/hub", "postgres://me:****@db:5432/hub"),
            ("postgres://me@db/hub", "postgres://me@db/hub"),
            ("postgres://db/hub", "postgres://db/hub"),
            ("postgres://me:hush@a:1,b:2/hub", "postgres://me:****@a:1,b:2/hub"),
            ("redis://:hush@cache:6379/0", "redis://:****@cache:6379/0"),
            (
                "postgres://db/hub?password=hush&sslmode=require",
                "postgres://db/hub?password=****&sslmode=require",
            ),
            ("postgres://db/hub?hush", "postgres://db/hub?****"),
            // Characters that should have been encoded: nobody can say where the password ends.
            ("postgres://me:12/hush@db/hub", "****"),
            ("postgres://me:12#hush@db/hub", "****"),
            ("postgres://me:12?hush@db/hub", "****"),
            ("postgres://me:hu@sh@db/hub", "****"),
            ("postgres://me:hu sh@db/hub", "****"),
            ("[\"postgres://me:hush@db/hub\"]", "****"),
            ("host=db password=hush", "****"),
            ("", "****"),
        ];
        for (text, expected) in cases {
            assert_eq!(masked(text), expected, "{text}");
            assert!(!masked(text).contains("hush"));
        }
    }

    #[test]
    fn debug_and_display_mask() {
        let url = ConnectionUrl::parse("redis://:hush@cache", &["redis"]).unwrap();
        assert_eq!(format!("{url} {url:?}"), "redis://:****@cache ConnectionUrl(redis://:****@cache)");
        assert_eq!(url.expose(), "redis://:hush@cache");
    }
}

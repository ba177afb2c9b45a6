//! What people call a program that says who it is in its own words.

/// How browsers name themselves, the more particular first: each also claims to be those below it.
const BROWSERS: [(&str, &str); 6] = [
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
];
const SYSTEMS: [(&str, &str); 6] = [
    ("Windows", "Windows"),
    ("Android", "Android"),
    ("iPhone", "iOS"),
    ("iPad", "iPadOS"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
];

/// A browser and where it runs; any other program in its own words. For lists of one's own logins: whoever decides about
/// a program is shown what it said.
pub(super) fn named(user_agent: &str) -> String {
    let found = |known: &[(&str, &'static str)]| {
        known.iter().find(|(mark, _)| user_agent.contains(mark)).map(|(_, name)| *name)
    };
    let is_browser = user_agent.starts_with("Mozilla/");
    match (found(&BROWSERS), found(&SYSTEMS)) {
        (Some(browser), Some(system)) if is_browser => format!("{browser} on {system}"),
        _ => user_agent.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_have_names_and_programs_their_own_words() {
        let webkit = "AppleWebKit/537.36 (KHTML, like Gecko)";
        for (said, name) in [
            (
                format!("Mozilla/5.0 (X11; Linux x86_64) {webkit} HeadlessChrome/156.0 Safari/537.36"),
                "Chrome on Linux",
            ),
            (
                format!("Mozilla/5.0 (Windows NT 10.0) {webkit} Chrome/140.0 Safari/537.36 Edg/140.0"),
                "Edge on Windows",
            ),
            (
                format!("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15) {webkit} Version/18 Safari/605"),
                "Safari on macOS",
            ),
            (
                "Mozilla/5.0 (Android 15; Mobile; rv:140.0) Gecko/140.0 Firefox/140.0".into(),
                "Firefox on Android",
            ),
            ("countersign-client/0.1.0".into(), "countersign-client/0.1.0"),
            ("evil Chrome/1 on Linux".into(), "evil Chrome/1 on Linux"),
            ("Mozilla/5.0".into(), "Mozilla/5.0"),
        ] {
            assert_eq!(named(&said), name);
        }
    }
}

//! Where somebody wanted to go before they had to log in. Only a path of this hub: a link to the login page must not
//! become a way to send people elsewhere.

const NEXT_BYTES_MAX: usize = 500;

/// The path, if it is one of this hub.
pub(super) fn local(text: &str) -> Option<&str> {
    let is_path = text.starts_with('/') && !text.starts_with("//");
    // Browsers take a backslash for a slash, and drop tabs and line ends.
    let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    (is_path && is_plain && text.len() <= NEXT_BYTES_MAX).then_some(text)
}

/// The login page, which leads on to this path.
pub(super) fn after_login(wanted: &str) -> String {
    let Some(wanted) = local(wanted) else { return "/login".to_owned() };
    let mut to = "/login?next=".to_owned();
    for byte in wanted.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => to.push(char::from(byte)),
            other => to.push_str(&format!("%{other:02X}")),
        }
    }
    to
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_this_hub() {
        for good in ["/", "/account", "/login/device?code=AB23-CD45"] {
            assert_eq!(local(good), Some(good));
        }
        let long = format!("/{}", "x".repeat(500));
        for bad in [
            "",
            "account",
            "//evil.example",
            "/\\evil.example",
            "\\\\evil.example",
            "https://evil.example",
            "javascript:alert(1)",
            "/\t/evil.example",
            "/\n/evil",
            " /account",
            "/é",
            long.as_str(),
        ] {
            assert_eq!(local(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn what_follows_is_one_parameter() {
        assert_eq!(
            after_login("/login/device?code=AB&x=%41#y"),
            "/login?next=/login/device%3Fcode%3DAB%26x%3D%2541%23y"
        );
        assert_eq!(after_login("//evil.example"), "/login");
    }
}

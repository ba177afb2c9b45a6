//! What a task is called in its project, and where in the plan it stands.

use crate::text::BadText;

/// The longest path.
pub const PATH_MAX: usize = 512;
const SEGMENT_MAX: usize = 64;

/// Stands behind every character of a path: what begins with a prefix lies between it and it with this appended.
pub const BEHIND_ALL: char = '\u{7f}';

/// Checks a path such as `implementation/database`: segments of `[A-Za-z0-9._-]{1,64}`, none of them `.` or `..`.
///
/// # Errors
/// Says what is wrong.
pub fn check_path(path: &str) -> Result<(), BadText> {
    let is_segment = |segment: &str| {
        (1..=SEGMENT_MAX).contains(&segment.len())
            && segment.bytes().all(is_in_segment)
            && !matches!(segment, "." | "..")
    };
    if path.len() <= PATH_MAX && path.split('/').all(is_segment) {
        return Ok(());
    }
    Err(BadText(
        "must be at most 512 bytes of segments between slashes, each 1 to 64 of A-Z, a-z, 0-9 and ._- and not . or .."
            .to_owned(),
    ))
}

/// Checks what a path may begin with.
///
/// # Errors
/// Says what is wrong.
pub fn check_path_prefix(prefix: &str) -> Result<(), BadText> {
    let in_alphabet = prefix.bytes().all(|byte| is_in_segment(byte) || byte == b'/');
    if in_alphabet && (1..=PATH_MAX).contains(&prefix.len()) {
        return Ok(());
    }
    Err(BadText(format!("must be 1 to {PATH_MAX} of A-Z, a-z, 0-9 and ._-/")))
}

fn is_in_segment(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"._-".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        let long = ["x".repeat(64).as_str(); 7].join("/");
        for good in ["a", "implementation/database", "v1.2/x_y-Z", "...", long.as_str()] {
            assert!(check_path(good).is_ok(), "{good}");
            assert!(check_path_prefix(good).is_ok(), "{good}");
        }
        let deep = ["x".repeat(60).as_str(); 9].join("/");
        for bad in
            ["", "/", "/a", "a/", "a//b", ".", "a/../b", "é", "a b", "a\0", "%", &"x".repeat(65), &deep]
        {
            assert!(check_path(bad).is_err(), "{bad}");
        }
        assert!(check_path_prefix("implementation/").is_ok());
        for bad in ["", "é", "a%", "\0", &"x".repeat(513)] {
            assert!(check_path_prefix(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_prefix_is_a_range() {
        let upper = format!("imp{BEHIND_ALL}");
        assert!(("imp".."imp\u{7f}").contains(&"impz/z"));
        assert!(upper.as_str() > "impzzz" && upper.as_str() < "imq");
    }
}

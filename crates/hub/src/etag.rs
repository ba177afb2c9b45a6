//! Which version of a thing somebody read: `ETag` and `If-Match`.

use domain::Timestamp;

use crate::HubError;

/// The tag of a thing that was last changed at this time.
#[must_use]
pub fn of(updated_at: Timestamp) -> String {
    format!("\"{:x}\"", updated_at.micros())
}

/// Refuses a change of something that is no longer what the caller read. `If-Match` may name several versions; our
/// tags hold no commas.
pub fn require(if_match: Option<&str>, etag: &str) -> Result<(), HubError> {
    match if_match {
        Some(wanted) if !wanted.split(',').any(|tag| tag.trim() == etag) => Err(HubError::PreconditionFailed),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_met_or_not() {
        let now = of(Timestamp::from_micros(255));
        assert_eq!(now, "\"ff\"");
        for fine in [None, Some("\"ff\""), Some("\"fe\", \"ff\"")] {
            assert!(require(fine, &now).is_ok(), "{fine:?}");
        }
        for stale in ["\"fe\"", "ff", "", "W/\"ff\""] {
            assert!(matches!(require(Some(stale), &now), Err(HubError::PreconditionFailed)), "{stale}");
        }
    }
}

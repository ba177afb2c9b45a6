//! Time as the hub records it: UTC, whole microseconds.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// An instant in microseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Timestamp(i64);

/// The text is not an RFC 3339 time with an offset.
#[derive(Debug, thiserror::Error)]
#[error("not an RFC 3339 time such as 2026-03-18T15:30:00.000000Z")]
pub struct NotATime;

impl Timestamp {
    /// The instant this many microseconds after the epoch.
    #[must_use]
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since the epoch.
    #[must_use]
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// Later by `span`; stops at the end of time instead of wrapping.
    #[must_use]
    pub fn plus(self, span: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(span.as_micros()).unwrap_or(i64::MAX)))
    }

    /// Earlier by `span`; stops at the beginning of time instead of wrapping.
    #[must_use]
    pub fn minus(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(span.as_micros()).unwrap_or(i64::MAX)))
    }

    /// This time, or the next instant after `earlier` where that is later: two changes never have one time.
    #[must_use]
    pub fn after(self, earlier: Self) -> Self {
        Self(self.0.max(earlier.0.saturating_add(1)))
    }

    /// How long after `earlier` this is; zero if it is not.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

/// RFC 3339, UTC, always six digits: `2026-03-18T15:30:00.000000Z`.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(instant) => write!(f, "{instant:.6}"),
            Err(_) => write!(f, "@{}us", self.0),
        }
    }
}

impl FromStr for Timestamp {
    type Err = NotATime;

    fn from_str(text: &str) -> Result<Self, NotATime> {
        let instant: jiff::Timestamp = text.parse().map_err(|_| NotATime)?;
        Ok(Self(instant.as_microsecond()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_later_than_the_one_before_it() {
        let at = Timestamp::from_micros;
        assert_eq!((at(5).after(at(3)), at(5).after(at(5)), at(2).after(at(5))), (at(5), at(6), at(6)));
    }

    #[test]
    fn text_has_six_digits_and_comes_back() {
        for micros in [0, 1, 1_773_847_800_000_000, 1_773_847_800_123_456, -1] {
            let at = Timestamp::from_micros(micros);
            assert_eq!(at.to_string().parse::<Timestamp>().unwrap(), at);
        }
        assert_eq!(Timestamp::from_micros(1_773_847_800_000_000).to_string(), "2026-03-18T15:30:00.000000Z");
        assert!("2026-03-18T15:30:00".parse::<Timestamp>().is_err(), "no offset");
    }
}

//! What time it is somewhere, by the time zones that this machine knows.

use domain::Timestamp;
use domain::policies::hours::{Hours, LocalDay, LocalTime};
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::HubError;

/// The moment as people call it there; none where nobody knows.
pub(crate) fn local(at: Timestamp, zone: &str) -> Option<LocalTime> {
    let there = jiff::Timestamp::from_microsecond(at.micros()).ok()?.to_zoned(find(zone)?);
    let minutes = i32::from(there.hour()) * 60 + i32::from(there.minute());
    Some(LocalTime {
        today: day(there.date()),
        yesterday: day(there.date().yesterday().ok()?),
        minute: u16::try_from(minutes).ok()?,
    })
}

/// Refuses hours of a place that nobody knows: they would count as met at any time.
pub(super) fn check(hours: &Hours) -> Result<(), HubError> {
    match find(&hours.time_zone) {
        Some(_) => Ok(()),
        None => Err(HubError::field("/hours/time_zone", "is no time zone that this hub knows")),
    }
}

fn find(zone: &str) -> Option<TimeZone> {
    // Known everywhere, also where no others are installed.
    if zone == "UTC" { Some(TimeZone::UTC) } else { TimeZone::get(zone).ok() }
}

fn day(date: Date) -> LocalDay {
    LocalDay { weekday: u8::try_from(date.weekday().to_monday_zero_offset()).unwrap_or_default(), date }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(utc: &str, zone: &str) -> (u8, String, u16) {
        let local = local(utc.parse().unwrap(), zone).expect("a time zone of this machine");
        (local.today.weekday, local.today.date.to_string(), local.minute)
    }

    #[test]
    fn a_place_has_its_own_day_and_its_own_summer() {
        assert_eq!(at("2026-08-03T22:30:00Z", "UTC"), (0, "2026-08-03".into(), 22 * 60 + 30));
        assert_eq!(at("2026-08-03T22:30:00Z", "Europe/Berlin"), (1, "2026-08-04".into(), 30));
        assert_eq!(at("2026-12-03T22:30:00Z", "Europe/Berlin"), (3, "2026-12-03".into(), 23 * 60 + 30));
        assert!(local("2026-08-03T22:30:00Z".parse().unwrap(), "Europe/Nowhere").is_none());
    }
}

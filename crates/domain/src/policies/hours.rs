//! Hours: at which times of the day and the week a policy applies, in a time zone (FUTURE-04).

use std::fmt;
use std::str::FromStr;

use serde_json::{Value, json};

use super::NotRules;
use crate::text::BadText;

/// How many windows a policy has at most.
pub const WINDOWS_MAX: usize = 50;
/// How many days one window names at most.
pub const DAYS_MAX: usize = 100;
const ZONE_CHARS_MAX: usize = 64;
const DAY_MINUTES: u16 = 24 * 60;
const WEEK: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// A day as people at some place call it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LocalDay {
    /// From Monday, which is 0.
    pub weekday: u8,
    /// In the calendar.
    pub date: jiff::civil::Date,
}

/// A moment as people at some place call it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LocalTime {
    /// The day.
    pub today: LocalDay,
    /// The one before it.
    pub yesterday: LocalDay,
    /// Minutes since midnight.
    pub minute: u16,
}

/// A day of every week, or one of the calendar.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Day {
    /// From Monday, which is 0.
    OfWeek(u8),
    /// One day.
    Of(jiff::civil::Date),
}

impl Day {
    fn is(self, day: LocalDay) -> bool {
        match self {
            Self::OfWeek(weekday) => weekday == day.weekday,
            Self::Of(date) => date == day.date,
        }
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OfWeek(weekday) => f.write_str(WEEK.get(usize::from(*weekday)).unwrap_or(&"?")),
            Self::Of(date) => write!(f, "{date}"),
        }
    }
}

impl FromStr for Day {
    type Err = BadText;

    fn from_str(text: &str) -> Result<Self, BadText> {
        if let Some(weekday) = WEEK.iter().position(|day| *day == text) {
            return Ok(Self::OfWeek(u8::try_from(weekday).unwrap_or_default()));
        }
        // The calendar is written in one way only.
        let date = text.parse::<jiff::civil::Date>().ok().filter(|date| date.to_string() == text);
        let wrong =
            || BadText("must be mon, tue, wed, thu, fri, sat, sun or a date such as 2026-12-24".into());
        date.map(Self::Of).ok_or_else(wrong)
    }
}

/// Minutes since midnight, `00:00` to `24:00`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Minute(u16);

impl fmt::Display for Minute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.0 / 60, self.0 % 60)
    }
}

impl FromStr for Minute {
    type Err = BadText;

    fn from_str(text: &str) -> Result<Self, BadText> {
        let wrong = || BadText("must be a time such as 09:30, at most 24:00".into());
        let (hours, minutes) = text.split_once(':').ok_or_else(wrong)?;
        let two = |digits: &str| {
            let is_number = digits.len() == 2 && digits.bytes().all(|digit| digit.is_ascii_digit());
            digits.parse::<u16>().ok().filter(|_| is_number)
        };
        let (hours, minutes) = two(hours).zip(two(minutes)).ok_or_else(wrong)?;
        let minute = Self(hours * 60 + minutes);
        if minutes < 60 && minute.0 <= DAY_MINUTES { Ok(minute) } else { Err(wrong()) }
    }
}

/// Some hours of some days. Where they end before they begin, they end on the next day.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Window {
    /// On which days they begin.
    pub days: Vec<Day>,
    /// When they begin.
    pub from: Minute,
    /// When they are over.
    pub to: Minute,
}

impl Window {
    fn holds(&self, at: LocalTime) -> bool {
        let begins_on = |day: LocalDay| self.days.iter().any(|wanted| wanted.is(day));
        let (from, to) = (self.from.0, self.to.0);
        if from < to {
            return begins_on(at.today) && (from..to).contains(&at.minute);
        }
        (begins_on(at.today) && at.minute >= from) || (begins_on(at.yesterday) && at.minute < to)
    }
}

/// When a policy applies.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hours {
    /// Whose hours they are, such as `Europe/Berlin`.
    pub time_zone: String,
    /// In any of these.
    pub windows: Vec<Window>,
}

impl Hours {
    /// Whether the policy applies now. Where nobody knows what time it is there, it does.
    #[must_use]
    pub fn hold(&self, at: Option<LocalTime>) -> bool {
        at.is_none_or(|at| self.windows.iter().any(|window| window.holds(at)))
    }

    /// Whether the name of the time zone could be one.
    ///
    /// # Errors
    /// Why not.
    pub fn check_zone(&self) -> Result<(), BadText> {
        let is_plain = |letter: u8| letter.is_ascii_alphanumeric() || b"_+-/".contains(&letter);
        let is_short = (1..=ZONE_CHARS_MAX).contains(&self.time_zone.len());
        // A name is looked up among files.
        let leads_out = self.time_zone.starts_with('/') || self.time_zone.contains("//");
        if is_short && self.time_zone.bytes().all(is_plain) && !leads_out {
            return Ok(());
        }
        Err(BadText("must be the name of a time zone, such as Europe/Berlin".into()))
    }

    /// As they are stored.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let window = |window: &Window| {
            let days: Vec<String> = window.days.iter().map(ToString::to_string).collect();
            json!({"days": days, "from": window.from.to_string(), "to": window.to.to_string()})
        };
        json!({"time_zone": self.time_zone, "windows": self.windows.iter().map(window).collect::<Vec<_>>()})
    }

    /// Reads what [`Hours::to_value`] wrote.
    ///
    /// # Errors
    /// Something else was stored.
    pub fn from_value(value: &Value) -> Result<Self, NotRules> {
        let text = |value: &Value| value.as_str().map(str::to_owned).ok_or(NotRules);
        let day = |day: &Value| text(day)?.parse().map_err(|_| NotRules);
        let minute = |value: &Value| text(value)?.parse().map_err(|_| NotRules);
        let window = |window: &Value| {
            let days = window["days"].as_array().ok_or(NotRules)?;
            Ok(Window {
                days: days.iter().map(day).collect::<Result<_, NotRules>>()?,
                from: minute(&window["from"])?,
                to: minute(&window["to"])?,
            })
        };
        let windows = value["windows"].as_array().ok_or(NotRules)?;
        Ok(Self {
            time_zone: text(&value["time_zone"])?,
            windows: windows.iter().map(window).collect::<Result<_, NotRules>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> LocalDay {
        let date: jiff::civil::Date = text.parse().unwrap();
        LocalDay { weekday: u8::try_from(date.weekday().to_monday_zero_offset()).unwrap(), date }
    }

    fn at(date: &str, time: &str) -> Option<LocalTime> {
        let today = day(date);
        let yesterday = day(&today.date.yesterday().unwrap().to_string());
        Some(LocalTime { today, yesterday, minute: time.parse::<Minute>().unwrap().0 })
    }

    fn hours(days: &[&str], from: &str, to: &str) -> Hours {
        let days = days.iter().map(|day| day.parse().unwrap()).collect();
        let window = Window { days, from: from.parse().unwrap(), to: to.parse().unwrap() };
        Hours { time_zone: "UTC".into(), windows: vec![window] }
    }

    /// 2026-08-03 is a Monday.
    #[test]
    fn a_window_begins_on_its_days_and_may_end_on_the_next() {
        let work = hours(&["mon", "fri"], "09:00", "17:30");
        let night = hours(&["fri"], "22:00", "06:00");
        let whole = hours(&["2026-12-24"], "00:00", "24:00");
        for (hours, date, time, holds) in [
            (&work, "2026-08-03", "09:00", true),
            (&work, "2026-08-03", "08:59", false),
            (&work, "2026-08-03", "17:29", true),
            (&work, "2026-08-03", "17:30", false),
            (&work, "2026-08-04", "12:00", false),
            (&work, "2026-08-07", "12:00", true),
            (&night, "2026-08-07", "21:59", false),
            (&night, "2026-08-07", "22:00", true),
            (&night, "2026-08-07", "05:00", false),
            (&night, "2026-08-08", "05:59", true),
            (&night, "2026-08-08", "06:00", false),
            (&night, "2026-08-08", "23:00", false),
            (&whole, "2026-12-24", "00:00", true),
            (&whole, "2026-12-24", "23:59", true),
            (&whole, "2026-12-25", "00:00", false),
        ] {
            assert_eq!(hours.hold(at(date, time)), holds, "{date} {time} in {hours:?}");
        }
    }

    #[test]
    fn where_nobody_knows_the_time_it_applies() {
        assert!(hours(&["mon"], "09:00", "10:00").hold(None));
    }

    #[test]
    fn days_and_times_are_written_in_one_way() {
        for wrong in ["", "Mon", "monday", "2026-2-3", "2026-02-30", "20260203", "x"] {
            assert!(wrong.parse::<Day>().is_err(), "{wrong}");
        }
        for wrong in ["", "9:00", "09:60", "24:01", "25:00", "09:00:00", "+9:00", "09-00", "0900"] {
            assert!(wrong.parse::<Minute>().is_err(), "{wrong}");
        }
        for zone in ["", "/etc/passwd", "Europe//Berlin", "../x", "Europe/Berlin\n", &"x".repeat(65)] {
            let hours = Hours { time_zone: zone.to_owned(), windows: Vec::new() };
            assert!(hours.check_zone().is_err(), "{zone:?}");
        }
        for zone in ["UTC", "Europe/Berlin", "Etc/GMT+5", "America/Port-au-Prince"] {
            assert!(Hours { time_zone: zone.into(), windows: Vec::new() }.check_zone().is_ok(), "{zone}");
        }
    }

    #[test]
    fn what_is_stored_comes_back() {
        let hours = hours(&["mon", "2026-12-24"], "22:00", "24:00");
        assert_eq!(Hours::from_value(&hours.to_value()), Ok(hours));
        assert!(Hours::from_value(&json!({"time_zone": "UTC"})).is_err());
    }
}

//! Lengths of time in whole seconds, as people say and type them. What is said is exact: reading it gives the same number.

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
/// Below this many days people count in hours: a weekend is 48 h.
const DAYS_FROM: u64 = 3 * DAY;

/// `30 s`, `48 h`, `7 days`, `1 h 1 min 40 s`.
#[must_use]
pub fn spoken(seconds: u64) -> String {
    let days = if seconds >= DAYS_FROM { seconds / DAY } else { 0 };
    let rest = seconds - days * DAY;
    let parts = [(days, "days"), (rest / HOUR, "h"), (rest % HOUR / MINUTE, "min"), (rest % MINUTE, "s")];
    let said: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, unit)| format!("{count} {unit}")).collect();
    match said.is_empty() {
        true => "0 s".to_owned(),
        false => said.join(" "),
    }
}

/// The seconds of `48 h`, `1 h 30 min`, `7 days`; a number alone is seconds. None: it is no length of time.
#[must_use]
pub fn read_spoken(text: &str) -> Option<u64> {
    let text = text.trim().to_lowercase();
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(seconds);
    }
    let mut rest = text.as_str();
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit())?;
        let (number, behind) = rest.split_at(digits);
        let behind = behind.trim_start();
        let end = behind.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(behind.len());
        let (unit, behind) = behind.split_at(end);
        total = total.checked_add(number.parse::<u64>().ok()?.checked_mul(unit_of(unit)?)?)?;
        rest = behind.trim_start();
    }
    (!text.is_empty()).then_some(total)
}

fn unit_of(word: &str) -> Option<u64> {
    // A lone m could be a month.
    match word {
        "s" | "sec" | "second" | "seconds" => Some(1),
        "min" | "minute" | "minutes" => Some(MINUTE),
        "h" | "hour" | "hours" => Some(HOUR),
        "d" | "day" | "days" => Some(DAY),
        "week" | "weeks" => Some(7 * DAY),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn times_are_said_as_people_say_them() {
        for (seconds, words) in [
            (0, "0 s"),
            (30, "30 s"),
            (60, "1 min"),
            (300, "5 min"),
            (3600, "1 h"),
            (3700, "1 h 1 min 40 s"),
            (172_800, "48 h"),
            (604_800, "7 days"),
            (604_801, "7 days 1 s"),
            (7_776_000, "90 days"),
        ] {
            assert_eq!(spoken(seconds), words);
        }
    }

    #[test]
    fn times_are_taken_as_people_type_them() {
        for (text, seconds) in [
            ("7200", 7200),
            (" 2h ", 7200),
            ("2 hours", 7200),
            ("1 h 30 min", 5400),
            ("1h30min", 5400),
            ("2 WEEKS", 1_209_600),
            ("1 day 1 s", 86_401),
        ] {
            assert_eq!(read_spoken(text), Some(seconds), "{text}");
        }
        for wrong in
            ["", " ", "h", "1", "1 m", "1.5 h", "-1 h", "nope", "[1]", "1 h 5", "99999999999999999 weeks"]
        {
            assert_eq!(read_spoken(wrong).is_some(), wrong == "1", "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn what_is_said_is_exact(seconds in any::<u32>()) {
            prop_assert_eq!(read_spoken(&spoken(seconds.into())), Some(seconds.into()));
        }
    }
}

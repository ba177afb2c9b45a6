//! Times, as people read them: how long, and when.

use std::time::Duration;

use domain::Timestamp;

use super::Markup;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
/// From here on only whole hours, or days, are told.
const MINUTES_TOLD_BELOW: u64 = 10 * HOUR;
const HOURS_TOLD_BELOW: u64 = 3 * DAY;
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// `40 s`, `48 min`, `1 h 05 min`, `23 h`, `5 d`.
pub(crate) fn span(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..MINUTE => format!("{seconds} s"),
        seconds @ MINUTE..HOUR => format!("{} min", seconds / MINUTE),
        seconds @ HOUR..MINUTES_TOLD_BELOW => {
            format!("{} h {:02} min", seconds / HOUR, seconds % HOUR / MINUTE)
        }
        seconds @ MINUTES_TOLD_BELOW..HOURS_TOLD_BELOW => format!("{} h", seconds / HOUR),
        seconds => format!("{} d", seconds / DAY),
    }
}

/// `18 Mar 2026, 12:18 UTC`.
pub(crate) fn absolute(at: Timestamp) -> String {
    let text = at.to_string();
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    let month = part(5, 7).parse::<usize>().ok().and_then(|number| MONTHS.get(number.wrapping_sub(1)));
    let Some(month) = month else { return text };
    let day = part(8, 10).trim_start_matches('0');
    format!("{day} {month} {}, {} UTC", part(0, 4), part(11, 16))
}

/// `12:18 UTC`; with the date where it is not today.
pub(crate) fn clock(at: Timestamp, now: Timestamp) -> String {
    let (then, today) = (at.to_string(), now.to_string());
    match then.get(..10) == today.get(..10) {
        true => format!("{} UTC", then.get(11..16).unwrap_or_default()),
        false => absolute(at),
    }
}

/// A time with these words; the exact one is in it.
pub(crate) fn time(at: Timestamp, words: &str) -> Markup {
    let mut markup = Markup::default();
    markup.raw(format_args!("<time datetime=\"{at}\" title=\"{}\">", absolute(at)));
    markup.text(words);
    markup.raw(format_args!("</time>"));
    markup
}

/// How long it has lasted: `2 h 14 min`.
pub(crate) fn long(at: Timestamp, now: Timestamp) -> Markup {
    time(at, &span(now.since(at)))
}

/// `31 min ago`.
pub(crate) fn ago(at: Timestamp, now: Timestamp) -> Markup {
    time(at, &format!("{} ago", span(now.since(at))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_the_precision_that_matters() {
        for (seconds, text) in [
            (0, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (3599, "59 min"),
            (3900, "1 h 05 min"),
            (36_000, "10 h"),
            (259_199, "71 h"),
            (259_200, "3 d"),
        ] {
            assert_eq!(span(Duration::from_secs(seconds)), text);
        }
    }

    #[test]
    fn times_are_relative_and_absolute() {
        let at = Timestamp::from_micros(1_773_847_800_123_456);
        let now = at.plus(Duration::from_secs(3900));
        assert_eq!(absolute(at), "18 Mar 2026, 15:30 UTC");
        assert_eq!(clock(at, now), "15:30 UTC");
        assert_eq!(clock(at, at.plus(Duration::from_secs(86_400))), "18 Mar 2026, 15:30 UTC");
        let shown = ago(at, now).to_string();
        assert_eq!(
            shown,
            "<time datetime=\"2026-03-18T15:30:00.123456Z\" title=\"18 Mar 2026, 15:30 UTC\">1 h 05 min ago</time>"
        );
    }
}

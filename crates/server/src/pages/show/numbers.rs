//! Numbers, with separators and their nouns.

use hub::desk::COUNTED_MAX;

/// `412,806,113`.
pub(crate) fn grouped(number: impl Into<i64>) -> String {
    let number: i64 = number.into();
    let digits = number.unsigned_abs().to_string();
    let mut text = String::from(if number < 0 { "−" } else { "" });
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count that is known up to a bound: `41`, or `999+`.
pub(crate) fn counted(number: i64) -> String {
    if number < COUNTED_MAX { grouped(number) } else { format!("{}+", COUNTED_MAX - 1) }
}

/// `1 task`, `3 tasks`.
pub(crate) fn plural(number: usize, noun: &str) -> String {
    let number = i64::try_from(number).unwrap_or(i64::MAX);
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", grouped(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_apart() {
        for (number, text) in
            [(0, "0"), (999, "999"), (1000, "1,000"), (412_806_113, "412,806,113"), (-1234, "−1,234")]
        {
            assert_eq!(grouped(number), text);
        }
        assert_eq!((counted(999), counted(1000)), ("999".into(), "999+".into()));
        assert_eq!((plural(1, "task"), plural(0, "task")), ("1 task".into(), "0 tasks".into()));
    }
}

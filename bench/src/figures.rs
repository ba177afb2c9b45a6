//! From measured values to a table that can be pasted into a page.

/// The values of one figure, one for each round.
#[derive(Clone, Debug)]
pub(crate) struct Figure(Vec<f64>);

impl Figure {
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        Self(values)
    }

    /// The middle value; with an even count the lower of the two, which was at least measured.
    pub(crate) fn median(&self) -> f64 {
        self.0.get(self.0.len().saturating_sub(1) / 2).copied().unwrap_or(f64::NAN)
    }

    fn range(&self) -> (f64, f64) {
        let end = |value: Option<&f64>| value.copied().unwrap_or(f64::NAN);
        (end(self.0.first()), end(self.0.last()))
    }
}

/// One figure divided by another, round by round: both sides of a round ran next to each other, so what
/// disturbed one is likely to have disturbed the other.
pub(crate) fn ratio(one: &[f64], other: &[f64]) -> Figure {
    Figure::of(one.iter().zip(other).map(|(one, other)| one / other))
}

/// What one figure has more than another, round by round, for the same reason.
pub(crate) fn difference(one: &[f64], other: &[f64]) -> Figure {
    Figure::of(one.iter().zip(other).map(|(one, other)| one - other))
}

/// What a figure must reach.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bar {
    AtLeast(f64),
    AtMost(f64),
    Below(f64),
    /// It is here to explain another one.
    None,
}

impl Bar {
    fn is_met_by(self, value: f64) -> bool {
        match self {
            Self::AtLeast(bar) => value >= bar,
            Self::AtMost(bar) => value <= bar,
            Self::Below(bar) => value < bar,
            Self::None => true,
        }
    }
}

/// One line of the table.
#[derive(Debug)]
pub(crate) struct Row {
    what: String,
    figure: Figure,
    digits: usize,
    bar: Bar,
}

impl Row {
    pub(crate) fn new(what: impl Into<String>, figure: Figure, digits: usize) -> Self {
        Self { what: what.into(), figure, digits, bar: Bar::None }
    }

    pub(crate) fn with_bar(self, bar: Bar) -> Self {
        Self { bar, ..self }
    }
}

/// All lines, in Markdown.
pub(crate) fn table(rows: &[Row]) -> String {
    let mut text = "| what | median | range | bar | |\n|---|--:|--:|--:|---|\n".to_owned();
    for Row { what, figure, digits, bar } in rows {
        let shown = |value: f64| grouped(value, *digits);
        let (low, high) = figure.range();
        let verdict = match bar {
            Bar::None => "",
            bar if bar.is_met_by(figure.median()) => "met",
            _ => "**MISSED**",
        };
        let bar = match *bar {
            Bar::AtLeast(bar) => format!("≥ {}", shown(bar)),
            Bar::AtMost(bar) => format!("≤ {}", shown(bar)),
            Bar::Below(bar) => format!("< {}", shown(bar)),
            Bar::None => String::new(),
        };
        let (middle, range) = match figure.0.is_empty() {
            true => ("missing".to_owned(), String::new()),
            false => (shown(figure.median()), format!("{}–{}", shown(low), shown(high))),
        };
        text.push_str(&format!("| {what} | {middle} | {range} | {bar} | {verdict} |\n"));
    }
    text
}

/// The number with this many decimals and its thousands apart.
pub(crate) fn grouped(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut out = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if out.ends_with(|before: char| before.is_ascii_digit()) && (whole.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_a_value_that_was_measured() {
        assert_eq!(Figure::of([3.0, 1.0, 2.0]).median(), 2.0);
        assert_eq!(Figure::of([4.0, 1.0, 2.0, 3.0]).median(), 2.0);
        assert!(Figure::of([]).median().is_nan());
    }

    #[test]
    fn a_ratio_is_taken_round_by_round() {
        let figure = ratio(&[10.0, 30.0, 90.0], &[10.0, 20.0, 30.0]);
        assert_eq!((figure.median(), figure.range()), (1.5, (1.0, 3.0)));
    }

    #[test]
    fn a_difference_is_taken_round_by_round() {
        let figure = difference(&[10.0, 30.0, 90.0], &[4.0, 20.0, 95.0]);
        assert_eq!((figure.median(), figure.range()), (6.0, (-5.0, 10.0)));
    }

    #[test]
    fn a_bar_that_is_reached_exactly_is_met() {
        assert!(Bar::AtMost(6.0).is_met_by(6.0) && !Bar::AtMost(6.0).is_met_by(6.01));
        assert!(Bar::AtLeast(6.0).is_met_by(6.0) && !Bar::Below(6.0).is_met_by(6.0));
        assert!(!Bar::AtMost(6.0).is_met_by(f64::NAN));
    }

    #[test]
    fn a_miss_is_shown_as_one() {
        let bar = |bar| Row::new("x", Figure::of([1_234.4]), 0).with_bar(bar);
        let bars = [Bar::AtLeast(2_000.0), Bar::AtMost(1_000.0), Bar::Below(2_000.0), Bar::None];
        let text = table(&bars.map(bar));
        let lines: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                "| x | 1,234 | 1,234–1,234 | ≥ 2,000 | **MISSED** |",
                "| x | 1,234 | 1,234–1,234 | ≤ 1,000 | **MISSED** |",
                "| x | 1,234 | 1,234–1,234 | < 2,000 | met |",
                "| x | 1,234 | 1,234–1,234 |  |  |",
            ]
        );
    }

    #[test]
    fn nothing_measured_meets_no_bar() {
        let row = Row::new("x", Figure::of([]), 0).with_bar(Bar::Below(1.0));
        assert!(table(&[row]).ends_with("| x | missing |  | < 1 | **MISSED** |\n"));
    }

    #[test]
    fn thousands_stand_apart() {
        assert_eq!(grouped(1_234_567.0, 0), "1,234,567");
        assert_eq!(grouped(999.95, 1), "1,000.0");
        assert_eq!(grouped(0.853, 2), "0.85");
        assert_eq!(grouped(-1_000.0, 0), "-1,000");
        assert_eq!(grouped(-779.0, 0), "-779");
    }
}

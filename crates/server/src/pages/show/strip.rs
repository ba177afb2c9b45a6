//! A hash that the eye can compare: one bar a digit.

use domain::canonical::Sha256Hash;

use super::Markup;

/// Bars in lists.
pub(crate) const SHORT: usize = 16;
/// Bars where something is signed or proven: all digits.
pub(crate) const WHOLE: usize = 64;

const PITCH: usize = 4;
/// Where the bar of each digit ends, 14 being the ground; that of 0 is seen too.
const TOPS: [&str; 16] = [
    "12", "11.2", "10.4", "9.6", "8.8", "8", "7.2", "6.4", "5.6", "4.8", "4", "3.2", "2.4", "1.6", ".8", "0",
];

/// The first digits as bars. The digits stand beside it wherever something depends on them.
pub(crate) fn strip(hash: Sha256Hash, bars: usize) -> Markup {
    let text = hash.to_string();
    let digits = text.rsplit(':').next().unwrap_or_default();
    let width = bars * PITCH - 1;
    let class = if bars > SHORT { "strip strip-lg" } else { "strip" };
    let mut markup = Markup::default();
    markup.raw(format_args!(
        "<svg class=\"{class}\" viewBox=\"0 0 {width} 14\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
    ));
    // One shape for all bars: a list has thousands of them, and each is a few bytes of it.
    markup.raw(format_args!("<path d=\""));
    for (place, digit) in digits.chars().take(bars).enumerate() {
        let value = digit.to_digit(16).unwrap_or(0) as usize;
        let (x, top) = (place * PITCH, TOPS.get(value).copied().unwrap_or_default());
        markup.raw(format_args!("M{x} 14V{top}h2.6V14z"));
    }
    markup.raw(format_args!("\"/></svg>"));
    markup
}

/// A hash in all the ways it is shown.
pub(crate) struct HashShown {
    /// `sha256:…`, whole.
    pub(crate) whole: String,
    /// The first eight digits, as buttons and lists have them.
    pub(crate) short: String,
    /// What is between the first and the last eight digits.
    pub(crate) middle: String,
    /// The last eight digits.
    pub(crate) last: String,
    /// 16 bars.
    pub(crate) strip: Markup,
    /// 64 bars.
    pub(crate) full: Markup,
}

impl HashShown {
    pub(crate) fn of(hash: Sha256Hash) -> Self {
        let whole = hash.to_string();
        let digits = whole.rsplit(':').next().unwrap_or_default();
        let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default().to_owned();
        Self {
            short: part(0, 8),
            middle: part(8, WHOLE - 8),
            last: part(WHOLE - 8, WHOLE),
            strip: strip(hash, SHORT),
            full: strip(hash, WHOLE),
            whole,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_digit_has_its_bar() {
        let hash: Sha256Hash = format!("sha256:{}", "0f".repeat(32)).parse().unwrap();
        let (short, whole) = (strip(hash, SHORT).to_string(), strip(hash, WHOLE).to_string());
        assert_eq!((short.matches('M').count(), whole.matches('M').count()), (16, 64));
        assert!(short.contains("<path d=\"M0 14V12h2.6V14zM4 14V0h2.6V14z"), "{short}");
        let shown = HashShown::of(hash);
        assert_eq!(format!("sha256:{}{}{}", shown.short, shown.middle, shown.last), shown.whole);
    }
}

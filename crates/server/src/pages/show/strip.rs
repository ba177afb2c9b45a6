//! A hash that the eye can compare: one bar a digit.

use domain::canonical::Sha256Hash;

use super::Markup;

/// Bars in lists.
pub(crate) const SHORT: usize = 16;
/// Bars where something is signed or proven: all digits.
pub(crate) const WHOLE: usize = 64;

const PITCH: usize = 4;
const HEIGHT: f64 = 14.0;
const LOWEST: f64 = 2.0;

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
    for (place, digit) in digits.chars().take(bars).enumerate() {
        let value = f64::from(digit.to_digit(16).unwrap_or(0));
        let height = LOWEST + value * (HEIGHT - LOWEST) / 15.0;
        let (x, y) = (place * PITCH, HEIGHT - height);
        markup.raw(format_args!(
            "<rect x=\"{x}\" y=\"{y:.1}\" width=\"2.6\" height=\"{height:.1}\" rx=\".8\"/>"
        ));
    }
    markup.raw(format_args!("</svg>"));
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
        assert_eq!((short.matches("<rect").count(), whole.matches("<rect").count()), (16, 64));
        assert!(short.contains("y=\"12.0\" width=\"2.6\" height=\"2.0\""), "{short}");
        assert!(short.contains("y=\"0.0\" width=\"2.6\" height=\"14.0\""), "{short}");
        let shown = HashShown::of(hash);
        assert_eq!(format!("sha256:{}{}{}", shown.short, shown.middle, shown.last), shown.whole);
    }
}

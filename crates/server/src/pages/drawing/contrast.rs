//! Whether what is drawn can be told from what it is drawn on (WCAG 1.4.11), in both themes.

use std::collections::BTreeMap;

const TOKENS: &str = include_str!("../../../assets/tokens.css");
/// What charts fill their bars with.
const DRAWN: [&str; 8] = ["c1", "c2", "c3", "c4", "c5", "c6", "c7", "run"];
/// What they lie on: cards, the sheet below them, and the empty part of a bar.
const GROUNDS: [&str; 3] = ["surface", "bg", "fill"];
const RATIO_MIN: f64 = 3.0;

/// Every colour by its name, for the light and for the dark theme.
fn colours() -> BTreeMap<&'static str, [f64; 2]> {
    let token = |line: &'static str| {
        let (name, rest) = line.trim().strip_prefix("--")?.split_once(": light-dark(")?;
        let (light, dark) = rest.split_once(')')?.0.split_once(", ")?;
        Some((name, [luminance(light)?, luminance(dark)?]))
    };
    TOKENS.lines().filter_map(token).collect()
}

/// How bright a colour is, as WCAG counts it.
fn luminance(colour: &str) -> Option<f64> {
    let digits = colour.strip_prefix('#').filter(|digits| digits.len() == 6)?;
    let part = |from: usize| {
        let value = f64::from(u8::from_str_radix(digits.get(from..from + 2)?, 16).ok()?) / 255.0;
        Some(if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) })
    };
    Some(0.2126 * part(0)? + 0.7152 * part(2)? + 0.0722 * part(4)?)
}

#[test]
fn every_bar_stands_out_from_what_it_is_drawn_on() {
    let colours = colours();
    for (name, ground) in DRAWN.iter().flat_map(|name| GROUNDS.map(|ground| (name, ground))) {
        for (place, theme) in ["light", "dark"].into_iter().enumerate() {
            let (one, other) = (colours[name][place], colours[ground][place]);
            let ratio = (one.max(other) + 0.05) / (one.min(other) + 0.05);
            assert!(ratio >= RATIO_MIN, "{name} on {ground}, {theme}: {ratio:.2} : 1");
        }
    }
}

//! How much a test does: everything in `cargo xtask soak`, a tenth in `cargo xtask test`.

/// The count at the scale of this run, at least one.
#[must_use]
pub fn scaled(count: usize) -> usize {
    let scale = std::env::var("COUNTERSIGN_TEST_SCALE").ok().and_then(|text| text.parse::<f64>().ok());
    let scaled = (count as f64 * scale.unwrap_or(0.1)).round();
    (scaled as usize).max(1)
}

//! Drawings made here: where things stand and how lines run. Geometry goes into attributes, colour comes from classes.

pub(super) mod charts;
#[cfg(test)]
mod contrast;
pub(super) mod layers;

/// How wide a text is in the drawing's font of 12 px, from above: letters differ, and a box that is too wide does no harm.
pub(super) fn fitting(text: &str, pixels: i32) -> String {
    const LETTER: i32 = 8;
    let room = usize::try_from(pixels / LETTER).unwrap_or(0).max(1);
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let kept: String = text.chars().take(room - 1).collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::fitting;

    #[test]
    fn a_text_that_is_too_long_ends_in_dots() {
        assert_eq!(fitting("Drop legacy_status", 160), "Drop legacy_status");
        assert_eq!(fitting("Drop column legacy_status from orders", 160), "Drop column legacy_…");
        assert_eq!(fitting("äöü äöü äöü", 32), "äöü…");
        assert_eq!(fitting("x", 0), "x");
    }
}

//! What templates can do to a word.

#![expect(unreachable_pub, reason = "the macro makes a public type of each filter")]

use askama::filters::HtmlSafeOutput;
use askama::{Result, Values};

use crate::pages::assets;

/// The address of a file, as it is in this release.
#[askama::filter_fn]
pub(crate) fn asset(name: impl std::fmt::Display, _: &dyn Values) -> Result<HtmlSafeOutput<String>> {
    Ok(HtmlSafeOutput(assets::address(&name.to_string())))
}

/// A symbol of the sprite, of the usual size.
#[askama::filter_fn]
pub(crate) fn icon(name: impl std::fmt::Display, _: &dyn Values) -> Result<HtmlSafeOutput<String>> {
    Ok(HtmlSafeOutput(super::filters::symbol(&name.to_string(), "i")))
}

/// The same, with these classes.
#[askama::filter_fn]
pub(crate) fn icon_as(
    name: impl std::fmt::Display,
    _: &dyn Values,
    classes: &str,
) -> Result<HtmlSafeOutput<String>> {
    Ok(HtmlSafeOutput(super::filters::symbol(&name.to_string(), classes)))
}

/// A symbol of the sprite; it says nothing that is not also said in words.
pub(super) fn symbol(name: &str, classes: &str) -> String {
    let address = assets::address("icons.svg");
    format!("<svg class=\"{classes}\" aria-hidden=\"true\"><use href=\"{address}#{name}\"/></svg>")
}

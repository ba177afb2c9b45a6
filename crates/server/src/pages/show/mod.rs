//! How things look, wherever they are shown: times, texts of strangers, hashes, risks, states, people.
//!
//! Everything here is [`Markup`]: HTML that is finished. Templates put it in as it is, and nothing else makes it, so what
//! strangers write is escaped in one place.

mod badges;
mod code;
mod console;
mod diff;
pub(crate) mod filters;
mod markup;
mod numbers;
mod strip;
mod times;

pub(crate) use badges::{Face, pill, pill_of, resource_icon, risk, risk_of, seats};
pub(crate) use code::{Code, code};
pub(crate) use console::output;
pub(crate) use diff::{Compared, compared};
pub(crate) use markup::{Markup, line, lines, whole};
pub(crate) use numbers::{counted, grouped, plural};
pub(crate) use strip::{HashShown, strip};
pub(crate) use times::{absolute, ago, clock, long, span, time};

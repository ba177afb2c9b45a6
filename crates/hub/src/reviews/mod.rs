//! Reviews: people asked, answers counted, ends noted. All of it inside the units of those who act.

mod again;
mod begin;
mod case;
mod finish;
mod people;
mod plan;
mod seen;

pub(crate) use again::review_stale;
pub(crate) use begin::{ask, begin, transition};
pub(crate) use case::{load, of_task};
pub(crate) use finish::{finish, tell_dependents, void};
pub(crate) use people::one as candidate;
pub(crate) use plan::{Matter, due, plan};
pub use seen::ReviewSeen;
pub(crate) use seen::seen;

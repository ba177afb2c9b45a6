//! Reviews: people asked, answers counted, ends noted. All of it inside the units of those who act.

mod begin;
mod case;
mod finish;
mod people;
mod seen;

pub(crate) use begin::{Matter, ask, begin, due, transition};
pub(crate) use case::{load, of_task};
pub(crate) use finish::{finish, tell_dependents, void};
pub(crate) use people::one as candidate;
pub use seen::ReviewSeen;
pub(crate) use seen::seen;

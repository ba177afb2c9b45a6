//! Reviews: people asked, answers counted, ends noted. All of it inside the units of those who act.

mod again;
mod begin;
mod case;
mod escalate;
mod finish;
mod people;
mod plan;
mod reroute;
mod seen;

pub(crate) use again::review_stale;
pub(crate) use begin::{ask, begin, transition};
pub(crate) use case::{load, of_task};
pub use escalate::escalate_due;
pub(crate) use finish::{close, close_open, close_skips, finish, tell_dependents, void};
pub(crate) use people::{admins, candidates, one as candidate, several as several_candidates};
pub(crate) use plan::{Matter, plan};
pub(crate) use reroute::{
    Cause, LOOKED_AT_ONCE, note as note_move, reroute, reroute_all, save as save_moved,
};
pub use seen::ReviewSeen;
pub(crate) use seen::seen_all;

//! Archives: finished tasks leave after the organization's retention, and stay readable and provable.

mod load;
mod read;
mod write;

pub use read::{ArchivePlace, get, line_of, list, read};
pub use write::archive_old;

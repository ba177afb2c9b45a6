//! What people are told: written in the unit of what it tells of, listed, read, and forgotten with the events.

mod forget;
mod list;
mod preferences;
mod tell;
mod told;

use domain::Id;
use domain::accounts::Account;
use domain::organizations::Organization;

pub(crate) use forget::forget_of;
pub use list::{COUNTED_MAX, get, list, read, read_all, unread};
pub use preferences::{etag, preferences, set_preferences};
pub use records::notifications::Filter;
pub(crate) use tell::tell;
pub use told::{Told, told};

use crate::{Caller, HubError};

const MISSING: HubError = HubError::NotFound("notification");

/// Whose they are: everybody has their own, in each organization.
fn whose(caller: &Caller) -> (Id<Organization>, Id<Account>) {
    (caller.credential.organization.id, caller.credential.account.id)
}

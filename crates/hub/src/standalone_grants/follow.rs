//! Following what becomes of grants.

use domain::events::TypeFilter;
use domain::permissions::Capability;

use super::{TOLD, must_be_tenant};
use crate::events::follow::{self, Follower, Wanted};
use crate::{Caller, Hub, HubError};

/// Begins to follow the grants of the caller's organization, from now on. It asks for the right to read grants, and not for
/// the one to read all events.
pub async fn follow(
    hub: &Hub,
    caller: &Caller,
    tenant: &str,
    followers_max: usize,
) -> Result<Follower, HubError> {
    must_be_tenant(caller, tenant)?;
    let types = TypeFilter::of(&TOLD);
    let wanted = Wanted { since: None, types, followers_max, needs: Capability::GrantsRead };
    follow::follow(hub, caller, wanted).await
}

//! What everybody gets, where several doors answer alike.

/// Everybody may.
pub(super) const OPEN: [u16; 9] = [200; 9];
/// Whoever has a key may.
pub(super) const KEY: [u16; 9] = [401, 200, 200, 200, 200, 200, 200, 200, 200];
/// Every member may read it, each tenant its own.
pub(super) const MEMBERS: [u16; 9] = [401, 403, 403, 200, 200, 200, 200, 200, 200];
/// Every member may read it, and for others it does not exist.
pub(super) const MEMBERS_ONE: [u16; 9] = [401, 403, 403, 200, 200, 200, 200, 200, 404];
/// Every member may read it, agents with their usual keys too, each tenant its own.
pub(super) const WORKERS: [u16; 9] = [401, 403, 200, 200, 200, 200, 200, 200, 200];
/// Every member may read it, agents with their usual keys too, and for others it does not exist.
pub(super) const WORKERS_ONE: [u16; 9] = [401, 403, 200, 200, 200, 200, 200, 200, 404];
/// Admins may, each of their own organization.
pub(super) const ADMINS: [u16; 9] = [401, 403, 403, 403, 403, 403, 200, 200, 200];
/// Admins may, and for others it does not exist.
pub(super) const ADMINS_ONE: [u16; 9] = [401, 403, 403, 403, 403, 403, 200, 200, 404];
/// Admins may make one, each in their own organization.
pub(super) const ADMINS_MAKE: [u16; 9] = [401, 403, 403, 403, 403, 403, 201, 201, 201];
/// Admins may have another of it made, and for others it does not exist.
pub(super) const ADMINS_RENEW: [u16; 9] = [401, 403, 403, 403, 403, 403, 201, 201, 404];
/// Admins might if it were not switched off, and for others it does not exist.
pub(super) const ADMINS_TOO_LATE: [u16; 9] = [401, 403, 403, 403, 403, 403, 409, 409, 404];
/// Whoever has a key may, and has not asked for a socket.
pub(super) const NO_UPGRADE: [u16; 9] = [401, 426, 426, 426, 426, 426, 426, 426, 426];
/// Authors and admins may make one, each in their own organization.
pub(super) const AUTHORS_MAKE: [u16; 9] = [401, 403, 403, 403, 201, 403, 201, 201, 201];
/// Authors and admins may, and for others it does not exist.
pub(super) const AUTHORS_ONE: [u16; 9] = [401, 403, 403, 403, 200, 403, 200, 200, 404];
/// Authors and admins may end it, and for others it does not exist.
pub(super) const AUTHORS_END: [u16; 9] = [401, 403, 403, 403, 204, 403, 204, 204, 404];
/// Admins may end it, and for others it does not exist.
pub(super) const ADMINS_END: [u16; 9] = [401, 403, 403, 403, 403, 403, 204, 204, 404];
/// Whoever it was sent to may, and for others it does not exist.
pub(super) const RECEIVER: [u16; 9] = [401, 403, 403, 404, 404, 404, 404, 200, 404];
/// Whoever was told it, with whatever key reads events; for others it does not exist.
pub(super) const TOLD: [u16; 9] = [401, 200, 404, 404, 404, 404, 404, 200, 404];
/// Whoever is asked may, and nobody for them; for others it does not exist.
pub(super) const ASKED: [u16; 9] = [401, 403, 403, 403, 403, 403, 403, 200, 404];

/// Agents too, each for itself.
pub(super) const LOCKERS: [u16; 9] = [401, 403, 200, 200, 200, 200, 200, 200, 200];
/// Whoever holds it; for others it is not theirs, or not there.
pub(super) const HOLDER: [u16; 9] = [401, 403, 409, 409, 409, 409, 409, 200, 409];

/// Whoever answers for the agent; for others it does not exist.
pub(super) const OWNERS_ONE: [u16; 9] = [401, 403, 403, 403, 403, 403, 403, 200, 404];

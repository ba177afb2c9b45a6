//! The one table of what every route answers to everybody. A route that is not here fails the tests.

use server::routes::{Listed, Needs};

/// Who the columns of the table are, from those who may least to those who may most, and last an outsider.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Column {
    /// Without a credential, from elsewhere.
    Stranger,
    /// The instance admin's key with `events:read` only.
    Narrow,
    /// An agent of the author's, with the scopes agents usually get.
    Agent,
    /// A member without roles.
    Member,
    /// A member with the role `author`.
    Author,
    /// A member with the role `reviewer`.
    Reviewer,
    /// An admin of the organization, not of the instance.
    Admin,
    /// The owner of the organization, who also runs the instance, and whose things are named.
    Instance,
    /// The owner of another organization.
    Other,
}

/// A route, a call of it that would be right if only the caller might make it, and what everybody gets.
pub(crate) struct Door {
    pub(crate) method: &'static str,
    /// As the table of routes has it.
    pub(crate) path: &'static str,
    /// What stands in the path for each parameter. `$…` is a fresh thing of the organization (`things.rs`).
    pub(crate) names: &'static [&'static str],
    /// A body that is right; empty where the route takes none.
    pub(crate) body: &'static str,
    /// The status for each column. What opens nothing (revoked, suspended, …) follows from what the route needs.
    answers: [u16; 9],
}

impl Door {
    pub(crate) fn answer(&self, column: Column) -> u16 {
        self.answers[column as usize]
    }

    pub(crate) fn is_read(&self) -> bool {
        self.method == "GET"
    }

    pub(crate) fn takes_body(&self) -> bool {
        !self.body.is_empty()
    }

    pub(crate) fn is(&self, route: &Listed) -> bool {
        self.method == route.method && self.path == route.path
    }
}

impl std::fmt::Display for Door {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.method, self.path)
    }
}

/// What the table of routes itself says about a stranger, a key that may only read events, and a dead key.
pub(crate) fn needed(needs: Needs) -> (u16, u16, u16) {
    match needs {
        Needs::Nothing => (200, 200, 200),
        Needs::LocalOr { strangers: true, .. } => (200, 200, 401),
        Needs::LocalOr { strangers: false, .. } => (401, 403, 401),
        Needs::Key => (401, 200, 401),
        Needs::Capability(capability) if capability.as_str() == "events:read" => (401, 200, 401),
        Needs::Capability(_) => (401, 403, 401),
    }
}

const fn door(
    method: &'static str,
    path: &'static str,
    names: &'static [&'static str],
    body: &'static str,
    answers: [u16; 9],
) -> Door {
    Door { method, path, names, body, answers }
}

/// Everybody may.
const OPEN: [u16; 9] = [200; 9];
/// Whoever has a key may.
const KEY: [u16; 9] = [401, 200, 200, 200, 200, 200, 200, 200, 200];
/// Every member may read it, each tenant its own.
const MEMBERS: [u16; 9] = [401, 403, 403, 200, 200, 200, 200, 200, 200];
/// Every member may read it, and for others it does not exist.
const MEMBERS_ONE: [u16; 9] = [401, 403, 403, 200, 200, 200, 200, 200, 404];
/// Admins may, each of their own organization.
const ADMINS: [u16; 9] = [401, 403, 403, 403, 403, 403, 200, 200, 200];
/// Admins may, and for others it does not exist.
const ADMINS_ONE: [u16; 9] = [401, 403, 403, 403, 403, 403, 200, 200, 404];
/// Whoever it was sent to may, and for others it does not exist.
const RECEIVER: [u16; 9] = [401, 403, 403, 404, 404, 404, 404, 200, 404];

pub(crate) const DOORS: &[Door] = &[
    door("GET", "/healthz", &[], "", OPEN),
    door("GET", "/readyz", &[], "", OPEN),
    // Of the whole instance, so a tenant's admin does not see them.
    door("GET", "/metrics", &[], "", [401, 403, 403, 403, 403, 403, 403, 200, 403]),
    door("GET", "/errors/{code}", &["NOT_FOUND"], "", OPEN),
    door("GET", "/api/v1/me", &[], "", KEY),
    door("GET", "/api/v1/accounts", &[], "", MEMBERS),
    door(
        "POST",
        "/api/v1/accounts",
        &[],
        r#"{"email": "$fresh@example.org", "display_name": "Fay", "roles": ["dba"], "manager_id": "$maker"}"#,
        // Another tenant's manager is none here.
        [401, 403, 403, 403, 403, 403, 201, 201, 422],
    ),
    door("GET", "/api/v1/accounts/{id}", &["$member"], "", MEMBERS_ONE),
    door("PATCH", "/api/v1/accounts/{id}", &["$member"], r#"{"display_name": "Fay II"}"#, ADMINS_ONE),
    door("GET", "/api/v1/organizations", &[], "", MEMBERS),
    door(
        "POST",
        "/api/v1/organizations",
        &[],
        r#"{"name": "$fresh", "slug": "$fresh"}"#,
        [401, 403, 403, 403, 403, 403, 403, 201, 403],
    ),
    door("GET", "/api/v1/organizations/{id}", &["$org"], "", MEMBERS_ONE),
    door("PATCH", "/api/v1/organizations/{id}", &["$org"], r#"{"gitea_org_name": "$fresh"}"#, ADMINS_ONE),
    door(
        "POST",
        "/api/v1/organizations/{id}/transfer-ownership",
        &["$org"],
        r#"{"account_id": "$member"}"#,
        [401, 403, 403, 403, 403, 403, 403, 200, 404],
    ),
    door("GET", "/api/v1/organizations/{id}/members", &["$org"], "", MEMBERS_ONE),
    door(
        "POST",
        "/api/v1/organizations/{id}/members",
        &["$org"],
        r#"{"account_id": "$outsider", "membership_level": "member", "roles": ["dba"], "manager_id": "$maker"}"#,
        [401, 403, 403, 403, 403, 403, 201, 201, 404],
    ),
    door("GET", "/api/v1/organizations/{id}/members/{account_id}", &["$org", "$member"], "", MEMBERS_ONE),
    door(
        "PATCH",
        "/api/v1/organizations/{id}/members/{account_id}",
        &["$org", "$member"],
        r#"{"roles": ["dba", "reviewer"], "manager_id": "$maker"}"#,
        ADMINS_ONE,
    ),
    door(
        "DELETE",
        "/api/v1/organizations/{id}/members/{account_id}",
        &["$org", "$member"],
        "",
        [401, 403, 403, 403, 403, 403, 204, 204, 404],
    ),
    door("GET", "/api/v1/invitations", &[], "", MEMBERS),
    door("GET", "/api/v1/invitations/{id}", &["$sent"], "", [401, 403, 403, 404, 404, 404, 200, 200, 404]),
    door("POST", "/api/v1/invitations/{id}/accept", &["$received"], "{}", RECEIVER),
    door("POST", "/api/v1/invitations/{id}/decline", &["$received"], "{}", RECEIVER),
    door("DELETE", "/api/v1/invitations/{id}", &["$sent"], "", ADMINS_ONE),
    door("GET", "/api/v1/api-keys", &[], "", MEMBERS),
    door(
        "POST",
        "/api/v1/api-keys",
        &[],
        r#"{"name": "ci", "scopes": ["events:read"]}"#,
        [401, 403, 403, 201, 201, 201, 201, 201, 201],
    ),
    door("GET", "/api/v1/api-keys/{id}", &["$key"], "", [401, 403, 403, 404, 404, 404, 200, 200, 404]),
    door("DELETE", "/api/v1/api-keys/{id}", &["$key"], "", [401, 403, 403, 404, 404, 404, 204, 204, 404]),
    // An admin sees and ends the owner's key, and gets none that acts as the owner.
    door(
        "POST",
        "/api/v1/api-keys/{id}/rotate",
        &["$key"],
        "{}",
        [401, 403, 403, 404, 404, 404, 403, 201, 404],
    ),
    door("GET", "/api/v1/settings", &[], "", ADMINS),
    door("PATCH", "/api/v1/settings", &[], r#"{"lock:default_ttl": 40, "lock:max_ttl": 400}"#, ADMINS),
    door("GET", "/api/v1/events", &[], "", KEY),
    door("GET", "/api/v1/audit", &[], "", MEMBERS),
    door("GET", "/api/v1/audit/{id}", &["$row"], "", MEMBERS_ONE),
    door("GET", "/api/v1/audit/seals", &[], "", MEMBERS),
    // A proof holds the row whole, addresses included.
    door("GET", "/api/v1/audit/{id}/proof", &["$row"], "", ADMINS_ONE),
    door("GET", "/api/v1/audit/export", &[], "", ADMINS),
    door("GET", "/api/v1/audit/verification", &[], "", MEMBERS),
    door("POST", "/api/v1/audit/verification", &[], "{}", ADMINS),
];

//! The rows.

use super::{Door, LEAVES, door, for_logins};

/// Everybody may.
const OPEN: [u16; 9] = [200; 9];
/// Whoever has a key may.
const KEY: [u16; 9] = [401, 200, 200, 200, 200, 200, 200, 200, 200];
/// Every member may read it, each tenant its own.
const MEMBERS: [u16; 9] = [401, 403, 403, 200, 200, 200, 200, 200, 200];
/// Every member may read it, and for others it does not exist.
const MEMBERS_ONE: [u16; 9] = [401, 403, 403, 200, 200, 200, 200, 200, 404];
/// Every member may read it, agents with their usual keys too, each tenant its own.
const WORKERS: [u16; 9] = [401, 403, 200, 200, 200, 200, 200, 200, 200];
/// Every member may read it, agents with their usual keys too, and for others it does not exist.
const WORKERS_ONE: [u16; 9] = [401, 403, 200, 200, 200, 200, 200, 200, 404];
/// Admins may, each of their own organization.
const ADMINS: [u16; 9] = [401, 403, 403, 403, 403, 403, 200, 200, 200];
/// Admins may, and for others it does not exist.
const ADMINS_ONE: [u16; 9] = [401, 403, 403, 403, 403, 403, 200, 200, 404];
/// Authors and admins may make one, each in their own organization.
const AUTHORS_MAKE: [u16; 9] = [401, 403, 403, 403, 201, 403, 201, 201, 201];
/// Authors and admins may, and for others it does not exist.
const AUTHORS_ONE: [u16; 9] = [401, 403, 403, 403, 200, 403, 200, 200, 404];
/// Authors and admins may end it, and for others it does not exist.
const AUTHORS_END: [u16; 9] = [401, 403, 403, 403, 204, 403, 204, 204, 404];
/// Admins may end it, and for others it does not exist.
const ADMINS_END: [u16; 9] = [401, 403, 403, 403, 403, 403, 204, 204, 404];
/// Whoever it was sent to may, and for others it does not exist.
const RECEIVER: [u16; 9] = [401, 403, 403, 404, 404, 404, 404, 200, 404];
/// Whoever is asked may, and nobody for them; for others it does not exist.
const ASKED: [u16; 9] = [401, 403, 403, 403, 403, 403, 403, 200, 404];

/// Agents too, each for itself.
const LOCKERS: [u16; 9] = [401, 403, 200, 200, 200, 200, 200, 200, 200];
/// Whoever holds it; for others it is not theirs, or not there.
const HOLDER: [u16; 9] = [401, 403, 409, 409, 409, 409, 409, 200, 409];

/// Whoever answers for the agent; for others it does not exist.
const OWNERS_ONE: [u16; 9] = [401, 403, 403, 403, 403, 403, 403, 200, 404];

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
    // An agent that is heard once is then not missed while the doors are knocked at, however long that takes.
    door(
        "PATCH",
        "/api/v1/settings",
        &[],
        r#"{"lock:default_ttl": 3000, "lock:max_ttl": 3600, "lock:heartbeat_interval": 900}"#,
        ADMINS,
    ),
    door("GET", "/api/v1/events", &[], "", KEY),
    door("GET", "/api/v1/archives", &[], "", WORKERS),
    door("GET", "/api/v1/archives/{id}", &["$archive"], "", WORKERS_ONE),
    // The lines hold audit rows whole, addresses included.
    door("GET", "/api/v1/archives/{id}/content", &["$archive"], "", ADMINS_ONE),
    door("GET", "/api/v1/tasks/{id}/archive", &["$archived"], "", ADMINS_ONE),
    door("GET", "/api/v1/audit", &[], "", MEMBERS),
    door("GET", "/api/v1/audit/{id}", &["$row"], "", MEMBERS_ONE),
    door("GET", "/api/v1/audit/seals", &[], "", MEMBERS),
    // A proof holds the row whole, addresses included.
    door("GET", "/api/v1/audit/{id}/proof", &["$row"], "", ADMINS_ONE),
    door("GET", "/api/v1/audit/export", &[], "", ADMINS),
    door("GET", "/api/v1/audit/verification", &[], "", MEMBERS),
    door("POST", "/api/v1/audit/verification", &[], "{}", ADMINS),
    door(
        "POST",
        "/api/v1/auth/login",
        &[],
        r#"{"email": "$email", "password": "correct horse battery"}"#,
        OPEN,
    ),
    for_logins("POST", "/api/v1/auth/logout", "{}", LEAVES),
    door("GET", "/api/v1/auth/sessions", &[], "", MEMBERS),
    door("GET", "/api/v1/auth/sessions/{id}", &["$login"], "", [401, 403, 403, 404, 404, 404, 404, 200, 404]),
    door(
        "DELETE",
        "/api/v1/auth/sessions/{id}",
        &["$login"],
        "",
        [401, 403, 403, 404, 404, 404, 404, 204, 404],
    ),
    for_logins("POST", "/api/v1/auth/switch", r#"{"organization_id": "$org"}"#, 200),
    door("POST", "/api/v1/auth/device", &[], "{}", OPEN),
    // Nobody granted it.
    door("POST", "/api/v1/auth/device/token", &[], r#"{"device_code": "csd_nope"}"#, [404; 9]),
    door("GET", "/api/v1/projects", &[], "", MEMBERS),
    door("POST", "/api/v1/projects", &[], r#"{"name": "K", "slug": "$fresh"}"#, AUTHORS_MAKE),
    door("GET", "/api/v1/projects/{id}", &["$project"], "", MEMBERS_ONE),
    door("PATCH", "/api/v1/projects/{id}", &["$project"], r#"{"name": "Renamed"}"#, AUTHORS_ONE),
    door("DELETE", "/api/v1/projects/{id}", &["$project"], "", AUTHORS_END),
    door("GET", "/api/v1/projects/{id}/workspaces", &["$project"], "", MEMBERS_ONE),
    door(
        "POST",
        "/api/v1/projects/{id}/workspaces",
        &["$project"],
        r#"{"name": "$fresh", "path": "/srv"}"#,
        [401, 403, 403, 403, 201, 403, 201, 201, 404],
    ),
    door(
        "GET",
        "/api/v1/projects/{id}/workspaces/{workspace_id}",
        &["$project", "$workspace"],
        "",
        MEMBERS_ONE,
    ),
    door(
        "PATCH",
        "/api/v1/projects/{id}/workspaces/{workspace_id}",
        &["$project", "$workspace"],
        r#"{"path": "/home"}"#,
        AUTHORS_ONE,
    ),
    door(
        "DELETE",
        "/api/v1/projects/{id}/workspaces/{workspace_id}",
        &["$project", "$workspace"],
        "",
        AUTHORS_END,
    ),
    door("GET", "/api/v1/agents", &[], "", MEMBERS),
    door(
        "POST",
        "/api/v1/agents",
        &[],
        r#"{"name": "$fresh", "labels": {"a": "b"}, "config": {"c": [1]}}"#,
        AUTHORS_MAKE,
    ),
    door("GET", "/api/v1/agents/{id}", &["$agent"], "", MEMBERS_ONE),
    door("PATCH", "/api/v1/agents/{id}", &["$agent"], r#"{"max_tasks": 7}"#, ADMINS_ONE),
    door("DELETE", "/api/v1/agents/{id}", &["$agent"], "", ADMINS_END),
    // Only the agent and its owner say that it lives.
    door(
        "POST",
        "/api/v1/agents/{id}/heartbeat",
        &["$agent"],
        r#"{"health": {"load": 0.5}}"#,
        [401, 403, 403, 403, 403, 403, 403, 200, 404],
    ),
    door("POST", "/api/v1/agents/{id}/drain", &["$agent"], "{}", ADMINS_ONE),
    door("POST", "/api/v1/agents/{id}/resume", &["$agent"], "{}", ADMINS_ONE),
    door("GET", "/api/v1/tasks", &[], "", WORKERS),
    door(
        "POST",
        "/api/v1/tasks",
        &[],
        r#"{"config": {"type": "t", "description": "d", "resources": [{"type": "db", "id": "x"}]},
            "metadata": {"tags": ["a"]}, "slug": "$fresh", "assignee": "$maker", "depends_on": ["$task"]}"#,
        // Another tenant's task and account are none here.
        [401, 403, 201, 403, 201, 403, 201, 201, 422],
    ),
    door(
        "POST",
        "/api/v1/tasks/simulate",
        &[],
        r#"{"config": {"type": "t", "description": "d"}, "assignee": "$maker", "depends_on": ["$task"]}"#,
        [401, 403, 200, 403, 200, 403, 200, 200, 422],
    ),
    door("GET", "/api/v1/tasks/{id}", &["$task"], "", WORKERS_ONE),
    // Its author and admins.
    door("PATCH", "/api/v1/tasks/{id}", &["$task"], r#"{"metadata": {"team": "sre"}}"#, ADMINS_ONE),
    door("DELETE", "/api/v1/tasks/{id}", &["$task"], "", ADMINS_END),
    // Its author alone.
    door(
        "PUT",
        "/api/v1/tasks/{id}/preview",
        &["$task"],
        r#"{"changes": [{"kind": "create"}]}"#,
        [401, 403, 403, 403, 403, 403, 403, 200, 404],
    ),
    door("GET", "/api/v1/tasks/{id}/audit", &["$task"], "", MEMBERS_ONE),
    door("GET", "/api/v1/tasks/{id}/revisions", &["$task"], "", WORKERS_ONE),
    door("GET", "/api/v1/tasks/{id}/revisions/{number}", &["$task", "1"], "", WORKERS_ONE),
    door("GET", "/api/v1/tasks/{id}/diff", &["$task"], "", WORKERS_ONE),
    door("GET", "/api/v1/tasks/{id}/comments", &["$task"], "", WORKERS_ONE),
    // Whoever writes tasks, or may be asked about them.
    door(
        "POST",
        "/api/v1/tasks/{id}/comments",
        &["$task"],
        r#"{"body": "why?"}"#,
        [401, 403, 201, 201, 201, 201, 201, 201, 404],
    ),
    door("GET", "/api/v1/tasks/{id}/comments/{comment_id}", &["$task", "$comment"], "", WORKERS_ONE),
    door("GET", "/api/v1/policies", &[], "", MEMBERS),
    door(
        "POST",
        "/api/v1/policies",
        &[],
        r#"{"name": "$fresh", "required_roles": ["dba"], "reviewers": ["$maker"], "when": "risk.score > 50"}"#,
        // Another tenant's reviewer is none here.
        [401, 403, 403, 403, 403, 403, 201, 201, 422],
    ),
    door("GET", "/api/v1/policies/{id}", &["$policy"], "", MEMBERS_ONE),
    door("PATCH", "/api/v1/policies/{id}", &["$policy"], r#"{"min_approvers": 2}"#, ADMINS_ONE),
    door("DELETE", "/api/v1/policies/{id}", &["$policy"], "", ADMINS_END),
    door("GET", "/api/v1/resource-catalogue", &[], "", MEMBERS),
    door(
        "PUT",
        "/api/v1/resource-catalogue",
        &[],
        r#"[{"pattern": "database:prod-*", "criticality": 90, "blast_radius": 20}]"#,
        ADMINS,
    ),
    // Its author and admins.
    door(
        "POST",
        "/api/v1/tasks/{id}/submit",
        &["$task"],
        "{}",
        [401, 403, 403, 403, 403, 403, 202, 202, 404],
    ),
    door("POST", "/api/v1/tasks/{id}/cancel", &["$task"], r#"{"reason": "not needed"}"#, ADMINS_ONE),
    door(
        "POST",
        "/api/v1/tasks/{id}/resubmit",
        &["$cancelled"],
        r#"{"take_over_dependents": false}"#,
        [401, 403, 403, 403, 403, 403, 201, 201, 404],
    ),
    // Whoever approved it, and admins.
    door(
        "POST",
        "/api/v1/tasks/{id}/withdraw-approval",
        &["$granted"],
        r#"{"reason": "a second thought"}"#,
        ADMINS_ONE,
    ),
    // Whoever owns the agent, and the agent itself.
    door(
        "POST",
        "/api/v1/tasks/{id}/claim",
        &["$granted"],
        r#"{"agent_id": "$agent", "wait_seconds": 0}"#,
        OWNERS_ONE,
    ),
    door("POST", "/api/v1/agents/{id}/next", &["$worker"], r#"{"wait_seconds": 0}"#, OWNERS_ONE),
    door("GET", "/api/v1/tasks/{id}/executions", &["$granted"], "", WORKERS_ONE),
    door("GET", "/api/v1/executions/{id}", &["$execution"], "", WORKERS_ONE),
    door("POST", "/api/v1/executions/{id}/heartbeat", &["$execution"], "{}", OWNERS_ONE),
    door("POST", "/api/v1/executions/{id}/output", &["$execution"], r#"{"text": "so far"}"#, OWNERS_ONE),
    door("GET", "/api/v1/executions/{id}/output", &["$execution"], "", WORKERS_ONE),
    door("POST", "/api/v1/executions/{id}/complete", &["$execution"], r#"{"output": "done"}"#, OWNERS_ONE),
    door("POST", "/api/v1/executions/{id}/fail", &["$execution"], r#"{"error": "no"}"#, OWNERS_ONE),
    // A person who proposed it, and admins.
    door(
        "POST",
        "/api/v1/executions/{id}/rollback",
        &["$failed"],
        r#"{"reason": "it left half of it behind"}"#,
        [401, 403, 403, 403, 403, 403, 202, 202, 404],
    ),
    door("POST", "/api/v1/tasks/{id}/join-review", &["$reviewed"], "{}", ADMINS_ONE),
    door("GET", "/api/v1/tasks/{id}/approvals", &["$reviewed"], "", MEMBERS_ONE),
    door("GET", "/api/v1/approvals", &[], "", MEMBERS),
    door("GET", "/api/v1/approvals/stats", &[], "", MEMBERS),
    door("GET", "/api/v1/approvals/{id}", &["$approval"], "", MEMBERS_ONE),
    door(
        "POST",
        "/api/v1/approvals/{id}/approve",
        &["$approval"],
        r#"{"content_hash": "$content", "review_hash": "$shown", "reason": "looks right"}"#,
        ASKED,
    ),
    door(
        "POST",
        "/api/v1/approvals/{id}/reject",
        &["$approval"],
        r#"{"content_hash": "$content", "review_hash": "$shown", "reason": "not today"}"#,
        ASKED,
    ),
    door(
        "POST",
        "/api/v1/approvals/{id}/request-changes",
        &["$approval"],
        r#"{"content_hash": "$content", "review_hash": "$shown", "reason": "say why"}"#,
        ASKED,
    ),
    door("POST", "/api/v1/approvals/{id}/acknowledge", &["$approval"], "{}", ASKED),
    door("GET", "/api/v1/locks", &[], "", LOCKERS),
    door("POST", "/api/v1/locks/acquire", &[], r#"{"key": "resource:door:$fresh"}"#, LOCKERS),
    door(
        "POST",
        "/api/v1/locks/acquire-many",
        &[],
        r#"{"keys": [{"key": "resource:door:$fresh", "mode": "shared"}]}"#,
        LOCKERS,
    ),
    door("POST", "/api/v1/locks/heartbeat", &[], r#"{"lock_id": "$lock"}"#, HOLDER),
    door("POST", "/api/v1/locks/release", &[], r#"{"lock_id": "$lock"}"#, HOLDER),
    door("POST", "/api/v1/locks/validate", &[], r#"{"key": "resource:door:x", "fencing_token": 1}"#, LOCKERS),
    // Which line, the query says.
    door("GET", "/api/v1/locks/queue", &[], "", [401, 403, 422, 422, 422, 422, 422, 422, 422]),
    door("GET", "/api/v1/locks/graph", &[], "", LOCKERS),
    door(
        "GET",
        "/api/v1/locks/tickets/{ticket_id}",
        &["$ticket"],
        "",
        [401, 403, 200, 200, 200, 200, 200, 200, 404],
    ),
    door(
        "DELETE",
        "/api/v1/locks/tickets/{ticket_id}",
        &["$ticket"],
        "",
        [401, 403, 403, 403, 403, 403, 403, 200, 404],
    ),
    door(
        "POST",
        "/api/v1/locks/force-release",
        &[],
        r#"{"key": "resource:door:$fresh", "reason": "stuck"}"#,
        ADMINS,
    ),
    // Last: it ends the other logins of whoever asks.
    Door {
        method: "POST",
        path: "/api/v1/auth/password",
        names: &[],
        body: r#"{"current_password": "correct horse battery", "new_password": "correct horse battery"}"#,
        answers: [401, 403, 403, 204, 204, 204, 204, 204, 204],
        login: Some(LEAVES),
    },
];

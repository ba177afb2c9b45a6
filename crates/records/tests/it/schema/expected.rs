//! REQUIREMENTS DB, IDENT, PROJ and PLAN, transcribed. Where a line is ours and not theirs it says so.

/// Whether a column may be NULL, if the requirement says.
pub(super) enum Null {
    Yes,
    No,
    Open,
}
use Null::{No, Open, Yes};

pub(super) struct ExpectedTable {
    pub(super) name: &'static str,
    pub(super) columns: &'static [(&'static str, Null)],
    /// Column, table it points at, action on delete. All there are.
    pub(super) foreign_keys: &'static [(&'static str, &'static str, &'static str)],
    pub(super) indexes: &'static [ExpectedIndex],
}

pub(super) struct ExpectedIndex {
    pub(super) name: &'static str,
    /// With which columns it begins.
    pub(super) columns: &'static [&'static str],
    pub(super) predicate: Option<&'static str>,
}

const fn index(name: &'static str, columns: &'static [&'static str]) -> ExpectedIndex {
    ExpectedIndex { name, columns, predicate: None }
}

/// One that leaves out rows without the last column: whoever looks for a value finds the same.
const fn sparse(
    name: &'static str,
    columns: &'static [&'static str],
    predicate: &'static str,
) -> ExpectedIndex {
    ExpectedIndex { name, columns, predicate: Some(predicate) }
}

/// DB-01 to DB-04.
pub(super) const COMMON: &[(&str, Null)] =
    &[("id", No), ("metadata", Open), ("created_at", No), ("updated_at", No)];

pub(super) const TABLES: &[ExpectedTable] = &[
    ACCOUNTS,
    ORGANIZATIONS,
    ORGANIZATION_MEMBERS,
    API_KEYS,
    AUDIT_LOGS,
    PROJECTS,
    WORKSPACES,
    TASKS,
    TASK_DEPENDENCIES,
];

const ACCOUNTS: ExpectedTable = ExpectedTable {
    name: "accounts",
    // IDENT-01
    columns: &[
        ("email", No),
        ("display_name", Open),
        ("gitea_username", Yes),
        ("access_level", Open),
        ("status", Open),
    ],
    // Ours: an account has a home organization (DECISIONS 19).
    foreign_keys: &[("home_org_id", "organizations", "SET NULL")],
    // IDENT-04 to IDENT-06
    indexes: &[
        index("unq_accounts_email", &["email"]),
        index("idx_accounts_gitea_username", &["gitea_username"]),
        index("idx_accounts_display_name", &["display_name"]),
    ],
};

const ORGANIZATIONS: ExpectedTable = ExpectedTable {
    name: "organizations",
    // IDENT-07
    columns: &[("name", Open), ("slug", Open), ("owner_id", No), ("gitea_org_name", Yes)],
    // IDENT-08
    foreign_keys: &[("owner_id", "accounts", "RESTRICT")],
    // IDENT-09 to IDENT-12
    indexes: &[
        index("unq_organizations_name", &["name"]),
        index("unq_organizations_slug", &["slug"]),
        index("idx_organizations_owner_id", &["owner_id"]),
        index("idx_organizations_gitea_org_name", &["gitea_org_name"]),
    ],
};

const ORGANIZATION_MEMBERS: ExpectedTable = ExpectedTable {
    name: "organization_members",
    // IDENT-13
    columns: &[("org_id", Open), ("account_id", Open), ("membership_level", Open)],
    foreign_keys: &[
        // IDENT-15 and IDENT-16
        ("org_id", "organizations", "CASCADE"),
        ("account_id", "accounts", "CASCADE"),
        // Ours: who decides when the member cannot.
        ("manager_id", "accounts", "SET NULL"),
    ],
    // IDENT-17 to IDENT-19
    indexes: &[
        index("unq_org_members_org_account", &["org_id", "account_id"]),
        index("idx_org_members_account_id", &["account_id"]),
        index("idx_org_members_org_id", &["org_id"]),
    ],
};

const API_KEYS: ExpectedTable = ExpectedTable {
    name: "api_keys",
    // IDENT-20
    columns: &[
        ("owner_id", No),
        ("key_hash", Open),
        ("enabled", Open),
        ("revoked_at", Yes),
        ("expires_at", Yes),
        ("rotated_to_id", Yes),
        ("name", Open),
        ("prefix", Open),
    ],
    foreign_keys: &[
        // IDENT-23 and IDENT-24
        ("owner_id", "accounts", "CASCADE"),
        ("rotated_to_id", "api_keys", "SET NULL"),
        // Ours: a key acts in one organization, and who made it is kept (DECISIONS 20).
        ("org_id", "organizations", "CASCADE"),
        ("minted_by", "accounts", "RESTRICT"),
    ],
    // IDENT-26 to IDENT-29
    indexes: &[
        index("idx_api_keys_owner_id", &["owner_id"]),
        index("unq_api_keys_key_hash", &["key_hash"]),
        index("idx_api_keys_enabled", &["enabled"]),
        ExpectedIndex {
            name: "idx_api_keys_active",
            columns: &[],
            predicate: Some("revoked_at is null and enabled = true"),
        },
    ],
};

const AUDIT_LOGS: ExpectedTable = ExpectedTable {
    name: "audit_logs",
    // IDENT-30, AUDIT-02 to AUDIT-06
    columns: &[
        ("key_id", Yes),
        ("owner_id", No),
        ("session_id", Yes),
        ("org_id", Yes),
        ("action", No),
        ("from_state", Yes),
        ("to_state", Yes),
        ("ip", Yes),
        ("user_agent", Yes),
        ("service", Yes),
        ("reason", Yes),
        ("ticket_ref", Yes),
        ("login_session_id", Yes),
    ],
    // IDENT-31, IDENT-32, IDENT-34. IDENT-33 follows when the table `sessions` exists.
    foreign_keys: &[
        ("key_id", "api_keys", "SET NULL"),
        ("owner_id", "accounts", "RESTRICT"),
        ("org_id", "organizations", "SET NULL"),
    ],
    // IDENT-35 to IDENT-40; who looks for a key or a session names one.
    indexes: &[
        index("idx_audit_logs_owner_id", &["owner_id"]),
        sparse("idx_audit_logs_key_id", &["key_id"], "key_id is not null"),
        index("idx_audit_logs_action", &["action"]),
        index("idx_audit_logs_created_at", &["created_at"]),
        sparse("idx_audit_logs_session_id", &["session_id"], "session_id is not null"),
        index("idx_audit_logs_org_id", &["org_id"]),
    ],
};

const PROJECTS: ExpectedTable = ExpectedTable {
    name: "projects",
    // PROJ-01
    columns: &[("org_id", Yes), ("name", Open)],
    // PROJ-02
    foreign_keys: &[("org_id", "organizations", "SET NULL")],
    // PROJ-03
    indexes: &[index("idx_projects_org_id", &["org_id"])],
};

const WORKSPACES: ExpectedTable = ExpectedTable {
    name: "workspaces",
    // PROJ-04
    columns: &[("project_id", No), ("name", Open), ("path", Open)],
    foreign_keys: &[
        // PROJ-05
        ("project_id", "projects", "CASCADE"),
        // Ours: whatever a tenant has names its organization.
        ("org_id", "organizations", "SET NULL"),
    ],
    // PROJ-06
    indexes: &[index("idx_workspaces_project_id", &["project_id"])],
};

const TASKS: ExpectedTable = ExpectedTable {
    name: "tasks",
    // PLAN-01
    columns: &[
        ("project_id", No),
        ("slug", Open),
        ("status", No),
        ("path", Open),
        ("priority", Open),
        ("assignee", Open),
        ("due_at", Open),
        ("tags", Open),
        ("risk", Open),
        // Ours: a task names its tenant beside its project (DECISIONS 23), and has the state of S001.
        ("org_id", No),
        ("state", No),
    ],
    foreign_keys: &[
        // PLAN-03
        ("project_id", "projects", "CASCADE"),
        // Ours.
        ("org_id", "organizations", "CASCADE"),
        ("author_id", "accounts", "RESTRICT"),
        ("assignee", "accounts", "SET NULL"),
        ("resubmitted_from", "tasks", "SET NULL"),
    ],
    // PLAN-04 to PLAN-12, with the tenant in front where the project is not. PLAN-13 is the table `task_tags`: arrays
    // are no columns on SQLite.
    indexes: &[
        sparse("unq_tasks_project_slug", &["project_id", "slug"], "slug is not null"),
        index("idx_tasks_project_id", &["project_id"]),
        index("idx_tasks_project_status", &["project_id", "status"]),
        index("idx_tasks_status", &["org_id", "status"]),
        ExpectedIndex {
            name: "idx_tasks_active",
            columns: &[],
            predicate: Some("status in 'pending', 'in-progress', 'blocked'"),
        },
        sparse("idx_tasks_path", &["org_id", "path"], "path is not null"),
        index("idx_tasks_priority", &["org_id", "priority"]),
        sparse("idx_tasks_assignee", &["assignee"], "assignee is not null"),
        sparse("idx_tasks_due_at", &["org_id", "due_at"], "due_at is not null"),
    ],
};

const TASK_DEPENDENCIES: ExpectedTable = ExpectedTable {
    name: "task_dependencies",
    // PLAN-14
    columns: &[
        ("depends_on_task_id", No),
        ("dependent_task_id", No),
        ("quality_retention", Yes),
        ("org_id", No),
    ],
    foreign_keys: &[
        // PLAN-15 and PLAN-16
        ("depends_on_task_id", "tasks", "CASCADE"),
        ("dependent_task_id", "tasks", "CASCADE"),
        // Ours: whatever a tenant has names its organization.
        ("org_id", "organizations", "CASCADE"),
    ],
    // PLAN-17 to PLAN-19
    indexes: &[
        index("unq_task_dependencies_depends_on_task", &["depends_on_task_id", "dependent_task_id"]),
        index("idx_task_dependencies_depends_on_task_id", &["depends_on_task_id"]),
        index("idx_task_dependencies_dependent_task_id", &["dependent_task_id"]),
    ],
};

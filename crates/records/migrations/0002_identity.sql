-- Roles, names to search by, passwords, logins, invitations, workspaces, agents.
-- Tokens and rules as in 0001.

ALTER TABLE organization_members ADD COLUMN manager_id @uuid REFERENCES accounts (id) ON DELETE SET NULL;
CREATE INDEX idx_org_members_manager_id ON organization_members (manager_id);

CREATE TABLE role_grants (
    id @uuid NOT NULL PRIMARY KEY,
    org_id @uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    account_id @uuid NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    role TEXT NOT NULL,
    granted_by @uuid NOT NULL REFERENCES accounts (id) ON DELETE RESTRICT,
    metadata @json NOT NULL DEFAULT '{}',
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL,
    FOREIGN KEY (org_id, account_id) REFERENCES organization_members (org_id, account_id) ON DELETE CASCADE
) @strict;
CREATE UNIQUE INDEX unq_role_grants_member_role ON role_grants (org_id, account_id, role);
CREATE INDEX idx_role_grants_org_role ON role_grants (org_id, role);
CREATE INDEX idx_role_grants_account_id ON role_grants (account_id);

-- What a member can be found by: each part of the name from the beginning of a word, and the e-mail. Bytes, so that
-- both engines compare alike. The whole name is what lists are sorted by.
CREATE TABLE member_names (
    org_id @uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    name @blob NOT NULL,
    account_id @uuid NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    whole @bool NOT NULL,
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL,
    PRIMARY KEY (org_id, name, account_id),
    FOREIGN KEY (org_id, account_id) REFERENCES organization_members (org_id, account_id) ON DELETE CASCADE
) @strict;
CREATE INDEX idx_member_names_member ON member_names (account_id, org_id, name);
CREATE INDEX idx_member_names_whole ON member_names (org_id, name, account_id) WHERE whole = true;

-- set_by is somebody else only at enrolment: an admin chose the first password.
CREATE TABLE passwords (
    account_id @uuid NOT NULL PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
    hash TEXT NOT NULL,
    set_by @uuid NOT NULL REFERENCES accounts (id) ON DELETE RESTRICT,
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL
) @strict;

-- minted_by is the account itself, or the admin who chose the password the login was made with.
CREATE TABLE login_sessions (
    id @uuid NOT NULL PRIMARY KEY,
    org_id @uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    account_id @uuid NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    minted_by @uuid NOT NULL REFERENCES accounts (id) ON DELETE RESTRICT,
    token_hash @blob NOT NULL,
    method TEXT NOT NULL CHECK (method IN ('password', 'link', 'device', 'oidc')),
    ip TEXT,
    user_agent TEXT,
    last_active_at @ts NOT NULL,
    expires_at @ts NOT NULL,
    ended_at @ts,
    metadata @json NOT NULL DEFAULT '{}',
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL
) @strict;
CREATE UNIQUE INDEX unq_login_sessions_token_hash ON login_sessions (token_hash);
CREATE INDEX idx_login_sessions_account ON login_sessions (account_id, created_at, id);
CREATE INDEX idx_login_sessions_expires_at ON login_sessions (expires_at);

CREATE TABLE login_links (
    id @uuid NOT NULL PRIMARY KEY,
    account_id @uuid NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    token_hash @blob NOT NULL,
    expires_at @ts NOT NULL,
    used_at @ts,
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL
) @strict;
CREATE UNIQUE INDEX unq_login_links_token_hash ON login_links (token_hash);
CREATE INDEX idx_login_links_account_id ON login_links (account_id);
CREATE INDEX idx_login_links_expires_at ON login_links (expires_at);

-- A program asks for a login that a person grants in a browser.
CREATE TABLE device_logins (
    id @uuid NOT NULL PRIMARY KEY,
    device_hash @blob NOT NULL,
    user_code TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('pending', 'approved', 'denied', 'used')),
    account_id @uuid REFERENCES accounts (id) ON DELETE CASCADE,
    org_id @uuid REFERENCES organizations (id) ON DELETE CASCADE,
    minted_by @uuid REFERENCES accounts (id) ON DELETE CASCADE,
    ip TEXT,
    user_agent TEXT,
    polled_at @ts,
    expires_at @ts NOT NULL,
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL
) @strict;
CREATE UNIQUE INDEX unq_device_logins_device_hash ON device_logins (device_hash);
CREATE UNIQUE INDEX unq_device_logins_user_code ON device_logins (user_code);
CREATE INDEX idx_device_logins_expires_at ON device_logins (expires_at);

CREATE TABLE invitations (
    id @uuid NOT NULL PRIMARY KEY,
    org_id @uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    account_id @uuid NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    invited_by @uuid NOT NULL REFERENCES accounts (id) ON DELETE RESTRICT,
    membership_level TEXT NOT NULL CHECK (membership_level IN ('admin', 'member')),
    roles @json NOT NULL,
    manager_id @uuid REFERENCES accounts (id) ON DELETE SET NULL,
    status TEXT NOT NULL CHECK (status IN ('open', 'accepted', 'declined', 'withdrawn')),
    expires_at @ts NOT NULL,
    metadata @json NOT NULL DEFAULT '{}',
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL
) @strict;
CREATE UNIQUE INDEX unq_invitations_open ON invitations (org_id, account_id) WHERE status = 'open';
CREATE INDEX idx_invitations_account_id ON invitations (account_id, created_at, id);
CREATE INDEX idx_invitations_org_id ON invitations (org_id, created_at, id);

CREATE TABLE workspaces (
    id @uuid NOT NULL PRIMARY KEY,
    org_id @uuid REFERENCES organizations (id) ON DELETE SET NULL,
    project_id @uuid NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    path TEXT NOT NULL,
    metadata @json NOT NULL DEFAULT '{}',
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL
) @strict;
CREATE INDEX idx_workspaces_project_id ON workspaces (project_id, created_at, id);
CREATE INDEX idx_workspaces_org_id ON workspaces (org_id);
CREATE UNIQUE INDEX unq_workspaces_project_name ON workspaces (project_id, name);
CREATE INDEX idx_projects_org_created ON projects (org_id, created_at, id);

-- An agent is a service account that works; both have one id.
CREATE TABLE agents (
    id @uuid NOT NULL PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
    org_id @uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    owner_id @uuid NOT NULL REFERENCES accounts (id) ON DELETE RESTRICT,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    model TEXT,
    role_name TEXT,
    max_tasks @int NOT NULL,
    labels @json NOT NULL,
    config @json NOT NULL,
    draining @bool NOT NULL,
    last_heartbeat @ts,
    health @json,
    offline_since @ts,
    deactivated_at @ts,
    metadata @json NOT NULL DEFAULT '{}',
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL
) @strict;
CREATE UNIQUE INDEX unq_agents_org_name ON agents (org_id, name) WHERE deactivated_at IS NULL;
CREATE INDEX idx_agents_org_created ON agents (org_id, created_at, id);
CREATE INDEX idx_agents_owner_id ON agents (owner_id);
CREATE INDEX idx_agents_heard ON agents (last_heartbeat) WHERE offline_since IS NULL AND deactivated_at IS NULL;

-- Who an account is to a provider of logins, and logins that are on their way there.
CREATE TABLE external_identities (
    id @uuid NOT NULL PRIMARY KEY,
    account_id @uuid NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    issuer TEXT NOT NULL,
    subject TEXT NOT NULL,
    metadata @json NOT NULL DEFAULT '{}',
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL
) @strict;
CREATE UNIQUE INDEX unq_external_identities_issuer_subject ON external_identities (issuer, subject);
CREATE INDEX idx_external_identities_account_id ON external_identities (account_id);

CREATE TABLE oidc_flows (
    id @uuid NOT NULL PRIMARY KEY,
    state_hash @blob NOT NULL,
    browser_hash @blob NOT NULL,
    nonce TEXT NOT NULL,
    verifier TEXT NOT NULL,
    next TEXT,
    link_account_id @uuid REFERENCES accounts (id) ON DELETE CASCADE,
    expires_at @ts NOT NULL,
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL
) @strict;
CREATE UNIQUE INDEX unq_oidc_flows_state_hash ON oidc_flows (state_hash);
CREATE INDEX idx_oidc_flows_expires_at ON oidc_flows (expires_at);

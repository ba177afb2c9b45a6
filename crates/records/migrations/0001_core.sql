-- Identity (S004), audit, events, jobs, settings, blobs, idempotency, instances, keys.
-- Tokens: @uuid @json @ts @blob @bool @int @strict. Times and ids come from the hub, never from a default.

CREATE TABLE accounts (
    id @uuid NOT NULL PRIMARY KEY,
    email TEXT NOT NULL,
    display_name TEXT NOT NULL,
    gitea_username TEXT,
    access_level TEXT NOT NULL CHECK (access_level IN ('admin', 'user', 'service')),
    status TEXT NOT NULL CHECK (status IN ('active', 'suspended', 'deactivated')),
    metadata @json NOT NULL DEFAULT '{}',
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL
) @strict;
CREATE UNIQUE INDEX unq_accounts_email ON accounts (email);
CREATE INDEX idx_accounts_gitea_username ON accounts (gitea_username);
CREATE INDEX idx_accounts_display_name ON accounts (display_name);

CREATE TABLE organizations (
    id @uuid NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    slug TEXT NOT NULL,
    owner_id @uuid NOT NULL REFERENCES accounts (id) ON DELETE RESTRICT,
    gitea_org_name TEXT,
    archived_at @ts,
    metadata @json NOT NULL DEFAULT '{}',
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL
) @strict;
CREATE UNIQUE INDEX unq_organizations_name ON organizations (name);
CREATE UNIQUE INDEX unq_organizations_slug ON organizations (slug);
CREATE INDEX idx_organizations_owner_id ON organizations (owner_id);
CREATE INDEX idx_organizations_gitea_org_name ON organizations (gitea_org_name);

-- Accounts and organizations point at each other; a column can be added later on both engines, a constraint cannot.
ALTER TABLE accounts ADD COLUMN home_org_id @uuid REFERENCES organizations (id) ON DELETE SET NULL;
CREATE INDEX idx_accounts_home_org_id ON accounts (home_org_id);

CREATE TABLE organization_members (
    id @uuid NOT NULL PRIMARY KEY,
    org_id @uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    account_id @uuid NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    membership_level TEXT NOT NULL CHECK (membership_level IN ('owner', 'admin', 'member')),
    metadata @json NOT NULL DEFAULT '{}',
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL
) @strict;
CREATE UNIQUE INDEX unq_org_members_org_account ON organization_members (org_id, account_id);
CREATE INDEX idx_org_members_account_id ON organization_members (account_id);
CREATE INDEX idx_org_members_org_id ON organization_members (org_id);

CREATE TABLE projects (
    id @uuid NOT NULL PRIMARY KEY,
    org_id @uuid REFERENCES organizations (id) ON DELETE SET NULL,
    name TEXT NOT NULL,
    slug TEXT NOT NULL,
    metadata @json NOT NULL DEFAULT '{}',
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL
) @strict;
CREATE INDEX idx_projects_org_id ON projects (org_id);
CREATE UNIQUE INDEX unq_projects_org_slug ON projects (org_id, slug);

CREATE TABLE api_keys (
    id @uuid NOT NULL PRIMARY KEY,
    org_id @uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    owner_id @uuid NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    minted_by @uuid NOT NULL REFERENCES accounts (id) ON DELETE RESTRICT,
    name TEXT NOT NULL,
    prefix TEXT NOT NULL,
    key_hash @blob NOT NULL,
    scopes @json,
    enabled @bool NOT NULL,
    revoked_at @ts,
    expires_at @ts,
    rotated_to_id @uuid REFERENCES api_keys (id) ON DELETE SET NULL,
    last_used_at @ts,
    metadata @json NOT NULL DEFAULT '{}',
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL
) @strict;
CREATE INDEX idx_api_keys_owner_id ON api_keys (owner_id);
CREATE UNIQUE INDEX unq_api_keys_key_hash ON api_keys (key_hash);
CREATE INDEX idx_api_keys_enabled ON api_keys (enabled);
CREATE INDEX idx_api_keys_active ON api_keys (owner_id) WHERE revoked_at IS NULL AND enabled = true;
CREATE INDEX idx_api_keys_org_created ON api_keys (org_id, created_at, id);
CREATE INDEX idx_api_keys_rotated_to_id ON api_keys (rotated_to_id);

-- session_id gets its foreign key when the table sessions exists. seal_id has none: a row is numbered before its
-- seal is written, in one unit, and `audit verify` proves more than a foreign key could.
CREATE TABLE audit_logs (
    id @uuid NOT NULL PRIMARY KEY,
    chain @uuid NOT NULL,
    org_id @uuid REFERENCES organizations (id) ON DELETE SET NULL,
    owner_id @uuid NOT NULL REFERENCES accounts (id) ON DELETE RESTRICT,
    key_id @uuid REFERENCES api_keys (id) ON DELETE SET NULL,
    session_id @uuid,
    login_session_id TEXT,
    action TEXT NOT NULL,
    subject_type TEXT NOT NULL,
    subject_id TEXT NOT NULL,
    from_state TEXT,
    to_state TEXT,
    ip TEXT,
    user_agent TEXT,
    service TEXT,
    reason TEXT,
    ticket_ref TEXT,
    body @blob NOT NULL,
    seal_id @uuid,
    metadata @json NOT NULL DEFAULT '{}',
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL
) @strict;
CREATE INDEX idx_audit_logs_owner_id ON audit_logs (owner_id);
CREATE INDEX idx_audit_logs_key_id ON audit_logs (key_id);
CREATE INDEX idx_audit_logs_action ON audit_logs (action);
CREATE INDEX idx_audit_logs_created_at ON audit_logs (created_at);
CREATE INDEX idx_audit_logs_session_id ON audit_logs (session_id);
CREATE INDEX idx_audit_logs_org_id ON audit_logs (org_id, created_at, id);
CREATE INDEX idx_audit_logs_subject ON audit_logs (subject_id);
CREATE INDEX idx_audit_logs_seal_id ON audit_logs (seal_id);
CREATE INDEX idx_audit_logs_unsealed ON audit_logs (chain, created_at, id) WHERE seal_id IS NULL;

CREATE TABLE audit_seals (
    id @uuid NOT NULL PRIMARY KEY,
    chain @uuid NOT NULL,
    number @int NOT NULL,
    count @int NOT NULL,
    previous @blob NOT NULL,
    root @blob NOT NULL,
    hash @blob NOT NULL,
    signature @blob NOT NULL,
    signer TEXT NOT NULL,
    leaves @blob NOT NULL,
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL
) @strict;
CREATE UNIQUE INDEX unq_audit_seals_chain_number ON audit_seals (chain, number);

CREATE TABLE audit_checks (
    chain @uuid NOT NULL PRIMARY KEY,
    ok @bool NOT NULL,
    finding TEXT,
    seals @int NOT NULL,
    rows @int NOT NULL,
    unsealed @int NOT NULL,
    head @blob,
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL
) @strict;

CREATE TABLE events (
    id @uuid NOT NULL PRIMARY KEY,
    seq @int,
    org_id @uuid REFERENCES organizations (id) ON DELETE CASCADE,
    type TEXT NOT NULL,
    actor_id @uuid,
    source TEXT NOT NULL,
    subject_type TEXT NOT NULL,
    subject_id TEXT NOT NULL,
    payload @json NOT NULL,
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL
) @strict;
CREATE UNIQUE INDEX unq_events_seq ON events (seq);
CREATE INDEX idx_events_org_seq ON events (org_id, seq);
CREATE INDEX idx_events_created_at ON events (created_at);
CREATE INDEX idx_events_unnumbered ON events (created_at, id) WHERE seq IS NULL;

CREATE TABLE event_horizons (
    org_id @uuid NOT NULL PRIMARY KEY REFERENCES organizations (id) ON DELETE CASCADE,
    gone_through @int NOT NULL,
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL
) @strict;

CREATE TABLE jobs (
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    run_at @ts NOT NULL,
    lease_until @ts,
    owner TEXT,
    attempts @int NOT NULL,
    payload @json NOT NULL DEFAULT '{}',
    last_error TEXT,
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL,
    PRIMARY KEY (kind, key)
) @strict;
-- Two indexes, so that looking for due jobs costs the same however many wait.
CREATE INDEX idx_jobs_waiting ON jobs (run_at) WHERE lease_until IS NULL;
CREATE INDEX idx_jobs_leased ON jobs (lease_until) WHERE lease_until IS NOT NULL;

CREATE TABLE settings (
    org_id @uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    value @json NOT NULL,
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL,
    PRIMARY KEY (org_id, name)
) @strict;

CREATE TABLE blobs (
    id @uuid NOT NULL PRIMARY KEY,
    org_id @uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    size @int NOT NULL,
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL
) @strict;
CREATE INDEX idx_blobs_org_size ON blobs (org_id, size);

CREATE TABLE blob_chunks (
    blob_id @uuid NOT NULL REFERENCES blobs (id) ON DELETE CASCADE,
    number @int NOT NULL,
    bytes @blob NOT NULL,
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL,
    PRIMARY KEY (blob_id, number)
) @strict;

CREATE TABLE idempotency_keys (
    org_id @uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    account_id @uuid NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    method TEXT NOT NULL,
    path TEXT NOT NULL,
    key TEXT NOT NULL,
    body_hash @blob NOT NULL,
    status @int,
    location TEXT,
    body @blob,
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL,
    PRIMARY KEY (org_id, account_id, method, path, key)
) @strict;
CREATE INDEX idx_idempotency_keys_created_at ON idempotency_keys (created_at);

-- slot is what only one process may hold at a time (local coordination over PostgreSQL).
CREATE TABLE instances (
    id @uuid NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    slot TEXT,
    lease_until @ts NOT NULL,
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL
) @strict;
CREATE UNIQUE INDEX unq_instances_slot ON instances (slot);

CREATE TABLE hub_keys (
    purpose TEXT NOT NULL CHECK (purpose IN ('secrets', 'seal')),
    key_id TEXT NOT NULL,
    public_key @blob,
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL,
    PRIMARY KEY (purpose, key_id)
) @strict;

CREATE TABLE fence_epochs (
    engine TEXT NOT NULL PRIMARY KEY,
    epoch @int NOT NULL,
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL
) @strict;

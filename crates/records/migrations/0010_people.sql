-- People: who decides for whom. Tokens and rules as in 0001.

-- One person's word that somebody else decides on what they are asked, or goes before them. `behind` is everybody who
-- stood behind saying so.
CREATE TABLE delegations (
    id @uuid NOT NULL PRIMARY KEY,
    org_id @uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    owner_id @uuid NOT NULL REFERENCES accounts (id) ON DELETE RESTRICT,
    delegate_to @uuid NOT NULL REFERENCES accounts (id) ON DELETE RESTRICT,
    kind TEXT NOT NULL CHECK (kind IN ('transfer', 'follow')),
    conditions @json NOT NULL,
    cascades @bool NOT NULL,
    active @bool NOT NULL,
    starts_at @ts,
    expires_at @ts,
    behind @json NOT NULL,
    version @int NOT NULL,
    metadata @json NOT NULL DEFAULT '{}',
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL
) @strict;
CREATE INDEX idx_delegations_org_created ON delegations (org_id, created_at, id);
CREATE INDEX idx_delegations_owner ON delegations (org_id, owner_id, created_at, id);
CREATE INDEX idx_delegations_active ON delegations (org_id, owner_id, id) WHERE active = true;
CREATE INDEX idx_delegations_owner_id ON delegations (owner_id);
CREATE INDEX idx_delegations_delegate_to ON delegations (delegate_to);

-- `routing` says by which delegations a request was passed on, and whom its reviewer follows.
ALTER TABLE approvals ADD COLUMN routing @json NOT NULL DEFAULT '{}';
CREATE INDEX idx_approvals_passed_on ON approvals (org_id, id) WHERE status = 'DELEGATED';

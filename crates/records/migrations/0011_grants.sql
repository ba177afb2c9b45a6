-- Standalone grants: single-use tokens for a tenant and a hash. Tokens and rules as in 0001.

-- Every grant has a row here, whichever store has it too: the row says what became of it, and remembers it for a while.
CREATE TABLE standalone_grants (
    id @uuid NOT NULL PRIMARY KEY,
    org_id @uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    store TEXT NOT NULL CHECK (store IN ('records', 'memory', 'redis')),
    ir_hash TEXT NOT NULL,
    token_hash @blob NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('pending', 'consumed', 'expired')),
    expires_at @ts NOT NULL,
    consumed_at @ts,
    created_by TEXT NOT NULL,
    consumed_by TEXT,
    acknowledged_at @ts,
    acknowledged_by TEXT,
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL,
    CHECK ((status = 'consumed') = (consumed_at IS NOT NULL))
) @strict;
CREATE UNIQUE INDEX unq_standalone_grants_token_hash ON standalone_grants (token_hash);
CREATE INDEX idx_standalone_grants_pending ON standalone_grants (org_id, created_at, id) WHERE status = 'pending';
CREATE INDEX idx_standalone_grants_due ON standalone_grants (org_id, expires_at, id) WHERE status = 'pending';
CREATE INDEX idx_standalone_grants_ended ON standalone_grants (org_id, expires_at, id) WHERE status <> 'pending';

-- A token is used by whoever gets its hash in here first; no store can bring it back.
CREATE TABLE consumed_tokens (
    token_hash @blob NOT NULL PRIMARY KEY,
    org_id @uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    grant_id @uuid NOT NULL,
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL
) @strict;
CREATE INDEX idx_consumed_tokens_grant_id ON consumed_tokens (org_id, grant_id);

-- Counted as things happen, because a million pending grants cannot be counted for every look. In parts, because units
-- that count in the same row wait for each other.
CREATE TABLE standalone_grant_counts (
    org_id @uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    shard @int NOT NULL CHECK (shard BETWEEN 0 AND 15),
    pending @int NOT NULL CHECK (pending >= 0),
    consumed @int NOT NULL CHECK (consumed >= 0),
    expired @int NOT NULL CHECK (expired >= 0),
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL,
    PRIMARY KEY (org_id, shard)
) @strict;

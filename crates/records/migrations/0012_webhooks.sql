-- Webhooks: where an organization wants to be told, and what was sent there. Tokens and rules as in 0001.

-- `secret` and `previous_secret` are encrypted. `after_seq`: only what comes after this number of the event log is sent.
CREATE TABLE webhooks (
    id @uuid NOT NULL PRIMARY KEY,
    org_id @uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    url TEXT NOT NULL,
    types @json NOT NULL DEFAULT '[]',
    format TEXT NOT NULL CHECK (format IN ('standard', 'slack')),
    active @bool NOT NULL,
    secret @blob NOT NULL,
    previous_secret @blob,
    previous_until @ts,
    after_seq @int NOT NULL CHECK (after_seq >= 0),
    version @int NOT NULL CHECK (version > 0),
    created_by @uuid REFERENCES accounts (id) ON DELETE SET NULL,
    metadata @json NOT NULL DEFAULT '{}',
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL
) @strict;
CREATE INDEX idx_webhooks_org_created ON webhooks (org_id, created_at, id);
CREATE INDEX idx_webhooks_active ON webhooks (id) WHERE active = true;
CREATE INDEX idx_webhooks_created_by ON webhooks (created_by);

-- One row for everything that is sent to an endpoint, with what came of the last attempt. Its id is the message's.
CREATE TABLE webhook_deliveries (
    id @uuid NOT NULL PRIMARY KEY,
    org_id @uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    webhook_id @uuid NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
    event_seq @int,
    event_type TEXT NOT NULL,
    body @blob NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'parked')),
    attempts @int NOT NULL CHECK (attempts >= 0),
    next_attempt_at @ts,
    first_attempt_at @ts,
    last_attempt_at @ts,
    took_ms @int,
    request_headers @json,
    response_status @int,
    response_body TEXT,
    error TEXT,
    metadata @json NOT NULL DEFAULT '{}',
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL,
    CHECK ((state = 'pending') = (next_attempt_at IS NOT NULL))
) @strict;
CREATE INDEX idx_webhook_deliveries_org_id ON webhook_deliveries (org_id);
CREATE INDEX idx_webhook_deliveries_list ON webhook_deliveries (webhook_id, created_at, id);
CREATE INDEX idx_webhook_deliveries_due ON webhook_deliveries (webhook_id, next_attempt_at, id)
    WHERE state = 'pending';
CREATE INDEX idx_webhook_deliveries_ended ON webhook_deliveries (updated_at, id) WHERE state <> 'pending';
CREATE UNIQUE INDEX unq_webhook_deliveries_event ON webhook_deliveries (webhook_id, event_seq)
    WHERE event_seq IS NOT NULL;

-- How far the event log was turned into deliveries; one row.
CREATE TABLE webhook_progress (
    id @int NOT NULL PRIMARY KEY CHECK (id = 1),
    seq @int NOT NULL CHECK (seq >= 0),
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL
) @strict;

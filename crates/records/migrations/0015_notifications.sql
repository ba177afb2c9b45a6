-- Notifications: what people were told, and what they do not want to be told. Tokens and rules as in 0001.

-- One row for each account an event was addressed to; a task takes its rows with it. The event may be forgotten before.
CREATE TABLE notifications (
    id @uuid NOT NULL PRIMARY KEY,
    org_id @uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    account_id @uuid NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    task_id @uuid NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    approval_id @uuid,
    kind TEXT NOT NULL,
    event_id @uuid NOT NULL,
    event_type TEXT NOT NULL,
    actor_id @uuid,
    facts @json NOT NULL,
    delivered_at @ts,
    read_at @ts,
    metadata @json NOT NULL DEFAULT '{}',
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL
) @strict;
CREATE INDEX idx_notifications_list ON notifications (org_id, account_id, created_at, id);
CREATE INDEX idx_notifications_unread ON notifications (org_id, account_id, created_at, id) WHERE read_at IS NULL;
CREATE UNIQUE INDEX unq_notifications_event ON notifications (account_id, event_id);
CREATE INDEX idx_notifications_task_id ON notifications (task_id);
CREATE INDEX idx_notifications_created_at ON notifications (org_id, created_at);

-- Without a row, somebody is told everything.
CREATE TABLE notification_preferences (
    org_id @uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    account_id @uuid NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    muted @json NOT NULL,
    version @int NOT NULL CHECK (version > 0),
    metadata @json NOT NULL DEFAULT '{}',
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL,
    PRIMARY KEY (org_id, account_id)
) @strict;
CREATE INDEX idx_notification_preferences_account_id ON notification_preferences (account_id);

-- Applying tasks: attempts from their start to their end, and the queue of what waits for an agent.
-- Tokens and rules as in 0001.

-- No attempt was made before this, so what has no default is there in every row.
ALTER TABLE executions ADD COLUMN rollback TEXT NOT NULL DEFAULT 'none'
    CHECK (rollback IN ('none', 'asked', 'running', 'succeeded', 'failed'));
ALTER TABLE executions ADD COLUMN error TEXT;
ALTER TABLE executions ADD COLUMN error_details @json;
ALTER TABLE executions ADD COLUMN locks @json NOT NULL DEFAULT '[]';
ALTER TABLE executions ADD COLUMN last_heartbeat @ts;
ALTER TABLE executions ADD COLUMN lease_until @ts;
ALTER TABLE executions ADD COLUMN deadline_at @ts;
ALTER TABLE executions ADD COLUMN output_id @uuid REFERENCES blobs (id) ON DELETE SET NULL;
ALTER TABLE executions ADD COLUMN output_size @int NOT NULL DEFAULT 0;
ALTER TABLE executions ADD COLUMN output_tail TEXT NOT NULL DEFAULT '';
CREATE INDEX idx_executions_lease ON executions (lease_until, id) WHERE ended_at IS NULL;
CREATE INDEX idx_executions_asked ON executions (org_id, created_at, id) WHERE rollback = 'asked';
CREATE INDEX idx_executions_output_id ON executions (output_id);

-- The lowest rank first, then the oldest approval.
ALTER TABLE tasks ADD COLUMN queue_rank @int NOT NULL DEFAULT 0;
ALTER TABLE tasks ADD COLUMN not_before @ts;
UPDATE tasks SET queue_rank = 100 - priority;
CREATE INDEX idx_tasks_queue ON tasks (org_id, queue_rank, approved_at, id) WHERE state = 'APPROVED';
CREATE INDEX idx_tasks_queue_assignee ON tasks (assignee) WHERE state = 'APPROVED';
CREATE INDEX idx_tasks_queue_author ON tasks (author_id, assignee) WHERE state = 'APPROVED';

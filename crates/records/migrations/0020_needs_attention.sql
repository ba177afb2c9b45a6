-- Ends that somebody must look at. Tokens and rules as in 0001.

-- Few tasks end like this, and only they are in it: no other row pays.
CREATE INDEX idx_tasks_needs_attention ON tasks (org_id, ended_at, id) WHERE needs_attention;

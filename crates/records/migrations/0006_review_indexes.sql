-- Indexes of reviews that have grown. Tokens and rules as in 0001.

-- The queue of an organization in any status; the one of open requests served one of them only.
DROP INDEX idx_approvals_open;
CREATE INDEX idx_approvals_org_queue ON approvals (org_id, status, queue_rank, queue_due, id);

-- With the column of its condition the index alone answers how many tasks of an author are on their way.
DROP INDEX idx_tasks_author_open;
CREATE INDEX idx_tasks_author_open ON tasks (org_id, author_id, ended_at) WHERE ended_at IS NULL;

-- What a deleted task takes along is found without looking at every Grant.
CREATE INDEX idx_grants_task_id ON grants (task_id);

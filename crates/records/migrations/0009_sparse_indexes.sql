-- Indexes of columns that most rows leave empty hold only those that do not: nobody looks for the empty ones, and every
-- row that is written paid for them. A comparison with a value still finds its index. Tokens and rules as in 0001.

DROP INDEX unq_tasks_project_slug;
CREATE UNIQUE INDEX unq_tasks_project_slug ON tasks (project_id, slug) WHERE slug IS NOT NULL;
DROP INDEX idx_tasks_path;
CREATE INDEX idx_tasks_path ON tasks (org_id, path, created_at, id) WHERE path IS NOT NULL;
DROP INDEX idx_tasks_assignee;
CREATE INDEX idx_tasks_assignee ON tasks (assignee, created_at, id) WHERE assignee IS NOT NULL;
DROP INDEX idx_tasks_due_at;
CREATE INDEX idx_tasks_due_at ON tasks (org_id, due_at) WHERE due_at IS NOT NULL;
DROP INDEX idx_tasks_resubmitted_from;
CREATE INDEX idx_tasks_resubmitted_from ON tasks (resubmitted_from) WHERE resubmitted_from IS NOT NULL;

DROP INDEX idx_reviews_resolved_by;
CREATE INDEX idx_reviews_resolved_by ON reviews (resolved_by) WHERE resolved_by IS NOT NULL;
DROP INDEX idx_approvals_delegated_to;
CREATE INDEX idx_approvals_delegated_to ON approvals (delegated_to) WHERE delegated_to IS NOT NULL;
DROP INDEX idx_approvals_reviewed_by;
CREATE INDEX idx_approvals_reviewed_by ON approvals (reviewed_by) WHERE reviewed_by IS NOT NULL;

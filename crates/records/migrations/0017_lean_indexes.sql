-- Indexes that every row paid for and nobody looks into. Tokens and rules as in 0001.

-- A row is put under its seal a moment after it is written: with all rows in it the index took each of them twice.
-- Sessions of agents are in few rows.
DROP INDEX idx_audit_logs_seal_id;
CREATE INDEX idx_audit_logs_seal_id ON audit_logs (seal_id) WHERE seal_id IS NOT NULL;
DROP INDEX idx_audit_logs_session_id;
CREATE INDEX idx_audit_logs_session_id ON audit_logs (session_id) WHERE session_id IS NOT NULL;
DROP INDEX idx_audit_logs_key_id;
CREATE INDEX idx_audit_logs_key_id ON audit_logs (key_id) WHERE key_id IS NOT NULL;

-- Events are forgotten in the order of their numbers.
DROP INDEX idx_events_created_at;

-- Accounts are deactivated and stay (DECISIONS.md 23), so nobody ever asks what points at one.
DROP INDEX idx_approvals_reviewed_by;
DROP INDEX idx_reviews_resolved_by;
DROP INDEX idx_task_revisions_edited_by;

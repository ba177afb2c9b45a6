-- Notifications: each in one list. Tokens and rules as in 0001.

-- Everybody has a place of their own in these, so every row that is told dirties a page of each: a vote wrote as many
-- pages of notifications as of everything else. What is read and what is not are two lists now, and all of it is both.
DROP INDEX idx_notifications_list;
CREATE INDEX idx_notifications_read ON notifications (org_id, account_id, created_at, id) WHERE read_at IS NOT NULL;

-- Events come in their order, those who are told do not.
DROP INDEX unq_notifications_event;
CREATE UNIQUE INDEX unq_notifications_event ON notifications (event_id, account_id);

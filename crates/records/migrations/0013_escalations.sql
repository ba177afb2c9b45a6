-- Escalations: where the policies of a review stand in time. Tokens and rules as in 0001.

-- `next_look_at` is when something is due of an open review by itself, so that nobody has to look at all of them.
ALTER TABLE reviews ADD COLUMN clocks @json NOT NULL DEFAULT '[]';
ALTER TABLE reviews ADD COLUMN escalations @json NOT NULL DEFAULT '[]';
ALTER TABLE reviews ADD COLUMN next_look_at @ts;
CREATE INDEX idx_reviews_next_look_at ON reviews (next_look_at, id) WHERE resolution IS NULL AND next_look_at IS NOT NULL;

-- Reviews that are open are due when the first of their requests is.
UPDATE reviews SET next_look_at = (SELECT MIN(due_at) FROM approvals WHERE approvals.review_id = reviews.id AND
    approvals.status = 'PENDING') WHERE resolution IS NULL;

-- Nobody looks for requests by their time any more.
DROP INDEX idx_approvals_due;

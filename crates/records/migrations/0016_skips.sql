-- What an approved task need not wait for, because two admins signed it. Tokens and rules as in 0001.

-- `{prerequisites, approval_id, signed_by, signed_at}`; without it a Grant waits for all.
ALTER TABLE grants ADD COLUMN skip @json;

-- Somebody who was asked to skip the review may be asked about its Grant too.
ALTER TABLE approvals ADD COLUMN about_skipping @bool NOT NULL DEFAULT false;
DROP INDEX unq_approvals_review_reviewer;
CREATE UNIQUE INDEX unq_approvals_review_reviewer ON approvals (review_id, kind, reviewer_id, about_skipping);

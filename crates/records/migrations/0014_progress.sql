-- How far an attempt is, as its agent says. Tokens and rules as in 0001.

ALTER TABLE executions ADD COLUMN progress_percent @int CHECK (progress_percent BETWEEN 0 AND 100);
ALTER TABLE executions ADD COLUMN progress_message TEXT;

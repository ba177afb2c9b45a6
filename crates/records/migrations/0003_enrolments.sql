-- Accounts of logins that were forgotten, which may have been their only credential. Somebody has been this account, so
-- nobody is enrolled as it again. Tokens and rules as in 0001.

CREATE TABLE enrolments (
    account_id @uuid NOT NULL PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL
) @strict;

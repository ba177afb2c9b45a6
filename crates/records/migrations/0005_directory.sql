-- Who is in an organization, as lists and searches show it. Tokens and rules as in 0001.

-- A row for each name that a member is found by, with all that a list shows of the member: a page is one walk along the
-- rows, and nothing is looked up for each. Names are bytes, so that both engines compare alike; the whole name is what
-- lists are sorted by; `shared` is `SearchName::shared` of the domain. What a row repeats of `accounts`,
-- `organization_members` and `role_grants` is written by whoever writes there, in the same unit (records/src/directory.rs).
CREATE TABLE directory_entries (
    org_id @uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    name @blob NOT NULL,
    account_id @uuid NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    shared @int NOT NULL,
    whole @bool NOT NULL,
    email TEXT NOT NULL,
    display_name TEXT NOT NULL,
    gitea_username TEXT,
    access_level TEXT NOT NULL,
    status TEXT NOT NULL,
    home_org_id @uuid REFERENCES organizations (id) ON DELETE SET NULL,
    account_created_at @ts NOT NULL,
    account_updated_at @ts NOT NULL,
    membership_level TEXT NOT NULL,
    manager_id @uuid REFERENCES accounts (id) ON DELETE SET NULL,
    joined_at @ts NOT NULL,
    seat_updated_at @ts NOT NULL,
    roles TEXT,
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL,
    PRIMARY KEY (org_id, name, account_id),
    FOREIGN KEY (org_id, account_id) REFERENCES organization_members (org_id, account_id) ON DELETE CASCADE
-- @sqlite
) STRICT, WITHOUT ROWID;
-- @end
-- @pg
);
-- @end

-- Those who are there already. `lengths` is only for counting the bytes that two names have in common.
CREATE TABLE lengths (bytes @int NOT NULL PRIMARY KEY) @strict;
WITH RECURSIVE counted (bytes) AS (SELECT 1 UNION ALL SELECT bytes + 1 FROM counted WHERE bytes < 1024)
INSERT INTO lengths (bytes) SELECT bytes FROM counted;
INSERT INTO directory_entries (org_id, name, account_id, shared, whole, email, display_name, gitea_username, access_level,
    status, home_org_id, account_created_at, account_updated_at, membership_level, manager_id, joined_at, seat_updated_at,
    roles, created_at, updated_at)
SELECT n.org_id, n.name, n.account_id,
    (SELECT COALESCE(max(l.bytes), 0) FROM member_names o JOIN lengths l ON l.bytes <= length(o.name)
     WHERE o.account_id = n.account_id AND o.org_id = n.org_id AND o.name < n.name
     AND substr(o.name, 1, CAST(l.bytes AS INTEGER)) = substr(n.name, 1, CAST(l.bytes AS INTEGER))),
    n.whole, a.email, a.display_name, a.gitea_username, a.access_level, a.status, a.home_org_id, a.created_at, a.updated_at,
    m.membership_level, m.manager_id, m.created_at, m.updated_at,
    (SELECT string_agg(r.role || '=' || CAST(r.granted_by AS TEXT), ',') FROM role_grants r
     WHERE r.org_id = n.org_id AND r.account_id = n.account_id),
    n.created_at, n.updated_at
FROM member_names n JOIN accounts a ON a.id = n.account_id
JOIN organization_members m ON m.org_id = n.org_id AND m.account_id = n.account_id;
DROP TABLE lengths;

CREATE INDEX idx_directory_entries_member ON directory_entries (account_id, org_id, name);
CREATE INDEX idx_directory_entries_whole ON directory_entries (org_id, name, account_id) WHERE whole = true;

-- No release has known the table that this one replaces.
DROP TABLE member_names;

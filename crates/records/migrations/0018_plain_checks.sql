-- Lists of allowed words, as comparisons. Tokens and rules as in 0001.
-- @sqlite

-- For `IN` with more than two words SQLite makes a table of the words, in memory, for every row that it checks: a third of
-- what it took to move a task. Comparisons mean the same. A constraint cannot be altered, and making the tables anew would
-- copy every row of them for nothing that is on the disk; what is changed is the text, as SQLite's manual says for such
-- changes (ALTER TABLE, section 7).
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(replace(sql,
    'CHECK (state IN (''DRAFT'', ''SUBMITTED'', ''REVIEWING'', ''APPROVED'', ''APPLYING'', ''COMPLETED'',
        ''REJECTED'', ''CANCELLED'', ''FAILED''))',
    'CHECK (state = ''DRAFT'' OR state = ''SUBMITTED'' OR state = ''REVIEWING'' OR state = ''APPROVED'' OR
        state = ''APPLYING'' OR state = ''COMPLETED'' OR state = ''REJECTED'' OR state = ''CANCELLED'' OR
        state = ''FAILED'')'),
    'CHECK (status IN (''pending'', ''in-progress'', ''completed'', ''failed'', ''blocked''))',
    'CHECK (status = ''pending'' OR status = ''in-progress'' OR status = ''completed'' OR status = ''failed'' OR
        status = ''blocked'')')
    WHERE type = 'table' AND name = 'tasks';
UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (resolution IN (''quorum'', ''auto'', ''override'', ''rejected'', ''changes_requested'', ''timeout'',
        ''withdrawn'', ''superseded''))',
    'CHECK (resolution = ''quorum'' OR resolution = ''auto'' OR resolution = ''override'' OR
        resolution = ''rejected'' OR resolution = ''changes_requested'' OR resolution = ''timeout'' OR
        resolution = ''withdrawn'' OR resolution = ''superseded'')')
    WHERE type = 'table' AND name = 'reviews';
UPDATE sqlite_schema SET sql = replace(replace(replace(sql,
    'CHECK (status IN (''PENDING'', ''APPROVED'', ''REJECTED'', ''DELEGATED'', ''EXPIRED'', ''SUPERSEDED''))',
    'CHECK (status = ''PENDING'' OR status = ''APPROVED'' OR status = ''REJECTED'' OR status = ''DELEGATED'' OR
        status = ''EXPIRED'' OR status = ''SUPERSEDED'')'),
    'CHECK (priority IN (''LOW'', ''NORMAL'', ''HIGH'', ''URGENT''))',
    'CHECK (priority = ''LOW'' OR priority = ''NORMAL'' OR priority = ''HIGH'' OR priority = ''URGENT'')'),
    'CHECK (response_action IN (''approve'', ''reject'', ''request_changes''))',
    'CHECK (response_action = ''approve'' OR response_action = ''reject'' OR response_action = ''request_changes'')')
    WHERE type = 'table' AND name = 'approvals';
UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (basis IN (''quorum'', ''auto'', ''override''))',
    'CHECK (basis = ''quorum'' OR basis = ''auto'' OR basis = ''override'')')
    WHERE type = 'table' AND name = 'grants';
UPDATE sqlite_schema SET sql = replace(replace(sql,
    'CHECK (result IN (''success'', ''failure'', ''timeout'', ''cancelled''))',
    'CHECK (result = ''success'' OR result = ''failure'' OR result = ''timeout'' OR result = ''cancelled'')'),
    'CHECK (rollback IN (''none'', ''asked'', ''running'', ''succeeded'', ''failed''))',
    'CHECK (rollback = ''none'' OR rollback = ''asked'' OR rollback = ''running'' OR rollback = ''succeeded'' OR
        rollback = ''failed'')')
    WHERE type = 'table' AND name = 'executions';
UPDATE sqlite_schema SET sql = replace(replace(sql,
    'CHECK (store IN (''records'', ''memory'', ''redis''))',
    'CHECK (store = ''records'' OR store = ''memory'' OR store = ''redis'')'),
    'CHECK (status IN (''pending'', ''consumed'', ''expired''))',
    'CHECK (status = ''pending'' OR status = ''consumed'' OR status = ''expired'')')
    WHERE type = 'table' AND name = 'standalone_grants';
UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (state IN (''pending'', ''delivered'', ''parked''))',
    'CHECK (state = ''pending'' OR state = ''delivered'' OR state = ''parked'')')
    WHERE type = 'table' AND name = 'webhook_deliveries';
PRAGMA writable_schema = RESET;
-- @end

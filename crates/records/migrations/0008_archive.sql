-- Archives: where finished tasks go after the organization's retention. Tokens and rules as in 0001.

-- One archive never changes. `audit_id` is the row of the audit trail that tells of it and of the hash of its bytes.
-- No action on the blob: an archive that has lost its bytes would say that nothing was lost.
CREATE TABLE archives (
    id @uuid NOT NULL PRIMARY KEY,
    org_id @uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    blob_id @uuid NOT NULL REFERENCES blobs (id) ON DELETE NO ACTION,
    audit_id @uuid NOT NULL,
    tasks @int NOT NULL CHECK (tasks > 0),
    approvals @int NOT NULL CHECK (approvals >= 0),
    bytes @int NOT NULL CHECK (bytes > 0),
    sha256 @blob NOT NULL,
    first_ended_at @ts NOT NULL,
    last_ended_at @ts NOT NULL,
    metadata @json NOT NULL DEFAULT '{}',
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL
) @strict;
CREATE INDEX idx_archives_org_created ON archives (org_id, created_at, id);
CREATE UNIQUE INDEX unq_archives_blob_id ON archives (blob_id);

-- Where the line of each archived task is: nobody may ask in vain for what was once here.
CREATE TABLE archived_tasks (
    task_id @uuid NOT NULL PRIMARY KEY,
    org_id @uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    archive_id @uuid NOT NULL REFERENCES archives (id) ON DELETE CASCADE,
    line_offset @int NOT NULL CHECK (line_offset >= 0),
    line_bytes @int NOT NULL CHECK (line_bytes > 0),
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL
) @strict;
CREATE UNIQUE INDEX unq_archived_tasks_line ON archived_tasks (archive_id, line_offset);

-- What ended, in the order in which it did: found without looking at what is kept.
CREATE INDEX idx_tasks_ended ON tasks (org_id, ended_at, id) WHERE ended_at IS NOT NULL;

-- Tasks and their reviews (S001, S004), policies, grants, claims, executions.
-- Tokens and rules as in 0001.

-- `status` is the planner's view of `state` and the dependencies; whoever changes one changes the other in one unit.
-- `version` grows with every decision about the task (DECISIONS.md 14).
CREATE TABLE tasks (
    id @uuid NOT NULL PRIMARY KEY,
    org_id @uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    project_id @uuid NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    author_id @uuid NOT NULL REFERENCES accounts (id) ON DELETE RESTRICT,
    slug TEXT,
-- @sqlite
    path TEXT,
-- @end
-- @pg
    -- Bytes in their own order, so that what begins alike stands together on both engines.
    path TEXT COLLATE "C",
-- @end
    state TEXT NOT NULL CHECK (state IN ('DRAFT', 'SUBMITTED', 'REVIEWING', 'APPROVED', 'APPLYING', 'COMPLETED',
        'REJECTED', 'CANCELLED', 'FAILED')),
    status TEXT NOT NULL CHECK (status IN ('pending', 'in-progress', 'completed', 'failed', 'blocked')),
    revision @int NOT NULL,
    content_hash @blob NOT NULL,
    version @int NOT NULL,
    task_type TEXT NOT NULL,
    priority @int NOT NULL CHECK (priority BETWEEN 0 AND 100),
    assignee @uuid REFERENCES accounts (id) ON DELETE SET NULL,
    due_at @ts,
    tags @json NOT NULL DEFAULT '[]',
    risk @json NOT NULL,
    risk_score @int NOT NULL CHECK (risk_score BETWEEN 0 AND 100),
    preview @json,
    effect_hash @blob,
    review_id @uuid,
    needs_attention @bool NOT NULL,
    resubmitted_from @uuid REFERENCES tasks (id) ON DELETE SET NULL,
    submitted_at @ts,
    approved_at @ts,
    applying_at @ts,
    completed_at @ts,
    ended_at @ts,
    metadata @json NOT NULL DEFAULT '{}',
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL
) @strict;
CREATE UNIQUE INDEX unq_tasks_project_slug ON tasks (project_id, slug);
CREATE INDEX idx_tasks_project_id ON tasks (project_id, created_at, id);
CREATE INDEX idx_tasks_project_status ON tasks (project_id, status);
CREATE INDEX idx_tasks_status ON tasks (org_id, status, created_at, id);
CREATE INDEX idx_tasks_active ON tasks (org_id, created_at, id) WHERE status IN ('pending', 'in-progress', 'blocked');
CREATE INDEX idx_tasks_path ON tasks (org_id, path, created_at, id);
CREATE INDEX idx_tasks_priority ON tasks (org_id, priority);
CREATE INDEX idx_tasks_assignee ON tasks (assignee, created_at, id);
CREATE INDEX idx_tasks_due_at ON tasks (org_id, due_at);
CREATE INDEX idx_tasks_org_created ON tasks (org_id, created_at, id);
CREATE INDEX idx_tasks_org_state ON tasks (org_id, state, created_at, id);
CREATE INDEX idx_tasks_author_id ON tasks (author_id, created_at, id);
CREATE INDEX idx_tasks_author_open ON tasks (org_id, author_id) WHERE ended_at IS NULL;
CREATE INDEX idx_tasks_resubmitted_from ON tasks (resubmitted_from);

-- One immutable version of what a task will do: the RFC 8785 bytes that are hashed, shown, approved and executed.
-- `provenance` is everybody who may not decide on it.
CREATE TABLE task_revisions (
    id @uuid NOT NULL PRIMARY KEY,
    org_id @uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    task_id @uuid NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    number @int NOT NULL,
    config @blob NOT NULL,
    content_hash @blob NOT NULL,
    edited_by @uuid NOT NULL REFERENCES accounts (id) ON DELETE RESTRICT,
    provenance @json NOT NULL,
    metadata @json NOT NULL DEFAULT '{}',
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL
) @strict;
CREATE UNIQUE INDEX unq_task_revisions_task_number ON task_revisions (task_id, number);
CREATE INDEX idx_task_revisions_edited_by ON task_revisions (edited_by);

CREATE TABLE task_dependencies (
    id @uuid NOT NULL PRIMARY KEY,
    org_id @uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    depends_on_task_id @uuid NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    dependent_task_id @uuid NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    quality_retention TEXT,
    metadata @json NOT NULL DEFAULT '{}',
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL
) @strict;
CREATE UNIQUE INDEX unq_task_dependencies_depends_on_task ON task_dependencies (depends_on_task_id, dependent_task_id);
CREATE INDEX idx_task_dependencies_depends_on_task_id ON task_dependencies (depends_on_task_id);
CREATE INDEX idx_task_dependencies_dependent_task_id ON task_dependencies (dependent_task_id);

-- What the current revision touches, and what it is tagged with: to find tasks by. `created_at` is the task's, so that
-- a list is one walk along the index.
CREATE TABLE task_resources (
    org_id @uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    resource TEXT NOT NULL,
    created_at @ts NOT NULL,
    task_id @uuid NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    updated_at @ts NOT NULL,
    PRIMARY KEY (org_id, resource, created_at, task_id)
) @strict;
CREATE INDEX idx_task_resources_task_id ON task_resources (task_id);

CREATE TABLE task_tags (
    org_id @uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    tag TEXT NOT NULL,
    created_at @ts NOT NULL,
    task_id @uuid NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    updated_at @ts NOT NULL,
    PRIMARY KEY (org_id, tag, created_at, task_id)
) @strict;
CREATE INDEX idx_tasks_tags ON task_tags (task_id);

CREATE TABLE task_comments (
    id @uuid NOT NULL PRIMARY KEY,
    org_id @uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    task_id @uuid NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    author_id @uuid NOT NULL REFERENCES accounts (id) ON DELETE RESTRICT,
    body TEXT NOT NULL,
    metadata @json NOT NULL DEFAULT '{}',
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL
) @strict;
CREATE INDEX idx_task_comments_task ON task_comments (task_id, created_at, id);
CREATE INDEX idx_task_comments_author_id ON task_comments (author_id);

-- How executions of a type on a resource ended so far: the history that risk looks at.
CREATE TABLE execution_history (
    org_id @uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    task_type TEXT NOT NULL,
    resource TEXT NOT NULL,
    runs @int NOT NULL,
    failures @int NOT NULL,
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL,
    PRIMARY KEY (org_id, task_type, resource)
) @strict;

-- `version` grows with every change of a policy or of the catalogue. `stamp` is new with each of them, also with one that
-- was rolled back: whoever has worked the set out for a stamp need not read it again.
CREATE TABLE rule_sets (
    org_id @uuid NOT NULL PRIMARY KEY REFERENCES organizations (id) ON DELETE CASCADE,
    version @int NOT NULL,
    stamp @uuid NOT NULL,
    catalogue @json NOT NULL DEFAULT '[]',
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL
) @strict;

-- `sort_name` is the name as bytes, so that both engines sort it alike.
CREATE TABLE policies (
    id @uuid NOT NULL PRIMARY KEY,
    org_id @uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    sort_name @blob NOT NULL,
    is_default @bool NOT NULL,
    active @bool NOT NULL,
    version @int NOT NULL,
    metadata @json NOT NULL DEFAULT '{}',
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL
) @strict;
CREATE UNIQUE INDEX unq_policies_org_name ON policies (org_id, name);
CREATE INDEX idx_policies_org_sort_name ON policies (org_id, sort_name, id);
CREATE UNIQUE INDEX unq_policies_org_default ON policies (org_id) WHERE is_default = true;

-- Immutable: reviews pin the version that they matched.
CREATE TABLE policy_versions (
    policy_id @uuid NOT NULL REFERENCES policies (id) ON DELETE CASCADE,
    version @int NOT NULL,
    org_id @uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    active @bool NOT NULL,
    rules @json NOT NULL,
    created_by @uuid NOT NULL REFERENCES accounts (id) ON DELETE RESTRICT,
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL,
    PRIMARY KEY (policy_id, version)
) @strict;
CREATE INDEX idx_policy_versions_org_id ON policy_versions (org_id);
CREATE INDEX idx_policy_versions_created_by ON policy_versions (created_by);

-- One round of review of one revision. `policies` is what was matched, pinned, with what each asks for.
CREATE TABLE reviews (
    id @uuid NOT NULL PRIMARY KEY,
    org_id @uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    task_id @uuid NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    revision @int NOT NULL,
    content_hash @blob NOT NULL,
    effect_hash @blob,
    risk_score @int NOT NULL,
    review_hash @blob NOT NULL,
    policies @json NOT NULL,
    resolution TEXT CHECK (resolution IN ('quorum', 'auto', 'override', 'rejected', 'changes_requested', 'timeout',
        'withdrawn', 'superseded')),
    resolved_at @ts,
    resolved_by @uuid REFERENCES accounts (id) ON DELETE SET NULL,
    metadata @json NOT NULL DEFAULT '{}',
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL
) @strict;
CREATE UNIQUE INDEX unq_reviews_task_open ON reviews (task_id) WHERE resolution IS NULL;
CREATE INDEX idx_reviews_task ON reviews (task_id, created_at, id);
CREATE INDEX idx_reviews_resolved_by ON reviews (resolved_by);

-- One request to one reviewer. `serves` are the places of the review's policies that ask this person. `behind` is who
-- stood behind the answer. `queue_rank` is the score below zero and `queue_due` the end of time where nothing is due, so
-- that one ascending walk is the queue.
CREATE TABLE approvals (
    id @uuid NOT NULL PRIMARY KEY,
    org_id @uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    task_id @uuid NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    review_id @uuid NOT NULL REFERENCES reviews (id) ON DELETE CASCADE,
    kind TEXT NOT NULL CHECK (kind IN ('review', 'override')),
    reviewer_id @uuid NOT NULL REFERENCES accounts (id) ON DELETE RESTRICT,
    status TEXT NOT NULL CHECK (status IN ('PENDING', 'APPROVED', 'REJECTED', 'DELEGATED', 'EXPIRED', 'SUPERSEDED')),
    priority TEXT NOT NULL CHECK (priority IN ('LOW', 'NORMAL', 'HIGH', 'URGENT')),
    score @int NOT NULL,
    queue_rank @int NOT NULL,
    queue_due @ts NOT NULL,
    serves @json NOT NULL,
    content_hash @blob NOT NULL,
    joined @bool NOT NULL,
    delegated_to @uuid REFERENCES accounts (id) ON DELETE SET NULL,
    delegation_chain @json NOT NULL DEFAULT '[]',
    due_at @ts,
    acknowledged_at @ts,
    responded_at @ts,
    response_action TEXT CHECK (response_action IN ('approve', 'reject', 'request_changes')),
    response_reason TEXT,
    reviewed_by @uuid REFERENCES accounts (id) ON DELETE SET NULL,
    behind @json NOT NULL DEFAULT '[]',
    metadata @json NOT NULL DEFAULT '{}',
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL
) @strict;
CREATE UNIQUE INDEX unq_approvals_review_reviewer ON approvals (review_id, kind, reviewer_id);
CREATE INDEX idx_approvals_task ON approvals (task_id, created_at, id);
CREATE INDEX idx_approvals_queue ON approvals (org_id, reviewer_id, status, queue_rank, queue_due, id);
CREATE INDEX idx_approvals_open ON approvals (org_id, queue_rank, queue_due, id) WHERE status = 'PENDING';
CREATE INDEX idx_approvals_due ON approvals (due_at) WHERE status = 'PENDING';
CREATE INDEX idx_approvals_answers ON approvals (org_id, reviewer_id, responded_at) WHERE responded_at IS NOT NULL;
CREATE INDEX idx_approvals_delegated_to ON approvals (delegated_to);
CREATE INDEX idx_approvals_reviewed_by ON approvals (reviewed_by);

-- Permission to start so many attempts of exactly these bytes. Only the resolution of a review writes one, only the gate
-- takes from it.
CREATE TABLE grants (
    id @uuid NOT NULL PRIMARY KEY,
    org_id @uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    task_id @uuid NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    review_id @uuid NOT NULL REFERENCES reviews (id) ON DELETE CASCADE,
    revision @int NOT NULL,
    content_hash @blob NOT NULL,
    effect_hash @blob,
    policy_versions @json NOT NULL,
    basis TEXT NOT NULL CHECK (basis IN ('quorum', 'auto', 'override')),
    attempts @int NOT NULL CHECK (attempts > 0),
    attempts_started @int NOT NULL CHECK (attempts_started BETWEEN 0 AND attempts),
    valid_until @ts NOT NULL,
    voided_at @ts,
    metadata @json NOT NULL DEFAULT '{}',
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL
) @strict;
CREATE UNIQUE INDEX unq_grants_review ON grants (review_id);
CREATE UNIQUE INDEX unq_grants_task_standing ON grants (task_id) WHERE voided_at IS NULL;
CREATE INDEX idx_grants_valid_until ON grants (valid_until) WHERE voided_at IS NULL AND attempts_started = 0;

-- Who works on what. A claim ends with its attempt, whatever happened to locks.
CREATE TABLE resource_claims (
    org_id @uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    resource TEXT NOT NULL,
    exclusive_by @uuid,
    shared_count @int NOT NULL CHECK (shared_count >= 0),
    high_fence @int NOT NULL,
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL,
    PRIMARY KEY (org_id, resource),
    CHECK (exclusive_by IS NULL OR shared_count = 0)
) @strict;

CREATE TABLE executions (
    id @uuid NOT NULL PRIMARY KEY,
    org_id @uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    task_id @uuid NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    grant_id @uuid NOT NULL REFERENCES grants (id) ON DELETE CASCADE,
    purpose TEXT NOT NULL CHECK (purpose IN ('apply', 'rollback')),
    attempt @int NOT NULL CHECK (attempt > 0),
    agent_id @uuid NOT NULL REFERENCES accounts (id) ON DELETE RESTRICT,
    result TEXT CHECK (result IN ('success', 'failure', 'timeout', 'cancelled')),
    outcome TEXT CHECK (outcome IN ('known', 'unknown')),
    ended_at @ts,
    metadata @json NOT NULL DEFAULT '{}',
    created_at @ts NOT NULL,
    updated_at @ts NOT NULL
) @strict;
CREATE UNIQUE INDEX unq_executions_grant_attempt ON executions (grant_id, purpose, attempt);
CREATE INDEX idx_executions_task ON executions (task_id, created_at, id);
CREATE INDEX idx_executions_running ON executions (org_id, agent_id) WHERE ended_at IS NULL;
CREATE INDEX idx_executions_agent_id ON executions (agent_id);

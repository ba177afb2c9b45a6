//! The shapes that travel between the hub and its clients, shared by server, client and command line.
//!
//! **Invariant:** no rules live here beyond the form of the input (lengths, counts); what is allowed is decided in
//! `domain`, which never sees these types.
//!
//! One file per noun. Requests refuse unknown fields and implement `garde::Validate`; answers tolerate fields they
//! do not know, so that an older client can talk to a newer hub. Ids are UUIDs, times are RFC 3339 text in UTC with
//! microseconds (`2026-03-18T15:30:00.000000Z`), hashes are lower-case hex.
//!
//! To add an error code: a variant and a row in `code.rs`, and its page in `docs/errors/`.

pub mod accounts;
pub mod agents;
pub mod approvals;
pub mod archives;
pub mod audit;
pub mod backtests;
pub mod code;
pub mod delegations;
pub mod events;
pub mod executions;
pub mod health;
pub mod identity;
pub mod invitations;
pub mod locks;
pub mod login_sessions;
pub mod notifications;
pub mod organizations;
pub mod page;
mod patch;
pub mod policies;
pub mod problem;
pub mod projects;
pub mod risk;
pub mod settings;
pub mod standalone_grants;
pub mod task_comments;
pub mod task_previews;
pub mod task_revisions;
pub mod tasks;
pub mod webhooks;

pub use accounts::{
    AccountsQuery, ChangeAccount, CreateAccount, Invited, Member, MembershipLevel, RoleGrant,
};
pub use agents::{Agent, AgentState, AgentStatus, AgentsQuery, CreateAgent, Heartbeat, UpdateAgent};
pub use approvals::{
    AnswerBatch, Approval, ApprovalStats, ApprovalStatsQuery, ApprovalStatus, ApprovalsQuery, Approve,
    BatchAction, BatchAnswered, BatchOptions, GiveReason, GiveUrgency, Refuse, Resubmit, Review,
    ReviewEscalation, ReviewPolicy, SimulatedRequest, Simulation,
};
pub use archives::Archive;
pub use audit::{AuditProof, AuditQuery, AuditRow, AuditSeal, AuditVerification, SealRef};
pub use backtests::{
    Backtest, BacktestAsked, BacktestCounts, BacktestDifference, BacktestOutcome, BacktestPerson,
    BacktestPolicy, BacktestRisk, BacktestSide, Compared, RunBacktest,
};
pub use code::{Code, UnknownCode};
pub use delegations::{
    Delegation, DelegationConditions, DelegationForm, DelegationKind, DelegationsQuery, PassOn,
};
pub use events::{Event, Events, EventsQuery, Pulse, SocketQuery, StreamQuery, Subject};
pub use executions::{
    AppendOutput, AppendedOutput, ClaimTask, ClaimedTask, CompleteExecution, Execution, ExecutionGrant,
    ExecutionHeard, ExecutionLock, ExecutionOutcome, ExecutionPhase, ExecutionPurpose, ExecutionResult,
    FailExecution, NextTask, Output, OutputQuery, Progress, RollbackStatus,
};
pub use health::{Check, Ready};
pub use identity::{
    AccessLevel, Account, AccountStatus, ApiKey, CreateApiKey, CreatedApiKey, Me, Organization,
};
pub use invitations::{Invitation, InvitationStatus, InvitationsQuery};
pub use locks::{
    AcquireLock, AcquireLocks, ForceReleaseLock, HeartbeatLock, Lock, LockEdge, LockGraph, LockHeard,
    LockMode, LockOwner, LockQueue, LockQueueQuery, LockReleased, LockTicket, LockValidity, LockWaiter,
    Locks, LocksQuery, QueuedLock, ReleaseLock, TicketStatus, ValidateLock, WantedKey,
};
pub use login_sessions::{
    DeviceLogin, DeviceToken, ExchangeDeviceCode, LogIn, LoggedIn, LoginSession, SetPassword,
    SwitchOrganization,
};
pub use notifications::{
    Notification, NotificationPreferences, NotificationsQuery, SetNotificationPreferences,
};
pub use organizations::{
    AddMember, ChangeMember, ChangeOrganization, CreateOrganization, OrganizationsQuery, TransferOwnership,
};
pub use page::{Page, PageQuery};
pub use policies::{
    AutoApproveIf, CatalogueRule, Hours, OnTimeout, PoliciesQuery, Policy, PolicyForm, PolicyQuery, RejectOn,
    Window,
};
pub use problem::{FieldError, Problem};
pub use projects::{
    CreateProject, CreateWorkspace, Project, ProjectsQuery, UpdateProject, UpdateWorkspace, Workspace,
};
pub use risk::{RiskFactor, TaskRisk};
pub use settings::Settings;
pub use standalone_grants::{
    AcknowledgeGrant, AcknowledgedGrant, CleanedGrants, ConsumeGrant, CreateGrant, CreatedGrant,
    GrantCleanup, GrantCleanupHealth, GrantCounts, GrantHealth, GrantNews, GrantSocketQuery, GrantStats,
    GrantStatsQuery, GrantStatus, PendingGrants, PendingGrantsQuery, StandaloneGrant,
};
pub use task_comments::{Comment, CreateComment};
pub use task_previews::AttachPreview;
pub use task_revisions::{Diff, DiffQuery, Difference, Revision, RevisionSummary};
pub use tasks::{
    BlockedBy, CreateTask, SkippedDependencies, Task, TaskMetadata, TaskQuery, TaskState, TaskStatus,
    TasksQuery, UpdateTask,
};
pub use webhooks::{
    CreateWebhook, CreatedWebhook, DeliveriesQuery, Delivery, DeliveryRequest, DeliveryResponse,
    DeliveryState, RotateWebhookSecret, UpdateWebhook, Webhook, WebhookFormat,
};

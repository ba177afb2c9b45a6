//! What a crash at each place leaves, and what comes of it.

use super::scenes::Scene::{self, *};

/// A place to be killed at, on a certain way.
pub(super) struct Case {
    pub(super) point: &'static str,
    pub(super) scene: Scene,
    /// What the next server finds.
    pub(super) then: &'static str,
    /// What it comes to.
    pub(super) end: &'static str,
}

const fn case(point: &'static str, scene: Scene, then: &'static str, end: &'static str) -> Case {
    Case { point, scene, then, end }
}

/// Nobody has begun; with the locks of one who wanted to.
const FREE: &str = "APPROVED; no attempt; 0 claims; 0 locks";
const LOCKED: &str = "APPROVED; no attempt; 0 claims; 3 locks";
const BEGUN: &str = "APPLYING; apply 1 runs; 2 claims; 3 locks";
const DONE: &str = "COMPLETED; apply 1 success; 0 claims; 0 locks";
const DONE_LOCKED: &str = "COMPLETED; apply 1 success; 0 claims; 3 locks";
const DONE_AGAIN: &str = "COMPLETED; apply 1 failure, apply 2 success; 0 claims; 0 locks";
const UNDOING: &str = "APPLYING; apply 1 failure, undoing it; 2 claims; 3 locks";
const UNDONE: &str = "FAILED; apply 1 failure, undone; 0 claims; 0 locks";
const FAILED: &str = "FAILED, needs attention; apply 1 failure; 0 claims; 0 locks";
const ASKED: &str = "FAILED, needs attention; apply 1 failure, to be undone; 0 claims; 0 locks";
const ASKED_LOCKED: &str = "FAILED, needs attention; apply 1 failure, to be undone; 0 claims; 3 locks";
const UNDOING_LATER: &str =
    "FAILED, needs attention; apply 1 failure, undoing it, rollback 1 runs; 2 claims; 3 locks";
const UNDONE_LATER: &str = "FAILED; apply 1 failure, undone, rollback 1 success; 0 claims; 0 locks";
const TAKEN: &str = "FAILED, needs attention; apply 1 cancelled; 0 claims; 0 locks";
const TAKEN_LOCKED: &str = "FAILED, needs attention; apply 1 cancelled; 0 claims; 3 locks";

/// Cases that need no time to pass.
pub(super) const CASES: &[Case] = &[
    case("claim:looked", Claim, FREE, DONE),
    case("claim:locked", Claim, LOCKED, DONE),
    case("gate:read", Claim, LOCKED, DONE),
    case("gate:task", Claim, LOCKED, DONE),
    case("gate:grant", Claim, LOCKED, DONE),
    case("gate:execution", Claim, LOCKED, DONE),
    case("gate:claims", Claim, LOCKED, DONE),
    case("gate:recorded", Claim, LOCKED, DONE),
    case("gate:announced", Claim, LOCKED, DONE),
    case("claim:begun", Claim, BEGUN, DONE),
    case("claim:answering", Claim, BEGUN, DONE),
    case("claim:begun", ClaimForgotten, BEGUN, DONE_AGAIN),
    case(
        "claim:refused",
        ClaimRefused,
        "CANCELLED; no attempt; 0 claims; 3 locks",
        "CANCELLED; no attempt; 0 claims; 0 locks",
    ),
    case("gate:undone", ClaimRollback, ASKED_LOCKED, UNDONE_LATER),
    case("gate:execution", ClaimRollback, ASKED_LOCKED, UNDONE_LATER),
    case("gate:claims", ClaimRollback, ASKED_LOCKED, UNDONE_LATER),
    case("claim:begun", ClaimRollback, UNDOING_LATER, UNDONE_LATER),
    case("heartbeat:written", Heartbeat, BEGUN, DONE),
    case("heartbeat:heard", Heartbeat, BEGUN, DONE),
    case("heartbeat:renewed", Heartbeat, BEGUN, DONE),
    case("output:appended", Output, BEGUN, DONE),
    case("output:answering", Output, BEGUN, DONE),
    case("settle:task", Complete, BEGUN, DONE),
    case("settle:execution", Complete, BEGUN, DONE),
    case("settle:claims", Complete, BEGUN, DONE),
    case("settle:history", Complete, BEGUN, DONE),
    case("settle:recorded", Complete, BEGUN, DONE),
    case("settle:announced", Complete, BEGUN, DONE),
    case("report:noted", Complete, DONE_LOCKED, DONE),
    case("release:one", Complete, "COMPLETED; apply 1 success; 0 claims; 2 locks", DONE),
    case("report:answering", Complete, DONE, DONE),
    case("settle:execution", FailForAnother, BEGUN, DONE_AGAIN),
    case("settle:announced", FailForAnother, BEGUN, DONE_AGAIN),
    case("report:noted", FailForAnother, "APPROVED; apply 1 failure; 0 claims; 3 locks", DONE_AGAIN),
    case("settle:task", FailToUndo, BEGUN, UNDONE),
    case("settle:announced", FailToUndo, BEGUN, UNDONE),
    case("report:noted", FailToUndo, UNDOING, UNDONE),
    case("settle:execution", Undo, UNDOING, UNDONE),
    case("settle:announced", Undo, UNDOING, UNDONE),
    case("report:noted", Undo, "FAILED; apply 1 failure, undone; 0 claims; 3 locks", UNDONE),
    case("rollback:written", AskRollback, FAILED, UNDONE_LATER),
    case("rollback:answering", AskRollback, ASKED, UNDONE_LATER),
    case("force_release:found", ForceRelease, BEGUN, TAKEN),
    case("settle:announced", ForceRelease, BEGUN, TAKEN),
    case("force_release:ended", ForceRelease, BEGUN, TAKEN),
    case("force_release:recorded", ForceRelease, TAKEN_LOCKED, TAKEN),
    case(
        "force_release:freed",
        ForceRelease,
        "FAILED, needs attention; apply 1 cancelled; 0 claims; 2 locks",
        TAKEN,
    ),
];

const SILENT: &str = "APPLYING; apply 1 runs; 2 claims; 0 locks";
const LOST: &str = "APPROVED; apply 1 failure; 0 claims; 0 locks";

/// Cases of an agent that is silent for longer than its locks last.
pub(super) const SILENCES: &[Case] = &[
    case("heartbeat:lock_lost", LockLost, SILENT, DONE_AGAIN),
    case("heartbeat:ended", LockLost, LOST, DONE_AGAIN),
    case("recover:found", Lost, SILENT, DONE_AGAIN),
    case("settle:announced", Lost, SILENT, DONE_AGAIN),
    case("recover:ended", Lost, LOST, DONE_AGAIN),
];

const OVERDUE: &str = "REVIEWING; first PENDING; 0 told, 0 on record";
const ESCALATED: &str = "REVIEWING; first EXPIRED, second PENDING; 1 told, 1 on record";
const TIMED_OUT: &str = "REJECTED; first EXPIRED; 2 told, 2 on record";

/// Cases of a review that nobody answers.
pub(super) const TIMES: &[Case] = &[
    case("escalate:found", Escalation, OVERDUE, ESCALATED),
    case("escalate:requests", Escalation, OVERDUE, ESCALATED),
    case("escalate:asked", Escalation, OVERDUE, ESCALATED),
    case("escalate:clocks", Escalation, OVERDUE, ESCALATED),
    case("escalate:announced", Escalation, OVERDUE, ESCALATED),
    case("escalate:done", Escalation, ESCALATED, ESCALATED),
    case("escalate:announced", Timeout, OVERDUE, TIMED_OUT),
    case("escalate:finished", Timeout, OVERDUE, TIMED_OUT),
    case("escalate:done", Timeout, TIMED_OUT, TIMED_OUT),
    case("tell:appended", Escalation, OVERDUE, ESCALATED),
    case("tell:appended", Timeout, OVERDUE, TIMED_OUT),
];

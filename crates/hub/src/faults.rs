//! Places on the way of an attempt, or of a review whose time is over, where a test has the hub killed, to see what a crash exactly there leaves behind.
//!
//! Only a build with `debug_assertions` looks: a program that is shipped has no such place. To add one: its name in
//! [`POINTS`], a call of `reached`, and a case in `countersign/tests/it/faults`, which fails without all three.

/// Every place, in the order in which an attempt or a review comes by.
pub const POINTS: [&str; 45] = [
    "claim:looked",
    "claim:locked",
    "gate:read",
    "gate:task",
    "gate:grant",
    "gate:undone",
    "gate:execution",
    "gate:claims",
    "gate:recorded",
    "gate:announced",
    "claim:refused",
    "claim:begun",
    "claim:answering",
    "heartbeat:written",
    "heartbeat:heard",
    "heartbeat:renewed",
    "heartbeat:lock_lost",
    "heartbeat:ended",
    "output:appended",
    "output:answering",
    "settle:task",
    "settle:execution",
    "settle:claims",
    "settle:history",
    "settle:recorded",
    "settle:announced",
    "report:noted",
    "release:one",
    "report:answering",
    "rollback:written",
    "rollback:answering",
    "recover:found",
    "recover:ended",
    "force_release:found",
    "force_release:ended",
    "force_release:recorded",
    "force_release:freed",
    "escalate:found",
    "escalate:requests",
    "escalate:asked",
    "escalate:clocks",
    "escalate:announced",
    "escalate:finished",
    "escalate:done",
    "tell:appended",
];

/// The variable that names the place.
pub const KILL_AT: &str = "COUNTERSIGN_TEST_KILL_AT";

/// Kills this process, as `kill -9` does, if it was started to be killed here.
#[cfg(debug_assertions)]
pub(crate) fn reached(point: &'static str) {
    use std::sync::LazyLock;

    static KILLED_AT: LazyLock<Option<String>> = LazyLock::new(|| std::env::var(KILL_AT).ok());

    debug_assert!(POINTS.contains(&point), "{point} is not in the table");
    if KILLED_AT.as_deref() == Some(point) {
        // Should the signal come late, this thread must not go on.
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL).ok();
        std::process::abort();
    }
}

/// Nothing: what is shipped is not killed by a test.
#[cfg(not(debug_assertions))]
pub(crate) const fn reached(_point: &'static str) {}

//! The steps of a task's life, and which of them it is at.

use domain::tasks::{Task, TaskState};
use hub::tasks::Seen;

/// One step of a task's life.
pub(super) struct Step {
    pub(super) name: &'static str,
    pub(super) icon: &'static str,
    pub(super) class: &'static str,
    pub(super) is_here: bool,
}

pub(super) fn rail(seen: &Seen) -> Vec<Step> {
    match seen.task.state {
        TaskState::Applying if seen.undoing().is_some() => undoing(),
        state => steps(state, steps_taken(&seen.task)),
    }
}

/// How far a task had come that could be given up at any of several steps.
fn steps_taken(task: &Task) -> usize {
    match (task.approved_at, task.submitted_at) {
        (Some(_), _) => 4,
        (None, Some(_)) => 3,
        (None, None) => 1,
    }
}

const WELL: [(TaskState, &str); 6] = [
    (TaskState::Draft, "Draft"),
    (TaskState::Submitted, "Submitted"),
    (TaskState::Reviewing, "Reviewing"),
    (TaskState::Approved, "Approved"),
    (TaskState::Applying, "Applying"),
    (TaskState::Completed, "Completed"),
];
/// How many of them are behind whatever is applied, and behind what was.
const BEGUN: usize = 4;
const TRIED: usize = 5;

fn done(steps: usize) -> impl Iterator<Item = Step> {
    let done = WELL.iter().take(steps);
    done.map(|(_, name)| Step { name, icon: "s-completed", class: " class=\"done\"", is_here: false })
}

/// What failed is on its way back: it does not become completed any more.
fn undoing() -> Vec<Step> {
    let here = Step { name: "Rolling back", icon: "rollback", class: "", is_here: true };
    let then = Step { name: "Failed", icon: "s-todo", class: "", is_here: false };
    done(BEGUN).chain([here, then]).collect()
}

/// The steps of a life that goes well, or of one that ended otherwise.
fn steps(state: TaskState, taken: usize) -> Vec<Step> {
    let (before, end): (usize, Option<(&'static str, &'static str)>) = match state {
        TaskState::Rejected => (3, Some(("Rejected", "s-rejected"))),
        TaskState::Cancelled => (taken, Some(("Cancelled", "s-cancelled"))),
        TaskState::Failed => (TRIED, Some(("Failed", "s-failed"))),
        other => (WELL.iter().position(|(known, _)| *known == other).unwrap_or(0), None),
    };
    if let Some((name, icon)) = end {
        return done(before).chain([Step { name, icon, class: " class=\"ended\"", is_here: true }]).collect();
    }
    let rest = WELL.iter().skip(before).enumerate().map(|(place, (known, name))| Step {
        name,
        icon: if place == 0 { state_icon(*known) } else { "s-todo" },
        class: "",
        is_here: place == 0,
    });
    done(before).chain(rest).collect()
}

fn state_icon(state: TaskState) -> &'static str {
    match state {
        TaskState::Draft => "s-draft",
        TaskState::Submitted => "s-submitted",
        TaskState::Reviewing => "s-reviewing",
        TaskState::Approved => "s-approved",
        TaskState::Applying => "s-applying",
        TaskState::Completed => "s-completed",
        TaskState::Rejected => "s-rejected",
        TaskState::Cancelled => "s-cancelled",
        TaskState::Failed => "s-failed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rail_says_where_a_task_is() {
        let here = |state| -> Vec<&'static str> {
            steps(state, 3).iter().filter(|step| step.is_here).map(|step| step.name).collect()
        };
        for (state, name) in [
            (TaskState::Draft, "Draft"),
            (TaskState::Reviewing, "Reviewing"),
            (TaskState::Completed, "Completed"),
            (TaskState::Rejected, "Rejected"),
            (TaskState::Cancelled, "Cancelled"),
            (TaskState::Failed, "Failed"),
        ] {
            assert_eq!(here(state), [name]);
        }
        assert_eq!(steps(TaskState::Applying, 4).len(), 6);
        let given_up: Vec<&str> = steps(TaskState::Cancelled, 3).iter().map(|step| step.name).collect();
        assert_eq!(given_up, ["Draft", "Submitted", "Reviewing", "Cancelled"]);
        assert_eq!(steps(TaskState::Failed, 4).last().map(|step| step.icon), Some("s-failed"));
        let back: Vec<&str> = undoing().iter().map(|step| step.name).collect();
        assert_eq!(back, ["Draft", "Submitted", "Reviewing", "Approved", "Rolling back", "Failed"]);
    }
}

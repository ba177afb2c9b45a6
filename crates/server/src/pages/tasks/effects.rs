//! What each act does to a task, in words, before anybody does it.

use domain::approvals::{Approval, ApprovalKind, ApprovalStatus};
use domain::tasks::TaskState;
use hub::tasks::{Dossier, Offer};

use crate::pages::reading::waited_for;
use crate::pages::show::plural;

/// What it is called, and what it does.
pub(super) struct Words {
    /// Above everything.
    pub(super) heading: &'static str,
    pub(super) icon: &'static str,
    /// What happens, one sentence or two each.
    pub(super) effects: Vec<String>,
    /// What stays as it is.
    pub(super) stays: &'static str,
    /// On the button that does it.
    pub(super) button: &'static str,
    /// Whether it ends something.
    pub(super) is_hard: bool,
    /// On the way out.
    pub(super) way_out: &'static str,
}

pub(super) fn words(offer: Offer, dossier: &Dossier) -> Words {
    match offer {
        Offer::Submit => submit(),
        Offer::Cancel => cancel(dossier),
        Offer::Resubmit => resubmit(),
        Offer::Withdraw => withdraw(dossier),
        Offer::Override => ask_override(),
        Offer::ForceApply => force_apply(dossier),
        Offer::Undo => undo(),
    }
}

/// What it is called in the menu, with its symbol.
pub(super) const fn name(offer: Offer) -> (&'static str, &'static str) {
    match offer {
        Offer::Submit => ("sign", "Submit it for review"),
        Offer::Cancel => ("s-cancelled", "Cancel the task…"),
        Offer::Resubmit => ("copy", "Make a new draft of it…"),
        Offer::Withdraw => ("x", "Withdraw the approval…"),
        Offer::Override => ("bolt", "Override the review…"),
        Offer::ForceApply => ("flag", "Force-apply…"),
        Offer::Undo => ("rollback", "Have it undone…"),
    }
}

fn submit() -> Words {
    Words {
        heading: "Submit for review",
        icon: "sign",
        effects: vec!["The reviewers are asked.".to_owned()],
        stays: "Nothing runs before the review ended with yes.",
        button: "Submit it for review",
        is_hard: false,
        way_out: "Keep it a draft",
    }
}

fn cancel(dossier: &Dossier) -> Words {
    let waiting = dossier.seats.iter().filter(|seat| seat.approval.status == ApprovalStatus::Pending).count();
    let mut effects = vec![match dossier.seen.task.state {
        TaskState::Reviewing => {
            let asked = match waiting {
                1 => "1 request that is open closes".to_owned(),
                more => format!("{} that are open close", plural(more, "request")),
            };
            format!("Its review ends without a decision: {asked}, and signatures given so far become void.")
        }
        TaskState::Approved => "Its approval becomes void, so no agent can begin it any more.".to_owned(),
        _ => "It ends here. Nobody has been asked about it.".to_owned(),
    }];
    effects.extend(in_vain(dossier));
    Words {
        heading: "Cancel the task",
        icon: "s-cancelled",
        effects,
        stays: "The task and its history stay readable, and it can be made anew as a new draft.",
        button: "Cancel the task",
        is_hard: true,
        way_out: "Keep the task",
    }
}

/// What becomes of those that wait for it.
fn in_vain(dossier: &Dossier) -> Option<String> {
    let waits = dossier.blocks > 0;
    waits.then(|| {
        format!("{}, and will stay blocked until a new draft takes its place.", waited_for(dossier.blocks))
    })
}

fn resubmit() -> Words {
    Words {
        heading: "Make a new draft",
        icon: "copy",
        effects: vec![
            "A new draft is written with the same configuration, project, tags, due date and prerequisites."
                .to_owned(),
            "Nobody is asked before the draft is submitted. Signatures are not carried over.".to_owned(),
        ],
        stays: "This task stays as it is, with its history.",
        button: "Make the draft",
        is_hard: false,
        way_out: "Leave it",
    }
}

fn withdraw(dossier: &Dossier) -> Words {
    let mut effects = vec![
        "The approval becomes void and the task is rejected. No agent can begin it any more.".to_owned(),
        "Its author is told.".to_owned(),
    ];
    effects.extend(in_vain(dossier));
    Words {
        heading: "Withdraw the approval",
        icon: "x",
        effects,
        stays: "Nothing has run yet, so nothing is undone. The author can make it anew.",
        button: "Withdraw the approval",
        is_hard: true,
        way_out: "Keep the approval",
    }
}

/// Who signs an override, and what it leaves alone.
const SECOND_ADMIN: &str = "Every other admin who had no hand in this task is asked. The first of them who signs ends \
    the review with yes; you cannot sign it yourself.";

fn ask_override() -> Words {
    Words {
        heading: "Override the review",
        icon: "bolt",
        effects: vec![SECOND_ADMIN.to_owned()],
        stays: "Until they sign nothing else changes: the review goes on, and its reviewers can still decide.",
        button: "Ask another admin to sign",
        is_hard: true,
        way_out: "Let the review go on",
    }
}

/// What it is called wherever it stands, as in the API and on the command line.
const FORCE_APPLY: &str = "Force-apply";

fn force_apply(dossier: &Dossier) -> Words {
    let task = &dossier.seen.task;
    if task.state != TaskState::Reviewing && task.is_blocked() {
        return force_past(dossier.seen.blocked_by().len());
    }
    let never = "Locks, running attempts and prerequisites are never skipped.".to_owned();
    if task.state == TaskState::Reviewing {
        let then = "Once signed, it also goes to the head of the queue.".to_owned();
        return Words {
            heading: FORCE_APPLY,
            icon: "flag",
            effects: vec![SECOND_ADMIN.to_owned(), then, never],
            button: "Ask another admin to sign",
            ..ask_override()
        };
    }
    Words {
        heading: FORCE_APPLY,
        icon: "flag",
        effects: vec![
            "It is approved, so nobody else is asked: it goes to the head of the queue at once.".to_owned(),
            never,
        ],
        stays: "What is signed stays what runs.",
        button: "Force-apply the task",
        is_hard: true,
        way_out: "Leave the queue as it is",
    }
}

/// Of an approved task that waits for so many others.
fn force_past(waits_for: usize) -> Words {
    let waits = match waits_for {
        1 => "It waits for 1 task that is not completed.".to_owned(),
        more => format!("It waits for {more} tasks that are not completed."),
    };
    Words {
        heading: FORCE_APPLY,
        icon: "flag",
        effects: vec![
            format!(
                "{waits} Every other admin who had no hand in this task is asked whether it need not; you cannot sign \
                 that yourself."
            ),
            "Once one of them signs, it goes to the head of the queue.".to_owned(),
            "Locks and running attempts are never skipped.".to_owned(),
        ],
        stays: "Until they sign nothing changes: it goes on waiting.",
        way_out: "Let it wait",
        ..ask_override()
    }
}

fn undo() -> Words {
    Words {
        heading: "Have it undone",
        icon: "rollback",
        effects: vec![
            "The next agent that may apply it is given the task to undo: what its last attempt began, under the \
             same locks. Until one asks for work, nothing happens."
                .to_owned(),
            "It is tried once. If undoing fails, or nobody knows how far it came, a person has to look again."
                .to_owned(),
        ],
        stays: "The task stays failed, with its history.",
        button: "Have it undone",
        is_hard: true,
        way_out: "Leave it as it is",
    }
}

/// What is asked of other admins now, in words.
pub(super) fn override_asked(dossier: &Dossier) -> Option<String> {
    let requests = dossier.seats.iter().map(|seat| &seat.approval);
    let open: Vec<&Approval> = requests
        .filter(|request| request.kind == ApprovalKind::Override && request.status == ApprovalStatus::Pending)
        .collect();
    let first = open.first()?;
    let (who, until) = match open.len() {
        1 => ("1 admin is asked".to_owned(), "Until they sign"),
        more => (format!("{more} admins are asked"), "Until one of them signs"),
    };
    Some(match first.is_about_skipping() {
        true => {
            format!("{who} whether it need not wait for what is not completed. {until}, it goes on waiting.")
        }
        false => format!("{who} to override this review. {until}, nothing changes."),
    })
}

//! What the reader may do: the forms, or why there are none.

use domain::accounts::Account;
use domain::approvals::{Answer, ApprovalKind};
use domain::reviews::Resolution;
use domain::risk::RiskLevel;
use domain::tasks::{Mode, RollbackStrategy, Task, TaskConfig};
use domain::{Id, Timestamp};
use hub::tasks::{AskedFor, Dossier, Mine, Prospect};

use super::closed::{not_asked, refused};
use super::{People, title};
use crate::pages::show::{Markup, ago, clock, line, lines, plural};

/// What the reader may do.
pub(in crate::pages) enum Decide {
    /// Sign, or refuse to.
    Open(Box<Form>),
    /// Nothing, and why.
    Not(Markup),
    /// Nothing with this login; and why, and with which.
    NotWith(Markup),
}

/// What the forms hold.
pub(in crate::pages) struct Form {
    pub(in crate::pages) approval_id: String,
    pub(in crate::pages) content_hash: String,
    pub(in crate::pages) review_hash: String,
    pub(in crate::pages) short: String,
    pub(in crate::pages) revision: i64,
    /// For which policies the signature counts.
    pub(in crate::pages) as_words: Markup,
    /// What follows from approving.
    pub(in crate::pages) consequence: Markup,
    /// What the reader answered before.
    pub(in crate::pages) before: Option<Markup>,
    /// What must be typed to approve.
    pub(in crate::pages) must_type: Option<String>,
    /// The same as a pattern for the browser.
    pub(in crate::pages) pattern: String,
    /// What follows from rejecting.
    pub(in crate::pages) after_no: &'static str,
    /// Whether the review itself is asked about, and not its skipping.
    pub(in crate::pages) is_review: bool,
    /// What the choices and their buttons are called.
    pub(in crate::pages) choices: Choices,
    pub(in crate::pages) delegates: Vec<(String, String)>,
    /// Where the form is: `inbox` or `task`.
    pub(in crate::pages) from: &'static str,
    /// What was typed before, where the answer was not taken.
    pub(in crate::pages) typed: String,
}

/// A yes and a no, named after what they do.
pub(in crate::pages) struct Choices {
    pub(in crate::pages) yes: &'static str,
    pub(in crate::pages) no: &'static str,
    /// The number of the revision follows.
    pub(in crate::pages) sign: &'static str,
    pub(in crate::pages) refuse: &'static str,
}

impl Choices {
    pub(super) const fn of(kind: ApprovalKind, is_about_skipping: bool) -> Self {
        let (yes, no, sign, refuse) = match (kind, is_about_skipping) {
            (ApprovalKind::Review, _) => ("Approve", "Reject", "Approve revision", "Reject revision"),
            (ApprovalKind::Override, false) => {
                ("Sign the override", "Refuse it", "Override revision", "Refuse the override")
            }
            (ApprovalKind::Override, true) => {
                ("Let it not wait", "Let it wait", "Unblock revision", "Let it wait")
            }
        };
        Self { yes, no, sign, refuse }
    }
}

impl Decide {
    pub(super) fn of(
        dossier: &Dossier,
        config: Option<&TaskConfig>,
        (people, now): (&People<'_>, Timestamp),
        from: &'static str,
    ) -> Self {
        let task = &dossier.seen.task;
        let (Some(mine), Some(review)) = (&dossier.mine, &dossier.seen.review) else {
            return Self::Not(not_asked(dossier, (people, now)));
        };
        let prospect = match &mine.may {
            Ok(prospect) => prospect,
            Err(refusal) => {
                return match mine.not_with {
                    Some(minter) => Self::NotWith(not_with(minter, mine, dossier, people)),
                    None => Self::Not(refused((refusal, mine), dossier, (people, now))),
                };
            }
        };
        let must_type = must_type(task, config);
        Self::Open(Box::new(Form {
            approval_id: mine.approval.id.to_string(),
            content_hash: task.content_hash.to_string(),
            review_hash: review.review.review_hash.to_string(),
            short: task.content_hash.to_string().chars().skip("sha256:".len()).take(8).collect(),
            revision: task.revision,
            as_words: as_words(dossier, mine),
            consequence: consequence(dossier, config, (mine, prospect)),
            before: before(mine, now),
            pattern: must_type.as_deref().map(escaped).unwrap_or_default(),
            must_type,
            after_no: after_no(mine, prospect),
            is_review: mine.approval.kind == ApprovalKind::Review,
            choices: Choices::of(mine.approval.kind, mine.approval.is_about_skipping()),
            delegates: delegates(mine, people),
            from,
            typed: String::new(),
        }))
    }
}

/// What must be typed to approve: the name of what is changed, where the change is critical and is not undone by itself.
pub(in crate::pages) fn must_type(task: &Task, config: Option<&TaskConfig>) -> Option<String> {
    let config = config?;
    let is_critical = task.risk.level == RiskLevel::Critical;
    if !is_critical || config.rollback_strategy == RollbackStrategy::Automatic {
        return None;
    }
    let alone = config.resources.iter().find(|resource| resource.mode == Mode::Exclusive);
    alone.or(config.resources.first()).map(|resource| resource.id.clone())
}

/// Whether what was typed is what must be.
pub(in crate::pages) fn typed_word(wanted: Option<&str>, typed: Option<&str>) -> bool {
    wanted.is_none_or(|wanted| typed == Some(wanted))
}

/// As a pattern that matches this text only. Ids of resources hold nothing but letters, digits and `._/@+=:-`.
fn escaped(text: &str) -> String {
    let mut pattern = String::new();
    for letter in text.chars() {
        if !letter.is_ascii_alphanumeric() && !"_@=:".contains(letter) {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern
}

/// Whoever chose somebody's password or key can act with it, so what is signed with it is theirs too.
fn not_with(minter: Id<Account>, mine: &Mine, dossier: &Dossier, people: &People<'_>) -> Markup {
    let name = people.within(minter);
    let hand = match mine.approval.kind {
        ApprovalKind::Review => "had a hand in this task",
        ApprovalKind::Override if dossier.asked.as_ref().is_some_and(|asked| asked.by == minter) => {
            "asked for this override"
        }
        ApprovalKind::Override => "is behind the sign-in of whoever asked for this override",
    };
    let mut words = Markup::default();
    words.raw(format_args!(
        "{name} made the password or key behind this sign-in, so what you sign with it counts as signed by {name} too. \
         {name} {hand}, and it takes two people. "
    ));
    words.text("Set a password of your own and sign in again with it; then you can sign here.");
    words
}

pub(super) fn before(mine: &Mine, now: Timestamp) -> Option<Markup> {
    let response = mine.approval.response.as_ref()?;
    let verb = match response.action {
        Answer::Approve => "approved",
        Answer::Reject => "rejected",
        Answer::RequestChanges => "requested changes",
    };
    Some(line(&format!("You {verb} at {}.", clock(response.at, now))))
}

fn as_words(dossier: &Dossier, mine: &Mine) -> Markup {
    if mine.approval.is_about_skipping() {
        return line("as the second admin, past what it waits for");
    }
    if mine.approval.kind == ApprovalKind::Override {
        return line("as the second admin of an override");
    }
    let seat = dossier.seats.iter().find(|seat| seat.approval.id == mine.approval.id);
    let policies =
        dossier.seen.review.as_ref().map(|seen| seen.review.policies.as_slice()).unwrap_or_default();
    let counts = seat.map(|seat| seat.counts_for.as_slice()).unwrap_or_default();
    let names: Vec<&str> =
        counts.iter().filter_map(|place| policies.get(*place)).map(|policy| policy.name.as_str()).collect();
    line(&format!("for {}", names.join(", ")))
}

fn after_no(mine: &Mine, prospect: &Prospect) -> &'static str {
    match mine.approval.kind {
        ApprovalKind::Review if prospect.after_no == Some(Resolution::Rejected) => {
            "Ends the review: rejected. Nothing runs, and the author can resubmit it as a new task."
        }
        ApprovalKind::Review => "Counts as a no. The author can resubmit as a new task.",
        ApprovalKind::Override if mine.approval.is_about_skipping() => {
            "It stays approved, and waits for what it waits for."
        }
        ApprovalKind::Override => "The review goes on without the override.",
    }
}

/// What happens next, as far as the hub knows.
fn consequence(
    dossier: &Dossier,
    config: Option<&TaskConfig>,
    (mine, prospect): (&Mine, &Prospect),
) -> Markup {
    let mut words = Markup::default();
    if mine.approval.is_about_skipping() {
        return skipping(dossier, config, mine);
    }
    if prospect.resolution.is_none() {
        let missing: Vec<String> = prospect.missing.iter().map(|missing| format!("{missing}.")).collect();
        words.raw(format_args!("Others must sign too. {}", line(&missing.join(" "))));
        return words;
    }
    let first = match mine.approval.kind {
        ApprovalKind::Review => "Yours is the last signature.",
        ApprovalKind::Override => "Yours is the second signature: the review is skipped.",
    };
    words.raw(format_args!("<b>{first}</b> "));
    let waits = dossier.seen.blocked_by().len();
    let then = match waits {
        0 => "An agent may apply it as soon as what it touches is free".to_owned(),
        1 => "An agent may apply it when the task it waits for is done".to_owned(),
        _ => format!("An agent may apply it when the {} it waits for are done", plural(waits, "task")),
    };
    words.raw(format_args!("{}, {}.", line(&then), times(config)));
    words
}

fn times(config: Option<&TaskConfig>) -> String {
    match config.map_or(1, TaskConfig::attempts) {
        1 => "once".to_owned(),
        attempts => format!("in up to {attempts} attempts"),
    }
}

/// What is signed where an approved task shall not wait for others: which they are, and where they stand.
fn skipping(dossier: &Dossier, config: Option<&TaskConfig>, mine: &Mine) -> Markup {
    let mut words = Markup::default();
    let skips = &mine.approval.routing.skips;
    words.raw(format_args!(
        "<b>Yours is the second signature: it does not wait for {} any more.</b> ",
        plural(skips.len(), "task")
    ));
    for open in dossier.waits_for.iter().filter(|open| skips.contains(&open.id)) {
        words.raw(format_args!("Not done: {} ({}). ", title(&open.config), open.state.as_str()));
    }
    words.raw(format_args!(
        "It goes to the head of the queue, and an agent may apply it as soon as what it touches is free, {}.",
        times(config)
    ));
    words
}

/// What the second admin has to know before anything else: that this is no review, and why the first admin wants it.
pub(super) fn asked_for(asked: &AskedFor, people: &People<'_>, now: Timestamp) -> Markup {
    let what = match asked.is_about_skipping {
        true => "A second admin is asked to let it not wait for what is not completed",
        false => "A second admin is asked to skip this review",
    };
    let mut words = Markup::default();
    let (who, when) = (people.within(asked.by), ago(asked.at, now));
    words.raw(format_args!("<b>{what}.</b> Asked for by {who} ({when}"));
    if let Some(ticket) = &asked.ticket {
        words.raw(format_args!(", {}", line(ticket)));
    }
    words.raw(format_args!(")"));
    if let Some(reason) = &asked.reason {
        words.raw(format_args!(": {}", lines(reason)));
    }
    words
}

fn delegates(mine: &Mine, people: &People<'_>) -> Vec<(String, String)> {
    let mut named: Vec<(String, String)> = mine
        .others
        .iter()
        .map(|id| (id.to_string(), domain::rendering::plain(&people.face(*id).name)))
        .collect();
    named.sort_by(|(_, a), (_, b)| a.cmp(b));
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_what_must_be_typed_and_nothing_else() {
        assert_eq!(escaped("prod-db.01/x"), "prod\\-db\\.01\\/x");
        assert!(typed_word(None, None) && typed_word(None, Some("x")));
        assert!(typed_word(Some("prod"), Some("prod")));
        assert!(!typed_word(Some("prod"), None) && !typed_word(Some("prod"), Some("Prod")));
    }
}

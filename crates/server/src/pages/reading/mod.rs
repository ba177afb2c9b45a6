//! A task as somebody reads it before deciding, in the pane of the inbox and on its own page: the same parts, worked out
//! once.

mod closed;
mod decide;
mod preview;
mod quorum;
mod said;
#[cfg(test)]
mod snapshots;
mod stuck;

use std::collections::BTreeMap;

use domain::accounts::Account;
use domain::approvals::ApprovalStatus;
use domain::risk::{Factor, RiskLevel};
use domain::tasks::{Resource, RollbackStrategy, Task, TaskConfig, TaskState, thaw};
use domain::{Id, Timestamp};
use hub::tasks::{Dossier, Named, Neighbour};
use serde_json::Value;

use decide::asked_for;
pub(super) use decide::{Decide, must_type, typed_word};
pub(super) use preview::Preview;
pub(super) use quorum::Quorum;
pub(super) use stuck::Stuck;

use super::shell::Shell;
use super::show::{
    Code, Compared, Face, HashShown, Markup, clock, code, compared, line, pill_of, plural, resource_icon,
    risk, risk_of, span, time,
};

/// Everything that is read about a task.
pub(super) struct Reading {
    pub(super) id: String,
    pub(super) title: Markup,
    /// The title where there can be no marks: in the tab of the browser.
    pub(super) plain_title: String,
    /// How long the title is, where its page shows only its beginning above what is signed.
    pub(super) length: Option<String>,
    pub(super) pill: Markup,
    /// What stands above the words where there is nothing to decide.
    pub(super) heading: &'static str,
    /// Why its review cannot end with yes as things are, and who knows; none: it can, or it has ended.
    pub(super) stuck: Option<Stuck>,
    pub(super) risk: Markup,
    /// Whether that is of a draft, and assessed again when it is handed in.
    pub(super) is_foreseen: bool,
    pub(super) score: u32,
    pub(super) level: Markup,
    pub(super) factors: Vec<FactorShown>,
    pub(super) author: Markup,
    pub(super) started_by: Option<Markup>,
    pub(super) ticket: Option<Markup>,
    /// Which override is asked for, by whom, and why.
    pub(super) asked: Option<Markup>,
    pub(super) revision: i64,
    pub(super) since: Markup,
    pub(super) due: Option<Due>,
    pub(super) blocks: String,
    pub(super) waited_for: String,
    pub(super) dependents: Vec<Linked>,
    pub(super) prerequisites: Vec<Linked>,
    pub(super) hash: HashShown,
    /// What is said above the code: what will run, or ran.
    pub(super) runs: &'static str,
    pub(super) code: Code,
    pub(super) bytes: String,
    pub(super) preview: Option<Preview>,
    pub(super) quorums: Vec<Quorum>,
    pub(super) signatures: String,
    pub(super) looked: Option<LookedShown>,
    pub(super) said: Vec<Said>,
    pub(super) decide: Decide,
    pub(super) rollback: &'static str,
    pub(super) timeout: String,
    pub(super) attempts: String,
    pub(super) resources: Vec<ResourceShown>,
    pub(super) tags: Vec<Markup>,
}

/// One of the factors of the risk.
pub(super) struct FactorShown {
    pub(super) name: &'static str,
    pub(super) contribution: String,
    pub(super) value: String,
    pub(super) weight: String,
    pub(super) width: String,
    pub(super) class: &'static str,
    pub(super) reason: Markup,
}

/// Until when an answer is expected.
pub(super) struct Due {
    pub(super) words: Markup,
    pub(super) is_soon: bool,
}

/// Another task.
pub(super) struct Linked {
    pub(super) id: String,
    pub(super) title: Markup,
    pub(super) state: &'static str,
}

/// What the reader saw last.
pub(super) struct LookedShown {
    pub(super) revision: i64,
    pub(super) at: String,
    pub(super) changes: Compared,
}

/// Something said: with an answer, or as a comment.
pub(super) struct Said {
    pub(super) id: String,
    pub(super) face: Markup,
    pub(super) name: Markup,
    pub(super) about: Markup,
    pub(super) words: Markup,
}

/// Something that is touched.
pub(super) struct ResourceShown {
    pub(super) key: String,
    pub(super) icon: &'static str,
    pub(super) name: Markup,
    pub(super) mode: &'static str,
}

/// A phone shows so many characters of a title in its lines; every other screen shows more.
const TITLE_CHARACTERS: usize = 120;

const SOON: std::time::Duration = std::time::Duration::from_secs(2 * 60 * 60);

/// What the names of a dossier look like to whoever reads it.
pub(super) struct People<'a> {
    names: &'a BTreeMap<Id<Account>, Named>,
    me: Id<Account>,
}

impl People<'_> {
    pub(super) fn face(&self, id: Id<Account>) -> Face {
        let named = self.names.get(&id);
        Face {
            name: named.map_or_else(|| id.to_string(), |named| named.name.clone()),
            is_agent: named.is_some_and(|named| named.is_program),
            is_me: id == self.me,
        }
    }

    /// `You`, or the name.
    pub(super) fn named(&self, id: Id<Account>) -> Markup {
        if id == self.me { line("You") } else { self.face(id).named() }
    }

    /// The same, within a sentence.
    pub(super) fn within(&self, id: Id<Account>) -> Markup {
        if id == self.me { line("you") } else { self.face(id).named() }
    }

    pub(super) fn is_me(&self, id: Id<Account>) -> bool {
        id == self.me
    }
}

impl Reading {
    pub(super) fn of(dossier: &Dossier, shell: &Shell, from: &'static str) -> Self {
        let (task, now) = (&dossier.seen.task, shell.now);
        let people = People { names: &dossier.names, me: shell.caller.credential.account.id };
        let value = config_value(&dossier.seen.config);
        let config = thaw(&dossier.seen.config).ok();
        let description = described(config.as_ref(), &dossier.seen.config);
        let quorums = quorum::of(dossier, &people, now);
        let signatures = quorum::total(dossier);
        let decide = Decide::of(dossier, config.as_ref(), (&people, now), from);
        Self {
            id: task.id.to_string(),
            title: line(&description),
            plain_title: domain::rendering::plain(&description),
            length: Some(description.chars().count())
                .filter(|count| *count > TITLE_CHARACTERS)
                .map(|count| plural(count, "character")),
            pill: pill_of(&dossier.seen),
            heading: closed::heading(dossier),
            stuck: stuck::of(dossier, &people, now),
            risk: risk_of(task, true),
            is_foreseen: !task.is_scored(),
            score: task.risk.score,
            level: risk(task.risk.level, None),
            factors: task.risk.factors.iter().map(factor).collect(),
            author: people.face(task.author_id).who(),
            started_by: dossier.started_by.map(|owner| people.within(owner)),
            ticket: task.metadata.get("ticket_ref").and_then(Value::as_str).map(line),
            asked: dossier.asked.as_ref().map(|asked| asked_for(asked, &people, now)),
            revision: task.revision,
            since: since(task, now),
            due: still_due(dossier, now),
            blocks: plural(dossier.blocks, "task"),
            waited_for: waited_for(dossier.blocks),
            dependents: linked_to(&dossier.dependents),
            prerequisites: linked_to(&dossier.waits_for),
            hash: HashShown::of(task.content_hash),
            runs: runs(task.state),
            code: code(&value),
            bytes: super::show::grouped(i64::try_from(dossier.seen.config.len()).unwrap_or(i64::MAX)),
            preview: task.preview.as_ref().map(Preview::of),
            quorums,
            signatures,
            looked: looked(dossier, &value, now),
            said: said::of(dossier, &people, now),
            decide,
            rollback: rollback_words(config.as_ref()),
            timeout: config.as_ref().map(|config| span(config.timeout())).unwrap_or_default(),
            attempts: config.as_ref().map(attempts_words).unwrap_or_default(),
            resources: config.as_ref().map(resources).unwrap_or_default(),
            tags: task.tags.iter().map(|tag| line(tag)).collect(),
        }
    }
}

/// As time has it: what nobody can run any more is not what will run.
const fn runs(state: TaskState) -> &'static str {
    match state {
        TaskState::Draft | TaskState::Submitted | TaskState::Reviewing | TaskState::Approved => {
            "What will run"
        }
        TaskState::Applying => "What runs",
        TaskState::Completed | TaskState::Failed => "What ran",
        TaskState::Rejected | TaskState::Cancelled => "What would have run",
    }
}

/// `1 task waits for it`, `3 tasks wait for it`.
pub(super) fn waited_for(blocks: usize) -> String {
    format!("{} {} for it", plural(blocks, "task"), if blocks == 1 { "waits" } else { "wait" })
}

/// The config whose bytes these are. What cannot be read is shown as null, and nothing can be done with it.
pub(super) fn config_value(bytes: &[u8]) -> Value {
    domain::canonical::read_canonical(bytes).unwrap_or(Value::Null)
}

/// What people read first: the description.
pub(super) fn title(config: &[u8]) -> Markup {
    line(&description(config))
}

/// The same as plain text, for attributes.
pub(super) fn description(config: &[u8]) -> String {
    let value = config_value(config);
    value.get("description").and_then(Value::as_str).unwrap_or("(unreadable)").to_owned()
}

/// The same where the config is at hand: each reading of the bytes also checks that they are canonical, and a list that
/// read them for every part of its rows would pay for that more often than for the rows.
pub(super) fn described(config: Option<&TaskConfig>, bytes: &[u8]) -> String {
    config.map_or_else(|| description(bytes), |config| config.description.clone())
}

/// Until when an answer is expected: in a while, or since when it is late. The exact time is in it.
pub(super) fn due(at: Timestamp, now: Timestamp) -> Due {
    let words = match at > now {
        true => format!("due in {}", span(at.since(now))),
        false => format!("overdue for {}", span(now.since(at))),
    };
    Due { words: time(at, &words), is_soon: at.since(now) < SOON }
}

/// Until when the reader's answer is expected, both ways, as long as one is.
fn still_due(dossier: &Dossier, now: Timestamp) -> Option<Due> {
    let open = dossier.mine.as_ref().filter(|mine| mine.approval.status == ApprovalStatus::Pending);
    let at = open?.approval.due_at?;
    let mut due = due(at, now);
    due.words.raw(format_args!(", {}", clock(at, now)));
    Some(due)
}

fn since(task: &Task, now: Timestamp) -> Markup {
    let (words, at) = match task.state {
        TaskState::Draft => ("written", Some(task.created_at)),
        TaskState::Submitted | TaskState::Reviewing => ("handed in", task.submitted_at),
        TaskState::Approved => ("approved", task.approved_at),
        TaskState::Applying => ("started", task.applying_at),
        TaskState::Completed => ("completed", task.completed_at),
        TaskState::Rejected => ("rejected", task.ended_at),
        TaskState::Cancelled => ("cancelled", task.ended_at),
        TaskState::Failed => ("failed", task.ended_at),
    };
    let at = at.unwrap_or(task.updated_at);
    time(at, &format!("{words} {} ago, {}", span(now.since(at)), clock(at, now)))
}

fn factor(factor: &Factor) -> FactorShown {
    let name = match factor.name {
        "resource_criticality" => "Resource criticality",
        "change_magnitude" => "Change magnitude",
        "blast_radius" => "Blast radius",
        "historical_failure_rate" => "Past failures",
        other => other,
    };
    let level = RiskLevel::of(factor.value.clamp(0.0, 100.0) as u32, [25, 50, 75]);
    FactorShown {
        name,
        contribution: number(factor.contribution),
        value: number(factor.value),
        weight: number(factor.weight * 100.0),
        width: format!("{:.0}", factor.value.clamp(0.0, 100.0)),
        class: match level {
            RiskLevel::Low => "",
            RiskLevel::Medium | RiskLevel::High => " bar-warn",
            RiskLevel::Critical => " bar-crit",
        },
        reason: line(&factor.reason),
    }
}

/// At most one decimal, and none where it is whole.
fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

fn linked(id: Id<Task>, config: &[u8], state: TaskState) -> Linked {
    Linked { id: id.to_string(), title: title(config), state: state.as_str() }
}

fn linked_to(neighbours: &[Neighbour]) -> Vec<Linked> {
    neighbours.iter().map(|task| linked(task.id, &task.config, task.state)).collect()
}

fn looked(dossier: &Dossier, now_value: &Value, now: Timestamp) -> Option<LookedShown> {
    let looked = dossier.looked.as_ref()?;
    let before = domain::rendering::render(&config_value(&looked.revision.config)).text;
    let after = domain::rendering::render(now_value).text;
    Some(LookedShown {
        revision: looked.revision.number,
        at: clock(looked.at, now),
        changes: compared(&before, &after),
    })
}

fn rollback_words(config: Option<&TaskConfig>) -> &'static str {
    match config.map(|config| config.rollback_strategy) {
        Some(RollbackStrategy::Automatic) => "automatic",
        Some(RollbackStrategy::Manual) => "manual: a person decides",
        Some(RollbackStrategy::None) => "none: nothing is undone",
        None => "unknown",
    }
}

fn attempts_words(config: &TaskConfig) -> String {
    match config.attempts() {
        1 => "1, never repeated".to_owned(),
        attempts => format!("up to {attempts}, idempotent"),
    }
}

fn resources(config: &TaskConfig) -> Vec<ResourceShown> {
    let shown = |resource: &Resource| ResourceShown {
        key: format!("resource:{}", resource.name()),
        icon: resource_icon(&resource.kind),
        name: line(&resource.name()),
        mode: resource.mode.as_str(),
    };
    config.resources.iter().map(shown).collect()
}

//! What a change of the rules would have changed: tasks that were handed in, held against two sets of rules, and counted.
//!
//! Of each task is known what it says, how dangerous it was, who had a hand in it and when it was handed in. Who could be
//! asked then, nobody wrote down: people, roles and delegations are those of now, for both sets alike.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Author, Candidate, Matched, Policy, Question, RuleSet, Zones};
use crate::accounts::Account;
use crate::delegations::{Book, Matter};
use crate::reviews::{PolicyTally, Routed, panel, routed, wanting};
use crate::risk::{Risk, RiskLevel};
use crate::tasks::{Provenance, Task, TaskConfig};
use crate::{Id, Timestamp};

/// How far back one may look.
pub const DAYS_MAX: u32 = 90;
/// How many tasks are looked at, the newest first.
pub const TASKS_MAX: usize = 500;
/// Of how many of those that differ is told.
pub const TOLD_MAX: usize = 100;

/// A task that was handed in, as policies see it.
#[derive(Clone, Debug)]
pub struct Past {
    /// Which.
    pub id: Id<Task>,
    /// Who proposed it.
    pub author_id: Id<Account>,
    /// What it would do.
    pub config: TaskConfig,
    /// The same, for conditions.
    pub value: Value,
    /// How dangerous it was.
    pub risk: Risk,
    /// Whether the hub itself found out what it would change.
    pub previewed_by_hub: bool,
    /// Who had a hand in it.
    pub provenance: Provenance,
    /// When it was handed in.
    pub submitted_at: Timestamp,
}

/// What is taken as it is now.
#[derive(Clone, Debug)]
pub struct Present {
    /// Everybody whom one of the policies could ask.
    pub candidates: Vec<Candidate>,
    /// The authors of the tasks.
    pub authors: BTreeMap<Id<Account>, Candidate>,
    /// Where requests to them would lead.
    pub book: Book,
    /// Who may decide in another's place.
    pub stand_ins: BTreeSet<Id<Account>>,
    /// `risk:thresholds`.
    pub thresholds: [u32; 3],
    /// `feature:auto_approve_low_risk`.
    pub lets_pass: bool,
    /// What time it is, and what time a moment is elsewhere.
    pub now: (Timestamp, Zones),
}

/// What would have become of a task when it was handed in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Outcome {
    /// It would have passed by itself.
    AutoApproved,
    /// Enough people would have been asked.
    Reviewed,
    /// People would have been asked, and too few for one of the policies.
    Unreachable,
    /// Nobody could have been asked: it would have stood still until an admin joins or the rules change.
    Blocked,
}

/// A policy that would have applied.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Applied {
    /// Which.
    pub policy_id: Id<Policy>,
    /// What people call it.
    pub name: String,
    /// Of which version.
    pub version: i64,
    /// How many people would have had to agree; none where the task passes.
    pub required: u32,
    /// How many could have.
    pub attainable: u32,
}

/// What one set of rules would have done with a task.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Foreseen {
    /// In a word.
    pub outcome: Outcome,
    /// Who would have been asked, by id.
    pub asked: BTreeSet<Id<Account>>,
    /// What would have applied.
    pub policies: Vec<Applied>,
    /// Whether that is the default policy, for want of another.
    pub fell_to_default: bool,
    /// What nobody could have given, in words.
    pub missing: Vec<String>,
}

impl Foreseen {
    /// The largest number of people that one policy asks for.
    #[must_use]
    pub fn required(&self) -> u32 {
        self.policies.iter().map(|policy| policy.required).max().unwrap_or(0)
    }

    /// Whether people would notice: another name or version of a policy alone is no difference.
    #[must_use]
    pub fn differs(&self, other: &Self) -> bool {
        let asks = |foreseen: &Self| -> BTreeSet<_> {
            let policies = foreseen.policies.iter();
            policies.map(|policy| (policy.policy_id, policy.required, policy.attainable)).collect()
        };
        (self.outcome, &self.asked, asks(self)) != (other.outcome, &other.asked, asks(other))
    }
}

/// What the policies say, before anybody is looked for.
type Judged = (Vec<Matched>, bool);

impl Present {
    /// What both sets of rules would have done with a task.
    #[must_use]
    pub fn replay(&self, (before, after): (&RuleSet, &RuleSet), past: &Past) -> (Foreseen, Foreseen) {
        let (first, second) = (self.judge(before, past), self.judge(after, past));
        let was = self.foresee(before, past, &first);
        // Looking for people is dear, and most changes of a policy concern few tasks.
        let is = if first == second { was.clone() } else { self.foresee(after, past, &second) };
        (was, is)
    }

    fn judge(&self, rules: &RuleSet, past: &Past) -> Judged {
        let author = Author::of(past.author_id, self.authors.get(&past.author_id));
        let question = Question {
            thresholds: self.thresholds,
            task_type: &past.config.task_type,
            resources: &past.config.resources,
            risk: &past.risk,
            previewed_by_hub: past.previewed_by_hub,
            config: &past.value,
            author: &author,
            // Hours are those in which it was handed in.
            now: (past.submitted_at, self.now.1),
        };
        let matched = rules.matching(&question);
        let passes = rules.auto_approval(&matched, &question, self.lets_pass).is_ok();
        (matched, passes)
    }

    fn foresee(&self, rules: &RuleSet, past: &Past, (matched, passes): &Judged) -> Foreseen {
        let fell_to_default = rules.is_default_alone(matched);
        if *passes {
            let policies = matched.iter().map(|policy| applied(policy, None)).collect();
            let outcome = Outcome::AutoApproved;
            let (asked, missing) = (BTreeSet::new(), Vec::new());
            return Foreseen { outcome, asked, policies, fell_to_default, missing };
        }
        let routed = self.routed(past, matched);
        let asked = routed.waited_for();
        let reach = routed.reach(matched);
        let outcome = match () {
            () if asked.is_empty() => Outcome::Blocked,
            () if reach.iter().all(PolicyTally::is_reachable) => Outcome::Reviewed,
            () => Outcome::Unreachable,
        };
        let wanted = matched.iter().zip(&reach);
        let missing = wanted.clone().filter(|(_, tally)| !tally.is_reachable());
        Foreseen {
            outcome,
            asked,
            fell_to_default,
            missing: missing.map(|(policy, tally)| wanting(policy, tally)).collect(),
            policies: wanted.map(|(policy, tally)| applied(policy, Some(tally))).collect(),
        }
    }

    fn routed(&self, past: &Past, matched: &[Matched]) -> Routed {
        let asked = panel(matched, &self.candidates, &past.provenance);
        let about = Matter::new(&past.config.task_type, &past.config.resources, past.risk.score);
        let when = (&past.provenance, self.now.0);
        routed(asked, &self.book, &about, when, |who| self.stand_ins.contains(&who))
    }
}

fn applied(policy: &Matched, tally: Option<&PolicyTally>) -> Applied {
    Applied {
        policy_id: policy.policy_id,
        name: policy.name.clone(),
        version: policy.version,
        required: tally.map_or(0, |tally| tally.required),
        attainable: tally.map_or(0, |tally| tally.attainable),
    }
}

/// What one set of rules would have done, in numbers. The four outcomes add up to the tasks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// How many tasks were looked at.
    pub tasks: u32,
    /// Passed by themselves.
    pub auto_approved: u32,
    /// Asked enough people.
    pub reviewed: u32,
    /// Asked too few.
    pub unreachable: u32,
    /// Asked nobody, and did not pass.
    pub blocked: u32,
    /// Met no policy but the default one.
    pub fell_to_default: u32,
    /// How many tasks asked so many people.
    pub asked: BTreeMap<u32, u32>,
    /// How many tasks needed the yes of so many.
    pub required: BTreeMap<u32, u32>,
}

impl Counts {
    fn add(&mut self, foreseen: &Foreseen) {
        self.tasks += 1;
        match foreseen.outcome {
            Outcome::AutoApproved => self.auto_approved += 1,
            Outcome::Reviewed => self.reviewed += 1,
            Outcome::Unreachable => self.unreachable += 1,
            Outcome::Blocked => self.blocked += 1,
        }
        self.fell_to_default += u32::from(foreseen.fell_to_default);
        let asked = u32::try_from(foreseen.asked.len()).unwrap_or(u32::MAX);
        *self.asked.entry(asked).or_default() += 1;
        *self.required.entry(foreseen.required()).or_default() += 1;
    }
}

/// A task that the two sets of rules treat differently.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// Which.
    pub task_id: Id<Task>,
    /// What people read first of it.
    pub title: String,
    /// How dangerous it was.
    pub risk: (u32, RiskLevel),
    /// When it was handed in.
    pub submitted_at: Timestamp,
    /// By the one set.
    pub before: Foreseen,
    /// By the other.
    pub after: Foreseen,
}

/// What a change of the rules would have changed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// By the one set.
    pub before: Counts,
    /// By the other.
    pub after: Counts,
    /// How many tasks differ.
    pub differing: u32,
    /// The newest of them, [`TOLD_MAX`] at most.
    pub differences: Vec<Difference>,
    /// How often each person would have been asked, by the one and by the other.
    pub people: BTreeMap<Id<Account>, (u32, u32)>,
}

impl Report {
    /// Counts one more task; the newest comes first.
    pub fn note(&mut self, past: &Past, (before, after): (Foreseen, Foreseen)) {
        self.before.add(&before);
        self.after.add(&after);
        for person in &before.asked {
            self.people.entry(*person).or_default().0 += 1;
        }
        for person in &after.asked {
            self.people.entry(*person).or_default().1 += 1;
        }
        if !before.differs(&after) {
            return;
        }
        self.differing += 1;
        if self.differences.len() < TOLD_MAX {
            self.differences.push(Difference {
                task_id: past.id,
                title: past.config.description.clone(),
                risk: (past.risk.score, past.risk.level),
                submitted_at: past.submitted_at,
                before,
                after,
            });
        }
    }
}

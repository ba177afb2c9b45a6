//! The world: as little as tells its states apart, and how the things of this crate are made of it.

use std::collections::BTreeMap;

use crate::Id;
use crate::accounts::Account;
use crate::approvals::{Answer, Approval};
use crate::canonical::Sha256Hash;
use crate::executions::Execution;
use crate::gate::Claim;
use crate::grants::{Basis, Grant, PolicyVersion};
use crate::policies::{Matched, RejectOn};
use crate::reviews::{Case, Review};
use crate::sample::{alone, answered, at, id, policy, resource, review, revision, seat, task};
use crate::tasks::{Mode, Provenance, Resource, Revision, Task, TaskState};

/// The author and three others; all of them hold the role of a reviewer at first.
pub(super) const PEOPLE: usize = 4;
pub(super) const AUTHOR: usize = 0;
/// How often each thing happens at most.
pub(super) const EDITS: u8 = 1;
pub(super) const ATTEMPTS: u32 = 2;
const RESOURCE: &str = "database:one";
pub(super) const EXECUTION: u128 = 5000;
pub(super) const OTHER_EXECUTION: u128 = 6000;

/// What somebody answered, and to which revision they meant it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Given {
    pub(super) answer: Answer,
    pub(super) seen: u8,
}

/// A round of review.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Round {
    pub(super) number: u8,
    pub(super) revision: u8,
    pub(super) policy_version: u8,
    /// Who is asked, and what they answered.
    pub(super) seats: BTreeMap<usize, Option<Given>>,
    pub(super) is_over: bool,
}

/// A Grant.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Granted {
    pub(super) round: u8,
    pub(super) revision: u8,
    pub(super) policy_version: u8,
    pub(super) started: u32,
    pub(super) is_old: bool,
}

/// What the promises are asked of.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct History {
    /// Attempts that began.
    pub(super) starts: u8,
    /// Those that nobody's yes stood behind.
    pub(super) unapproved: u8,
    /// Those of a revision that those who said yes had not seen.
    pub(super) other_content: u8,
    /// Those beyond what was approved.
    pub(super) too_often: u8,
    /// Those with a yes of somebody who had a hand in it.
    pub(super) own_votes: u8,
    /// Whether an attempt ended that nobody knows the outcome of, of a task that may not be repeated.
    pub(super) in_doubt: bool,
    /// Those that began after that.
    pub(super) after_doubt: u8,
}

/// Where everything stands.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct World {
    pub(super) state: TaskState,
    pub(super) revision: u8,
    /// Who wrote on it.
    pub(super) hands: [bool; PEOPLE],
    pub(super) round: Option<Round>,
    pub(super) grant: Option<Granted>,
    pub(super) has_role: [bool; PEOPLE],
    pub(super) is_active: [bool; PEOPLE],
    pub(super) policy_version: u8,
    pub(super) other_runs: bool,
    pub(super) history: History,
}

impl World {
    pub(super) fn new() -> Self {
        let mut hands = [false; PEOPLE];
        hands[AUTHOR] = true;
        Self {
            state: TaskState::Draft,
            revision: 1,
            hands,
            round: None,
            grant: None,
            has_role: [true; PEOPLE],
            is_active: [true; PEOPLE],
            policy_version: 1,
            other_runs: false,
            history: History::default(),
        }
    }

    pub(super) fn is_running(&self) -> bool {
        self.state == TaskState::Applying
    }

    pub(super) fn is_eligible(&self, person: usize) -> bool {
        self.has_role[person] && self.is_active[person]
    }

    pub(super) fn provenance(&self) -> Provenance {
        (0..PEOPLE).filter(|person| self.hands[*person]).map(account).collect()
    }

    pub(super) fn task(&self) -> Task {
        Task {
            state: self.state,
            revision: self.revision.into(),
            content_hash: hash(self.revision),
            review_id: self.round.as_ref().map(|round| round_id(round.number)),
            ..task(account(AUTHOR))
        }
    }

    pub(super) fn bytes(&self) -> Revision {
        Revision { config: bytes(self.revision), ..revision(&self.task(), self.provenance()) }
    }

    pub(super) fn case(&self, round: &Round) -> Case {
        let task = self.task();
        let policies = policies(round.policy_version);
        let mut review = review(&task, policies);
        review.id = round_id(round.number);
        review.revision = round.revision.into();
        review.content_hash = hash(round.revision);
        review.review_hash =
            Review::hash(review.content_hash, review.revision, None, review.risk_score, &review.policies);
        review.resolution = round.is_over.then_some(crate::reviews::Resolution::Superseded);
        let all: Vec<usize> = (0..review.policies.len()).collect();
        let seats = round.seats.iter().map(|(person, given)| {
            let mut seat = seat(&review, account(*person), &all);
            if !self.is_eligible(*person) {
                seat.counts_for.clear();
            }
            match given {
                Some(given) => answered(&seat, given.answer, alone(account(*person))),
                None => seat,
            }
        });
        Case { seats: seats.collect(), provenance: self.provenance(), task, review, grant: None }
    }

    pub(super) fn approvals(&self) -> Vec<Approval> {
        let seats = self.round.as_ref().map(|round| self.case(round).seats).unwrap_or_default();
        seats.into_iter().map(|seat| seat.approval).collect()
    }

    pub(super) fn claims(&self) -> BTreeMap<String, Claim> {
        let holder = if self.other_runs { Some(OTHER_EXECUTION) } else { None };
        let holder = holder.or(self.is_running().then_some(EXECUTION));
        let claim = Claim { exclusive_by: holder.map(id::<Execution>), ..Claim::none(RESOURCE.to_owned()) };
        BTreeMap::from([(RESOURCE.to_owned(), claim)])
    }
}

impl Granted {
    pub(super) fn grant(&self, task: &Task) -> Grant {
        let versions = policies(self.policy_version).into_iter();
        let version = |of: Matched| PolicyVersion { policy_id: of.policy_id, version: of.version };
        Grant {
            id: id(4000),
            org_id: task.org_id,
            task_id: task.id,
            review_id: round_id(self.round),
            revision: self.revision.into(),
            content_hash: hash(self.revision),
            effect_hash: None,
            policy_versions: versions.map(version).collect(),
            basis: Basis::Quorum,
            attempts: ATTEMPTS,
            attempts_started: self.started,
            valid_until: if self.is_old { at(15) } else { at(1000) },
            skip: None,
            voided_at: None,
            created_at: at(10),
            updated_at: at(10),
        }
    }
}

/// What both tasks touch.
pub(super) fn resources() -> [Resource; 1] {
    [resource("database", "one", Mode::Exclusive)]
}

pub(super) fn fences() -> BTreeMap<String, i64> {
    BTreeMap::from([(RESOURCE.to_owned(), 1)])
}

pub(super) fn account(person: usize) -> Id<Account> {
    id(person as u128 + 1)
}

pub(super) fn round_id(number: u8) -> Id<Review> {
    id(2000 + u128::from(number))
}

fn bytes(revision: u8) -> Vec<u8> {
    format!("{{\"revision\":{revision}}}").into_bytes()
}

pub(super) fn hash(revision: u8) -> Sha256Hash {
    Sha256Hash::of(&bytes(revision))
}

/// One that a single no ends, and one that wants two people.
pub(super) fn policies(version: u8) -> Vec<Matched> {
    let mut policies = vec![policy(1, 1, RejectOn::Any), policy(2, 2, RejectOn::Unreachable)];
    policies[1].version = version.into();
    policies
}

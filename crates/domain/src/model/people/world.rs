//! The world: as little as tells its states apart, and how requests, people and delegations are made of it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::Rules;
use crate::Id;
use crate::accounts::{AccessLevel, Account, AccountStatus};
use crate::approvals::{Answer, Approval, ApprovalKind, ApprovalStatus};
use crate::delegations::{Book, Chain, Conditions, Delegation, DelegationKind, Link, Matter};
use crate::members::HeldRole;
use crate::organizations::MembershipLevel;
use crate::policies::{Candidate, Matched, RejectOn};
use crate::reviews::{
    Case, Ending, Hall, PolicyClock, Request, Resolution, Review, Seat, Signing, Terms, end, may_sign, seats,
};
use crate::sample::{alone, at, id, policy, review, task};
use crate::tasks::{Actor, Provenance, Task, TaskState};

pub(super) const AUTHOR: usize = 0;
/// Both are asked by the policy, which wants two.
pub(super) const ALICE: usize = 1;
pub(super) const BOB: usize = 2;
/// An admin, and who stands in.
pub(super) const CAROL: usize = 3;
/// Another admin, and who replaces those who leave.
pub(super) const MAX: usize = 4;
pub(super) const PEOPLE: usize = 5;
/// Alice goes on leave; Bob has Carol decide, or the author.
pub(super) const LEAVE: usize = 0;
pub(super) const TO_CAROL: usize = 1;
pub(super) const TO_AUTHOR: usize = 2;
pub(super) const DELEGATIONS: [(usize, usize); 3] = [(ALICE, CAROL), (BOB, CAROL), (BOB, AUTHOR)];

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Phase {
    Unsaid,
    Holds,
    Over,
}

/// As little of a request as tells them apart; the rest is the same for all.
pub(super) type Line = (
    usize,
    ApprovalKind,
    ApprovalStatus,
    Option<usize>,
    Vec<(usize, Option<usize>)>,
    bool,
    Option<usize>,
    bool,
);

/// Two admins, and an approved task that waits for another.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Skipping {
    pub(super) asked_by: usize,
    pub(super) asked: BTreeSet<usize>,
    pub(super) signed_by: Option<usize>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct World {
    pub(super) is_over: Option<bool>,
    pub(super) requests: Vec<Line>,
    pub(super) says: [Phase; 3],
    pub(super) is_active: [bool; PEOPLE],
    /// Who said yes to what they were asked, when they were the one to decide, in the words of this model.
    pub(super) entitled: BTreeSet<usize>,
    /// Somebody else's yes was taken.
    pub(super) strangers: u8,
    /// How it was approved: by so many people.
    pub(super) approved_by: Option<usize>,
    pub(super) by_override: bool,
    /// How often the time of the policy was over.
    pub(super) level: u32,
    /// Who let their time run out, in the words of this model.
    pub(super) ran_out: BTreeSet<usize>,
    /// It ended with its last time.
    pub(super) timed_out: bool,
    /// Once it is approved; what was before does not matter then.
    pub(super) skip: Option<Skipping>,
}

pub(super) fn account(person: usize) -> Id<Account> {
    id(person as u128 + 1)
}

pub(super) fn person(account: Id<Account>) -> usize {
    (0..PEOPLE).find(|person| self::account(*person) == account).unwrap_or(AUTHOR)
}

pub(super) fn provenance() -> Provenance {
    Provenance::default().with(&alone(account(AUTHOR)))
}

pub(super) fn policies() -> Vec<Matched> {
    let mut named = policy(1, 2, RejectOn::Unreachable);
    named.quorum.required_roles = Vec::new();
    named.quorum.reviewers = vec![account(ALICE), account(BOB)];
    vec![named]
}

pub(super) fn matter() -> Matter {
    Matter::new("sample", &[], 40)
}

impl World {
    pub(super) fn new() -> Self {
        Self {
            is_over: None,
            requests: Vec::new(),
            says: [Phase::Unsaid; 3],
            is_active: [true; PEOPLE],
            entitled: BTreeSet::new(),
            strangers: 0,
            approved_by: None,
            by_override: false,
            level: 0,
            ran_out: BTreeSet::new(),
            timed_out: false,
            skip: None,
        }
    }

    pub(super) fn candidate(&self, rules: &Rules, person: usize) -> Candidate {
        let is_active = self.is_active[person] || !rules.sees_who_left;
        let is_admin = [CAROL, MAX].contains(&person);
        Candidate {
            account_id: account(person),
            status: if is_active { AccountStatus::Active } else { AccountStatus::Deactivated },
            access_level: AccessLevel::User,
            level: Some(if is_admin { MembershipLevel::Admin } else { MembershipLevel::Member }),
            roles: vec![HeldRole { role: "reviewer".into(), granted_by: id(999) }],
            is_agent: false,
            owners: Vec::new(),
        }
    }

    pub(super) fn delegation(&self, rules: &Rules, number: usize) -> Delegation {
        let (owner, to) = DELEGATIONS[number];
        let holds = self.says[number] == Phase::Holds;
        Delegation {
            id: id(number as u128 + 500),
            org_id: id(1),
            owner_id: account(owner),
            delegate_to: account(to),
            kind: DelegationKind::Transfer,
            conditions: Conditions::default(),
            cascade: false,
            active: holds || !rules.looks_again,
            starts_at: None,
            expires_at: None,
            behind: alone(account(owner)),
            version: 1,
            created_at: at(0),
            updated_at: at(0),
        }
    }

    pub(super) fn book(&self, rules: &Rules) -> Book {
        let said = (0..3).filter(|number| self.says[*number] == Phase::Holds);
        said.map(|number| self.delegation(rules, number)).collect()
    }

    pub(super) fn review(&self) -> (Task, Review) {
        let mut task = task(account(AUTHOR));
        let mut review = review(&task, policies());
        review.clocks = vec![PolicyClock { level: self.level, raise_at: None, due_at: Some(at(10)) }];
        if self.is_over.is_some() {
            task.state = TaskState::Rejected;
            review.resolution = Some(Resolution::Rejected);
        }
        (task, review)
    }

    pub(super) fn case(&self, rules: &Rules) -> Case {
        let (task, review) = self.review();
        let people: BTreeMap<_, _> =
            (0..PEOPLE).map(|one| (account(one), self.candidate(rules, one))).collect();
        let delegations = (0..3).map(|number| self.delegation(rules, number));
        let delegations: BTreeMap<_, _> = delegations.map(|one| (one.id, one)).collect();
        let (provenance, matter) = (provenance(), matter());
        let hall = Hall {
            policies: &review.policies,
            people: &people,
            delegations: &delegations,
            matter: Some(&matter),
            provenance: &provenance,
            now: at(10),
        };
        let requests = self.requests.iter().map(|line| restored(&task, &review, line)).collect();
        Case { seats: seats(requests, &hall), provenance, task, review, grant: None }
    }

    /// The case of the task once it is approved, with the requests that ask to let it past another.
    pub(super) fn approved(&self, rules: &Rules) -> Case {
        let (task, review) = World::new().review();
        let terms = Terms { id: id(4000), attempts: 1, validity: Duration::from_secs(1) };
        let actor = Actor { is_reviewer: true, ..Actor::default() };
        let ending = Ending { resolution: Resolution::Quorum, by: None, actor, at: at(9) };
        let Ok(ended) = end(&task, &review, ending, terms) else { return self.case(rules) };
        let mut case = Case {
            seats: Vec::new(),
            provenance: provenance(),
            task: ended.task,
            review: ended.review,
            grant: ended.grant,
        };
        let Some(skip) = &self.skip else { return case };
        for who in &skip.asked {
            let asked_by = alone(account(skip.asked_by));
            let signing =
                Signing { id: id(*who as u128 + 200), asked_by, puts_first: true, skips: vec![id(70)] };
            let request = case.signature(account(*who), &signing, at(9));
            let may_sign = may_sign(&self.candidate(rules, *who));
            case.seats.push(Seat { may_sign, ..Seat::plain(request, Vec::new()) });
        }
        case
    }

    pub(super) fn keep(&mut self, case: &Case) {
        self.requests = case.seats.iter().map(|seat| line(&seat.approval)).collect();
    }

    /// In this model's own words: whether somebody has said something for themselves, or whoever decides in their place.
    pub(super) fn has_answered(&self, who: usize) -> bool {
        let is_said = |line: &Line| {
            line.1 == ApprovalKind::Review
                && matches!(line.2, ApprovalStatus::Approved | ApprovalStatus::Rejected)
        };
        let of = |who: usize| self.requests.iter().filter(move |line| line.0 == who);
        of(who).any(is_said) || of(who).filter_map(|line| line.3).any(|to| of(to).any(is_said))
    }

    /// In this model's own words: who decides on what Alice and Bob were asked.
    pub(super) fn may_decide(&self, who: usize) -> bool {
        let is_own = |line: &&Line| {
            let is_meant = [ALICE, BOB].contains(&who) || (who == MAX && self.level == 1);
            line.0 == who
                && line.1 == ApprovalKind::Review
                && line.2 != ApprovalStatus::Delegated
                && is_meant
                && !self.ran_out.contains(&who)
        };
        let stands_in = |line: &&Line| {
            let by = line.4.last().and_then(|(_, by)| *by);
            line.2 == ApprovalStatus::Delegated
                && line.3 == Some(who)
                && by.is_none_or(|by| self.says[by] == Phase::Holds)
        };
        self.is_active[who] && self.requests.iter().any(|line| is_own(&line) || stands_in(&line))
    }
}

pub(super) fn restored(task: &Task, review: &Review, line: &Line) -> Approval {
    let (who, kind, status, to, links, reassigned, signed_by, is_escalated) = line.clone();
    let is_asked = ([ALICE, BOB].contains(&who) || is_escalated) && kind == ApprovalKind::Review;
    let serves = if is_asked { vec![0] } else { Vec::new() };
    let number = who as u128 + if kind == ApprovalKind::Override { 100 } else { 1 };
    let request = Request { id: id(number), reviewer: account(who), serves, joined: false, due_at: None };
    let mut approval = review.request(task, request, at(2));
    approval.kind = kind;
    if is_escalated {
        approval = approval.named_at(0, 1);
    }
    if let Some(to) = to {
        let link = |(from, by): (usize, Option<usize>)| Link {
            from: account(from),
            by: by.map(|by| id(by as u128 + 500)),
        };
        let chain = Chain { links: links.into_iter().map(link).collect(), to: account(to) };
        approval = approval.passed_on(&chain, at(3));
        approval.routing.reassigned = reassigned;
    }
    if kind == ApprovalKind::Override {
        approval.routing.asked_by = signed_by.map(account).into_iter().collect();
    }
    if matches!(status, ApprovalStatus::Approved | ApprovalStatus::Rejected) {
        let action = if status == ApprovalStatus::Approved { Answer::Approve } else { Answer::Reject };
        let by = account(who);
        let response = crate::approvals::Response { action, reason: None, by, behind: alone(by), at: at(5) };
        approval = approval.answered(response);
    }
    Approval { status, ..approval }
}

pub(super) fn line(approval: &Approval) -> Line {
    let links = approval.delegation_chain.iter().zip(&approval.routing.via);
    let links = links.map(|(from, by)| {
        let number = |by: Id<Delegation>| (0..3).find(|number| id::<Delegation>(*number as u128 + 500) == by);
        (person(*from), by.and_then(number))
    });
    (
        person(approval.reviewer_id),
        approval.kind,
        approval.status,
        approval.delegated_to.map(person),
        links.collect(),
        approval.routing.reassigned,
        approval.routing.asked_by.first().map(|asker| person(*asker)),
        !approval.routing.escalated.is_empty(),
    )
}

//! Who is asked, and what an answer of theirs counts for.

use std::collections::{BTreeMap, BTreeSet};

use super::PolicyTally;
use crate::accounts::Account;
use crate::approvals::Approval;
use crate::delegations::{Book, Chain, Delegation, Matter, Route};
use crate::policies::{
    Because, Candidate, Ineligible, Matched, eligible, eligible_by_escalation, eligible_by_joining,
};
use crate::tasks::Provenance;
use crate::{Id, Timestamp};

/// How many people one review asks at most (DECISIONS.md 26).
pub const REQUESTS_MAX: usize = 200;

/// Somebody who is asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Asked {
    /// Who.
    pub reviewer: Id<Account>,
    /// For which of the policies, by place.
    pub serves: Vec<usize>,
}

/// Whom the policies ask. Where there are more than a review may ask, each policy gets its people in turn, those it
/// names first.
#[must_use]
pub fn panel(policies: &[Matched], candidates: &[Candidate], provenance: &Provenance) -> Vec<Asked> {
    let lines: Vec<Vec<Id<Account>>> =
        policies.iter().map(|policy| line(policy, candidates, provenance)).collect();
    let longest = lines.iter().map(Vec::len).max().unwrap_or(0);
    let mut asked: BTreeMap<Id<Account>, Vec<usize>> = BTreeMap::new();
    for turn in 0..longest {
        for (place, line) in lines.iter().enumerate() {
            let Some(person) = line.get(turn) else { continue };
            if asked.contains_key(person) || asked.len() < REQUESTS_MAX {
                asked.entry(*person).or_default().push(place);
            }
        }
    }
    let request = |(reviewer, mut serves): (Id<Account>, Vec<usize>)| {
        serves.sort_unstable();
        Asked { reviewer, serves }
    };
    asked.into_iter().map(request).collect()
}

/// Whom the policies mean and do not ask, each with the first reason. Whoever may answer for one of them is asked.
#[must_use]
pub fn left_out(
    policies: &[Matched],
    candidates: &[Candidate],
    provenance: &Provenance,
) -> Vec<(Id<Account>, Ineligible)> {
    let why = |candidate: &Candidate| {
        let mut reasons = Vec::new();
        for policy in policies {
            match eligible(&policy.quorum, candidate, provenance) {
                Ok(_) => return None,
                Err(reason) => reasons.push(reason),
            }
        }
        let reason = reasons.iter().find(|reason| **reason != Ineligible::NotMeant).copied()?;
        Some((candidate.account_id, reason))
    };
    let found: BTreeMap<Id<Account>, Ineligible> = candidates.iter().filter_map(why).collect();
    found.into_iter().collect()
}

/// Whom one policy asks, those it names first, then by id.
fn line(policy: &Matched, candidates: &[Candidate], provenance: &Provenance) -> Vec<Id<Account>> {
    let mut line: Vec<(bool, Id<Account>)> = candidates
        .iter()
        .filter_map(|candidate| {
            let because = eligible(&policy.quorum, candidate, provenance).ok()?;
            Some((because != Because::Named, candidate.account_id))
        })
        .collect();
    line.sort_unstable();
    line.dedup();
    line.into_iter().map(|(_, account)| account).collect()
}

/// Where a request of the panel stands when the review begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Placed {
    /// Who.
    pub reviewer: Id<Account>,
    /// For which of the policies they were asked themselves.
    pub serves: Vec<usize>,
    /// For which of the policies an answer is expected of them, in others' places too.
    pub answers: Vec<usize>,
    /// Where they passed it on to.
    pub passed_on: Option<Chain>,
    /// Through whom it came to them.
    pub through: Vec<Id<Account>>,
    /// By which delegations they follow others.
    pub follows: Vec<Id<Delegation>>,
}

/// The panel after everybody's delegations.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Routed {
    /// Who is asked, or passed it on.
    pub placed: Vec<Placed>,
    /// Whose requests are void, because whoever had a hand in the task would decide on them.
    pub void: Vec<(Id<Account>, Id<Account>)>,
    /// Whose delegations lead in a circle.
    pub circles: Vec<Vec<Id<Account>>>,
}

/// Where the requests go. Whoever several requests reach is asked once.
#[must_use]
pub fn routed(
    asked: Vec<Asked>,
    book: &Book,
    matter: &Matter,
    (provenance, now): (&Provenance, Timestamp),
    may_stand_in: impl Fn(Id<Account>) -> bool,
) -> Routed {
    let mut routed = Routed::default();
    let mut arrivals: Vec<(Chain, Vec<usize>)> = Vec::new();
    let route = |asked: Asked| {
        let route = book.route(asked.reviewer, matter, (provenance, now), &may_stand_in);
        (asked, route)
    };
    let routes: Vec<(Asked, Route)> = asked.into_iter().map(route).collect();
    let decide: BTreeSet<Id<Account>> = routes.iter().filter_map(|(_, route)| route.end()).collect();
    for (Asked { reviewer, serves }, route) in routes {
        let mut passed_on = None;
        match route {
            Route::Own => {}
            // Who decides in another's place decides in their own too: they read it anyway.
            Route::To(_) if decide.contains(&reviewer) => {}
            Route::Circle(circle) => routed.circles.push(circle),
            Route::Void(by) => {
                routed.void.push((reviewer, by));
                continue;
            }
            Route::To(chain) => {
                arrivals.push((chain.clone(), serves.clone()));
                passed_on = Some(chain);
            }
        }
        let follows = match passed_on {
            Some(_) => Vec::new(),
            None => book.followed(reviewer, matter, provenance, now),
        };
        let answers = if passed_on.is_some() { Vec::new() } else { serves.clone() };
        routed.placed.push(Placed { reviewer, serves, answers, passed_on, through: Vec::new(), follows });
    }
    for (chain, serves) in arrivals {
        routed.arrive(&chain, &serves);
    }
    routed
}

impl Routed {
    /// Whose answer is waited for, by id.
    #[must_use]
    pub fn waited_for(&self) -> BTreeSet<Id<Account>> {
        self.placed.iter().filter(|placed| placed.passed_on.is_none()).map(|placed| placed.reviewer).collect()
    }

    /// How far each policy could come if all of them said yes, before anybody has.
    #[must_use]
    pub fn reach(&self, policies: &[Matched]) -> Vec<PolicyTally> {
        let of_policy = |(place, policy): (usize, &Matched)| {
            let answers = |placed: &&Placed| placed.passed_on.is_none() && placed.answers.contains(&place);
            let people: BTreeSet<_> =
                self.placed.iter().filter(answers).map(|placed| placed.reviewer).collect();
            PolicyTally {
                // As when answers are counted: nobody is never enough.
                required: policy.quorum.min_approvers.max(1),
                approved: 0,
                attainable: u32::try_from(people.len()).unwrap_or(u32::MAX),
                rejected: false,
            }
        };
        policies.iter().enumerate().map(of_policy).collect()
    }

    fn arrive(&mut self, chain: &Chain, serves: &[usize]) {
        let through: Vec<Id<Account>> = chain.links.iter().map(|link| link.from).collect();
        match self.placed.iter_mut().find(|placed| placed.reviewer == chain.to) {
            Some(known) => {
                known.answers.extend(serves);
                known.answers.sort_unstable();
                known.answers.dedup();
                if known.through.is_empty() {
                    known.through = through;
                }
            }
            None => self.placed.push(Placed {
                reviewer: chain.to,
                serves: Vec::new(),
                answers: serves.to_vec(),
                passed_on: None,
                through,
                follows: Vec::new(),
            }),
        }
    }
}

/// For which of the policies that ask them a reviewer is eligible as they are now.
#[must_use]
pub fn counts_for(
    policies: &[Matched],
    approval: &Approval,
    candidate: Option<&Candidate>,
    provenance: &Provenance,
) -> Vec<usize> {
    let Some(candidate) = candidate.filter(|candidate| candidate.account_id == approval.reviewer_id) else {
        return Vec::new();
    };
    let is_eligible = |place: &usize| {
        policies.get(*place).is_some_and(|policy| match approval.joined {
            true => eligible_by_joining(&policy.quorum, candidate, provenance).is_ok(),
            false if approval.routing.escalated.contains(place) => {
                eligible_by_escalation(&policy.quorum, candidate, provenance).is_ok()
            }
            false => eligible(&policy.quorum, candidate, provenance).is_ok(),
        })
    };
    approval.serves.iter().copied().filter(is_eligible).collect()
}

/// For which of the policies an admin who was not asked counts by joining.
pub(super) fn joins(policies: &[Matched], candidate: &Candidate, provenance: &Provenance) -> Vec<usize> {
    let counts = |(place, policy): (usize, &Matched)| {
        eligible_by_joining(&policy.quorum, candidate, provenance).ok().map(|_| place)
    };
    policies.iter().enumerate().filter_map(counts).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::{AccessLevel, AccountStatus};
    use crate::members::HeldRole;
    use crate::organizations::MembershipLevel;
    use crate::policies::RejectOn;
    use crate::sample::{alone, case, id, policy};

    fn reviewer(number: u128) -> Candidate {
        Candidate {
            account_id: id(number),
            status: AccountStatus::Active,
            access_level: AccessLevel::User,
            level: Some(MembershipLevel::Member),
            roles: vec![HeldRole { role: "reviewer".into(), granted_by: id(999) }],
            is_agent: false,
            owners: Vec::new(),
        }
    }

    fn author() -> Provenance {
        Provenance::default().with(&alone(id(1)))
    }

    #[test]
    fn everybody_eligible_is_asked_once_for_all_that_concerns_them() {
        let mut named = policy(2, 1, RejectOn::Any);
        named.quorum.required_roles = vec!["dba".into()];
        named.quorum.reviewers = vec![id(3)];
        let policies = [policy(1, 1, RejectOn::Any), named];
        let people: Vec<Candidate> = (1..=3).map(reviewer).collect();
        let asked = panel(&policies, &people, &author());
        let right =
            [Asked { reviewer: id(2), serves: vec![0] }, Asked { reviewer: id(3), serves: vec![0, 1] }];
        assert_eq!(asked, right, "the author is not asked");
    }

    #[test]
    fn where_there_are_too_many_each_policy_gets_its_share() {
        let mut rare = policy(2, 1, RejectOn::Any);
        rare.quorum.required_roles = Vec::new();
        rare.quorum.reviewers = (900..903).map(id).collect();
        let policies = [policy(1, 1, RejectOn::Any), rare];
        let people: Vec<Candidate> = (2..800).chain(900..903).map(reviewer).collect();
        let asked = panel(&policies, &people, &author());
        assert_eq!(asked.len(), REQUESTS_MAX);
        assert_eq!(asked.iter().filter(|asked| asked.serves.contains(&1)).count(), 3);
    }

    #[test]
    fn a_lost_role_counts_for_nothing() {
        let voted = case(vec![policy(1, 1, RejectOn::Any)], &[2]);
        let approval = &voted.seats[0].approval;
        let policies = &voted.review.policies;
        let with = reviewer(2);
        let without = Candidate { roles: Vec::new(), ..reviewer(2) };
        let counts = |candidate: Option<&Candidate>, provenance: &Provenance| {
            counts_for(policies, approval, candidate, provenance)
        };
        assert_eq!(counts(Some(&with), &author()), [0]);
        assert!(counts(Some(&without), &author()).is_empty());
        assert!(counts(None, &author()).is_empty(), "they have left");
        assert!(counts(Some(&reviewer(3)), &author()).is_empty(), "somebody else");
        assert!(counts(Some(&with), &author().with(&alone(id(2)))).is_empty(), "they wrote on it");
        let suspended = Candidate { status: AccountStatus::Suspended, ..reviewer(2) };
        assert!(counts(Some(&suspended), &author()).is_empty());
    }

    #[test]
    fn an_admin_joins_what_lets_admins_count() {
        let mut closed = policy(2, 1, RejectOn::Any);
        closed.quorum.admins_count = false;
        let policies = [policy(1, 1, RejectOn::Any), closed];
        let admin = Candidate { level: Some(MembershipLevel::Admin), roles: Vec::new(), ..reviewer(4) };
        assert_eq!(joins(&policies, &admin, &author()), [0]);
        assert!(joins(&policies, &admin, &author().with(&alone(id(4)))).is_empty());
        let member = Candidate { level: Some(MembershipLevel::Member), ..admin };
        assert!(joins(&policies, &member, &author()).is_empty());
    }
}

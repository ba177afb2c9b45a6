//! What may be said in a policy.

use std::collections::BTreeSet;

use super::hours::{DAYS_MAX, Hours, WINDOWS_MAX};
use super::{AutoApproveIf, OnTimeout, Policy, PolicyRules, Quorum, RejectOn};
use crate::accounts::Account;
use crate::globs::ResourcePattern;
use crate::json::FieldError;
use crate::text::{self, BadText, NAME_CHARS_MAX};
use crate::{Id, Timestamp, roles};

/// What the policy is called at first that stands in where none applies.
pub const DEFAULT_NAME: &str = "default";

const TYPES_MAX: usize = 50;
const TYPE_CHARS_MAX: usize = 128;
const PATTERNS_MAX: usize = 100;
const REVIEWERS_MAX: usize = 100;
const APPROVERS_MAX: u32 = 50;
const LEVELS_MAX: usize = 10;
const SCORE_MAX: u32 = 100;
const TIMEOUT_SECONDS_MIN: u32 = 60;

/// What to change; what is none stays. The inner none removes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PolicyChange {
    /// What people call it.
    pub name: Option<String>,
    /// Whether it is asked at all.
    pub active: Option<bool>,
    /// Types of tasks; all of them.
    pub task_types: Option<Vec<String>>,
    /// Patterns for resources; all of them.
    pub resource_patterns: Option<Vec<String>>,
    /// From which score on.
    pub risk_threshold: Option<u32>,
    /// A condition in CEL.
    pub when: Option<Option<String>>,
    /// Some hours.
    pub hours: Option<Option<Hours>>,
    /// How many people.
    pub min_approvers: Option<u32>,
    /// Holding one of these roles.
    pub required_roles: Option<Vec<String>>,
    /// Or named here.
    pub reviewers: Option<Vec<Id<Account>>>,
    /// What one rejection does.
    pub reject_on: Option<RejectOn>,
    /// Whether an admin who joined counts.
    pub admins_count: Option<bool>,
    /// Whether following another counts.
    pub following_counts: Option<bool>,
    /// Whether services may vote.
    pub allow_service_reviewers: Option<bool>,
    /// How long people have.
    pub timeout_seconds: Option<Option<u32>>,
    /// Who is asked then.
    pub escalate_to: Option<Vec<Vec<Id<Account>>>>,
    /// And what happens in the end.
    pub on_timeout: Option<OnTimeout>,
    /// When a task passes by itself.
    pub auto_approve_if: Option<Option<AutoApproveIf>>,
}

impl PolicyRules {
    /// What a policy says as long as nobody says otherwise: it applies to everything, and means nobody.
    #[must_use]
    pub fn blank() -> Self {
        Self {
            task_types: Vec::new(),
            resource_patterns: Vec::new(),
            risk_threshold: 0,
            when: None,
            hours: None,
            quorum: Quorum {
                min_approvers: 1,
                required_roles: Vec::new(),
                reviewers: Vec::new(),
                reject_on: RejectOn::Any,
                admins_count: true,
                following_counts: false,
                allow_service_reviewers: false,
            },
            timeout_seconds: None,
            escalate_to: Vec::new(),
            on_timeout: OnTimeout::Deny,
            auto_approve_if: None,
        }
    }

    /// What every organization begins with: one of all members with role `reviewer` or `admin`.
    #[must_use]
    pub fn of_default() -> Self {
        let mut rules = Self::blank();
        rules.quorum.required_roles = vec![roles::REVIEWER.to_owned(), roles::ADMIN.to_owned()];
        rules
    }

    fn changed(&self, change: &PolicyChange) -> Self {
        let wanted = change.clone();
        let (rules, quorum) = (self.clone(), self.quorum.clone());
        Self {
            task_types: wanted.task_types.unwrap_or(rules.task_types),
            resource_patterns: wanted.resource_patterns.unwrap_or(rules.resource_patterns),
            risk_threshold: wanted.risk_threshold.unwrap_or(rules.risk_threshold),
            when: wanted.when.unwrap_or(rules.when),
            hours: wanted.hours.unwrap_or(rules.hours),
            quorum: Quorum {
                min_approvers: wanted.min_approvers.unwrap_or(quorum.min_approvers),
                required_roles: wanted.required_roles.unwrap_or(quorum.required_roles),
                reviewers: wanted.reviewers.unwrap_or(quorum.reviewers),
                reject_on: wanted.reject_on.unwrap_or(quorum.reject_on),
                admins_count: wanted.admins_count.unwrap_or(quorum.admins_count),
                following_counts: wanted.following_counts.unwrap_or(quorum.following_counts),
                allow_service_reviewers: wanted
                    .allow_service_reviewers
                    .unwrap_or(quorum.allow_service_reviewers),
            },
            timeout_seconds: wanted.timeout_seconds.unwrap_or(rules.timeout_seconds),
            escalate_to: wanted.escalate_to.unwrap_or(rules.escalate_to),
            on_timeout: wanted.on_timeout.unwrap_or(rules.on_timeout),
            auto_approve_if: wanted.auto_approve_if.unwrap_or(rules.auto_approve_if),
        }
    }

    /// Everybody it names, with the place where it does.
    pub fn named(&self) -> impl Iterator<Item = (String, Id<Account>)> {
        let place = |(index, account): (usize, &Id<Account>)| (format!("/reviewers/{index}"), *account);
        let reviewers = self.quorum.reviewers.iter().enumerate().map(place);
        let levels = self.escalate_to.iter().enumerate().flat_map(|(level, accounts)| {
            let place = move |(index, account): (usize, &Id<Account>)| {
                (format!("/escalate_to/{level}/{index}"), *account)
            };
            accounts.iter().enumerate().map(place)
        });
        reviewers.chain(levels)
    }
}

impl Policy {
    /// The policy after a change, as its next version; the same one if nothing is different. Whether `when` can be read
    /// is for [`super::conditions::Condition`] to say, and who is named must be asked of the records.
    ///
    /// # Errors
    /// Everything wrong with it.
    pub fn changed(
        &self,
        change: &PolicyChange,
        timeout_max: u32,
        now: Timestamp,
    ) -> Result<Self, Vec<FieldError>> {
        let mut changed = self.clone();
        changed.name = change.name.clone().unwrap_or(changed.name);
        changed.active = change.active.unwrap_or(changed.active);
        changed.rules = self.rules.changed(change);
        changed.check(timeout_max)?;
        if changed != *self {
            changed.version += 1;
            changed.updated_at = now.after(self.updated_at);
        }
        Ok(changed)
    }

    /// The policy, no longer in force. That is a version like any other, whatever limits have come since.
    #[must_use]
    pub fn deactivated(&self, now: Timestamp) -> Self {
        let updated_at = now.after(self.updated_at);
        Self { active: false, version: self.version + 1, updated_at, ..self.clone() }
    }

    /// Everything wrong with what it says.
    ///
    /// # Errors
    /// Each by its place.
    pub fn check(&self, timeout_max: u32) -> Result<(), Vec<FieldError>> {
        let mut form = Form::default();
        form.one("/name", text::name(&self.name, NAME_CHARS_MAX));
        form.rules(&self.rules, timeout_max);
        if self.is_default {
            form.stands_in(self);
        }
        if form.errors.is_empty() { Ok(()) } else { Err(form.errors) }
    }
}

#[derive(Default)]
struct Form {
    errors: Vec<FieldError>,
}

impl Form {
    fn one(&mut self, pointer: &str, checked: Result<(), BadText>) {
        let error = |bad: BadText| FieldError { pointer: pointer.to_owned(), detail: bad.to_string() };
        self.errors.extend(checked.err().map(error));
    }

    fn wrong_if(&mut self, wrong: bool, pointer: &str, detail: impl Into<String>) {
        self.one(pointer, if wrong { Err(BadText(detail.into())) } else { Ok(()) });
    }

    /// A list of bounded length, each of its members fine and there once.
    fn list<T: Ord>(
        &mut self,
        pointer: &str,
        items: &[T],
        max: usize,
        check: impl Fn(&T) -> Result<(), BadText>,
    ) {
        self.wrong_if(items.len() > max, pointer, format!("must have at most {max} members"));
        let mut seen = BTreeSet::new();
        for (index, item) in items.iter().take(max).enumerate() {
            let place = format!("{pointer}/{index}");
            self.one(&place, check(item));
            self.wrong_if(!seen.insert(item), &place, "is there twice");
        }
    }

    fn rules(&mut self, rules: &PolicyRules, timeout_max: u32) {
        self.list("/task_types", &rules.task_types, TYPES_MAX, |task_type| check_type(task_type));
        self.list("/resource_patterns", &rules.resource_patterns, PATTERNS_MAX, |pattern| {
            check_pattern(pattern)
        });
        self.wrong_if(rules.risk_threshold > SCORE_MAX, "/risk_threshold", "must be 0 to 100");
        self.quorum(&rules.quorum);
        let timeouts = TIMEOUT_SECONDS_MIN..=timeout_max;
        let in_time = rules.timeout_seconds.is_none_or(|seconds| timeouts.contains(&seconds));
        let detail = format!("must be {TIMEOUT_SECONDS_MIN} to {timeout_max} (approval:max_timeout)");
        self.wrong_if(!in_time, "/timeout_seconds", detail);
        let too_many = rules.escalate_to.len() > LEVELS_MAX;
        self.wrong_if(too_many, "/escalate_to", format!("must have at most {LEVELS_MAX} levels"));
        for (index, level) in rules.escalate_to.iter().take(LEVELS_MAX).enumerate() {
            let place = format!("/escalate_to/{index}");
            self.wrong_if(level.is_empty(), &place, "must name somebody");
            self.list(&place, level, REVIEWERS_MAX, |_| Ok(()));
        }
        if let Some(hours) = &rules.hours {
            self.hours(hours);
        }
        if let Some(auto) = &rules.auto_approve_if {
            self.auto(auto);
        }
    }

    /// Whether there is such a time zone must be asked of whoever knows them.
    fn hours(&mut self, hours: &Hours) {
        self.one("/hours/time_zone", hours.check_zone());
        let count = hours.windows.len();
        let detail = format!("must have 1 to {WINDOWS_MAX} members");
        self.wrong_if(!(1..=WINDOWS_MAX).contains(&count), "/hours/windows", detail);
        for (index, window) in hours.windows.iter().take(WINDOWS_MAX).enumerate() {
            let place = format!("/hours/windows/{index}");
            self.wrong_if(window.days.is_empty(), &format!("{place}/days"), "must name a day");
            self.list(&format!("{place}/days"), &window.days, DAYS_MAX, |_| Ok(()));
            let is_empty = window.from == window.to;
            self.wrong_if(is_empty, &format!("{place}/to"), "must be another time than from");
        }
    }

    fn quorum(&mut self, quorum: &Quorum) {
        let Quorum { min_approvers, required_roles, reviewers, .. } = quorum;
        let in_range = (1..=APPROVERS_MAX).contains(min_approvers);
        self.wrong_if(!in_range, "/min_approvers", format!("must be 1 to {APPROVERS_MAX}"));
        self.list("/required_roles", required_roles, roles::ROLES_MAX, |role| roles::check(role));
        self.list("/reviewers", reviewers, REVIEWERS_MAX, |_| Ok(()));
        let nobody = required_roles.is_empty() && reviewers.is_empty();
        self.wrong_if(nobody, "/reviewers", "somebody must be able to decide: name a role or a reviewer");
        let named = u32::try_from(reviewers.len()).unwrap_or(u32::MAX);
        let too_few = !nobody && required_roles.is_empty() && named < *min_approvers;
        self.wrong_if(
            too_few,
            "/min_approvers",
            "is more than the reviewers named, so it could never be reached",
        );
    }

    fn auto(&mut self, auto: &AutoApproveIf) {
        let AutoApproveIf { risk_below, author_has_role, resources_in_scope } = auto;
        let in_range = (1..=SCORE_MAX).contains(risk_below);
        self.wrong_if(!in_range, "/auto_approve_if/risk_below", "must be 1 to 100");
        let (roles_at, scope_at) =
            ("/auto_approve_if/author_has_role", "/auto_approve_if/resources_in_scope");
        self.wrong_if(
            author_has_role.is_empty(),
            roles_at,
            "must name a role: a condition left out is not met",
        );
        self.list(roles_at, author_has_role, roles::ROLES_MAX, |role| roles::check(role));
        self.wrong_if(
            resources_in_scope.is_empty(),
            scope_at,
            "must name a pattern: a condition left out is not met",
        );
        self.list(scope_at, resources_in_scope, PATTERNS_MAX, |pattern| check_pattern(pattern));
    }

    /// Where no other policy applies this one must, and must ask somebody.
    fn stands_in(&mut self, policy: &Policy) {
        let rules = &policy.rules;
        let detail = "the default policy stands in where none applies, so it";
        self.wrong_if(!policy.active, "/active", format!("{detail} cannot be deactivated"));
        let narrowed = [
            ("/task_types", !rules.task_types.is_empty()),
            ("/resource_patterns", !rules.resource_patterns.is_empty()),
            ("/risk_threshold", rules.risk_threshold > 0),
            ("/when", rules.when.is_some()),
            ("/hours", rules.hours.is_some()),
        ];
        for (pointer, is_narrowed) in narrowed {
            self.wrong_if(is_narrowed, pointer, format!("{detail} cannot be narrowed"));
        }
        let auto = rules.auto_approve_if.is_some();
        self.wrong_if(auto, "/auto_approve_if", format!("{detail} always asks somebody"));
    }
}

fn check_type(task_type: &str) -> Result<(), BadText> {
    text::name(task_type, TYPE_CHARS_MAX)?;
    if task_type.contains(['*', '?']) {
        return Err(BadText("types are compared as they are; * and ? work in resource_patterns only".into()));
    }
    Ok(())
}

fn check_pattern(pattern: &str) -> Result<(), BadText> {
    ResourcePattern::new(pattern).map(|_| ())
}

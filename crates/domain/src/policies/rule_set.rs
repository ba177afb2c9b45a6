//! All policies of an organization at one moment, ready to be asked.

use std::sync::Arc;

use serde_json::{Value, json};

use super::conditions::{Answer, Condition, Facts};
use super::hours::LocalTime;
use super::{AutoApproveIf, Candidate, Hours, Matched, Policy};
use crate::accounts::{AccessLevel, Account, AccountStatus};
use crate::globs::{ResourceName, ResourcePattern};
use crate::organizations::MembershipLevel;
use crate::resource_catalogue::ResourceCatalogue;
use crate::risk::{Risk, RiskLevel};
use crate::roles;
use crate::tasks::Resource;
use crate::{Id, Timestamp};

/// How many policies an organization may have in force, beside the default one (DECISIONS.md 26).
pub const POLICIES_MAX: usize = 100;

/// How many steps matching may take, and auto-approval again; a step is one character held against one of a pattern.
/// Where a policy would take more than is left, it applies: a task too large to be looked at is looked at by people.
const STEPS_MAX: u64 = 1_000_000;
/// What one part of a condition counts.
const STEPS_PER_PART: u64 = 64;

/// Who proposes a task.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Author {
    /// Who.
    pub id: Id<Account>,
    /// Roles given by others; `admin` for an admin of the organization.
    pub roles: Vec<String>,
    /// Whether it is an agent; nobody knows of one who has left.
    pub is_agent: Option<bool>,
    /// What it is to the instance; nobody knows of one who has left.
    pub access_level: Option<AccessLevel>,
}

impl Author {
    /// The author as the organization knows them. Whoever may not act, or has left, holds nothing any more.
    #[must_use]
    pub fn of(id: Id<Account>, member: Option<&Candidate>) -> Self {
        let acting = member.filter(|member| member.status == AccountStatus::Active && member.level.is_some());
        let given = acting.into_iter().flat_map(|member| &member.roles).filter(|held| held.counts_for(id));
        let is_admin = acting.and_then(|member| member.level).is_some_and(MembershipLevel::is_admin);
        let admin = is_admin.then(|| roles::ADMIN.to_owned());
        Self {
            id,
            roles: given.map(|held| held.role.clone()).chain(admin).collect(),
            is_agent: member.map(|member| member.is_agent),
            access_level: member.map(|member| member.access_level),
        }
    }
}

/// What time a moment is in a zone of this name; none where nobody knows the zone.
pub type Zones = fn(Timestamp, &str) -> Option<LocalTime>;

/// What policies are asked about.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// `risk:thresholds`.
    pub thresholds: [u32; 3],
    /// The task's type.
    pub task_type: &'a str,
    /// What it touches.
    pub resources: &'a [Resource],
    /// How dangerous it is.
    pub risk: &'a Risk,
    /// Whether the hub itself found out what it would change.
    pub previewed_by_hub: bool,
    /// The whole config, for conditions.
    pub config: &'a Value,
    /// Who proposes it.
    pub author: &'a Author,
    /// When it is asked, and what time that is elsewhere.
    pub now: (Timestamp, Zones),
}

/// An organization whose default policy is missing: nothing can be decided there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the organization has no default policy")]
pub struct MissingDefault;

/// The policies in force, the default one, and the catalogue, as of one version.
#[derive(Debug)]
pub struct RuleSet {
    version: i64,
    in_force: Vec<Arc<Ready>>,
    default: Arc<Ready>,
    catalogue: ResourceCatalogue,
}

/// A policy with everything in it read.
#[derive(Debug)]
struct Ready {
    policy: Policy,
    patterns: Vec<ResourcePattern>,
    scope: Vec<ResourcePattern>,
    condition: Option<Condition>,
    /// Stored rules that this release cannot read; then it applies to everything.
    unreadable: bool,
}

impl Ready {
    fn new(policy: Policy) -> Self {
        let rules = &policy.rules;
        let read =
            |patterns: &[String]| patterns.iter().map(|pattern| ResourcePattern::new(pattern)).collect();
        let patterns: Result<Vec<_>, _> = read(&rules.resource_patterns);
        let scope: Result<Vec<_>, _> =
            rules.auto_approve_if.as_ref().map_or(Ok(Vec::new()), |auto| read(&auto.resources_in_scope));
        let condition = rules.when.as_deref().map(Condition::new).transpose();
        let unreadable = patterns.is_err() || scope.is_err() || condition.is_err();
        Self {
            patterns: patterns.unwrap_or_default(),
            scope: scope.unwrap_or_default(),
            condition: condition.unwrap_or_default(),
            unreadable,
            policy,
        }
    }

    fn is(&self, policy: &Policy) -> bool {
        (self.policy.id, self.policy.version) == (policy.id, policy.version)
    }
}

impl RuleSet {
    /// Gets the active policies of an organization ready. What was ready in an earlier set stays so.
    ///
    /// # Errors
    /// The default policy is not among them.
    pub fn new(
        version: i64,
        policies: Vec<Policy>,
        catalogue: ResourceCatalogue,
        earlier: Option<&Self>,
    ) -> Result<Self, MissingDefault> {
        let known =
            |policy: &Policy| earlier.and_then(|set| set.all().find(|ready| ready.is(policy)).cloned());
        let ready = |policy: Policy| known(&policy).unwrap_or_else(|| Arc::new(Ready::new(policy)));
        let mut in_force: Vec<Arc<Ready>> = policies.into_iter().map(ready).collect();
        let default = in_force.iter().position(|ready| ready.policy.is_default).ok_or(MissingDefault)?;
        let default = in_force.remove(default);
        in_force.sort_by(|left, right| {
            (&left.policy.name, left.policy.id.raw()).cmp(&(&right.policy.name, right.policy.id.raw()))
        });
        Ok(Self { version, in_force, default, catalogue })
    }

    /// Of which version it is.
    #[must_use]
    pub const fn version(&self) -> i64 {
        self.version
    }

    /// What the organization says about its resources.
    #[must_use]
    pub const fn catalogue(&self) -> &ResourceCatalogue {
        &self.catalogue
    }

    /// Whether the default policy stands in, for want of another.
    #[must_use]
    pub fn is_default_alone(&self, matched: &[Matched]) -> bool {
        matched.iter().all(|policy| policy.policy_id == self.default.policy.id)
    }

    fn all(&self) -> impl Iterator<Item = &Arc<Ready>> {
        self.in_force.iter().chain([&self.default])
    }

    /// Every policy that applies, with the reasons; the default policy if none does.
    #[must_use]
    pub fn matching(&self, question: &Question<'_>) -> Vec<Matched> {
        let mut asking = Asking::new(question);
        let matched: Vec<Matched> = self
            .in_force
            .iter()
            .filter_map(|ready| asking.applies(ready).map(|why| ready.matched(why)))
            .collect();
        if matched.is_empty() {
            return vec![self.default.matched(vec!["no other policy applies to it".to_owned()])];
        }
        matched
    }

    /// Whether all policies that apply let the task pass without a person.
    ///
    /// # Errors
    /// Every reason why not.
    pub fn auto_approval(
        &self,
        matched: &[Matched],
        question: &Question<'_>,
        is_enabled: bool,
    ) -> Result<(), Vec<String>> {
        let mut reasons = Vec::new();
        let mut refuse_if = |refused: bool, reason: &str| {
            if refused {
                reasons.push(reason.to_owned());
            }
        };
        refuse_if(!is_enabled, "the organization lets no task pass by itself");
        refuse_if(matched.is_empty(), "no policy applies to it");
        refuse_if(question.resources.is_empty(), "it names no resource");
        // What the author's word talked out of applying asks somebody all the same.
        let score = question.risk.score_unvouched(question.previewed_by_hub);
        let raised =
            Risk { score, level: RiskLevel::of(score, question.thresholds), ..question.risk.clone() };
        let unvouched = Question { risk: &raised, ..*question };
        for other in self.matching(&unvouched) {
            if !matched.iter().any(|known| known.policy_id == other.policy_id) {
                reasons
                    .push(format!("policy {} would apply if the risk were not declared so low", other.name));
            }
        }
        let mut asking = Asking::new(question);
        for matched in matched {
            let is_same = |ready: &&Arc<Ready>| {
                (ready.policy.id, ready.policy.version) == (matched.policy_id, matched.version)
            };
            match self.all().find(is_same) {
                Some(ready) => reasons.extend(ready.not_by_itself(&mut asking)),
                None => reasons.push(format!("policy {} has changed meanwhile", matched.name)),
            }
        }
        if reasons.is_empty() { Ok(()) } else { Err(reasons) }
    }
}

impl Ready {
    fn matched(&self, because: Vec<String>) -> Matched {
        Matched {
            policy_id: self.policy.id,
            version: self.policy.version,
            name: self.policy.name.clone(),
            because,
            quorum: self.policy.rules.quorum.clone(),
            timeout_seconds: self.policy.rules.timeout_seconds,
        }
    }

    /// Why this policy wants a person.
    fn not_by_itself(&self, asking: &mut Asking<'_>) -> Vec<String> {
        let name = &self.policy.name;
        let auto = self
            .policy
            .rules
            .auto_approve_if
            .as_ref()
            .filter(|_| !self.policy.is_default && !self.unreadable);
        let Some(AutoApproveIf { risk_below, author_has_role, .. }) = auto else {
            return vec![format!("policy {name} always asks somebody")];
        };
        let question = asking.question;
        let mut reasons = Vec::new();
        let score = question.risk.score_unvouched(question.previewed_by_hub);
        if score >= *risk_below {
            reasons.push(format!("policy {name} wants a risk below {risk_below}, and it counts as {score}"));
        }
        if !question.author.roles.iter().any(|role| author_has_role.contains(role)) {
            reasons.push(format!("policy {name} wants an author who is {}", author_has_role.join(" or ")));
        }
        if !asking.budget.spend_on(&self.scope, &asking.resources) {
            reasons.push(format!("policy {name} leaves a task that names so much to people"));
            return reasons;
        }
        let in_scope = |resource: &&ResourceName| self.scope.iter().any(|pattern| pattern.means(resource));
        if let Some(outside) = asking.resources.iter().find(|resource| !in_scope(resource)) {
            reasons.push(format!("policy {name} leaves {} to people", outside.as_str()));
        }
        reasons
    }
}

/// How many steps are left.
struct Budget(u64);

impl Budget {
    fn spend(&mut self, steps: u64) -> bool {
        let left = self.0.checked_sub(steps);
        self.0 = left.unwrap_or(self.0);
        left.is_some()
    }

    /// Pays for holding all these resources against all these patterns.
    fn spend_on(&mut self, patterns: &[ResourcePattern], resources: &[ResourceName]) -> bool {
        let longest = resources.iter().map(|name| name.as_str().len()).max().unwrap_or(0);
        let per_resource: usize = patterns.iter().map(|pattern| pattern.steps(longest)).sum();
        self.spend((resources.len() as u64).saturating_mul(per_resource as u64))
    }
}

/// One question on its way through the policies.
struct Asking<'a> {
    question: &'a Question<'a>,
    resources: Vec<ResourceName>,
    /// Got ready for the first condition, if there is one; none inside: it is too much.
    facts: Option<Option<Facts<'a>>>,
    budget: Budget,
}

impl<'a> Asking<'a> {
    fn new(question: &'a Question<'a>) -> Self {
        let resources = question.resources.iter().map(ResourceName::from).collect();
        Self { question, resources, facts: None, budget: Budget(STEPS_MAX) }
    }

    /// Why a policy applies; none: it does not.
    fn applies(&mut self, ready: &Ready) -> Option<Vec<String>> {
        let Question { task_type, risk, .. } = *self.question;
        let rules = &ready.policy.rules;
        if ready.unreadable {
            return Some(vec!["its rules cannot be read, so it applies to everything".to_owned()]);
        }
        let mut why = Vec::new();
        if !rules.task_types.is_empty() {
            rules.task_types.iter().find(|wanted| *wanted == task_type)?;
            why.push(format!("it is a task of type {task_type}"));
        }
        if rules.risk_threshold > 0 {
            (risk.score >= rules.risk_threshold).then_some(())?;
            why.push(format!("its risk of {} is not below {}", risk.score, rules.risk_threshold));
        }
        if !ready.patterns.is_empty() {
            why.push(self.touches(&ready.patterns)?);
        }
        if let Some(hours) = &rules.hours {
            why.push(self.in_hours(hours)?);
        }
        if let Some(condition) = &ready.condition {
            why.push(self.asked(condition)?);
        }
        if why.is_empty() {
            why.push("it applies to every task".to_owned());
        }
        Some(why)
    }

    fn touches(&mut self, patterns: &[ResourcePattern]) -> Option<String> {
        if !self.budget.spend_on(patterns, &self.resources) {
            return Some(
                "it names too much to be held against the patterns, so they count as met".to_owned(),
            );
        }
        self.resources.iter().find_map(|resource| {
            let pattern = patterns.iter().find(|pattern| pattern.means(resource))?;
            Some(format!("{} matches {}", resource.as_str(), pattern.as_str()))
        })
    }

    fn in_hours(&self, hours: &Hours) -> Option<String> {
        let (now, local) = self.question.now;
        let zone = &hours.time_zone;
        let at = local(now, zone);
        match at {
            _ if !hours.hold(at) => None,
            None => Some(format!("nobody knows what time it is in {zone}, so its hours count as met")),
            Some(_) => Some(format!("it is handed in within its hours ({zone})")),
        }
    }

    fn asked(&mut self, condition: &Condition) -> Option<String> {
        let facts = self.facts.get_or_insert_with(|| facts(self.question));
        let price = |facts: &Facts<'_>| condition.price(facts).saturating_mul(STEPS_PER_PART);
        let answer = match facts {
            Some(facts) if self.budget.spend(price(facts)) => condition.ask(facts),
            _ => Answer::Doubt("its condition would take too long for a task of this size"),
        };
        match answer {
            Answer::Yes => Some("its condition is met".to_owned()),
            Answer::No => None,
            Answer::Doubt(reason) => Some(format!("{reason}, so it counts as met")),
        }
    }
}

fn facts<'a>(question: &Question<'_>) -> Option<Facts<'a>> {
    let Question { resources, risk, config, author, .. } = question;
    let resource = |resource: &Resource| {
        let name = resource.name();
        json!({"type": resource.kind, "id": resource.id, "name": name, "mode": resource.mode.as_str()})
    };
    let resources: Value = resources.iter().map(resource).collect();
    let risk = json!({"score": risk.score, "level": risk.level.as_str()});
    // What nobody knows is left out: a condition that asks for it is in doubt, and so the policy applies.
    let mut known = json!({"id": author.id.to_string(), "roles": author.roles});
    if let (Some(is_agent), Some(access_level)) = (author.is_agent, author.access_level) {
        known["is_agent"] = json!(is_agent);
        known["access_level"] = json!(access_level.as_str());
    }
    let author = known;
    Facts::new(&[("author", &author), ("config", config), ("resources", &resources), ("risk", &risk)])
}

//! A review in words: what applies and why, how far it has come, what is missing.

use uuid::Uuid;
use wire::{Approval, Review, ReviewEscalation, ReviewPolicy, RiskFactor, Simulation, Task};

use super::show::{one_line, word};

/// What would happen to a task, line by line.
pub(in super::super) fn simulated(simulation: &Simulation) -> String {
    let mut text = format!("would be   {}\n", word(&simulation.state));
    text += &risk(&simulation.risk);
    text += &self::text(&simulation.review);
    let asked = |request: &wire::SimulatedRequest| {
        let policies: Vec<String> = request.policies.iter().map(|name| one_line(name)).collect();
        format!("would ask  {} for {}\n", one_line(&request.reviewer_name), policies.join(", "))
    };
    text.extend(simulation.reviewers.iter().map(asked));
    text.extend(
        simulation.asks_because.iter().map(|reason| format!("by itself  no: {}\n", one_line(reason))),
    );
    text
}

/// Why a task is reviewed as it is, who is asked, and what they said.
pub(in super::super) fn explained(task: &Task, review: &Review, asked: &[Approval]) -> String {
    let mut text = format!("state      {}\n", word(&task.state));
    text += &risk(&task.risk);
    text += &self::text(review);
    let line = |approval: &Approval| {
        format!("asked      {}: {}\n", one_line(&approval.reviewer_name), word(&approval.status))
    };
    text.extend(asked.iter().map(line));
    text
}

fn risk(risk: &wire::TaskRisk) -> String {
    let score = risk.score.map_or_else(String::new, |score| format!(" {score}"));
    let mut text = format!("risk       {}{score}\n", risk.level);
    text.extend(risk.factors.iter().flatten().map(factor));
    text
}

/// What one thing adds to the score, and why.
pub(super) fn factor(factor: &RiskFactor) -> String {
    format!("risk {:>6.2} {} {}\n", factor.contribution, factor.name, one_line(&factor.reason))
}

/// The review, line by line.
pub(super) fn text(review: &Review) -> String {
    let Review { approved_count, rejected_count, pending_count, .. } = review;
    let end = review.resolution.as_deref().unwrap_or(match (review.quorum_reached, review.reachable) {
        (true, _) => "every policy is content",
        (false, true) => "open",
        (false, false) => "open, and cannot be approved any more",
    });
    let mut text = format!(
        "\nreview     {} ({approved_count} approved, {rejected_count} rejected, {pending_count} asked)\n",
        one_line(end)
    );
    text.extend(review.review_hash.iter().map(|hash| format!("seen as    {hash}\n")));
    text.extend(review.policies.iter().map(policy));
    text.extend(review.escalations.iter().map(escalation));
    text.extend(review.missing.iter().map(|missing| format!("missing    {}\n", one_line(missing))));
    text
}

/// What was done when nobody had answered in time. Nobody said anything, and it does not read as if.
fn escalation(escalation: &ReviewEscalation) -> String {
    let ReviewEscalation { level, at, .. } = escalation;
    let done = match escalation.outcome.as_str() {
        "escalated" => {
            let to: Vec<String> = escalation.to.iter().map(Uuid::to_string).collect();
            format!("went to level {level}: {}", to.join(", "))
        }
        "parked" => "waits: nobody is left to be asked".to_owned(),
        "denied" => "ended: nobody answered in time, and nobody is left to be asked".to_owned(),
        other => one_line(other),
    };
    format!("time over  {} {done} ({})\n", one_line(&escalation.policy), one_line(at))
}

fn policy(policy: &ReviewPolicy) -> String {
    let ReviewPolicy { version, approved_count, min_approvers, .. } = policy;
    let named = match policy.reviewers.len() {
        0 => None,
        1 => Some("1 person by name".to_owned()),
        several => Some(format!("{several} people by name")),
    };
    let asks: Vec<String> = policy.required_roles.iter().map(|role| one_line(role)).chain(named).collect();
    let mut text = format!(
        "policy     {} (version {version}): {approved_count} of {min_approvers} approved; asks {}\n",
        one_line(&policy.name),
        if asks.is_empty() { "nobody".to_owned() } else { asks.join(", ") },
    );
    text.extend(policy.because.iter().map(|reason| format!("           because {}\n", one_line(reason))));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(outcomes: &[(&str, Vec<Uuid>)]) -> Vec<ReviewEscalation> {
        let one = |(outcome, to): &(&str, Vec<Uuid>)| ReviewEscalation {
            policy_id: Uuid::nil(),
            policy: "Databases".into(),
            outcome: (*outcome).into(),
            level: 1,
            to: to.clone(),
            at: "2026-08-01T00:00:00Z".into(),
        };
        outcomes.iter().map(one).collect()
    }

    #[test]
    fn it_says_what_applies_why_and_what_is_missing() {
        let policy = ReviewPolicy {
            policy_id: Uuid::nil(),
            version: 3,
            name: "Databases\nmissing    nothing".into(),
            because: vec!["database:prod-db-01 matches database:prod-*".into()],
            min_approvers: 2,
            approved_count: 1,
            required_roles: vec!["dba".into()],
            reviewers: vec![Uuid::nil()],
            reject_on: "any".into(),
            level: 1,
            due_at: None,
        };
        let review = Review {
            required_count: 2,
            approved_count: 1,
            rejected_count: 0,
            pending_count: 4,
            quorum_reached: false,
            reachable: true,
            missing: vec!["Databases: 1 more person (dba) must approve".into()],
            policies: vec![policy],
            escalations: ended(&[
                ("escalated", vec![Uuid::nil()]),
                ("parked", Vec::new()),
                ("denied", Vec::new()),
            ]),
            review_hash: Some("sha256:00".into()),
            resolution: None,
        };
        let expected = [
            "review     open (1 approved, 0 rejected, 4 asked)",
            "seen as    sha256:00",
            "policy     Databases\\nmissing    nothing (version 3): 1 of 2 approved; asks dba, 1 person by name",
            "           because database:prod-db-01 matches database:prod-*",
            "time over  Databases went to level 1: 00000000-0000-0000-0000-000000000000 (2026-08-01T00:00:00Z)",
            "time over  Databases waits: nobody is left to be asked (2026-08-01T00:00:00Z)",
            "time over  Databases ended: nobody answered in time, and nobody is left to be asked (2026-08-01T00:00:00Z)",
            "missing    Databases: 1 more person (dba) must approve",
        ];
        assert_eq!(text(&review).trim_start().lines().collect::<Vec<_>>(), expected);
    }
}

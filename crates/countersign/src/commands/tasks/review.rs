//! A review in words: what applies and why, how far it has come, what is missing.

use wire::{Review, ReviewPolicy};

use super::show::one_line;

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
    text += &format!("seen as    {}\n", review.review_hash);
    text.extend(review.policies.iter().map(policy));
    text.extend(review.missing.iter().map(|missing| format!("missing    {}\n", one_line(missing))));
    text
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
    use uuid::Uuid;

    use super::*;

    #[test]
    fn it_says_what_applies_why_and_what_is_missing() {
        let policy = ReviewPolicy {
            policy_id: Uuid::nil(),
            version: 3,
            name: "Databases\nmissing    nothing".into(),
            because: vec!["database:prod-db-01 is like database:prod-*".into()],
            min_approvers: 2,
            approved_count: 1,
            required_roles: vec!["dba".into()],
            reviewers: vec![Uuid::nil()],
            reject_on: "any".into(),
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
            review_hash: "sha256:00".into(),
            resolution: None,
        };
        let expected = [
            "review     open (1 approved, 0 rejected, 4 asked)",
            "seen as    sha256:00",
            "policy     Databases\\nmissing    nothing (version 3): 1 of 2 approved; asks dba, 1 person by name",
            "           because database:prod-db-01 is like database:prod-*",
            "missing    Databases: 1 more person (dba) must approve",
        ];
        assert_eq!(text(&review).trim_start().lines().collect::<Vec<_>>(), expected);
    }
}

//! What a policy says, in words.

use std::time::Duration;

use domain::Id;
use domain::policies::{OnTimeout, Policy, PolicyRules, RejectOn};
use domain::rendering::plain;
use uuid::Uuid;

use crate::pages::show::{Markup, line, plural, span};

/// A policy in the list.
pub(super) struct Entry {
    pub(super) id: Uuid,
    pub(super) name: Markup,
    pub(super) words: String,
    pub(super) version: i64,
    pub(super) is_here: bool,
    pub(super) is_off: bool,
}

pub(super) fn entry(policy: &Policy, chosen: Option<Id<Policy>>) -> Entry {
    let off = if policy.active { "" } else { "not in force: " };
    Entry {
        id: policy.id.raw(),
        name: line(&policy.name),
        words: format!("{off}{}", who(&policy.rules)),
        version: policy.version,
        is_here: chosen == Some(policy.id),
        is_off: !policy.active,
    }
}

/// `2 of dba, from risk 25`.
pub(in crate::pages) fn who(rules: &PolicyRules) -> String {
    let quorum = &rules.quorum;
    let roles = match quorum.required_roles.as_slice() {
        [] => plural(quorum.reviewers.len(), "named person").replace("named persons", "named people"),
        roles => roles.iter().map(|role| plain(role)).collect::<Vec<_>>().join(" or "),
    };
    let from = match rules.risk_threshold {
        0 => String::new(),
        score => format!(", from risk {score}"),
    };
    format!("{} of {roles}{from}", quorum.min_approvers)
}

fn listed(texts: &[String], all: &str) -> String {
    match texts {
        [] => all.to_owned(),
        texts => texts.iter().map(|text| plain(text)).collect::<Vec<_>>().join(", "),
    }
}

/// Everything it says.
pub(super) fn told(rules: &PolicyRules) -> Vec<(&'static str, String)> {
    let quorum = &rules.quorum;
    let mut told = vec![
        ("Task types", listed(&rules.task_types, "all")),
        ("Resources", listed(&rules.resource_patterns, "all")),
        ("From risk", rules.risk_threshold.to_string()),
    ];
    if let Some(when) = &rules.when {
        told.push(("Only when", plain(when)));
    }
    told.push(("Who signs", who(rules)));
    let rejects = match quorum.reject_on {
        RejectOn::Any => "ends it at once",
        RejectOn::Unreachable => "ends it when the quorum cannot be reached any more",
    };
    told.push(("A rejection", rejects.to_owned()));
    let time = rules.timeout_seconds.map(|seconds| span(Duration::from_secs(seconds.into())));
    told.push(("Answer within", time.unwrap_or_else(|| "what the organization has set".to_owned())));
    let end = match rules.on_timeout {
        OnTimeout::Deny => "it is rejected",
        OnTimeout::Park => "it stays undecided",
    };
    told.push(("If nobody answers", end.to_owned()));
    if let Some(auto) = &rules.auto_approve_if {
        let words = format!(
            "below risk {}, by {}, on {}",
            auto.risk_below,
            listed(&auto.author_has_role, "nobody"),
            listed(&auto.resources_in_scope, "nothing")
        );
        told.push(("Passes by itself", words));
    }
    told
}

//! What a policy says, in words.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::Id;
use domain::accounts::Account;
use domain::policies::hours::{Day, Hours, Window};
use domain::policies::{AutoApproveIf, OnTimeout, Policy, PolicyRules, RejectOn};
use domain::rendering::plain;
use uuid::Uuid;

use crate::pages::lists::Names;
use crate::pages::show::{Markup, line, span};

/// How many people a policy's line names; the policy itself names all.
const NAMED_SHOWN: usize = 3;
const WEEK: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// A policy in the list.
pub(super) struct Entry {
    pub(super) id: Uuid,
    pub(super) name: Markup,
    pub(super) words: String,
    pub(super) version: i64,
    pub(super) is_here: bool,
    pub(super) is_off: bool,
}

pub(super) fn entry(policy: &Policy, chosen: Option<Id<Policy>>, names: &Names) -> Entry {
    let off = if policy.active { "" } else { "not in force: " };
    Entry {
        id: policy.id.raw(),
        name: line(&policy.name),
        words: format!("{off}{}", who(&policy.rules, names)),
        version: policy.version,
        is_here: chosen == Some(policy.id),
        is_off: !policy.active,
    }
}

/// Whose names the line of a policy needs.
pub(in crate::pages) fn named_in_line(rules: &PolicyRules) -> impl Iterator<Item = Id<Account>> {
    rules.quorum.reviewers.iter().copied().take(NAMED_SHOWN)
}

/// Whose names all that a policy says needs.
pub(super) fn named(rules: &PolicyRules) -> BTreeSet<Id<Account>> {
    rules.named().map(|(_, account)| account).collect()
}

/// `2 of dba, or by name Ann; from risk 25; can pass unsigned below risk 20`.
pub(in crate::pages) fn who(rules: &PolicyRules, names: &Names) -> String {
    let quorum = &rules.quorum;
    let mut people = people(quorum.reviewers.iter().take(NAMED_SHOWN), names);
    if let Some(more) = quorum.reviewers.len().checked_sub(NAMED_SHOWN).filter(|more| *more > 0) {
        people.push_str(&format!(" and {more} more"));
    }
    let roles = either(&quorum.required_roles);
    let of = match (roles.is_empty(), people.is_empty()) {
        (true, true) => "nobody".to_owned(),
        (true, false) => people,
        (false, true) => roles,
        (false, false) => format!("{roles}, or by name {people}"),
    };
    let from = match rules.risk_threshold {
        0 => String::new(),
        score => format!("; from risk {score}"),
    };
    let passing = match &rules.auto_approve_if {
        None => String::new(),
        Some(auto) => format!("; can pass unsigned below risk {}", auto.risk_below),
    };
    format!("{} of {of}{from}{passing}", quorum.min_approvers)
}

fn people<'a>(ids: impl Iterator<Item = &'a Id<Account>>, names: &Names) -> String {
    ids.map(|id| plain(&names.name(*id))).collect::<Vec<_>>().join(", ")
}

fn either(texts: &[String]) -> String {
    texts.iter().map(|text| plain(text)).collect::<Vec<_>>().join(" or ")
}

fn listed(texts: &[String], all: &str) -> String {
    match texts {
        [] => all.to_owned(),
        texts => texts.iter().map(|text| plain(text)).collect::<Vec<_>>().join(", "),
    }
}

/// A name, and what is said under it.
pub(super) type Told = (&'static str, String);

/// Everything it says.
pub(super) fn told(rules: &PolicyRules, names: &Names) -> Vec<Told> {
    let quorum = &rules.quorum;
    let mut told = vec![
        ("Task types", listed(&rules.task_types, "all")),
        ("Resources", listed(&rules.resource_patterns, "all")),
        ("From risk", rules.risk_threshold.to_string()),
    ];
    if let Some(when) = &rules.when {
        told.push(("Only when", plain(when)));
    }
    told.push(("Signatures", quorum.min_approvers.to_string()));
    let roles = either(&quorum.required_roles);
    told.push(("Roles that sign", if roles.is_empty() { "none".to_owned() } else { roles }));
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
    told.push(("If nobody answers at all", end.to_owned()));
    told.extend(beside_the_form(rules, names));
    told
}

/// What decides and has no field in the form: whoever saves the form keeps it, so they are shown it.
pub(super) fn beside_the_form(rules: &PolicyRules, names: &Names) -> Vec<Told> {
    let quorum = &rules.quorum;
    let named = match quorum.reviewers.as_slice() {
        [] => "nobody".to_owned(),
        reviewers => people(reviewers.iter(), names),
    };
    let hours = rules.hours.as_ref().map_or_else(|| "at all hours".to_owned(), hours);
    let admins = match quorum.admins_count {
        true => "count as signatures when they join a review",
        false => "count only if the policy names them or asks for a role they hold",
    };
    let following = match quorum.following_counts {
        true => "counts as one more signature",
        false => "is no signature of its own",
    };
    let services = match quorum.allow_service_reviewers {
        true => "may sign like people",
        false => "never sign",
    };
    vec![
        ("People who sign, by name", named),
        ("Applies", hours),
        ("Admins", admins.to_owned()),
        ("An approval that follows another", following.to_owned()),
        ("Agents and services", services.to_owned()),
        ("Asked when time runs out", escalation(&rules.escalate_to, names)),
        ("Passes unsigned", rules.auto_approve_if.as_ref().map_or_else(|| "never".to_owned(), passing)),
    ]
}

fn passing(auto: &AutoApproveIf) -> String {
    format!(
        "below risk {}, if the author holds {} and everything it touches is like {}. Only while the organization lets \
         tasks pass by themselves, and every policy that applies lets this one.",
        auto.risk_below,
        either(&auto.author_has_role),
        either(&auto.resources_in_scope)
    )
}

fn escalation(levels: &[Vec<Id<Account>>], names: &Names) -> String {
    let level = |(number, level): (usize, &Vec<Id<Account>>)| {
        format!("{} {}", if number == 0 { "first" } else { "then" }, people(level.iter(), names))
    };
    match levels {
        [] => "nobody else".to_owned(),
        levels => levels.iter().enumerate().map(level).collect::<Vec<_>>().join("; "),
    }
}

fn hours(hours: &Hours) -> String {
    let windows: Vec<String> = hours.windows.iter().map(window).collect();
    format!("only {}, as it is in {}", windows.join("; "), plain(&hours.time_zone))
}

/// `Mon, Tue 22:00 to 06:00 of the next day`.
fn window(window: &Window) -> String {
    let days: Vec<String> = window.days.iter().map(|day| day_name(*day)).collect();
    let night = if window.to <= window.from { " of the next day" } else { "" };
    format!("{} {} to {}{night}", days.join(", "), window.from, window.to)
}

fn day_name(day: Day) -> String {
    match day {
        Day::OfWeek(weekday) => {
            WEEK.get(usize::from(weekday)).map_or_else(|| day.to_string(), ToString::to_string)
        }
        Day::Of(date) => date.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_are_said_as_people_say_them() {
        let window = |days: &[&str], from: &str, to: &str| Window {
            days: days.iter().map(|day| day.parse().unwrap()).collect(),
            from: from.parse().unwrap(),
            to: to.parse().unwrap(),
        };
        let windows =
            vec![window(&["mon", "tue"], "09:00", "17:30"), window(&["2026-12-24"], "22:00", "06:00")];
        let said = hours(&Hours { time_zone: "Europe/Berlin".to_owned(), windows });
        let expected = "only Mon, Tue 09:00 to 17:30; 2026-12-24 22:00 to 06:00 of the next day, as it is in \
                        Europe/Berlin";
        assert_eq!(said, expected);
    }
}

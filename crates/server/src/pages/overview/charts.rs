//! The charts of the overview, each with what one sees in it in words.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use domain::accounts::Account;
use domain::members::Member;
use domain::permissions::Capability;
use domain::risk::RiskLevel;
use domain::{Id, Timestamp};
use hub::identity::members::{self, Looking};
use hub::tasks::COUNTED_MAX;
use hub::{AnsweredDay, HubError, WantedMembers};

use super::Counted;
use crate::App;
use crate::pages::drawing::charts::{Bar, Bars, Lying, bars, lying};
use crate::pages::lists::Names;
use crate::pages::shell::Shell;
use crate::pages::show::{Face, Markup, absolute, counted, grouped, long, plural, span};

const DAYS: i64 = 14;
const DAY_MICROS: i64 = 86_400_000_000;
/// Members who are looked at; those without a role are asked nothing.
const MEMBERS_LOOKED_AT: i64 = 200;
const REVIEWERS_SHOWN: usize = 12;
/// Those who answered nothing have places of their own, or whoever answers much would hide them.
const WAITED_FOR_SHOWN: usize = 8;
const LINES_SHOWN: usize = 5;

/// Bars that lie, with what they come to.
pub(super) struct Chart {
    pub(super) finding: String,
    pub(super) bars: Vec<Lying>,
    pub(super) total: String,
    pub(super) about: String,
    pub(super) is_bad: bool,
}

/// Answers of people, day by day.
pub(super) struct Decisions {
    pub(super) finding: String,
    pub(super) chart: Bars,
    pub(super) today: i64,
    pub(super) total: i64,
    people: Vec<(Member, i64)>,
}

/// Who answers, and who is waited for.
pub(super) struct Rows {
    pub(super) shown: Vec<Reviewer>,
    /// How many more hold requests and answered none.
    pub(super) more: usize,
}

pub(super) struct Reviewer {
    pub(super) face: Face,
    pub(super) waiting: String,
    /// For how long the first of these waits.
    pub(super) oldest: Option<Markup>,
    pub(super) answered: String,
    pub(super) average: Option<String>,
}

/// The first moment of the first day that is shown.
fn first_day(now: Timestamp) -> i64 {
    now.micros().div_euclid(DAY_MICROS) - (DAYS - 1)
}

pub(super) async fn decisions(app: &App, shell: &Shell) -> Result<Decisions, HubError> {
    let found = reviewers_of(app, shell).await?;
    let first = first_day(shell.now);
    let since = Timestamp::from_micros(first * DAY_MICROS);
    let ids: Vec<Id<Account>> = found.iter().map(|member| member.account.id).collect();
    let answers = match shell.caller.require(Capability::ApprovalsRead) {
        Ok(()) => hub::approvals::by_day(&app.hub, &shell.caller, &ids, since).await?,
        Err(_) => vec![Vec::new(); ids.len()],
    };
    let people: Vec<(Member, i64)> = found.into_iter().zip(answers.iter().map(|days| sum(days))).collect();
    let mut by_day: BTreeMap<i64, [i64; 3]> = (first..first + DAYS).map(|day| (day, [0; 3])).collect();
    for answer in answers.iter().flatten() {
        let day = by_day.entry(answer.day).or_insert([0; 3]);
        *day = [day[0] + answer.approved, day[1] + answer.changes, day[2] + answer.rejected];
    }
    let shown: Vec<Bar> = by_day
        .iter()
        .map(|(day, parts)| Bar { name: day_name(*day, first + DAYS - 1), parts: parts.to_vec() })
        .collect();
    Ok(Decisions {
        finding: decisions_found(&by_day),
        chart: bars(&shown, &["c1", "c3", "c4"]),
        today: by_day.values().next_back().map_or(0, |parts| parts.iter().sum()),
        total: by_day.values().flatten().sum(),
        people,
    })
}

fn date(day: i64) -> String {
    let text = absolute(Timestamp::from_micros(day * DAY_MICROS));
    text.split(',')
        .next()
        .unwrap_or_default()
        .rsplit_once(' ')
        .map_or(text.clone(), |(date, _)| date.to_owned())
}

fn day_name(day: i64, today: i64) -> String {
    let name = date(day);
    match day {
        day if day == today => "today".to_owned(),
        day if day == today - DAYS + 1 || name.starts_with("1 ") => name,
        _ => name.split(' ').next().unwrap_or_default().to_owned(),
    }
}

fn decisions_found(by_day: &BTreeMap<i64, [i64; 3]>) -> String {
    let busiest = by_day.iter().max_by_key(|(day, parts)| (parts.iter().sum::<i64>(), **day));
    match busiest {
        Some((day, parts)) if parts.iter().sum::<i64>() > 0 => {
            let [approved, changes, rejected] = parts;
            let sum: i64 = parts.iter().sum();
            format!(
                "Answers of people in {DAYS} days. Most on {} with {sum}: {approved} approved, {changes} sent \
                 back, {rejected} rejected.",
                date(*day)
            )
        }
        _ => format!("Nobody answered anything in {DAYS} days."),
    }
}

async fn reviewers_of(app: &App, shell: &Shell) -> Result<Vec<Member>, HubError> {
    if shell.caller.require(Capability::AccountsRead).is_err() {
        return Ok(Vec::new());
    }
    let looking = Looking {
        org: shell.caller.credential.organization.id,
        wanted: WantedMembers::Everybody,
        after: None,
        limit: MEMBERS_LOOKED_AT,
    };
    let found = members::list(&app.hub, &shell.caller, looking).await?;
    let holds_a_role =
        |member: &Member| member.seat.as_ref().is_some_and(|seat| !seat.role_names().is_empty());
    Ok(found.into_iter().map(|(member, _)| member).filter(holds_a_role).collect())
}

/// Those who answered, the most first, then those who hold requests and answered none of late.
pub(super) async fn reviewers(app: &App, shell: &Shell, decisions: &Decisions) -> Result<Rows, HubError> {
    let may_see = [Capability::ApprovalsRead, Capability::AccountsRead];
    if may_see.into_iter().any(|needed| shell.caller.require(needed).is_err()) {
        return Ok(Rows { shown: Vec::new(), more: 0 });
    }
    let mut people: Vec<(Id<Account>, i64)> =
        decisions.people.iter().map(|(member, count)| (member.account.id, *count)).collect();
    people.retain(|(_, count)| *count > 0);
    people.sort_by_key(|(_, count)| Reverse(*count));
    people.truncate(REVIEWERS_SHOWN);
    let held = hub::approvals::held(&app.hub, &shell.caller).await?;
    let has_answered =
        |id| decisions.people.iter().any(|(member, count)| member.account.id == id && *count > 0);
    let waited_for: Vec<Id<Account>> =
        held.iter().map(|one| one.reviewer_id).filter(|id| !has_answered(*id)).collect();
    let more = waited_for.len().saturating_sub(WAITED_FOR_SHOWN);
    let waited_for: Vec<Id<Account>> = waited_for.into_iter().take(WAITED_FOR_SHOWN).collect();
    // Who holds no role is not among the people above, and may have answered all the same.
    let since = Timestamp::from_micros(first_day(shell.now) * DAY_MICROS);
    let answers = hub::approvals::by_day(&app.hub, &shell.caller, &waited_for, since).await?;
    people.extend(waited_for.into_iter().zip(answers.iter().map(|days| sum(days))));
    let names = Names::of(app, shell, people.iter().map(|(id, _)| *id)).await?;
    let mut shown = Vec::new();
    for (id, answered) in people {
        let stats = hub::approvals::stats(&app.hub, &shell.caller, id).await;
        let average = match stats {
            Ok(stats) => stats.answers.avg_response_time.map(span),
            // They left, and what they were asked is still there.
            Err(HubError::NotFound(_)) => None,
            Err(other) => return Err(other),
        };
        let waits = held.iter().find(|one| one.reviewer_id == id);
        shown.push(Reviewer {
            face: names.face(id),
            waiting: grouped(waits.map_or(0, |one| one.count)),
            oldest: waits.map(|one| long(one.oldest, shell.now)),
            answered: grouped(answered),
            average,
        });
    }
    Ok(Rows { shown, more })
}

fn sum(days: &[AnsweredDay]) -> i64 {
    days.iter().map(|day| day.approved + day.changes + day.rejected).sum()
}

pub(super) fn states(all: &Counted) -> Chart {
    let values = [
        ("Draft", "c5", all.drafts),
        ("In review", "c1", all.reviewing),
        ("Approved", "c2", all.approved),
        ("Applying", "c-run", all.applying),
    ];
    let most = values.iter().max_by_key(|(_, _, count)| *count).filter(|(_, _, count)| *count > 0);
    let finding = match most {
        Some((name, _, count)) => {
            format!("Most open tasks are at: {}, {}.", name.to_lowercase(), counted(*count))
        }
        None => "No task is open.".to_owned(),
    };
    let bars =
        lying(values.into_iter().map(|(name, class, count)| (name.to_owned(), class, count)).collect());
    Chart { finding, bars, total: String::new(), about: String::new(), is_bad: false }
}

pub(super) fn risks(levels: &[(RiskLevel, i64)]) -> Chart {
    let class = |level| match level {
        RiskLevel::Low => "cr-low",
        RiskLevel::Medium => "cr-medium",
        RiskLevel::High => "cr-high",
        RiskLevel::Critical => "cr-critical",
    };
    let all: i64 = levels.iter().map(|(_, count)| count).sum();
    let is_high = |level| matches!(level, RiskLevel::High | RiskLevel::Critical);
    let high: i64 = levels.iter().filter(|(level, _)| is_high(*level)).map(|(_, count)| count).sum();
    let high = grouped(high);
    let finding = match all {
        0 => "Nothing is in review.".to_owned(),
        1 => format!("{high} of 1 task in review is HIGH or CRITICAL."),
        all if all < COUNTED_MAX => {
            format!("{high} of {} tasks in review are HIGH or CRITICAL.", grouped(all))
        }
        all => format!(
            "{high} of the {} tasks that are in review longest are HIGH or CRITICAL; more are in review.",
            grouped(all)
        ),
    };
    let levels = levels.iter().rev();
    let bars =
        lying(levels.map(|(level, count)| (level.as_str().to_owned(), class(*level), *count)).collect());
    Chart { finding, bars, total: String::new(), about: String::new(), is_bad: false }
}

pub(super) async fn lines(app: &App, shell: &Shell) -> Result<Chart, HubError> {
    let graph = match shell.caller.require(Capability::LocksRead) {
        Ok(()) => hub::locks::graph(&app.hub, &shell.caller).await?,
        Err(_) => hub::locks::Graph::default(),
    };
    let mut waiting: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
    for edge in &graph.edges {
        waiting.entry(edge.key.to_string()).or_default().insert(edge.waiter.birth);
    }
    let total: usize = waiting.values().map(BTreeSet::len).sum();
    let mut lengths: Vec<(String, i64)> = waiting
        .into_iter()
        .map(|(key, owners)| (key, i64::try_from(owners.len()).unwrap_or(i64::MAX)))
        .collect();
    lengths.sort_by_key(|(key, count)| (std::cmp::Reverse(*count), key.clone()));
    let finding = match lengths.first() {
        Some((key, 1)) => format!("The longest line is for {key}, with 1 place."),
        Some((key, count)) => format!("The longest line is for {key}, with {count} places."),
        None => "Nobody waits for a lock.".to_owned(),
    };
    let keys = plural(lengths.len(), "key");
    lengths.truncate(LINES_SHOWN);
    let bars = lying(lengths.into_iter().map(|(key, count)| (key, "c1", count)).collect());
    let (about, is_bad) = match (graph.circles.len(), total) {
        (0, 0) => ("every key is free or held alone".to_owned(), false),
        (0, _) => (format!("for {keys}"), false),
        (circles, _) => (format!("{} of waiting", plural(circles, "circle")), true),
    };
    Ok(Chart { finding, bars, total: grouped(i64::try_from(total).unwrap_or(i64::MAX)), about, is_bad })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_named_so_that_one_finds_oneself() {
        // 18 March 2026.
        let today = 20_530;
        assert_eq!(date(today), "18 Mar");
        assert_eq!(day_name(today, today), "today");
        assert_eq!(day_name(today - 13, today), "5 Mar");
        assert_eq!(day_name(today - 12, today), "6");
        let now = Timestamp::from_micros(today * DAY_MICROS + 5);
        assert_eq!(first_day(now), today - 13);
    }

    #[test]
    fn a_bound_that_is_met_is_said() {
        let levels = |critical| [(RiskLevel::Low, 2), (RiskLevel::Critical, critical)];
        assert_eq!(risks(&[]).finding, "Nothing is in review.");
        assert_eq!(risks(&levels(1)).finding, "1 of 3 tasks in review are HIGH or CRITICAL.");
        let cut =
            "998 of the 1,000 tasks that are in review longest are HIGH or CRITICAL; more are in review.";
        assert_eq!(risks(&levels(COUNTED_MAX - 2)).finding, cut);
    }

    #[test]
    fn what_one_sees_is_said() {
        let mut days: BTreeMap<i64, [i64; 3]> = (20_517..20_531).map(|day| (day, [0; 3])).collect();
        assert_eq!(decisions_found(&days), "Nobody answered anything in 14 days.");
        days.insert(20_529, [5, 1, 2]);
        assert_eq!(
            decisions_found(&days),
            "Answers of people in 14 days. Most on 17 Mar with 8: 5 approved, 1 sent back, 2 rejected."
        );
    }
}

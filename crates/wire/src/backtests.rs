//! Backtests: what a change of a policy would have changed.

use std::collections::BTreeMap;

use garde::Validate;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::patch::object;
use crate::policies::PolicyForm;

/// How far back one may look.
pub const DAYS_MAX: u32 = 90;

/// What to hold against the past.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RunBacktest {
    /// Tasks that were handed in within so many days, 1 to 90.
    #[garde(range(min = 1, max = DAYS_MAX))]
    #[schema(minimum = 1, maximum = 90)]
    pub days: u32,
    /// What would be different about the policy, as in a change of it. Without it the rules without this policy are
    /// compared with those that stand.
    #[garde(dive)]
    #[schema(nullable = false)]
    #[serde(default, deserialize_with = "object", skip_serializing_if = "Option::is_none")]
    pub draft: Option<PolicyForm>,
}

/// What `before` and `after` are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Compared {
    /// The rules as they stand, and with the draft in the policy's place.
    Draft,
    /// The rules without the policy, and as they stand.
    Absence,
}

/// What would have become of a task when it was handed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BacktestOutcome {
    /// It would have passed by itself.
    AutoApproved,
    /// Enough people would have been asked.
    Reviewed,
    /// People would have been asked, and too few for one of the policies.
    Unreachable,
    /// Nobody could have been asked, and it would not have passed.
    Blocked,
}

/// What a change of a policy would have changed. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Backtest {
    /// The policy.
    pub policy_id: Uuid,
    /// What people call it.
    pub policy_name: String,
    /// Its version as it stands.
    pub policy_version: i64,
    /// What `before` and `after` are.
    pub compared: Compared,
    /// Tasks that were handed in since then were looked at.
    #[schema(format = DateTime)]
    pub since: String,
    /// How many tasks were looked at, the newest first, 500 at most.
    pub looked_at: u32,
    /// Whether there are more that were not.
    pub cut_off: bool,
    /// What nobody wrote down, and so is taken as it is now, for both sides.
    pub as_of_now: Vec<String>,
    /// By the one set of rules.
    pub before: BacktestCounts,
    /// By the other.
    pub after: BacktestCounts,
    /// Who would have been asked more often or less often, those with the largest difference first, 100 at most.
    pub people: Vec<BacktestPerson>,
    /// How many tasks differ.
    pub differing: u32,
    /// The newest of them, 100 at most.
    pub differences: Vec<BacktestDifference>,
}

/// What one set of rules would have done. The four outcomes add up to the tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BacktestCounts {
    /// How many tasks were looked at.
    pub tasks: u32,
    /// Would have passed by themselves.
    pub auto_approved: u32,
    /// Would have asked enough people.
    pub reviewed: u32,
    /// Would have asked people, and too few.
    pub unreachable: u32,
    /// Could have asked nobody, and would not have passed.
    pub blocked: u32,
    /// Would have met no policy but the default one.
    pub fell_to_default: u32,
    /// How many tasks would have asked so many people.
    #[schema(value_type = BTreeMap<String, u32>)]
    pub asked: BTreeMap<u32, u32>,
    /// How many tasks would have needed the yes of so many.
    #[schema(value_type = BTreeMap<String, u32>)]
    pub required: BTreeMap<u32, u32>,
}

/// How often somebody would have been asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BacktestPerson {
    /// Who.
    pub account_id: Uuid,
    /// What people call them.
    pub name: String,
    /// By the one set of rules.
    pub before: u32,
    /// By the other.
    pub after: u32,
}

/// A task that the two sets of rules treat differently.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BacktestDifference {
    /// The task.
    pub id: Uuid,
    /// What people read first of it.
    pub title: String,
    /// How dangerous it was.
    pub risk: BacktestRisk,
    /// When it was handed in.
    #[schema(format = DateTime)]
    pub submitted_at: String,
    /// By the one set of rules.
    pub before: BacktestSide,
    /// By the other.
    pub after: BacktestSide,
}

/// How dangerous a task was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BacktestRisk {
    /// 0 to 100.
    pub score: u32,
    /// `LOW`, `MEDIUM`, `HIGH` or `CRITICAL`.
    pub level: String,
}

/// What one set of rules would have done with a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BacktestSide {
    /// In a word.
    pub outcome: BacktestOutcome,
    /// The largest number of people that one policy asks for.
    pub required: u32,
    /// How many would have been asked.
    pub asked_count: u32,
    /// The first 20 of them.
    pub asked: Vec<BacktestAsked>,
    /// What would have applied.
    pub policies: Vec<BacktestPolicy>,
    /// Whether that is the default policy, for want of another.
    pub fell_to_default: bool,
    /// What nobody could have given, policy by policy, in words.
    pub missing: Vec<String>,
}

/// Somebody who would have been asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BacktestAsked {
    /// Who.
    pub account_id: Uuid,
    /// What people call them.
    pub name: String,
}

/// A policy that would have applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BacktestPolicy {
    /// Which.
    pub policy_id: Uuid,
    /// What people call it.
    pub name: String,
    /// Of which version; a draft is of the next.
    pub version: i64,
    /// How many people would have had to agree; 0 where the task passes.
    pub required: u32,
    /// How many could have.
    pub attainable: u32,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_draft_is_an_object_or_absent() {
        let read = |value| serde_json::from_value::<RunBacktest>(value);
        assert_eq!(read(json!({"days": 1})).unwrap().draft, None);
        assert_eq!(read(json!({"days": 1, "draft": {}})).unwrap().draft, Some(PolicyForm::default()));
        let two = read(json!({"days": 1, "draft": {"min_approvers": 2}})).unwrap();
        assert_eq!(two.draft.unwrap().min_approvers, Some(2));
        for wrong in [json!(null), json!([]), json!(["name"]), json!("x"), json!({"quorum": 1})] {
            assert!(read(json!({"days": 1, "draft": wrong})).is_err(), "{wrong}");
        }
    }
}

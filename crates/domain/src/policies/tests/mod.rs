mod backtest;
mod conditions;
mod eligibility;
mod form;
mod matching;

use uuid::Uuid;

use super::*;
use crate::tasks::{Mode, Resource};

fn account(number: u128) -> Id<Account> {
    Id::new(Uuid::from_u128(number))
}

fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros)
}

/// A policy that applies to everything and means the reviewers.
fn policy(number: u128, name: &str) -> Policy {
    let mut rules = PolicyRules::blank();
    rules.quorum.required_roles = vec!["reviewer".to_owned()];
    Policy {
        id: Id::new(Uuid::from_u128(1000 + number)),
        org_id: Id::new(Uuid::from_u128(9)),
        name: name.to_owned(),
        is_default: false,
        active: true,
        version: 1,
        rules,
        created_at: at(10),
        updated_at: at(10),
    }
}

fn default_policy() -> Policy {
    Policy { is_default: true, rules: PolicyRules::of_default(), ..policy(0, DEFAULT_NAME) }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn resource(kind: &str, id: &str) -> Resource {
    Resource { kind: kind.into(), id: id.into(), mode: Mode::Exclusive }
}

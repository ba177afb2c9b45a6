//! How long people have, policy by policy, and how far each policy has climbed its escalation list.

use std::str::FromStr;
use std::time::Duration;

use serde_json::{Value, json};

use super::Review;
use crate::accounts::Account;
use crate::policies::Matched;
use crate::text::{UnknownWord, one_of};
use crate::{Id, Timestamp};

/// How long people have where no policy says it, and at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Times {
    /// `approval:default_timeout`, in seconds.
    pub usual: u32,
    /// `approval:max_timeout`, in seconds.
    pub longest: u32,
}

impl Times {
    /// How long people have on each level of this policy.
    #[must_use]
    pub fn of(self, policy: &Matched) -> Duration {
        Duration::from_secs(policy.timeout_seconds.unwrap_or(self.usual).min(self.longest).into())
    }
}

/// Where one policy of a review stands in time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PolicyClock {
    /// 0: whom the policy means; from 1 on: the levels of its escalation list.
    pub level: u32,
    /// When its open requests become more urgent, once on each level.
    pub raise_at: Option<Timestamp>,
    /// When the time of its people is over; none: it waits for them (`park`).
    pub due_at: Option<Timestamp>,
}

impl PolicyClock {
    /// A level that begins now. Half of its time later its requests become more urgent.
    #[must_use]
    pub fn started(level: u32, wait: Duration, now: Timestamp) -> Self {
        Self { level, raise_at: Some(now.plus(wait / 2)), due_at: Some(now.plus(wait)) }
    }

    fn next(&self) -> Option<Timestamp> {
        self.raise_at.into_iter().chain(self.due_at).min()
    }

    /// As it is stored.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let micros = |at: Option<Timestamp>| at.map(Timestamp::micros);
        json!({"level": self.level, "raise_at": micros(self.raise_at), "due_at": micros(self.due_at)})
    }

    /// Reads what [`PolicyClock::to_value`] wrote.
    ///
    /// # Errors
    /// Something else was stored.
    pub fn from_value(value: &Value) -> Result<Self, NotAClock> {
        let time = |name: &str| match value.get(name) {
            Some(Value::Null) => Ok(None),
            Some(at) => at.as_i64().map(Timestamp::from_micros).map(Some).ok_or(NotAClock),
            None => Err(NotAClock),
        };
        let (raise_at, due_at) = (time("raise_at")?, time("due_at")?);
        Ok(Self { level: level(value)?, raise_at, due_at })
    }
}

/// Stored bytes that are not what was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("this is not the stored clock of a review")]
pub struct NotAClock;

/// What was done when the time of a policy was over.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Outcome {
    /// The people of the next level are asked.
    Escalated,
    /// Nobody is left to be asked, and the requests wait.
    Parked,
    /// Nobody is left to be asked, and the task is rejected.
    Denied,
}

impl Outcome {
    /// Every one.
    pub const ALL: [Self; 3] = [Self::Escalated, Self::Parked, Self::Denied];

    /// On the wire and in SQL.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Escalated => "escalated",
            Self::Parked => "parked",
            Self::Denied => "denied",
        }
    }
}

impl FromStr for Outcome {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        one_of(&Self::ALL, Self::as_str, text)
    }
}

/// One time that was over, as a review remembers it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Escalation {
    /// Of which of the policies, by place.
    pub place: usize,
    /// The level that it led to, or ended on.
    pub level: u32,
    /// What was done.
    pub outcome: Outcome,
    /// Who is asked now.
    pub to: Vec<Id<Account>>,
    /// When.
    pub at: Timestamp,
}

impl Escalation {
    /// As it is stored.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let to: Vec<String> = self.to.iter().map(ToString::to_string).collect();
        let at = self.at.micros();
        json!({"place": self.place, "level": self.level, "outcome": self.outcome.as_str(), "to": to, "at": at})
    }

    /// Reads what [`Escalation::to_value`] wrote.
    ///
    /// # Errors
    /// Something else was stored.
    pub fn from_value(value: &Value) -> Result<Self, NotAClock> {
        let place = value["place"].as_u64().and_then(|place| usize::try_from(place).ok());
        let outcome = value["outcome"].as_str().and_then(|word| word.parse().ok());
        let id = |id: &Value| id.as_str().and_then(|text| text.parse().ok()).ok_or(NotAClock);
        let to = value["to"].as_array().ok_or(NotAClock)?;
        Ok(Self {
            place: place.ok_or(NotAClock)?,
            level: level(value)?,
            outcome: outcome.ok_or(NotAClock)?,
            to: to.iter().map(id).collect::<Result<_, _>>()?,
            at: value["at"].as_i64().map(Timestamp::from_micros).ok_or(NotAClock)?,
        })
    }
}

fn level(value: &Value) -> Result<u32, NotAClock> {
    value.get("level").and_then(Value::as_u64).and_then(|level| level.try_into().ok()).ok_or(NotAClock)
}

impl Review {
    /// Where a policy stands. A review from before there were clocks is due when it is looked at.
    #[must_use]
    pub fn clock(&self, place: usize) -> PolicyClock {
        let unset = PolicyClock { level: 0, raise_at: None, due_at: Some(self.created_at) };
        self.clocks.get(place).copied().unwrap_or(unset)
    }

    /// Until when somebody who answers for these policies should: the first of their times.
    #[must_use]
    pub fn due_at(&self, answers: &[usize]) -> Option<Timestamp> {
        answers.iter().filter_map(|place| self.clock(*place).due_at).min()
    }

    /// When something is due of it by itself.
    #[must_use]
    pub fn next_look_at(&self) -> Option<Timestamp> {
        self.clocks.iter().filter_map(PolicyClock::next).min()
    }

    /// The review with this clock for a policy.
    #[must_use]
    pub fn with_clock(&self, place: usize, clock: PolicyClock) -> Self {
        let clocks = (0..self.policies.len())
            .map(|other| if other == place { clock } else { self.clock(other) })
            .collect();
        Self { clocks, ..self.clone() }
    }
}

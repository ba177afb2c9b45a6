//! How dangerous a task is, in numbers that explain themselves.

mod assess;
mod json;
#[cfg(test)]
mod tests;

use std::str::FromStr;

use crate::Timestamp;
use crate::text::{UnknownWord, one_of};

pub use assess::{ASSESSED_BY, History, Preview, RiskInputs, assess};
pub use json::NotARisk;

/// In a word.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum RiskLevel {
    /// Below the first threshold.
    Low,
    /// Below the second.
    Medium,
    /// Below the third.
    High,
    /// The rest.
    Critical,
}

impl RiskLevel {
    /// Every level, rising.
    pub const ALL: [Self; 4] = [Self::Low, Self::Medium, Self::High, Self::Critical];

    /// On the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Low => "LOW",
            Self::Medium => "MEDIUM",
            Self::High => "HIGH",
            Self::Critical => "CRITICAL",
        }
    }

    /// The level of a score under `risk:thresholds`.
    #[must_use]
    pub fn of(score: u32, thresholds: [u32; 3]) -> Self {
        let passed = thresholds.iter().filter(|threshold| score >= **threshold).count();
        Self::ALL[passed]
    }
}

impl FromStr for RiskLevel {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        one_of(&Self::ALL, Self::as_str, text)
    }
}

/// One of the four things that make up the score.
#[derive(Clone, PartialEq, Debug)]
pub struct Factor {
    /// `resource_criticality`, `change_magnitude`, `blast_radius` or `historical_failure_rate`.
    pub name: &'static str,
    /// 0 to 100.
    pub value: f64,
    /// How much of the score it makes up.
    pub weight: f64,
    /// What it adds to the score.
    pub contribution: f64,
    /// Why it has this value, in words for a reviewer.
    pub reason: String,
}

/// What the hub thinks of a task.
#[derive(Clone, PartialEq, Debug)]
pub struct Risk {
    /// 0 to 100.
    pub score: u32,
    /// In a word.
    pub level: RiskLevel,
    /// Why.
    pub factors: Vec<Factor>,
    /// Whether it would pass without a person (X-32: the outcome, not a rule).
    pub auto_approvable: bool,
    /// When.
    pub assessed_at: Timestamp,
    /// Which version of these rules.
    pub assessed_by: String,
}

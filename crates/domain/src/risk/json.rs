//! A risk as it is stored.

use serde_json::{Map, Value, json};

use super::assess::{BLAST_RADIUS, CRITICALITY, FAILURE_RATE, MAGNITUDE};
use super::{Factor, Risk};
use crate::text::one_of;

const NAMES: [&str; 4] = [CRITICALITY, MAGNITUDE, BLAST_RADIUS, FAILURE_RATE];

/// Stored bytes that are not a risk.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("this is not a stored risk")]
pub struct NotARisk;

impl Risk {
    /// As it is stored.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let factors: Vec<Value> = self.factors.iter().map(written).collect();
        json!({
            "score": self.score,
            "level": self.level.as_str(),
            "factors": factors,
            "auto_approvable": self.auto_approvable,
            "assessed_at": self.assessed_at.to_string(),
            "assessed_by": self.assessed_by,
        })
    }

    /// Reads what [`Risk::to_value`] wrote.
    ///
    /// # Errors
    /// Something else was stored.
    pub fn from_value(value: &Value) -> Result<Self, NotARisk> {
        value.as_object().and_then(read).ok_or(NotARisk)
    }
}

fn written(factor: &Factor) -> Value {
    json!({
        "name": factor.name,
        "value": factor.value,
        "weight": factor.weight,
        "contribution": factor.contribution,
        "reason": factor.reason,
    })
}

fn read(object: &Map<String, Value>) -> Option<Risk> {
    let factors = object.get("factors")?.as_array()?.iter().map(read_factor).collect::<Option<_>>()?;
    Some(Risk {
        score: u32::try_from(object.get("score")?.as_u64()?).ok().filter(|score| *score <= 100)?,
        level: object.get("level")?.as_str()?.parse().ok()?,
        factors,
        auto_approvable: object.get("auto_approvable")?.as_bool()?,
        assessed_at: object.get("assessed_at")?.as_str()?.parse().ok()?,
        assessed_by: object.get("assessed_by")?.as_str()?.to_owned(),
    })
}

fn read_factor(value: &Value) -> Option<Factor> {
    let number = |name: &str| value.get(name)?.as_f64();
    Some(Factor {
        name: one_of(&NAMES, |name| name, value.get("name")?.as_str()?).ok()?,
        value: number("value")?,
        weight: number("weight")?,
        contribution: number("contribution")?,
        reason: value.get("reason")?.as_str()?.to_owned(),
    })
}

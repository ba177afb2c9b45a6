//! What a policy says, and what a review pins of it, as they are stored.

use std::str::FromStr;

use serde_json::{Value, json};
use uuid::Uuid;

use super::{AutoApproveIf, Hours, Matched, PolicyRules, Quorum};
use crate::Id;

/// Stored bytes that are not what was written.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("these are not stored rules of a policy")]
pub struct NotRules;

impl PolicyRules {
    /// As they are stored.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let levels: Vec<Value> = self.escalate_to.iter().map(|level| ids(level)).collect();
        json!({
            "task_types": self.task_types,
            "resource_patterns": self.resource_patterns,
            "risk_threshold": self.risk_threshold,
            "when": self.when,
            "hours": self.hours.as_ref().map(Hours::to_value),
            "quorum": self.quorum.to_value(),
            "timeout_seconds": self.timeout_seconds,
            "escalate_to": levels,
            "on_timeout": self.on_timeout.as_str(),
            "auto_approve_if": self.auto_approve_if.as_ref().map(|auto| json!({
                "risk_below": auto.risk_below,
                "author_has_role": auto.author_has_role,
                "resources_in_scope": auto.resources_in_scope,
            })),
        })
    }

    /// Reads what [`PolicyRules::to_value`] wrote.
    ///
    /// # Errors
    /// Something else was stored.
    pub fn from_value(value: &Value) -> Result<Self, NotRules> {
        let auto = match member(value, "auto_approve_if")? {
            Value::Null => None,
            auto => Some(AutoApproveIf {
                risk_below: number(auto, "risk_below")?,
                author_has_role: texts(auto, "author_has_role")?,
                resources_in_scope: texts(auto, "resources_in_scope")?,
            }),
        };
        let levels = member(value, "escalate_to")?.as_array().ok_or(NotRules)?;
        Ok(Self {
            task_types: texts(value, "task_types")?,
            resource_patterns: texts(value, "resource_patterns")?,
            risk_threshold: number(value, "risk_threshold")?,
            when: optional(value, "when", text)?,
            // Versions from before there were hours do not say.
            hours: match value.get("hours") {
                None | Some(Value::Null) => None,
                Some(hours) => Some(Hours::from_value(hours)?),
            },
            quorum: Quorum::from_value(member(value, "quorum")?)?,
            timeout_seconds: optional(value, "timeout_seconds", number)?,
            escalate_to: levels.iter().map(read_ids).collect::<Result<_, _>>()?,
            on_timeout: word(value, "on_timeout")?,
            auto_approve_if: auto,
        })
    }
}

impl Quorum {
    /// As it is stored.
    #[must_use]
    pub fn to_value(&self) -> Value {
        json!({
            "min_approvers": self.min_approvers,
            "required_roles": self.required_roles,
            "reviewers": ids(&self.reviewers),
            "reject_on": self.reject_on.as_str(),
            "admins_count": self.admins_count,
            "following_counts": self.following_counts,
            "allow_service_reviewers": self.allow_service_reviewers,
        })
    }

    /// Reads what [`Quorum::to_value`] wrote.
    ///
    /// # Errors
    /// Something else was stored.
    pub fn from_value(value: &Value) -> Result<Self, NotRules> {
        Ok(Self {
            min_approvers: number(value, "min_approvers")?,
            required_roles: texts(value, "required_roles")?,
            reviewers: read_ids(member(value, "reviewers")?)?,
            reject_on: word(value, "reject_on")?,
            admins_count: flag(value, "admins_count")?,
            following_counts: flag(value, "following_counts")?,
            allow_service_reviewers: flag(value, "allow_service_reviewers")?,
        })
    }
}

impl Matched {
    /// As a review keeps it.
    #[must_use]
    pub fn to_value(&self) -> Value {
        json!({
            "policy_id": self.policy_id.to_string(),
            "version": self.version,
            "name": self.name,
            "because": self.because,
            "quorum": self.quorum.to_value(),
            "timeout_seconds": self.timeout_seconds,
        })
    }

    /// Reads what [`Matched::to_value`] wrote.
    ///
    /// # Errors
    /// Something else was stored.
    pub fn from_value(value: &Value) -> Result<Self, NotRules> {
        Ok(Self {
            policy_id: read_id(member(value, "policy_id")?)?,
            version: member(value, "version")?.as_i64().ok_or(NotRules)?,
            name: text(value, "name")?,
            because: texts(value, "because")?,
            quorum: Quorum::from_value(member(value, "quorum")?)?,
            timeout_seconds: optional(value, "timeout_seconds", number)?,
        })
    }
}

fn ids<T>(accounts: &[Id<T>]) -> Value {
    accounts.iter().map(ToString::to_string).collect()
}

fn member<'a>(value: &'a Value, name: &str) -> Result<&'a Value, NotRules> {
    value.get(name).ok_or(NotRules)
}

fn optional<T>(
    value: &Value,
    name: &str,
    read: fn(&Value, &str) -> Result<T, NotRules>,
) -> Result<Option<T>, NotRules> {
    if member(value, name)?.is_null() { Ok(None) } else { read(value, name).map(Some) }
}

fn number(value: &Value, name: &str) -> Result<u32, NotRules> {
    let number = member(value, name)?.as_u64().ok_or(NotRules)?;
    u32::try_from(number).map_err(|_| NotRules)
}

fn flag(value: &Value, name: &str) -> Result<bool, NotRules> {
    member(value, name)?.as_bool().ok_or(NotRules)
}

fn text(value: &Value, name: &str) -> Result<String, NotRules> {
    member(value, name)?.as_str().map(str::to_owned).ok_or(NotRules)
}

fn word<T: FromStr>(value: &Value, name: &str) -> Result<T, NotRules> {
    text(value, name)?.parse().map_err(|_| NotRules)
}

fn texts(value: &Value, name: &str) -> Result<Vec<String>, NotRules> {
    let list = member(value, name)?.as_array().ok_or(NotRules)?;
    list.iter().map(|item| item.as_str().map(str::to_owned).ok_or(NotRules)).collect()
}

fn read_id<T>(value: &Value) -> Result<Id<T>, NotRules> {
    let id: Option<Uuid> = value.as_str().and_then(|text| text.parse().ok());
    id.map(Id::new).ok_or(NotRules)
}

fn read_ids<T>(value: &Value) -> Result<Vec<Id<T>>, NotRules> {
    value.as_array().ok_or(NotRules)?.iter().map(read_id).collect()
}

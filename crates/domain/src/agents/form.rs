//! What may be said about an agent.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::Agent;
use crate::accounts::Account;
use crate::json::{FieldError, pointer_push};
use crate::text::{self, BadText, NAME_CHARS_MAX};
use crate::{Id, Timestamp};

const DESCRIPTION_CHARS_MAX: usize = 4096;
const TASKS_MAX: i64 = 1000;
const LABELS_MAX: usize = 50;
const LABEL_KEY_CHARS_MAX: usize = 64;
const LABEL_VALUE_CHARS_MAX: usize = 256;
const CONFIG_BYTES_MAX: usize = 64 * 1024;
const HEALTH_BYTES_MAX: usize = 16 * 1024;

/// What to change; what is none stays. The inner none removes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AgentChange {
    /// What people call it.
    pub name: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// The model it runs on.
    pub model: Option<Option<String>>,
    /// The behaviour it was given.
    pub role_name: Option<Option<String>>,
    /// How many tasks at once.
    pub max_tasks: Option<i64>,
    /// What tasks may require of it; all of them.
    pub labels: Option<BTreeMap<String, String>>,
    /// How it is set up; all of it.
    pub config: Option<Map<String, Value>>,
    /// Who answers for it.
    pub owner_id: Option<Id<Account>>,
}

impl Agent {
    /// The agent after a change; the same one if nothing is different. Who may own it is decided by
    /// [`super::may_own`].
    pub fn changed(&self, change: &AgentChange, now: Timestamp) -> Result<Self, Vec<FieldError>> {
        let wanted = change.clone();
        let mut changed = self.clone();
        changed.name = wanted.name.unwrap_or(changed.name);
        changed.description = wanted.description.unwrap_or(changed.description);
        changed.model = wanted.model.unwrap_or(changed.model);
        changed.role_name = wanted.role_name.unwrap_or(changed.role_name);
        changed.max_tasks = wanted.max_tasks.unwrap_or(changed.max_tasks);
        changed.labels = wanted.labels.unwrap_or(changed.labels);
        changed.config = wanted.config.unwrap_or(changed.config);
        changed.owner_id = wanted.owner_id.unwrap_or(changed.owner_id);
        changed.check()?;
        if changed != *self {
            changed.updated_at = now.after(self.updated_at);
        }
        Ok(changed)
    }

    /// Everything wrong with what is said about it.
    pub fn check(&self) -> Result<(), Vec<FieldError>> {
        let line = |text: &Option<String>| text.as_deref().map_or(Ok(()), one_line);
        let checks = [
            ("name", one_line(&self.name)),
            ("description", at_most(&self.description, DESCRIPTION_CHARS_MAX)),
            ("model", line(&self.model)),
            ("role_name", line(&self.role_name)),
            ("max_tasks", tasks(self.max_tasks)),
            ("config", json_at_most(&self.config, CONFIG_BYTES_MAX)),
        ];
        let wrong = checks.into_iter().filter_map(|(field, check)| check.err().map(|bad| (field, bad)));
        let mut errors: Vec<FieldError> =
            wrong.map(|(field, bad)| FieldError::on_member(field, bad.to_string())).collect();
        errors.extend(label_errors(&self.labels));
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }
}

fn one_line(text: &str) -> Result<(), BadText> {
    text::name(text, NAME_CHARS_MAX)
}

fn at_most(text: &str, chars_max: usize) -> Result<(), BadText> {
    if text.chars().count() <= chars_max {
        return Ok(());
    }
    Err(BadText(format!("must have at most {chars_max} characters")))
}

fn tasks(max_tasks: i64) -> Result<(), BadText> {
    if (1..=TASKS_MAX).contains(&max_tasks) {
        return Ok(());
    }
    Err(BadText(format!("must be 1 to {TASKS_MAX}")))
}

fn json_at_most(object: &Map<String, Value>, bytes_max: usize) -> Result<(), BadText> {
    // Writing JSON values cannot fail.
    let bytes = serde_json::to_string(object).map_or(usize::MAX, |text| text.len());
    if bytes <= bytes_max {
        return Ok(());
    }
    Err(BadText(format!("must have at most {bytes_max} bytes as JSON")))
}

/// Checks what an agent says of itself.
pub fn check_health(health: &Map<String, Value>) -> Result<(), BadText> {
    json_at_most(health, HEALTH_BYTES_MAX)
}

/// Checks the name of a label: `[a-z0-9._/-]{1,64}`.
pub fn check_label_key(key: &str) -> Result<(), BadText> {
    let in_alphabet =
        key.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'/' | b'-'));
    if in_alphabet && (1..=LABEL_KEY_CHARS_MAX).contains(&key.len()) {
        return Ok(());
    }
    Err(BadText("the name of a label must be 1 to 64 of a-z, 0-9 and ._/-".to_owned()))
}

fn label_errors(labels: &BTreeMap<String, String>) -> Vec<FieldError> {
    if labels.len() > LABELS_MAX {
        return vec![FieldError::on_member("labels", format!("must be at most {LABELS_MAX}"))];
    }
    let check = |key: &str, value: &str| {
        check_label_key(key)?;
        at_most(value, LABEL_VALUE_CHARS_MAX)?;
        if value.chars().any(char::is_control) {
            return Err(BadText("must hold no control characters".to_owned()));
        }
        Ok(())
    };
    let wrong = labels.iter().filter_map(|(key, value)| check(key, value).err().map(|bad| (key, bad)));
    let named = wrong.map(|(key, bad)| {
        let mut pointer = "/labels".to_owned();
        pointer_push(&mut pointer, key);
        FieldError { pointer, detail: bad.to_string() }
    });
    named.collect()
}

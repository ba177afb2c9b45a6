//! The table of settings, and what makes a value right.

use std::collections::HashSet;

use serde_json::{Value, json};
use uuid::Uuid;

use super::{DAY, ON_CALL_MAX, Settings, YEAR};

/// One setting: its name, and how its value is shown and taken.
pub(super) struct Setting {
    pub(super) name: &'static str,
    pub(super) read: fn(&Settings) -> Value,
    pub(super) write: fn(&mut Settings, &Value) -> Result<(), String>,
}

/// By name.
pub(super) static CATALOGUE: [Setting; 15] = [
    Setting {
        name: "approval:default_timeout",
        read: |all| json!(all.approval_default_timeout),
        write: |all, value| whole(&mut all.approval_default_timeout, value, 1, YEAR),
    },
    Setting {
        name: "approval:max_timeout",
        read: |all| json!(all.approval_max_timeout),
        write: |all, value| whole(&mut all.approval_max_timeout, value, 1, YEAR),
    },
    Setting {
        name: "approval:on_call",
        read: |all| json!(all.approval_on_call.iter().map(Uuid::to_string).collect::<Vec<_>>()),
        write: |all, value| accounts(&mut all.approval_on_call, value),
    },
    Setting {
        name: "approval:validity",
        read: |all| json!(all.approval_validity),
        write: |all, value| whole(&mut all.approval_validity, value, 1, YEAR),
    },
    Setting {
        name: "events:retention",
        read: |all| json!(all.events_retention),
        write: |all, value| whole(&mut all.events_retention, value, 1, 10 * YEAR),
    },
    Setting {
        name: "feature:auto_approve_low_risk",
        read: |all| switch_word(all.feature_auto_approve_low_risk),
        write: |all, value| switch(&mut all.feature_auto_approve_low_risk, value),
    },
    Setting {
        name: "feature:batch_approvals",
        read: |all| switch_word(all.feature_batch_approvals),
        write: |all, value| switch(&mut all.feature_batch_approvals, value),
    },
    Setting {
        name: "feature:deadlock_detection",
        read: |all| switch_word(all.feature_deadlock_detection),
        write: |all, value| switch(&mut all.feature_deadlock_detection, value),
    },
    Setting {
        name: "lock:default_ttl",
        read: |all| json!(all.lock_default_ttl),
        write: |all, value| whole(&mut all.lock_default_ttl, value, 1, DAY),
    },
    Setting {
        name: "lock:heartbeat_interval",
        read: |all| json!(all.lock_heartbeat_interval),
        write: |all, value| whole(&mut all.lock_heartbeat_interval, value, 1, DAY),
    },
    Setting {
        name: "lock:max_queue_depth",
        read: |all| json!(all.lock_max_queue_depth),
        write: |all, value| whole(&mut all.lock_max_queue_depth, value, 1, 10_000),
    },
    Setting {
        name: "lock:max_ttl",
        read: |all| json!(all.lock_max_ttl),
        write: |all, value| whole(&mut all.lock_max_ttl, value, 1, DAY),
    },
    Setting {
        name: "risk:thresholds",
        read: |all| json!(all.risk_thresholds),
        write: |all, value| thresholds(&mut all.risk_thresholds, value),
    },
    Setting {
        name: "task:default_timeout",
        read: |all| json!(all.task_default_timeout),
        write: |all, value| whole(&mut all.task_default_timeout, value, 1, 7 * DAY),
    },
    Setting {
        name: "task:retention",
        read: |all| json!(all.task_retention),
        write: |all, value| whole(&mut all.task_retention, value, 1, 10 * YEAR),
    },
];

/// What must hold between two settings. The first is blamed if the change touches it, else the second.
pub(super) struct Agreement {
    pub(super) between: [&'static str; 2],
    pub(super) holds: fn(&Settings) -> bool,
    pub(super) detail: &'static str,
}

pub(super) static AGREEMENTS: [Agreement; 3] = [
    Agreement {
        between: ["lock:default_ttl", "lock:max_ttl"],
        holds: |all| all.lock_default_ttl <= all.lock_max_ttl,
        detail: "lock:default_ttl must not exceed lock:max_ttl",
    },
    // One lost message must not cost a holder its lock.
    Agreement {
        between: ["lock:heartbeat_interval", "lock:default_ttl"],
        holds: |all| all.lock_heartbeat_interval.saturating_mul(2) <= all.lock_default_ttl,
        detail: "lock:heartbeat_interval must fit twice into lock:default_ttl",
    },
    Agreement {
        between: ["approval:default_timeout", "approval:max_timeout"],
        holds: |all| all.approval_default_timeout <= all.approval_max_timeout,
        detail: "approval:default_timeout must not exceed approval:max_timeout",
    },
];

pub(super) fn find(name: &str) -> Option<&'static Setting> {
    CATALOGUE.iter().find(|setting| setting.name == name)
}

fn whole(place: &mut u32, value: &Value, min: u32, max: u32) -> Result<(), String> {
    let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
    match number {
        Some(number) if (min..=max).contains(&number) => *place = number,
        _ => return Err(format!("must be a whole number from {min} to {max}")),
    }
    Ok(())
}

fn switch(place: &mut bool, value: &Value) -> Result<(), String> {
    match value.as_str() {
        Some("enabled") => *place = true,
        Some("disabled") => *place = false,
        _ => return Err("must be \"enabled\" or \"disabled\"".to_owned()),
    }
    Ok(())
}

fn switch_word(on: bool) -> Value {
    json!(if on { "enabled" } else { "disabled" })
}

fn thresholds(place: &mut [u32; 3], value: &Value) -> Result<(), String> {
    let numbers: Option<Vec<u32>> = value.as_array().and_then(|items| {
        items.iter().map(|item| item.as_u64().and_then(|number| u32::try_from(number).ok())).collect()
    });
    match numbers.as_deref() {
        Some(&[medium, high, critical])
            if 1 <= medium && medium < high && high < critical && critical <= 100 =>
        {
            *place = [medium, high, critical];
            Ok(())
        }
        _ => Err("must be three growing whole numbers from 1 to 100".to_owned()),
    }
}

fn accounts(place: &mut Vec<Uuid>, value: &Value) -> Result<(), String> {
    let wrong = || format!("must be a list of at most {ON_CALL_MAX} different account ids");
    let items = value.as_array().filter(|items| items.len() <= ON_CALL_MAX).ok_or_else(wrong)?;
    let ids: Option<Vec<Uuid>> =
        items.iter().map(|item| item.as_str().and_then(|text| Uuid::parse_str(text).ok())).collect();
    let ids = ids.ok_or_else(wrong)?;
    let distinct: HashSet<&Uuid> = ids.iter().collect();
    if distinct.len() < ids.len() {
        return Err(wrong());
    }
    *place = ids;
    Ok(())
}

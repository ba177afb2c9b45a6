//! What each organization can set for itself.

mod catalogue;
pub mod durations;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};
use uuid::Uuid;

use crate::json::FieldError;
use catalogue::{AGREEMENTS, CATALOGUE, find};

/// The most accounts told at an escalation.
pub const ON_CALL_MAX: usize = 100;

const DAY: u32 = 24 * 60 * 60;
const YEAR: u32 = 365 * DAY;

/// All settings of one organization. Times are whole seconds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// How long a reviewer has before the request escalates.
    pub approval_default_timeout: u32,
    /// The longest time a policy may give.
    pub approval_max_timeout: u32,
    /// Accounts told at every escalation.
    pub approval_on_call: Vec<Uuid>,
    /// How long an approval stays good before the first start.
    pub approval_validity: u32,
    /// How long events are kept.
    pub events_retention: u32,
    /// Whether low risk may be approved by policy alone.
    pub feature_auto_approve_low_risk: bool,
    /// Whether several requests can be answered at once.
    pub feature_batch_approvals: bool,
    /// Whether wait-for cycles are searched.
    pub feature_deadlock_detection: bool,
    /// How long a lock lives without a word about it.
    pub lock_default_ttl: u32,
    /// How often a holder should renew.
    pub lock_heartbeat_interval: u32,
    /// How many may wait for one key.
    pub lock_max_queue_depth: u32,
    /// The longest life a holder may ask for.
    pub lock_max_ttl: u32,
    /// Where MEDIUM, HIGH and CRITICAL risk begin.
    pub risk_thresholds: [u32; 3],
    /// How long one attempt may take when the task does not say.
    pub task_default_timeout: u32,
    /// How long finished tasks stay before they are archived.
    pub task_retention: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            approval_default_timeout: 2 * DAY,
            approval_max_timeout: 7 * DAY,
            approval_on_call: Vec::new(),
            approval_validity: 7 * DAY,
            events_retention: 30 * DAY,
            feature_auto_approve_low_risk: false,
            feature_batch_approvals: true,
            feature_deadlock_detection: true,
            lock_default_ttl: 30,
            lock_heartbeat_interval: 10,
            lock_max_queue_depth: 100,
            lock_max_ttl: 300,
            risk_thresholds: [25, 50, 75],
            task_default_timeout: 60 * 60,
            task_retention: 90 * DAY,
        }
    }
}

/// One member of a change that was asked for.
#[derive(Clone, PartialEq, Debug)]
pub struct SettingChange {
    /// Which setting.
    pub name: &'static str,
    /// What to store; none removes what is stored, so that the default holds.
    pub stored: Option<Value>,
    /// The value in force before.
    pub from: Value,
    /// The value in force after.
    pub to: Value,
}

/// What a change comes to.
#[derive(Clone, PartialEq, Debug)]
pub struct Changed {
    /// All settings after it.
    pub settings: Settings,
    /// Its members, by name; also those that leave the value as it was.
    pub changes: Vec<SettingChange>,
}

impl Settings {
    /// The defaults with what an organization has stored laid over them. Names this release does not know are
    /// passed over: the next release may already have written them.
    ///
    /// # Errors
    /// Everything stored that cannot be right.
    pub fn merged<N: AsRef<str>>(
        stored: impl IntoIterator<Item = (N, Value)>,
    ) -> Result<Self, Vec<FieldError>> {
        let mut settings = Self::default();
        let mut errors = Vec::new();
        let mut names = Vec::new();
        for (name, value) in stored {
            let Some(setting) = find(name.as_ref()) else { continue };
            names.push(setting.name);
            if let Err(detail) = (setting.write)(&mut settings, &value) {
                errors.push(FieldError::on_member(setting.name, detail));
            }
        }
        settings.checked(&names, errors)
    }

    /// What comes of changing some settings; `null` goes back to the default.
    ///
    /// # Errors
    /// Everything that is wrong with the change.
    pub fn change(&self, patch: &Map<String, Value>) -> Result<Changed, Vec<FieldError>> {
        let mut settings = self.clone();
        let mut errors = Vec::new();
        let mut touched = Vec::new();
        for (name, value) in patch {
            let Some(setting) = find(name) else {
                errors.push(FieldError::on_member(name, "there is no such setting"));
                continue;
            };
            touched.push(setting.name);
            let default = (setting.read)(&Self::default());
            let wanted = if value.is_null() { &default } else { value };
            if let Err(detail) = (setting.write)(&mut settings, wanted) {
                errors.push(FieldError::on_member(name, detail));
            }
        }
        let settings = settings.checked(&touched, errors)?;
        let mut changes: Vec<SettingChange> = patch
            .iter()
            .filter_map(|(name, value)| Some((find(name)?, value)))
            .map(|(setting, value)| SettingChange {
                name: setting.name,
                stored: (!value.is_null()).then(|| (setting.read)(&settings)),
                from: (setting.read)(self),
                to: (setting.read)(&settings),
            })
            .collect();
        changes.sort_by_key(|change| change.name);
        Ok(Changed { settings, changes })
    }

    /// Every name with its value, by name.
    #[must_use]
    pub fn to_json(&self) -> Map<String, Value> {
        CATALOGUE.iter().map(|setting| (setting.name.to_owned(), (setting.read)(self))).collect()
    }

    /// Every name there is.
    pub fn names() -> impl Iterator<Item = &'static str> {
        CATALOGUE.iter().map(|setting| setting.name)
    }

    fn checked(self, touched: &[&str], mut errors: Vec<FieldError>) -> Result<Self, Vec<FieldError>> {
        // A value that is wrong by itself was not taken, so what it would do to others is unknown.
        if errors.is_empty() {
            let broken = AGREEMENTS.iter().filter(|agreement| !(agreement.holds)(&self));
            errors.extend(broken.map(|agreement| {
                let [first, second] = agreement.between;
                let blamed = if touched.contains(&first) { first } else { second };
                FieldError::on_member(blamed, agreement.detail)
            }));
        }
        if errors.is_empty() { Ok(self) } else { Err(errors) }
    }
}

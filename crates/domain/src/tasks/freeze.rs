//! From what an author sends to the bytes that are approved and executed, and back.
//!
//! Defaults are filled in once, when a revision is made; its RFC 8785 bytes are then all there is. A later release that
//! knows other defaults reads the same bytes and finds the same config (DECISIONS.md 24).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::config::{Action, DeclaredRisk, Mode, Resource, RollbackStrategy, TaskConfig};
use super::fields::Fields;
use crate::accounts::folded;
use crate::agents::check_label_key;
use crate::canonical::{Sha256Hash, canonical, read_canonical};
use crate::json::FieldError;
use crate::text::{self, BadText};

/// The largest config, as canonical bytes.
const CONFIG_BYTES_MAX: usize = 64 * 1024;
/// How many things one task may touch.
const RESOURCES_MAX: usize = 100;
const RESOURCE_KIND_MAX: usize = 64;
const RESOURCE_ID_MAX: usize = 256;
const TYPE_MAX: usize = 64;
const VERSION_CHARS_MAX: usize = 64;
const DESCRIPTION_CHARS_MAX: usize = 8192;
const TIMEOUT_SECONDS_MAX: u32 = 7 * 24 * 60 * 60;
const PRIORITY_MAX: u32 = 100;
const RETRIES_MAX: u32 = 10;
const LABELS_MAX: usize = 50;
const LABEL_VALUE_CHARS_MAX: usize = 256;
const KINDS_TO_COME: [&str; 3] = ["command", "http", "operation"];

/// What an organization fills in where an author says nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Defaults {
    /// `task:default_timeout`.
    pub timeout_seconds: u32,
}

/// A config with its bytes.
#[derive(Clone, PartialEq, Debug)]
pub struct Frozen {
    /// What it says.
    pub config: TaskConfig,
    /// Its RFC 8785 bytes.
    pub bytes: Vec<u8>,
    /// Their hash.
    pub hash: Sha256Hash,
}

/// Why a config is not taken.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfigRefusal {
    /// Some of it is wrong.
    #[error("the config is not valid")]
    Invalid(Vec<FieldError>),
    /// It is to be carried out in a way this hub does not offer.
    #[error("this hub does not carry out tasks of action kind {0}")]
    ExecutorDisabled(&'static str),
}

/// Stored bytes that are no config: damage, or a newer release wrote them.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the stored config cannot be read: {0}")]
pub struct Unreadable(String);

/// Checks what an author sent as `config`, fills in what is missing and freezes it.
///
/// # Errors
/// Names everything that is wrong, by pointers that begin with `/config`.
pub fn freeze(sent: &Value, defaults: &Defaults) -> Result<Frozen, ConfigRefusal> {
    if let Some(kind) = kind_to_come(sent) {
        return Err(ConfigRefusal::ExecutorDisabled(kind));
    }
    let config = read(sent, Some(defaults)).map_err(ConfigRefusal::Invalid)?;
    let bytes = canonical(&config.to_value());
    if bytes.len() > CONFIG_BYTES_MAX {
        let detail = format!("must have at most {CONFIG_BYTES_MAX} bytes as JSON, it has {}", bytes.len());
        return Err(ConfigRefusal::Invalid(vec![FieldError::on_member("config", detail)]));
    }
    let hash = Sha256Hash::of(&bytes);
    Ok(Frozen { config, bytes, hash })
}

/// Reads the bytes of a revision. Adds nothing and leaves nothing out.
///
/// # Errors
/// [`Unreadable`] if they are anything but what [`freeze`] made.
pub fn thaw(bytes: &[u8]) -> Result<TaskConfig, Unreadable> {
    let value = read_canonical(bytes).ok_or_else(|| Unreadable("not canonical JSON".to_owned()))?;
    read(&value, None).map_err(|errors| {
        let reasons: Vec<String> = errors.iter().map(ToString::to_string).collect();
        Unreadable(reasons.join("; "))
    })
}

/// Whether the title of a revision with these bytes holds the text, whatever the case of the letters.
#[must_use]
pub fn is_called(bytes: &[u8], text: &str) -> bool {
    let config = read_canonical(bytes);
    let title = config.as_ref().and_then(|config| config.get("description")?.as_str());
    title.is_some_and(|title| folded(title).contains(&folded(text)))
}

fn kind_to_come(sent: &Value) -> Option<&'static str> {
    let kind = sent.get("action")?.get("kind")?.as_str()?;
    KINDS_TO_COME.into_iter().find(|known| *known == kind)
}

/// Without defaults every member must be there.
fn read(sent: &Value, defaults: Option<&Defaults>) -> Result<TaskConfig, Vec<FieldError>> {
    let mut errors = Vec::new();
    let config =
        Fields::of(sent, "/config".to_owned(), &mut errors).and_then(|fields| whole(fields, defaults));
    match config {
        Some(config) if errors.is_empty() => Ok(config),
        _ => Err(errors),
    }
}

fn whole(mut fields: Fields<'_>, defaults: Option<&Defaults>) -> Option<TaskConfig> {
    let fill = defaults.is_some();
    let task_type = fields.text("type", None, check_type);
    let version = fields.text("version", fill.then_some("1"), |text| text::name(text, VERSION_CHARS_MAX));
    let description = fields.text("description", None, check_description);
    let action = action(&mut fields, fill);
    let parameters = fields.object("parameters", fill.then(Map::new));
    let resources = resources(&mut fields, fill);
    let rollback_strategy = fields.word("rollback_strategy", fill.then_some(RollbackStrategy::Manual));
    let timeout = defaults.map(|defaults| defaults.timeout_seconds);
    let timeout_seconds = fields.number("timeout_seconds", timeout, 1..=TIMEOUT_SECONDS_MAX);
    let priority = fields.number("priority", fill.then_some(50), 0..=PRIORITY_MAX);
    let declared_risk = fields.word("declared_risk", fill.then_some(DeclaredRisk::Medium));
    let max_retries = fields.number("max_retries", fill.then_some(0), 0..=RETRIES_MAX);
    let idempotent = fields.flag("idempotent", fill.then_some(false));
    if idempotent == Some(false) && max_retries.is_some_and(|retries| retries > 0) {
        fields.refuse("max_retries", "must be 0 unless the task is idempotent: repeating it would do harm");
    }
    let requires_labels = labels(&mut fields, fill);
    fields.end();
    Some(TaskConfig {
        task_type: task_type?,
        version: version?,
        description: description?,
        action: action?,
        parameters: parameters?,
        resources: resources?,
        rollback_strategy: rollback_strategy?,
        timeout_seconds: timeout_seconds?,
        priority: priority?,
        declared_risk: declared_risk?,
        max_retries: max_retries?,
        idempotent: idempotent?,
        requires_labels: requires_labels?,
    })
}

fn action(fields: &mut Fields<'_>, fill: bool) -> Option<Action> {
    let external = || Map::from_iter([("kind".to_owned(), json!("external"))]);
    let sent = Value::Object(fields.object("action", fill.then(external))?);
    let read = |value: &Value, pointer: String, errors: &mut Vec<FieldError>| {
        let mut action = Fields::of(value, pointer, errors)?;
        let known = action.text("kind", None, |kind| {
            if kind == "external" { Ok(()) } else { Err(BadText("must be external".to_owned())) }
        });
        action.end();
        known.map(|_| Action::External)
    };
    fields.inner("action", &sent, read)
}

fn resources(fields: &mut Fields<'_>, fill: bool) -> Option<Vec<Resource>> {
    let sent = fields.list("resources", fill.then(Vec::new), RESOURCES_MAX)?;
    let read = fields.items("resources", &sent, |item, pointer, errors| {
        let mut resource = Fields::of(item, pointer, errors)?;
        let kind = resource.text("type", None, check_resource_kind);
        let id = resource.text("id", None, check_resource_id);
        let mode = resource.word("mode", fill.then_some(Mode::Exclusive));
        resource.end();
        Some(Resource { kind: kind?, id: id?, mode: mode? })
    });
    if read.len() < sent.len() {
        return None;
    }
    let mut seen = BTreeSet::new();
    for (index, resource) in read.iter().enumerate() {
        if !seen.insert(resource.name()) {
            fields.refuse_item("resources", index, "is named twice");
        }
    }
    Some(read)
}

fn labels(fields: &mut Fields<'_>, fill: bool) -> Option<BTreeMap<String, String>> {
    let sent = fields.object("requires_labels", fill.then(Map::new))?;
    if sent.len() > LABELS_MAX {
        fields.refuse("requires_labels", format!("must be at most {LABELS_MAX}"));
        return None;
    }
    let mut labels = BTreeMap::new();
    for (key, value) in &sent {
        match check_label(key, value) {
            Ok(value) => {
                labels.insert(key.clone(), value.to_owned());
            }
            Err(bad) => fields.refuse_member("requires_labels", key, bad.to_string()),
        }
    }
    (labels.len() == sent.len()).then_some(labels)
}

fn check_label<'a>(key: &str, value: &'a Value) -> Result<&'a str, BadText> {
    check_label_key(key)?;
    let value = value.as_str().ok_or_else(|| BadText("must be a string".to_owned()))?;
    if value.chars().count() > LABEL_VALUE_CHARS_MAX || value.chars().any(char::is_control) {
        let detail = format!("must have at most {LABEL_VALUE_CHARS_MAX} characters, no control characters");
        return Err(BadText(detail));
    }
    Ok(value)
}

fn check_type(text: &str) -> Result<(), BadText> {
    let in_alphabet = text
        .bytes()
        .all(|byte| matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'_' | b'/' | b'-'));
    if in_alphabet && (1..=TYPE_MAX).contains(&text.len()) {
        return Ok(());
    }
    Err(BadText(format!("must be 1 to {TYPE_MAX} of a-z, A-Z, 0-9 and ._/-")))
}

fn check_description(text: &str) -> Result<(), BadText> {
    if text.trim().is_empty() || text.chars().count() > DESCRIPTION_CHARS_MAX {
        return Err(BadText(format!("must have 1 to {DESCRIPTION_CHARS_MAX} characters")));
    }
    if text.chars().any(|character| character.is_control() && !matches!(character, '\n' | '\t')) {
        return Err(BadText("must hold no control characters but line breaks and tabs".to_owned()));
    }
    Ok(())
}

/// Checks the type of a resource: `[a-z0-9_-]{1,64}`.
pub fn check_resource_kind(text: &str) -> Result<(), BadText> {
    let in_alphabet = text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'));
    if in_alphabet && (1..=RESOURCE_KIND_MAX).contains(&text.len()) {
        return Ok(());
    }
    Err(BadText(format!("must be 1 to {RESOURCE_KIND_MAX} of a-z, 0-9, _ and -")))
}

/// Checks the id of a resource: 1 to 256 of `[A-Za-z0-9._/@+=:-]`.
pub fn check_resource_id(text: &str) -> Result<(), BadText> {
    let in_alphabet = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._/@+=:-".contains(&byte));
    if in_alphabet && (1..=RESOURCE_ID_MAX).contains(&text.len()) {
        return Ok(());
    }
    Err(BadText(format!("must be 1 to {RESOURCE_ID_MAX} of A-Z, a-z, 0-9 and ._/@+=:-")))
}

impl TaskConfig {
    /// All of it as JSON; its canonical bytes are what is frozen.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let resource = |resource: &Resource| json!({"type": resource.kind, "id": resource.id, "mode": resource.mode.as_str()});
        json!({
            "type": self.task_type,
            "version": self.version,
            "description": self.description,
            "action": match self.action {
                Action::External => json!({"kind": "external"}),
            },
            "parameters": self.parameters,
            "resources": self.resources.iter().map(resource).collect::<Vec<_>>(),
            "rollback_strategy": self.rollback_strategy.as_str(),
            "timeout_seconds": self.timeout_seconds,
            "priority": self.priority,
            "declared_risk": self.declared_risk.as_str(),
            "max_retries": self.max_retries,
            "idempotent": self.idempotent,
            "requires_labels": self.requires_labels,
        })
    }
}

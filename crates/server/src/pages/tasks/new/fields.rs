//! What is typed on the page of a new task, what it means, and what is wrong with it, field by field.

use domain::Id;
use domain::json::{self, FieldError};
use domain::projects::Project;
use hub::tasks::NewTask;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::pages::form::{moment, several, some};
use crate::pages::wrong::wrong;

/// What is done with what was typed.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "snake_case")]
pub(super) enum Then {
    /// Kept as a draft.
    Draft,
    /// Handed in at once.
    Submit,
    /// Nothing: only asked what would happen.
    Simulate,
}

/// What is typed.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct TaskFields {
    pub(super) project_id: String,
    pub(super) description: String,
    pub(super) task_type: String,
    pub(super) resources: String,
    pub(super) declared_risk: String,
    pub(super) rollback_strategy: String,
    pub(super) priority: String,
    pub(super) timeout_seconds: String,
    /// The rest of the config, as JSON.
    pub(super) more: String,
    pub(super) slug: String,
    pub(super) path: String,
    pub(super) depends_on: String,
    pub(super) due_at: String,
    pub(super) tags: String,
    pub(super) ticket_ref: String,
    pub(super) then: Then,
}

/// Members of the config that have a field of their own.
const ASKED: [&str; 7] =
    ["description", "type", "resources", "declared_risk", "rollback_strategy", "priority", "timeout_seconds"];

impl TaskFields {
    /// As nobody has said otherwise.
    pub(super) fn blank() -> Self {
        let none = String::new;
        Self {
            project_id: none(),
            description: none(),
            task_type: none(),
            resources: none(),
            declared_risk: "medium".to_owned(),
            rollback_strategy: "manual".to_owned(),
            priority: "50".to_owned(),
            timeout_seconds: none(),
            more: none(),
            slug: none(),
            path: none(),
            depends_on: none(),
            due_at: none(),
            tags: none(),
            ticket_ref: none(),
            then: Then::Draft,
        }
    }

    /// What it means, without what it waits for, and everything that is wrong with it here. What the hub knows better is
    /// left to the hub.
    pub(super) fn wanted(&self) -> (NewTask, Vec<FieldError>) {
        let mut errors = Vec::new();
        let config = self.config(&mut errors);
        let wanted = NewTask {
            config: Value::Object(config),
            metadata: self.metadata(),
            project_id: self.project(&mut errors),
            slug: some(&self.slug),
            path: some(&self.path),
            assignee: None,
            due_at: moment("/due_at", &self.due_at, &mut errors),
            depends_on: Vec::new(),
            submit: self.then == Then::Submit,
        };
        (wanted, errors)
    }

    /// The ids or short names of what it waits for.
    pub(super) fn names(&self) -> Vec<String> {
        several(&self.depends_on)
    }

    fn config(&self, errors: &mut Vec<FieldError>) -> Map<String, Value> {
        let mut config = self.more(errors);
        let mut set = |name: &str, value: Value| drop(config.insert(name.to_owned(), value));
        set("description", said(&self.description).into());
        set("type", self.task_type.trim().into());
        set("resources", Value::Array(lines(&self.resources).map(resource).collect()));
        let is_nameless = |line: &str| line.split_whitespace().next().is_none_or(|name| !name.contains(':'));
        for (place, _) in lines(&self.resources).enumerate().filter(|(_, line)| is_nameless(line)) {
            let pointer = format!("/config/resources/{place}");
            errors.push(wrong(&pointer, "must be type:id, such as database:prod-orders"));
        }
        set("declared_risk", self.declared_risk.clone().into());
        set("rollback_strategy", self.rollback_strategy.clone().into());
        for (name, text) in [("priority", &self.priority), ("timeout_seconds", &self.timeout_seconds)] {
            match some(text).map(|text| text.parse::<u64>()) {
                None => {}
                Some(Ok(number)) => set(name, number.into()),
                Some(Err(_)) => errors.push(wrong(&format!("/config/{name}"), "must be a whole number")),
            }
        }
        config
    }

    /// The rest of the config. What has a field of its own is said there, once.
    fn more(&self, errors: &mut Vec<FieldError>) -> Map<String, Value> {
        let text = self.more.trim();
        if text.is_empty() {
            return Map::new();
        }
        let members = match json::parse(text.as_bytes()) {
            Ok(Value::Object(members)) => members,
            Ok(_) => {
                errors.push(wrong("/config", "must be a JSON object"));
                return Map::new();
            }
            Err(error) => {
                errors.push(wrong("/config", &format!("must be JSON: {error}")));
                return Map::new();
            }
        };
        for name in ASKED.into_iter().filter(|name| members.contains_key(*name)) {
            errors.push(wrong("/config", &format!("`{name}` has a field of its own on this page")));
        }
        members
    }

    fn metadata(&self) -> Map<String, Value> {
        let mut metadata = Map::new();
        let tags = several(&self.tags);
        if !tags.is_empty() {
            metadata.insert("tags".to_owned(), tags.into());
        }
        metadata.extend(some(&self.ticket_ref).map(|ticket| ("ticket_ref".to_owned(), ticket.into())));
        metadata
    }

    fn project(&self, errors: &mut Vec<FieldError>) -> Option<Id<Project>> {
        let text = some(&self.project_id)?;
        text.parse().map_err(|_| errors.push(wrong("/project_id", "there is no such project"))).ok()
    }
}

/// Browsers end lines with both.
fn said(text: &str) -> String {
    text.replace("\r\n", "\n").trim().to_owned()
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty())
}

/// `database:prod-orders`, or with ` shared` after it. What it is not, the hub says.
fn resource(line: &str) -> Value {
    let (name, mode) = match line.split_once(char::is_whitespace) {
        Some((name, mode)) => (name, Some(mode.trim())),
        None => (line, None),
    };
    let (kind, id) = name.split_once(':').unwrap_or((name, ""));
    let mut members = Map::new();
    members.insert("type".to_owned(), kind.into());
    members.insert("id".to_owned(), id.into());
    members.extend(mode.map(|mode| ("mode".to_owned(), mode.into())));
    Value::Object(members)
}

/// Fields by where the hub finds them; what begins alike, the longer first.
pub(super) const PLACES: [(&str, &str); 15] = [
    ("/config/description", "description"),
    ("/config/type", "task_type"),
    ("/config/resources", "resources"),
    ("/config/declared_risk", "declared_risk"),
    ("/config/rollback_strategy", "rollback_strategy"),
    ("/config/priority", "priority"),
    ("/config/timeout_seconds", "timeout_seconds"),
    ("/config", "more"),
    ("/metadata/tags", "tags"),
    ("/metadata/ticket_ref", "ticket_ref"),
    ("/project_id", "project_id"),
    ("/slug", "slug"),
    ("/path", "path"),
    ("/depends_on", "depends_on"),
    ("/due_at", "due_at"),
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn typed(change: impl Fn(&mut TaskFields)) -> TaskFields {
        let mut typed = TaskFields::blank();
        typed.description = "Add an index\r\nto orders ".to_owned();
        typed.task_type = " migration ".to_owned();
        change(&mut typed);
        typed
    }

    #[test]
    fn what_is_typed_is_a_task() {
        let typed = typed(|typed| {
            typed.resources = "database:prod-orders\r\n\r\n service:api:v2   shared\n".to_owned();
            typed.more = r#"{"parameters": {"statements": 2}}"#.to_owned();
            typed.due_at = "2026-03-18T15:30".to_owned();
            typed.tags = "a, b,,".to_owned();
            typed.depends_on = "first\nsecond, third".to_owned();
            typed.ticket_ref = "OPS-7".to_owned();
            typed.then = Then::Submit;
        });
        let (wanted, errors) = typed.wanted();
        assert_eq!(errors, []);
        assert_eq!(
            wanted.config,
            json!({"description": "Add an index\nto orders", "type": "migration", "priority": 50,
                "declared_risk": "medium", "rollback_strategy": "manual", "parameters": {"statements": 2},
                "resources": [{"type": "database", "id": "prod-orders"},
                              {"type": "service", "id": "api:v2", "mode": "shared"}]})
        );
        assert_eq!(Value::Object(wanted.metadata), json!({"tags": ["a", "b"], "ticket_ref": "OPS-7"}));
        let due = wanted.due_at.unwrap().to_string();
        assert!(due.starts_with("2026-03-18T15:30:00"), "{due}");
        assert_eq!(typed.names(), ["first", "second", "third"]);
        assert!(wanted.submit && wanted.slug.is_none() && wanted.path.is_none());
    }

    #[test]
    fn everything_that_is_wrong_is_named() {
        let typed = typed(|typed| {
            typed.more = r#"{"priority": 1}"#.to_owned();
            typed.priority = "high".to_owned();
            typed.due_at = "tomorrow".to_owned();
            typed.project_id = "x".to_owned();
            typed.resources = "database:orders\norders".to_owned();
        });
        let (_, errors) = typed.wanted();
        let found: Vec<&str> = errors.iter().map(|error| error.pointer.as_str()).collect();
        assert_eq!(found, ["/config", "/config/resources/1", "/config/priority", "/project_id", "/due_at"]);
        for more in ["[]", "{", "{\"a\": 1, \"a\": 2}"] {
            let typed = super::tests::typed(|typed| typed.more = more.to_owned());
            assert_eq!(typed.wanted().1.len(), 1, "{more}");
        }
    }
}

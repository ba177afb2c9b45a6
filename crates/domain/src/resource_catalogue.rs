//! What an organization says about its resources: how much depends on them.

use serde_json::{Map, Value, json};

use crate::globs::ResourcePattern;
use crate::json::FieldError;
use crate::tasks::Resource;

/// How many rules a catalogue may have.
pub const RULES_MAX: usize = 500;
/// What a resource no rule speaks of is taken for.
pub const DEFAULT_CRITICALITY: u32 = 50;
/// The most of anything here.
const POINTS_MAX: u64 = 100;

/// What is said about the resources a pattern means.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CatalogueRule {
    /// Which resources.
    pub pattern: ResourcePattern,
    /// 0 to 100.
    pub criticality: u32,
    /// How many points of blast radius each of them counts; none: what any resource counts.
    pub blast_radius: Option<u32>,
}

/// Rules in order; the first that means a resource speaks for it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ResourceCatalogue(Vec<CatalogueRule>);

impl ResourceCatalogue {
    /// Reads a catalogue as it is sent and stored: `[{pattern, criticality, blast_radius?}]`.
    ///
    /// # Errors
    /// Everything wrong with it, by place.
    pub fn from_value(value: &Value) -> Result<Self, Vec<FieldError>> {
        let Some(list) = value.as_array() else {
            return Err(vec![wrong(String::new(), "must be a list of rules")]);
        };
        if list.len() > RULES_MAX {
            return Err(vec![wrong(String::new(), format!("must have at most {RULES_MAX} rules"))]);
        }
        let mut errors = Vec::new();
        let read = list.iter().enumerate().filter_map(|(index, rule)| read_rule(index, rule, &mut errors));
        let rules: Vec<CatalogueRule> = read.collect();
        if errors.is_empty() { Ok(Self(rules)) } else { Err(errors) }
    }

    /// As it is sent and stored.
    #[must_use]
    pub fn to_value(&self) -> Value {
        self.0.iter().map(written).collect()
    }

    /// What is said about a resource.
    #[must_use]
    pub fn rule_for(&self, resource: &Resource) -> Option<&CatalogueRule> {
        self.0.iter().find(|rule| rule.pattern.means(resource))
    }

    /// Its rules, in order.
    #[must_use]
    pub fn rules(&self) -> &[CatalogueRule] {
        &self.0
    }
}

fn written(rule: &CatalogueRule) -> Value {
    let mut written = json!({"pattern": rule.pattern.as_str(), "criticality": rule.criticality});
    if let Some(blast_radius) = rule.blast_radius {
        written["blast_radius"] = blast_radius.into();
    }
    written
}

fn read_rule(index: usize, value: &Value, errors: &mut Vec<FieldError>) -> Option<CatalogueRule> {
    let Some(object) = value.as_object() else {
        errors.push(wrong(format!("/{index}"), "must be an object"));
        return None;
    };
    let before = errors.len();
    let known = ["pattern", "criticality", "blast_radius"];
    for name in object.keys().filter(|name| !known.contains(&name.as_str())) {
        let mut error = FieldError::on_member(name, "there is no such field");
        error.pointer.insert_str(0, &format!("/{index}"));
        errors.push(error);
    }
    let pattern = object.get("pattern").and_then(Value::as_str).map(ResourcePattern::new);
    match &pattern {
        None => errors.push(wrong(format!("/{index}/pattern"), "must be a text")),
        Some(Err(bad)) => errors.push(wrong(format!("/{index}/pattern"), bad.to_string())),
        Some(Ok(_)) => {}
    }
    let criticality = points(object, "criticality");
    if criticality.is_none() {
        errors.push(wrong(format!("/{index}/criticality"), "must be a whole number from 0 to 100"));
    }
    let has_radius = object.get("blast_radius").is_some_and(|radius| !radius.is_null());
    let blast_radius = points(object, "blast_radius");
    if has_radius && blast_radius.is_none() {
        errors.push(wrong(format!("/{index}/blast_radius"), "must be a whole number from 0 to 100"));
    }
    if errors.len() > before {
        return None;
    }
    Some(CatalogueRule { pattern: pattern?.ok()?, criticality: criticality?, blast_radius })
}

fn points(object: &Map<String, Value>, name: &str) -> Option<u32> {
    let number = object.get(name)?.as_u64().filter(|number| *number <= POINTS_MAX)?;
    u32::try_from(number).ok()
}

fn wrong(pointer: String, detail: impl Into<String>) -> FieldError {
    FieldError { pointer, detail: detail.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tasks::Mode;

    fn resource(kind: &str, id: &str) -> Resource {
        Resource { kind: kind.into(), id: id.into(), mode: Mode::Shared }
    }

    #[test]
    fn the_first_rule_that_means_a_resource_speaks() {
        let said = json!([
            {"pattern": "database:prod-*", "criticality": 90, "blast_radius": 20},
            {"pattern": "prod-*", "criticality": 70},
            {"pattern": "database:*", "criticality": 40},
        ]);
        let catalogue = ResourceCatalogue::from_value(&said).unwrap();
        let criticality = |kind, id| {
            catalogue.rule_for(&resource(kind, id)).map(|rule| (rule.criticality, rule.blast_radius))
        };
        assert_eq!(criticality("database", "prod-1"), Some((90, Some(20))));
        assert_eq!(criticality("cache", "prod-1"), Some((70, None)));
        assert_eq!(criticality("database", "stage"), Some((40, None)));
        assert_eq!(criticality("cache", "stage"), None);
        assert_eq!(catalogue.to_value(), said, "as it came");
    }

    #[test]
    fn everything_wrong_is_named_by_place() {
        let pointers = |value: Value| -> Vec<String> {
            let errors = ResourceCatalogue::from_value(&value).err().unwrap_or_default();
            errors.into_iter().map(|error| error.pointer).collect()
        };
        assert_eq!(pointers(json!({})), [""]);
        assert_eq!(pointers(json!([1])), ["/0"]);
        assert_eq!(pointers(json!([{}])), ["/0/pattern", "/0/criticality"]);
        let rule = |name: &str, value: Value| {
            let mut rule = json!({"pattern": "*", "criticality": 1});
            rule[name] = value;
            json!([{"pattern": "*", "criticality": 0}, rule])
        };
        for bad in [json!(-1), json!(101), json!(1.5), json!("1"), json!(null)] {
            assert_eq!(pointers(rule("criticality", bad)), ["/1/criticality"]);
        }
        for bad in [json!(-1), json!(101), json!(1.5), json!("1")] {
            assert_eq!(pointers(rule("blast_radius", bad)), ["/1/blast_radius"]);
        }
        assert!(pointers(rule("blast_radius", Value::Null)).is_empty());
        assert_eq!(pointers(rule("pattern", json!("a b"))), ["/1/pattern"]);
        assert_eq!(pointers(rule("x/y", json!(1))), ["/1/x~1y"]);
        let many = |count: usize| Value::from(vec![json!({"pattern": "*", "criticality": 1}); count]);
        assert!(pointers(many(RULES_MAX)).is_empty());
        assert_eq!(pointers(many(RULES_MAX + 1)), [""]);
    }
}

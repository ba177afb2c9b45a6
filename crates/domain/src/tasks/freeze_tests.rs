//! What is frozen is what was sent, with what was left out; what is wrong is named.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;
use crate::canonical::canonical;

const DEFAULTS: Defaults = Defaults { timeout_seconds: 3600 };

fn minimal() -> Value {
    json!({"type": "infrastructure", "description": "Add an index"})
}

fn with(name: &str, value: Value) -> Value {
    let mut config = minimal();
    config[name] = value;
    config
}

fn pointers(sent: &Value) -> Vec<String> {
    match freeze(sent, &DEFAULTS) {
        Err(ConfigRefusal::Invalid(errors)) => errors.into_iter().map(|error| error.pointer).collect(),
        other => panic!("{sent}: {other:?}"),
    }
}

#[test]
fn what_is_left_out_is_filled_in_once() {
    let frozen = freeze(&minimal(), &DEFAULTS).unwrap();
    let expected = json!({
        "type": "infrastructure", "version": "1", "description": "Add an index", "action": {"kind": "external"},
        "parameters": {}, "resources": [], "rollback_strategy": "manual", "timeout_seconds": 3600, "priority": 50,
        "declared_risk": "medium", "max_retries": 0, "idempotent": false, "requires_labels": {},
    });
    assert_eq!(frozen.bytes, canonical(&expected));
    assert_eq!(frozen.hash, crate::canonical::Sha256Hash::of(&frozen.bytes));
    let other_hub = Defaults { timeout_seconds: 60 };
    assert_eq!(freeze(&expected, &other_hub).unwrap().bytes, frozen.bytes, "nothing is left to fill in");
}

/// The hash everybody can check: this text, its SHA-256 by another program.
#[test]
fn the_bytes_of_a_release_stay_the_bytes() {
    let frozen = freeze(&minimal(), &DEFAULTS).unwrap();
    let text = r#"{"action":{"kind":"external"},"declared_risk":"medium","description":"Add an index","#
        .to_owned()
        + r#""idempotent":false,"max_retries":0,"parameters":{},"priority":50,"requires_labels":{},"resources":[],"#
        + r#""rollback_strategy":"manual","timeout_seconds":3600,"type":"infrastructure","version":"1"}"#;
    assert_eq!(String::from_utf8(frozen.bytes).unwrap(), text);
    let hash = "sha256:cd8e8ad3d43b90e04623d3518481d64abbda41ee5d25895f6e01674f9a1cba8c";
    assert_eq!(frozen.hash.to_string(), hash);
}

#[test]
fn every_wrong_field_is_named() {
    let long = "x".repeat(64 * 1024);
    for (sent, wrong) in [
        (json!(null), vec!["/config"]),
        (json!([]), vec!["/config"]),
        (json!(["infrastructure", "1", "Add an index"]), vec!["/config"]),
        (json!({}), vec!["/config/type", "/config/description"]),
        (json!({"type": "a b", "description": " "}), vec!["/config/type", "/config/description"]),
        (with("description", json!("a\u{1b}[2K")), vec!["/config/description"]),
        (with("description", json!(long)), vec!["/config/description"]),
        (with("version", json!(1)), vec!["/config/version"]),
        (with("version", json!(null)), vec!["/config/version"]),
        (with("priority", json!(101)), vec!["/config/priority"]),
        (with("priority", json!(-1)), vec!["/config/priority"]),
        (with("priority", json!(5.5)), vec!["/config/priority"]),
        (with("priority", json!("50")), vec!["/config/priority"]),
        (with("timeout_seconds", json!(0)), vec!["/config/timeout_seconds"]),
        (with("timeout_seconds", json!(u64::MAX)), vec!["/config/timeout_seconds"]),
        (with("max_retries", json!(1)), vec!["/config/max_retries"]),
        (with("idempotent", json!(1)), vec!["/config/idempotent"]),
        (with("rollback_strategy", json!("Automatic")), vec!["/config/rollback_strategy"]),
        (with("declared_risk", json!("none")), vec!["/config/declared_risk"]),
        (with("parameters", json!([])), vec!["/config/parameters"]),
        (with("parameters", json!({"x": long})), vec!["/config"]),
        (with("action", json!("external")), vec!["/config/action"]),
        (with("action", json!({})), vec!["/config/action/kind"]),
        (with("action", json!({"kind": "external", "argv": []})), vec!["/config/action/argv"]),
        (with("action", json!({"kind": "shell"})), vec!["/config/action/kind"]),
        (with("resorces", json!([])), vec!["/config/resorces"]),
        (with("requires_labels", json!({"A": "b"})), vec!["/config/requires_labels/A"]),
        (with("requires_labels", json!({"a/b": 1})), vec!["/config/requires_labels/a~1b"]),
    ] {
        assert_eq!(pointers(&sent), wrong, "{sent:.200}");
    }
    assert!(
        freeze(&json!({"type": "t", "description": "d", "max_retries": 3, "idempotent": true}), &DEFAULTS)
            .is_ok()
    );
}

#[test]
fn resources_have_their_grammar_and_stand_once() {
    let resource = |kind: &str, id: &str| json!({"type": kind, "id": id});
    for (sent, wrong) in [
        (json!({}), vec!["/config/resources"]),
        (json!([["database", "prod-db-01", "exclusive"]]), vec!["/config/resources/0"]),
        (json!(["database:prod-db-01"]), vec!["/config/resources/0"]),
        (
            json!([{"type": "database"}, {"id": "x"}]),
            vec!["/config/resources/0/id", "/config/resources/1/type"],
        ),
        (json!([resource("Database", "x")]), vec!["/config/resources/0/type"]),
        (json!([resource("database", "")]), vec!["/config/resources/0/id"]),
        (json!([resource("database", "prod*")]), vec!["/config/resources/0/id"]),
        (json!([resource("database", "é")]), vec!["/config/resources/0/id"]),
        (json!([resource("a:b", "x")]), vec!["/config/resources/0/type"]),
        (json!([resource("database", &"x".repeat(257))]), vec!["/config/resources/0/id"]),
        (json!([{"type": "d", "id": "x", "mode": "both"}]), vec!["/config/resources/0/mode"]),
        (json!([{"type": "d", "id": "x", "lock": true}]), vec!["/config/resources/0/lock"]),
        (
            json!([{"type": "d", "id": "x"}, {"type": "d", "id": "x", "mode": "shared"}]),
            vec!["/config/resources/1"],
        ),
        (json!(vec![resource("d", "x"); 101]), vec!["/config/resources"]),
    ] {
        assert_eq!(pointers(&with("resources", sent.clone())), wrong, "{sent:.200}");
    }
    let many: Vec<Value> = (0..100).map(|number| resource("d", &number.to_string())).collect();
    assert_eq!(freeze(&with("resources", json!(many)), &DEFAULTS).unwrap().config.resources.len(), 100);
    let odd = with("resources", json!([resource("k8s_ns", "a.b/c@d+e=f:g-h")]));
    assert_eq!(freeze(&odd, &DEFAULTS).unwrap().config.resources[0].name(), "k8s_ns:a.b/c@d+e=f:g-h");
}

#[test]
fn what_the_hub_cannot_carry_out_has_its_own_answer() {
    for kind in ["command", "http", "operation"] {
        let sent = with("action", json!({"kind": kind, "argv": ["/bin/true"]}));
        assert_eq!(freeze(&sent, &DEFAULTS), Err(ConfigRefusal::ExecutorDisabled(kind)));
    }
}

#[test]
fn only_frozen_bytes_are_thawed() {
    let frozen = freeze(&minimal(), &DEFAULTS).unwrap();
    assert_eq!(thaw(&frozen.bytes), Ok(frozen.config.clone()));
    let without = |name: &str| {
        let mut value = frozen.config.to_value();
        value.as_object_mut().unwrap().remove(name);
        canonical(&value)
    };
    let Value::Object(members) = frozen.config.to_value() else { panic!("an object") };
    for name in members.keys() {
        assert!(thaw(&without(name)).is_err(), "{name} is never added later");
    }
    let mut more = frozen.config.to_value();
    more["later"] = json!(1);
    assert!(thaw(&canonical(&more)).is_err());
    let spaced = serde_json::to_vec_pretty(&frozen.config.to_value()).unwrap();
    for other in [&spaced[..], b"", b"{}", b"null", &[0xff]] {
        assert!(thaw(other).is_err());
    }
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-9_007_199_254_740_991_i64..=9_007_199_254_740_991).prop_map(Value::from),
        any::<f64>().prop_filter_map("finite", |number| number.is_finite().then(|| json!(number))),
        "[^\0]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[^\0]{0,6}", inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

prop_compose! {
    fn config()(
        task_type in "[a-zA-Z0-9._/-]{1,64}",
        description in "[^\\p{Cc}]{1,40}x",
        parameters in prop::collection::btree_map("[^\0]{0,8}", json_value(), 0..5),
        resources in prop::collection::btree_map(("[a-z0-9_-]{1,8}", "[A-Za-z0-9._/@+=:-]{1,12}"), any::<bool>(), 0..6),
        (priority, timeout) in (prop::option::of(0..=100u32), prop::option::of(1..=604_800u32)),
        retries in prop::option::of(0..=10u32),
        labels in prop::collection::btree_map("[a-z0-9._/-]{1,8}", "[^\\p{Cc}]{0,8}", 0..4),
    ) -> Value {
        let mode = |exclusive: bool| if exclusive { "exclusive" } else { "shared" };
        let resources: Vec<Value> = resources.into_iter()
            .map(|((kind, id), exclusive)| json!({"type": kind, "id": id, "mode": mode(exclusive)})).collect();
        let parameters: Map<String, Value> = parameters.into_iter().collect();
        let mut config = json!({"type": task_type, "description": description, "parameters": parameters,
            "resources": resources, "requires_labels": labels});
        for (name, value) in [("priority", priority), ("timeout_seconds", timeout), ("max_retries", retries)] {
            if let Some(value) = value {
                config[name] = json!(value);
            }
        }
        config["idempotent"] = json!(retries.is_some());
        config
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn freezing_and_thawing_lose_and_add_nothing(sent in config()) {
        let frozen = freeze(&sent, &DEFAULTS).unwrap();
        let thawed = thaw(&frozen.bytes).unwrap();
        // The bytes decide: 1.0 and 1 are one number to RFC 8785.
        prop_assert_eq!(canonical(&thawed.to_value()), frozen.bytes.clone());
        let again = freeze(&thawed.to_value(), &Defaults { timeout_seconds: 1 }).unwrap();
        prop_assert_eq!((again.hash, &again.bytes), (frozen.hash, &frozen.bytes));
        for (name, value) in sent.as_object().unwrap() {
            prop_assert_eq!(canonical(&thawed.to_value()[name]), canonical(value), "{} is as it was sent", name);
        }
    }

    #[test]
    fn whatever_is_sent_gets_an_answer(sent in json_value()) {
        prop_assert!(freeze(&sent, &DEFAULTS).is_err());
        prop_assert!(thaw(&canonical(&sent)).is_err());
    }
}

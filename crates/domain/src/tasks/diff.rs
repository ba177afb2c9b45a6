//! What is different between two revisions.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::json::pointer_push;

/// One place where two values differ.
#[derive(Clone, PartialEq, Debug)]
pub struct Difference {
    /// RFC 6901 pointer to it.
    pub pointer: String,
    /// What stood there; none: nothing did.
    pub from: Option<Value>,
    /// What stands there now; none: nothing does.
    pub to: Option<Value>,
}

/// Every difference, in order of the pointers' segments. Lists are compared place by place.
#[must_use]
pub fn differences(from: &Value, to: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    compare(&mut String::new(), Some(from), Some(to), &mut found);
    found
}

fn compare(pointer: &mut String, from: Option<&Value>, to: Option<&Value>, found: &mut Vec<Difference>) {
    match (from, to) {
        (Some(from), Some(to)) if from == to => {}
        (Some(Value::Object(from)), Some(Value::Object(to))) => {
            let names: BTreeSet<&String> = from.keys().chain(to.keys()).collect();
            for name in names {
                inside(pointer, name, |pointer| compare(pointer, from.get(name), to.get(name), found));
            }
        }
        (Some(Value::Array(from)), Some(Value::Array(to))) => {
            for index in 0..from.len().max(to.len()) {
                let name = index.to_string();
                inside(pointer, &name, |pointer| compare(pointer, from.get(index), to.get(index), found));
            }
        }
        (from, to) => {
            found.push(Difference { pointer: pointer.clone(), from: from.cloned(), to: to.cloned() });
        }
    }
}

fn inside(pointer: &mut String, segment: &str, look: impl FnOnce(&mut String)) {
    let length = pointer.len();
    pointer_push(pointer, segment);
    look(pointer);
    pointer.truncate(length);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn each_place_is_named_once() {
        let from = json!({"a": 1, "b": {"c": [1, 2, {"d": null}], "gone": true}, "same": "x"});
        let to = json!({"a": "1", "b": {"c": [1, 3, {"d": false}, 4], "e/f": {}}, "same": "x"});
        let found: Vec<(String, Option<Value>, Option<Value>)> = differences(&from, &to)
            .into_iter()
            .map(|difference| (difference.pointer, difference.from, difference.to))
            .collect();
        let expected = [
            ("/a", Some(json!(1)), Some(json!("1"))),
            ("/b/c/1", Some(json!(2)), Some(json!(3))),
            ("/b/c/2/d", Some(Value::Null), Some(json!(false))),
            ("/b/c/3", None, Some(json!(4))),
            ("/b/e~1f", None, Some(json!({}))),
            ("/b/gone", Some(json!(true)), None),
        ];
        assert_eq!(found, expected.map(|(pointer, from, to)| (pointer.to_owned(), from, to)));
        assert_eq!(differences(&from, &from), []);
        assert_eq!(differences(&json!([]), &json!({})).len(), 1);
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (0..3i64).prop_map(Value::from)
        ];
        leaf.prop_recursive(3, 24, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[ab~/]", inner, 0..3)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_named_is_what_stands_there(from in value(), to in value()) {
            let found = differences(&from, &to);
            prop_assert_eq!(found.is_empty(), from == to);
            for difference in found {
                prop_assert_eq!(from.pointer(&difference.pointer), difference.from.as_ref());
                prop_assert_eq!(to.pointer(&difference.pointer), difference.to.as_ref());
            }
        }
    }
}

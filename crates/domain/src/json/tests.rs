use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::canonical::canonical;

fn accepts(text: &str) -> Value {
    parse(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn refuses(text: &str, kind: JsonErrorKind, pointer: &str) {
    let error = parse(text.as_bytes()).expect_err(text);
    assert_eq!((error.kind, error.pointer.as_str()), (kind, pointer), "{text}: {error}");
}

fn malformed(text: &str) {
    let error = parse(text.as_bytes()).expect_err(text);
    assert_eq!(error.kind, JsonErrorKind::Malformed, "{text}: {error}");
}

fn unacceptable(text: &str, pointer: &str) {
    refuses(text, JsonErrorKind::Unacceptable, pointer);
}

#[test]
fn ordinary_texts_are_read() {
    let text = r#" { "a" : [ 1 , -2.5e3, true, false, null, "x" ], "b" : { } , "c":[] , "":0 } "#;
    assert_eq!(accepts(text), json!({"a": [1, -2500.0, true, false, null, "x"], "b": {}, "c": [], "": 0}));
    assert_eq!(accepts(r#""\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00é""#), json!("\"\\/\u{8}\u{c}\n\r\té😀é"));
}

#[test]
fn broken_texts_are_malformed() {
    for text in [
        "",
        " ",
        "{",
        "[",
        "[1",
        "[1,",
        "[1,]",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":1",
        "{\"a\":1,}",
        "{a:1}",
        "{'a':1}",
        "tru",
        "nul",
        "True",
        "NaN",
        "Infinity",
        "-",
        "+1",
        "01",
        "1.",
        ".5",
        "1e",
        "1e+",
        "0x1",
        "\"",
        "\"\\",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u12g4\"",
        "\"\\u+123\"",
        "\"\\u00é\"",
        "\"a\nb\"",
        "\"\0\"",
        "1 2",
        "{} {}",
        "[]]",
        "\u{feff}{}",
        "// no\n1",
        "[1 2]",
        "{\"a\" 1}",
        "\"\\ud800\\u12\"",
    ] {
        malformed(text);
    }
    let error = parse(b"{\"a\": \"\xff\"}").unwrap_err();
    assert_eq!((error.kind, error.line, error.column), (JsonErrorKind::Malformed, 1, 8));
}

#[test]
fn an_error_says_where_it_is() {
    let error = parse(b"{\n  \"a\": [1, 2,\n    x]\n}").unwrap_err();
    assert_eq!((error.line, error.column, error.pointer.as_str()), (3, 5, "/a/2"));
    assert_eq!(error.to_string(), "a value is expected here (line 3, column 5)");
}

#[test]
fn duplicate_names_are_found_at_any_depth() {
    let twice = |text, pointer| refuses(text, JsonErrorKind::DuplicateKey, pointer);
    twice(r#"{"a":1,"a":1}"#, "/a");
    twice(r#"{"a":1,"b":2,"\u0061":3}"#, "/a");
    twice(r#"[0,{"x":{"a/b":1,"a~c":2,"a/b":3}}]"#, "/1/x/a~1b");
    twice(r#"{"~":{"":1,"":2}}"#, "/~0/");
    accepts(r#"{"a":{"a":{"a":1}}}"#);
}

#[test]
fn numbers_a_double_cannot_keep_are_unacceptable() {
    assert_eq!(accepts("[9007199254740991,-9007199254740991]"), json!([INTEGER_MAX, -INTEGER_MAX]));
    unacceptable(r#"{"a":[0,9007199254740992]}"#, "/a/1");
    unacceptable("-9007199254740992", "");
    unacceptable("9007199254740993", "");
    unacceptable("18446744073709551616", "");
    unacceptable(&"9".repeat(400), "");
    unacceptable(r#"{"a":{"b":1e999}}"#, "/a/b");
    unacceptable("-1E+400", "");
    unacceptable("1e-400", "");
    // What RFC 8785 would write as an integer is treated as one.
    unacceptable("1e20", "");
    unacceptable("9007199254740991.5", "");
    assert_eq!(accepts("[1e21, 1E30, 5e-324, 0e999, -0, 0.0e-999]").as_array().unwrap().len(), 6);
    assert_eq!(canonical(&accepts("[-0,-0.0,1.0,1e2]")), b"[0,0,1,100]");
}

#[test]
fn characters_that_are_none_are_unacceptable() {
    unacceptable(r#"{"a":["x","\u0000"]}"#, "/a/1");
    unacceptable(r#"{"a":{"b\u0000":1}}"#, "/a");
    unacceptable(r#"{"a":"\ud800"}"#, "/a");
    unacceptable(r#"["\udc00"]"#, "/0");
    unacceptable(r#"["\ud800x"]"#, "/0");
    unacceptable(r#"["\ud800\n"]"#, "/0");
    unacceptable(r#"["\ud800\u0041"]"#, "/0");
    unacceptable(r#"["\ud800\ud800"]"#, "/0");
    unacceptable(r#"{"\udfff":1}"#, "");
}

#[test]
fn depth_ends_at_64() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    accepts(&nested(64));
    malformed(&nested(65));
    malformed(&"[".repeat(100_000));
    let objects = |depth: usize| format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
    accepts(&objects(64));
    malformed(&objects(65));
    // Depth is how deep, not how many.
    accepts(&format!("[{}0]", "[],{},".repeat(200)));
}

#[test]
fn pointers_escape_their_segments() {
    let mut pointer = String::from("/a");
    pointer_push(&mut pointer, "b/c~d");
    assert_eq!(pointer, "/a/b~1c~0d");
    assert_eq!(FieldError::on_member("x/y", "no").to_string(), "/x~1y: no");
}

/// Texts that are JSON or nearly so.
fn nearly_json() -> impl Strategy<Value = String> {
    let token = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"a\"",
        "\"b\"",
        "\"\\u00e9\"",
        "\"\\ud83d\\ude00\"",
        "1",
        "-1.5",
        "0",
        "1e3",
        "1E-2",
        "01",
        "true",
        "null",
        " ",
        "\n",
        "\"",
        "\\",
        "é",
        "-",
        ".",
        "\u{1}",
    ]);
    prop::collection::vec(token, 0..12).prop_map(|tokens| tokens.concat())
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-INTEGER_MAX..=INTEGER_MAX).prop_map(Value::from),
        (-1e15..1e15f64).prop_map(Value::from),
        "[^\0]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map("[^\0]{0,4}", inner, 0..6)
                .prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn agrees_with_serde_json(text in nearly_json()) {
        let theirs = serde_json::from_str::<Value>(&text);
        match parse(text.as_bytes()) {
            Ok(ours) => prop_assert_eq!(canonical(&ours), canonical(&theirs.unwrap())),
            Err(error) if error.kind == JsonErrorKind::Malformed => prop_assert!(theirs.is_err(), "{}", text),
            // serde_json lets twins and tiny numbers pass, and then the rest of the text may be anything.
            Err(_) => {}
        }
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        if parse(&bytes).is_ok() {
            prop_assert!(serde_json::from_slice::<Value>(&bytes).is_ok());
        }
    }

    #[test]
    fn doubles_are_read_to_the_last_bit(number in prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL) {
        let text = format!("{number:e}");
        if let Ok(read) = parse(text.as_bytes()) {
            prop_assert_eq!(read.as_f64().unwrap().to_bits(), number.to_bits());
        } else {
            prop_assert!(number.abs() > INTEGER_MAX as f64 && number.abs() < 1e21);
        }
    }
}

proptest! {
    #[test]
    fn what_is_written_can_be_read(value in any_value()) {
        for text in [value.to_string().into_bytes(), serde_json::to_vec_pretty(&value).unwrap(), canonical(&value)] {
            prop_assert_eq!(canonical(&parse(&text).unwrap()), canonical(&value));
        }
    }
}

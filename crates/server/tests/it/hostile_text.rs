//! Every text that any route takes, filled with what hides, ends or breaks text: a clear answer each time.

use serde_json::{Map, Value, json};
use testkit::on_each_engine;

use crate::support::send;
use crate::world::{Column, DOORS, World, request};

/// What is put into every text, one at a time.
fn hostile() -> Vec<(&'static str, String)> {
    vec![
        ("64 KiB", "é".repeat(32 * 1024)),
        ("a NUL", "a\0b".to_owned()),
        ("what hides", "\u{202e}txt\u{2066}\u{200b}\u{feff}\u{1b}[2J\r\n\u{85}\u{2028}".to_owned()),
        ("all that ends a text", "'\"`;--</script>{{}}%00%s\\u0000\\".to_owned()),
    ]
}

/// The pointer of every text in the body, and of every name in an object that takes any.
fn texts(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::String(_) => found.push(at.to_owned()),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                texts(item, &format!("{at}/{index}"), found);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                texts(member, &format!("{at}/{name}"), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Objects that take any name.
const OPEN_OBJECTS: [&str; 4] = ["/metadata", "/config/parameters", "/labels", "/health"];

#[tokio::test]
async fn no_text_of_any_route_breaks_or_hides() {
    on_each_engine(async |hub| {
        let mut world = World::new(&hub).await;
        let owner = world.visitor(Column::Instance).clone();
        let mut asked = 0;
        for door in DOORS.iter().filter(|door| door.body.len() > 2) {
            let (path, good) = world.things.call(door).await;
            let good: Value = serde_json::from_str(&good).unwrap();
            let mut places = Vec::new();
            texts(&good, "", &mut places);
            for (what, text) in hostile() {
                for place in &places {
                    let mut body = good.clone();
                    *body.pointer_mut(place).unwrap() = json!(text);
                    let answer = send(owner.ask(request(&hub, door.method, &path, &body.to_string()))).await;
                    let what = format!("{what} at {place} of {door}");
                    check(&answer, &what);
                    // A pointer names its place whole; nothing else repeats what was sent.
                    assert!(answer.status.is_success() || answer.body.len() < 8 * 1024, "{what}");
                    asked += 1;
                }
                for open in OPEN_OBJECTS {
                    let mut body = good.clone();
                    let Some(members) = body.pointer_mut(open) else { continue };
                    *members = Value::Object(Map::from_iter([(text.clone(), json!("x"))]));
                    let answer = send(owner.ask(request(&hub, door.method, &path, &body.to_string()))).await;
                    check(&answer, &format!("{what} as a name in {open} of {door}"));
                }
            }
            world.things.used_up();
        }
        assert!(asked > 200, "{asked} texts were tried");
    })
    .await;
}

fn check(answer: &crate::support::Answer, what: &str) {
    let status = answer.status.as_u16();
    assert!(status < 500, "{what}: {}", answer.text());
    if status >= 400 {
        answer.any_problem();
        let text = answer.text();
        assert!(!text.contains(['\u{202e}', '\u{2066}', '\u{1b}', '\0']), "{what}: {text}");
    }
}

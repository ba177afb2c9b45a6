use proptest::prelude::*;
use serde_json::{Value, json};

use crate::policies::conditions::{Answer, Condition, Facts};

fn facts() -> Facts<'static> {
    Facts::new(&[
        ("author", &json!({"id": "a", "roles": ["author"], "is_agent": true, "access_level": "service"})),
        ("config", &json!({"priority": 50, "ratio": 0.5, "parameters": {"hosts": ["a", "b"], "none": null}})),
        (
            "resources",
            &json!([{"type": "database", "id": "prod-1", "name": "database:prod-1", "mode": "shared"}]),
        ),
        ("risk", &json!({"score": 62, "level": "HIGH"})),
    ])
    .unwrap()
}

fn answer(source: &str) -> Answer {
    Condition::new(source).unwrap_or_else(|bad| panic!("{source}: {bad}")).ask(&facts())
}

#[test]
fn conditions_ask_about_the_task() {
    for yes in [
        "risk.score > 50",
        "risk.score == 62 && risk.level == 'HIGH'",
        "config.priority == 50 && config.ratio < 1.0 && config.priority >= 49.5",
        "author.is_agent && 'author' in author.roles",
        "resources.exists(r, r.type == 'database' && r.id.startsWith('prod-'))",
        "resources.all(r, r.mode == 'shared') && size(resources) == 1",
        "config.parameters.hosts.exists_one(h, h == 'a')",
        "config.parameters.hosts.filter(h, h != 'a').size() == 1",
        "config.parameters.hosts.map(h, h + 'x')[0] == 'ax'",
        "has(config.parameters.hosts) && !has(config.parameters.missing)",
        "config.parameters.none == null",
        "\n\trisk.score > 50 ? true : false",
    ] {
        assert_eq!(answer(yes), Answer::Yes, "{yes}");
    }
    for no in
        ["false", "risk.score < 50", "resources.exists(r, r.type == 'vm')", "has(config.nope)", "1 == 'a'"]
    {
        assert_eq!(answer(no), Answer::No, "{no}");
    }
}

#[test]
fn every_doubt_says_so() {
    for doubt in [
        "config.missing == 1",
        "config.parameters.missing.deeper",
        "resources.exists(r, r.missing == 1)",
        "resources.all(r, r.missing == 1)",
        "!(config.missing == 1)",
        "1 / 0 == 1",
        "risk.score",
        "'yes'",
        "resources",
        "null",
        "'a' > 1",
        "config.priority.exists(x, true)",
        "9223372036854775807 + 1 > 0",
        "config.parameters.hosts[7] == 'a'",
        "int(risk.level) > 1",
        "config.missing == 1 || risk.score < 50",
    ] {
        assert!(matches!(answer(doubt), Answer::Doubt(_)), "{doubt}: {:?}", answer(doubt));
    }
    // Either side of `and` settles it: no value of the other could make it true.
    assert_eq!(answer("config.missing == 1 && risk.score < 50"), Answer::No);
}

#[test]
fn limits_hold() {
    let nodes = |count: usize| vec!["true"; count.div_ceil(2)].join(" && ");
    assert!(Condition::new(&nodes(99)).is_ok());
    let nested = |count: usize| format!("{}1{} == 1", "[".repeat(count), "]".repeat(count));
    assert!(Condition::new(&nested(14)).is_ok());
    let padded = |length: usize| format!("true{}", " ".repeat(length - 4));
    assert!(Condition::new(&padded(1024)).is_ok());
    let unary = format!("{}true", "!".repeat(900));
    let ternary = format!("{}true", "true ? true : ".repeat(60));
    for bad in [
        "",
        "  ",
        "&&",
        "risk.score >",
        "a > 1",
        "task.state == 1",
        "@result",
        "config.matches('a')",
        "'a'.matches('a')",
        "matches('a', 'b')",
        "timestamp('x') > 1",
        "unknown()",
        "Message{a: 1}",
        "risk.score > 1\u{0}",
        "risk.score > 1\u{1b}[2K",
        "resources.exists(r, resources.exists(s, true))",
        "resources.map(r, r.id).exists(r, true)",
        "resources.exists(r, true) == resources.map(r, resources.all(s, true))[0]",
        &nodes(101),
        &nested(16),
        &padded(1025),
        &"(".repeat(1000),
        &"[".repeat(1000),
        &"{".repeat(1000),
        &"a.b[".repeat(200),
        &"-".repeat(1000),
        &unary.replace("true", "1 ++"),
        &ternary,
    ] {
        assert!(Condition::new(bad).is_err(), "{bad:?}");
    }
    assert!(Condition::new("resources.exists(r, true) && resources.all(r, true)").is_ok(), "side by side");
}

#[test]
fn a_price_is_no_less_than_what_is_looked_at() {
    let facts = |hosts: usize, text: usize| {
        let hosts: Vec<Value> = vec![json!("h"); hosts];
        Facts::new(&[("config", &json!({"hosts": hosts, "text": "x".repeat(text)}))]).unwrap()
    };
    let price = |source: &str, hosts, text| Condition::new(source).unwrap().price(&facts(hosts, text));
    let flat = "config.text == 'a'";
    assert!(price(flat, 0, 64 * 1024) >= 64 * price(flat, 0, 0));
    let looping = "config.hosts.exists(h, h == 'a')";
    assert!(price(looping, 1000, 0) >= 1000);
    let written = "[1, 2, 3, 4, 5].exists(h, h == 7)";
    assert!(
        price(written, 0, 0) > price("[1, 2].exists(h, h == 7)", 0, 0) + 3 * 8,
        "each of them costs a round"
    );
    let collecting = "config.hosts.map(h, h).size() > 1";
    assert!(price(collecting, 1000, 0) >= 1000 * 1000);
}

#[test]
fn what_holds_too_much_is_not_asked_about() {
    let holds = |count: usize| json!({"numbers": vec![1; count - 2]});
    assert!(Facts::new(&[("config", &holds(4096))]).is_some());
    assert!(Facts::new(&[("config", &holds(4097))]).is_none());
    assert!(Facts::new(&[("config", &holds(4096)), ("risk", &json!(1))]).is_none());
}

proptest! {
    /// Whatever people write, it is read or refused, and what is read is answered.
    #[test]
    fn nothing_written_breaks_it(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "resources", "config", "risk.score", "author", "r", "x", ".", "exists", "map", "filter", "all", "has", "size",
            "(", ")", "[", "]", "{", "}", ",", "?", ":", "!", "-", "+", "*", "/", "%", "==", "<", "in", "&&", "||", "1",
            "0", "1.5", "'a'", "b'\\xff'", "\"", "true", "null", " ", "\\u", "int", "string", "9223372036854775807", "é",
        ]), 0..24),
    ) {
        if let Ok(condition) = Condition::new(&pieces.concat()) {
            let facts = facts();
            prop_assert!(condition.price(&facts) > 0);
            prop_assert_eq!(condition.ask(&facts), condition.ask(&facts));
        }
    }

    #[test]
    fn no_text_breaks_it(text in "\\PC{0,60}") {
        if let Ok(condition) = Condition::new(&text) {
            prop_assert_eq!(condition.ask(&facts()), condition.ask(&facts()));
        }
    }
}

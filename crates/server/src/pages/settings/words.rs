//! What each setting means, in words; its name on the wire stands beside them.

use domain::settings::durations::{read_spoken, spoken};
use serde_json::Value;

use crate::pages::capitalised;
use crate::pages::form::several;
use crate::pages::show::grouped;

/// How a value is said and taken.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Seconds, said as people say them.
    Time,
    /// A number.
    Number,
    /// `enabled` or `disabled`.
    Switch,
    /// Several numbers.
    Numbers,
    /// Ids of accounts.
    Accounts,
}

/// A setting in words.
pub(super) struct Words {
    name: &'static str,
    pub(super) title: &'static str,
    pub(super) about: &'static str,
    pub(super) form: Form,
}

const fn words(name: &'static str, title: &'static str, form: Form, about: &'static str) -> Words {
    Words { name, title, about, form }
}

const WORDS: [Words; 15] = [
    words(
        "approval:default_timeout",
        "Answer within",
        Form::Time,
        "Then a request escalates, where its policy says nothing else.",
    ),
    words(
        "approval:max_timeout",
        "Answer within, at most",
        Form::Time,
        "The longest time a policy may give.",
    ),
    words("approval:on_call", "On call", Form::Accounts, "Who is told at every escalation."),
    words(
        "approval:validity",
        "An approval is good for",
        Form::Time,
        "If the first attempt does not start in this time, the task is reviewed anew.",
    ),
    words("events:retention", "Events are kept for", Form::Time, "The audit log is kept for good."),
    words(
        "feature:auto_approve_low_risk",
        "Auto-approve low risk",
        Form::Switch,
        "Only where every policy that applies allows it.",
    ),
    words("feature:batch_approvals", "Batch approvals", Form::Switch, "Several requests answered at once."),
    words(
        "feature:deadlock_detection",
        "Deadlock detection",
        Form::Switch,
        "Off: whoever waits in a circle waits until a lock expires.",
    ),
    words(
        "lock:default_ttl",
        "Lock lifetime",
        Form::Time,
        "How long a lock lives without a word from its holder.",
    ),
    words("lock:heartbeat_interval", "Lock renewal", Form::Time, "How often a holder should renew its lock."),
    words("lock:max_queue_depth", "Lock queue", Form::Number, "How many may wait for one key."),
    words("lock:max_ttl", "Lock lifetime, at most", Form::Time, "The longest life a holder may ask for."),
    words(
        "risk:thresholds",
        "Risk levels",
        Form::Numbers,
        "The scores at which MEDIUM, HIGH and CRITICAL begin.",
    ),
    words(
        "task:default_timeout",
        "Time for one attempt",
        Form::Time,
        "How long applying a task may take, where the task does not say.",
    ),
    words("task:retention", "Finished tasks stay for", Form::Time, "After that they are archived."),
];

/// The words of a setting; none for one that has none yet.
pub(super) fn of(name: &str) -> Option<&'static Words> {
    WORDS.iter().find(|words| words.name == name)
}

/// A value as people say it, exactly: what is typed back unchanged means the same.
pub(super) fn said(form: Option<Form>, value: &Value) -> String {
    let plain = || value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match (form, value) {
        (Some(Form::Time), Value::Number(seconds)) => seconds.as_u64().map_or_else(plain, spoken),
        (Some(Form::Numbers | Form::Accounts), Value::Array(items)) => {
            let items =
                items.iter().map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned));
            items.collect::<Vec<_>>().join(", ")
        }
        _ => plain(),
    }
}

/// What is typed, as it is stored: times in seconds, lists between commas or as JSON. Empty goes back to what it is for
/// everybody. What cannot be read stays the text it is, for the rules to refuse.
pub(super) fn meant(form: Option<Form>, text: &str) -> Value {
    let text = text.trim();
    if text.is_empty() {
        return Value::Null;
    }
    let json = domain::json::parse(text.as_bytes());
    let as_text = |text: &str| Value::String(text.to_owned());
    match (form, json) {
        (Some(Form::Time), _) => read_spoken(text).map_or_else(|| as_text(text), Value::from),
        (_, Ok(value @ Value::Array(_))) => value,
        (Some(Form::Numbers), _) => {
            let number = |word: String| word.parse::<u64>().map_or_else(|_| as_text(&word), Value::from);
            several(text).into_iter().map(number).collect()
        }
        (Some(Form::Accounts), _) => several(text).into_iter().map(Value::String).collect(),
        (_, Ok(value)) => value,
        (_, Err(_)) => as_text(text),
    }
}

/// What is wrong with a setting, with what it is called.
pub(super) fn wrong(name: &str, detail: &str) -> String {
    let known = of(name);
    // A name on the wire is not a word that begins a sentence.
    let Some(title) = known.map(|words| words.title) else {
        return format!("{} ({name}).", capitalised(detail).trim_end_matches('.'));
    };
    let detail = &apart(detail);
    // Some rules name the settings they are about.
    if detail.starts_with(name) {
        let said = WORDS
            .iter()
            .fold(detail.clone(), |said, words| said.replace(words.name, &format!("“{}”", words.title)));
        return capitalised(&said);
    }
    let unit = match known.is_some_and(|words| words.form == Form::Time) {
        true => " seconds; you can also say it as 30 s, 48 h or 7 days",
        false => "",
    };
    capitalised(&format!("“{title}” {detail}{unit}"))
}

/// The same with the thousands of its numbers apart.
fn apart(detail: &str) -> String {
    let said = detail.split(' ').map(|word| match word.parse::<i64>() {
        Ok(number) => grouped(number),
        Err(_) => word.to_owned(),
    });
    said.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use domain::settings::Settings;
    use serde_json::json;

    use super::*;

    #[test]
    fn every_setting_has_words_and_says_what_it_is() {
        for (name, value) in Settings::default().to_json() {
            let words = of(&name).unwrap_or_else(|| panic!("{name} has no words"));
            assert!(!words.title.contains(':') && words.about.ends_with('.'), "{name}");
            if value != json!([]) {
                assert_eq!(meant(Some(words.form), &said(Some(words.form), &value)), value, "{name}");
            }
        }
        assert_eq!(WORDS.len(), Settings::names().count());
    }

    #[test]
    fn values_are_said_and_taken_as_people_do() {
        let time = Some(Form::Time);
        assert_eq!([172_800, 30, 604_800].map(|s| said(time, &json!(s))), ["48 h", "30 s", "7 days"]);
        assert_eq!(
            ["3600", "1 h", "", "3e"].map(|text| meant(time, text)),
            [json!(3600), json!(3600), Value::Null, json!("3e")]
        );
        let numbers = Some(Form::Numbers);
        assert_eq!(said(numbers, &json!([25, 50, 75])), "25, 50, 75");
        for text in ["25, 50, 75", "[25, 50, 75]"] {
            assert_eq!(meant(numbers, text), json!([25, 50, 75]), "{text}");
        }
        assert_eq!(meant(Some(Form::Accounts), "a, b"), json!(["a", "b"]));
        assert_eq!(meant(Some(Form::Accounts), "[]"), json!([]));
        assert_eq!([meant(Some(Form::Switch), "enabled"), meant(None, "7")], [json!("enabled"), json!(7)]);
    }

    #[test]
    fn what_is_wrong_is_said_with_what_it_is_called() {
        let detail = "must be a whole number from 1 to 86400";
        assert_eq!(
            wrong("lock:max_ttl", detail),
            "“Lock lifetime, at most” must be a whole number from 1 to 86,400 seconds; you can also say it as 30 s, 48 h or 7 days."
        );
        assert_eq!(
            wrong("lock:default_ttl", "lock:default_ttl must not exceed lock:max_ttl"),
            "“Lock lifetime” must not exceed “Lock lifetime, at most”."
        );
        assert_eq!(wrong("no:such", "there is no such setting"), "There is no such setting (no:such).");
    }
}

use serde_json::json;

use super::*;

fn change(patch: Value) -> Result<Changed, Vec<FieldError>> {
    Settings::default().change(patch.as_object().unwrap())
}

#[track_caller]
fn refused(patch: Value, pointers: &[&str]) {
    let errors = change(patch).unwrap_err();
    assert_eq!(errors.iter().map(|error| error.pointer.as_str()).collect::<Vec<_>>(), pointers);
}

#[test]
fn defaults_are_those_of_the_api() {
    let expected = json!({
        "approval:default_timeout": 172_800, "approval:max_timeout": 604_800, "approval:on_call": [],
        "approval:validity": 604_800, "events:retention": 2_592_000, "feature:auto_approve_low_risk": "disabled",
        "feature:batch_approvals": "enabled", "feature:deadlock_detection": "enabled", "lock:default_ttl": 30,
        "lock:heartbeat_interval": 10, "lock:max_queue_depth": 100, "lock:max_ttl": 300,
        "risk:thresholds": [25, 50, 75], "task:default_timeout": 3600, "task:retention": 7_776_000
    });
    assert_eq!(Value::Object(Settings::default().to_json()), expected);
    assert!(Settings::names().is_sorted());
}

#[test]
fn every_setting_can_be_changed_and_reset() {
    let account = "01890000-0000-7000-8000-000000000001";
    let patch = json!({
        "approval:default_timeout": 60, "approval:max_timeout": 61, "approval:on_call": [account],
        "approval:validity": 1, "events:retention": 1, "feature:auto_approve_low_risk": "enabled",
        "feature:batch_approvals": "disabled", "feature:deadlock_detection": "disabled", "lock:default_ttl": 4,
        "lock:heartbeat_interval": 2, "lock:max_queue_depth": 1, "lock:max_ttl": 4, "risk:thresholds": [1, 2, 100],
        "task:default_timeout": 5, "task:retention": 6
    });
    let changed = change(patch.clone()).unwrap();
    assert_eq!(Value::Object(changed.settings.to_json()), patch);
    assert!(changed.changes.iter().map(|change| change.name).eq(Settings::names()));
    assert!(changed.changes.iter().all(|change| change.stored.as_ref() == Some(&change.to)));

    let stored = changed.changes.iter().map(|change| (change.name, change.to.clone()));
    assert_eq!(Settings::merged(stored).unwrap(), changed.settings);

    let nulls: Map<String, Value> = Settings::names().map(|name| (name.to_owned(), Value::Null)).collect();
    let reset = changed.settings.change(&nulls).unwrap();
    assert_eq!(reset.settings, Settings::default());
    assert!(reset.changes.iter().all(|change| change.stored.is_none() && change.from != change.to));
}

#[test]
fn values_of_the_wrong_kind_are_refused() {
    for wrong in
        [json!(0), json!(-1), json!(1.5), json!("30"), json!(true), json!([30]), json!(86_401), json!(1e30)]
    {
        refused(json!({"lock:max_ttl": wrong}), &["/lock:max_ttl"]);
    }
    for wrong in [json!("on"), json!(true), json!("Enabled"), json!(1)] {
        refused(json!({"feature:batch_approvals": wrong}), &["/feature:batch_approvals"]);
    }
    for wrong in [
        json!([25, 50]),
        json!([0, 50, 75]),
        json!([50, 50, 75]),
        json!([25, 50, 101]),
        json!([75, 50, 25]),
        json!(25),
    ] {
        refused(json!({"risk:thresholds": wrong}), &["/risk:thresholds"]);
    }
    let account = |last: usize| format!("01890000-0000-7000-8000-{last:012}");
    let many: Vec<String> = (0..=ON_CALL_MAX).map(account).collect();
    for wrong in [json!("x"), json!(["x"]), json!([1]), json!([account(1), account(1)]), json!(many)] {
        refused(json!({"approval:on_call": wrong}), &["/approval:on_call"]);
    }
    assert!(change(json!({"approval:on_call": many[1..]})).is_ok());
}

#[test]
fn settings_must_agree_with_each_other() {
    refused(json!({"lock:default_ttl": 301}), &["/lock:default_ttl"]);
    refused(json!({"lock:max_ttl": 29}), &["/lock:max_ttl"]);
    refused(json!({"lock:heartbeat_interval": 16}), &["/lock:heartbeat_interval"]);
    refused(json!({"lock:default_ttl": 19}), &["/lock:default_ttl"]);
    refused(json!({"approval:max_timeout": 1}), &["/approval:max_timeout"]);
    assert!(change(json!({"lock:default_ttl": 400, "lock:max_ttl": 400})).is_ok(), "only the result counts");
    assert!(change(json!({"lock:default_ttl": 20})).is_ok());
}

#[test]
fn all_mistakes_are_reported_at_once() {
    refused(
        json!({"a/b": 1, "lock:max_ttl": 0, "risk:thresholds": []}),
        &["/a~1b", "/lock:max_ttl", "/risk:thresholds"],
    );
}

#[test]
fn a_change_tells_before_and_after() {
    let changed = change(json!({"lock:max_ttl": 600, "lock:default_ttl": null})).unwrap();
    assert_eq!(
        changed.changes,
        [
            SettingChange { name: "lock:default_ttl", stored: None, from: json!(30), to: json!(30) },
            SettingChange {
                name: "lock:max_ttl",
                stored: Some(json!(600)),
                from: json!(300),
                to: json!(600)
            },
        ]
    );
    assert_eq!(change(json!({})).unwrap(), Changed { settings: Settings::default(), changes: vec![] });
}

#[test]
fn what_is_stored_is_checked_too() {
    assert_eq!(Settings::merged([("later:invention", json!(1))]).unwrap(), Settings::default());
    assert!(Settings::merged([("lock:max_ttl", json!("x"))]).is_err());
    assert_eq!(Settings::merged([("lock:max_ttl", json!(5))]).unwrap_err()[0].pointer, "/lock:max_ttl");
}

use serde_json::json;
use uuid::Uuid;

use super::*;

fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros)
}

fn account(number: u128) -> Id<Account> {
    Id::new(Uuid::from_u128(number))
}

fn agent() -> Agent {
    Agent {
        id: account(1),
        org_id: Id::new(Uuid::from_u128(100)),
        owner_id: account(2),
        name: "deployer".to_owned(),
        description: String::new(),
        model: None,
        role_name: None,
        max_tasks: 1,
        labels: BTreeMap::new(),
        config: Map::new(),
        draining: false,
        last_heartbeat: None,
        health: None,
        offline_since: Some(at(10)),
        deactivated_at: None,
        created_at: at(10),
        updated_at: at(10),
    }
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

#[test]
fn a_status_is_what_the_row_says() {
    let heard = agent().heard(None, at(20));
    assert_eq!(agent().status(), AgentStatus::Offline, "never heard");
    assert_eq!(heard.status(), AgentStatus::Active);
    let draining = heard.set_draining(true, at(21));
    assert_eq!(draining.status(), AgentStatus::Draining);
    let silent = Agent { offline_since: Some(at(30)), ..draining.clone() };
    assert_eq!(silent.status(), AgentStatus::Offline, "nobody is there to finish");
    assert_eq!(silent.heard(None, at(40)).status(), AgentStatus::Draining, "and back it still drains");
    assert_eq!(draining.deactivated(at(50)).status(), AgentStatus::Offline);
    for status in AgentStatus::ALL {
        assert_eq!(status.as_str().parse(), Ok(status));
    }
}

#[test]
fn what_it_said_of_itself_stays_until_it_says_something_else() {
    let said = object(json!({"load": 0.5}));
    let first = agent().heard(Some(&said), at(20));
    assert_eq!(first.health, Some(json!({"load": 0.5})));
    let second = first.heard(None, at(30));
    assert_eq!((second.health.as_ref(), second.last_heartbeat), (first.health.as_ref(), Some(at(30))));
    assert_eq!(second.heard(Some(&Map::new()), at(40)).health, Some(json!({})));
    assert!(second.updated_at > first.updated_at);
}

#[test]
fn three_missed_heartbeats_are_silence_but_not_before_thirty_seconds() {
    for (interval, seconds) in [(1, 30), (10, 30), (11, 33), (3600, 10_800)] {
        assert_eq!(silence_allowed(interval).as_secs(), seconds, "{interval}");
        assert!(shortest_silence() <= silence_allowed(interval));
    }
}

fn pointers(change: &AgentChange) -> Vec<String> {
    let errors = agent().changed(change, at(20)).err().unwrap_or_default();
    errors.into_iter().map(|error| error.pointer).collect()
}

fn labels(count: usize) -> AgentChange {
    let labels = (0..count).map(|number| (format!("key{number}"), String::new())).collect();
    AgentChange { labels: Some(labels), ..AgentChange::default() }
}

fn label(key: &str, value: &str) -> AgentChange {
    let labels = BTreeMap::from([(key.to_owned(), value.to_owned())]);
    AgentChange { labels: Some(labels), ..AgentChange::default() }
}

#[test]
fn everything_has_a_bound() {
    let plain = AgentChange::default;
    let text = |length: usize| "é".repeat(length);
    let config = |length: usize| AgentChange {
        config: Some(object(json!({"k": "x".repeat(length - r#"{"k":""}"#.len())}))),
        ..plain()
    };
    let cases: [(AgentChange, &[&str]); 21] = [
        (AgentChange { name: Some(text(200)), ..plain() }, &[]),
        (AgentChange { name: Some(text(201)), ..plain() }, &["/name"]),
        (AgentChange { name: Some("a\nb".to_owned()), ..plain() }, &["/name"]),
        (AgentChange { description: Some(text(4096)), ..plain() }, &[]),
        (AgentChange { description: Some(text(4097)), ..plain() }, &["/description"]),
        (AgentChange { model: Some(Some(String::new())), ..plain() }, &["/model"]),
        (AgentChange { role_name: Some(Some(text(201))), ..plain() }, &["/role_name"]),
        (AgentChange { max_tasks: Some(0), ..plain() }, &["/max_tasks"]),
        (AgentChange { max_tasks: Some(1000), ..plain() }, &[]),
        (AgentChange { max_tasks: Some(1001), ..plain() }, &["/max_tasks"]),
        (labels(50), &[]),
        (labels(51), &["/labels"]),
        (label("a.b_c/d-9", &text(256)), &[]),
        (label("a", &text(257)), &["/labels/a"]),
        (label("a", "\u{1b}"), &["/labels/a"]),
        (label("", "x"), &["/labels/"]),
        (label(&"a".repeat(65), "x"), &[&format!("/labels/{}", "a".repeat(65))]),
        (label("A/b", "x"), &["/labels/A~1b"]),
        (config(65_536), &[]),
        (config(65_537), &["/config"]),
        (AgentChange { name: Some(String::new()), max_tasks: Some(-1), ..plain() }, &["/name", "/max_tasks"]),
    ];
    for (change, expected) in cases {
        assert_eq!(pointers(&change), expected, "{change:?}");
    }
    assert!(check_health(&object(json!({"k": "x".repeat(16 * 1024 - 8)}))).is_ok());
    assert!(check_health(&object(json!({"k": "x".repeat(16 * 1024 - 7)}))).is_err());
}

#[test]
fn a_change_is_a_new_version_and_no_change_is_none() {
    let before = Agent { model: Some("m".to_owned()), ..agent() };
    assert_eq!(before.changed(&AgentChange::default(), at(20)).unwrap(), before);
    let same = AgentChange { name: Some(before.name.clone()), ..AgentChange::default() };
    assert_eq!(before.changed(&same, at(20)).unwrap(), before);
    let removed = AgentChange { model: Some(None), ..AgentChange::default() };
    let after = before.changed(&removed, at(5)).unwrap();
    assert_eq!((after.model, after.updated_at), (None, at(11)));
}

fn line(numbers: &[u128]) -> Vec<Answerer> {
    numbers.iter().map(|number| Answerer { id: account(*number), may_act: true }).collect()
}

#[test]
fn owners_stand_in_a_line_that_ends() {
    let agent = account(1);
    assert_eq!(may_own(agent, &line(&[2])), Ok(()));
    assert_eq!(may_own(agent, &line(&[2, 3, 4, 5, 6, 7, 8, 9])), Ok(()));
    assert_eq!(may_own(agent, &line(&[2, 3, 4, 5, 6, 7, 8, 9, 10])), Err(OwnerRefusal::TooLong));
    assert_eq!(may_own(agent, &line(&[1])), Err(OwnerRefusal::Itself));
    assert_eq!(may_own(agent, &line(&[2, 3, 1, 2, 3, 1, 2, 3, 1])), Err(OwnerRefusal::Cycle));
    assert_eq!(may_own(agent, &[]), Err(OwnerRefusal::NotAMember));
    let mut gone = line(&[2, 3]);
    gone[1].may_act = false;
    assert_eq!(may_own(agent, &gone), Err(OwnerRefusal::Unanswered));
    gone[0].may_act = false;
    assert_eq!(may_own(agent, &gone), Err(OwnerRefusal::NotAMember));
}

#[test]
fn who_may_do_what() {
    use AgentAct::{Change, ChangeOwner, Deactivate, Drain, Heartbeat, Lock, Resume, Work};
    let nobody = Relation { is_itself: false, is_owner: false, is_org_admin: false, may_write: true };
    let itself = Relation { is_itself: true, may_write: false, ..nobody };
    let owner = Relation { is_owner: true, ..nobody };
    let admin = Relation { is_org_admin: true, ..nobody };
    let narrow = Relation { is_owner: true, is_org_admin: true, may_write: false, ..nobody };
    let allowed = |relation| {
        let acts = [Change, ChangeOwner, Heartbeat, Drain, Resume, Deactivate, Lock, Work];
        acts.into_iter().filter(|act| may(*act, relation)).collect::<Vec<_>>()
    };
    assert_eq!(allowed(nobody), []);
    assert_eq!(allowed(narrow), [Lock, Work]);
    assert_eq!(allowed(itself), [Heartbeat, Drain, Lock, Work]);
    assert_eq!(allowed(owner), [Change, Heartbeat, Drain, Resume, Deactivate, Lock, Work]);
    assert_eq!(allowed(admin), [Change, ChangeOwner, Drain, Resume, Deactivate]);
}

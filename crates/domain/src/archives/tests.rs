use ed25519_dalek::{SigningKey, VerifyingKey};
use serde_json::{Map, Value, json};

use super::verify::{Flaw, verify};
use super::*;
use crate::approvals::Answer;
use crate::audit::{AuditEntry, Chain, Seal, SealHead, merkle};
use crate::canonical::canonical_text;
use crate::sample::{alone, answered, at, case, id, revision};
use crate::subject::Subject;
use crate::tasks::{Provenance, TaskStatus};

const CUTOFF: Timestamp = Timestamp::from_micros(1_000);
const FREE: Surroundings = Surroundings {
    is_needed: false,
    is_running: false,
    is_sealed: true,
    rows_max: ROWS_PER_TASK_MAX,
    output_bytes: OUTPUT_BYTES_ARCHIVED_MAX,
};

fn ended(state: TaskState, ended_at: i64) -> Task {
    let task = case(Vec::new(), &[]).task;
    Task { state, status: TaskStatus::of(state, false), ended_at: Some(at(ended_at)), ..task }
}

#[test]
fn what_is_over_for_long_enough_leaves() {
    for state in TaskState::ALL {
        let task = Task { ended_at: state.is_final().then_some(CUTOFF), ..ended(state, 0) };
        let expected = if state.is_final() { Ok(()) } else { Err(Stays::NotOver) };
        assert_eq!(may_leave(&task, &FREE, CUTOFF), expected, "{state:?}");
    }
    assert_eq!(may_leave(&ended(TaskState::Failed, 1_001), &FREE, CUTOFF), Err(Stays::Kept));
    let unfinished = Task { state: TaskState::Applying, ..ended(TaskState::Failed, 1) };
    assert_eq!(may_leave(&unfinished, &FREE, CUTOFF), Err(Stays::NotOver), "the state counts too");
}

#[test]
fn each_reason_to_stay_is_enough() {
    let task = ended(TaskState::Completed, 1);
    for (around, stays) in [
        (Surroundings { is_needed: true, ..FREE }, Stays::Needed),
        (Surroundings { is_running: true, ..FREE }, Stays::Running),
        (Surroundings { is_sealed: false, ..FREE }, Stays::Unsealed),
        (Surroundings { rows_max: ROWS_PER_TASK_MAX + 1, ..FREE }, Stays::TooLarge),
        (Surroundings { output_bytes: OUTPUT_BYTES_ARCHIVED_MAX + 1, ..FREE }, Stays::TooLarge),
    ] {
        assert_eq!(may_leave(&task, &around, CUTOFF), Err(stays));
    }
}

fn signer() -> SigningKey {
    SigningKey::from_bytes(&[7; 32])
}

fn entry(number: u128, subject: Subject, action: &str, to_state: Option<&str>) -> AuditEntry {
    AuditEntry {
        id: id(0xa0 + number),
        chain: Chain::Organization(id(1)),
        actor: id(5),
        key_id: None,
        login_session_id: None,
        session_id: None,
        action: action.into(),
        subject,
        from_state: None,
        to_state: to_state.map(str::to_owned),
        occurred_at: at(10 + i64::try_from(number).unwrap()),
        ip: None,
        user_agent: None,
        service: None,
        reason: None,
        ticket_ref: None,
        details: Map::new(),
    }
}

/// A task that one person rejected, with its record under two seals.
fn rejected() -> Finished {
    let case = case(Vec::new(), &[5]);
    let task = Task { ended_at: Some(at(20)), state: TaskState::Rejected, ..case.task.clone() };
    let seat = answered(&case.seats[0], Answer::Reject, alone(id(5)));
    let about_task = || Subject::new("task", task.id);
    let hash = json!(task.content_hash.to_string());
    let with_hash = |mut entry: AuditEntry| {
        entry.details.insert("content_hash".into(), hash.clone());
        entry
    };
    let rows = [
        with_hash(entry(1, about_task(), "task:created", Some("DRAFT"))),
        with_hash(entry(
            2,
            Subject::new("approval", seat.approval.id),
            "approval:rejected",
            Some("REJECTED"),
        )),
        entry(3, about_task(), "task:rejected", Some("REJECTED")),
    ];
    let bodies: Vec<Vec<u8>> = rows.iter().map(AuditEntry::body).collect();
    let leaves = |bodies: &[Vec<u8>]| bodies.iter().map(|body| merkle::leaf(body)).collect();
    let start = SealHead::start(Chain::Organization(id(1)));
    let first = Seal::make(&start, id(1), leaves(&bodies[..2]), at(30), &signer()).unwrap();
    let second = Seal::make(&first.head(), id(2), leaves(&bodies[2..]), at(31), &signer()).unwrap();
    let proofs = bodies.into_iter().zip([&first, &first, &second]);
    Finished {
        depends_on: vec![id(77)],
        revisions: vec![revision(&task, Provenance::default())],
        comments: Vec::new(),
        reviews: vec![case.review.clone()],
        approvals: vec![seat.approval],
        grants: Vec::new(),
        executions: Vec::new(),
        outputs: BTreeMap::new(),
        proofs: proofs.map(|(body, seal)| Proof::of(body, seal).unwrap()).collect(),
        task,
    }
}

fn line() -> String {
    rejected().line(id(9), at(40), &[signer().verifying_key()])
}

/// What is found when the line is changed like this.
#[track_caller]
fn found(change: impl FnOnce(&mut Value)) -> Flaw {
    let mut value: Value = serde_json::from_str(&line()).unwrap();
    change(&mut value);
    verify(canonical_text(&value).as_bytes(), None).unwrap_err()
}

#[test]
fn a_line_proves_itself() {
    let line = line();
    let text = line.strip_suffix('\n').unwrap();
    assert!(!text.contains('\n'));
    let proven = verify(text.as_bytes(), None).unwrap();
    assert_eq!((proven.rows, proven.keys_trusted, proven.key_ids.len()), (3, false, 1));
    assert_eq!(proven.task_id, rejected().task.id.to_string());
    let trusted: [VerifyingKey; 1] = [signer().verifying_key()];
    assert!(verify(text.as_bytes(), Some(&trusted)).unwrap().keys_trusted);
    let other = SigningKey::from_bytes(&[8; 32]).verifying_key();
    assert!(matches!(verify(text.as_bytes(), Some(&[other])), Err(Flaw::NotSigned { seal: 1, .. })));
}

#[test]
fn the_config_in_a_line_is_the_very_bytes() {
    let line = line();
    assert!(line.contains(std::str::from_utf8(crate::sample::BYTES).unwrap()), "{line}");
}

#[test]
fn whoever_changes_what_is_on_record_is_found_out() {
    assert_eq!(found(|line| line["kind"] = json!("other")), Flaw::Malformed);
    assert_eq!(
        found(|line| line["task"]["state"] = json!("COMPLETED")),
        Flaw::StateChanged { state: "COMPLETED".into() }
    );
    assert_eq!(
        found(|line| line["revisions"][0]["config"]["type"] = json!("other")),
        Flaw::ConfigChanged { number: 1 }
    );
    let other = Sha256Hash::of(b"{}").to_string();
    assert_eq!(
        found(|line| {
            line["revisions"][0]["config"] = json!({});
            line["revisions"][0]["content_hash"] = json!(other);
        }),
        Flaw::ConfigChanged { number: 1 },
        "a config with its own hash that nobody has on record"
    );
    let approval = rejected().approvals[0].id.to_string();
    for (name, value) in
        [("response_action", "approve"), ("reviewed_by", "x"), ("response_reason", "because")]
    {
        let flaw = found(|line| line["approvals"][0][name] = json!(value));
        assert_eq!(flaw, Flaw::AnswerChanged { approval: approval.clone() }, "{name}");
    }
}

#[test]
fn whoever_changes_the_record_is_found_out() {
    let body = |line: &mut Value, place: usize| {
        let changed = line["proofs"][place]["body"].as_str().unwrap().replace("task:", "tusk:");
        line["proofs"][place]["body"] = json!(changed);
    };
    assert_eq!(found(|line| body(line, 2)), Flaw::NotSealed { place: 2, seal: 2 });
    assert_eq!(found(|line| line["proofs"][1]["index"] = json!(0)), Flaw::NotSealed { place: 1, seal: 1 });
    assert_eq!(found(|line| line["seals"][0]["count"] = json!(3)), Flaw::SealChanged { seal: 1 });
    assert!(matches!(
        found(|line| {
            let other = SigningKey::from_bytes(&[8; 32]).verifying_key();
            line["keys"][0]["public_key"] = json!(hex::encode(other.as_bytes()));
        }),
        Flaw::NotSigned { seal: 1, .. }
    ));
    assert_eq!(
        found(|line| {
            line["proofs"].as_array_mut().unwrap().remove(2);
        }),
        Flaw::StateChanged { state: "REJECTED".into() },
        "a row that is left out"
    );
}

#[test]
fn the_record_of_another_task_proves_nothing() {
    assert_eq!(
        found(|line| line["task"]["id"] = json!(id::<Task>(4).to_string())),
        Flaw::Strange { place: 0 }
    );
}

#[test]
fn a_line_is_written_in_one_way() {
    let line = line();
    let text = line.strip_suffix('\n').unwrap();
    let spaced = text.replacen("{\"", "{ \"", 1);
    assert_eq!(verify(spaced.as_bytes(), None), Err(Flaw::Malformed));
    assert_eq!(verify(b"", None), Err(Flaw::Malformed));
    assert_eq!(verify(b"{}", None), Err(Flaw::Malformed));
}

use ed25519_dalek::SigningKey;

use super::*;
use crate::audit::testing::{chain, row, seals, signer};
use crate::audit::{Finding, Report};

/// The first of the test seals and one row that is not sealed.
fn export_of(count: usize) -> Vec<String> {
    let (mut writer, header) = ExportWriter::start(
        chain(),
        Timestamp::from_micros(1_773_848_000_000_000),
        &[signer().verifying_key()],
    );
    let mut lines = vec![header];
    for (seal, rows) in seals().into_iter().take(count) {
        lines.push(writer.seal(&seal));
        lines.extend(rows.iter().map(|row| writer.row(row, Some(seal.number))));
    }
    lines.push(writer.row(&row(9), None));
    lines.push(writer.end());
    lines
}

fn export() -> Vec<String> {
    export_of(3)
}

fn check(mut verifier: ExportVerifier, bytes: &[u8]) -> Result<Report, Finding> {
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        verifier.line(line)?;
    }
    verifier.finish()
}

fn verify(lines: &[String]) -> Result<Report, Finding> {
    check(ExportVerifier::new(Some(vec![signer().verifying_key()])), lines.concat().as_bytes())
}

#[track_caller]
fn malformed(lines: &[String], line: u64) {
    let found = verify(lines);
    assert!(matches!(found, Err(Finding::ExportMalformed { line: at, .. }) if at == line), "{found:?}");
}

#[test]
fn a_good_export_is_reported() {
    let head = seals().last().map(|(seal, _)| seal.hash);
    let report = Report { chain: chain(), seals: 3, rows: 7, unsealed: 1, head, keys_trusted: true };
    assert_eq!(verify(&export()), Ok(report.clone()));
    let by_its_own_keys = check(ExportVerifier::new(None), export().concat().as_bytes());
    assert_eq!(by_its_own_keys, Ok(Report { keys_trusted: false, ..report }));
}

#[test]
fn lines_look_as_documented() {
    let lines = export();
    let key = signer().verifying_key();
    let expected = format!(
        r#"{{"chain":"{}","exported_at":"2026-03-18T15:33:20.000000Z","keys":[{{"key_id":"{}","public_key":"{}"}}],"kind":"header","v":1}}"#,
        chain(),
        crate::audit::seal::key_id(&key),
        hex::encode(key.as_bytes()),
    );
    assert_eq!(lines[0], expected + "\n");
    assert_eq!(lines.len(), 12);
    for (line, member) in
        [(1, r#""kind":"seal""#), (2, r#""seal":1}"#), (10, r#""seal":null}"#), (11, r#""sha256":""#)]
    {
        assert!(lines[line].contains(member), "{}", lines[line]);
    }
    assert!(lines.iter().all(|line| line.ends_with("}\n") && line.matches('\n').count() == 1));
}

#[test]
fn every_changed_byte_is_found() {
    let lines = export_of(1);
    let mut before = ExportVerifier::new(None);
    for (number, line) in lines.iter().enumerate() {
        let rest = lines[number..].concat().into_bytes();
        for at in 0..line.len() {
            // The lowest bit, upper for lower case, and what is no UTF-8 any more.
            for bit in [0x01, 0x20, 0x80] {
                let mut bad = rest.clone();
                bad[at] ^= bit;
                assert!(check(before.clone(), &bad).is_err(), "line {number}, byte {at} ^ {bit:#x}");
            }
        }
        before.line(line.as_bytes()).unwrap();
    }
    assert!(before.finish().is_ok());
}

#[test]
fn every_cut_is_found() {
    let mut before = ExportVerifier::new(None);
    for line in export() {
        for length in 0..line.len() {
            assert!(check(before.clone(), &line.as_bytes()[..length]).is_err(), "{length} of {line}");
        }
        before.line(line.as_bytes()).unwrap();
    }
    assert!(before.finish().is_ok());
    assert_eq!(verify(&export()[..11]), Err(Finding::ExportTruncated));
    assert_eq!(verify(&[]), Err(Finding::ExportTruncated));
}

#[test]
fn every_removed_repeated_or_swapped_line_is_found() {
    let good = export();
    for at in 0..good.len() {
        let mut removed = good.clone();
        drop(removed.remove(at));
        assert!(verify(&removed).is_err(), "without line {at}");
        let mut repeated = good.clone();
        repeated.insert(at, good[at].clone());
        assert!(verify(&repeated).is_err(), "line {at} twice");
        for other in 0..at {
            let mut swapped = good.clone();
            swapped.swap(at, other);
            assert!(verify(&swapped).is_err(), "lines {at} and {other} swapped");
        }
    }
}

#[test]
fn what_is_wrong_is_named() {
    let good = export();
    let without = |at: usize| [&good[..at], &good[at + 1..]].concat();
    assert_eq!(verify(&without(3)), Err(Finding::RowMissing { seal: 1, index: 1 }));
    assert_eq!(verify(&without(10)), Err(Finding::ExportChanged));
    malformed(&without(0), 1);
    malformed(&without(1), 2);
    malformed(&[&good[..], &good[11..]].concat(), 13);
    malformed(&[&good[..1], &good[..]].concat(), 2);
    let repeated = [&good[..5], &good[4..]].concat();
    assert_eq!(verify(&repeated), Err(Finding::RowExtra { row: row(3).id, seal: 1 }));
    let mut late_seal = good.clone();
    late_seal.insert(11, good[1].clone());
    malformed(&late_seal, 12);
    let time = [&[good[0].replace("15:33", "15:34")], &good[1..]].concat();
    assert_eq!(verify(&time), Err(Finding::ExportChanged));
}

#[test]
fn what_does_not_matter_to_json_matters_here() {
    let mut spaced = export();
    spaced[2] = spaced[2].replacen(':', ": ", 1);
    malformed(&spaced, 3);
    let mut extra_field = export();
    extra_field[2] = extra_field[2].replacen('{', "{\"a\":1,", 1);
    malformed(&extra_field, 3);
    let mut windows = export();
    windows[2] = windows[2].replace('\n', "\r\n");
    malformed(&windows, 3);
    let mut unended = export();
    assert_eq!(unended[11].pop(), Some('\n'));
    malformed(&unended, 12);
}

#[test]
fn keys_of_the_export_do_not_count_when_others_are_trusted() {
    let other = SigningKey::from_bytes(&[7; 32]).verifying_key();
    let found = check(ExportVerifier::new(Some(vec![other])), export().concat().as_bytes());
    assert!(matches!(found, Err(Finding::UnknownKey { seal: 1, .. })), "{found:?}");
}

#[test]
fn a_head_kept_elsewhere_must_be_there() {
    let bytes = export().concat().into_bytes();
    for (seal, _) in seals() {
        assert!(check(ExportVerifier::new(None).with_head(seal.hash), &bytes).is_ok());
    }
    let found = check(ExportVerifier::new(None).with_head([1; 32]), &bytes);
    assert_eq!(found, Err(Finding::HeadNotFound { head: "01".repeat(32) }));
}

#[test]
fn columns_nulled_before_the_export_are_fine() {
    let (mut writer, header) =
        ExportWriter::start(chain(), Timestamp::from_micros(0), &[signer().verifying_key()]);
    let mut lines = vec![header];
    for (seal, rows) in seals() {
        lines.push(writer.seal(&seal));
        for mut row in rows {
            row.columns.key_id = None;
            row.columns.org_id = None;
            lines.push(writer.row(&row, Some(seal.number)));
        }
    }
    lines.push(writer.end());
    assert!(verify(&lines).is_ok());
}

#[test]
fn a_body_that_is_no_text_is_exported_and_found() {
    let (mut writer, header) =
        ExportWriter::start(chain(), Timestamp::from_micros(0), &[signer().verifying_key()]);
    let (seal, mut rows) = seals().remove(0);
    rows[1].body[5] = 0xff;
    let mut lines = vec![header, writer.seal(&seal)];
    lines.extend(rows.iter().map(|row| writer.row(row, Some(1))));
    lines.push(writer.end());
    assert_eq!(verify(&lines), Err(Finding::BodyChanged { row: row(2).id, seal: 1 }));
}

#[test]
fn an_empty_chain_can_be_exported() {
    let (writer, header) = ExportWriter::start(Chain::Instance, Timestamp::from_micros(0), &[]);
    let report = verify(&[header, writer.end()]).unwrap();
    assert_eq!((report.chain, report.seals, report.rows, report.head), (Chain::Instance, 0, 0, None));
}

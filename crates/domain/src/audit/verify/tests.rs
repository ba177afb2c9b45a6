use super::*;
use crate::Timestamp;
use crate::audit::testing::{chain, entry, row, row_of, sealed, seals, signer};

type Links = Vec<(Seal, Vec<VerifyRow>)>;

fn verifier() -> ChainVerifier {
    ChainVerifier::new(chain(), &[signer().verifying_key()])
}

fn verify(links: &Links) -> Result<Report, Finding> {
    let mut verifier = verifier();
    for (seal, rows) in links {
        verifier.seal(seal, rows)?;
    }
    verifier.finish()
}

#[track_caller]
fn finds(tamper: impl FnOnce(&mut Links), expected: &Finding) {
    let mut links = seals();
    tamper(&mut links);
    assert_eq!(verify(&links).as_ref(), Err(expected));
}

#[test]
fn a_good_chain_is_reported() {
    let links = seals();
    let mut verifier = verifier();
    assert_eq!(verifier.head(), None);
    for (seal, rows) in &links {
        verifier.seal(seal, rows).unwrap();
        assert_eq!(verifier.head(), Some(seal.hash));
    }
    verifier.unsealed(&row(9)).unwrap();
    let head = Some(links[2].0.hash);
    let report = Report { chain: chain(), seals: 3, rows: 7, unsealed: 1, head, keys_trusted: true };
    assert_eq!(verifier.finish(), Ok(report));
}

#[test]
fn an_empty_chain_holds() {
    let report = verify(&vec![]).unwrap();
    assert_eq!((report.seals, report.rows, report.head), (0, 0, None));
}

#[test]
fn changed_rows_are_named() {
    let forged = row_of(&AuditEntry { reason: Some("nothing".to_owned()), ..entry(2) });
    let row_2 = forged.id;
    finds(|links| links[0].1[1] = forged.clone(), &Finding::BodyChanged { row: row_2, seal: 1 });
    finds(|links| links[0].1[1].body.clear(), &Finding::BodyChanged { row: row_2, seal: 1 });
}

#[test]
fn missing_and_extra_rows_are_named() {
    finds(|links| drop(links[0].1.remove(1)), &Finding::RowMissing { seal: 1, index: 1 });
    finds(|links| links[1].1.clear(), &Finding::RowMissing { seal: 2, index: 0 });
    finds(|links| links[0].1.push(row(9)), &Finding::RowExtra { row: row(9).id, seal: 1 });
    finds(|links| links[2].1.insert(0, row(4)), &Finding::RowExtra { row: row(4).id, seal: 3 });
    let twice = Finding::RowExtra { row: row(2).id, seal: 1 };
    finds(|links| links[0].1.insert(2, row(2)), &twice);
    finds(|links| links[0].1.swap(0, 1), &Finding::RowOutOfOrder { row: row(2).id, seal: 1 });
}

#[test]
fn a_column_that_moves_its_row_is_named_rather_than_the_move() {
    let finding = Finding::ColumnDiffers { row: row(1).id, column: "created_at" };
    let move_back = |links: &mut Links| {
        links[0].1[0].columns.created_at = Some(Timestamp::from_micros(i64::MAX));
        links[0].1.rotate_left(1);
    };
    finds(move_back, &finding);
}

#[test]
fn columns_may_be_nulled_by_deletions_only() {
    let mut links = seals();
    for row in links.iter_mut().flat_map(|(_, rows)| rows) {
        row.columns.key_id = None;
        row.columns.session_id = None;
        row.columns.org_id = None;
    }
    assert!(verify(&links).is_ok());
    let differs = |column| Finding::ColumnDiffers { row: row(6).id, column };
    finds(|links| links[2].1[1].columns.reason = None, &differs("reason"));
    finds(|links| links[2].1[1].columns.org_id = Some(Uuid::nil()), &differs("org_id"));
    let other = Finding::ColumnDiffers { row: Uuid::nil(), column: "id" };
    finds(|links| links[2].1[1].id = Uuid::nil(), &other);
}

#[test]
fn every_field_of_a_seal_is_covered() {
    let known = chain();
    let moved = Finding::SealOfAnotherChain { seal: 2, expected: known, found: Chain::Instance };
    finds(|links| links[1].0.chain = Chain::Instance, &moved);
    finds(|links| links[1].0.number = 7, &Finding::SealOutOfOrder { expected: 2, found: 7 });
    finds(|links| links[1].0.previous[0] ^= 1, &Finding::PreviousWrong { seal: 2 });
    finds(|links| links[1].0.count = 2, &Finding::CountWrong { seal: 2, stated: 2, listed: 1 });
    finds(|links| links[1].0.root[31] ^= 1, &Finding::RootWrong { seal: 2 });
    finds(|links| links[0].0.leaves.swap(0, 1), &Finding::RootWrong { seal: 1 });
    finds(|links| links[1].0.hash[5] ^= 1, &Finding::SealHashWrong { seal: 2 });
    finds(|links| links[1].0.sealed_at = Timestamp::from_micros(0), &Finding::SealHashWrong { seal: 2 });
    finds(|links| links[1].0.signature[0] ^= 1, &Finding::SignatureWrong { seal: 2 });
    finds(|links| links[1].0.signature[63] ^= 0x80, &Finding::SignatureWrong { seal: 2 });
    let unknown = Finding::UnknownKey { seal: 2, key_id: "00".to_owned() };
    finds(|links| links[1].0.key_id = "00".to_owned(), &unknown);
}

#[test]
fn seals_cannot_be_dropped_repeated_or_swapped() {
    finds(|links| drop(links.remove(0)), &Finding::SealOutOfOrder { expected: 1, found: 2 });
    finds(|links| drop(links.remove(1)), &Finding::SealOutOfOrder { expected: 2, found: 3 });
    finds(|links| links.swap(1, 2), &Finding::SealOutOfOrder { expected: 2, found: 3 });
    finds(|links| links.insert(1, links[0].clone()), &Finding::SealOutOfOrder { expected: 2, found: 1 });
    let forked = |links: &mut Links| {
        let start = SealHead::start(chain());
        links[1].0 = Seal { number: 2, ..sealed(&start, &links[1].1) };
    };
    finds(forked, &Finding::PreviousWrong { seal: 2 });
}

#[test]
fn a_cut_off_tail_is_caught_by_a_head_kept_elsewhere() {
    let links = seals();
    let check = |links: &[(Seal, Vec<VerifyRow>)], head: Hash| {
        let mut verifier = verifier().with_head(head);
        links.iter().try_for_each(|(seal, rows)| verifier.seal(seal, rows))?;
        verifier.finish()
    };
    for (seal, _) in &links {
        assert!(check(&links, seal.hash).is_ok());
    }
    let head = links[2].0.hash;
    assert_eq!(check(&links[..2], head), Err(Finding::HeadNotFound { head: hex::encode(head) }));
    assert!(check(&links, [0; 32]).is_err());
    assert!(check(&[], head).is_err());
}

#[test]
fn unsealed_rows_must_agree_with_themselves() {
    let mut verifier = verifier();
    let mut changed = row(9);
    changed.columns.action = Some("nothing".to_owned());
    assert_eq!(
        verifier.unsealed(&changed),
        Err(Finding::ColumnDiffers { row: changed.id, column: "action" })
    );
    changed.body.push(b' ');
    assert_eq!(verifier.unsealed(&changed), Err(Finding::BodyUnreadable { row: changed.id }));
    let foreign = row_of(&AuditEntry { chain: Chain::Instance, ..entry(9) });
    let finding = Finding::RowOfAnotherChain { row: foreign.id, expected: chain(), found: Chain::Instance };
    assert_eq!(verifier.unsealed(&foreign), Err(finding));
}

#[test]
fn findings_are_sentences() {
    let row = Uuid::from_u128(1);
    for (finding, text) in [
        (Finding::RowMissing { seal: 4, index: 0 }, "row number 1 of seal 4 is missing"),
        (
            Finding::BodyChanged { row, seal: 2 },
            "row 00000000-0000-0000-0000-000000000001 was changed after seal 2 closed it",
        ),
        (
            Finding::ColumnDiffers { row, column: "ip" },
            "column ip of row 00000000-0000-0000-0000-000000000001 is not what its body says",
        ),
    ] {
        assert_eq!(finding.to_string(), text);
    }
}

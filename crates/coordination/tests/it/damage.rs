//! A disk that loses, cuts and flips.

use std::path::{Path, PathBuf};

use coordination::locks::local::{JournalError, Recovered, recover, write_copy};
use coordination::locks::{Refusal, Renewal, What};
use testkit::locks::{Subject, grip, key, lock, org, queued, soon, ticket, until, wanted};

use crate::local::{LocalSubject, copy_live};

/// A journal with ten locks, taken one after the other so that each is a batch, all but one released again.
async fn written() -> LocalSubject {
    let subject = LocalSubject::new();
    let locks = subject.locks();
    for number in 0..10 {
        let held = lock(locks.acquire(wanted(number, &format!("k{number}")))).await.unwrap();
        if number != 3 {
            soon(locks.release(grip(&held))).await.unwrap();
        }
    }
    lock(locks.acquire(wanted(11, "last"))).await.unwrap();
    subject
}

fn only(dir: &Path, extension: &str) -> PathBuf {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|found| found == extension)).max().unwrap()
}

fn copy(from: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
        std::fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
    }
    copy
}

/// The journal of a run that is over, with its log changed.
fn changed(
    from: &Path,
    extension: &str,
    change: impl FnOnce(&mut Vec<u8>),
) -> Result<Recovered, JournalError> {
    let copy = copy(from);
    let path = only(copy.path(), extension);
    let mut bytes = std::fs::read(&path).unwrap();
    change(&mut bytes);
    std::fs::write(&path, bytes).unwrap();
    recover(copy.path())
}

const BLOCK: usize = 512;
/// The file's own block, then twenty batches of one block each.
const BATCHES: usize = 20;

#[tokio::test]
async fn a_log_that_breaks_off_is_read_to_its_last_whole_batch() {
    let subject = written().await;
    let dir = subject.dir();
    let whole = changed(&dir, "log", |_| {}).unwrap();
    assert_eq!((whole.state.held(), whole.dropped_bytes), (2, 0));
    // Cut anywhere in the last batch, it is as if it had not been written.
    let end = BLOCK * (1 + BATCHES);
    for length in (end - BLOCK + 1..end - BLOCK + 120).step_by(7) {
        let cut = changed(&dir, "log", |bytes| bytes.truncate(length)).unwrap();
        assert_eq!(cut.state.held(), 1, "{length}");
        assert!(cut.dropped_bytes > 0, "{length}");
    }
    for length in [BLOCK, BLOCK + 1, 2 * BLOCK] {
        assert!(changed(&dir, "log", |bytes| bytes.truncate(length)).unwrap().state.held() <= 1);
    }
}

#[tokio::test]
async fn a_flipped_bit_is_never_silently_wrong() {
    let subject = written().await;
    let dir = subject.dir();
    let mut refused = 0;
    for batch in 1..=BATCHES {
        for bit in (0..64 * 8).step_by(61) {
            let place = batch * BLOCK + bit / 8;
            match changed(&dir, "log", |bytes| bytes[place] ^= 1 << (bit % 8)) {
                Err(JournalError::Damaged { what, .. }) => {
                    assert!(what.contains("is not whole, and batch"), "{what}");
                    refused += 1;
                }
                // Only in the last batch can it be taken for one that was never finished.
                Ok(found) => {
                    assert!(batch == BATCHES && found.dropped_bytes > 0, "batch {batch}, bit {bit}");
                    assert_eq!(found.state.held(), 1);
                }
                Err(other) => panic!("{other}"),
            }
        }
    }
    assert!(refused > 100);
    for place in [0, 9, 20, 25] {
        let broken = changed(&dir, "log", |bytes| bytes[place] ^= 4);
        assert!(matches!(broken, Err(JournalError::Damaged { .. })), "the log's own block, byte {place}");
    }
}

#[tokio::test]
async fn a_snapshot_that_changed_and_a_log_that_is_missing_are_refused() {
    let mut subject = written().await;
    subject.restart();
    let dir = subject.dir();
    let length = std::fs::metadata(only(&dir, "snapshot")).unwrap().len();
    for place in 0..usize::try_from(length).unwrap() {
        let broken = changed(&dir, "snapshot", |bytes| bytes[place] ^= 1);
        assert!(matches!(broken, Err(JournalError::Damaged { .. })), "byte {place}");
    }
    let broken = changed(&dir, "snapshot", |bytes| bytes.truncate(100)).unwrap_err();
    assert!(broken.to_string().contains("Restore the directory from a backup"), "{broken}");
    std::fs::remove_file(only(&dir, "log")).unwrap();
    assert!(recover(&dir).unwrap_err().to_string().contains("a log is missing"));
    std::fs::remove_file(only(&dir, "snapshot")).unwrap();
    assert_eq!(recover(&dir).unwrap().state.held(), 0, "an empty journal is one without locks");
}

#[tokio::test]
async fn logs_stay_bounded_and_what_is_held_stays() {
    let mut subject = LocalSubject::with_logs_of(16 << 10);
    let locks = subject.locks();
    let kept = lock(locks.acquire(wanted(1, "kept"))).await.unwrap();
    for _ in 0..2_000 {
        let held = lock(locks.acquire(wanted(2, "k"))).await.unwrap();
        soon(locks.release(grip(&held))).await.unwrap();
    }
    drop(locks);
    let bytes = || -> u64 {
        let entries = std::fs::read_dir(subject.dir()).unwrap();
        entries.map(|entry| entry.unwrap().metadata().map_or(0, |data| data.len())).sum()
    };
    // Two megabytes were written.
    until("the journal was compacted", || bytes() < 200 << 10).await;
    subject.restart();
    let locks = subject.locks();
    assert!(soon(locks.is_current(org(0), key("kept"), kept.hold.fence)).await.unwrap());
    assert_eq!(locks.counts().held, 1);
}

#[tokio::test]
async fn what_must_not_be_missed_is_told_until_it_is_noted() {
    let mut subject = LocalSubject::new();
    let locks = subject.locks();
    let held = lock(locks.acquire(wanted(1, "a"))).await.unwrap();
    queued(locks.acquire(ticket(2, "a"))).await;
    soon(locks.release(grip(&held))).await.unwrap();
    drop(locks);
    let promotions = |subject: &LocalSubject| {
        let heard = subject.ears().heard().into_iter().filter(|told| told.what == What::Promoted);
        heard.filter_map(|told| told.receipt).collect::<Vec<_>>()
    };
    until("it is told", || promotions(&subject).len() == 1).await;
    subject.restart();
    until("it is told again", || promotions(&subject).len() == 2).await;
    let locks = subject.locks();
    locks.noted(&promotions(&subject)[1..]);
    // Behind the note in its lane, or in a later batch.
    for number in 0..64 {
        lock(locks.acquire(wanted(3, &format!("b{number}")))).await.unwrap();
    }
    drop(locks);
    subject.restart();
    lock(subject.locks().acquire(wanted(3, "c"))).await.unwrap();
    assert_eq!(promotions(&subject).len(), 2);
}

#[tokio::test]
async fn a_copy_for_a_backup_holds_everything() {
    let subject = written().await;
    queued(subject.locks().acquire(ticket(5, "k3"))).await;
    let copy = tempfile::tempdir().unwrap();
    write_copy(copy.path(), &recover(&subject.dir()).unwrap().state).unwrap();
    let found = recover(copy.path()).unwrap();
    assert_eq!((found.state.held(), found.state.newest_epoch()), (2, 1));
}

#[tokio::test]
async fn whoever_has_lost_the_lease_grants_nothing() {
    let mut subject = LocalSubject::new();
    let locks = subject.locks();
    let kept = lock(locks.acquire(wanted(1, "kept"))).await.unwrap();
    subject.may_commit.store(false, std::sync::atomic::Ordering::SeqCst);
    for name in ["a", "b"] {
        let refused = lock(locks.acquire(wanted(2, name))).await;
        assert!(matches!(refused, Err(Refusal::Unavailable(_))), "{refused:?}");
    }
    assert!(matches!(soon(locks.release(grip(&kept))).await, Err(Refusal::Unavailable(_))));
    drop(locks);
    subject.may_commit.store(true, std::sync::atomic::Ordering::SeqCst);
    subject.restart();
    assert_eq!(subject.locks().counts().held, 1, "only what was answered");
}

#[tokio::test]
async fn an_epoch_is_never_used_twice() {
    let mut subject = written().await;
    let refused = subject.repeat_epoch();
    assert!(matches!(refused, Err(JournalError::NoEpochs)), "{:?}", refused.err());
}

/// Whoever finds this copy of a journal begins with these locks, and whoever comes after it too.
fn begins_with(dir: &Path, held: usize) {
    for epoch in [8, 9] {
        let found = recover(dir).unwrap();
        assert_eq!(found.state.held(), held);
        drop(LocalSubject::open(dir, found, epoch).unwrap());
    }
}

#[tokio::test]
async fn a_start_that_breaks_off_anywhere_can_be_begun_again() {
    let subject = written().await;
    let (empty, copied) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write_copy(copied.path(), &recover(&subject.dir()).unwrap().state).unwrap();
    for (before, held) in [(empty.path(), 0), (copied.path(), 2), (&*subject.dir(), 2)] {
        // What cannot be written is where the snapshot would be: the log before it is there already.
        let dir = copy(before);
        std::fs::create_dir(dir.path().join("unfinished")).unwrap();
        let refused = LocalSubject::open(dir.path(), recover(dir.path()).unwrap(), 7);
        assert!(matches!(refused, Err(JournalError::Io { .. })), "{:?}", refused.err());
        std::fs::remove_dir(dir.path().join("unfinished")).unwrap();
        begins_with(dir.path(), held);
        // It ended when the first snapshot was whole, and nothing of what came before was gone.
        let dir = copy(before);
        drop(LocalSubject::open(dir.path(), recover(dir.path()).unwrap(), 7).unwrap());
        for entry in std::fs::read_dir(before).unwrap().map(|entry| entry.unwrap()) {
            if !dir.path().join(entry.file_name()).exists() {
                std::fs::copy(entry.path(), dir.path().join(entry.file_name())).unwrap();
            }
        }
        begins_with(dir.path(), held);
    }
}

#[tokio::test]
async fn tokens_of_keys_that_nobody_holds_are_not_forgotten() {
    let subject = LocalSubject::with_logs_of(16 << 10);
    let locks = subject.locks();
    let kept = lock(locks.acquire(wanted(1, "kept"))).await.unwrap();
    subject.local().begin_epoch(5);
    let gone = lock(locks.acquire(wanted(2, "gone"))).await.unwrap();
    soon(locks.release(grip(&gone))).await.unwrap();
    // Renewals give no tokens, so that only the snapshot can know of the one that is gone.
    let first = only(&subject.dir(), "snapshot");
    for _ in 0..400 {
        soon(locks.renew(grip(&kept), None, Renewal::Heartbeat)).await.unwrap();
    }
    drop(locks);
    until("the journal was compacted", || !first.exists()).await;
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("journal");
    copy_live(&subject.dir(), &dir);
    for (epoch, whose) in [(6, "a running engine's"), (7, "that of a start")] {
        let found = recover(&dir).unwrap();
        assert_eq!(found.state.newest_epoch(), 5, "the snapshot is {whose}");
        drop(LocalSubject::open(&dir, found, epoch).unwrap());
    }
    let copy = tempfile::tempdir().unwrap();
    write_copy(copy.path(), &recover(&dir).unwrap().state).unwrap();
    let refused = LocalSubject::open(copy.path(), recover(copy.path()).unwrap(), 5);
    assert!(matches!(refused, Err(JournalError::NoEpochs)), "{:?}", refused.err());
}

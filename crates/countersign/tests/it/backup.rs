//! A backup taken under load brings back everything that was acknowledged before it began.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use client::AcquiredLock;
use wire::{AcquireLock, LocksQuery, ReleaseLock};

use crate::support::{AfterError, Home, Kind, Writers, assert_all_there, on_sqlite};

const WRITERS: usize = 16;
const EPOCHS_SKIPPED: i64 = 1000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_under_load_brings_everything_back() {
    let home = Home::on(Kind::Sqlite);
    home.serve().await.stop();
    home.sql("UPDATE fence_epochs SET epoch = 7 WHERE engine = 'local'").await;
    // Which makes it the eighth.
    let served = home.serve().await;
    let wanted = AcquireLock { key: "resource:a:b".into(), ttl_seconds: Some(300), ..AcquireLock::default() };
    let AcquiredLock::Lock(kept) = served.admin().acquire_lock(&wanted).await.unwrap() else {
        panic!("a ticket")
    };
    let mut writers = Writers::start(&served.admin(), WRITERS, AfterError::Leave);
    writers.acknowledged(100).await;
    let before = writers.keys_so_far();
    let file = home.beside("backup.tar");
    let path = file.display().to_string();
    let said = home.run_on_data(&["backup", &path]).done();
    assert!(said.starts_with(&path), "{said}");
    let (acknowledged, refused) = writers.counts();
    assert!(acknowledged > before.len() && refused == 0, "the writers went on: {acknowledged}, {refused}");
    writers.finish().await;
    served.stop();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600, "the file holds the keys");
    home.run_on_data(&["backup", &path]).assert_refused(1, &["cannot write", &path, "exists"]);
    assert!(file.exists() && !home.beside("backup.tar.parts").exists());

    let restored = Home::on(Kind::Sqlite);
    restored.run_on_data(&["restore", &path]).done();
    let epoch = on_sqlite(&restored.database_file(), "SELECT epoch FROM fence_epochs WHERE engine = 'local'");
    assert_eq!(epoch, [[(8 + EPOCHS_SKIPPED).to_string()]]);
    restored.verified(&[]);
    restored.assert_no_partial_unit().await;
    fs::copy(home.data.join("admin.key"), restored.data.join("admin.key")).unwrap();
    let served = restored.serve().await;
    assert_all_there(&served, &served.admin(), &before).await;
    let held = served.admin().locks(&LocksQuery::default()).await.unwrap().items;
    assert_eq!((held.len(), held[0].lock_id), (1, kept.lock_id));
    served.admin().release_lock(&ReleaseLock { lock_id: kept.lock_id, agent_id: None }).await.unwrap();
    let AcquiredLock::Lock(next) = served.admin().acquire_lock(&wanted).await.unwrap() else {
        panic!("a ticket")
    };
    assert!(next.fencing_token >> 32 > EPOCHS_SKIPPED as u64 + (kept.fencing_token >> 32));
    served.stop();
    let reports = restored.verified(&[]);
    assert!(reports.iter().all(|report| report["unsealed"] == 0), "{reports:?}");
}

#[tokio::test]
async fn a_restore_never_overwrites() {
    let home = Home::on(Kind::Sqlite);
    home.serve().await.stop();
    let path = home.beside("backup.tar").display().to_string();
    home.run_on_data(&["backup", &path]).done();
    let before = fs::read(home.database_file()).unwrap();
    home.run_on_data(&["restore", &path]).assert_refused(1, &["is not empty", "--data"]);
    assert_eq!(fs::read(home.database_file()).unwrap(), before);
    let other = Home::on(Kind::Sqlite);
    fs::create_dir(&other.data).unwrap();
    fs::write(other.data.join("note"), "mine").unwrap();
    other.run_on_data(&["restore", &path]).assert_refused(1, &["is not empty"]);
    assert_eq!(fs::read_to_string(other.data.join("note")).unwrap(), "mine");
}

/// An archive with these files.
fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o600);
        // By hand: the library refuses to write the names that must be refused when read.
        header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        archive.append(&header, *bytes).unwrap();
    }
    archive.into_inner().unwrap()
}

#[tokio::test]
async fn what_is_no_backup_leaves_nothing_behind() {
    let home = Home::on(Kind::Sqlite);
    home.serve().await.stop();
    let file = home.beside("backup.tar");
    home.run_on_data(&["backup", &file.display().to_string()]).done();
    let whole = fs::read(&file).unwrap();
    let (database, seal) =
        (fs::read(home.database_file()).unwrap(), fs::read(home.key_file("seal.key")).unwrap());
    let secrets = fs::read(home.key_file("secrets.key")).unwrap();
    let keys = [("keys/seal.key", &*seal), ("keys/secrets.key", &*secrets)];
    let garbage = vec![0xa5; 8192];
    let cases = [
        ("garbage", garbage.clone(), "not a backup"),
        ("nothing", Vec::new(), "lacks"),
        ("half of one", whole[..whole.len() / 2].to_vec(), ""),
        ("no keys", archive(&[("countersign.db", &database)]), "lacks keys/"),
        ("no database", archive(&keys), "lacks countersign.db"),
        ("a damaged database", archive(&[&keys[..], &[("countersign.db", &garbage)]].concat()), "damaged"),
        ("a path that leads out", archive(&[("../evil", b"x")]), "does not belong"),
        ("a path of its own", archive(&[("/tmp/countersign-evil", b"x")]), "does not belong"),
        ("the same twice", archive(&[keys[0], keys[0]]), "does not belong"),
    ];
    for (what, bytes, says) in cases {
        let other = Home::on(Kind::Sqlite);
        let file = other.beside("bad.tar");
        fs::write(&file, bytes).unwrap();
        let path = file.display().to_string();
        let ran = other.run_on_data(&["restore", &path]);
        assert_eq!(ran.code, Some(1), "{what}: {ran:?}");
        assert!(ran.err.contains("cannot restore") && ran.err.contains(says), "{what}: {}", ran.err);
        assert!(!other.data.exists(), "{what}");
        assert!(!other.beside("evil").exists(), "{what}");
    }
}

#[tokio::test]
async fn postgres_has_its_own_tools() {
    let home = Home::on(Kind::Postgres);
    home.serve().await.stop();
    let path = home.beside("backup.tar").display().to_string();
    home.run_on_data(&["backup", &path]).assert_refused(1, &["pg_dump", "keys"]);
    assert!(!home.beside("backup.tar").exists());
}

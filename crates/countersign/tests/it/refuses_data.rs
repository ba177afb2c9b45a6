//! A data directory that is not as it must be: the hub refuses to start, says why, and says what to do.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;

use crate::support::{Home, Kind, on_sqlite};

const FAILED: i32 = 1;

/// A place whose hub has run and was stopped.
async fn used() -> Home {
    let home = Home::on(Kind::Sqlite);
    home.serve().await.stop();
    home
}

/// The hub was kept from starting by what the test broke, and by nothing else.
async fn starts_again(home: &Home) {
    let served = home.serve().await;
    served.admin().me().await.unwrap();
    served.stop();
}

#[tokio::test]
async fn a_second_process_on_one_directory() {
    let home = Home::on(Kind::Sqlite);
    let first = home.serve().await;
    home.refused().assert_refused(FAILED, &["another countersign uses the data directory", "data", "--data"]);
    home.run_on_data(&["audit", "verify"]).assert_refused(FAILED, &["another countersign uses"]);
    home.run_on_data(&["migrate"]).assert_refused(FAILED, &["another countersign uses"]);
    first.admin().me().await.expect("the first one is none the worse");
    first.stop();
}

#[test]
fn a_port_in_use() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let home = Home::on(Kind::Sqlite);
    let ran = home.start(&address).ended(crate::support::PATIENCE);
    ran.assert_refused(FAILED, &["cannot listen on", &address, "in use", "--listen"]);
    assert!(!home.data.exists(), "nothing was touched");
}

/// Refused with the file named and the way out; and the file is left as it was.
fn damaged(home: &Home) {
    let before = fs::read(home.database_file()).unwrap();
    home.refused().assert_refused(FAILED, &["countersign.db is damaged", "countersign restore"]);
    assert_eq!(fs::read(home.database_file()).unwrap(), before, "what is left of the data is the operator's");
}

#[tokio::test]
async fn a_database_that_is_none() {
    let home = used().await;
    fs::write(home.database_file(), [0xa5_u8; 8192]).unwrap();
    damaged(&home);
}

#[tokio::test]
async fn a_database_cut_short() {
    let home = used().await;
    let file = fs::OpenOptions::new().write(true).open(home.database_file()).unwrap();
    let length = file.metadata().unwrap().len();
    file.set_len(length / 2).unwrap();
    damaged(&home);
}

#[tokio::test]
async fn a_database_with_a_flipped_page() {
    let home = used().await;
    let sql = "SELECT rootpage, (SELECT page_size FROM pragma_page_size) FROM sqlite_schema WHERE name = 'api_keys'";
    let found = &on_sqlite(&home.database_file(), sql)[0];
    let (page, size): (u64, usize) = (found[0].parse().unwrap(), found[1].parse().unwrap());
    let file = fs::OpenOptions::new().read(true).write(true).open(home.database_file()).unwrap();
    let offset = (page - 1) * size as u64;
    let mut bytes = vec![0; size];
    file.read_exact_at(&mut bytes, offset).unwrap();
    bytes.iter_mut().for_each(|byte| *byte = !*byte);
    file.write_all_at(&bytes, offset).unwrap();
    damaged(&home);
}

#[tokio::test]
async fn a_schema_of_a_later_release() {
    let home = used().await;
    let file = home.database_file();
    let insert = "INSERT INTO schema_migrations (number, release, name, checksum, applied_at) VALUES (900, 3, 'x', 'x', 0)";
    on_sqlite(&file, insert);
    let needles = ["schema of release 3", "Start a newer countersign"];
    home.refused().assert_refused(FAILED, &needles);
    home.run_on_data(&["migrate"]).assert_refused(FAILED, &needles);
    on_sqlite(&file, "DELETE FROM schema_migrations WHERE number = 900");
    starts_again(&home).await;
}

#[tokio::test]
async fn a_migration_that_was_edited() {
    let home = used().await;
    on_sqlite(&home.database_file(), "UPDATE schema_migrations SET checksum = 'edited' WHERE number = 1");
    home.refused().assert_refused(FAILED, &["migration 1", "modified build", "restore a backup"]);
}

#[tokio::test]
async fn the_keys_of_another_hub() {
    let (home, other) = (used().await, used().await);
    for name in ["seal.key", "secrets.key"] {
        let (ours, theirs) = (home.key_file(name), other.key_file(name));
        let kept = fs::read(&ours).unwrap();
        fs::copy(&theirs, &ours).unwrap();
        home.refused()
            .assert_refused(FAILED, &[name, "this database was written with", "Put the right file there"]);
        fs::write(&ours, kept).unwrap();
    }
    starts_again(&home).await;
}

#[tokio::test]
async fn a_missing_key_file() {
    let home = used().await;
    for name in ["seal.key", "secrets.key"] {
        let (file, aside) = (home.key_file(name), home.beside(name));
        fs::rename(&file, &aside).unwrap();
        home.refused().assert_refused(FAILED, &[name, "this database was written with", "restore a backup"]);
        assert!(!file.exists(), "no other key was made in its place");
        fs::rename(&aside, &file).unwrap();
    }
    starts_again(&home).await;
}

#[tokio::test]
async fn a_key_file_others_can_read() {
    let home = used().await;
    for name in ["seal.key", "secrets.key"] {
        for mode in [0o604, 0o640] {
            set_mode(&home.key_file(name), mode);
            home.refused().assert_refused(FAILED, &[name, "others can read this key", "chmod 600"]);
        }
        set_mode(&home.key_file(name), 0o600);
    }
    starts_again(&home).await;
}

#[tokio::test]
async fn a_key_file_that_is_none() {
    let home = used().await;
    let file = home.key_file("seal.key");
    let kept = fs::read_to_string(&file).unwrap();
    for text in ["", "not a key\n", kept.trim().strip_suffix(|_: char| true).unwrap()] {
        fs::write(&file, text).unwrap();
        home.refused().assert_refused(FAILED, &["seal.key", "is not a key file of countersign"]);
    }
    fs::write(&file, kept).unwrap();
    starts_again(&home).await;
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

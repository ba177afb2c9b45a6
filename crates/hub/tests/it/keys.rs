//! The hub's own keys: made once, never mixed up.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use domain::Timestamp;
use hub::keys::{HubKeys, KeyError, Place};
use records::{Db, Engine};
use testkit::clock::TestClock;
use testkit::hub::open_records;
use testkit::watch::Data;
use uuid::Uuid;

const NOW: Timestamp = Timestamp::from_micros(1);

async fn database(data: &Path) -> Db {
    open_records(Engine::Sqlite, data, &TestClock::default()).await
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn place(row: u128) -> Place<'static> {
    Place { table: "clients", column: "secret", row: Uuid::from_u128(row), org: Uuid::from_u128(9) }
}

#[tokio::test]
async fn keys_are_made_once_and_private() {
    let data = Data::make();
    let db = database(data.path()).await;
    let dir = data.path().join("keys");
    let first = HubKeys::open(&dir, &db, NOW).await.unwrap();
    assert_eq!(mode(&dir), 0o700);
    assert_eq!(mode(&dir.join("secrets.key")), 0o600);
    assert_eq!(mode(&dir.join("seal.key")), 0o600);
    let again = HubKeys::open(&dir, &db, NOW).await.unwrap();
    assert_eq!(first.verifying_keys(), again.verifying_keys());
    let sealed = first.encrypt(place(1), b"hush").unwrap();
    assert_eq!(again.decrypt(place(1), &sealed).unwrap(), b"hush");
}

#[tokio::test]
async fn a_ciphertext_opens_only_where_it_was_made_for() {
    let data = Data::make();
    let db = database(data.path()).await;
    let keys = HubKeys::open(&data.path().join("keys"), &db, NOW).await.unwrap();
    let sealed = keys.encrypt(place(1), b"hush").unwrap();
    assert!(!sealed.windows(4).any(|window| window == b"hush"));
    assert_ne!(sealed, keys.encrypt(place(1), b"hush").unwrap(), "a nonce is never used twice");
    let elsewhere = [
        place(2),
        Place { org: Uuid::from_u128(8), ..place(1) },
        Place { column: "other", ..place(1) },
        Place { table: "other", ..place(1) },
    ];
    for other in elsewhere {
        assert!(matches!(keys.decrypt(other, &sealed), Err(KeyError::Ciphertext)));
    }
    for index in 0..sealed.len() {
        let mut changed = sealed.clone();
        changed[index] ^= 1;
        assert!(keys.decrypt(place(1), &changed).is_err(), "byte {index}");
        assert!(keys.decrypt(place(1), &sealed[..index]).is_err(), "cut at {index}");
    }
}

#[tokio::test]
async fn other_keys_missing_keys_and_open_keys_are_refused() {
    let data = Data::make();
    let db = database(data.path()).await;
    let dir = data.path().join("keys");
    HubKeys::open(&dir, &db, NOW).await.unwrap();

    let elsewhere = Data::make();
    let other = database(elsewhere.path()).await;
    HubKeys::open(&elsewhere.path().join("keys"), &other, NOW).await.unwrap();
    for name in ["secrets.key", "seal.key"] {
        let (path, kept) = (dir.join(name), std::fs::read(dir.join(name)).unwrap());
        std::fs::copy(elsewhere.path().join("keys").join(name), &path).unwrap();
        let wrong = HubKeys::open(&dir, &db, NOW).await.err().unwrap();
        assert!(matches!(wrong, KeyError::WrongKey { .. }), "{wrong}");
        std::fs::remove_file(&path).unwrap();
        let missing = HubKeys::open(&dir, &db, NOW).await.err().unwrap();
        assert!(matches!(missing, KeyError::WrongKey { .. }), "{missing}");
        assert!(!path.exists(), "a key that is missing is not made up");
        std::fs::write(&path, b"not a key").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert!(matches!(HubKeys::open(&dir, &db, NOW).await, Err(KeyError::File { .. })));
        std::fs::write(&path, kept).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        let open = HubKeys::open(&dir, &db, NOW).await.err().unwrap();
        assert!(open.to_string().contains("others can read"), "{open}");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        HubKeys::open(&dir, &db, NOW).await.unwrap();
    }
}

#[tokio::test]
async fn after_a_rotation_old_ciphertexts_open_and_new_ones_have_the_new_key() {
    let data = Data::make();
    let db = database(data.path()).await;
    let dir = data.path().join("keys");
    let before = HubKeys::open(&dir, &db, NOW).await.unwrap();
    let old = before.encrypt(place(1), b"hush").unwrap();
    let ids = HubKeys::rotate(&dir, &db, NOW).await.unwrap();
    let after = HubKeys::open(&dir, &db, NOW).await.unwrap();
    assert_eq!(after.decrypt(place(1), &old).unwrap(), b"hush");
    let new = after.encrypt(place(1), b"hush").unwrap();
    assert!(new.starts_with(ids[0].as_bytes()) && !old.starts_with(ids[0].as_bytes()));
    assert!(before.decrypt(place(1), &new).is_err(), "a server that has not restarted does not know it");
    assert_eq!(after.verifying_keys().len(), 2);
    assert_eq!(after.verifying_keys()[0], before.verifying_keys()[0]);
    assert_ne!(after.signing_key().unwrap().verifying_key(), before.verifying_keys()[0]);
    assert_eq!(mode(&dir.join("secrets.key")), 0o600);
    // A server that still has the files of before is refused.
    std::fs::remove_file(dir.join("seal.key")).unwrap();
    assert!(matches!(HubKeys::open(&dir, &db, NOW).await, Err(KeyError::WrongKey { .. })));
}

//! The hub's own keys: one that encrypts secrets at rest, one that signs the audit chain (DECISIONS 6).
//!
//! Each file holds one key a line, the newest last: `<key id> <64 hex digits>`. The key id is what ciphertexts and
//! signatures carry, so old ones stay readable after a rotation.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use domain::Timestamp;
use domain::audit::seal::key_id;
use domain::canonical::sha256;
use ed25519_dalek::{SigningKey, VerifyingKey};
use records::hub_keys::{self, HubKey};
use records::{Db, Tx, UnitError};

use crate::ids::{NoRandomness, random};

const NONCE_BYTES: usize = 24;
const KEY_ID_CHARS: usize = 16;
const SECRETS: &str = "secrets";
const SEAL: &str = "seal";

/// Why the hub must not start with these keys, or a secret cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// A file cannot be read, written or understood.
    #[error("{path}: {reason}", path = .path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The database was written with a key this server does not hold.
    #[error(
        "{path} does not hold the {purpose} key {key_id} this database was written with. \
         Put the right file there (all servers share one keys directory), or restore a backup with its keys.",
        path = .path.display()
    )]
    WrongKey {
        /// Which file.
        path: PathBuf,
        /// What the key is for.
        purpose: String,
        /// Which key is missing.
        key_id: String,
    },
    /// The ciphertext was not made by this hub for this place.
    #[error("the ciphertext cannot be opened")]
    Ciphertext,
    /// No randomness.
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
    /// The records failed.
    #[error(transparent)]
    Records(#[from] records::Error),
}

impl UnitError for KeyError {
    fn is_lost_race(&self) -> bool {
        matches!(self, Self::Records(error) if error.is_lost_race())
    }
}

struct Key {
    id: String,
    bytes: [u8; 32],
}

/// The keys, newest last.
pub struct HubKeys {
    secrets: Vec<Key>,
    seal: Vec<Key>,
}

/// Where a secret is kept: a ciphertext moved elsewhere does not open.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// Table.
    pub table: &'a str,
    /// Column.
    pub column: &'a str,
    /// Row id.
    pub row: uuid::Uuid,
    /// Organization.
    pub org: uuid::Uuid,
}

impl Place<'_> {
    fn associated_data(&self) -> Vec<u8> {
        format!("{}\0{}\0{}\0{}", self.table, self.column, self.row, self.org).into_bytes()
    }
}

/// The public halves of a directory's signing keys, for verifying without a hub. Empty if there is no such file.
pub fn seal_keys(dir: &Path) -> Result<Vec<VerifyingKey>, KeyError> {
    let keys = read(&dir.join("seal.key"), seal_id)?;
    Ok(keys.iter().map(|key| SigningKey::from_bytes(&key.bytes).verifying_key()).collect())
}

impl HubKeys {
    /// Reads the keys of a directory, makes those that the database has never seen, and refuses a server that holds
    /// other keys than the database was written with.
    pub async fn open(dir: &Path, db: &Db, now: Timestamp) -> Result<Self, KeyError> {
        let known = db.read((), |tx, ()| Box::pin(hub_keys::all(tx))).await?;
        let secrets = load_or_make(dir, SECRETS, &known, secret_id)?;
        let seal = load_or_make(dir, SEAL, &known, seal_id)?;
        let keys = Self { secrets, seal };
        let input = (dir.to_owned(), keys.fingerprints(), now);
        db.write(input, |tx, (dir, ours, now)| Box::pin(enter(tx, dir, ours, *now))).await?;
        Ok(keys)
    }

    /// Adds a key of each kind, which is used from the next start on; the ids of the new ones. The old keys stay: what
    /// they signed is checked with them. The files come first, because a server that holds more keys than the
    /// database knows enters them, and one that holds fewer is refused.
    pub async fn rotate(dir: &Path, db: &Db, now: Timestamp) -> Result<Vec<String>, KeyError> {
        let mut keys = Self::open(dir, db, now).await?;
        for (purpose, held, id_of) in [
            (SECRETS, &mut keys.secrets, secret_id as fn(&[u8; 32]) -> String),
            (SEAL, &mut keys.seal, seal_id),
        ] {
            let bytes = random()?;
            held.push(Key { id: id_of(&bytes), bytes });
            write(dir, &dir.join(format!("{purpose}.key")), held)?;
        }
        let input = (dir.to_owned(), keys.fingerprints(), now);
        db.write(input, |tx, (dir, ours, now)| Box::pin(enter(tx, dir, ours, *now))).await?;
        Ok([newest(&keys.secrets)?, newest(&keys.seal)?].map(|key| key.id.clone()).to_vec())
    }

    fn fingerprints(&self) -> Vec<HubKey> {
        let secrets = self.secrets.iter().map(|key| (SECRETS, key, None));
        let seal = self.seal.iter().map(|key| {
            let public = SigningKey::from_bytes(&key.bytes).verifying_key().to_bytes().to_vec();
            (SEAL, key, Some(public))
        });
        secrets
            .chain(seal)
            .map(|(purpose, key, public_key)| HubKey {
                purpose: purpose.into(),
                key_id: key.id.clone(),
                public_key,
            })
            .collect()
    }

    /// The key that signs seals from now on.
    pub fn signing_key(&self) -> Result<SigningKey, KeyError> {
        newest(&self.seal).map(|key| SigningKey::from_bytes(&key.bytes))
    }

    /// Every key that ever signed a seal.
    #[must_use]
    pub fn verifying_keys(&self) -> Vec<VerifyingKey> {
        self.seal.iter().map(|key| SigningKey::from_bytes(&key.bytes).verifying_key()).collect()
    }

    /// The key with which a seal's signature is checked.
    #[must_use]
    pub fn public_key(&self, id: &str) -> Option<VerifyingKey> {
        let key = self.seal.iter().find(|key| key.id == id)?;
        Some(SigningKey::from_bytes(&key.bytes).verifying_key())
    }

    /// Encrypts a secret for one place. The key's id stands in front.
    pub fn encrypt(&self, place: Place<'_>, plain: &[u8]) -> Result<Vec<u8>, KeyError> {
        let key = newest(&self.secrets)?;
        let nonce: [u8; NONCE_BYTES] = random()?;
        let payload = Payload { msg: plain, aad: &place.associated_data() };
        let sealed = cipher(key).encrypt(&XNonce::from(nonce), payload).map_err(|_| KeyError::Ciphertext)?;
        Ok([key.id.as_bytes(), &nonce, &sealed].concat())
    }

    /// Decrypts what was encrypted for this place.
    pub fn decrypt(&self, place: Place<'_>, sealed: &[u8]) -> Result<Vec<u8>, KeyError> {
        let (id, rest) = sealed.split_at_checked(KEY_ID_CHARS).ok_or(KeyError::Ciphertext)?;
        let (nonce, sealed) = rest.split_first_chunk::<NONCE_BYTES>().ok_or(KeyError::Ciphertext)?;
        let key = self.secrets.iter().find(|key| key.id.as_bytes() == id).ok_or(KeyError::Ciphertext)?;
        let payload = Payload { msg: sealed, aad: &place.associated_data() };
        cipher(key).decrypt(&XNonce::from(*nonce), payload).map_err(|_| KeyError::Ciphertext)
    }
}

/// Puts down whose database this is. Two servers that both found it empty have made keys of their own; the second to
/// get here learns that it is the first one's.
async fn enter(tx: &mut Tx, dir: &Path, ours: &[HubKey], now: Timestamp) -> Result<(), KeyError> {
    records::bootstrap::alone(tx).await?;
    for known in hub_keys::all(tx).await? {
        if ours.iter().all(|key| (&key.purpose, &key.key_id) != (&known.purpose, &known.key_id)) {
            let path = dir.join(format!("{}.key", known.purpose));
            return Err(KeyError::WrongKey { path, purpose: known.purpose, key_id: known.key_id });
        }
    }
    for key in ours {
        hub_keys::insert(tx, key, now).await?;
    }
    Ok(())
}

fn cipher(key: &Key) -> XChaCha20Poly1305 {
    XChaCha20Poly1305::new(&key.bytes.into())
}

fn newest(keys: &[Key]) -> Result<&Key, KeyError> {
    keys.last().ok_or(KeyError::Ciphertext)
}

fn seal_id(bytes: &[u8; 32]) -> String {
    key_id(&SigningKey::from_bytes(bytes).verifying_key())
}

fn secret_id(bytes: &[u8; 32]) -> String {
    hex::encode(&sha256(bytes)[..KEY_ID_CHARS / 2])
}

fn load_or_make(
    dir: &Path,
    purpose: &str,
    known: &[HubKey],
    id_of: fn(&[u8; 32]) -> String,
) -> Result<Vec<Key>, KeyError> {
    let path = dir.join(format!("{purpose}.key"));
    let mut keys = read(&path, id_of)?;
    for key in known.iter().filter(|key| key.purpose == purpose) {
        if keys.iter().all(|held| held.id != key.key_id) {
            return Err(KeyError::WrongKey { path, purpose: purpose.into(), key_id: key.key_id.clone() });
        }
    }
    if keys.is_empty() {
        let bytes = random()?;
        keys.push(Key { id: id_of(&bytes), bytes });
        write(dir, &path, &keys)?;
    }
    Ok(keys)
}

fn file_error(path: &Path, reason: impl ToString) -> KeyError {
    KeyError::File { path: path.into(), reason: reason.to_string() }
}

fn read(path: &Path, id_of: fn(&[u8; 32]) -> String) -> Result<Vec<Key>, KeyError> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(file_error(path, error)),
    };
    let mode = fs::metadata(path).map_err(|error| file_error(path, error))?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(file_error(path, "others can read this key; run: chmod 600 on it"));
    }
    let key = |line: &str| {
        let (id, digits) = line.split_once(' ')?;
        let bytes: [u8; 32] = hex::decode(digits).ok()?.try_into().ok()?;
        (id_of(&bytes) == id).then(|| Key { id: id.into(), bytes })
    };
    let keys: Option<Vec<Key>> = text.lines().map(key).collect();
    keys.filter(|keys| !keys.is_empty()).ok_or_else(|| file_error(path, "is not a key file of countersign"))
}

/// Writes beside, syncs, renames: a crash leaves the old file or the new one.
fn write(dir: &Path, path: &Path, keys: &[Key]) -> Result<(), KeyError> {
    let written = || {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        let beside = path.with_extension("new");
        let mut file =
            fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
        for key in keys {
            writeln!(file, "{} {}", key.id, hex::encode(key.bytes))?;
        }
        file.sync_all()?;
        fs::rename(&beside, path)?;
        fs::File::open(dir)?.sync_all()
    };
    written().map_err(|error: std::io::Error| file_error(path, error))
}

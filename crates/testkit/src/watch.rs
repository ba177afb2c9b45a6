//! What the suite shows, and what it must not show, for `cargo xtask test` to compare (DECISIONS 27).
//!
//! That chore names a directory in `COUNTERSIGN_TEST_WATCH`. Every process of the suite then writes there what its hubs log, at
//! every level, what the programs it starts say, and, in `secrets`, each secret it comes across. Without the variable
//! nothing is written anywhere.
//!
//! A test need not think of it: what a [`crate::TestHub`] hands out or is shown over HTTP is noted at its door, and
//! the keys in files are noted when their [`Data`] directory goes. A secret that takes neither way is for [`secret`].

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use tempfile::TempDir;
use tracing_subscriber::filter::dynamic_filter_fn;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};

/// Where to write. The product takes names that begin so for the suite's, not for a typing error in a setting.
const VARIABLE: &str = "COUNTERSIGN_TEST_WATCH";
/// Shorter words in a key file are names of keys and the frame of a PEM.
const SECRET_CHARS_MIN: usize = 32;
/// The random part of everything we hand out: 32 bytes in base64url.
const RANDOM_CHARS: usize = 43;
/// How a webhook's secret begins; at least 24 bytes in base64 follow.
const WEBHOOK_MARK: &str = "whsec_";
/// The tests' own client says four lines a request about which connection it takes, and has seen nothing else.
const CLIENT_POOL: &str = "hyper_util::client::legacy::pool";

fn directory() -> Option<&'static Path> {
    static DIRECTORY: OnceLock<Option<PathBuf>> = OnceLock::new();
    DIRECTORY.get_or_init(|| std::env::var_os(VARIABLE).map(PathBuf::from)).as_deref()
}

/// Whether this run is watched.
pub(crate) fn is_on() -> bool {
    directory().is_some()
}

/// A file that many processes append to, a whole line with each write.
fn append(name: &str) -> Option<File> {
    let path = directory()?.join(name);
    let file = OpenOptions::new().create(true).append(true).mode(0o600).open(&path);
    Some(file.unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

/// Notes something that must never be shown.
pub fn secret(text: &str) {
    static KNOWN: OnceLock<Option<(File, Mutex<HashSet<String>>)>> = OnceLock::new();
    let known = KNOWN.get_or_init(|| append("secrets").map(|file| (file, Mutex::default())));
    let Some((file, known)) = known else { return };
    if known.lock().unwrap_or_else(PoisonError::into_inner).insert(text.to_owned()) {
        let mut file = file;
        file.write_all(format!("{text}\n").as_bytes()).expect("the file of secrets");
    }
}

/// Notes whatever looks like a key or a token of ours: `cs`, a letter, `_`, and 43 characters of base64url.
pub fn secrets_in(bytes: &[u8]) {
    if !is_on() {
        return;
    }
    for word in bytes.split(|byte| !byte.is_ascii_alphanumeric() && !matches!(byte, b'_' | b'-')) {
        if let [b'c', b's', b'a'..=b'z', b'_', random @ ..] = word
            && random.len() == RANDOM_CHARS
        {
            secret(&String::from_utf8_lossy(word));
        }
    }
}

/// Notes the secrets of webhooks in what the hub answers: `whsec_` and base64. The mark alone, as documents name it, is
/// none.
pub fn webhook_secrets_in(text: &str) {
    for found in text.split(WEBHOOK_MARK).skip(1) {
        let is_base64 = |letter: &char| letter.is_ascii_alphanumeric() || "+/=".contains(*letter);
        let random: String = found.chars().take_while(is_base64).collect();
        if random.len() >= SECRET_CHARS_MIN {
            secret(&format!("{WEBHOOK_MARK}{random}"));
        }
    }
}

/// Notes the password in a URL, if there is one.
pub fn password_in(url: &str) {
    let login = url.split_once("://").and_then(|(_, rest)| rest.split_once('@'));
    if let Some((_, password)) = login.and_then(|(login, _)| login.split_once(':')) {
        secret(password);
    }
}

/// Keeps a line that a program said, and which test had started it.
pub fn said(test: &str, line: &[u8]) {
    static FILE: OnceLock<Option<File>> = OnceLock::new();
    if let Some(mut file) = FILE.get_or_init(|| append(&of_this_process("programs"))).as_ref() {
        let line = [test.as_bytes(), b" ", line].concat();
        file.write_all(&line).expect("the file of what programs say");
    }
}

/// A name that tells which crate's tests wrote the file.
fn of_this_process(what: &str) -> String {
    let package = std::env::var("CARGO_PKG_NAME").unwrap_or_default();
    format!("{what}-{package}-{}", std::process::id())
}

/// A directory for a hub's data, removed when this is dropped. The keys in its files are noted before.
pub struct Data(TempDir);

impl Data {
    /// An empty one.
    #[must_use]
    pub fn make() -> Self {
        Self(tempfile::Builder::new().prefix("countersign-data-").tempdir().expect("a temporary directory"))
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        if is_on() {
            note_key_files(self.path());
        }
    }
}

/// Reads the files named `….key` under a directory. What cannot be read here, such as a file that is not text
/// because a test spoilt it, holds no key.
fn note_key_files(directory: &Path) {
    for path in fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if path.is_dir() && !path.is_symlink() {
            note_key_files(&path);
        } else if path.extension().is_some_and(|extension| extension == "key") {
            let text = fs::read_to_string(&path).unwrap_or_default();
            text.split_whitespace().filter(|word| word.len() >= SECRET_CHARS_MIN).for_each(secret);
        }
    }
}

/// Everything that is logged in this process, at every level.
pub struct Log {
    file: Option<File>,
    kept: Mutex<Vec<u8>>,
    keeping: AtomicBool,
}

/// Logs from here on, if the suite is watched. Whatever opens records calls this.
pub fn listen() {
    if is_on() {
        log();
    }
}

/// The log of this process.
pub fn log() -> &'static Log {
    static LOG: OnceLock<Log> = OnceLock::new();
    static INSTALLED: OnceLock<()> = OnceLock::new();
    let log = LOG.get_or_init(|| Log {
        file: append(&of_this_process("log")),
        kept: Mutex::default(),
        keeping: AtomicBool::new(false),
    });
    INSTALLED.get_or_init(|| {
        let wanted = dynamic_filter_fn(|line, _| {
            (log.file.is_some() || log.keeping.load(Ordering::Relaxed)) && line.target() != CLIENT_POOL
        });
        // The thread has the name of the test.
        let layer = tracing_subscriber::fmt::layer()
            .with_ansi(false)
            .with_thread_names(true)
            .with_writer(move || log);
        let subscriber = tracing_subscriber::registry().with(layer.with_filter(wanted));
        tracing::subscriber::set_global_default(subscriber).expect("nobody else listens in a test process");
    });
    log
}

impl Log {
    /// Keeps what anybody in this process logs from now on, also the tests beside the caller, or no longer.
    pub fn keep(&self, keeping: bool) {
        self.keeping.store(keeping, Ordering::SeqCst);
    }

    /// What was kept.
    #[must_use]
    pub fn kept(&self) -> String {
        String::from_utf8_lossy(&self.kept.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

impl Write for &Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.keeping.load(Ordering::Relaxed) {
            self.kept.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        }
        if let Some(mut file) = self.file.as_ref() {
            file.write_all(bytes)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

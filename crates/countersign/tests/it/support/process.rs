//! A running program, what it said so far, and its end.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use client::Client;
use rustix::process::{Pid, Signal, kill_process};
use testkit::watch;

use super::{PATIENCE, until};

/// What a program wrote to one of its outputs.
#[derive(Default)]
pub(super) struct Said {
    text: Mutex<String>,
    grown: Condvar,
}

impl Said {
    fn listen(
        output: impl Read + Send + 'static,
        watched: fn(&str) -> String,
    ) -> (Arc<Self>, JoinHandle<()>) {
        let said = Arc::new(Self::default());
        let heard = Arc::clone(&said);
        let test = std::thread::current().name().unwrap_or_default().to_owned();
        let listener = std::thread::spawn(move || {
            let mut lines = BufReader::new(output);
            let mut line = Vec::new();
            while lines.read_until(b'\n', &mut line).is_ok_and(|bytes| bytes > 0) {
                let text = String::from_utf8_lossy(&line);
                watch::said(&test, watched(&text).as_bytes());
                heard.hear(&text);
                line.clear();
            }
        });
        (said, listener)
    }

    pub(super) fn hear(&self, text: &str) {
        self.text.lock().unwrap().push_str(text);
        self.grown.notify_all();
    }

    /// What was said so far, of which nothing is known then.
    pub(super) fn forget(&self) -> String {
        std::mem::take(&mut *self.text.lock().unwrap())
    }

    fn so_far(&self) -> String {
        self.text.lock().unwrap().clone()
    }

    /// Waits until it is as wanted; what it is then.
    #[track_caller]
    pub(super) fn until(&self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        let text = self.text.lock().unwrap();
        let (text, waited) = self.grown.wait_timeout_while(text, PATIENCE, |text| !wanted(text)).unwrap();
        assert!(!waited.timed_out(), "it never said {what}; it said: {text}");
        text.clone()
    }
}

/// A line of stdout without the secrets that are its whole point: the link of the first start, a key that was minted,
/// that of a webhook. They stand where only such a secret stands; anywhere else they are a leak.
fn without_gifts(line: &str) -> String {
    let mut kept = line.to_owned();
    if let Some(secret) = line.strip_prefix("whsec_").map(|_| line.trim_end()) {
        watch::webhook_secrets_in(secret);
        kept = line.replacen(secret, "(given)", 1);
    }
    for place in ["", "/login/once?token=", "\"key\": \"", "\"token\": \"", "\"device_code\": \""] {
        let Some(at) = line.find(place).filter(|at| !place.is_empty() || *at == 0) else { continue };
        let secret: String = line[at + place.len()..]
            .chars()
            .take_while(|character| character.is_ascii_alphanumeric() || "_-".contains(*character))
            .collect();
        if secret.len() == 47 && secret.starts_with("cs") {
            watch::secret(&secret);
            kept = kept.replacen(&secret, "(given)", 1);
        }
    }
    kept
}

/// A program that was started. It is killed, and gone, when this is dropped.
pub(crate) struct Process {
    child: Child,
    out: Arc<Said>,
    err: Arc<Said>,
    listeners: Vec<JoinHandle<()>>,
}

/// How a program ended and what it said.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    /// What ended it, if it did not end by itself.
    pub(crate) signal: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// The exit code was this, and stderr says each of these.
    #[track_caller]
    pub(crate) fn assert_refused(&self, code: i32, says: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:?}");
        for text in says {
            assert!(self.err.contains(text), "{text:?} is not in: {}", self.err);
        }
    }

    /// It did what it was told; what it printed.
    #[track_caller]
    pub(crate) fn done(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.out
    }
}

impl Process {
    pub(crate) fn start(command: Command) -> Self {
        Self::start_with(command, Stdio::null())
    }

    /// Starts a program that reads from this.
    pub(super) fn start_with(mut command: Command, stdin: Stdio) -> Self {
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child =
            command.spawn().unwrap_or_else(|error| panic!("cannot run {:?}: {error}", command.get_program()));
        let (out, hears_out) = Said::listen(child.stdout.take().unwrap(), without_gifts);
        let (err, hears_err) = Said::listen(child.stderr.take().unwrap(), str::to_owned);
        Self { child, out, err, listeners: vec![hears_out, hears_err] }
    }

    /// What it wrote to stdout so far.
    pub(crate) fn out(&self) -> String {
        self.out.so_far()
    }

    /// What it wrote to stderr so far.
    pub(crate) fn err(&self) -> String {
        self.err.so_far()
    }

    /// Waits until stdout is as wanted; what it is then.
    #[track_caller]
    pub(crate) fn out_until(&self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        self.out.until(what, wanted)
    }

    /// Waits until stderr is as wanted; what it is then.
    #[track_caller]
    pub(crate) fn err_until(&self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        self.err.until(what, wanted)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).expect("our own child");
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits for its end, at most this long.
    #[track_caller]
    pub(crate) fn ended(&mut self, within: Duration) -> Ran {
        let deadline = Instant::now() + within;
        let status: ExitStatus = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if Instant::now() >= deadline {
                panic!("it did not end within {} s; it said: {}{}", within.as_secs(), self.out(), self.err());
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        for listener in self.listeners.drain(..) {
            listener.join().unwrap();
        }
        Ran { code: status.code(), signal: status.signal(), out: self.out(), err: self.err() }
    }

    /// SIGKILL, and waits until it is gone.
    pub(crate) fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.ended(PATIENCE);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended before; then there is nothing to kill and nothing to wait for.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// `countersign serve`, up and ready.
pub(crate) struct Served {
    pub(crate) process: Process,
    pub(crate) url: String,
    admin_key: String,
}

impl Served {
    /// Waits until the program says where it listens, and is ready.
    pub(crate) async fn watch(mut process: Process, admin_key: impl FnOnce() -> String) -> Self {
        let url = address(&mut process);
        let served = Self { process, url, admin_key: admin_key() };
        watch::secret(&served.admin_key);
        let stranger = Client::new(&served.url, None).unwrap();
        until("the hub is ready", async || stranger.readyz().await.is_ok_and(|answer| answer.ready)).await;
        served
    }

    /// The address without scheme, as `--listen` takes it.
    pub(crate) fn listen(&self) -> &str {
        self.url.strip_prefix("http://").unwrap()
    }

    pub(crate) fn admin_key(&self) -> &str {
        &self.admin_key
    }

    /// A client with connections of its own.
    pub(crate) fn client(&self, key: &str) -> Client {
        watch::secrets_in(key.as_bytes());
        Client::new(&self.url, Some(key)).unwrap()
    }

    pub(crate) fn admin(&self) -> Client {
        self.client(&self.admin_key)
    }

    /// Ends it in good order.
    #[track_caller]
    pub(crate) fn stop(mut self) -> Ran {
        self.process.signal(Signal::TERM);
        let ran = self.process.ended(PATIENCE);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.out.ends_with("stopped\n"), "{ran:?}");
        ran
    }
}

/// The address in the first line of output. A program that ended has none, and its last words say why.
fn address(process: &mut Process) -> String {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let out = process.out();
        if let Some((first, _)) = out.split_once('\n') {
            let (_, url) =
                first.rsplit_once("listening on ").unwrap_or_else(|| panic!("no address: {first}"));
            return url.to_owned();
        }
        if process.has_ended() || Instant::now() >= deadline {
            let ran = process.ended(PATIENCE);
            panic!("the hub did not start: {ran:?}");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

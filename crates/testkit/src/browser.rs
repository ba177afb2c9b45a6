//! A real browser: Chromium, driven by ChromeDriver over WebDriver.
//!
//! ```no_run
//! # async fn test(hub: &testkit::TestHub) {
//! use testkit::browser::{Browser, Look};
//! let browser = Browser::open(&hub.url(), Look::default()).await;
//! browser.go("/login").await;
//! browser.close().await; // fails if the console has anything to complain of
//! # }
//! ```
//!
//! Each has a profile of its own. Whatever the console complains of fails the test: mistakes in scripts, what the content
//! security policy has blocked, and what could not be loaded, unless the test has said that it expects it.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::servers::{Home, Server, StartError, find_directory, start_on_free_port};

const PROGRAMS: [&str; 2] = ["chromedriver", "chromium"];
/// Far beyond what anything here may take.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK_INTERVAL: Duration = Duration::from_millis(20);
/// How long a script may run: thousands of cases.
const SCRIPT_LASTS: Duration = Duration::from_secs(280);
/// Each wants a core of its own.
static TURNS: Semaphore = Semaphore::const_new(2);
/// By what WebDriver calls an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// Keys that are no letters, as WebDriver writes them.
pub mod keys {
    /// Enter.
    pub const ENTER: char = '\u{e007}';
    /// Escape.
    pub const ESCAPE: char = '\u{e00c}';
    /// Control.
    pub const CONTROL: char = '\u{e009}';
    /// The key that goes to the next field.
    pub const TAB: char = '\u{e004}';
    /// The space bar.
    pub const SPACE: char = ' ';
    /// The arrow down.
    pub const DOWN: char = '\u{e015}';
}

/// What kind of browser it is.
#[derive(Clone, Copy)]
pub struct Look {
    /// The window.
    pub size: (u32, u32),
    /// Whether the person likes it dark.
    pub is_dark: bool,
    /// Whether scripts run.
    pub has_scripts: bool,
}

impl Default for Look {
    fn default() -> Self {
        Self { size: (1280, 900), is_dark: false, has_scripts: true }
    }
}

struct ChromeDriver {
    _server: Server,
    port: u16,
}

impl ChromeDriver {
    fn shared() -> &'static Mutex<Self> {
        static SHARED: OnceLock<Mutex<ChromeDriver>> = OnceLock::new();
        SHARED.get_or_init(|| {
            let programs = find_directory(&PROGRAMS, []).unwrap_or_else(|| {
                panic!("`chromium` and `chromedriver` were not found; `cargo xtask test` installs them")
            });
            let program = programs.join(PROGRAMS[0]).display().to_string();
            Mutex::new(start_on_free_port("ChromeDriver", |port| Self::start_on(port, &program)))
        })
    }

    fn start_on(port: u16, program: &str) -> Result<Self, StartError> {
        let home = Home::make("countersign-browser-");
        let command = [program.to_owned(), format!("--port={port}")];
        let mut server = Server::supervise(home, "TERM", &command);
        server.start(|_| TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok())?;
        Ok(Self { _server: server, port })
    }
}

/// A browser that is open.
pub struct Browser {
    http: reqwest::Client,
    port: u16,
    session: String,
    hub_url: String,
    expected: Mutex<Vec<String>>,
    is_checked: bool,
    _turn: SemaphorePermit<'static>,
}

impl Browser {
    /// Opens one; paths are those of the hub at this address.
    pub async fn open(hub_url: &str, look: Look) -> Self {
        let turn = TURNS.acquire().await.expect("nobody closes it");
        let port = tokio::task::spawn_blocking(|| {
            ChromeDriver::shared().lock().unwrap_or_else(PoisonError::into_inner).port
        });
        let port = port.await.expect("ChromeDriver");
        // Without a provider even a client for http:// cannot be built; a second call changes nothing.
        drop(rustls::crypto::ring::default_provider().install_default());
        let http = reqwest::Client::builder().no_proxy().build().expect("an HTTP client");
        let mut browser = Self {
            http,
            port,
            session: String::new(),
            hub_url: hub_url.to_owned(),
            expected: Mutex::default(),
            is_checked: false,
            _turn: turn,
        };
        let session = browser.ask("", "", wanted(look)).await;
        browser.session = session["sessionId"].as_str().expect("a session").to_owned();
        // What is looked for may be on a page that is only coming.
        let patience =
            json!({"script": SCRIPT_LASTS.as_millis() as u64, "implicit": PATIENCE.as_millis() as u64});
        browser.order("/timeouts", patience).await;
        let (width, height) = look.size;
        let scheme = if look.is_dark { "dark" } else { "light" };
        let media = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        browser.devtools("Emulation.setEmulatedMedia", media).await;
        // A window of Chromium is never as narrow as a phone.
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        browser.devtools("Emulation.setDeviceMetricsOverride", metrics).await;
        browser
    }

    async fn ask(&self, tail: &str, method: &str, body: Value) -> Value {
        let slash = if self.session.is_empty() { "" } else { "/" };
        let url = format!("http://127.0.0.1:{}/session{slash}{}{tail}", self.port, self.session);
        let request = match method {
            "GET" => self.http.get(url),
            _ => self.http.post(url).json(&body),
        };
        let answer = request.send().await.expect("an answer of ChromeDriver");
        let status = answer.status();
        let mut answer: Value = answer.json().await.expect("JSON of ChromeDriver");
        assert!(status.is_success(), "{tail} {body}: {}", answer["value"]["message"]);
        answer["value"].take()
    }

    async fn order(&self, tail: &str, body: Value) -> Value {
        self.ask(tail, "POST", body).await
    }

    /// Calls the browser's own tools.
    pub async fn devtools(&self, command: &str, parameters: Value) -> Value {
        self.order("/goog/cdp/execute", json!({"cmd": command, "params": parameters})).await
    }

    /// Opens a page of the hub.
    pub async fn go(&self, path: &str) {
        let url = format!("{}{path}", self.hub_url);
        self.order("/url", json!({"url": url})).await;
    }

    /// The path and query of the page that is open.
    pub async fn path(&self) -> String {
        let url = self.ask("/url", "GET", Value::Null).await;
        let url = url.as_str().expect("an address");
        url.strip_prefix(&self.hub_url).unwrap_or(url).to_owned()
    }

    /// Runs the body of a function in the page; what it returns.
    pub async fn run(&self, script: &str, arguments: &[Value]) -> Value {
        self.order("/execute/sync", json!({"script": script, "args": arguments})).await
    }

    /// The same, with a callback for its answer as the last argument.
    pub async fn run_async(&self, script: &str, arguments: &[Value]) -> Value {
        self.order("/execute/async", json!({"script": script, "args": arguments})).await
    }

    /// Waits until an expression is true in the page. One that cannot be worked out yet, because what it asks about is not
    /// there before the page has loaded, is not true yet.
    pub async fn wait(&self, expression: &str) {
        let deadline = Instant::now() + PATIENCE;
        let script = format!("try {{ return Boolean({expression}); }} catch {{ return false; }}");
        while self.run(&script, &[]).await != json!(true) {
            if deadline < Instant::now() {
                let page = self.run("return document.body.outerHTML;", &[]).await;
                panic!("never true: {expression}\n{}\n{}", self.path().await, page.as_str().unwrap_or(""));
            }
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
    }

    /// The value of an expression in the page.
    pub async fn value(&self, expression: &str) -> Value {
        self.run(&format!("return ({expression});"), &[]).await
    }

    async fn element(&self, css: &str) -> String {
        let found = self.order("/element", json!({"using": "css selector", "value": css})).await;
        found[ELEMENT].as_str().expect("an element").to_owned()
    }

    /// The text of an element, as a person sees it.
    pub async fn text(&self, css: &str) -> String {
        let element = self.element(css).await;
        let text = self.ask(&format!("/element/{element}/text"), "GET", Value::Null).await;
        text.as_str().unwrap_or_default().to_owned()
    }

    /// Clicks where the element is. What covers it, or hides it, fails the test.
    pub async fn click(&self, css: &str) {
        let element = self.element(css).await;
        self.order(&format!("/element/{element}/click"), json!({})).await;
    }

    /// Clicks what leads to another page, and waits for that page. Where scripts may not run, ChromeDriver's click does not.
    pub async fn follow(&self, css: &str) {
        let page = self.element("html").await;
        self.click(css).await;
        let deadline = Instant::now() + PATIENCE;
        while self.element("html").await == page {
            assert!(Instant::now() < deadline, "{css} leads nowhere from {}", self.path().await);
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
    }

    /// Moves the pointer over an element.
    pub async fn hover(&self, css: &str) {
        let element = json!({ELEMENT: self.element(css).await});
        self.point(json!([{"type": "pointerMove", "duration": 0, "origin": element, "x": 0, "y": 0}])).await;
    }

    /// Moves the pointer to a place in the window.
    pub async fn hover_at(&self, x: u32, y: u32) {
        self.point(json!([{"type": "pointerMove", "duration": 0, "x": x, "y": y}])).await;
    }

    /// Presses and lets go where the pointer is.
    pub async fn click_here(&self) {
        self.point(json!([{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}])).await;
    }

    async fn point(&self, steps: Value) {
        let mouse = json!({"type": "pointer", "id": "mouse", "actions": steps});
        self.order("/actions", json!({"actions": [mouse]})).await;
    }

    /// Presses keys together, the first ones held while the last is pressed.
    pub async fn press(&self, together: &[char]) {
        let step = |kind: &'static str| move |key: &char| json!({"type": kind, "value": key.to_string()});
        let down = together.iter().map(step("keyDown"));
        let up = together.iter().rev().map(step("keyUp"));
        self.type_steps(down.chain(up).collect()).await;
    }

    /// Types into whatever has the focus.
    pub async fn type_text(&self, text: &str) {
        let key = |key: char, kind: &str| json!({"type": kind, "value": key.to_string()});
        let steps = text.chars().flat_map(|letter| [key(letter, "keyDown"), key(letter, "keyUp")]);
        self.type_steps(steps.collect()).await;
    }

    async fn type_steps(&self, steps: Vec<Value>) {
        let keyboard = json!({"type": "key", "id": "keyboard", "actions": steps});
        self.order("/actions", json!({"actions": [keyboard]})).await;
    }

    /// A picture of the page.
    pub async fn picture(&self) -> Vec<u8> {
        use base64::Engine as _;
        let picture = self.ask("/screenshot", "GET", Value::Null).await;
        base64::prelude::BASE64_STANDARD.decode(picture.as_str().unwrap_or_default()).expect("base64")
    }

    /// Says that the console may complain in these words.
    pub fn expects(&self, complaint: &str) {
        self.expected.lock().unwrap_or_else(PoisonError::into_inner).push(complaint.to_owned());
    }

    /// What the console complains of since it was last looked at, besides what was expected.
    pub async fn complaints(&self) -> Vec<String> {
        let log = self.order("/se/log", json!({"type": "browser"})).await;
        let expected = self.expected.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let entries = log.as_array().map(Vec::as_slice).unwrap_or_default();
        let severe = entries.iter().filter(|entry| entry["level"] == "SEVERE");
        let words = severe.map(|entry| entry["message"].as_str().unwrap_or_default().to_owned());
        words.filter(|words| !expected.iter().any(|expected| words.contains(expected))).collect()
    }

    /// Closes it, and fails if the console complains.
    pub async fn close(mut self) {
        let complaints = self.complaints().await;
        self.is_checked = true;
        assert!(complaints.is_empty(), "the console complains: {complaints:#?}");
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Whoever ends a test early leaves no browser behind.
        let quit = || -> std::io::Result<()> {
            let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
            stream.set_read_timeout(Some(PATIENCE))?;
            let end = format!("DELETE /session/{} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", self.session);
            stream.write_all(end.as_bytes())?;
            stream.read_exact(&mut [0; 1])
        };
        let ended = quit();
        if !std::thread::panicking() {
            ended.expect("the browser ends");
            assert!(self.is_checked, "nobody looked at the console: call `close`");
        }
    }
}

fn wanted(look: Look) -> Value {
    let (width, height) = look.size;
    let mut arguments: Vec<String> = [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-dev-shm-usage",
    ]
    .map(str::to_owned)
    .to_vec();
    arguments.push(format!("--window-size={width},{height}"));
    let mut options = json!({"args": arguments});
    if !look.has_scripts {
        options["prefs"] = json!({"profile.managed_default_content_settings.javascript": 2});
    }
    let wanted = json!({"goog:loggingPrefs": {"browser": "ALL"}, "goog:chromeOptions": options});
    json!({"capabilities": {"alwaysMatch": wanted}})
}

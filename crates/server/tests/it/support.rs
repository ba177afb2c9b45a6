//! What most tests here do: ask, and look at the answer.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::reqwest::header::HeaderMap;
use testkit::reqwest::{RequestBuilder, StatusCode};
use testkit::{Setup, TestHub, on_each_engine};

/// The password of everybody who has one.
pub(crate) const PASSWORD: &str = "correct horse battery";

/// An answer, read whole.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) path: String,
    pub(crate) body: Vec<u8>,
}

/// Sends a request. Whatever the answer is, it is not a 5xx and carries what every answer carries.
pub(crate) async fn send(request: RequestBuilder) -> Answer {
    let answer = send_any(request).await;
    assert!(!answer.status.is_server_error(), "{} {}", answer.status, answer.text());
    answer
}

/// The same, where a 5xx is right.
pub(crate) async fn send_any(request: RequestBuilder) -> Answer {
    let response = request.send().await.unwrap();
    let (status, headers) = (response.status(), response.headers().clone());
    let path = response.url().path().to_owned();
    // A stream of events has no end to read to.
    let is_endless = headers.get("content-type").is_some_and(|kind| kind == "text/event-stream");
    let body = if is_endless { Vec::new() } else { response.bytes().await.unwrap().to_vec() };
    let answer = Answer { status, headers, path, body };
    answer.check_frame();
    answer
}

/// Sends a request that must succeed with this status.
pub(crate) async fn expect(request: RequestBuilder, status: u16) -> Answer {
    let answer = send(request).await;
    assert_eq!(answer.status.as_u16(), status, "{} {}", answer.path, answer.text());
    answer
}

/// Sends a request that must be refused with this code; the problem.
pub(crate) async fn refused(request: RequestBuilder, status: u16, code: &str) -> Value {
    send(request).await.problem(status, code)
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// The problem, if it is one of this status and code.
    pub(crate) fn problem(&self, status: u16, code: &str) -> Value {
        let problem = self.any_problem();
        let found = (self.status.as_u16(), problem["code"].as_str().unwrap_or_default());
        assert_eq!(found, (status, code), "{} {}", self.path, self.text());
        problem
    }

    /// The problem, with everything API.md says a problem has.
    pub(crate) fn any_problem(&self) -> Value {
        assert!(self.status.as_u16() >= 400, "{} {}", self.status, self.text());
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{}", self.text());
        let problem = self.json();
        let text = |name: &str| problem[name].as_str().unwrap_or_else(|| panic!("no {name} in {problem}"));
        let code = text("code");
        assert!(code.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_'), "{problem}");
        assert_eq!(text("type"), format!("/errors/{code}"));
        assert_eq!(problem["status"], json!(self.status.as_u16()));
        assert_eq!(text("instance"), self.path);
        assert_eq!(Some(text("request_id")), self.header("x-request-id"));
        assert!(!text("title").is_empty() && !text("detail").is_empty(), "{problem}");
        if self.status == StatusCode::UNPROCESSABLE_ENTITY && code == "VALIDATION_FAILED" {
            assert!(!pointers(&problem).is_empty(), "{problem}");
        }
        if matches!(self.status.as_u16(), 429 | 503 | 507) {
            assert!(self.header("retry-after").unwrap().parse::<u32>().unwrap() >= 1);
        }
        if self.status == StatusCode::UNAUTHORIZED {
            assert_eq!(self.header("www-authenticate"), Some("Bearer"));
        }
        problem
    }

    fn check_frame(&self) {
        assert!(self.header("x-request-id").is_some_and(|id| !id.is_empty()), "{self:?}");
        assert_eq!(self.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(self.header("referrer-policy"), Some("no-referrer"));
        assert_eq!(self.header("cross-origin-opener-policy"), Some("same-origin"));
        let policy = self.header("content-security-policy").unwrap();
        for part in ["default-src 'self'", "object-src 'none'", "frame-ancestors 'none'"] {
            assert!(policy.contains(part), "{policy}");
        }
        if self.path.starts_with("/api/v1/") || self.path.starts_with("/api/ir/") {
            assert_eq!(self.header("cache-control"), Some("no-store"), "{}", self.path);
        }
    }
}

/// Where a problem says the input is wrong.
pub(crate) fn pointers(problem: &Value) -> Vec<String> {
    let errors = problem["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
    errors.iter().map(|error| error["pointer"].as_str().unwrap().to_owned()).collect()
}

/// A problem without what differs from request to request.
pub(crate) fn without_place(problem: &Value) -> Value {
    let mut problem = problem.clone();
    for name in ["instance", "request_id"] {
        problem.as_object_mut().unwrap().remove(name).unwrap();
    }
    problem
}

/// A minted key.
#[derive(Clone)]
pub(crate) struct Minted {
    pub(crate) id: String,
    pub(crate) key: String,
    pub(crate) body: Value,
}

/// Mints a key with another.
pub(crate) async fn mint(hub: &TestHub, with: &str, body: Value) -> Minted {
    let request = hub.request("POST", "/api/v1/api-keys").bearer_auth(with).json(&body);
    minted(&expect(request, 201).await)
}

pub(crate) fn minted(answer: &Answer) -> Minted {
    let body = answer.json();
    let text = |name: &str| body[name].as_str().unwrap().to_owned();
    Minted { id: text("id"), key: text("key"), body }
}

/// The body of a successful GET.
pub(crate) async fn get(hub: &TestHub, key: &str, path: &str) -> Value {
    expect(hub.request("GET", path).bearer_auth(key), 200).await.json()
}

/// All items of a list, page by page.
pub(crate) async fn all_items(hub: &TestHub, key: &str, path: &str) -> Vec<Value> {
    items_by(hub, key, path, 200).await
}

/// The same, in pages of this size.
pub(crate) async fn items_by(hub: &TestHub, key: &str, path: &str, limit: usize) -> Vec<Value> {
    let mut items = Vec::new();
    let mut cursor = String::new();
    loop {
        let joint = if path.contains('?') { '&' } else { '?' };
        let page = get(hub, key, &format!("{path}{joint}limit={limit}{cursor}")).await;
        items.extend(page["items"].as_array().unwrap().iter().cloned());
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return items,
        }
    }
}

/// Asks again until the answer is there. The deadline is far beyond what anything here may take.
pub(crate) async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(Instant::now() < deadline, "{what} did not happen");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Runs the test on each engine, with a hub that is set up differently.
pub(crate) async fn on_each_engine_with(change: impl Fn(&mut Setup), test: impl AsyncFn(TestHub)) {
    on_each_engine(async |plain| {
        let mut setup = Setup::on(plain.hub.records.engine());
        change(&mut setup);
        test(TestHub::start(setup).await).await;
    })
    .await;
}

/// Adds a member to organization `default` whose password the admin chose; the member's e-mail.
pub(crate) async fn enrolled(hub: &TestHub, name: &str) -> String {
    let email = format!("{name}@default.example");
    let body = json!({"email": email, "display_name": name, "password": PASSWORD});
    expect(hub.admin("POST", "/api/v1/accounts").json(&body), 201).await;
    email
}

/// A login, as a browser keeps it.
#[derive(Clone)]
pub(crate) struct Login {
    pub(crate) id: String,
    pub(crate) token: String,
    pub(crate) body: Value,
}

impl Login {
    /// The same request, from the browser that has the login.
    pub(crate) fn on(&self, request: RequestBuilder) -> RequestBuilder {
        request.header("cookie", format!("theme=dark; cs={}", self.token))
    }
}

/// A login with everybody's password.
pub(crate) async fn log_in(hub: &TestHub, email: &str) -> Login {
    let body = json!({"email": email, "password": PASSWORD});
    let answer = expect(hub.request("POST", "/api/v1/auth/login").json(&body), 200).await;
    let body = answer.json();
    let id = body["login_session"]["id"].as_str().unwrap().to_owned();
    Login { id, token: cookie(&answer).unwrap(), body }
}

/// The login that an answer has the browser keep.
pub(crate) fn cookie(answer: &Answer) -> Option<String> {
    let kept = answer.header("set-cookie")?.strip_prefix("cs=")?.split(';').next()?;
    Some(kept.to_owned()).filter(|token| !token.is_empty())
}

/// A member with a key of its own.
pub(crate) struct Person {
    pub(crate) id: String,
    pub(crate) key: String,
}

/// Adds a member with these roles (`admin` makes an admin) to the organization of an admin's key.
pub(crate) async fn person(hub: &TestHub, admin: &str, name: &str, roles: &[&str]) -> Person {
    let key = hub.member_with(admin, name, roles).await;
    let id = get(hub, &key, "/api/v1/me").await["account"]["id"].as_str().unwrap().to_owned();
    Person { id, key }
}

/// A member of the admin's organization who may make projects and agents.
pub(crate) async fn author(hub: &TestHub, name: &str) -> Person {
    person(hub, &hub.admin_key, name, &["author"]).await
}

/// Makes a thing with a POST; what the answer shows.
pub(crate) async fn make(hub: &TestHub, key: &str, path: &str, body: Value) -> Value {
    expect(hub.request("POST", path).bearer_auth(key).json(&body), 201).await.json()
}

/// The id of a thing.
pub(crate) fn id(thing: &Value) -> String {
    thing["id"].as_str().unwrap_or_else(|| panic!("no id in {thing}")).to_owned()
}

/// A page without the one script it may have, which is the hub's own and has an address.
pub(crate) fn without_module(page: &str) -> String {
    let Some((before, rest)) = page.split_once("<script type=\"module\" src=\"/assets/app.js") else {
        return page.to_owned();
    };
    let (_, after) = rest.split_once("\"></script>").unwrap();
    format!("{before}{after}")
}

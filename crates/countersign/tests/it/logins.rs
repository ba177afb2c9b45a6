//! Who gets in: a login with the help of a browser, kept for other commands; and the operator's help beside a hub that
//! runs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use testkit::reqwest::redirect::Policy;
use testkit::reqwest::{Client, Response};
use testkit::watch;

use crate::support::{Home, Kind, PATIENCE, Process, Ran, Served, Terminal, mint};

const USAGE: i32 = 2;
const REFUSED: i32 = 3;

/// A browser that keeps one login.
struct Browser {
    http: Client,
    url: String,
    cookie: String,
}

impl Browser {
    /// Opens a one-time link and presses the button.
    async fn with_link(served: &Served, link: &str) -> Result<Self, u16> {
        let http = Client::builder().no_proxy().tls_certs_only([]).redirect(Policy::none()).build().unwrap();
        let (_, token) = link.trim().split_once("/login/once?token=").expect("a link");
        let mut browser = Self { http, url: served.url.clone(), cookie: String::new() };
        let answer = browser.post("/login/once", &[("token", token)]).await;
        let Some(kept) = answer.headers().get("set-cookie") else { return Err(answer.status().as_u16()) };
        browser.cookie = kept.to_str().unwrap().split(';').next().unwrap().to_owned();
        Ok(browser)
    }

    async fn post(&self, path: &str, form: &[(&str, &str)]) -> Response {
        let request = self.http.post(format!("{}{path}", self.url)).header("cookie", &self.cookie);
        request.form(form).send().await.unwrap()
    }
}

fn first_link(served: &Served) -> String {
    let out = served.process.out();
    out.lines().find_map(|line| line.split_once("15 min: ")).expect("a link").1.to_owned()
}

/// A command of somebody who has no key, with a place to keep a login in.
fn command(home: &Home, url: &str, args: &[&str]) -> Command {
    let mut command = home.command(args);
    command.env("COUNTERSIGN_URL", url).env("XDG_CONFIG_HOME", home.beside("config"));
    command
}

fn run(home: &Home, url: &str, args: &[&str]) -> Ran {
    Process::start(command(home, url, args)).ended(PATIENCE)
}

fn login_file(home: &Home) -> PathBuf {
    home.beside("config").join("countersign/login.json")
}

async fn answered(home: &Home, served: &Served, browser: &Browser, answer: &str) -> Ran {
    let mut waiting = Process::start(command(home, &served.url, &["login"]));
    let said = waiting.err_until("what to open", |text| text.contains("Waiting"));
    let (_, rest) = said.split_once("/login/device?code=").expect("a link");
    let code = rest.split_whitespace().next().unwrap();
    assert!(said.contains(&format!("the code {code}")), "{said}");
    browser.post("/login/device", &[("code", code), ("answer", answer)]).await;
    waiting.ended(PATIENCE)
}

#[tokio::test]
async fn a_login_is_granted_in_a_browser_and_kept_for_other_commands() {
    let home = Home::on(Kind::Sqlite);
    let served = home.serve().await;
    let url = served.url.clone();
    run(&home, &url, &["me"]).assert_refused(USAGE, &["countersign login", "COUNTERSIGN_API_KEY"]);
    let browser = Browser::with_link(&served, &first_link(&served)).await.expect("the link works");
    assert_eq!(Browser::with_link(&served, &first_link(&served)).await.err(), Some(410), "once");
    answered(&home, &served, &browser, "deny").await.assert_refused(REFUSED, &["denied"]);
    assert!(!login_file(&home).exists());

    let said = answered(&home, &served, &browser, "allow").await.done();
    assert!(said.contains("admin@countersign.invalid"), "{said}");
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(login_file(&home)), mode(home.beside("config/countersign"))), (0o600, 0o700));
    let me: Value = serde_json::from_str(&run(&home, &url, &["me", "--json"]).done()).unwrap();
    assert!(me["login_session_id"].is_string() && me["key_id"].is_null(), "{me}");
    assert!(run(&home, &url, &["me"]).done().contains("login"));
    // Another hub has a login of its own, or none.
    run(&home, "http://127.0.0.1:9", &["me"]).assert_refused(USAGE, &["not logged in to http://127.0.0.1:9"]);
    fs::set_permissions(login_file(&home), PermissionsExt::from_mode(0o644)).unwrap();
    run(&home, &url, &["me"]).assert_refused(1, &["chmod 600"]);
    fs::set_permissions(login_file(&home), PermissionsExt::from_mode(0o600)).unwrap();
    // A key goes before it.
    let key = served.admin_key().to_owned();
    let mut with_key = command(&home, &url, &["me", "--json"]);
    with_key.env("COUNTERSIGN_API_KEY", &key);
    let me: Value = serde_json::from_str(&Process::start(with_key).ended(PATIENCE).done()).unwrap();
    assert!(me["key_id"].is_string(), "{me}");

    let token = fs::read_to_string(login_file(&home)).unwrap();
    let token: Value = serde_json::from_str(&token).unwrap();
    let token = token["hubs"][format!("{url}/")]["token"].as_str().unwrap().to_owned();
    run(&home, &url, &["logout"]).done();
    run(&home, &url, &["logout"]).assert_refused(USAGE, &["not logged in"]);
    assert!(served.client(&token).me().await.is_err(), "ended, not only forgotten");
    let ran = served.stop();
    assert!(!ran.err.contains(&token), "{}", ran.err);
}

#[tokio::test]
async fn the_client_logs_in_and_out_with_a_password() {
    let home = Home::on(Kind::Sqlite);
    let served = home.serve().await;
    let password = "correct horse battery".to_owned();
    let first = wire::SetPassword { current_password: None, new_password: password.clone() };
    served.admin().set_password(&first).await.unwrap();
    let stranger = client::Client::new(&served.url, None).unwrap();
    let email = "admin@countersign.invalid".to_owned();
    let request = wire::LogIn { email, password, organization_id: None };
    let (logged_in, token) = stranger.log_in(&request).await.unwrap();
    assert!(token.expose().starts_with("css_") && format!("{token:?}") == "Token(…)");
    let (other, _) = stranger.log_in(&request).await.unwrap();
    let client = served.client(token.expose());
    let page = client.login_sessions(&wire::PageQuery::default()).await.unwrap();
    assert_eq!(page.items.len(), 2);
    let found = client.login_session(other.login_session.id).await.unwrap();
    assert!(!found.current && found.method == "password");
    client.end_login_session(other.login_session.id).await.unwrap();
    let here = client.switch_organization(logged_in.organization.id).await.unwrap();
    assert_eq!(here, logged_in.organization);
    client.log_out().await.unwrap();
    assert!(client.me().await.is_err());
    let wrong = wire::LogIn { password: "wrong horse battery".to_owned(), ..request };
    let refused = stranger.log_in(&wrong).await.unwrap_err().to_string();
    assert!(refused.contains("email or password is wrong") && !refused.contains("horse"), "{refused}");
    served.stop();
}

#[tokio::test]
async fn a_password_that_is_typed_is_not_seen_and_the_login_is_kept_for_its_owner_alone() {
    let home = Home::on(Kind::Sqlite);
    let served = home.serve().await;
    let password = "quiet zebra lantern";
    watch::secret(password);
    let first = wire::SetPassword { current_password: None, new_password: password.to_owned() };
    served.admin().set_password(&first).await.unwrap();
    let mut terminal = Terminal::open();
    let log_in = command(&home, &served.url, &["login", "--password"]);
    for typed in ["noisy zebra lantern", password] {
        let mut login = terminal.start(&log_in);
        terminal.until("E-mail: ");
        terminal.type_line("admin@countersign.invalid");
        terminal.until("Password: ");
        assert!(!terminal.echoes());
        terminal.type_line(typed);
        let ran = login.ended(PATIENCE);
        assert!(terminal.echoes(), "the terminal is as it was");
        let seen = terminal.clear();
        assert!(seen.contains("E-mail: admin@countersign.invalid"), "{seen}");
        assert!(!seen.contains("zebra") && !ran.out.contains("zebra") && !ran.err.contains("zebra"));
        match typed == password {
            true => assert!(ran.done().contains("logged in as")),
            false => ran.assert_refused(REFUSED, &["email or password is wrong"]),
        }
        assert_eq!(login_file(&home).exists(), typed == password);
    }
    assert_eq!(fs::metadata(login_file(&home)).unwrap().permissions().mode() & 0o777, 0o600);
    let kept = fs::read_to_string(login_file(&home)).unwrap();
    assert!(!kept.contains("zebra"));
    assert!(run(&home, &served.url, &["me"]).done().contains("login"));
    served.stop();
}

#[tokio::test]
async fn without_a_terminal_no_password_is_asked_for() {
    let home = Home::on(Kind::Sqlite);
    let served = home.serve().await;
    let mut command = command(&home, &served.url, &["login", "--password"]);
    // A session of its own has no terminal.
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let through = ["setsid", "-w"];
    let mut detached = Command::new(through[0]);
    detached.arg(through[1]).arg(command.get_program()).args(command.get_args());
    detached.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Process::start(detached).ended(PATIENCE).assert_refused(1, &["no terminal"]);
    served.stop();
}

/// The operator writes into the database of a hub that runs, and that writes itself all the while.
async fn operator_helps(kind: Kind) {
    let home = Home::on(kind);
    let served = home.serve().await;
    let admin = served.admin();
    let busy = async {
        for number in 0..60 {
            mint(&admin, &format!("key {number}")).await;
        }
    };
    let links = async {
        let home = &home;
        let mut links = Vec::new();
        for _ in 0..5 {
            // On a thread of its own, so that the hub is asked meanwhile.
            let command = home.command(&["admin", "login-link", "--data", &home.data.display().to_string()]);
            let ran = tokio::task::spawn_blocking(|| Process::start(command).ended(PATIENCE)).await.unwrap();
            links.push(ran.done());
        }
        links
    };
    let ((), links) = tokio::join!(busy, links);
    for link in &links {
        assert!(link.starts_with("http://127.0.0.1:8000/login/once?token=cso_"), "{link}");
        Browser::with_link(&served, link).await.expect("each works, at once");
    }
    let made =
        home.run_on_data(&["admin", "create-admin", "grace@example.org", "--name", "Grace", "--json"]).done();
    let made: Value = serde_json::from_str(&made).unwrap();
    assert_eq!(made["account"]["email"], "grace@example.org");
    Browser::with_link(&served, made["url"].as_str().unwrap()).await.expect("the new admin gets in");
    home.run_on_data(&["admin", "create-admin", "grace@example.org"]).assert_refused(1, &["already"]);
    home.run_on_data(&["admin", "login-link"]).assert_refused(1, &["several admins"]);
    home.run_on_data(&["admin", "login-link", "nobody@example.org"]).assert_refused(1, &["no such account"]);
    home.run_on_data(&["admin", "login-link", "system@countersign.invalid"])
        .assert_refused(1, &["cannot log in"]);
    served.stop();
    // By the hub's own account, as the operator, and sealed with everything else.
    let by = "SELECT COUNT(*) FROM audit_logs WHERE action = 'login_link:made' AND service = 'admin' AND owner_id = \
              (SELECT id FROM accounts WHERE email = 'system@countersign.invalid')";
    assert_eq!(home.sql(by).await, [["6"]]);
    assert!(home.verified(&[]).iter().all(|report| report["unsealed"] == 0));
}

#[tokio::test]
async fn the_operator_helps_beside_a_busy_hub_on_sqlite() {
    operator_helps(Kind::Sqlite).await;
}

#[tokio::test]
async fn the_operator_helps_beside_a_busy_hub_on_postgres() {
    operator_helps(Kind::Postgres).await;
}

#[test]
fn without_a_hub_there_is_nobody_to_help() {
    let home = Home::on(Kind::Sqlite);
    home.run_on_data(&["admin", "login-link"]).assert_refused(1, &["there is no database"]);
}

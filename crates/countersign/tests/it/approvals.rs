//! `task submit` to `approval approve`: a change asked for, read whole, answered, and waited for.

use serde_json::Value;

use crate::support::{Home, Kind, PATIENCE, Process, Ran, Served};

/// Somebody at a command line.
struct Person<'h> {
    home: &'h Home,
    served: &'h Served,
    key: String,
}

impl<'h> Person<'h> {
    /// A member with a key that nobody else made.
    fn join(home: &'h Home, served: &'h Served, email: &str, role: &str) -> Self {
        home.as_admin(served, &["account", "create", email, "--name", email, "--role", role]).done();
        let first = home.as_admin(served, &["key", "mint", "first", "--account", email]).done();
        let enrolled = Self { home, served, key: first.trim().to_owned() };
        let key = enrolled.run(&["key", "mint", "own"]).done().trim().to_owned();
        Self { key, ..enrolled }
    }

    fn start(&self, args: &[&str]) -> Process {
        Process::start(self.home.command_as(&self.served.url, &self.key, args))
    }

    #[track_caller]
    fn run(&self, args: &[&str]) -> Ran {
        self.start(args).ended(PATIENCE)
    }

    #[track_caller]
    fn json(&self, args: &[&str]) -> Value {
        let out = self.run(&[args, &["--json"]].concat()).done();
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{args:?}: {error}: {out}"))
    }

    /// A task, handed in; its id.
    fn asks(&self, description: &str) -> String {
        let create = ["task", "create", "--type", "t", "--description", description];
        let id = self.json(&create)["id"].as_str().unwrap().to_owned();
        assert_eq!(self.json(&["task", "submit", &id])["state"], "REVIEWING");
        id
    }

    /// The request about a task; its id.
    fn asked(&self, task: &str) -> String {
        let found = self.json(&["approval", "list", "--task", task]);
        found["items"][0]["id"].as_str().unwrap_or_else(|| panic!("no request: {found}")).to_owned()
    }
}

fn value<'a>(text: &'a str, name: &str) -> &'a str {
    let line = text.lines().find(|line| line.starts_with(name));
    line.unwrap_or_else(|| panic!("no {name:?} in:\n{text}"))[name.len()..].trim()
}

/// Several at once, or none.
fn many(ada: &Person<'_>, rob: &Person<'_>) {
    let wrong = format!("sha256:{}", "0".repeat(64));
    let tasks = ["one", "two"].map(|name| ada.asks(name));
    let named: Vec<String> = tasks
        .iter()
        .map(|task| {
            let request = rob.asked(task);
            let shown = rob.run(&["approval", "show", &request]).done();
            format!("{request}={},{}", value(&shown, "decides on"), value(&shown, "seen as"))
        })
        .collect();
    let [first, second] = named.as_slice() else { panic!("two: {named:?}") };
    rob.run(&["approval", "batch", "approve", first.split_once('=').unwrap().0])
        .assert_refused(2, &["ID=CONTENT_HASH"]);
    let stale = second.replace(value(second, &second[..second.find('=').unwrap() + 1]), &wrong);
    rob.run(&["approval", "batch", "approve", first, &stale]).assert_refused(1, &["STALE_CONTENT"]);
    rob.run(&["approval", "batch", "approve", first, second, "--apply-immediately"])
        .assert_refused(3, &["admins"]);
    let answered = rob.json(&["approval", "batch", "approve", first, second, "--reason", "both are fine"]);
    assert_eq!(answered["items"].as_array().unwrap().len(), 2, "{answered}");
    for task in &tasks {
        assert_eq!(ada.json(&["task", "show", task])["state"], "APPROVED");
    }
}

async fn reviews(kind: Kind) {
    let home = Home::on(kind);
    let served = home.serve().await;
    let ada = Person::join(&home, &served, "ada@example.org", "author");
    let rob = Person::join(&home, &served, "rob@example.org", "reviewer");

    // Nothing that a reviewer reads hides, and nobody writes lines of their own.
    let task = ada.asks("drop\u{202e}it\nrisk LOW");
    let request = rob.asked(&task);
    let text = rob.run(&["approval", "show", &request]).done();
    assert!(text.contains(r"drop\u202eit\nrisk LOW"), "{text}");
    assert!(text.contains("! config/description"), "{text}");
    assert!(!text.contains("\nrisk LOW"), "{text}");
    assert!(text.contains("missing    ") && text.contains("because "), "{text}");
    assert!(text.contains("\nrisk ") && text.contains("policy     "), "{text}");
    let (content, review) = (value(&text, "decides on"), value(&text, "seen as"));

    // Why it is asked, before and after it was handed in.
    let draft = ada.json(&["task", "create", "--type", "t", "--description", "d"]);
    let explained = ada.run(&["policy", "explain", draft["id"].as_str().unwrap()]).done();
    assert!(
        explained.contains("would be   REVIEWING") && explained.contains("would ask  rob@"),
        "{explained}"
    );
    let simulated = ada.run(&["task", "create", "--type", "t", "--description", "d", "--simulate"]).done();
    assert!(simulated.contains("would ask  rob@example.org for default\n"), "{simulated}");
    let explained = rob.run(&["policy", "explain", &task]).done();
    assert!(
        explained.contains("because no other policy") && explained.contains("asked      rob@"),
        "{explained}"
    );

    // Nobody says yes without having read.
    rob.run(&["approval", "approve", &request]).assert_refused(2, &["--content-hash"]);
    rob.run(&["approval", "reject", &request, "--reason", "no", "--json"])
        .assert_refused(2, &["--content-hash"]);
    let wrong = format!("sha256:{}", "0".repeat(64));
    rob.run(&["approval", "approve", &request, "--content-hash", &wrong])
        .assert_refused(1, &["STALE_CONTENT"]);
    ada.run(&["approval", "approve", &request, "--content-hash", content])
        .assert_refused(3, &["NOT_YOUR_REVIEW"]);
    ada.run(&["task", "watch", &task, "--timeout", "1"]).assert_refused(4, &["has not ended"]);
    rob.run(&["approval", "acknowledge", &request]).done();
    let mut watch = ada.start(&["task", "watch", &task]);
    let yes = ["approval", "approve", &request, "--content-hash", content, "--review-hash", review];
    assert_eq!(rob.json(&yes)["status"], "APPROVED");
    assert_eq!(watch.ended(PATIENCE).done(), format!("task {task} is APPROVED (quorum)\n"));
    assert_eq!(rob.json(&["approval", "list"])["items"], serde_json::json!([]));
    let all = rob.json(&["approval", "list", "--all", "--status", "approved"]);
    assert_eq!(all["items"][0]["id"].as_str(), Some(request.as_str()));
    assert_eq!(rob.json(&["approval", "stats"])["approved_today"], 1);

    // Taken back, asked again, sent back, given up.
    let back = rob.json(&["task", "withdraw-approval", &task, "--reason", "wrong table"]);
    assert_eq!(back["state"], "REJECTED");
    let watched = ada.run(&["task", "watch", &task]);
    assert_eq!((watched.code, watched.out), (Some(3), format!("task {task} is REJECTED (withdrawn)\n")));
    let draft = ada.json(&["task", "resubmit", &task])["id"].as_str().unwrap().to_owned();
    ada.run(&["task", "submit", &draft]).done();
    let request = rob.asked(&draft);
    let changes = ["approval", "request-changes", &request, "--content-hash", content, "--reason", "say why"];
    rob.run(&changes).done();
    assert_eq!(ada.run(&["task", "watch", &draft]).code, Some(3));
    assert_eq!(ada.json(&["task", "cancel", &draft, "--reason", "enough"])["state"], "CANCELLED");

    many(&ada, &rob);
    let task = ada.asks("another");
    home.as_admin(&served, &["task", "join-review", &task]).done();
    let request = rob.asked(&task);
    let hash = rob.json(&["approval", "show", &request])["task"]["content_hash"].as_str().unwrap().to_owned();
    let no = ["approval", "reject", &request, "--content-hash", &hash, "--reason", "not today"];
    assert!(rob.run(&no).done().contains("not today"));
    assert_eq!(ada.run(&["task", "watch", &task, "--json"]).code, Some(3));
    served.stop();
}

async fn stand_ins(kind: Kind) {
    let home = Home::on(kind);
    let served = home.serve().await;
    let ada = Person::join(&home, &served, "ada@example.org", "author");
    let rob = Person::join(&home, &served, "rob@example.org", "reviewer");
    let rita = Person::join(&home, &served, "rita@example.org", "reviewer");
    let abe = Person::join(&home, &served, "abe@example.org", "admin");
    let text = |value: &Value, name: &str| value[name].as_str().unwrap().to_owned();

    // Made, read, changed, used, ended.
    let create = ["delegation", "create", "rita@example.org", "--type", "special", "--until", "30d"];
    let made = text(&rob.json(&create), "id");
    assert_eq!(rob.json(&["delegation", "change", &made, "--cascade"])["cascade"], true);
    rob.run(&["delegation", "change", &made]).assert_refused(2, &["nothing to change"]);
    rita.run(&["delegation", "change", &made, "--no-cascade"]).assert_refused(3, &["somebody else's"]);
    assert!(rob.run(&["delegation", "show", &made]).done().contains("special"));
    assert_eq!(rob.json(&["delegation", "list", "--active"])["items"][0]["id"].as_str(), Some(made.as_str()));
    assert_eq!(rita.json(&["delegation", "list"])["items"], serde_json::json!([]));
    let back = ["delegation", "create", "rob@example.org", "--cascade"];
    rita.run(&back).assert_refused(1, &["circle"]);
    let special = text(&ada.json(&["task", "create", "--type", "special", "--description", "d"]), "id");
    ada.run(&["task", "submit", &special]).done();
    let passed = rob.json(&["approval", "list", "--all", "--reviewer", "me", "--task", &special]);
    assert_eq!(passed["items"][0]["status"], "DELEGATED", "{passed}");
    rob.run(&["delegation", "remove", &made]).done();
    assert_eq!(rob.json(&["delegation", "list", "--active"])["items"], serde_json::json!([]));

    // One request, by hand.
    let task = ada.asks("by hand");
    let request = rob.asked(&task);
    let pass = ["approval", "delegate", &request, "--to", "rita@example.org", "--reason", "her database"];
    assert!(rob.run(&pass).done().contains("DELEGATED"));
    rob.run(&pass).assert_refused(1, &["no longer open"]);

    // Two admins.
    let urgent = ["--reason", "nobody is there", "--incident-ticket", "INC-7"];
    let asked = home.as_admin(&served, &[&["task", "override", &task], &urgent[..]].concat()).done();
    assert!(asked.contains("REVIEWING"), "{asked}");
    let found = abe.json(&["approval", "list", "--task", &task]);
    let signature = found["items"].as_array().unwrap().iter().find(|one| one["kind"] == "override").unwrap();
    let sign = ["approval", "approve", signature["id"].as_str().unwrap(), "--content-hash"];
    abe.run(&[&sign[..], &[signature["content_hash"].as_str().unwrap()]].concat()).done();
    assert_eq!(ada.json(&["task", "show", &task])["review"]["resolution"], "override");
    home.as_admin(&served, &[&["task", "force-apply", &task], &urgent[..]].concat()).done();
    rob.run(&[&["task", "force-apply", &task], &urgent[..]].concat()).assert_refused(3, &["FORBIDDEN"]);
    served.stop();
}

#[tokio::test]
async fn stand_ins_on_sqlite() {
    stand_ins(Kind::Sqlite).await;
}

#[tokio::test]
async fn stand_ins_on_postgres() {
    stand_ins(Kind::Postgres).await;
}

#[tokio::test]
async fn reviews_on_sqlite() {
    reviews(Kind::Sqlite).await;
}

#[tokio::test]
async fn reviews_on_postgres() {
    reviews(Kind::Postgres).await;
}

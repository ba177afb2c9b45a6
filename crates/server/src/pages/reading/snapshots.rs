//! What is read before a decision, and the forms of the decision.

use askama::Template;
use domain::approvals::ApprovalKind;
use domain::risk::{Factor, RiskLevel};
use domain::tasks::TaskState;
use serde_json::json;

use super::decide::{Choices, Form};
use super::preview::Preview;
use super::quorum::{Quorum, SeatShown};
use super::{Decide, Linked, LookedShown, Reading, ResourceShown, Said, Stuck, due, factor, waited_for};
use crate::pages::show::{HashShown, Markup, ago, code, compared, filters, line, lines, pill, risk, time};
use crate::pages::snapshots::{Frame, HOSTILE, NOW, before, hash, keeps, other, title};

const TASK: &str = "00000000-0000-7000-8000-0000000000aa";

#[derive(Template)]
#[template(source = "{% include \"parts/pane.html\" %}", ext = "html")]
struct Pane {
    read: Reading,
    back: &'static str,
}

/// What the parts ask of what may be done with the task.
struct Menu {
    ways_out: Vec<Anew>,
    override_asked: Option<&'static str>,
    anew: Option<Anew>,
}

struct Anew {
    to: &'static str,
    icon: &'static str,
    name: &'static str,
}

#[derive(Template)]
#[template(source = "{% include \"parts/sign.html\" %}", ext = "html")]
struct Sign {
    shell: Frame,
    read: Reading,
    menu: Menu,
}

#[derive(Template)]
#[template(source = "{% include \"parts/stuck.html\" %}", ext = "html")]
struct StuckNote {
    read: Reading,
    menu: Menu,
}

#[derive(Template)]
#[template(source = "{% include \"parts/quorums.html\" %}", ext = "html")]
struct Quorums {
    read: Reading,
    menu: Menu,
}

#[derive(Template)]
#[template(source = "{% include \"parts/details.html\" %}", ext = "html")]
struct Details {
    read: Reading,
}

#[derive(Template)]
#[template(source = "{% include \"parts/risk.html\" %}", ext = "html")]
struct Risk {
    read: Reading,
}

fn form() -> Form {
    Form {
        approval_id: "00000000-0000-7000-8000-0000000000bb".to_owned(),
        content_hash: hash().to_string(),
        review_hash: format!("sha256:{}", "0".repeat(64)),
        short: "23b59446".to_owned(),
        revision: 3,
        as_words: line("for <default>"),
        consequence: line("Yours is the last signature. An agent may apply it."),
        before: Some(line("You approved it before.")),
        must_type: Some("prod-<orders>".to_owned()),
        pattern: "prod\\-<orders>".to_owned(),
        after_no: "The review is over, nothing runs.",
        is_review: true,
        choices: Choices::of(ApprovalKind::Review, false),
        delegates: vec![("00000000-0000-7000-8000-0000000000cc".to_owned(), "<Bob>".to_owned())],
        from: "inbox",
        typed: "half \"typed\"".to_owned(),
    }
}

fn quorum() -> Quorum {
    let seat = |name: &str, is_me: bool, icon: &'static str| SeatShown {
        face: other(name, false).avatar(),
        name: line(name),
        about: line("asked 15:02 UTC"),
        is_me,
        is_waiting: icon.is_empty(),
        icon,
        class: "i ok",
        chain: if is_me { vec![line("<Ann>"), line("You")] } else { Vec::new() },
    };
    Quorum {
        name: line("<default>"),
        about: line("2 of reviewer"),
        because: vec![line("applies to everything")],
        given: 1,
        needed: 2,
        is_met: false,
        seats: vec![seat("Bob", false, "check"), seat("Rita", true, "")],
        unreachable: true,
    }
}

fn reading() -> Reading {
    let config =
        json!({"type": "migration", "description": HOSTILE, "resources": [{"type": "database", "id": "a"}]});
    let preview = json!({"made_by": "author", "warnings": ["<slow>"], "changes": [
        {"kind": "delete", "resource": "<orders>", "rows": 5}, {"path": "a.sql", "before": "x", "after": "y"}]});
    let linked = |state| Linked { id: TASK.to_owned(), title: title(), state };
    let factor_of = |name, value: f64| Factor {
        name,
        value,
        weight: 0.4,
        contribution: value * 0.4,
        reason: "prod-<orders> is critical".to_owned(),
    };
    Reading {
        id: TASK.to_owned(),
        title: title(),
        plain_title: domain::rendering::plain(HOSTILE),
        length: None,
        pill: pill(TaskState::Reviewing),
        heading: "No <decision> is open",
        stuck: None,
        risk: risk(RiskLevel::High, Some(61)),
        is_foreseen: false,
        score: 61,
        level: risk(RiskLevel::High, None),
        factors: [("resource_criticality", 90.0), ("blast_radius", 12.5)]
            .map(|(name, value)| factor(&factor_of(name, value)))
            .into(),
        author: other("schema-<steward>", true).who(),
        started_by: Some(line("<Ann>")),
        ticket: Some(line("OPS-<1>")),
        asked: Some(line("A second admin is asked to skip this review. Asked for by <Ann>")),
        revision: 3,
        since: time(before(4000), "handed in 1 h 06 min ago"),
        due: Some(due(NOW.plus(std::time::Duration::from_secs(90)), NOW)),
        blocks: "1 task".to_owned(),
        waited_for: waited_for(1),
        dependents: vec![linked("DRAFT")],
        prerequisites: vec![linked("APPLYING")],
        hash: HashShown::of(hash()),
        runs: "What will run",
        code: code(&config),
        bytes: "1,024".to_owned(),
        preview: Some(Preview::of(&preview)),
        quorums: vec![quorum()],
        signatures: "1 of 2".to_owned(),
        looked: Some(LookedShown {
            revision: 2,
            at: "15:02 UTC".to_owned(),
            changes: compared("{\n  \"a\": 1\n}", "{\n  \"a\": \"<2>\"\n}"),
        }),
        said: vec![Said {
            id: "comment-1".to_owned(),
            face: other("Bob", false).large(),
            name: line("<Bob>"),
            about: ago(before(60), NOW),
            words: lines("two\nlines <b>"),
        }],
        decide: Decide::Open(Box::new(form())),
        rollback: "automatic",
        timeout: "10 min".to_owned(),
        attempts: "1, never repeated".to_owned(),
        resources: vec![ResourceShown {
            key: "resource:database:a".to_owned(),
            icon: "database",
            name: line("database:<a>"),
            mode: "exclusive",
        }],
        tags: vec![line("<tag>")],
    }
}

fn menu() -> Menu {
    let anew = Anew { to: "/tasks/1/resubmit", icon: "refresh", name: "Propose it again" };
    let way_out = Anew { to: "/tasks/1/cancel", icon: "s-cancelled", name: "Cancel the <task>…" };
    let override_asked = Some("An override was asked for by <Ann>.");
    Menu { ways_out: vec![way_out], override_asked, anew: Some(anew) }
}

/// Everything is posted with the hashes that are on the screen, and each decision is a form of its own.
#[test]
fn the_pane_with_its_decision() {
    keeps("pane", &Pane { read: reading(), back: "/?risk=HIGH&q=a" });
}

#[test]
fn where_there_is_nothing_to_sign() {
    let why: Markup = line("You started schema-<steward>.");
    let read = Reading { decide: Decide::Not(why), ..reading() };
    keeps("sign", &Sign { shell: Frame, read, menu: menu() });
}

#[test]
fn where_nobody_is_left_who_may_decide() {
    let stuck = Stuck {
        missing: vec![line("<default>: 1 more person must approve.")],
        told: vec![line("Told at 15:02 UTC, as admins: <Ada>.")],
    };
    keeps("stuck", &StuckNote { read: Reading { stuck: Some(stuck), ..reading() }, menu: menu() });
}

/// What another login could sign is not offered to this one, and that is said before anybody tries.
#[test]
fn where_this_login_cannot_sign() {
    let read = || Reading { decide: Decide::NotWith(line("<Ada> made it.")), ..reading() };
    let sign = Sign { shell: Frame, read: read(), menu: menu() }.render().unwrap();
    let pane = Pane { read: read(), back: "/" }.render().unwrap();
    for part in [sign, pane] {
        assert!(part.contains("Not with this sign-in") && part.contains("&#60;Ada&#62; made it."), "{part}");
        assert!(part.contains("href=\"/account#password\"") && !part.contains("<form"), "{part}");
    }
}

#[test]
fn who_signed_and_what_is_known() {
    keeps("quorums", &Quorums { read: reading(), menu: menu() });
    keeps("details", &Details { read: reading() });
    keeps("risk", &Risk { read: reading() });
}

//! The rows of the inbox, its tabs, and the list that is signed.

use askama::Template;
use domain::risk::RiskLevel;
use domain::tasks::TaskState;

use super::asking::{Tab, View};
use super::batch::{Item, Listed};
use super::own::Own;
use super::waiting::Row;
use super::{StatsShown, done, told};
use crate::pages::reading::due;
use crate::pages::show::{HashShown, ago, filters, line, lines, long, pill, risk, seats, strip};
use crate::pages::snapshots::{Frame, HOSTILE, NOW, before, hash, keeps, title};

const FIRST: &str = "00000000-0000-7000-8000-00000000000a";
const SECOND: &str = "00000000-0000-7000-8000-00000000000b";

#[derive(Template)]
#[template(source = "{% for row in rows %}{% include \"parts/row.html\" %}{% endfor %}", ext = "html")]
struct Waiting {
    rows: [Row; 2],
}

#[derive(Template)]
#[template(source = "{% include \"parts/row_own.html\" %}", ext = "html")]
struct OwnPart {
    row: Own,
}

#[derive(Template)]
#[template(source = "{% include \"parts/row_done.html\" %}", ext = "html")]
struct DonePart {
    row: done::Row,
}

#[derive(Template)]
#[template(source = "{% include \"parts/row_told.html\" %}", ext = "html")]
struct ToldPart {
    row: told::Row,
}

#[derive(Template)]
#[template(source = "{% include \"parts/inbox_tabs.html\" %}", ext = "html")]
struct Tabs {
    tabs: [Tab; 2],
}

#[derive(Template)]
#[template(source = "{% include \"parts/stats.html\" %}", ext = "html")]
struct Stats {
    stats: StatsShown,
}

#[derive(Template)]
#[template(source = "{% include \"parts/batch.html\" %}", ext = "html")]
struct Batch {
    shell: Frame,
    batch: Listed,
}

/// One that can be signed with others.
fn low() -> Row {
    Row {
        id: FIRST.to_owned(),
        to: format!("/?open={FIRST}"),
        title: title(),
        plain_title: domain::rendering::plain(HOSTILE),
        whole: None,
        risk: risk(RiskLevel::Low, Some(12)),
        urgent: false,
        is_raised: true,
        is_override: false,
        age: long(before(4000), NOW),
        author: line("<ann>"),
        author_icon: "agent",
        resource: Some((line("prod-<orders>"), "database")),
        strip: strip(hash(), 16),
        seats: seats(1, 2),
        unreachable: false,
        due: Some(due(NOW.plus(std::time::Duration::from_secs(90)), NOW)),
        blocks: 2,
        opened: true,
        batchable: true,
        current: false,
        picked: true,
    }
}

/// One that cannot.
fn high() -> Row {
    Row {
        id: SECOND.to_owned(),
        risk: risk(RiskLevel::Critical, Some(93)),
        urgent: true,
        is_raised: false,
        is_override: true,
        author_icon: "user",
        resource: None,
        unreachable: true,
        due: None,
        blocks: 0,
        opened: false,
        batchable: false,
        current: true,
        picked: false,
        ..low()
    }
}

#[test]
fn rows_of_what_waits() {
    keeps("row", &Waiting { rows: [low(), high()] });
}

#[test]
fn rows_of_ones_own() {
    let row = Own {
        id: FIRST.to_owned(),
        to: format!("/?view=mine&task={FIRST}"),
        title: title(),
        whole: None,
        risk: risk(RiskLevel::High, Some(61)),
        seats: seats(0, 1),
        missing: vec![line("<default>: 1 more person (reviewer) must approve")],
        reachable: false,
        age: long(before(90), NOW),
        current: false,
    };
    keeps("row_own", &OwnPart { row });
}

#[test]
fn rows_of_what_was_answered() {
    let row = done::Row {
        id: FIRST.to_owned(),
        to: format!("/?view=done&open={FIRST}"),
        title: title(),
        whole: None,
        icon: "x",
        answer: "You rejected",
        at: ago(before(90_000), NOW),
        author: line("ann"),
        author_icon: "agent",
        state: pill(TaskState::Rejected),
        reason: Some(lines("not <today>\nnor tomorrow")),
        void: Some("void since it was edited"),
        current: true,
    };
    keeps("row_done", &DonePart { row });
}

#[test]
fn rows_of_what_was_told() {
    let (words, icon) = told::said(domain::notifications::NotificationKind::TaskFailed);
    let row = told::Row {
        id: FIRST.to_owned(),
        to: format!("/?view=told&task={SECOND}"),
        title: title(),
        whole: Some("Drop …".to_owned()),
        icon,
        words,
        at: ago(before(30), NOW),
        actor: Some((line("<bob>"), "user")),
        state: pill(TaskState::Failed),
        is_unread: true,
        current: false,
    };
    keeps("row_told", &ToldPart { row });
}

#[test]
fn tabs_and_numbers() {
    let tab = |view: View, name, count: Option<&str>, is_hot| Tab {
        name,
        to: view.address().to_string(),
        count: count.map(str::to_owned),
        is_hot,
        is_here: is_hot,
    };
    let tabs =
        [tab(View::Waiting, "Waiting for me", Some("999+"), true), tab(View::Told, "Told", None, false)];
    keeps("inbox_tabs", &Tabs { tabs });
    let stats = StatsShown { approved: 4, rejected: 0, average: Some("12 min".to_owned()), last: None };
    keeps("stats", &Stats { stats });
}

/// Every row of the list is in the form with both hashes, and nothing else is.
#[test]
fn the_list_that_is_signed() {
    let item = |id: &str, opened: Option<&str>| Item {
        approval_id: id.to_owned(),
        title: title(),
        author: line("<ann>"),
        risk: risk(RiskLevel::Medium, Some(40)),
        hash: HashShown::of(hash()),
        review_hash: hash().to_string(),
        happens: line("Touches database:prod-<orders>."),
        yours: "last of 2".to_owned(),
        opened: opened.map(str::to_owned),
        to: format!("/?open={id}&picked={FIRST}.{SECOND}"),
        without: "/".to_owned(),
    };
    let tasks = vec![item(FIRST, Some("15:02 UTC")), item(SECOND, None)];
    keeps("batch", &Batch { shell: Frame, batch: Listed { tasks, unopened: 1, left_out: 1 } });
}

//! What is only on a task's own page: attempts, locks, history, and what may be done with it.

use askama::Template;
use domain::risk::RiskLevel;
use domain::tasks::TaskState;

use super::history::{Event, History};
use super::menu::{Entry, Menu};
use super::work::{Attempt, Far, Lock, Taken};
use crate::pages::policies::explain::{Answer, Applies, Simulated};
use crate::pages::show::{HashShown, ago, filters, line, lines, pill, risk, time};
use crate::pages::snapshots::{Frame, NOW, before, hash, keeps, other};

const TASK: &str = "00000000-0000-7000-8000-0000000000aa";

#[derive(Template)]
#[template(source = "{% include \"parts/attempts.html\" %}", ext = "html")]
struct Attempts {
    attempts: [Attempt; 4],
}

#[derive(Template)]
#[template(source = "{% include \"parts/locks.html\" %}", ext = "html")]
struct Locks {
    locks: Vec<Lock>,
}

/// What the parts ask of the task.
struct Read {
    id: &'static str,
    revision: i64,
    hash: HashShown,
}

#[derive(Template)]
#[template(source = "{% include \"parts/history.html\" %}", ext = "html")]
struct Happened {
    read: Read,
    history: History,
}

#[derive(Template)]
#[template(source = "{% include \"parts/task_menu.html\" %}", ext = "html")]
struct TaskMenu {
    menu: Menu,
}

#[derive(Template)]
#[template(source = "{% include \"parts/submit.html\" %}", ext = "html")]
struct Submit {
    shell: Frame,
    read: Read,
    found: Simulated,
}

fn read() -> Read {
    Read { id: TASK, revision: 1, hash: HashShown::of(hash()) }
}

fn failed(id: &str, error: &str, ended_by_hub: Option<&'static str>) -> Attempt {
    Attempt {
        id: id.to_owned(),
        title: "Attempt 1".to_owned(),
        agent: other("Bob", false).who(),
        is_running: false,
        result: "failed",
        class: " bad",
        times: time(before(600), "15:10 UTC to 15:20 UTC, 10 min"),
        heartbeat: ago(before(600), NOW),
        deadline: "15:30 UTC".to_owned(),
        progress: None,
        error: Some(lines(error)),
        ended_by_hub,
        not_undone: None,
        output: Vec::new(),
        output_about: "0 bytes".to_owned(),
        locks: Vec::new(),
    }
}

#[test]
fn attempts_and_locks() {
    let running = Attempt {
        id: "1".to_owned(),
        title: "Attempt 2".to_owned(),
        agent: other("schema-<steward>", true).who(),
        is_running: true,
        result: "running",
        class: " run",
        times: time(before(60), "since 15:29 UTC"),
        heartbeat: ago(before(2), NOW),
        deadline: "15:39 UTC".to_owned(),
        progress: Some(Far { percent: Some(40), message: Some(line("copying <orders>")) }),
        error: None,
        ended_by_hub: None,
        not_undone: None,
        output: vec![lines("$ <run>"), lines("ok")],
        output_about: "12 bytes".to_owned(),
        locks: vec![Taken {
            key: line("resource:<a>"),
            mode: "exclusive",
            fence: "4,294,967,297".to_owned(),
        }],
    };
    let said = failed("2", "exit <1>", None);
    let lost = failed("3", "AGENT_LOST", Some("Nothing more was heard from the agent."));
    let not_undone = Some((lines("it <refused>"), None));
    let stuck = Attempt { not_undone, result: "failed, not undone", ..failed("4", "exit <2>", None) };
    keeps("attempts", &Attempts { attempts: [running, said, lost, stuck] });
    let lock = |is_free, about| Lock { name: line("database:<a>"), is_free, about: line(about) };
    keeps(
        "locks",
        &Locks { locks: vec![lock(true, "exclusive, free"), lock(false, "held until 15:40 UTC")] },
    );
}

#[test]
fn what_happened() {
    let event = |id: &str, proof: Option<&str>| Event {
        id: id.to_owned(),
        icon: "check",
        class: " event-dot-ok",
        words: line("<Bob> approved revision 1"),
        reason: Some(lines("fine <b>")),
        seal: Some(12),
        proof: proof.map(str::to_owned),
        at: ago(before(60), NOW),
    };
    let events = vec![event("event-1", Some("/api/v1/audit/1/proof")), event("event-2", None)];
    keeps("history", &Happened { read: read(), history: History { allowed: true, events } });
}

#[test]
fn what_may_be_done() {
    let entry = |to: &str, name| Entry { to: to.to_owned(), icon: "audit", name };
    let menu = Menu {
        submit: None,
        anew: None,
        undo: None,
        ways_out: Vec::new(),
        usual: vec![entry("/audit?task=1", "Audit rows and proofs")],
        hard: vec![entry("/tasks/1/override", "Override")],
        override_asked: None,
    };
    keeps("task_menu", &TaskMenu { menu });
    let policy = Applies {
        name: line("<default>"),
        because: vec![line("everything")],
        needs: "1 of reviewer".to_owned(),
    };
    let found = Simulated {
        state: pill(TaskState::Reviewing),
        risk: risk(RiskLevel::Low, Some(3)),
        answer: Answer {
            policies: vec![policy],
            people: vec![line("<Bob>"), line("Rita")],
            required: vec![1],
            is_reachable: false,
            missing: vec!["<default>: 1 more person".to_owned()],
        },
        passes: false,
        asks_because: vec![line("its risk is <high>")],
        left_out: vec![(line("Eve <b>"), "they had a hand in the task".to_owned())],
        more_left_out: 2,
    };
    keeps("submit", &Submit { shell: Frame, read: read(), found });
}

//! Parts of pages as they are kept in `crates/server/snapshots`: whoever changes one changes it there too, and sees where
//! else it changed. `.config/insta.yaml` says how.
//!
//! What is shown is made here, by the functions that show it: no clock, no id and no name comes from elsewhere.

use std::collections::BTreeSet;
use std::path::Path;

use askama::Template;
use domain::Timestamp;
use domain::canonical::Sha256Hash;

use super::assets;
use super::show::{Face, Markup, filters, line};

/// Every part that is kept; nothing else lies there.
const KEPT: [&str; 25] = [
    "attempts",
    "batch",
    "details",
    "history",
    "inbox_tabs",
    "keys",
    "live",
    "locks",
    "menus",
    "nav",
    "palette",
    "pane",
    "quorums",
    "risk",
    "row",
    "row_done",
    "row_own",
    "row_told",
    "rules_tabs",
    "sign",
    "stats",
    "stuck",
    "submit",
    "task_menu",
    "tips",
];

/// Parts that are only within others, and in which.
const WITHIN: [(&str, &str); 10] = [
    ("answer", "submit"),
    ("asked", "pane"),
    ("bound", "pane"),
    ("decide", "pane"),
    ("lede", "pane"),
    ("preview", "pane"),
    ("runs", "pane"),
    ("simulated", "submit"),
    ("since", "pane"),
    ("thread", "pane"),
];

/// The moment at which everything is shown: 18 March 2026, 15:30 UTC.
pub(super) const NOW: Timestamp = Timestamp::from_micros(1_773_847_800_000_000);

/// So many seconds before that.
pub(super) fn before(seconds: u64) -> Timestamp {
    NOW.minus(std::time::Duration::from_secs(seconds))
}

pub(super) fn hash() -> Sha256Hash {
    format!("sha256:{}", "23b59446cafe0f18".repeat(4)).parse().unwrap()
}

/// Text as strangers write it.
pub(super) const HOSTILE: &str = "Drop <b>orders</b> & \"all\"\u{202e}";

/// Somebody else.
pub(super) fn other(name: &str, is_agent: bool) -> Face {
    Face { name: name.to_owned(), is_agent, is_me: false }
}

/// Compares a part with what is kept of it.
pub(super) fn keeps(name: &'static str, part: &impl Template) {
    assert!(KEPT.contains(&name), "{name} is not in the list");
    // Files of the pages are named with their version, which is another one whenever any of them is changed.
    let version = assets::address("");
    let version = version.split_once('?').map(|(_, version)| version).unwrap();
    let text = part.render().unwrap().replace(version, "v=0").replace("><", ">\n<");
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

fn stems(directory: &str, ending: &str) -> BTreeSet<String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join(directory);
    let names = std::fs::read_dir(&directory).unwrap().map(|file| file.unwrap().file_name());
    let names = names.map(|name| name.into_string().unwrap());
    names.map(|name| name.strip_suffix(ending).unwrap_or(&name).to_owned()).collect()
}

#[test]
fn every_part_is_kept_and_nothing_else() {
    let kept: BTreeSet<String> = KEPT.iter().map(ToString::to_string).collect();
    assert_eq!(stems("snapshots", ".snap"), kept, "what no test looks at is not kept");
    let within = WITHIN.iter().map(|(part, whole)| {
        assert!(KEPT.contains(whole), "{whole}");
        part.to_string()
    });
    let all: BTreeSet<String> = kept.iter().cloned().chain(within).collect();
    assert_eq!(stems("templates/parts", ".html"), all);
}

/// What the parts of the frame ask of whoever looks.
pub(super) struct Frame;

/// An organization that the reader may switch to.
struct Place {
    id: &'static str,
    name: &'static str,
}

impl Frame {
    pub(super) fn me(&self) -> Face {
        Face { name: "Rita <Ray>".to_owned(), is_agent: false, is_me: true }
    }

    fn is_at(&self, section: &str) -> bool {
        section == "tasks"
    }

    fn requests(&self) -> i64 {
        3
    }

    fn waiting(&self) -> &'static str {
        "3"
    }

    fn open_tasks(&self) -> &'static str {
        "999+"
    }

    fn agents(&self) -> &'static str {
        "12"
    }

    fn may_propose(&self) -> bool {
        true
    }

    fn may_decide(&self) -> bool {
        true
    }

    fn here(&self) -> &'static str {
        "/tasks?q=a&risk=HIGH"
    }

    fn others(&self) -> [Place; 1] {
        [Place { id: "00000000-0000-7000-8000-000000000001", name: "Other <Org>" }]
    }

    fn next_theme(&self) -> &'static str {
        "dark"
    }

    fn theme_word(&self) -> Option<&'static str> {
        Some("light")
    }

    fn date(&self) -> &'static str {
        "18 Mar 2026, 15:30 UTC"
    }

    fn clock(&self) -> &'static str {
        "15:30 UTC"
    }

    fn event(&self) -> &'static str {
        "1,204"
    }
}

#[derive(Template)]
#[template(source = "{% include \"parts/nav.html\" %}", ext = "html")]
struct Nav {
    shell: Frame,
}

#[derive(Template)]
#[template(source = "{% include \"parts/menus.html\" %}", ext = "html")]
struct Menus {
    shell: Frame,
}

#[derive(Template)]
#[template(source = "{% include \"parts/palette.html\" %}", ext = "html")]
struct Palette {
    shell: Frame,
}

#[derive(Template)]
#[template(source = "{% include \"parts/live.html\" %}", ext = "html")]
struct Live {
    shell: Frame,
}

#[derive(Template)]
#[template(source = "{% include \"parts/keys.html\" %}", ext = "html")]
struct Keys;

#[derive(Template)]
#[template(source = "{% include \"parts/tips.html\" %}", ext = "html")]
struct Tips;

#[derive(Template)]
#[template(source = "{% include \"parts/rules_tabs.html\" %}", ext = "html")]
struct RulesTabs {
    shell: Frame,
}

#[test]
fn the_frame() {
    keeps("nav", &Nav { shell: Frame });
    keeps("menus", &Menus { shell: Frame });
    keeps("palette", &Palette { shell: Frame });
    keeps("live", &Live { shell: Frame });
    keeps("keys", &Keys);
    keeps("tips", &Tips);
    keeps("rules_tabs", &RulesTabs { shell: Frame });
}

/// A title that a stranger wrote.
pub(super) fn title() -> Markup {
    line(HOSTILE)
}

//! What only one place may say (promises 1 to 5): how a task becomes APPROVED, how a Grant is made, how an attempt
//! begins. Whoever finds another way must come past this table.

use super::text::File;

struct Saying {
    /// What is said.
    words: &'static str,
    /// Where it may be.
    places: &'static [&'static str],
}

const MACHINE: &str = "crates/domain/src/tasks/machine.rs";

const SETTLE: &str = "crates/domain/src/executions/settle.rs";
const START: &str = "crates/hub/src/executions/start.rs";

const SAYINGS: &[Saying] = &[
    // An attempt begins at the gate.
    Saying { words: "Move::Start", places: &[MACHINE, "crates/domain/src/gate/mod.rs"] },
    Saying { words: "executions::insert(", places: &[START] },
    Saying { words: "INTO executions", places: &["crates/records/src/executions.rs"] },
    Saying { words: "UPDATE executions", places: &["crates/records/src/executions.rs"] },
    Saying { words: "UPDATE resource_claims", places: &["crates/records/src/resource_claims.rs"] },
    // Claims begin with an attempt and end with it.
    Saying { words: "resource_claims::put(", places: &[START, "crates/hub/src/executions/settle.rs"] },
    // It ends where it is settled.
    Saying { words: "Move::Complete", places: &[MACHINE, SETTLE] },
    Saying { words: "Move::Retry", places: &[MACHINE, SETTLE] },
    Saying { words: "Move::Fail", places: &[MACHINE, SETTLE] },
    // Whoever takes from a Grant asked the gate; whoever takes it back voids it; a second signature is recorded on it.
    Saying {
        words: "grants::update(",
        places: &[
            START,
            "crates/hub/src/reviews/again.rs",
            "crates/hub/src/tasks/cancel.rs",
            "crates/hub/src/tasks/skip.rs",
            "crates/hub/src/tasks/withdraw.rs",
        ],
    },
    // A review ends with yes where its answers are counted.
    Saying { words: "Move::Approve", places: &[MACHINE, "crates/domain/src/reviews/resolve.rs"] },
    // A Grant is what a review that ended with yes leaves, in the same unit.
    Saying {
        words: "grants::insert(",
        places: &["crates/hub/src/reviews/begin.rs", "crates/hub/src/reviews/finish.rs"],
    },
    Saying { words: "INTO grants", places: &["crates/records/src/grants.rs"] },
    // A task's state is written by one file, and chosen by the machine.
    Saying { words: "INTO tasks", places: &["crates/records/src/tasks/mod.rs"] },
    Saying { words: "UPDATE tasks", places: &["crates/records/src/tasks/mod.rs"] },
    Saying { words: "state: TaskState::", places: &["crates/hub/src/tasks/create.rs"] },
    Saying {
        words: ".moved(",
        places: &[
            SETTLE,
            "crates/domain/src/gate/mod.rs",
            "crates/domain/src/reviews/open.rs",
            "crates/domain/src/reviews/resolve.rs",
            "crates/domain/src/tasks/mod.rs",
        ],
    },
];

/// Everything that is said in another place, and every place where it is not said any more.
pub(crate) fn check(files: &[File]) -> Vec<String> {
    let product: Vec<&File> = files.iter().filter(|file| is_product(&file.path)).collect();
    SAYINGS.iter().flat_map(|saying| check_one(saying, &product)).collect()
}

fn check_one(saying: &Saying, product: &[&File]) -> Vec<String> {
    let said = |file: &&&File| without_tests(&file.text).contains(saying.words);
    let found: Vec<&str> = product.iter().filter(said).map(|file| file.path.as_str()).collect();
    let elsewhere = found.iter().filter(|path| !saying.places.contains(path));
    let missing = saying.places.iter().filter(|path| !found.contains(path));
    let elsewhere =
        elsewhere.map(|path| format!("{path}: `{}` belongs in {:?}", saying.words, saying.places));
    let missing = missing.map(|path| format!("{path}: no longer says `{}`; mend the table", saying.words));
    elsewhere.chain(missing).collect()
}

fn is_product(path: &str) -> bool {
    let is_source = path.starts_with("crates/") && path.contains("/src/");
    // The model check plays the hub, and samples are what tests are made of.
    let is_for_tests = ["/model/", "/testkit/", "/tests/", "tests.rs", "sample.rs"];
    is_source && !is_for_tests.iter().any(|part| path.contains(part))
}

fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn another_way_is_found_and_an_old_one_is_missed() {
        let saying = Saying { words: "Move::Start", places: &["crates/domain/src/gate/mod.rs"] };
        let gate = file("crates/domain/src/gate/mod.rs", "next(state, Move::Start)");
        let way = file("crates/hub/src/tasks/force.rs", "next(state, Move::Start)");
        let test = file("crates/hub/src/a.rs", "fn a() {}\n#[cfg(test)]\nmod tests { Move::Start }");
        assert!(check_one(&saying, &[&gate, &test]).is_empty());
        assert_eq!(check_one(&saying, &[&gate, &way]).len(), 1);
        assert_eq!(check_one(&saying, &[&test]).len(), 1, "the table has to be mended");
        assert!(!is_product("crates/hub/tests/it/a.rs") && !is_product("crates/domain/src/gate/tests.rs"));
        assert!(is_product("crates/hub/src/tasks/force.rs"));
    }
}

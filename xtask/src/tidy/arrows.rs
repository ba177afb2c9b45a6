//! Which crate may depend on which. Dependencies point downwards only; a new arrow is the rarest kind of
//! change, and it is made here first.

use anyhow::{Context as _, Result};
use serde_json::Value;

/// What of ours a crate may depend on.
enum Reach {
    Only(&'static [&'static str]),
    AllBut(&'static [&'static str]),
}

use Reach::{AllBut, Only};

/// The crate that holds test equipment. Every crate's tests may use it; a product that shipped it would
/// ship fake clocks and private servers.
const TESTKIT: &str = "testkit";

/// The table. ARCHITECTURE.md draws it; this one is checked.
const ARROWS: &[(&str, Reach)] = &[
    ("domain", Only(&[])),
    ("wire", Only(&[])),
    ("records", Only(&["domain"])),
    ("coordination", Only(&["domain"])),
    ("hub", Only(&["domain", "records", "coordination"])),
    ("server", Only(&["hub", "domain", "wire"])),
    ("client", Only(&["wire"])),
    ("countersign", AllBut(&[TESTKIT])),
    (TESTKIT, AllBut(&[])),
    // A measurement starts the same private servers as a test, and is never shipped either.
    ("bench", AllBut(&[])),
    ("xtask", AllBut(&[TESTKIT])),
];

/// A crate of the workspace and those of its dependencies that have a path.
#[derive(Debug)]
pub(crate) struct Member {
    name: String,
    dependencies: Vec<Dependency>,
}

#[derive(Debug)]
struct Dependency {
    name: String,
    only_for_tests: bool,
}

/// Reads what `cargo metadata --no-deps` says.
pub(crate) fn members(metadata: &Value) -> Result<Vec<Member>> {
    let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    packages.iter().map(member).collect()
}

fn member(package: &Value) -> Result<Member> {
    let dependencies = package["dependencies"].as_array().context("a package without dependencies")?;
    let ours = dependencies.iter().filter(|dependency| dependency["path"].is_string());
    let dependencies = ours.map(|dependency| {
        let only_for_tests = dependency["kind"] == "dev";
        Ok(Dependency { name: name_of(dependency)?, only_for_tests })
    });
    Ok(Member { name: name_of(package)?, dependencies: dependencies.collect::<Result<_>>()? })
}

fn name_of(value: &Value) -> Result<String> {
    Ok(value["name"].as_str().context("something without a name in cargo metadata")?.to_owned())
}

/// The arrows that are not in the table, and where table and workspace differ.
pub(crate) fn check(members: &[Member]) -> Vec<String> {
    let mut problems = Vec::new();
    for (row, _) in ARROWS {
        if !members.iter().any(|member| member.name == *row) {
            problems.push(format!("{row} is in the table of arrows but not in the workspace"));
        }
    }
    for member in members {
        let Some((_, reach)) = ARROWS.iter().find(|(row, _)| *row == member.name) else {
            problems.push(format!("{} is in the workspace but not in the table of arrows", member.name));
            continue;
        };
        let forbidden = member.dependencies.iter().filter(|dependency| !allows(reach, dependency));
        problems.extend(forbidden.map(|dependency| {
            let kind = if dependency.only_for_tests { "the tests of " } else { "" };
            format!("{kind}{} must not depend on {}", member.name, dependency.name)
        }));
    }
    problems
}

fn allows(reach: &Reach, dependency: &Dependency) -> bool {
    let name = dependency.name.as_str();
    let for_the_product = match reach {
        Only(names) => names.contains(&name),
        AllBut(names) => !names.contains(&name),
    };
    for_the_product || (dependency.only_for_tests && name == TESTKIT)
}

/// A map that leaves out a crate is worse than none.
pub(crate) fn check_architecture(text: &str) -> Vec<String> {
    let is_named =
        |name: &str| text.contains(&format!("`{name}`")) || text.contains(&format!("crates/{name}`"));
    let unnamed = ARROWS.iter().filter(|(name, _)| !is_named(name));
    unnamed.map(|(name, _)| format!("ARCHITECTURE.md does not name the crate `{name}`")).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn package(name: &str, dependencies: &[(&str, Value)]) -> Value {
        let dependencies: Vec<Value> = dependencies
            .iter()
            .map(|(name, kind)| json!({ "name": name, "kind": kind, "path": format!("/crates/{name}") }))
            .collect();
        json!({ "name": name, "dependencies": dependencies })
    }

    /// A workspace of exactly the table's crates, without arrows except those of `planted`.
    fn check_planted(planted: &Value) -> Vec<String> {
        let packages = ARROWS
            .iter()
            .map(|(name, _)| if planted["name"] == *name { planted.clone() } else { package(name, &[]) });
        check(&members(&json!({ "packages": packages.collect::<Vec<_>>() })).unwrap())
    }

    #[test]
    fn the_workspace_keeps_to_the_table() {
        let metadata = serde_json::from_str(&crate::metadata().unwrap()).unwrap();
        assert_eq!(check(&members(&metadata).unwrap()), [""; 0]);
    }

    #[test]
    fn an_arrow_that_points_upwards_is_found() {
        let planted = package("domain", &[("records", Value::Null)]);
        assert_eq!(check_planted(&planted), ["domain must not depend on records"]);
        let planted = package("records", &[("domain", Value::Null)]);
        assert_eq!(check_planted(&planted), [""; 0]);
    }

    #[test]
    fn tests_may_add_the_testkit_and_nothing_else_of_ours() {
        let planted = package("records", &[("testkit", json!("dev"))]);
        assert_eq!(check_planted(&planted), [""; 0]);
        let planted = package("records", &[("hub", json!("dev"))]);
        assert_eq!(check_planted(&planted), ["the tests of records must not depend on hub"]);
    }

    #[test]
    fn the_testkit_is_never_shipped() {
        for name in ["countersign", "hub", "xtask"] {
            let planted = package(name, &[("testkit", Value::Null)]);
            assert_eq!(check_planted(&planted), [format!("{name} must not depend on testkit")]);
        }
        assert_eq!(check_planted(&package("bench", &[("testkit", Value::Null)])), [""; 0]);
    }

    #[test]
    fn a_build_script_counts_like_the_crate() {
        let planted = package("wire", &[("domain", json!("build"))]);
        assert_eq!(check_planted(&planted), ["wire must not depend on domain"]);
    }

    #[test]
    fn what_others_publish_is_no_arrow() {
        let dependencies = json!([{ "name": "records", "kind": null, "path": null }]);
        let planted = json!({ "name": "domain", "dependencies": dependencies });
        assert_eq!(check_planted(&planted), [""; 0]);
    }

    #[test]
    fn table_and_workspace_name_the_same_crates() {
        let stranger = members(&json!({ "packages": [package("stranger", &[])] })).unwrap();
        let problems = check(&stranger);
        assert!(problems.contains(&"stranger is in the workspace but not in the table of arrows".to_owned()));
        assert!(problems.contains(&"hub is in the table of arrows but not in the workspace".to_owned()));
    }

    #[test]
    fn the_architecture_names_every_crate() {
        let all: String = ARROWS.iter().map(|(name, _)| format!("`{name}` ")).collect();
        assert_eq!(check_architecture(&all), [""; 0]);
        let problems = check_architecture(&all.replace("`wire`", "wire"));
        assert_eq!(problems, ["ARCHITECTURE.md does not name the crate `wire`"]);
        assert_eq!(check_architecture(&all.replace("`wire`", "`crates/wire`")), [""; 0]);
    }
}

//! The project's own chores: `cargo xtask test`, `ci`, `tidy`, `soak`, `bench`.
//!
//! * `backends` finds PostgreSQL, Redis and a browser for the tests, and installs them where it may.
//! * `run` starts other programs and says how long they took.
//! * `watched` runs the tests and looks for secrets in everything they show; `leaks` is how a secret is found.
//! * `tidy` holds the rules about the tree that no compiler checks; `tidy/arrows` is which crate may depend
//!   on which, `tidy/text` is what every file must look like.
//!
//! A chore is a function here and a variant of [`Chore`]. A rule is a function in `tidy` that returns
//! the problems it sees, with a test on planted input.

#![expect(clippy::print_stderr, reason = "a chore talks to the person who started it")]

mod backends;
mod leaks;
mod run;
mod tidy;
mod watched;

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context as _, Result};
use clap::{Parser, Subcommand};

use crate::run::{capture, cargo, run, spoken, step, succeeds};

/// How much of the counts named in the issues a test runs; a tenth keeps the suite under eight minutes.
const SCALE_VARIABLE: &str = "COUNTERSIGN_TEST_SCALE";
const SCALE_OF_TEST: &str = "0.1";
const SCALE_OF_SOAK: &str = "1";

/// Chores of the Countersign project.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Set up what the tests need, then run all of them (counts at a tenth)
    Test {
        /// Passed on to `cargo test`, for example `-- -p records` or `-- name -- --nocapture`
        #[arg(last = true)]
        arguments: Vec<String>,
    },
    /// Run all tests with the full counts
    Soak {
        /// Passed on to `cargo test`
        #[arg(last = true)]
        arguments: Vec<String>,
    },
    /// Build for release and measure
    Bench {
        /// Which measurements; all of them when none is named
        names: Vec<String>,
    },
    /// Everything a change must pass: format, lints, docs, tidy, tests, dependencies
    Ci,
    /// Check the rules about the tree that no compiler checks
    Tidy,
}

fn main() -> ExitCode {
    match perform(Arguments::parse().chore) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Not `Debug`: a backtrace of this program would bury what the failed step itself has said.
            eprintln!("\n{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn perform(chore: Chore) -> Result<()> {
    std::env::set_current_dir(root()?).context("cannot enter the project's directory")?;
    match chore {
        Chore::Test { arguments } => {
            let scale = std::env::var(SCALE_VARIABLE).unwrap_or_else(|_| SCALE_OF_TEST.to_owned());
            test(&arguments, &scale)
        }
        Chore::Soak { arguments } => test(&arguments, SCALE_OF_SOAK),
        Chore::Bench { names } => bench(&names),
        Chore::Ci => ci(),
        Chore::Tidy => step("tidy", || tidy::check(&root()?)),
    }
}

/// The directory above this crate. Cargo says where that is at run time; a path compiled in would be
/// wrong after the tree has moved.
fn root() -> Result<PathBuf> {
    let own = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let own = own.context("start me as `cargo xtask`: CARGO_MANIFEST_DIR is not set")?;
    Ok(own.parent().context("xtask has no parent directory")?.to_owned())
}

fn test(arguments: &[String], scale: &str) -> Result<()> {
    let target = target_directory()?;
    step("what the tests need", || backends::ensure().and_then(|()| backends::fetch_axe(&target)))?;
    let (ours, harness) = match arguments.iter().position(|word| word == "--") {
        Some(dashes) => (&arguments[..dashes], &arguments[dashes + 1..]),
        None => (arguments, &[][..]),
    };
    let mut command = cargo();
    command.arg("test").env(SCALE_VARIABLE, scale);
    // Parts of pages that look otherwise than what is kept fail, whatever the caller's environment says.
    command.env("INSTA_UPDATE", "no").env("INSTA_FORCE_PASS", "0");
    if !ours.iter().any(|word| word == "-p" || word.starts_with("--package")) {
        command.arg("--workspace");
    }
    if std::io::stderr().is_terminal() {
        // Cargo writes to us, and we to the terminal.
        command.env("CARGO_TERM_COLOR", "always");
    }
    command.args(ours).args(["--", "--show-output"]).args(harness);
    step(&format!("tests, counts times {scale}"), || {
        watched::run(&mut command, &mut std::io::stdout(), &target, arguments.is_empty())
    })
}

fn bench(names: &[String]) -> Result<()> {
    step("what the measurements need", backends::ensure)?;
    if names.is_empty() || names.iter().any(|name| name == "locks") {
        step("what locks are measured against", backends::seek_peers)?;
    }
    step("build for release", || {
        run(cargo().args(["build", "--release", "--package", "countersign", "--package", "bench"]))
    })?;
    let program = target_directory()?.join("release").join("bench");
    // Real-time priority keeps the rest of the machine out of the figures; children inherit it.
    let mut command = if succeeds(Command::new("chrt").args(["-r", "1", "true"])) {
        let mut command = Command::new("chrt");
        command.args(["-r", "1"]).arg(program);
        command
    } else {
        eprintln!(
            "`chrt -r 1` is not allowed here: the figures are noise, good for comparing ratios at best"
        );
        Command::new(program)
    };
    step("measure", || run(command.args(names)))
}

/// In order of cost, so that a mistake is told early.
fn ci() -> Result<()> {
    let started = Instant::now();
    step("format", || run(cargo().args(["fmt", "--all", "--check"])))?;
    step("lints", || run(cargo().args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])))?;
    step("docs", || {
        let arguments = ["doc", "--workspace", "--no-deps", "--document-private-items"];
        run(cargo().env("RUSTDOCFLAGS", "-D warnings").args(arguments))
    })?;
    step("tidy", || tidy::check(&root()?))?;
    test(&[], &std::env::var(SCALE_VARIABLE).unwrap_or_else(|_| SCALE_OF_TEST.to_owned()))?;
    step("licenses, advisories, sources", || if_installed("deny", &["check"]))?;
    step("unused dependencies", || if_installed("machete", &[]))?;
    eprintln!("\nall passed in {}", spoken(started.elapsed()));
    Ok(())
}

fn if_installed(tool: &str, arguments: &[&str]) -> Result<()> {
    if succeeds(cargo().args([tool, "--version"])) {
        return run(cargo().arg(tool).args(arguments));
    }
    eprintln!("skipped: cargo-{tool} is not installed (`cargo install cargo-{tool}`)");
    Ok(())
}

fn metadata() -> Result<String> {
    capture(cargo().args(["metadata", "--format-version", "1", "--no-deps"]))
}

fn target_directory() -> Result<PathBuf> {
    let metadata: serde_json::Value = serde_json::from_str(&metadata()?)?;
    let target = metadata["target_directory"].as_str().context("cargo metadata names no target directory")?;
    Ok(PathBuf::from(target))
}

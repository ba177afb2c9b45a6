//! Starting other programs, and saying what is going on meanwhile.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

/// What `cargo run` adds to our environment. Build scripts that watch these variables (ring's does) would
/// run again whenever somebody changes between `cargo test` and `cargo xtask test`.
const SET_BY_CARGO_RUN: [&str; 3] = ["CARGO_MANIFEST_", "CARGO_PKG_", "CARGO_BIN_"];

/// Cargo itself: the same one that started us, without our own package's variables.
pub(crate) fn cargo() -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(is_set_by_cargo_run) {
            command.env_remove(name);
        }
    }
    command
}

fn is_set_by_cargo_run(name: &str) -> bool {
    SET_BY_CARGO_RUN.iter().any(|prefix| name.starts_with(prefix))
}

/// Runs a program to its end; anything but success is an error.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let shown = shown(command);
    eprintln!("$ {shown}");
    let status = command.status().with_context(|| format!("cannot start `{shown}`"))?;
    ensure!(status.success(), "`{shown}` failed ({status})");
    Ok(())
}

/// Runs a program and returns what it prints.
pub(crate) fn capture(command: &mut Command) -> Result<String> {
    let shown = shown(command);
    let output =
        command.stderr(Stdio::inherit()).output().with_context(|| format!("cannot start `{shown}`"))?;
    ensure!(output.status.success(), "`{shown}` failed ({})", output.status);
    String::from_utf8(output.stdout).with_context(|| format!("`{shown}` did not print text"))
}

/// Whether a program can be started and says yes, without a word on the screen.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// One step of a chore under a heading, with the time it took.
pub(crate) fn step(heading: &str, work: impl FnOnce() -> Result<()>) -> Result<()> {
    eprintln!("\n== {heading}");
    let started = Instant::now();
    let result = work();
    let outcome = if result.is_ok() { "done" } else { "FAILED" };
    eprintln!("== {heading}: {outcome} in {}", spoken(started.elapsed()));
    result.with_context(|| format!("step \"{heading}\""))
}

/// A length of time for people.
pub(crate) fn spoken(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    if seconds < 60 {
        format!("{:.1} s", elapsed.as_secs_f64())
    } else {
        format!("{} min {} s", seconds / 60, seconds % 60)
    }
}

/// A command as one would type it, without the path of the program.
pub(crate) fn shown(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    let name = program.file_name().unwrap_or(command.get_program());
    let words = std::iter::once(name).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_passes_the_failure_on() {
        assert!(step("fine", || run(&mut Command::new("true"))).is_ok());
        let error = step("broken", || run(Command::new("false").arg("x"))).unwrap_err();
        assert!(format!("{error:#}").contains("\"broken\": `false x` failed"), "{error:#}");
        assert!(run(&mut Command::new("no-such-program-anywhere")).is_err());
    }

    #[test]
    fn time_is_spoken_in_units_that_fit() {
        assert_eq!(spoken(Duration::from_millis(1_250)), "1.2 s");
        assert_eq!(spoken(Duration::from_secs(252)), "4 min 12 s");
    }

    #[test]
    fn only_the_variables_of_our_own_package_are_withheld() {
        assert!(is_set_by_cargo_run("CARGO_PKG_NAME"));
        assert!(is_set_by_cargo_run("CARGO_MANIFEST_DIR"));
        assert!(!is_set_by_cargo_run("CARGO_HOME"));
        assert!(!is_set_by_cargo_run("CARGO_TARGET_DIR"));
    }
}

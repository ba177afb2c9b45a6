//! Runs the tests, keeps everything they show, and looks for secrets in it (DECISIONS 27).
//!
//! What they print goes through us: the test harness is told to show the output of passing tests too, and we keep
//! that from the screen. What their hubs log and what the programs they start say is written to a directory by
//! `testkit::watch`, which also notes the secrets.

use std::fs::{self, DirBuilder, File};
use std::io::{BufRead as _, BufReader, Write};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use crate::leaks::Secrets;
use crate::run::shown;

/// The name `testkit::watch` knows. The product takes names that begin with COUNTERSIGN_TEST_ for the suite's.
const VARIABLE: &str = "COUNTERSIGN_TEST_WATCH";
const SECRETS: &str = "secrets";
const OUTPUT: &str = "output";
/// Of each file: one bug can show up in every test, and the first few lines say what it is.
const LEAKS_SHOWN_MAX: usize = 5;
const LEAK_CHARS_SHOWN_MAX: usize = 400;

/// A directory for what the tests show, and for nobody else's eyes.
struct Place {
    directory: PathBuf,
    /// Held while we run: another run in this tree would empty the directory under our feet.
    _lock: File,
}

/// Runs `cargo test`; fails if a test does, or if a secret was shown. `is_whole` is whether all tests run.
pub(crate) fn run(
    command: &mut Command,
    screen: &mut dyn Write,
    target: &Path,
    is_whole: bool,
) -> Result<()> {
    let place = Place::make(target)?;
    let kept = place.directory.join(OUTPUT);
    let passed = run_and_keep(command.env(VARIABLE, &place.directory), screen, &kept);
    let clean = place.check(is_whole && passed.is_ok());
    if clean.is_ok() {
        fs::remove_dir_all(&place.directory).context("cannot remove what the tests left")?;
    }
    match (passed, clean) {
        (Err(failed), Err(leak)) => bail!("{failed:#}; besides, {leak:#}"),
        (passed, clean) => passed.and(clean),
    }
}

impl Place {
    fn make(target: &Path) -> Result<Self> {
        fs::create_dir_all(target)?;
        let lock = File::create(target.join("watched.lock")).context("cannot make a lock file")?;
        if lock.try_lock().is_err() {
            eprintln!("waiting for the other test run in this tree");
            lock.lock().context("cannot lock")?;
        }
        let directory = target.join("watched");
        if directory.exists() {
            fs::remove_dir_all(&directory).context("cannot remove what an earlier run left")?;
        }
        DirBuilder::new().mode(0o700).create(&directory).context("cannot make a private directory")?;
        Ok(Self { directory, _lock: lock })
    }

    fn check(&self, must_have_seen: bool) -> Result<()> {
        let noted = fs::read_to_string(self.directory.join(SECRETS)).unwrap_or_default();
        let secrets = Secrets::read(&noted);
        let (mut leaks, mut bytes, mut logs) = (0, 0, 0);
        for entry in fs::read_dir(&self.directory)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name != SECRETS {
                let path = self.directory.join(&name);
                let found = search(&path, &secrets)?;
                for leak in found.iter().take(LEAKS_SHOWN_MAX) {
                    eprintln!("leak: {name}:{leak}");
                }
                leaks += found.len();
                bytes += path.metadata()?.len();
                logs += usize::from(name.starts_with("log-"));
            }
        }
        let all = self.directory.display();
        ensure!(leaks == 0, "{leaks} line(s) of what the tests show and log hold a secret; all is in {all}");
        // A search that finds nothing because it was given nothing is no proof.
        ensure!(
            !must_have_seen || (!secrets.is_empty() && logs > 0),
            "the tests noted no secrets or wrote no log: {VARIABLE} did not reach them"
        );
        let count = noted.lines().count();
        eprintln!("none of {count} secrets is in the {} MB the tests showed and logged", bytes / 1_000_000);
        Ok(())
    }
}

/// The lines of a file that hold a secret: number, the test if it is known, and the line, masked.
fn search(path: &Path, secrets: &Secrets) -> Result<Vec<String>> {
    let mut lines = BufReader::with_capacity(1 << 16, File::open(path)?);
    let (mut line, mut number) = (Vec::new(), 0);
    let (mut test, mut leaks) = (String::new(), Vec::new());
    while lines.read_until(b'\n', &mut line)? > 0 {
        number += 1;
        // The harness puts this above what a test has printed: `---- its::name stdout ----`.
        if let Some(heading) = line.strip_prefix(b"---- ") {
            test = format!(" {}", String::from_utf8_lossy(heading).replace(" stdout ----\n", ":"));
        }
        if let Some(masked) = secrets.masked(&line) {
            let masked: String = masked.trim_end().chars().take(LEAK_CHARS_SHOWN_MAX).collect();
            leaks.push(format!("{number}:{test} {masked}"));
        }
        line.clear();
    }
    Ok(leaks)
}

/// Runs a program; what it prints, to either output, goes to the file, and to the screen what belongs there.
fn run_and_keep(command: &mut Command, screen: &mut dyn Write, file: &Path) -> Result<()> {
    let shown = shown(command);
    eprintln!("$ {shown}");
    let (reader, writer) = std::io::pipe().context("no pipe")?;
    command.stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn().with_context(|| format!("cannot start `{shown}`"))?;
    // The command holds our ends of the pipe. While we do, it does not end.
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let mut kept = File::create(file)?;
    let (mut lines, mut line, mut filter) = (BufReader::new(reader), Vec::new(), Filter::default());
    while lines.read_until(b'\n', &mut line)? > 0 {
        kept.write_all(&line)?;
        if filter.shows(&line) {
            screen.write_all(&line)?;
        }
        line.clear();
    }
    let status = child.wait()?;
    ensure!(status.success(), "`{shown}` failed ({status})");
    Ok(())
}

/// What a person sees: everything but the output of tests that pass.
#[derive(Default)]
struct Filter {
    in_successes: bool,
}

impl Filter {
    fn shows(&mut self, line: &[u8]) -> bool {
        if line == b"successes:\n" {
            self.in_successes = true;
        } else if line == b"failures:\n" || line.starts_with(b"test result: ") {
            self.in_successes = false;
        }
        !self.in_successes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTED: &str = "a-password-of-nobody";

    /// A run of `sh` in place of `cargo test`, that sees the directory as the tests do.
    fn run_script(script: &str, is_whole: bool) -> (Result<()>, tempfile::TempDir) {
        let target = tempfile::tempdir().unwrap();
        let result =
            run(Command::new("sh").args(["-c", script]), &mut std::io::sink(), target.path(), is_whole);
        (result, target)
    }

    fn noting(script: &str) -> String {
        format!("cd $COUNTERSIGN_TEST_WATCH; echo '{NOTED}' > secrets; {script}")
    }

    #[test]
    fn a_secret_is_found_wherever_it_is_shown() {
        let shows = ["echo x$(cat secrets)", "cat secrets >&2", "cp secrets log-1", "cp secrets programs-1"];
        for script in shows {
            let (result, target) = run_script(&noting(script), false);
            let told = format!("{:#}", result.unwrap_err());
            assert!(told.starts_with("1 line(s)") && !told.contains(NOTED), "{script}: {told}");
            assert!(target.path().join("watched").exists(), "one must be able to look");
        }
    }

    #[test]
    fn nothing_is_left_of_a_clean_run() {
        let (result, target) = run_script(&noting("echo fine"), false);
        result.unwrap();
        assert!(!target.path().join("watched").exists());
    }

    #[test]
    fn a_whole_run_that_noted_nothing_proves_nothing() {
        for (script, is_fine) in
            [("echo x > log-1", true), ("true", false), ("rm secrets; echo x > log-1", false)]
        {
            assert_eq!(run_script(&noting(script), true).0.is_ok(), is_fine, "{script}");
        }
    }

    #[test]
    fn tests_that_fail_are_searched_too() {
        let (result, _) = run_script(&noting("cat secrets; exit 3"), true);
        let told = format!("{:#}", result.unwrap_err());
        assert!(told.contains("failed (exit status: 3)") && told.contains("1 line(s)"), "{told}");
        assert!(run_script(&noting("exit 3"), true).0.is_err());
    }

    #[test]
    fn a_leak_names_the_test_and_its_line() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(&file, format!("---- a::b stdout ----\nx\nkey {NOTED}\n")).unwrap();
        let leaks = search(file.path(), &Secrets::read(NOTED)).unwrap();
        assert_eq!(leaks, [format!("3: a::b: key {}", "*".repeat(NOTED.len()))]);
    }

    #[test]
    fn the_output_of_passing_tests_is_kept_from_the_screen() {
        let lines = "test a ... ok\ntest b ... FAILED\n\nsuccesses:\n\n---- a stdout ----\nx\n\nsuccesses:\n    a\n\n\
                     failures:\n\n---- b stdout ----\ny\n\nfailures:\n    b\n\ntest result: FAILED. 1 passed\n";
        let mut filter = Filter::default();
        let shown: String =
            lines.split_inclusive('\n').filter(|line| filter.shows(line.as_bytes())).collect();
        assert!(!shown.contains("---- a stdout"), "{shown}");
        assert!(shown.contains("---- b stdout ----\ny\n") && shown.contains("test a ... ok"), "{shown}");
        assert!(!Filter { in_successes: true }.shows(b"x\n"));
        assert!(Filter { in_successes: true }.shows(b"test result: ok. 1 passed\n"));
    }
}

//! The help of every command, compared with what is on file. `COUNTERSIGN_BLESS=1` writes the files anew.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory};

use crate::support::{Home, Kind};

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// The words that lead to each command there is.
fn every_command(command: &Command, words: &[String], found: &mut Vec<Vec<String>>) {
    found.push(words.to_vec());
    for below in command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help")
    {
        every_command(below, &[words, &[below.get_name().to_owned()]].concat(), found);
    }
}

#[test]
fn every_command_explains_itself() {
    let home = Home::on(Kind::Sqlite);
    let mut commands = Vec::new();
    every_command(&countersign::cli::Cli::command(), &[], &mut commands);
    assert!(commands.len() > 10, "{commands:?}");
    let bless = std::env::var_os("COUNTERSIGN_BLESS").is_some();
    let mut files = BTreeSet::new();
    for words in &commands {
        let args: Vec<&str> = words.iter().map(String::as_str).chain(["--help"]).collect();
        let help = home.run(&args).done();
        assert!(help.contains("Example"), "`countersign {}` shows no example:\n{help}", args.join(" "));
        // Files end their lines properly, whatever clap does.
        let help: String = help.lines().map(|line| line.trim_end().to_owned() + "\n").collect();
        let name = if words.is_empty() { "countersign".to_owned() } else { words.join("-") };
        let file = golden().join(format!("{name}.txt"));
        if bless {
            std::fs::write(&file, &help).unwrap();
        }
        let kept = std::fs::read_to_string(&file).unwrap_or_default();
        assert_eq!(help, kept, "{} is out of date; COUNTERSIGN_BLESS=1 writes it anew", file.display());
        files.insert(file.file_name().unwrap().to_owned());
    }
    let there: BTreeSet<_> =
        std::fs::read_dir(golden()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(there, files, "a file without a command");
}

#[test]
fn every_shell_gets_its_completions() {
    let home = Home::on(Kind::Sqlite);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = home.run(&["completions", shell]).done();
        for word in ["serve", "events", "follow", "audit", "verify", "restore"] {
            assert!(script.contains(word), "{shell} does not complete {word}");
        }
    }
    home.run(&["completions", "tcsh"]).assert_refused(2, &["tcsh", "bash"]);
}

#[test]
fn every_command_has_a_manual_page() {
    let home = Home::on(Kind::Sqlite);
    let first = home.run(&["man"]).done();
    assert!(first.contains(".TH countersign 1") && first.contains("countersign\\-serve(1)"), "{first}");
    let pages = home.beside("man");
    home.run(&["man", pages.to_str().unwrap()]).done();
    let mut commands = Vec::new();
    every_command(&countersign::cli::Cli::command(), &["countersign".to_owned()], &mut commands);
    for words in commands {
        let page = std::fs::read_to_string(pages.join(format!("{}.1", words.join("-")))).unwrap();
        assert!(page.contains(".SH DESCRIPTION"), "{words:?}: {page}");
    }
}

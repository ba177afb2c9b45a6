//! A configuration that is not valid: exit code 2, every problem named with what to write instead, nothing touched.

use std::fs;

use crate::support::{Home, Kind, PATIENCE, Process, Ran};

const USAGE: i32 = 2;

fn home() -> Home {
    Home::on(Kind::Sqlite)
}

fn serve(home: &Home, args: &[&str]) -> Ran {
    let data = home.data.display().to_string();
    let args = [&["serve", "--data", &data], args].concat();
    Process::start(home.command(&args)).ended(PATIENCE)
}

fn refused(home: &Home, args: &[&str], says: &[&str]) {
    serve(home, args).assert_refused(USAGE, says);
    assert!(!home.database_file().exists(), "nothing was made");
    let data = home.data.display().to_string();
    home.run(&[&["config", "check", "--data", &data], args].concat()).assert_refused(USAGE, says);
}

#[test]
fn an_unknown_variable() {
    refused(&home().env("COUNTERSIGN_FOO", "1"), &[], &["COUNTERSIGN_FOO", "environment"]);
    // A likely typing error is answered with what was meant.
    refused(&home().env("COUNTERSIGN_LISTENS", "1"), &[], &["COUNTERSIGN_LISTENS", "COUNTERSIGN_LISTEN"]);
}

#[test]
fn an_address_that_is_none() {
    for address in ["nonsense", "127.0.0.1", "127.0.0.1:99999", "localhost:8000", ""] {
        refused(&home(), &["--listen", address], &["listen", "127.0.0.1:8000", "flag --listen"]);
    }
}

#[test]
fn the_whole_network_without_a_public_name() {
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        refused(
            &home(),
            &["--listen", address],
            &["public_url", "required", "not loopback", "https://hub.example.com"],
        );
    }
}

#[test]
fn an_unknown_key_in_the_file() {
    let home = home();
    let file = home.beside("countersign.toml");
    fs::write(&file, "listn = \"127.0.0.1:0\"\n").unwrap();
    let path = file.display().to_string();
    refused(&home, &["--config", &path], &["listn", &path, "listen"]);
    // The file in the data directory is read without being named.
    fs::create_dir_all(&home.data).unwrap();
    fs::write(home.data.join("countersign.toml"), "rate_limt = 5\n").unwrap();
    refused(&home, &[], &["rate_limt", "countersign.toml", "rate_limit"]);
}

#[test]
fn a_file_that_is_not_there_or_no_toml() {
    let home = home();
    let file = home.beside("countersign.toml");
    let path = file.display().to_string();
    refused(&home, &["--config", &path], &[&path]);
    fs::write(&file, "listen = [\n").unwrap();
    refused(&home, &["--config", &path], &[&path]);
}

#[test]
fn every_problem_is_named_at_once() {
    let home = home().env("COUNTERSIGN_FOO", "1").env("COUNTERSIGN_RATE_LIMIT", "many");
    refused(
        &home,
        &["--listen", "nonsense"],
        &["COUNTERSIGN_FOO", "rate_limit", "many", "listen", "nonsense"],
    );
}

#[test]
fn a_password_is_not_repeated() {
    let home = home().env("DATABASE_URL", "mysql://hub:hunter2@db/hub");
    let ran = serve(&home, &[]);
    ran.assert_refused(USAGE, &["database_url", "postgres://user:password@host:5432/name"]);
    assert!(!ran.err.contains("hunter2"), "{}", ran.err);
}

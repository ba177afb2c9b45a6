//! What the file may say, and where it is looked for.

use std::io;
use std::path::Path;

use super::super::*;
use super::{Case, file};

#[test]
fn a_broken_file_does_not_spill_its_passwords() {
    for text in [
        "\ndatabase_url = \"postgres://me:hush@db/hub",
        "\ndatabase_url = postgres://me:hush@db/hub",
        "\ndatabase_url = ['postgres://me:hush@db/hub']",
        "listen = '127.0.0.1:1'\npasswrd = 'hush'",
    ] {
        let problems = file(text).resolve().unwrap_err();
        assert!(!format!("{problems} {problems:?}").contains("hush"), "{problems}");
    }
    let problems = file("\n\nlisten = ").problems();
    assert!(problems[0].reason.starts_with("line 3 is not TOML"), "{}", problems[0]);
}

#[test]
fn the_file_is_looked_for_in_the_data_directory_only() {
    let asked_for = |flags: ServerFlags, variables: &[(&str, &str)]| {
        let paths = std::cell::RefCell::new(Vec::new());
        let env: Environment = variables.iter().copied().collect();
        let outcome = resolve(&flags, &env, &|path: &Path| {
            paths.borrow_mut().push(path.display().to_string());
            Err(io::ErrorKind::NotFound.into())
        });
        (paths.into_inner(), outcome.is_ok())
    };
    let flags = |data: Option<&str>, config: Option<&str>| ServerFlags {
        data: data.map(str::to_owned),
        listen: None,
        config: config.map(Into::into),
    };
    let one = |path: &str, ok| (vec![path.to_owned()], ok);
    assert_eq!(asked_for(flags(None, None), &[]), one("./countersign-data/countersign.toml", true));
    let variable = [("COUNTERSIGN_DATA", "/env")];
    assert_eq!(asked_for(flags(None, None), &variable), one("/env/countersign.toml", true));
    assert_eq!(asked_for(flags(Some("/flag"), None), &variable), one("/flag/countersign.toml", true));
    // A file that was named must be there.
    assert_eq!(asked_for(flags(Some("/flag"), Some("/x.toml")), &variable), one("/x.toml", false));
}

#[test]
fn a_file_that_may_not_be_read_is_a_problem() {
    let denied = |_: &Path| Err(io::ErrorKind::PermissionDenied.into());
    let problems = resolve(&ServerFlags::default(), &Environment::default(), &denied).unwrap_err().0;
    assert!(problems[0].to_string().contains("cannot be read"), "{}", problems[0]);
}

#[test]
fn the_data_directory_cannot_be_moved_from_within() {
    let problems = file("data = '/elsewhere'").problems();
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].setting, "data");
    let flags = ServerFlags { config: Some("hub.toml".into()), ..ServerFlags::default() };
    let config = Case { flags, file: Some("data = '/elsewhere'"), ..Case::default() }.config();
    assert_eq!(config.data, Path::new("/elsewhere"));
    assert_eq!(config.keys_dir, Path::new("/elsewhere/keys"));
}

#[test]
fn the_file_takes_arrays_for_lists_and_nothing_odd_elsewhere() {
    let config = file("trusted_proxies = ['10.0.0.0/8', '192.0.2.1/32']").config();
    assert_eq!(config.http.trusted_proxies.len(), 2);
    for text in [
        "trusted_proxies = [1]",
        "trusted_proxies = true",
        "trusted_proxies = []",
        "keys_dir = ['a', 'b']",
        "rate_limit = 1.5",
        "rate_limit = true",
        "docs = true",
        "listen = 8000",
        "redis_key_prefix = {}",
    ] {
        assert_eq!(file(text).problems().len(), 1, "{text}");
    }
}

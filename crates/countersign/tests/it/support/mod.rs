//! Starting the program, talking to it, and looking behind its back.

mod crew;
mod home;
mod process;
mod sql;
mod terminal;
mod writers;

pub(crate) use crew::{Crew, Hired, assert_attempts_are_whole, let_last, touching};
pub(crate) use home::{Home, Kind};
pub(crate) use process::{Process, Ran, Served};
pub(crate) use sql::{Rows, on_sqlite};
pub(crate) use terminal::Terminal;
pub(crate) use writers::{AfterError, Key, Writers};

use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use client::Client;
use wire::{CreateApiKey, PageQuery};

/// How long anything may take that is not about time, on a machine that is busy building.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_INTERVAL: Duration = Duration::from_millis(10);

/// Waits until it is so. What is waited for is part of the failure.
pub(crate) async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so().await {
        assert!(Instant::now() < deadline, "waited {} s in vain: {what}", PATIENCE.as_secs());
        tokio::time::sleep(LOOK_INTERVAL).await;
    }
}

/// Runs the commands of a page of docs/ as they stand there.
pub(crate) fn assert_page_is_true(name: &str, curls_min: usize, given: &[(&str, &str)]) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    let text = std::fs::read_to_string(page).unwrap();
    let blocks = text.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let script = format!("set -euo pipefail\n{}", blocks.collect::<String>());
    assert!(script.matches("curl ").count() >= curls_min, "{script}");
    let mut command = Command::new("bash");
    command.args(["-c", &script]).env("no_proxy", "*").envs(given.iter().copied());
    let ran = command.output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{out}\n{err}");
}

/// A number below `bound`, another one each time.
pub(crate) fn chance(bound: usize) -> usize {
    let drawn = RandomState::new().hash_one(0) % u64::try_from(bound).unwrap();
    usize::try_from(drawn).unwrap()
}

/// Mints a key of the client's own account.
pub(crate) async fn mint(client: &Client, name: &str) -> Key {
    let wanted = CreateApiKey { name: name.to_owned(), ..CreateApiKey::default() };
    Key::shown_in(client.create_api_key(&wanted).await.expect("a key"))
}

/// The ids of all keys, as the hub lists them.
pub(crate) async fn listed(client: &Client) -> Vec<uuid::Uuid> {
    let mut ids = Vec::new();
    let mut query = PageQuery { limit: Some(200), ..PageQuery::default() };
    loop {
        let page = client.api_keys(&query).await.expect("a page of keys");
        ids.extend(page.items.iter().map(|key| key.id));
        match page.next_cursor {
            Some(cursor) => query.cursor = Some(cursor),
            None => return ids,
        }
    }
}

/// Every key is listed, and a few of them open the door.
pub(crate) async fn assert_all_there(served: &Served, admin: &Client, keys: &[Key]) {
    const TRIED: usize = 25;
    let there: std::collections::HashSet<_> = listed(admin).await.into_iter().collect();
    let lost: Vec<_> = keys.iter().filter(|key| !there.contains(&key.id)).collect();
    assert!(lost.is_empty(), "{} of {} acknowledged keys are lost", lost.len(), keys.len());
    for key in keys.iter().rev().take(TRIED) {
        let me = served.client(&key.secret).me().await.expect("an acknowledged key opens the door");
        assert_eq!(me.key_id, Some(key.id));
    }
}

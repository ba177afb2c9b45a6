//! An export proves itself offline, and nothing in it can be changed unnoticed.

use std::fs;

use testkit::scaled;

use crate::support::{Home, Kind, Ran, chance, mint};

fn verify(home: &Home, file: &std::path::Path, more: &[&str]) -> Ran {
    let path = file.display().to_string();
    home.run(&[&["audit", "verify", "--export", &path], more].concat())
}

async fn proves_itself(kind: Kind) {
    let home = Home::on(kind);
    let served = home.serve().await;
    let admin = served.admin();
    for number in 0..3 {
        mint(&admin, &format!("key {number}")).await;
    }
    served.stop();
    let served = home.serve().await;
    mint(&served.admin(), "not sealed yet, perhaps").await;
    let file = home.beside("audit.ndjson");
    let path = file.display().to_string();
    home.as_admin(&served, &["audit", "export", &path]).done();
    home.as_admin(&served, &["audit", "export", &path]).assert_refused(1, &["cannot write", &path]);
    let printed = home.as_admin(&served, &["audit", "export"]).done();
    assert!(printed.ends_with('\n') && printed.lines().count() > 5, "{printed}");
    served.stop();

    let said = verify(&home, &file, &[]).done();
    assert!(said.starts_with("ok: chain "), "{said}");
    let said: serde_json::Value = serde_json::from_str(&verify(&home, &file, &["--json"]).done()).unwrap();
    let head = said["head"].as_str().unwrap();
    verify(&home, &file, &["--head", head]).done();
    let another = "0".repeat(64);
    let ran = verify(&home, &file, &["--head", &another]);
    assert_eq!((ran.code, ran.out), (Some(1), format!("BAD: no seal of the chain has the hash {another}\n")));
    every_change_is_found(&home, &fs::read(&file).unwrap());
}

/// Changed bytes at random places, and one at each end.
fn every_change_is_found(home: &Home, export: &[u8]) {
    let file = home.beside("changed.ndjson");
    let random = (0..scaled(200)).map(|_| chance(export.len()));
    for place in random.chain([0, export.len() - 1]) {
        let mut changed = export.to_vec();
        changed[place] ^= 1 << chance(8);
        assert_bad(home, &file, &changed, &format!("byte {place}"));
    }
    let line = export.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    assert_bad(home, &file, &export[..export.len() - 1], "the last line end cut off");
    assert_bad(home, &file, &export[..line], "all but the first line cut off");
    assert_bad(home, &file, &export[line..], "the first line cut off");
    assert_bad(home, &file, &[], "nothing left");
    assert_bad(home, &file, &[export, export].concat(), "twice the same");
}

fn assert_bad(home: &Home, file: &std::path::Path, export: &[u8], what: &str) {
    fs::write(file, export).unwrap();
    let ran = verify(home, file, &[]);
    assert_eq!(ran.code, Some(1), "{what}: {ran:?}");
    let named = ["row", "seal", "line", "export"];
    assert!(
        ran.out.starts_with("BAD: ") && named.iter().any(|name| ran.out.contains(name)),
        "{what}: {ran:?}"
    );
}

#[tokio::test]
async fn an_export_proves_itself_on_sqlite() {
    proves_itself(Kind::Sqlite).await;
}

#[tokio::test]
async fn an_export_proves_itself_on_postgres() {
    proves_itself(Kind::Postgres).await;
}

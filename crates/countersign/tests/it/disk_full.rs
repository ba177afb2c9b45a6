//! No space left: a clear answer, no damage, and work goes on when there is room again.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use testkit::reqwest;

use crate::support::{AfterError, Home, Kind, PATIENCE, Served, Writers, assert_all_there, on_sqlite, until};

const WRITERS: usize = 16;
const SIZE: &str = "size=16m";

/// A small file system that only its own mount namespace sees. It goes with the process that keeps the namespace, and
/// that one goes with this process: its standard input closes.
struct SmallDisk {
    keeper: Child,
    mounted_at: PathBuf,
    _place: tempfile::TempDir,
}

impl SmallDisk {
    fn mount() -> Self {
        let place = tempfile::tempdir().unwrap();
        let mounted_at = place.path().to_owned();
        let script = r#"mount -t tmpfs -o "$2" countersign-test "$1" && echo mounted && exec cat"#;
        let mut keeper = Command::new("unshare")
            .args(namespace_flags("--map-root-user"))
            .args(["sh", "-c", script, "keeper"])
            .arg(&mounted_at)
            .arg(SIZE)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this test needs `unshare` (package util-linux)");
        let mut said = String::new();
        BufReader::new(keeper.stdout.take().unwrap()).read_line(&mut said).unwrap();
        assert_eq!(
            said, "mounted\n",
            "this test needs to mount a small tmpfs: run it as root, or allow user namespaces"
        );
        Self { keeper, mounted_at, _place: place }
    }

    /// What runs a program inside.
    fn entrance(&self) -> Vec<String> {
        let target = self.keeper.id().to_string();
        let mut words = vec!["nsenter".to_owned(), "--target".to_owned(), target];
        words.extend(namespace_flags("--user").map(str::to_owned));
        words
    }

    /// A path inside, seen from here.
    fn seen(&self, path: &Path) -> PathBuf {
        let inside = path.strip_prefix("/").unwrap();
        PathBuf::from(format!("/proc/{}/root", self.keeper.id())).join(inside)
    }
}

/// Root needs a mount namespace only; anybody else also one of users, in which to be root.
fn namespace_flags(for_others: &'static str) -> impl Iterator<Item = &'static str> {
    let preserve = (for_others == "--user").then_some("--preserve-credentials");
    let others = [Some(for_others), preserve].into_iter().flatten();
    ["--mount"].into_iter().chain(others.filter(|_| !rustix::process::geteuid().is_root()))
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        drop(self.keeper.kill());
        drop(self.keeper.wait());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_is_said_and_survived() {
    let disk = SmallDisk::mount();
    let data = disk.mounted_at.join("data");
    let home = Home::on(Kind::Sqlite).through(disk.entrance(), &data);
    let process = home.start("127.0.0.1:0");
    let admin_key = || fs::read_to_string(disk.seen(&data.join("admin.key"))).unwrap().trim().to_owned();
    let served = Served::watch(process, admin_key).await;

    let mut writers = Writers::start(&served.admin(), WRITERS, AfterError::Again);
    writers.acknowledged(100).await;
    let filler = disk.seen(&disk.mounted_at.join("filler"));
    fill(&filler);
    writers.refused(5 * WRITERS).await;
    let (status, retry_after) = one_write(&served).await;
    assert_eq!((status, retry_after.as_deref()), (507, Some("30")));
    assert!(served.admin().me().await.is_ok(), "reading needs no room");

    fs::remove_file(&filler).unwrap();
    let (acknowledged, _) = writers.counts();
    writers.acknowledged(acknowledged + 100).await;
    let written = writers.finish().await;
    assert_eq!(written.problem_codes(), ["507 DISK_FULL"]);
    assert_all_there(&served, &served.admin(), &written.keys).await;
    served.stop();

    let reports = home.verified(&[]);
    assert!(reports.iter().all(|report| report["unsealed"] == 0), "{reports:?}");
    // SQLite resolves links by itself, and this one leads out of the namespace: look at a copy.
    let copy = home.beside("copy.db");
    fs::copy(disk.seen(&data.join("countersign.db")), &copy).unwrap();
    assert_eq!(on_sqlite(&copy, "PRAGMA integrity_check"), [["ok"]]);
}

#[tokio::test]
async fn a_disk_that_is_full_at_the_start_is_said() {
    let disk = SmallDisk::mount();
    let data = disk.mounted_at.join("data");
    let home = Home::on(Kind::Sqlite).through(disk.entrance(), &data);
    let filler = disk.seen(&disk.mounted_at.join("filler"));
    // Nothing at all fits, then a few files but not the database, then the database but little more.
    for room in [0, 64 * 1024, 512 * 1024] {
        fill(&filler);
        let file = fs::OpenOptions::new().write(true).open(&filler).unwrap();
        file.set_len(file.metadata().unwrap().len() - room).unwrap();
        let mut process = home.start("127.0.0.1:0");
        until("it refuses or comes up", async || {
            process.has_ended() || process.out().contains("listening on")
        })
        .await;
        if process.has_ended() {
            let ran = process.ended(PATIENCE);
            assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{ran:?}");
            let says = ["the disk is full", "No space left"];
            assert!(says.iter().any(|text| ran.err.contains(text)), "{room}: {}", ran.err);
        }
    }
    fs::remove_file(&filler).unwrap();
    let admin_key = || fs::read_to_string(disk.seen(&data.join("admin.key"))).unwrap().trim().to_owned();
    let served = Served::watch(home.start("127.0.0.1:0"), admin_key).await;
    served.admin().me().await.unwrap();
    served.stop();
    home.verified(&[]);
}

/// Takes all the room there is.
fn fill(path: &Path) {
    let mut file = File::create(path).unwrap();
    let mut chunk = 64 * 1024;
    while chunk > 0 {
        match file.write_all(&vec![0; chunk]) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::StorageFull => chunk /= 2,
            Err(error) => panic!("{error}"),
        }
    }
}

/// Writes while there is no room; the status, and when to come again.
async fn one_write(served: &Served) -> (u16, Option<String>) {
    let http = reqwest::Client::builder().no_proxy().tls_certs_only([]).build().unwrap();
    let answer = http
        .post(format!("{}/api/v1/api-keys", served.url))
        .bearer_auth(served.admin_key())
        .json(&serde_json::json!({"name": "no room"}))
        .send()
        .await
        .unwrap();
    let retry_after = answer.headers().get("retry-after").map(|value| value.to_str().unwrap().to_owned());
    (answer.status().as_u16(), retry_after)
}
